# Every target first sets up what it needs in .venv, on a machine that has only Python 3.11 or newer.
# When nothing changed since, that costs nothing: the stamps below are compared, nothing is run.
#
#   make run     start tui-agent here          ARGS="run 'what is in this folder?'"
#   make test    the tests                     ARGS="tests/gate -x"
#   make check   lint, format, types, layers
#   make bench   measurements, printed
#   make soak    a thousand turns with random faults, for minutes
#   make real-model   the tests on a small real model, which is installed first: 120 MB
#   make lock    requirements.lock anew        ARGS=--upgrade
#   make clean   removes .venv and every cache

VENV := .venv
PYTHON := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed
COMPILED := $(VENV)/.compiled
SOURCES := $(shell find tui_agent -name '*.py')
ARGS ?=
# Apart from .venv, as nothing but its tests may depend on it. They look in the same place.
REAL_MODEL := $(or $(TUI_AGENT_REAL_MODEL),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/tui-agent/real-model)

.PHONY: run test check bench soak real-model lock clean

run: $(COMPILED)
	@$(VENV)/bin/tui-agent $(ARGS)

# Two workers: more only compete with the servers and children that the tests start.
# Tests of one group share a server and stay on one worker.
test: $(COMPILED)
	$(PYTHON) -m pytest -n auto --maxprocesses 2 --dist loadgroup $(ARGS)

check: $(INSTALLED)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

bench: $(COMPILED)
	$(PYTHON) -m pytest tests/bench -m bench -p no:xdist -s -q $(ARGS)

soak: $(COMPILED)
	TUI_AGENT_SOAK=1000 $(PYTHON) -m pytest tests/soak -m '' -n 0 -s -q $(ARGS)

real-model: $(COMPILED) $(REAL_MODEL)/.installed
	TUI_AGENT_REQUIRE_REAL_MODEL=1 $(PYTHON) -m pytest tests/real_model -n 0 -q $(ARGS)

lock: $(INSTALLED)
	@.ci/lock $(VENV) $(ARGS)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find tui_agent tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): requirements.lock pyproject.toml .ci/venv
	@.ci/venv $(VENV)
	@touch $@

$(REAL_MODEL)/.installed: .ci/real-model tests/real_model/requirements.txt | $(INSTALLED)
	@.ci/real-model "$(REAL_MODEL)" $(VENV)
	@touch "$@"

# A first start should not pay for compiling, even where the environment forbids Python to write.
$(COMPILED): $(INSTALLED) $(SOURCES)
	@env -u PYTHONDONTWRITEBYTECODE $(PYTHON) -m compileall -q tui_agent
	@touch $@
