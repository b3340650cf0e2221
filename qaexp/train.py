"""One run, top to bottom: configuration → data → model → training → ranking → record."""

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytorch_lightning as pl
import torch
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.callbacks import Callback

from qaexp.data.missing_files import reads_vectors
from qaexp.data.module_cache import open_data
from qaexp.ddp import is_rank_zero, on_rank_zero
from qaexp.models.pretrained.weights import revision
from qaexp.models.scorer import as_scorer, num_parameters
from qaexp.runs.checkpoint import best_checkpoint, last_checkpoint
from qaexp.runs.folder import BEST, clear
from qaexp.runs.initial_weights import begin_from
from qaexp.runs.other_runs import with_pinned_runs
from qaexp.runs.record import RunRecord
from qaexp.runs.tasks import write_results
from qaexp.tracking.logger import log_results, open_loggers
from qaexp.training.callbacks import callbacks
from qaexp.training.losses import as_loss
from qaexp.training.matmul import choose_matmul
from qaexp.training.module import rebuild_plan
from qaexp.training.optimizer import as_optimizer
from qaexp.training.ranking import RankingModule
from qaexp.training.trainer import interruptible, limited_data, open_trainer


def train(cfg: DictConfig, folder: Path, command: str = "", resume: bool = False, watchers: Sequence[Callback] | None = None) -> RunRecord:
    """Train, rank every split with the best checkpoint, and write everything measured into `folder`.

    With `resume`, training continues after the folder's last whole epoch and reaches the scores of an uninterrupted run. `watchers` are
    callbacks that replace the progress bar.
    """
    config: dict[str, Any] = OmegaConf.to_container(cfg, resolve=True)  # type: ignore[assignment]
    record = RunRecord.resumed(folder) if resume else RunRecord.begin(with_pinned_runs(config), command)
    last = last_checkpoint(folder) if resume else None
    with record.kept_in(folder), interruptible(), record.timing("total"):
        pl.seed_everything(cfg.seed, workers=True, verbose=False)
        record.matmul = choose_matmul(cfg.trainer.get("matmul", "auto"))
        with record.timing("data"):
            data = limited_data(open_data(cfg.dataset), cfg.trainer)
            reads = reads_vectors(cfg.model)
            record.note_data(data.describe(reads), data.convention)
            vectors = data.word_vectors if reads else data.no_vectors
        scorer = as_scorer(instantiate(cfg.model, vectors=vectors))
        data = data.read_by(scorer.subwords)
        record.data |= data.describe_splits()
        record.note_weights({name: revision(name) for name in scorer.pretrained})
        scorer.fit(data.corpus, data.training_batches)
        if last is None:
            begin_from(record.config.get("init_from"), scorer, data.corpus.vocabulary.words, record.data["vectors"].get("files", ()))
        scorer.learn_only(torch.from_numpy(data.training_words))
        record.parameters = num_parameters(scorer)
        optimizer = as_optimizer(instantiate(cfg.optimizer), cfg.get("decay_word_vectors", True))
        loss = as_loss(instantiate(record.config["loss"]))  # its teacher, if any, is pinned there
        if scorer.subwords or loss.reads_written_texts:
            record.note_written_texts(data.corpus.written_fingerprint())
        rebuild = rebuild_plan(record.config, data, scorer.pretrained, vectors.shape[1], record.key, record.command)
        module = RankingModule(scorer, loss, optimizer, instantiate(cfg.schedule), data, rebuild)
        trainer = open_trainer(cfg.trainer, folder, **callbacks(cfg, folder, record, data, watchers))
        record.processes = trainer.world_size
        with on_rank_zero(open_loggers(cfg.logger, record, folder)) as loggers:
            trainer.loggers = loggers or []
            if loggers:
                trainer.callbacks += map(instantiate, cfg.logger.get("callbacks", []))  # type: ignore[attr-defined]
            if record.parameters["trainable"]:
                with record.timing("fit"):
                    trainer.fit(module, datamodule=data, ckpt_path=last, weights_only=True)
            with record.timing("test"):
                best = best_checkpoint(folder) if record.parameters["trainable"] else None
                trainer.test(module, datamodule=data, ckpt_path=best, weights_only=True, verbose=False)
            if best is None:
                trainer.save_checkpoint(folder / BEST, weights_only=True)  # where processes wait for each other
            if is_rank_zero():
                record.metrics = write_results(folder, module.scores, data, record.key)
            for logger in loggers or ():
                log_results(logger, record, folder, data, module.scores)
    if is_rank_zero():
        clear(folder)
    return record


class _CallableModule(ModuleType):
    """Makes this module callable, since `qaexp.train` is both this module and the function of the API."""

    def __call__(self, *overrides: Any, **options: Any) -> Any:
        from qaexp.api import train

        return train(*overrides, **options)


sys.modules[__name__].__class__ = _CallableModule
