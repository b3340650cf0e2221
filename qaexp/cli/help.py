"""The text of `--help`: usage, the groups with their choices from conf/, and the main options."""

from qaexp.cli.commands import COMMANDS
from qaexp.config import PRETRAIN, RANK, Program, choice_file, choices

USAGE = """\
Train and rank: qaexp [GROUP=CHOICE ...] [OPTION=VALUE ...], or python -m qaexp ...

  qaexp                                                    train GGSA on the small built-in data set
  qaexp model=ggsa dataset=insuranceqa                     train GGSA on InsuranceQA
  qaexp model=qa_lstm dataset=wikiqa seed=2 optimizer.lr=5e-4
  qaexp dataset=own dataset.reader.folder=FILE             your own data: TSV, CSV, JSONL, parquet or a folder
  qaexp -m model=ggsa,iggsa seed=1,2,3                     a sweep: one run for each combination
  qaexp -m experiment=ctrn/grid hydra/sweeper=tpe hydra/launcher=cores     search a paper's grid on all cores
  qaexp resume=results/runs/DAY/RUN                        continue an interrupted run
  qaexp resume=results/runs/DAY/RUN trainer.max_epochs=60  go on past the end of a run
  qaexp pretrain model=rcnn                                pre-train an encoder
  qaexp model=rcnn dataset=askubuntu init_from=results/runs/DAY/RUN    fine-tune a pre-trained run
  qaexp evaluate results/runs/DAY/RUN dataset=trecqa       rank and measure another data set with a trained run
  qaexp rank results/runs/DAY/RUN pairs.tsv                rank the pairs of a file
  qaexp data fetch DATASET                                 download a data set
"""

OPTIONS = """\
Main options (`--cfg job` prints all of them; Hydra's own flags work as usual):
  seed=1                      seed of word vectors, weights, batch order, negatives and dropout
  data_dir=DIR                folder of the data sets (environment: QAEXP_DATA; default: data)
  cache_dir=DIR               folder of prepared data (environment: QAEXP_CACHE; default: ~/.cache/qaexp)
  output_dir=DIR              folder of the runs (default: results/runs; QAEXP_RESULTS names another folder than results)
  logger=none                 no W&B; by default W&B is online with a key and offline without
  trainer.max_epochs=30       maximum number of epochs
  patience=8                  stop after 8 epochs without a better dev metric
  init_from=RUN               start from the word vectors and encoder of another run
  -m, --multirun              sweep over comma-separated values
"""

PRETRAIN_USAGE = """\
Pre-train an encoder to generate titles (Lei et al. 2016, §4.2): qaexp pretrain [GROUP=CHOICE ...] [OPTION=VALUE ...]

  qaexp pretrain                                           RCNN on AskUbuntu
  qaexp pretrain model=gru                                 with GRU cells
  qaexp pretrain model=gru model/encoder=lstm
  qaexp pretrain -m model=rcnn,gru seed=1,2,3              a sweep: one run for each combination
  qaexp pretrain resume=results/runs/DAY/RUN               continue an interrupted run
  qaexp model=rcnn model/pooling=last dataset=askubuntu init_from=results/runs/DAY/RUN
                                                           fine-tune a pre-trained run
  qaexp figures pretraining RUN... --to FOLDER             figure 3: perplexity against dev MRR

The encoder must be recurrent: rcnn, lstm or gru. The data set must have titles, bodies and
held-out questions: askubuntu, askubuntu_made_up or askubuntu_duplicates.
"""

PRETRAIN_OPTIONS = """\
Main options (`--cfg job` prints all of them; Hydra's own flags work as usual):
  pairs.contexts=[title,body,similar]   texts from which the decoder generates titles
  pairs.batch_size=256        (title, context) pairs per training step
  pairs.steps_per_epoch=1000  training steps per epoch; each epoch ends with perplexity and dev metrics
  trainer.max_epochs=50       maximum number of epochs
  patience=50                 stop after 50 epochs without a better dev metric
  seed=1                      seed of word vectors, weights, batch order and dropout
  data_dir=DIR                folder of the data sets (environment: QAEXP_DATA; default: data)
  cache_dir=DIR               folder of prepared data (environment: QAEXP_CACHE; default: ~/.cache/qaexp)
  output_dir=DIR              folder of the runs (default: results/runs; QAEXP_RESULTS names another folder than results)
  logger=none                 no W&B; by default W&B is online with a key and offline without
  -m, --multirun              sweep over comma-separated values
"""

TEXTS = {RANK: (USAGE, OPTIONS), PRETRAIN: (PRETRAIN_USAGE, PRETRAIN_OPTIONS)}


def help_text(program: Program = RANK) -> str:
    """The whole text. Reads the YAML files as plain text, without Hydra or torch."""
    usage, options = TEXTS[program]
    commands = "".join(f"  {f'qaexp {name}':<18}  {command.help}\n" for name, command in COMMANDS.items()) if program is RANK else ""
    usage += commands and f"\nOther commands, each with a --help of its own:\n{commands}"
    listing = "\n".join(_group(group) for group in sorted(program.groups(), key=lambda group: (group.count("/"), group)))
    return f"{usage}\nGroups and their choices:\n{listing}\n\n{options}"


def _group(group: str) -> str:
    described = [(choice, _comment(group, choice)) for choice in choices(group)]
    if not any(comment for _, comment in described):
        return f"  {group:<20}  {', '.join(choice for choice, _ in described)}"
    width = max(18, *(len(choice) for choice, _ in described))
    lines = [f"      {choice:<{width}}  {comment}".rstrip() for choice, comment in described]
    return "\n".join([f"  {group}", *lines])


def _comment(group: str, choice: str) -> str:
    file = choice_file(group, choice)
    lines = file.read_text(encoding="utf-8").splitlines() if file else []
    first = next((line for line in lines if not line.startswith("# @package")), "")
    return first.removeprefix("#").strip() if first.startswith("#") else ""
