# Everything a contributor runs, by name. It needs make, git and a Python of 3.11 or later, nothing else.

BIN     := .venv/bin
# What runs maitred is installed first, without what only its development needs: `make up` should not wait.
RUNS    := .venv/.runs
STAMP   := .venv/.installed
# Test workers. Three for each core of a small machine: most of them play on a server, and mostly wait.
JOBS    ?= 6
# Random clusters that `make test-filters` and `make test-devices` compare.
CASES   ?= 1000
# Places that `make mutants` changes, and which.
COUNT   ?= 300
SEED    ?= 1

# The Python for .venv; PYTHON=... on the command line overrides the choice. Candidates are run, not looked
# up: a version manager's shim can be on the PATH and still not start.
CANDIDATES := $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11)
find_python = py=; for p in $(CANDIDATES); do \
	if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then py=$$p; break; fi; done; \
	if [ -z "$$py" ]; then echo "maitred needs Python 3.11 or later, and none of these is one: $(CANDIDATES)" >&2; exit 1; fi

.DEFAULT_GOAL := help
.PHONY: help venv up test chromium postgresql test-matrix test-filters test-devices mutants check lint bench bench-kube bench-sandbox fmt clean

help: ## Show this list
	@echo "usage: make TARGET"
	@echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r target what; do \
		printf '  %-13s %s\n' "$$target" "$$what"; done

venv: $(STAMP) ## Install maitred and its development tools into .venv

PIP     := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt

$(RUNS): pyproject.toml constraints.txt
	@$(find_python); \
	if ! $(BIN)/python -c '' 2>/dev/null; then $$py -m venv --clear .venv; fi
	@echo "Installing maitred into .venv ($$($(BIN)/python --version)); half a minute, only when its dependencies change"
	@$(PIP) -e '.[fast]'
	@touch $@

$(STAMP): $(RUNS)
	@echo "Installing the development tools into .venv; half a minute more"
	@$(PIP) -e '.[dev]'
	@touch $@

up: $(RUNS) ## A cluster to try it on: the sandbox, the scheduler and a queue of gangs, until Ctrl-C
	@$(BIN)/maitred up --story queue

# Tests that share a server go to one worker (`xdist_group`); the others have the rest.
PYTEST  := $(BIN)/pytest -n $(JOBS) --dist loadgroup

test: lint chromium postgresql ## Lint, check types and imports, and run every test; the first time builds Kubernetes 1.37.1
	$(PYTEST) -m "not operators"

chromium:
	@tests/browser/chromium.sh

postgresql:
	@tests/ledger/postgresql.sh

test-matrix: venv ## The scenarios on Kubernetes 1.36.4 and without a group API; real operators; filters and devices on 300 random clusters each
	@echo "Four runs at once; each is shown when it has ended"
	@$(MAKE) --no-print-directory --jobs 4 --output-sync=target matrix-release matrix-without-groups matrix-operators matrix-filters matrix-devices

# What depends on the release. How the scheduler takes random faults is tested on one.
MATRIX  := $(BIN)/pytest -m control_plane $(addprefix tests/scenarios/test_,scenarios.py crashes.py leader.py role.py device_claims.py device_choices.py device_races.py device_resources.py)

.PHONY: matrix-release matrix-without-groups matrix-operators matrix-filters matrix-devices
matrix-release:
	MAITRED_KUBERNETES=1.36.4 $(MATRIX)

matrix-without-groups:
	MAITRED_KUBERNETES=1.37.1 MAITRED_WORKLOAD_GATES=off $(MATRIX)

matrix-operators:
	$(BIN)/pytest tests/operators

matrix-filters:
	MAITRED_FILTER_CASES=300 $(BIN)/pytest -s tests/filters

matrix-devices:
	MAITRED_DEVICE_CASES=300 $(BIN)/pytest -s tests/devices

test-filters: venv ## Compare filters with the real kube-scheduler on random clusters: CASES=3000 of them
	MAITRED_FILTER_CASES=$(CASES) $(BIN)/pytest -s tests/filters

test-devices: venv ## Compare the devices of claims with the real kube-scheduler on random clusters: CASES=3000 of them
	MAITRED_DEVICE_CASES=$(CASES) $(BIN)/pytest -s tests/devices

mutants: venv ## Change the code in 300 places, one at a time, and show which changes no test notices
	$(BIN)/python -m tests.mutants --seed $(SEED) --count $(COUNT)

check: lint ## The quick tests, with fewer examples of each property: three to four minutes, before every commit
	HYPOTHESIS_PROFILE=quick $(PYTEST) -m "not slow and not control_plane and not browser" tests

lint: venv
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

bench: venv ## Run the benchmarks of the engine
	$(BIN)/python -m benchmarks

bench-kube: venv ## Race kube-scheduler on a real API server
	$(BIN)/python -m benchmarks.kube

bench-sandbox: venv ## Fill a sandbox with 20,000 pods, and a real API server beside it
	$(BIN)/python -m benchmarks.sandbox

fmt: venv ## Format the code and apply the safe fixes
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

clean: ## Remove .venv, caches and build output
	rm -rf .venv build dist .hypothesis .import_linter_cache .mutants .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
