# Every target makes the environment first if it is missing, so `make run` and `make test` work in a fresh checkout.
.DEFAULT_GOAL := help
.PHONY: help setup run check test test-slow bench docs pictures tables site reproduce-tuning reproduce-all sync dashboard lock clean
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
PYTEST = $(RUN) -m pytest --numprocesses logical --maxprocesses 4 --dist loadfile

help:  ## list the targets
	@grep -hE '^[a-z%-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

setup: $(VENV)/.installed  ## create the environment in .venv

$(VENV)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "qaexp needs Python 3.11 or later; name one with: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 2; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "$(PYTHON) cannot make environments; on Debian: apt-get install python3-venv, then the same command again"; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { echo "the environment could not be made in $(VENV), for the reason above; fix it and run the same command again"; exit 2; }
	$(RUN) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --config-settings editable_mode=compat --editable '.[dev]'
	@touch $@

run: setup  ## train GGSA on the small built-in data set, and print a table of results
	@$(RUN) -m qaexp $(ARGS)

test: setup  ## run the fast tests, as CI does, in up to four processes
	$(PYTEST) -m "not slow" $(ARGS)

test-slow: setup  ## run the slow tests, which take minutes each
	$(RUN) -m pytest -m slow $(ARGS)

check: setup  ## run ruff, pyright and the fast tests: every commit must pass
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/pyright
	$(PYTEST) -m "not slow" $(ARGS)

bench: setup  ## run the benchmarks: speed and memory, each beside an alternative
	$(RUN) -m benchmarks $(ARGS)

docs: setup  ## the documentation as a site: docs/_build/html/index.html
	$(RUN) -m sphinx -W --keep-going -q -b html docs docs/_build/html

pictures: setup  ## the pictures of the README, from a run of the toy data and a committed table
	$(RUN) docs/pictures.py

REPRODUCE = $(RUN) -m qaexp reproduce $(if $(PAPER),--paper $(PAPER)) $(if $(filter-out 0,$(QUICK)),--quick) $(if $(filter-out 0,$(LATEX)),--latex) $(if $(JOBS),--jobs $(JOBS))

reproduce-table%: setup  ## reproduce a table of every paper, or of PAPER=ggsa; QUICK=1 takes minutes; JOBS=4 runs at a time; needs QAEXP_DATA
	@$(REPRODUCE) --table $* $(ARGS)

reproduce-figure%: setup  ## reproduce a figure, with the same options
	@$(REPRODUCE) --figure $* $(ARGS)

reproduce-tuning: setup  ## repeat the papers' tuning on dev
	@$(REPRODUCE) --table tuning $(ARGS)

reproduce-all: setup  ## reproduce every table and figure
	@$(REPRODUCE) $(ARGS)

tables: setup  ## write tables and figures from results/ledger/, without training
	@$(REPRODUCE) --no-run $(ARGS)

site: setup  ## the results as a site, from committed records alone: results/_site/index.html
	@$(RUN) -m qaexp site $(ARGS)

sync: setup  ## upload every offline W&B run
	@$(RUN) -m qaexp sync $(ARGS)

dashboard: setup  ## make the W&B workspace and a report per table; ARGS='--dry-run FOLDER' writes them to files instead
	@$(RUN) -m qaexp dashboard $(ARGS)

lock:  ## pin the newest versions that pyproject.toml allows in constraints.txt
	rm -rf .lock && $(PYTHON) -m venv .lock
	.lock/bin/python -m pip install --quiet --disable-pip-version-check 'torch==2.13.0' --editable '.[dev]'
	{ echo "# Written by \`make lock\`."; .lock/bin/python -m pip freeze --exclude-editable | sed 's/+cpu$$//' | grep -vE '^(nvidia-|triton|cuda-)'; } > constraints.txt
	rm -rf .lock

clean:  ## remove the environment and tool caches, but no runs or data
	rm -rf $(VENV) .lock .pytest_cache .ruff_cache *.egg-info
