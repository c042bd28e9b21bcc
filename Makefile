# Everything a newcomer, a maintainer and the CI need: `make help` lists it. uv is fetched into .tools when the machine has none.

# Only a Python that is already here is used; UV_PYTHON_DOWNLOADS=automatic lets uv fetch one.
export UV_PYTHON_DOWNLOADS ?= never

# Where the machine keeps certificates of its own (a company's proxy, for example), uv trusts those. The second name is the old one.
ifneq ($(wildcard /etc/ssl/certs/ca-certificates.crt /etc/ssl/cert.pem /etc/pki/tls/certs/ca-bundle.crt),)
export UV_SYSTEM_CERTS ?= true
export UV_NATIVE_TLS ?= true
endif

# Asked for its version because a version manager's shim may be on PATH without a uv behind it.
UV := $(shell uv --version >/dev/null 2>&1 && echo uv || echo .tools/bin/uv)
RUN := $(UV) run --frozen
# What fetches is tried twice; a test or a check never is.
AGAIN := scripts/again
FETCH := $(AGAIN) $(RUN)

PACKAGES := $(notdir $(wildcard packages/*))
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test engines pi agents phoenix check format bench screenshots build alone clean
.NOTPARALLEL:

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1 /p' Makefile | while read -r name words; do printf '  make %-12s %s\n' "$$name" "$$words"; done

demo: $(UV) ## the whole chain in a scratch folder: no key, no network, nothing of yours is touched
	@$(FETCH) --no-dev true
	@$${UV_PROJECT_ENVIRONMENT:-.venv}/bin/agent-workflow demo $(ARGS)

test: $(UV) ## the whole test suite; ARGS="-k words" for a part of it
	@$(FETCH) true
	@$(RUN) pytest -n auto --dist worksteal $(ARGS)

engines: $(UV) ## Spark (needs Java) and chDB from PyPI into .tools, and the tests that let them read an exported dataset
	@UV_PROJECT_ENVIRONMENT=.tools/engines $(FETCH) --group engines true
	@UV_PROJECT_ENVIRONMENT=.tools/engines $(RUN) --group engines pytest -m engines tests/fleet $(ARGS)

pi: $(UV) ## the real pi, from npm into .tools, for the tests that drive a real agent
	@$(FETCH) true
	@UV=$(UV) tests/tracer/install-pi

agents: $(UV) ## the real Claude Code, Codex, gemini-cli and opencode as well, for the same tests
	@$(FETCH) true
	@UV=$(UV) tests/tracer/install-agents

phoenix: $(UV) ## Phoenix, a collector, from PyPI into .tools, for the test that sends it traces
	@UV=$(UV) tests/integrations/install-phoenix

check: $(UV) ## lint, format, types, import contract, lock file
	@$(FETCH) true
	@$(AGAIN) $(UV) lock --check
	@$(RUN) ruff check
	@$(RUN) ruff format --check
	@$(RUN) scripts/check-types
	@$(RUN) lint-imports

format: $(UV) ## rewrite the sources as `make check` wants them
	@$(RUN) ruff check --fix
	@$(RUN) ruff format

bench: $(UV) ## measure the index against the floor; figures and the machine are in benchmarks/README.md
	@$(RUN) python -m benchmarks $(ARGS)

screenshots: $(UV) ## the pictures in docs/screenshots, from demo data; needs Chromium
	@$(RUN) python scripts/screenshots $(ARGS)

build: $(UV) ## every package as sdist and wheel, into dist/
	@rm -rf dist
	@$(AGAIN) $(UV) build --quiet --all-packages --out-dir dist
	@ls dist/*.whl

alone: build $(PACKAGES:%=alone-%) ## each wheel alone: fresh environment, only what it declares, its own tests

alone-%: $(UV) # one of them, from dist/ as it is
	@UV=$(UV) scripts/test-package-alone $* $(ARGS)

clean: ## remove what the targets made
	rm -rf .venv .tools dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# `uv` itself when it is on PATH: nothing to make.
uv: ;

.tools/bin/uv:
	@echo "uv is not on PATH: fetching it into .tools"
	@python3 -m venv .tools || { echo "make: python3 -m venv failed; install python3-venv, or uv" >&2; exit 1; }
	@$(AGAIN) .tools/bin/pip install --quiet --disable-pip-version-check uv
