# Every recipe works from package registries alone; `make setup` is all that others need.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

BIN := .venv/bin
RUN_PYTHON := $(BIN)/python
PYTEST := $(RUN_PYTHON) -m pytest

# Spark binds to the address of the host's name otherwise, which need not be reachable.
export SPARK_LOCAL_IP ?= 127.0.0.1

# Hundreds of Python processes are started: what they compile is worth keeping.
unexport PYTHONDONTWRITEBYTECODE

# Two processes: what a small machine has. JOBS=0 runs the tests in one.
JOBS ?= 2

ZIG := build/ziglang

# Tests on Spark and Kafka wait for servers, too.
ENGINE_JOBS ?= 3


stage = @printf '\n=== %s ===\n' '$(1)'

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## make .venv from the locked packages (PYTHON=... chooses the Python)
	@sh scripts/setup.sh

.PHONY: format
format: setup ## format the code and apply the linter's safe fixes
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

.PHONY: check
check: check-format check-lint check-prose check-types check-imports check-audit ## format, lint, English, types, import contracts, advisories

.PHONY: check-format
check-format: setup
	$(call stage,check: format)
	@$(BIN)/ruff format --check .

.PHONY: check-lint
check-lint: setup
	$(call stage,check: lint)
	@$(BIN)/ruff check .

.PHONY: check-prose
check-prose: setup
	$(call stage,check: English)
	@$(RUN_PYTHON) -m devtools.prose | grep -v '0.00 *$$'

.PHONY: check-types
check-types: setup ## mypy and pyright at the same time: each uses one core
	$(call stage,check: types)
	@$(BIN)/mypy & mypy=$$!; code=0; $(BIN)/basedpyright || code=$$?; wait $$mypy && exit $$code

.PHONY: check-imports
check-imports: setup
	$(call stage,check: import contracts)
	@$(BIN)/lint-imports --no-cache # its cache misses that an imported module has come
	@$(PYTEST) -q tests/test_dependencies.py tests/test_import_graph.py

.PHONY: check-audit
check-audit: setup ## known vulnerabilities of the locked packages, where the index has them
	$(call stage,check: advisories)
	@$(RUN_PYTHON) scripts/audit.py

.PHONY: test
test: check test-fast test-slow test-engine ## check, then the tests: fast, slow, on Spark and Kafka; at most 22 minutes

.PHONY: test-fast
test-fast: setup ## tests that need no JVM, and take milliseconds
	$(call stage,tests: fast)
	@$(PYTEST) -n $(JOBS) --durations=25 -m 'not (spark or kafka or slow or long or kill or connectors)' $(ARGS)

.PHONY: cov
cov: setup ## the fast tests with the coverage of each file and its missing lines (ARGS='tests/kstreams/joins')
	$(call stage,tests: coverage)
	@$(COVERAGE) --cov-report=term-missing:skip-covered $(ARGS)

.PHONY: htmlcov
htmlcov: setup ## the same as pages: htmlcov/index.html
	$(call stage,tests: coverage)
	@$(COVERAGE) --cov-report=html $(ARGS)
	@echo 'coverage: htmlcov/index.html'

COVERAGE := $(PYTEST) -n $(JOBS) -m 'not (spark or kafka or slow or long or kill or connectors)' \
    $(foreach folder,kstreams packages connectors stores serdes,--cov=$(folder))

.PHONY: test-slow
test-slow: setup ## tests that need no Spark, and take seconds
	$(call stage,tests: slow)
	@$(PYTEST) -n $(JOBS) --durations=25 -m '(slow or kill) and not (spark or kafka or long or connectors)' $(ARGS)

.PHONY: test-engine
test-engine: setup ## tests on Spark and on a Kafka broker (ARGS='-m kafka' chooses)
	$(call stage,tests: Spark and Kafka)
	@$(RUN_PYTHON) -m devtools.servers.fetch
	@$(RUN_PYTHON) -m devtools.spark_classes
	@$(PYTEST) -n $(ENGINE_JOBS) -v --dist worksteal --durations=25 -m '(spark or kafka) and not (cluster or long or kill)' $(ARGS)

.PHONY: test-engines
test-engines: setup ## the tests of apps on Spark again, on the embedded engine and as operators of streaming queries
	$(call stage,tests: other engines)
	@$(RUN_PYTHON) -m devtools.spark_classes
	@for engine in embedded group-state; do \
	    KSTREAMS_TEST_ENGINE=$$engine $(PYTEST) -n $(JOBS) --dist worksteal --durations=25 \
	        -m 'spark and not (cluster or long or kill)' tests/kstreams/spark $(ARGS) || exit 1; \
	done

.PHONY: test-long
test-long: setup ## the tests that take longest, of each of these kinds; CI runs it after `make test`
	$(call stage,tests: long)
	@$(RUN_PYTHON) -m devtools.servers.fetch
	@$(RUN_PYTHON) -m devtools.spark_classes
	@$(PYTEST) -n $(JOBS) -v --dist worksteal --durations=25 -m 'long and not (cluster or kill or connectors)' $(ARGS)

.PHONY: test-kills
test-kills: setup ## processes on Spark and Kafka are killed, a few times each; CI runs it after `make test`
	$(call stage,tests: kills)
	@$(RUN_PYTHON) -m devtools.servers.fetch
	@$(RUN_PYTHON) -m devtools.spark_classes
	@$(PYTEST) -n $(ENGINE_JOBS) -v --dist worksteal -m '(spark or kafka) and kill and not cluster' $(ARGS)

.PHONY: test-connectors
test-connectors: setup ## sources, sinks and intakes on their real servers, also on those that `make test` leaves out; SERVERS=containers: in Docker
	$(call stage,tests: connectors)
	@$(RUN_PYTHON) -m devtools.servers.fetch databases
	@KSTREAMS_SERVERS=$(SERVERS) $(PYTEST) -n $(JOBS) tests/connectors tests/stores/kstreams_gcs \
	    tests/crash/test_stream_logs.py tests/crash/test_sinks.py tests/examples/test_with_servers.py tests/deploy/test_helm.py $(ARGS)

.PHONY: test-cluster
test-cluster: setup ## minutes of kills, pauses and lost executors on a Spark cluster; no part of `make test`
	$(call stage,tests: a Spark cluster)
	@$(RUN_PYTHON) -m devtools.servers.fetch
	@$(RUN_PYTHON) -m devtools.spark_classes
	@$(PYTEST) -v -s -m cluster tests/cluster $(ARGS)

.PHONY: test-matrix
test-matrix: setup ## the tests on each Python and PySpark, as far as they are available (ARGS='--python 3.12 --only fast')
	@$(RUN_PYTHON) -m devtools.matrix run $(ARGS)

.PHONY: conformance
conformance: setup ## all conformance cases on RocksDB, at each cut into batches (ARGS: --engine frames-played)
	@for cut in 1 3 all; do \
	    $(RUN_PYTHON) -m tests.conformance tests/conformance/data/*.jsonl --store rocksdb --cut $$cut $(ARGS); \
	done

.PHONY: explore
explore: setup ## the fast tests in another order and with other examples, until interrupted or red
	@while $(PYTEST) -n $(JOBS) -m 'not (spark or kafka or slow or long or kill or connectors)' \
	    --hypothesis-profile=explore --randomly-seed=$$RANDOM $(ARGS); do :; done

.PHONY: fuzz
fuzz: setup ## drive the loops of native/ under sanitizers with random records, until interrupted or red (ARGS='--seed 1')
	@$(RUN_PYTHON) -m tests.native.fuzz $(ARGS)

.PHONY: soak
soak: setup ## kill an app at random for half an hour (ARGS='--minutes 2'), and look at what is left
	@$(RUN_PYTHON) -m tests.kill.soak $(ARGS)

.PHONY: crash-frames
crash-frames: setup ## DataFrames: die at every moment of a batch, on every backend, and go on in every way
	@KSTREAMS_FRAMES_CRASH=all $(PYTEST) -n $(JOBS) tests/kstreams/spark/frames/test_crash.py $(ARGS)

.PHONY: kills
kills: setup ## kill an app twenty times on each kind of topics, checkpoint and sink, and intakes (ARGS='-k postgres')
	@KSTREAMS_KILLS=20 $(PYTEST) -s tests/kill $(ARGS) -m kill

.PHONY: replays
replays: setup ## run 1,000 committed batches of drawn topologies again, and compare their bytes (N=100)
	@$(RUN_PYTHON) -m tests.differential.replays $(or $(N),1000)

.PHONY: demo
demo: setup ## count words on embedded topics
	@$(RUN_PYTHON) examples/word_count.py

.PHONY: run
run: setup ## start the playground of compose.yaml, in containers, or as processes without Docker
	@$(RUN_PYTHON) -m devtools.servers.fetch
	@$(RUN_PYTHON) -m devtools.playground run

.PHONY: listen
listen: setup ## print the totals of the running playground, until Ctrl-C
	@$(RUN_PYTHON) -m devtools.playground listen

.PHONY: reset
reset: setup ## reset the app of the running playground: it counts all lines again
	@$(RUN_PYTHON) -m devtools.playground reset

.PHONY: group-delete
group-delete: setup ## delete the consumer groups that resets have left in the playground
	@$(RUN_PYTHON) -m devtools.playground group-delete

.PHONY: proto
proto: setup ## generate the modules of the .proto files again
	@$(RUN_PYTHON) -m grpc_tools.protoc -Ideploy/playground --python_out=deploy/playground --pyi_out=deploy/playground words.proto
	@$(RUN_PYTHON) -m grpc_tools.protoc -Ipackages --python_out=packages --pyi_out=packages kstreams_serve/grpc/state.proto

.PHONY: bench
bench: setup ## run the benchmarks against other systems (ARGS=--quick: in 15 minutes)
	@$(RUN_PYTHON) -m benchmarks run $(ARGS)

.PHONY: bench-parts
bench-parts: setup ## run the benchmarks of the library's parts, without a broker
	@$(RUN_PYTHON) -m benchmarks.engine
	@$(RUN_PYTHON) -m benchmarks.windows
	@$(RUN_PYTHON) -m benchmarks.state

.PHONY: lock
lock: setup ## write requirements/*.txt anew (UPGRADE=1 takes newer versions)
	@$(RUN_PYTHON) -m devtools.workspace requirements | $(BIN)/uv pip compile - --group dev $(LOCK_OPTIONS) \
	    --constraints requirements/constraints.txt --output-file requirements/lock.txt
	@sed -n 's/^java = \["\(.*\)"\]$$/\1/p' pyproject.toml | $(BIN)/uv pip compile - $(LOCK_OPTIONS) --output-file requirements/java.txt
	@$(BIN)/uv pip compile --group release $(LOCK_OPTIONS) --output-file requirements/release.txt
	@$(RUN_PYTHON) -m devtools.workspace requirements $$(sed -n 's/.*kstreams-spark\[\(.*\)\].*/\1/p' deploy/Dockerfile | tr , ' ') \
	    | $(BIN)/uv pip compile - $(LOCK_OPTIONS) --constraints requirements/lock.txt --output-file requirements/image.txt
	@echo ziglang | $(BIN)/uv pip compile - $(LOCK_OPTIONS) --output-file requirements/ziglang.txt
	@if grep -nE '(index-url|find-links|://)' requirements/*.txt; then echo 'lock: an address got in' >&2; exit 1; fi

LOCK_OPTIONS := --quiet --universal --python-version 3.10 --generate-hashes --no-emit-index-url \
    --no-emit-find-links --no-annotate --no-header $(if $(UPGRADE),--upgrade)

.PHONY: docs
docs: setup ## build the site of pages and reference into build/docs (a warning is an error)
	@$(BIN)/sphinx-build -q -W --keep-going -b html docs build/docs
	@echo 'docs: build/docs/index.html'

.PHONY: prose
prose: setup ## count habits of unclear English (ARGS='--since main --show' for a change)
	@$(RUN_PYTHON) -m devtools.prose $(ARGS)

.PHONY: dist
dist: setup $(ZIG) ## build wheels and sdists of the current commit into dist/ (PLATFORMS=all: native/ for each platform)
	@$(RUN_PYTHON) -m devtools.release dist $(addprefix --platform=,$(PLATFORMS)) $(ARGS)

.PHONY: image
image: dist ## build deploy/Dockerfile with Docker (IMAGE=REGISTRY/NAME:TAG)
	@docker build --file deploy/Dockerfile --tag $(IMAGE) .

IMAGE ?= kstreams:local

.PHONY: image-check
image-check: dist ## build deploy/Dockerfile and try it; without Docker, in a base image from Debian's packages
	@$(RUN_PYTHON) -m devtools.image

.PHONY: release-dry-run
release-dry-run: setup $(ZIG) ## build, check and install a release on each Python, without an upload (ARGS='--python 3.12 --extra kafka')
	@$(RUN_PYTHON) -m devtools.release dry-run $(addprefix --platform=,$(PLATFORMS)) $(ARGS)

# A C compiler for every platform, as a wheel of 100 MB.
$(ZIG): requirements/ziglang.txt | setup
	@rm -rf $@
	@$(RUN_PYTHON) -m pip install --quiet --disable-pip-version-check --target $@ \
	    --require-hashes --requirement requirements/ziglang.txt
	@touch $@

.PHONY: clean
clean: ## remove .venv, caches and build products
	@rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache spark-warehouse metastore_db
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
