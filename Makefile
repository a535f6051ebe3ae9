# One command a task.  Everything is set up in .venv on the way; nothing else on the machine is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check  # errors are shown, advice about pip is not
NATIVE := pyproject.toml CMakeLists.txt $(wildcard native/*)

.PHONY: help demo test test-cluster test-torch test-browser test-gpu sanitize wheels lint bench docs release-check clean

help:
	@echo "make demo    set everything up and show the library at work"
	@echo "make test    set everything up and run the suite; what needs more than this process runs in the targets below"
	@echo "make test-cluster  the tests that kill, fill or measure processes, of a Dask cluster or alone, which disturb what runs beside them"
	@echo "make test-torch   the tests of devices, with torch on the processor and Triton's interpreter"
	@echo "make test-browser  the tests of pages, in Chromium, which is installed if it is not there"
	@echo "make test-gpu     the same on a CUDA device, with the torch that PYTHON has"
	@echo "make sanitize     the native core with AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer"
	@echo "make wheels       a wheel for every Python on the path or in PYTHONS='…', each tested where it is installed"
	@echo "make lint    style, types (also as users see them) and the import contract"
	@echo "make bench   side by side with other libraries (MERCER_DATA=folder adds real data)"
	@echo "make docs    run the code of its pages, and build the documentation into docs/_build/html"
	@echo "make release-check   what must be so before a release, each item with a verdict"
	@echo "make clean   remove everything that was built"

demo: $(VENV)/.demo
	$(BIN)/mercer demo

test: $(VENV)/.test
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal -m "not torch and not browser and not cluster and not docs"  # one worker a core, one thread a worker

test-cluster: $(VENV)/.test
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m cluster

test-torch: $(VENV)/.test $(VENV)/.torch
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto -m torch
	TRITON_INTERPRET=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto tests/gram/torch/test_fused.py tests/solvers/machines/device/test_triton.py

test-browser: $(VENV)/.test $(VENV)/.browser
	@command -v chromium chromium-browser google-chrome > /dev/null || { echo "installing Chromium"; tools/chromium.sh; }
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m browser -rP

test-gpu:  # everything that is needed must be there: the package itself and torch with CUDA
	$(PYTHON) -m pytest -m torch tests/gram tests/solvers tests/learning tests/models tests/distributed
	$(PYTHON) -m benchmarks gpu

sanitize: $(VENV)/.test $(VENV)/.sanitize
	PATH="$(abspath $(BIN)):$$PATH" native/tests/run $(BIN)/python

wheels:  # in environments of their own, outside the tree
	$(PYTHON) tools/wheels.py $(PYTHONS)

lint: $(VENV)/.demo $(VENV)/.lint  # examples draw
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

bench: $(VENV)/.demo
	$(BIN)/python -m benchmarks

docs: $(VENV)/.test $(VENV)/.docs
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto -m docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

release-check: $(VENV)/.docs $(VENV)/.release
	$(BIN)/python tools/release_check.py $(OPTIONS)

clean:
	rm -rf $(VENV) build docs/_build docs/gallery docs/api/generated

# The package itself, rebuilt when the native core or the package's description changes.
$(VENV)/.installed: $(NATIVE)
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || \
	  { echo "mercer needs Python 3.11 or later; '$(PYTHON)' is $$($(PYTHON) --version). Try: make PYTHON=python3.12"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) -e .
	@touch $@

# What a task needs beside it; the package is not built again for that.
EXTRA = $(BIN)/python tools/extra.py $(1) > $(VENV)/$(1).txt && \
  $(INSTALL) -r $(VENV)/$(1).txt
$(VENV)/.demo: $(VENV)/.installed
	$(call EXTRA,plot)
	$(call EXTRA,command)
	@touch $@
$(VENV)/.sanitize: $(VENV)/.installed
	$(INSTALL) "nanobind>=2.8" "cmake>=3.18"
	@touch $@
$(VENV)/.release: $(VENV)/.installed
	$(INSTALL) "auditwheel>=6" "cffconvert>=2" "twine>=6"
	@touch $@
$(VENV)/.test $(VENV)/.lint $(VENV)/.docs $(VENV)/.torch $(VENV)/.browser: $(VENV)/.%: $(VENV)/.installed
	$(call EXTRA,$*)
	@touch $@
