# `make` lists the targets. Each works in a new clone, because it first makes what it needs.

VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime-installed
DEV := $(VENV)/.dev-installed

# More arguments for `tuner run`, pytest or the programs in benchmarks/: make test ARGS="-k pacing".
ARGS ?=
# How many processes the tests run in. Tests often wait, so three processes keep two cores busy.
TEST_PROCESSES ?= 3
# Where pytest makes folders for the tests.
export PYTEST_DEBUG_TEMPROOT ?= $(shell scripts/test-folder)
# What `make experiments` runs.
EXPERIMENTS ?= linkedin-stored-data linkedin-consumers linkedin-end-to-end

# setup-env compiles no modules, so Python must be allowed to keep what it compiles at the first import.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help install run test campaign experiments failures containers check docs format bench ci image lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' Makefile

install: $(RUNTIME) ## Install the tuner into .venv

run: $(RUNTIME) ## Find producer configs for two record sizes on a Kafka broker started for it (about 8 minutes; ARGS="--trials 6")
	$(BIN)/tuner run examples/quickstart.yaml $(ARGS)

test: $(DEV) ## Run the tests (ARGS="-m 'not broker and not campaign and not docker'" for those without a broker)
	$(BIN)/pytest -q -n $(TEST_PROCESSES) --dist loadscope --no-loadscope-reorder -m "not campaign and not docker" $(ARGS)

campaign: $(DEV) ## Kill, interrupt and starve whole studies, and look at MLflow in a browser (KAFKA_TUNER_CAMPAIGN=long for more)
	$(BIN)/pytest -q -n $(TEST_PROCESSES) --dist loadscope --no-loadscope-reorder -m "campaign and not alone and not docker" $(ARGS) || [ $$? -eq 5 ] # 5: ARGS chose none of these
	$(BIN)/pytest -q -m "campaign and alone" $(or $(ARGS),$(shell grep -rl "mark.alone" --include="test_*.py" tests)) || [ $$? -eq 5 ]

experiments: $(DEV) ## Run three of the papers' experiments with one round, and report them (ARGS="--rounds 5" for more)
	for name in $(EXPERIMENTS); do \
	  $(BIN)/tuner experiment run $$name --quick --no-mlflow --rounds 1 $(ARGS) || exit 1; \
	done

failures: $(DEV) ## Kill, pause and cut off every part of real studies, over 100 times (ARGS=--write fills docs/evidence)
	$(BIN)/python -m tests.campaign.all_failures $(ARGS)

containers: $(DEV) ## Build the image and test it; starts a Docker engine where none runs (root, Debian)
	scripts/with-docker sh -c 'scripts/image build && $(BIN)/pytest -q -n $(TEST_PROCESSES) --dist loadscope -m docker $(ARGS)'

check: $(DEV) ## Lint, formatting, types, import rules, pins, files named in documents, tracked files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/check_pins.py
	$(BIN)/python scripts/check_named_files.py
	$(BIN)/python scripts/check_tracked_files.py

docs: $(DEV) ## Build the documentation site in build/docs; a link or reference that leads nowhere fails
	$(BIN)/sphinx-build -W --keep-going -n -q -d build/doctrees docs build/docs
	@echo "read it: build/docs/index.html"

format: $(DEV) ## Fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(DEV) ## Measure the tool itself, on an idle machine (an hour; ARGS=--short takes 7 minutes, ARGS=--write fills docs/evidence)
	$(BIN)/python -m benchmarks $(ARGS)

ci: ## Everything that continuous integration runs
	.ci/run

image: ## Build the container image kafka-tuner
	scripts/image build

lock: ## Rewrite constraints.txt (ARGS=--upgrade for the newest of everything)
	scripts/lock-constraints $(ARGS)

clean: ## Remove .venv, caches and build products
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find search_spaces runners objectives tuner tests benchmarks scripts docs -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

$(RUNTIME): pyproject.toml constraints.txt
	@scripts/setup-env runtime

$(DEV): pyproject.toml constraints.txt
	@scripts/setup-env dev
