# TACL. Two commands do everything, set-up included:  make reproduce  and  make test
# Variables: PYTHON (3.11 or newer), VENV (where the kit is installed); for reproduce and status also
# PROFILE=smoke|quick|paper, DATASETS="mnist …", METHODS="sgd …", SEEDS="0 1 …", CLUSTER=tcp://…
# For grade: SUBMISSIONS=folder, TIMEOUT=seconds a cell may take; where you have them TABLE=csv of the platform,
# COLUMN="Set 1" (Canvas), HINTS_TAKEN=csv, VARIANTS=folder. For release: HINTS=shown|costed|held, CLASS=file.
# PLUGIN=my_methods.py: a file that registers learners, policies or datasets of your own.
# For tests: JOBS=processes.

PYTHON ?= python3
VENV ?= .venv
PROFILE ?= quick
SUBMISSIONS ?= submissions
TIMEOUT ?= 60
HINTS ?= shown
JOBS ?= auto
N ?= 3
CHOICE = --profile $(PROFILE) $(if $(DATASETS),--datasets $(DATASETS)) $(if $(METHODS),--methods $(METHODS)) \
	$(if $(SEEDS),--seeds $(SEEDS)) $(if $(CLUSTER),--cluster $(CLUSTER))
export PYTHON
# Containers often set this. Without compiled files each kernel, worker and test process takes 6 seconds longer to start.
export PYTHONDONTWRITEBYTECODE =
ifdef PLUGIN
export TACL_PLUGINS := $(PLUGIN)
endif

# In the environment; no step is echoed, so that a failing one speaks for itself.
MODULE = @$(VENV)/bin/python -m
TACL = $(MODULE) tacl_lib
.DEFAULT_GOAL := help
SUITES = test test-fast test-slow
.PHONY: help ready setup setup-test repair lab fresh data reproduce figure evidence verify status lessons coursework \
	slides release grade site archive $(SUITES) lint bench peers fuzz torture pictures clean distclean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

ready:
	@tools/setup $(VENV) none

setup: ## create .venv, install the kit and check it (the others do this by themselves)
	@tools/setup $(VENV) none check
	@echo "All is ready. Next:  make lab  (lessons in JupyterLab)   make reproduce  (the paper)   make  (everything else)"

setup-test:
	@tools/setup $(VENV) test,browser,instructor,site

repair: ## reinstall all packages, where something is broken
	@tools/setup $(VENV) none repair

lab: ## open your own copies of the notebooks in JupyterLab (in my_notebooks; ARGS="--no-browser" and the like)
	@tools/setup $(VENV) none check
	$(TACL) lab $(ARGS)

fresh: ready ## get a fresh copy of a notebook (NAME=02_agem); yours is kept beside it
	$(TACL) fresh $(NAME)

data: ready ## fetch every dataset that is available, and show where it came from
	$(TACL) data

reproduce: ready ## run the experiments through the notebooks (PROFILE=smoke|quick|paper)
	$(TACL) reproduce $(CHOICE)

figure: ready ## make one figure of the paper from stored runs (NAME=…; without it: list the names)
	$(TACL) figure $(NAME) $(if $(filter command line,$(origin PROFILE)),--profile $(PROFILE))

verify: ready ## run stored runs again, here, and compare (N=3 of the short ones, or RUN=hash)
	$(TACL) verify $(RUN) --count $(N)

evidence: ready ## make the paper's figures, the gallery and the pages of evidence from the reference runs
	$(TACL) evidence --write

status: ready ## show which runs of the profile are done, running and missing
	$(TACL) status $(CHOICE)

lessons: ready ## make the notebooks of lessons 01 to 05 from notebooks/source
	$(TACL) lessons

slides: ## make slides of the plans in notebooks/teaching, one file each, in build/slides (NAME=2_agem for one)
	@tools/setup $(VENV) instructor
	$(TACL) slides $(NAME)

coursework: ready ## make release, solutions and marking schemes of the problem sets from their sources
	$(TACL) coursework generate

site: ## make the site, in build/site: lessons with outputs, figures, evidence, reference; any static host can serve it
	@tools/setup $(VENV) site
	@PYTHONPATH=tools $(VENV)/bin/python -m website $(if $(filter command line,$(origin PROFILE)),--profile $(PROFILE))

archive: ## pack the present commit for a release: all files, their checksums, and an RO-Crate that describes them
	@$(PYTHON) tools/archive.py

release: ready ## write what students get, without solutions (HINTS=shown|costed|held; CLASS=names: a variant each)
	$(TACL) coursework release --hints $(HINTS) \
		$(if $(CLASS),--class-list "$(CLASS)") $(if $(VARIANTS),--variants "$(VARIANTS)")

grade: ## mark what students handed in (SUBMISSIONS=folder), into nbgrader's gradebook; see coursework/README.md
	@tools/setup $(VENV) instructor
	$(TACL) grade "$(SUBMISSIONS)" --timeout $(TIMEOUT) \
		$(if $(TABLE),--table "$(TABLE)") $(if $(COLUMN),--column "$(COLUMN)") \
		$(if $(HINTS_TAKEN),--hints "$(HINTS_TAKEN)") $(if $(VARIANTS),--variants "$(VARIANTS)")

# A file's tests, or a notebook's cells, stay together in one process.
PYTEST = $(MODULE) pytest -n $(JOBS) --dist loadfile

test test-fast test-slow: export TACL_PROFILE = smoke
test: setup-test lint ## all tests but the longest: library, notebooks, style
	$(PYTEST) -m "not slow" --nbval-lax --nbval-current-env tests notebooks

test-fast: setup-test ## the tests of the algorithms, while you work on them
	$(PYTEST) -q -m "not slow" tests/plain tests/core tests/engine

test-slow: setup-test ## the longest tests: cycles of kills, whole classes
	$(PYTEST) -m slow tests
	@TACL_TEST_KILLS=10 $(VENV)/bin/python -m pytest -q tests/report/test_reproduce.py -k "share_a_folder or in_the_middle or stored_once"

lint: setup-test ## check style and that notebooks hold no output
	$(MODULE) ruff check
	$(MODULE) ruff format --check
	@$(VENV)/bin/nbstripout --verify $(wildcard notebooks/*.ipynb coursework/*/*/*.ipynb)

bench: setup-test ## measure speed, as ratios in one run; numbers for the README
	@PYTHONPATH=tools $(VENV)/bin/python -m bench

peers: setup-test ## compare with Avalanche's A-GEM, and OGD and BGD with float64 (installs Avalanche once, apart)
	$(MODULE) pytest -q -s tests/engine/test_peers.py

fuzz: setup-test ## try wrong input of every kind, thousands of cases (CASES=2000 for each test)
	@TACL_TEST_FUZZ=$(or $(CASES),2000) $(VENV)/bin/python -m pytest -q tests/runs/test_fuzz.py

torture: setup-test ## kill, stop, damage and overload runs and reproductions, and count what is lost (an hour or two)
	@$(VENV)/bin/python tools/torture.py

pictures: setup-test ## run the lessons in a real JupyterLab and take the README's screenshots (needs Chromium)
	@$(VENV)/bin/python tools/pictures.py $(NAME)

clean: ## remove what was built (results and data stay)
	@rm -rf build .pytest_cache .ruff_cache .hypothesis *.egg-info
	@find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

distclean: clean ## remove the environment as well
	@rm -rf $(VENV)
