# `make demo` shows the product, `make test` runs all that CI runs; both install what they need.
PYTHON ?= python3
VENV := .venv
MODELS := .venv-models
TORCH := .venv-torch
BIN := $(VENV)/bin
CANVAS := clients/canvas
PAGE := tvls/canvas/static/index.html
NODE := $(CANVAS)/node_modules/.package-lock.json
NEOVIM := clients/neovim
EXTENSION := clients/vscode
VSCODE := .vscode-test
PIP := -m pip install --quiet --disable-pip-version-check
TRACE := $(BIN)/tvls trace --trust --python $(CURDIR)/$(MODELS)/bin/python --folder examples
OPEN := $(BIN)/tvls open --trust --python $(CURDIR)/$(MODELS)/bin/python --folder examples

.PHONY: demo test bench env models torch versions versions-suite ecosystem pytest-worker pytest-others lint types generated canvas canvas-test neovim-lint vscode vscode-editor vscode-lint vscode-test chromium pytest pytest-canvas pytest-vscode clean

env: $(VENV)/.installed
models: $(MODELS)/.installed
torch: $(TORCH)/.installed

# The editable install builds the canvas.
$(VENV)/.installed: pyproject.toml requirements/dev.txt hatch_build.py | $(NODE)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) -r requirements/dev.txt
	$(BIN)/python $(PIP) --no-deps --no-build-isolation -e .
	touch $@

# The canvas, bundled into the Python package.
canvas: $(PAGE)

$(PAGE): $(NODE) $(CANVAS)/build.mjs $(shell find $(CANVAS)/src -type f)
	cd $(CANVAS) && npm run --silent build
	touch $@

$(NODE): $(CANVAS)/package-lock.json
	@command -v npm >/dev/null || { echo "The canvas is built with Node.js 20 or newer and npm, which are not there: install them (Debian: nodejs, npm) and run make again."; exit 1; }
	cd $(CANVAS) && npm ci --silent
	touch $@

# The browser that the canvas is tested in.
chromium:
	@command -v chromium >/dev/null || { \
	  test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq && \
	  apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core >/dev/null; \
	} || { echo "The canvas is tested in Chromium, which is not there: install it (Debian: apt install chromium), or set TVLS_TEST_CHROMIUM."; test -n "$$TVLS_TEST_CHROMIUM"; }

# The Neovim plugin's Lua, formatted; its types and its behaviour are tested by pytest.
neovim-lint: $(NEOVIM)/node_modules/.package-lock.json
	cd $(NEOVIM) && npm run --silent lint

$(NEOVIM)/node_modules/.package-lock.json: $(NEOVIM)/package-lock.json
	cd $(NEOVIM) && npm ci --silent
	touch $@

canvas-test: canvas
	cd $(CANVAS) && npm run --silent lint && npm run --silent types && npm run --silent test

# The extension for VS Code, as a file to install, with the server in it.
vscode: $(EXTENSION)/tvls.vsix

$(EXTENSION)/server/.built: $(PAGE) pyproject.toml README.md LICENSE $(shell find tvls -name '*.py') | $(VENV)/.installed
	rm -rf $(EXTENSION)/server
	$(BIN)/python -m hatchling build -t wheel -d $(EXTENSION)/server
	touch $@

$(EXTENSION)/node_modules/.package-lock.json: $(EXTENSION)/package-lock.json
	cd $(EXTENSION) && npm ci --silent --ignore-scripts
	touch $@

$(EXTENSION)/tvls.vsix: $(EXTENSION)/node_modules/.package-lock.json $(EXTENSION)/server/.built $(NODE) \
		$(shell find $(EXTENSION)/src $(EXTENSION)/test $(EXTENSION)/media -type f) \
		$(addprefix $(EXTENSION)/,package.json build.mjs README.md CHANGELOG.md)
	cd $(EXTENSION) && npm run --silent build && npm run --silent package

# The VS Code that the extension is tested in.
vscode-editor: $(VSCODE)/version

$(VSCODE)/version: tests/vscode/install.sh
	rm -rf $(VSCODE)
	tests/vscode/install.sh $(CURDIR)/$(VSCODE)

vscode-lint: $(EXTENSION)/node_modules/.package-lock.json
	cd $(EXTENSION) && npm run --silent lint && npm run --silent types && npm run --silent test

vscode-test: vscode-lint env models vscode vscode-editor chromium pytest-vscode

# A user's environment: models and nothing of ours.
$(MODELS)/.installed: requirements/models.txt
	$(PYTHON) -m venv $(MODELS)
	$(MODELS)/bin/python $(PIP) -r requirements/models.txt
	touch $@

# Another user's: PyTorch, and no JAX.
$(TORCH)/.installed: requirements/torch.txt
	$(PYTHON) -m venv $(TORCH)
	$(TORCH)/bin/python $(PIP) -r requirements/torch.txt
	touch $@

# The oldest and the newest libraries, on the oldest and the newest Python of this machine.
versions: env
	$(BIN)/python tests/versions/environments.py

# Everything that is tested of the worker, in each of them; `make test` runs a part of it.
versions-suite: versions
	for row in oldest newest; do \
	  test ! -d .venv-$$row || TVLS_TEST_PYTHON=$(CURDIR)/.venv-$$row/bin/python $(BIN)/python -m pytest tests/worker_jax tests/tracing || exit 1; \
	done

demo: env models canvas
	@echo "== The models of examples/, found by reading"
	@$(BIN)/tvls discover examples
	@echo "== A plain JAX function"
	@$(TRACE) examples/model.py:net
	@echo "== A Flax Linen module"
	@$(TRACE) examples/mlp.py:MLP
	@echo "== GPT-2 of the transformers package, 124 million parameters, none of them allocated"
	@$(TRACE) --profile gpt2 --depth 4
	@echo "== The same as a graph, in your browser"
	@if [ -t 1 ]; then $(OPEN) --profile gpt2; else $(OPEN) --profile gpt2 --no-browser --until-stdin-ends </dev/null; fi

# What reads code, beside what loads the environments that the tests need.
test: env canvas
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target $(CHECKS) models torch versions vscode chromium
	$(MAKE) --no-print-directory pytest

CHECKS := lint types generated canvas-test vscode-lint neovim-lint

lint: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: env
	$(BIN)/pyright
	$(BIN)/pyright --project benchmarks

generated: env
	$(BIN)/python -m tvls.protocol.generate --check

# Two halves beside each other, each with its output in one piece, and beside them the editor, which has to be loaded more than computed.
pytest: env models torch versions canvas vscode chromium
	$(MAKE) --no-print-directory --jobs=3 --output-sync=target pytest-worker pytest-others vscode-editor
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target pytest-canvas pytest-vscode

FIRST_HALF := tests/worker_jax tests/worker_torch tests/versions tests/tracing tests/protocol tests/neovim
APART := tests/canvas tests/vscode

pytest-worker:
	$(BIN)/python -m pytest $(FIRST_HALF)

pytest-others:
	$(BIN)/python -m pytest $(FIRST_HALF:%=--ignore=%) $(APART:%=--ignore=%)

# In processes of their own: Playwright's event loop stays, and other tests need one of theirs. What each page looked like
# at the end of its test is in build/screenshots.
pytest-canvas:
	$(BIN)/python -m pytest tests/canvas

pytest-vscode:
	$(BIN)/python -m pytest tests/vscode

bench: env models canvas
	$(BIN)/python benchmarks/discovery.py
	$(BIN)/python benchmarks/graph.py
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/probe.py
	node benchmarks/layout.mjs

# Installs the libraries of the ecosystem below the user's cache folder, and writes docs/ecosystem.md, docs/models.md and docs/pytorch_models.md.
ecosystem: env
	$(BIN)/python benchmarks/ecosystem.py
	$(BIN)/python benchmarks/public_models.py
	$(BIN)/python benchmarks/torch_models.py

clean:
	rm -rf $(VENV) $(MODELS) $(TORCH) .venv-oldest .venv-newest $(CANVAS)/node_modules $(NEOVIM)/node_modules $(dir $(PAGE)) $(VSCODE)
	cd $(EXTENSION) && rm -rf node_modules dist build server tvls.vsix LICENSE
