# `make run` and `make test` need Python 3.11 or later and make; everything else goes into .venv.
# Any Python: make PYTHON=/path/to/python test. Some tests: make unit PYTEST_ARGS="-k queue -x".

PYTHON ?= $(shell for p in python3.11 python3; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo "$$p"; break; }; done)
BENCH_ARGS ?=
PYTEST_ARGS ?=

VENV := .venv
BENCH := .venv-bench
BIN := $(VENV)/bin
FOLDERS := actorflow transports devices kernels checkpoint
PROJECT := pyproject.toml setup.py
PIP := -m pip --quiet --disable-pip-version-check --no-input

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test test-extras lint types unit bench format clean

help:
	@echo 'make run     train a small model: examples/digits.py'
	@echo 'make test    all checks: lint, types, unit'
	@echo 'make lint    ruff check and ruff format --check'
	@echo 'make types   mypy --strict'
	@echo 'make unit    pytest'
	@echo 'make test-extras  the tests that need large extras, such as Ray'
	@echo 'make format  let ruff repair and format the sources'
	@echo 'make bench   compare with TensorFlow (in an environment of its own, .venv-bench)'
	@echo 'make clean   remove the environments, builds and caches'

run: $(VENV)/.run
	$(BIN)/python examples/digits.py

# One after the other: some tests measure time.
test: $(VENV)/.dev
	$(MAKE) --no-print-directory lint
	$(MAKE) --no-print-directory types
	$(MAKE) --no-print-directory unit

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/.dev
	$(BIN)/mypy --strict $(FOLDERS)

unit: $(VENV)/.dev
	$(BIN)/python -m pytest $(PYTEST_ARGS)

test-extras: $(VENV)/.extras
	$(BIN)/python -m pytest -m extras $(PYTEST_ARGS)

format: $(VENV)/.dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(BENCH)/.bench
	$(BENCH)/bin/python -m benchmarks $(BENCH_ARGS)

# The stamps: an environment is made once, and installed into again when the project's files change.
$(VENV)/.made $(BENCH)/.made:
	@test -n '$(PYTHON)' || { echo 'No Python 3.11 or later found. Name one: make PYTHON=/path/to/python' >&2; exit 1; }
	$(PYTHON) -m venv --clear $(@D)
	@touch $@

$(VENV)/.run: $(VENV)/.made $(PROJECT)
	$(BIN)/python $(PIP) install --editable '.[examples]'
	@touch $@

$(VENV)/.dev: $(VENV)/.made $(PROJECT)
	$(BIN)/python $(PIP) install --editable '.[dev,examples,bfloat16,special]'
	@touch $(VENV)/.run $@

$(VENV)/.extras: $(VENV)/.dev
	$(BIN)/python $(PIP) install --editable '.[ray]'
	@touch $(VENV)/.run $(VENV)/.dev $@

$(BENCH)/.bench: $(BENCH)/.made $(PROJECT)
	$(BENCH)/bin/python $(PIP) install --editable '.[peers,examples,bfloat16,special,onednn,jit]'
	@touch $@

clean:
	rm -rf $(VENV) $(BENCH) build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
