# Two commands matter: `make demo` and `make test`. Everything else is a part of them.
PYTHON ?= python3
VENV := .venv
MODELS := .venv-models
BIN := $(VENV)/bin

.PHONY: demo test env models lint types pytest generated bench clean

env: $(VENV)/.installed
models: $(MODELS)/.installed

$(VENV)/.installed: pyproject.toml requirements/dev.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

# The user's side: an environment with models in it and nothing of ours.
$(MODELS)/.installed: requirements/models.txt
	$(PYTHON) -m venv $(MODELS)
	$(MODELS)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/models.txt
	touch $@

lint: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: env
	$(BIN)/pyright

pytest: env models
	$(BIN)/python -m pytest

test: lint types pytest

clean:
	rm -rf $(VENV) $(MODELS) .demo
