# unmoor: every command a person or a machine runs. `make` alone lists them.
#
# `make demo` and `make test` need only make and Python (3.11 or newer, with venv): the first call
# installs the hash-locked requirements into .venv, later calls notice that nothing changed.

.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
STAMP := $(VENV)/.installed
WORKERS ?= 2
SEEDS ?= 1-12
SEED := $(or $(SEED),$(shell date +%s))

# A copied or moved checkout brings a virtual environment along whose scripts still point to the old
# place, so the stamp says where it was made.
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
.PHONY: $(STAMP)
endif

##@ See it work

.PHONY: help
help: ## List these targets
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: $(STAMP) ## Play a day of a simulated cluster and watch unmoor work
	@$(BIN)/unmoor demo

.PHONY: tutorial
tutorial: $(STAMP) ## Do what the README's tutorial says (needs kubectl, or `make controlplane`; 2 minutes)
	@$(PY) hack/tutorial.py

.PHONY: swarm
swarm: $(STAMP) ## Rehearse many seeds in virtual time (SEEDS=1-12)
	@$(BIN)/unmoor swarm --seeds $(SEEDS)

.PHONY: swarm-wide
swarm-wide: $(STAMP) ## Rehearse 500 seeds, and meet every method, phase and fault on the way
	@$(BIN)/unmoor swarm --seeds 1-500 --jobs $(WORKERS) --coverage

##@ Work on it

# Without compiled files three processes compile all tests, and each command that they run the package.
.PHONY: test
test: $(STAMP) ## Run the tests (all but e2e and bench) on WORKERS=2 processes
	@PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n $(WORKERS) --dist worksteal

.PHONY: thorough
thorough: $(STAMP) ## Hold the fast engine to the oracle on thousands of new random scenes (SEED=... repeats)
	@echo "make thorough SEED=$(SEED)"
	@$(BIN)/pytest -n $(WORKERS) --timeout=1800 --hypothesis-profile=thorough --hypothesis-seed=$(SEED) \
	  tests/engine/test_agreement.py

.PHONY: fmt
fmt: $(STAMP) ## Format the code and mend what ruff can mend
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

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
bench: $(STAMP) ## Measure everything, or some of it (BENCH="sync watch")
	@$(PY) -m tests.bench $(BENCH)

.PHONY: performance
performance: $(STAMP) ## Write docs/performance.md from what make bench measured last
	@$(PY) -m tests.bench.page

##@ Against the real thing

.PHONY: controlplane
controlplane: ## Build a real control plane from source (needs Go; minutes the first time, seconds after)
	@hack/controlplane/build.sh

.PHONY: e2e
e2e: $(STAMP) ## Run the end-to-end tests on that control plane
ifeq ($(filter true,$(CI))$(shell command -v go 2>/dev/null),)
	@echo "e2e: there is no Go here, so no control plane: what needs one says that it is skipped" >&2
else
	@$(MAKE) --no-print-directory controlplane
endif
	@$(BIN)/pytest -m e2e -rs

##@ Housekeeping

.PHONY: lock
lock: ## Resolve the dependencies again and write requirements/*.txt (needs the network)
	@PYTHON=$(PYTHON) hack/lock.sh

.PHONY: clean
clean: ## Remove what was built, the virtual environment included
	@rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache \
	  .benchmarks dist build
	@find src tests hack -name __pycache__ -type d -prune -exec rm -rf {} +

# ------------------------------------------------------------------------------------------------

$(STAMP): requirements/dev.txt pyproject.toml hack/venv.sh
	@PYTHON=$(PYTHON) hack/venv.sh $(VENV)
	@echo '$(CURDIR)' >$@
