# make demo      train on built-in data and see where the model looks
# make test      the suite of every day
# make test-all  the same and the long drills
# make test-web  the explorer in Chromium, all of it, and its server
# make test-gpu  what needs a CUDA device
# make docs      the site of the documents, in build/site
# make pictures  the pictures of the documents, and the explorer as one file; with WIKI=wiki.txt.gz the map of words too
# make release   a wheel and a source archive in dist, tried in a new environment
# make format    let ruff put the code in order
# make lock      resolve requirements.lock anew from pyproject.toml
#
# Each of them sets up what it needs in .venv; PYTHON=… chooses another interpreter.

TORCH := 2.13.0
# What this version of torch asks for where it is built for CUDA; the tests interpret kernels with it.
TRITON := 3.7.1
SUITS := -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))'
NAMES := python3.11 python3 python3.14 python3.13 python3.12 python
# The first that runs and is new enough: a name may exist on the path and still not start (pyenv's shims).
FIRST = $(shell for name in $(NAMES); do if $$name $(SUITS) 2>/dev/null; then echo $$name; break; fi; done)
PYTHON ?= $(or $(FIRST),python3)
NO_PYTHON := Regard needs Python 3.11 or newer with venv and pip; say where it is with PYTHON=path
PIP := .venv/bin/python -m pip --disable-pip-version-check --no-input
READY := .venv/.ready
# Two test processes on two cores: more threads in each would only wait for one another.
TEST := OMP_NUM_THREADS=1 .venv/bin/python -m pytest -n 2 --dist worksteal

.PHONY: demo test test-all test-web test-gpu check docs pictures release format lock
.NOTPARALLEL:

demo: $(READY)
	.venv/bin/regard demo

test: check
	$(TEST) -m 'not long and not gpu'

test-all: check
	HYPOTHESIS_PROFILE=long $(TEST) -m 'not gpu'

test-web: $(READY)
	HYPOTHESIS_PROFILE=long $(TEST) -m 'web or fuzz'

test-gpu: $(READY)
	.venv/bin/python -m pytest -m gpu

check: $(READY)
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy
	.venv/bin/lint-imports

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict
	@echo 'Open build/site/index.html'

# Models are called what the pages call them, as their pictures show the names. The map is made by the guide's command.
pictures: export PATH := $(CURDIR)/.venv/bin:$(PATH)
pictures: $(READY)
	rm -rf build/pictures && mkdir -p build/pictures
	cd build/pictures && regard demo --out runs/demo && regard train dates-transformer --out runs/transformer
	cp build/pictures/runs/demo/look.png docs/pictures/alignment.png
	cd build/pictures && python $(CURDIR)/benchmarks/screenshots.py runs/demo runs/transformer --out $(CURDIR)/docs/pictures
	cd build/pictures && regard explore runs/demo runs/transformer --out $(CURDIR)/docs/explorer.html
ifdef WIKI
	cd build/pictures && regard vectors train --text '$(abspath $(WIKI))' --out runs/wiki --set vectors.workers=2
	sed -n '/^regard vectors map .*300 .$$/,/-o vectors-map.png$$/p' docs/guides/vectors.md | (cd build/pictures && sh -eu)
	cp build/pictures/vectors-map.png docs/pictures
endif

# The new environment has the torch of the lock and whatever else the wheel asks for. In it, the demo must run from the
# wheel and from the source archive, and the lines of docs/guides/install.md must work; that for GPUs is only resolved.
release: NEW := build/release/bin/python -m pip --disable-pip-version-check --no-input install --quiet
release: $(READY)
	rm -rf dist build/release
	.venv/bin/python -m hatchling build --directory dist
	$(PYTHON) -m venv build/release
	$(NEW) 'torch==$(TORCH)'
	$(NEW) "$$(ls dist/*.whl)[web]"
	cd build/release && bin/regard --version && bin/regard demo --out demo && bin/regard evaluate demo --split dev
	cd build/release && bin/regard explore demo --example '3. März 2021' --out demo.html
	$(NEW) --force-reinstall --no-deps dist/*.tar.gz
	cd build/release && bin/regard --version && bin/regard evaluate demo --split dev
	$(NEW) '.[web]'
	$(NEW) --dry-run '.[web,gpu]' '.[map,export]'
	@ls -l dist

format: $(READY)
	.venv/bin/ruff check --fix
	.venv/bin/ruff format

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) $(SUITS) 2>/dev/null || { echo '$(NO_PYTHON)' >&2; exit 2; }
	@echo 'Setting up .venv: once, a few minutes'
	$(PYTHON) -m venv .venv
	$(PIP) install --quiet -r requirements.lock
	$(PIP) install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# Local versions (+cpu) and the libraries of one accelerator's build of torch belong to a machine, not to the lock.
# Triton is there for Linux alone.
lock: DIR := $(shell mktemp -d)
lock:
	$(PYTHON) -m venv $(DIR)
	$(DIR)/bin/python -m pip --disable-pip-version-check install --quiet 'torch==$(TORCH)' hatchling editables '.[dev]'
	{ echo '# What CI and `make` install; made by `make lock` from pyproject.toml, not by hand.'; \
	  $(DIR)/bin/python -m pip freeze --exclude regard | sed 's/+.*//' | grep -Eiv '^(nvidia|cuda|triton)'; \
	  echo "triton==$(TRITON); sys_platform == 'linux'"; \
	} > requirements.lock.new
	mv requirements.lock.new requirements.lock
	rm -rf $(DIR)
