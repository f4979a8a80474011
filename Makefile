# The front door. Every target does its own set-up and can be repeated; nothing is done twice.

BIN := .venv/bin
STAMP := .venv/.ready
FRAMEWORKS := .venv/.frameworks
PYTEST_ARGS ?= -n auto

.DEFAULT_GOAL := help
.PHONY: help setup demo test second check fmt bench clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP)  ## Make .venv with trainshed and the developer tools in it

$(STAMP): pyproject.toml constraints.txt scripts/setup.sh
	@scripts/setup.sh .venv
	@touch $@

$(FRAMEWORKS): $(STAMP)
	@scripts/setup.sh .venv frameworks
	@touch $@

demo: $(STAMP)  ## Start Trainshed, run a two-node PyTorch job with live logs; it stays up to look around
	@scripts/demo.sh

test: $(FRAMEWORKS)  ## Run all tests (PYTEST_ARGS="-k word" for some)
	$(BIN)/python -m pytest $(PYTEST_ARGS)

SECOND := $(addprefix tests/backend/,test_contract.py test_creating.py test_tenants.py test_isolation.py reads/test_reading.py)

second: $(FRAMEWORKS)  ## Test the backend once more, pointed by a kubeconfig at a second control plane
	$(BIN)/python -m pytest -n auto --second-plane $(SECOND)

check: $(STAMP)  ## Formatting, lint, types, import rules, spelling
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell src tests docs examples scripts bench README.md CHANGELOG.md CONTRIBUTING.md

fmt: $(STAMP)  ## Format and fix what can be fixed by itself
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)  ## Measure speed and size, as ratios to a baseline in the same run
	$(BIN)/python -m bench

clean:  ## Remove everything that was made here
	rm -rf .venv .demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
