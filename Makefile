# Everything a developer types. `make` alone lists it.

# Installs compile to bytecode and so do tests, whatever the caller's environment says: start-up is measured.
unexport PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK = 1

PYTHON ?= python3
SEEDS  ?= 300
KILLS  ?= 100
JOBS   ?= auto
# Much of the rest waits for processes, so there are twice as many workers as cores.
MANY   ?= $(shell echo $$((2 * $$(nproc))))
ARGS   ?=

VENV   := .venv
BIN    := $(VENV)/bin
INPUTS := pyproject.toml constraints.txt
PYTEST := $(BIN)/python -m pytest --dist worksteal
GATE   := --cov=medbay.core --cov-branch --cov-fail-under=100 tests/core
REST   := --ignore=tests/core tests
MEMORY := $(shell test -w /dev/shm && test "$$(df --output=avail /dev/shm | tail -1)" -gt 4000000 && echo /dev/shm || echo "$${TMPDIR:-/tmp}")
SYSTEM := $(addprefix $(VENV)/.,postgres chromium bubblewrap tmux)
PIP    := $(BIN)/python -m pip --quiet --no-input install --constraint constraints.txt

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo pictures page-types test tests test-all test-agents check lint types fix words sim chaos bench lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.dev ## make .venv with everything for development; instant when nothing changed

demo: $(VENV)/.run ## a small fleet failing in every way and healing, live, within a minute
	@$(BIN)/medbay demo $(ARGS)

test: lint $(SYSTEM) ## what has to pass: lint, types, the core with its coverage gate, the rest but for what is long
	@$(MAKE) --no-print-directory -j 2 types tests

# The types take one core for a minute, while tests wait for processes. Their folders are in memory where there is room:
# each commit of a store waits for the disk otherwise. `make test-all` runs them on the disk.
tests: export TMPDIR := $(MEMORY)
tests: $(VENV)/.dev
	$(PYTEST) -n $(JOBS) -m 'not long' $(GATE) $(ARGS)
	$(PYTEST) -n $(MANY) -m 'not long' $(REST) $(ARGS)

test-all: export HYPOTHESIS_PROFILE = long
test-all: check $(SYSTEM) $(VENV)/.strace ## the same with all seeds, real faults, durability and long properties
	@$(MAKE) --no-print-directory page-types
	$(PYTEST) -n $(JOBS) $(GATE) $(ARGS)
	$(PYTEST) -n $(JOBS) $(REST) $(ARGS)

pictures: $(VENV)/.dev $(VENV)/.chromium ## take the pictures of the page again that the documents show, on a simulated month
	$(BIN)/python -m bench.pictures $(ARGS)

page-types: ## check the types of the page's modules, where npm is there; the vendored ones are left out
	@command -v npx >/dev/null || { echo "NO NPM: the types of the page are not checked" >&2; exit 0; }; \
	  ! { npx --yes --package typescript@5 tsc -p medbay/web/static/jsconfig.json | grep -v '^vendor\|/vendor/' | grep 'error TS'; }

test-agents: $(VENV)/.dev build/agents/.installed build/agents/.aider ## the real Codex, Gemini, OpenCode and aider against an imitation of their APIs
	PATH="$(CURDIR)/build/agents/node_modules/.bin:$(CURDIR)/build/agents/bin:$$PATH" $(PYTEST) -m agents tests/agents $(ARGS)

build/agents/.installed:
	npm install --no-audit --no-fund --prefix build/agents @openai/codex @google/gemini-cli opencode-ai
	@touch $@

# Only the program itself goes on the PATH: its environment has a Python of its own.
build/agents/.aider:
	$(PYTHON) -m venv build/agents/aider
	build/agents/aider/bin/python -m pip --quiet --no-input install aider-chat
	mkdir -p build/agents/bin && ln -sf ../aider/bin/aider build/agents/bin/aider
	@touch $@

check: lint types ## lint and types only

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

fix: $(VENV)/.dev ## repair what the linter can, then format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

words: $(VENV)/.dev ## write down again which words lead to which rules of the diagnosis
	$(BIN)/python -m tests.core.diagnosis.words

sim: $(VENV)/.dev ## run the simulator; SEEDS=300
	$(BIN)/python -m medbay.sim --seeds $(SEEDS) $(ARGS)

chaos: $(VENV)/.dev $(VENV)/.postgres ## real daemons under real faults, then every promise checked; KILLS=100
	$(BIN)/python -m chaos --kills $(KILLS) $(ARGS)

bench: $(VENV)/.dev ## measure against the bars
	$(BIN)/python -m bench $(ARGS)

lock: ## write constraints.txt again from the newest versions that fit, and requirements-hashed.txt for the container
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip --quiet --no-input install -e '.[dev]' hatchling
	build/lock/bin/python -m pip list --format=freeze --exclude medbay --exclude pip --exclude setuptools > constraints.txt
	build/lock/bin/python -m pip --quiet --no-input install uv
	build/lock/bin/uv pip compile --quiet pyproject.toml --extra postgres --constraint constraints.txt --universal --python-version 3.11 \
	    --generate-hashes --no-header --no-annotate --no-emit-index-url --output-file requirements-hashed.txt
	rm -rf build/lock

clean: ## remove .venv and all caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.* build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps are newer than what they were made from, so that a second call does nothing.
# A fresh machine may lack the venv module; as root it is installed, otherwise we say what is missing.
$(BIN)/python:
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  test "$$(id -u)" = 0 && command -v apt-get >/dev/null || { \
	    echo "python3 has no venv module: install the package python3-venv, then run make again" >&2; exit 1; }; \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv >/dev/null; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(INPUTS) | $(BIN)/python
	@test -e $(VENV)/.dev -a $(VENV)/.dev -nt pyproject.toml -a $(VENV)/.dev -nt constraints.txt || \
	  { $(PIP) hatchling && $(PIP) --no-build-isolation -e .; }
	@touch $@

$(VENV)/.dev: $(INPUTS) | $(BIN)/python
	$(PIP) hatchling
	$(PIP) --no-build-isolation -e '.[dev]'
	@touch $@ $(VENV)/.run

# What the tests need beside Python. Root installs it; for others what needs it is skipped, loudly.
# $(call package,CHECK,PACKAGE,WHAT IS SKIPPED)
package = @$(1) >/dev/null 2>&1 || { \
	  test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
	    apt-get update -qq && apt-get install -y -qq --no-install-recommends $(2) >/dev/null; } || \
	  echo "NO $(2): $(3) will be skipped; install the package $(2)" >&2; \
	  ! $(1) >/dev/null 2>&1 || touch $@

$(VENV)/.postgres: | $(BIN)/python # a server of their own, also where PG_BIN names one
	$(call package,{ test -n "$$PG_BIN" || ls /usr/lib/postgresql/*/bin/initdb; },postgresql,the tests of the store on PostgreSQL)

$(VENV)/.chromium: | $(BIN)/python # the page is walked in a real browser
	$(call package,command -v chromium,chromium,the tests of the page in a browser)

$(VENV)/.bubblewrap: | $(BIN)/python # agents in a sandbox
	$(call package,command -v bwrap,bubblewrap,the tests of agents in a sandbox)

$(VENV)/.tmux: | $(BIN)/python # live views on a real terminal
	$(call package,command -v tmux,tmux,the tests of live views on a terminal)

$(VENV)/.strace: | $(BIN)/python # what is acknowledged was synced: shown by system calls
	$(call package,command -v strace,strace,the tests of what is synced)
