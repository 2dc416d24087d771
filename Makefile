# make run: the inspector on the bundled pair. make test: every test. Both set up what they need first.

VENV := .venv
BIN := $(VENV)/bin
# The first Python of 3.11 or newer; set PYTHON to choose another.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

.PHONY: run test test-core lint format docs lock bench screenshots demo clean

run: $(VENV)/.ready
	$(BIN)/python app.py

test: $(VENV)/.ready-dev
	sh tests/browser/install.sh
	$(BIN)/python -m pytest -n 2 --dist worksteal || \
	{ echo "Once more, alone: what failed beside others."; $(BIN)/python -m pytest --last-failed --last-failed-no-failures none; }
	@if command -v node >/dev/null; then node --test tests/js/*.test.mjs; \
	else echo "No Node here: the screen's unit tests were left to the browser tests."; fi

# The pure heart alone: seconds, no model, no browser.
test-core: $(VENV)/.ready-dev
	$(BIN)/python -m pytest tests/core tests/rules tests/test_architecture.py

# The screen's JavaScript and style sheets are formatted by the one version of Prettier that assets/package.json names.
PRETTIER = npx --yes prettier@$$(node -p "require('./assets/package.json').devDependencies.prettier") \
	--config assets/package.json --log-level warn 'assets/**/*.js' 'assets/**/*.css' \
	'tests/js/*.mjs'
NO_NODE := echo "No Node here: JavaScript and style sheets were left as they are."

lint: $(VENV)/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@if command -v npx >/dev/null; then $(PRETTIER) --check; else $(NO_NODE); fi

format: $(VENV)/.ready-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	@if command -v npx >/dev/null; then $(PRETTIER) --write; else $(NO_NODE); fi

# Tables and schemas in docs/ come from the code; a test checks that they are up to date.
docs: $(VENV)/.ready-dev
	$(BIN)/python -m docs.pictures
	$(BIN)/python -m cogapp -I . -r docs/*.md

bench: $(VENV)/.ready-dev
	$(BIN)/python -m bench.speed
	$(BIN)/python -m bench.against_mlx_lm
	$(BIN)/python -m bench.ui
	$(BIN)/python -m bench.batching
	$(BIN)/python -m bench.matrix

# The pictures in docs/ and the session of the first start, from the bundled pair.
screenshots: $(VENV)/.ready-dev
	$(BIN)/python -m bench.screenshots

demo: $(VENV)/.ready-dev
	$(BIN)/python -m bench.record_demo

# Pin anew what pyproject.toml asks for; needs uv. No host is written down.
LOCK := uv pip compile --quiet --universal --python-version 3.11 --no-annotate --no-header \
	--no-emit-index-url --no-emit-find-links pyproject.toml
lock:
	$(LOCK) -o requirements.txt
	$(LOCK) --extra dev -c requirements.txt -o requirements-dev.txt

$(VENV)/.ready: requirements.txt engine/mlx_backend/blas/shim.c engine/mlx_backend/blas/few_rows.h | $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements.txt
	$(BIN)/python -m engine.mlx_backend.blas
	touch $@

$(VENV)/.ready-dev: requirements-dev.txt $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-dev.txt
	touch $@

$(VENV):
	@test -n "$(PYTHON)" || { echo "Draftscope needs Python 3.11 or newer; install it, or set PYTHON."; exit 1; }
	$(PYTHON) -m venv $(VENV)

clean:
	rm -rf $(VENV)
