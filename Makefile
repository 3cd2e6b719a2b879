# Every target works alone on a fresh Debian or Ubuntu, installs what it needs, and is quick when repeated.
SHELL := /bin/bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

BIN := .venv/bin
CODE := $(wildcard verieval finetune serve)

# Checkouts of the upstream benchmarks; tests that need one are skipped without it.
ifndef VERIEVAL_DATA
ifneq ($(wildcard ../shared/benchmarks),)
VERIEVAL_DATA := $(abspath ../shared/benchmarks)
endif
endif
ifdef VERIEVAL_DATA
export VERIEVAL_DATA
endif

# One process a core, eight at most; each keeps to one thread, or they would spin against one another.
JOBS ?= $(shell cores=$$(nproc); echo $$((cores < 8 ? cores : 8)))
PYTEST = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS)

.PHONY: help setup demo test test-all bench lint types format icarus12 clean distclean base dev

help: ## say what there is
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo '  VERIEVAL_DATA=DIR  folder with checkouts of the upstream benchmarks   ARGS=...  more arguments for pytest'
	@echo '  PYTHON=PATH        the Python to use, 3.11 or newer                   JOBS=N    processes'

base:
	@scripts/setup.sh base

dev:
	@scripts/setup.sh dev

setup: dev icarus12 ## install everything that development needs into .venv and .tools

demo: base ## run the model that ships on the project's own tasks and show the report
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash scripts/demo.sh

test: dev ## run the tests, without the slow ones
	@scripts/get-icarus12.sh || echo 'Icarus Verilog 12 could not be had, so the tests that need it are skipped.'
	@$(PYTEST) $(ARGS)

test-all: dev ## run all tests; those that need vLLM are skipped without it
	@scripts/get-icarus12.sh || echo 'Icarus Verilog 12 could not be had, so the tests that need it are skipped.'
	@$(PYTEST) -m 'not bench' $(ARGS)

bench: dev ## measure: run the scripts in tests/bench, or one of them with BENCH=NAME
	@scripts/get-icarus12.sh || echo 'Icarus Verilog 12 could not be had, so measurements that need it are left out.'
	@shopt -s nullglob; scripts=(tests/bench/$(or $(BENCH),[a-z]*).py); \
	[ $${#scripts[@]} -gt 0 ] || { echo 'bench: there is no script tests/bench/$(or $(BENCH),*).py.' >&2; exit 2; }; \
	for script in "$${scripts[@]}"; do \
	    [ "$$script" != tests/bench/conftest.py ] || continue; \
	    echo "== $$script"; PYTHONPATH="$(CURDIR)" $(BIN)/python "$$script" || exit; \
	done

lint: dev ## check style and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(MAKE) types

types: dev
	@$(BIN)/mypy $(CODE)

format: dev ## rewrite the code in the project's style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

icarus12: ## put Icarus Verilog 12 into .tools/icarus-12, where the distribution has another version
	@scripts/get-icarus12.sh

clean: ## remove caches and build outputs
	@rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +

distclean: clean ## remove .venv and .tools too
	@rm -rf .venv .tools
