# Two commands need nothing else: `make run` and `make test`. Both make the environment first if it is not there.
.DEFAULT_GOAL := help
.PHONY: help setup run check test test-slow bench learn docs pictures tables reproduce-tuning reproduce-all sync dashboard lock clean
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
PYTEST = $(RUN) -m pytest --numprocesses logical --maxprocesses 4 --dist loadfile

help:  ## this list
	@grep -hE '^[a-z%-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

setup: $(VENV)/.installed  ## make the environment in .venv

$(VENV)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "qaexp needs Python 3.11 or later; name one with: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 2; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "$(PYTHON) cannot make environments; on Debian: apt-get install python3-venv, then the same command again"; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { echo "the environment could not be made in $(VENV), for the reason above; mend it and give the same command again"; exit 2; }
	$(RUN) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --config-settings editable_mode=compat --editable '.[dev]'
	@touch $@

run: setup  ## GGSA on the embedded toy data: trains, ranks, prints a table
	@$(RUN) -m qaexp $(ARGS)

test: setup  ## the tests that CI runs, a process for each core up to four
	$(PYTEST) -m "not slow" $(ARGS)

test-slow: setup  ## the tests that take minutes
	$(RUN) -m pytest -m slow $(ARGS)

check: setup  ## ruff, pyright and the tests: what a commit must pass
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/pyright
	$(PYTEST) -m "not slow" $(ARGS)

bench: setup  ## ratios side by side in one run: attention, the cut, metrics, memory, start
	$(RUN) -m benchmarks $(ARGS)

learn: setup  ## every named model, briefly, on WikiQA and TrecQA: results/learn.csv (needs QAEXP_DATA)
	$(RUN) -m qaexp.learn $(ARGS)

docs: setup  ## the documentation as a site: docs/_build/html/index.html
	$(RUN) -m sphinx -W --keep-going -q -b html docs docs/_build/html

pictures: setup  ## the pictures of the README, from a run of the toy data and a committed table
	$(RUN) docs/pictures.py

REPRODUCE = $(RUN) -m qaexp.reproduce $(if $(PAPER),--paper $(PAPER)) $(if $(filter-out 0,$(QUICK)),--quick) $(if $(filter-out 0,$(LATEX)),--latex) $(if $(JOBS),--jobs $(JOBS))

reproduce-table%: setup  ## a table of every paper, or of PAPER=ggsa; QUICK=1 in minutes; JOBS=4 runs at a time; needs QAEXP_DATA
	@$(REPRODUCE) --table $* $(ARGS)

reproduce-figure%: setup  ## a figure, likewise
	@$(REPRODUCE) --figure $* $(ARGS)

reproduce-tuning: setup  ## what the papers tuned, on dev
	@$(REPRODUCE) --table tuning $(ARGS)

reproduce-all: setup  ## every table and figure of the papers
	@$(REPRODUCE) $(ARGS)

tables: setup  ## tables and figures from results/ledger/ again; nothing is trained
	@$(REPRODUCE) --no-run $(ARGS)

sync: setup  ## upload every W&B run that is still only here
	@$(RUN) -m qaexp.sync $(ARGS)

dashboard: setup  ## the W&B workspace and a report for each table; ARGS='--dry-run FOLDER' writes what would be sent
	@$(RUN) -m qaexp.dashboard $(ARGS)

lock:  ## resolve the newest versions that pyproject.toml allows into constraints.txt
	rm -rf .lock && $(PYTHON) -m venv .lock
	.lock/bin/python -m pip install --quiet --disable-pip-version-check 'torch==2.13.0' --editable '.[dev]'
	{ echo "# Written by \`make lock\`."; .lock/bin/python -m pip freeze --exclude-editable | sed 's/+cpu$$//' | grep -vE '^(nvidia-|triton|cuda-)'; } > constraints.txt
	rm -rf .lock

clean:  ## remove the environment and tool caches; runs and data stay
	rm -rf $(VENV) .lock .pytest_cache .ruff_cache *.egg-info
