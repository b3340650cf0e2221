"""What `--help` prints: the groups with their choices, read from the comments in conf/."""

from qaexp.config import CONF, PRETRAIN, RANK, Program, choices

USAGE = """\
Train and rank: python -m qaexp [GROUP=CHOICE ...] [OPTION=VALUE ...]

  python -m qaexp                                          GGSA on the embedded toy data
  python -m qaexp model=ggsa dataset=insuranceqa           the main job
  python -m qaexp model=qa_lstm dataset=wikiqa seed=2 optimizer.lr=5e-4
  python -m qaexp dataset=own dataset.reader.folder=DIR    your own questions: train.tsv, dev.tsv, test.tsv
  python -m qaexp -m model=ggsa,iggsa seed=1,2,3           a run for each combination
  python -m qaexp -m experiment=ctrn/grid hydra/sweeper=tpe hydra/launcher=cores     a paper's grid, searched on all cores
  python -m qaexp resume=results/runs/DAY/RUN              go on with an interrupted run
  python -m qaexp.pretrain model=rcnn                      encoder-decoder pre-training (`--help` there)
  python -m qaexp model=rcnn dataset=askubuntu init_from=results/runs/DAY/RUN    fine-tune what it left
  python -m qaexp.data fetch DATASET                       download a data set (`--help` there lists them)
"""

OPTIONS = """\
Options worth knowing (`--cfg job` shows all of them, as composed):
  seed=1                      word vectors, weights, order of batches, negatives, dropout
  data_dir=DIR                where published files lie (environment: QAEXP_DATA; default: data)
  cache_dir=DIR               prepared files (environment: QAEXP_CACHE; default: ~/.cache/qaexp)
  output_dir=DIR              where runs leave their folders (default: results/runs)
  logger=none                 no W&B; by default it is online with a key and offline without
  trainer.max_epochs=30       at most so many epochs
  patience=8                  stop after so many epochs without a better dev metric
  init_from=RUN               begin with the word vectors and encoder of another run, such as one of qaexp.pretrain
  -m, --multirun              comma-separated values make a sweep
"""

PRETRAIN_USAGE = """\
Pre-train an encoder to tell titles from contexts (Lei et al. 2016, §4.2): python -m qaexp.pretrain [GROUP=CHOICE ...] [OPTION=VALUE ...]

  python -m qaexp.pretrain                                 RCNN on AskUbuntu
  python -m qaexp.pretrain model=gru                       the other cells
  python -m qaexp.pretrain model=gru model/encoder=lstm
  python -m qaexp.pretrain -m model=rcnn,gru seed=1,2,3    a run for each combination
  python -m qaexp.pretrain resume=results/runs/DAY/RUN     go on with an interrupted run
  python -m qaexp model=rcnn model/pooling=last dataset=askubuntu init_from=results/runs/DAY/RUN
                                                           fine-tune what a run left
  python -m qaexp.figures pretraining RUN... --to FOLDER   figure 3: perplexity against dev MRR

The encoder needs a cell that can start from a given state: rcnn, lstm or gru. The data set needs
titles, bodies and held-out questions: askubuntu, askubuntu_made_up or askubuntu_duplicates.
"""

PRETRAIN_OPTIONS = """\
Options worth knowing (`--cfg job` shows all of them, as composed):
  pairs.contexts=[title,body,similar]   what titles are told from
  pairs.batch_size=256        (title, context) pairs a step
  pairs.steps_per_epoch=1000  steps between two measurements: held-out perplexity, dev metrics of the titles' last states
  trainer.max_epochs=50       at most so many times that
  patience=50                 stop after so many epochs without a better dev metric
  seed=1                      word vectors, weights, order of batches, dropout
  data_dir=DIR                where published files lie (environment: QAEXP_DATA; default: data)
  cache_dir=DIR               prepared files (environment: QAEXP_CACHE; default: ~/.cache/qaexp)
  output_dir=DIR              where runs leave their folders (default: results/runs)
  logger=none                 no W&B; by default it is online with a key and offline without
  -m, --multirun              comma-separated values make a sweep
"""

TEXTS = {RANK: (USAGE, OPTIONS), PRETRAIN: (PRETRAIN_USAGE, PRETRAIN_OPTIONS)}


def help_text(program: Program = RANK) -> str:
    """The whole text. Reads the YAML files as plain text, so it needs neither Hydra nor torch."""
    usage, options = TEXTS[program]
    listing = "\n".join(_group(group) for group in sorted(program.groups(), key=lambda group: (group.count("/"), group)))
    return f"{usage}\nGroups, and what each can be:\n{listing}\n\n{options}"


def _group(group: str) -> str:
    described = [(choice, _comment(group, choice)) for choice in choices(group)]
    if not any(comment for _, comment in described):
        return f"  {group:<20}  {', '.join(choice for choice, _ in described)}"
    width = max(18, *(len(choice) for choice, _ in described))
    lines = [f"      {choice:<{width}}  {comment}".rstrip() for choice, comment in described]
    return "\n".join([f"  {group}", *lines])


def _comment(group: str, choice: str) -> str:
    lines = (CONF / group / f"{choice}.yaml").read_text(encoding="utf-8").splitlines()
    first = next(line for line in lines if not line.startswith("# @package"))
    return first.removeprefix("#").strip() if first.startswith("#") else ""
