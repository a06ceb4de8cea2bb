# unmoor: every command a person or a machine runs. `make` alone lists them.
#
# `make demo` and `make test` need only make and Python (3.11 or newer, with venv): the first call
# installs the hash-locked requirements into .venv, later calls notice that nothing changed.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
STAMP := $(VENV)/.installed
WORKERS ?= 2
SEEDS ?= 1-6
UV_VERSION := 0.13.9
export PIP_DISABLE_PIP_VERSION_CHECK := 1

##@ See it work

.PHONY: help
help: ## List these targets
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: $(STAMP) ## Play a day of a simulated cluster and watch unmoor work
	@$(BIN)/unmoor demo

.PHONY: swarm
swarm: $(STAMP) ## Rehearse many seeds in virtual time (SEEDS=1-6)
	@$(BIN)/unmoor swarm --seeds $(SEEDS)

##@ Work on it

.PHONY: test
test: $(STAMP) ## Run the tests (all but e2e and bench) on WORKERS=2 processes
	@$(BIN)/pytest -n $(WORKERS)

.PHONY: fmt
fmt: $(STAMP) ## Format the code and mend what ruff can mend
	@$(BIN)/ruff format
	$(BIN)/ruff check --fix

.PHONY: check
check: format-check lint types imports docs-check test swarm-twice ## Run every gate; what must pass before a commit

.PHONY: format-check
format-check: $(STAMP)
	@$(BIN)/ruff format --check

.PHONY: lint
lint: $(STAMP) ## Gate: ruff
	@$(BIN)/ruff check

.PHONY: types
types: $(STAMP) ## Gate: mypy, strict, over src, tests and hack
	@$(BIN)/mypy --strict

.PHONY: imports
imports: $(STAMP) ## Gate: who may import whom
	@$(BIN)/lint-imports

.PHONY: docs-check
docs-check: $(STAMP) ## Gate: generated pages are what the code says
	@$(PY) hack/docs.py --check

.PHONY: swarm-twice
swarm-twice: $(STAMP) ## Gate: same seed, same story, whatever PYTHONHASHSEED is
	@$(PY) hack/swarm_twice.py --seeds $(SEEDS)

.PHONY: docs
docs: $(STAMP) ## Write the generated pages again
	@$(PY) hack/docs.py

.PHONY: bench
bench: $(STAMP) ## Measure
	@$(BIN)/pytest -m bench --benchmark-enable -p no:xdist

##@ Against the real thing

.PHONY: controlplane
controlplane: ## Build a real control plane from source (needs Go; minutes the first time, seconds after)
	@hack/controlplane/build.sh

.PHONY: e2e
e2e: $(STAMP) ## Run the end-to-end tests on that control plane
	@if command -v go >/dev/null || [ "$${CI:-}" = true ]; then
	  $(MAKE) --no-print-directory controlplane
	else
	  echo "e2e: no Go here, so no control plane: the tests that need one will say that they are skipped" >&2
	fi
	$(BIN)/pytest -m e2e -rs tests/e2e

##@ Housekeeping

.PHONY: lock
lock: ## Resolve the dependencies again and write requirements/*.txt (needs the network)
	@$(call need_python)
	[ -x .cache/uv/bin/uv ] && .cache/uv/bin/uv --version | grep -qF ' $(UV_VERSION)' || {
	  $(PYTHON) -m venv --clear .cache/uv
	  .cache/uv/bin/pip install --quiet 'uv==$(UV_VERSION)'
	}
	compile() {
	  .cache/uv/bin/uv pip compile --quiet --universal --generate-hashes --no-header \
	    --no-emit-index-url --no-emit-find-links --upgrade "$$@" pyproject.toml
	}
	compile -o requirements/runtime.txt
	compile -o requirements/dev.txt --group dev

.PHONY: clean
clean: ## Remove what was built, the virtual environment included
	@rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache \
	  .benchmarks dist build
	find src tests hack -name __pycache__ -type d -prune -exec rm -rf {} +

# ------------------------------------------------------------------------------------------------

# What a person can do about it, in place of a traceback from inside venv.
define need_python
	command -v $(PYTHON) >/dev/null || {
	  echo "unmoor needs Python 3.11 or newer; there is no '$(PYTHON)' on PATH." >&2
	  echo "Install one, or point to one: make PYTHON=/path/to/python3.11" >&2
	  exit 1
	}
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
	  echo "unmoor needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." >&2
	  echo "Point to a newer one: make PYTHON=/path/to/python3.11" >&2
	  exit 1
	}
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || {
	  echo "'$(PYTHON)' cannot make virtual environments: its venv module is missing." >&2
	  echo "On Debian and Ubuntu: apt-get install python3-venv" >&2
	  exit 1
	}
endef

# Everything comes from the lock file, each file checked against its hash; the project itself is built with
# the locked build backend (--no-build-isolation), so nothing unlocked is fetched.
$(STAMP): requirements/dev.txt pyproject.toml
	@$(call need_python)
	[ -x $(PY) ] || $(PYTHON) -m venv $(VENV)
	echo "installing requirements/dev.txt into $(VENV) ..." >&2
	$(PY) -m pip install --quiet --require-hashes -r requirements/dev.txt
	$(PY) -m pip install --quiet --no-deps --no-build-isolation -e .
	touch $@
