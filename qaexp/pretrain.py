"""`qaexp pretrain`: an encoder learns to generate titles from their contexts, and is saved as a checkpoint for `init_from`.

One run, top to bottom: configuration → data → encoder and decoder → training → perplexity and ranking → record.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from qaexp.ddp import require_one_process
from qaexp.errors import ConfigError
from qaexp.runs.record import RunRecord


def pretrain(cfg: DictConfig, folder: Path, command: str = "", resume: bool = False, watchers: Sequence[Any] | None = None) -> RunRecord:
    """Learn P(title | context), measure the checkpoint with the best dev metric, and write everything measured into `folder`.

    The record's history has train/loss, held_out/perplexity and the dev metrics every `pairs.steps_per_epoch` steps. Its metrics are
    `held out` and, for each ranked split, `<split> titles`. All rankings use the last states of the titles alone. With `resume`, training
    continues after the folder's last whole epoch and reaches the numbers of an uninterrupted run. `watchers` are callbacks that replace the
    progress bar.

    Raises:
        ConfigError: several processes are asked for, or the model reads subwords.
    """
    require_one_process(cfg.trainer, "pre-training")
    import pytorch_lightning as pl  # takes seconds, and help and mistyped options do not need it
    from hydra.utils import instantiate

    from qaexp.data.module_cache import open_data
    from qaexp.data.reconstruction import ReconstructionDataModule
    from qaexp.models.decoder import TitleDecoder
    from qaexp.models.scorer import num_parameters
    from qaexp.runs.checkpoint import best_checkpoint, last_checkpoint
    from qaexp.runs.folder import clear
    from qaexp.runs.tasks import write_results
    from qaexp.tracking.logger import log_summary, open_loggers
    from qaexp.training.callbacks import callbacks
    from qaexp.training.matmul import choose_matmul
    from qaexp.training.module import rebuild_plan
    from qaexp.training.optimizer import as_optimizer
    from qaexp.training.reconstruction import ReconstructionModule
    from qaexp.training.trainer import interruptible, limited_data, open_trainer

    config: dict[str, Any] = OmegaConf.to_container(cfg, resolve=True)  # type: ignore[assignment]
    record = RunRecord.resumed(folder) if resume else RunRecord.begin(config, command)
    with record.kept_in(folder), interruptible(), record.timing("total"):
        pl.seed_everything(cfg.seed, workers=True, verbose=False)
        record.matmul = choose_matmul(cfg.trainer.get("matmul", "auto"))
        with record.timing("data"):
            data = limited_data(open_data(cfg.dataset), cfg.trainer)
            pairs: ReconstructionDataModule = instantiate(cfg.pairs)(ranking=data)
            record.note_data({**data.describe(), "pairs": pairs.describe()}, data.convention)
            vectors = data.word_vectors
        scorer = instantiate(cfg.model, vectors=vectors)
        if scorer.subwords:
            raise ConfigError(
                "pre-training predicts the words of titles, and this model reads subwords; choose model/embedding=frozen or tuned"
            )
        scorer.fit(data.corpus, data.training_batches)
        decoder = TitleDecoder(instantiate(cfg.model.encoder), scorer.embedding.output_dim, instantiate(cfg.output), pairs.word_uses)
        record.parameters = {**num_parameters(scorer), "decoder": num_parameters(decoder)["trainable"]}
        optimizer = as_optimizer(instantiate(cfg.optimizer), cfg.get("decay_word_vectors", True))
        rebuild = rebuild_plan(record.config, data, (), vectors.shape[1], record.key, record.command)
        module = ReconstructionModule(scorer, decoder, optimizer, instantiate(cfg.schedule), data, rebuild)
        trainer = open_trainer(cfg.trainer, folder, **callbacks(cfg, folder, record, data, watchers))
        with open_loggers(cfg.logger, record, folder) as loggers:
            trainer.loggers = loggers
            with record.timing("fit"):
                trainer.fit(module, datamodule=pairs, ckpt_path=last_checkpoint(folder) if resume else None, weights_only=True)
            with record.timing("test"):
                trainer.test(module, datamodule=pairs, ckpt_path=best_checkpoint(folder), weights_only=True, verbose=False)
            rankings = write_results(folder, module.scores, data, record.key)
            record.metrics = {"held out": module.held_out, **{f"{split} titles": metrics for split, metrics in rankings.items()}}
            for logger in loggers:
                log_summary(logger, record)
    clear(folder)
    return record


if __name__ == "__main__":
    from qaexp.cli.main import pretrain as run

    sys.exit(run(sys.argv[1:]))
