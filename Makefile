# Every target first sets up what it needs in .venv, on a machine that has only Python 3.11 or newer.
# When nothing changed since, that costs nothing: the stamps below are compared, nothing is run.
#
#   make run     start tui-agent here          ARGS="run 'what is in this folder?'"
#   make test    the tests                     ARGS="tests/gate -x"
#   make check   lint, format, types, layers
#   make bench   measurements, printed
#   make lock    requirements.lock anew        ARGS=--upgrade
#   make clean   removes .venv and every cache

VENV := .venv
PYTHON := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed
COMPILED := $(VENV)/.compiled
SOURCES := $(shell find tui_agent -name '*.py')
ARGS ?=

.PHONY: run test check bench lock clean

run: $(COMPILED)
	@$(VENV)/bin/tui-agent $(ARGS)

# Two workers: more only compete with the servers and children that the tests start.
test: $(COMPILED)
	$(PYTHON) -m pytest -n auto --maxprocesses 2 $(ARGS)

check: $(INSTALLED)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

bench: $(COMPILED)
	$(PYTHON) -m pytest tests/bench -m bench -p no:xdist -s -q $(ARGS)

lock: $(INSTALLED)
	@.ci/lock $(VENV) $(ARGS)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find tui_agent tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): requirements.lock pyproject.toml .ci/venv
	@.ci/venv $(VENV)
	@touch $@

# A first start should not pay for compiling, even where the environment forbids Python to write.
$(COMPILED): $(INSTALLED) $(SOURCES)
	@env -u PYTHONDONTWRITEBYTECODE $(PYTHON) -m compileall -q tui_agent
	@touch $@
