# Two commands set everything up on a machine that has only Python 3.11+, git and make:
#   make run    shortest flights over a real route map
#   make test   the whole test suite
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# The same without numba-cuda, so with the newest NumPy: what a machine without a GPU gets.
PLAIN_VENV := .venv-without-numba-cuda
PLAIN_READY := $(PLAIN_VENV)/.ready
# The oldest versions of everything that the project allows, without numba-cuda too.
OLDEST_VENV := .venv-oldest
OLDEST_READY := $(OLDEST_VENV)/.ready

.PHONY: run test test-without-numba-cuda test-oldest test-large lint format bench bench-gpu docs notebooks clean help

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 26

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("warpladder needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(PLAIN_READY): pyproject.toml
	$(PYTHON) -m venv $(PLAIN_VENV)
	$(PLAIN_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

$(OLDEST_READY): pyproject.toml .ci/oldest.py
	$(PYTHON) -m venv $(OLDEST_VENV)
	$(PYTHON) .ci/oldest.py > $(OLDEST_VENV)/oldest.txt
	$(OLDEST_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(OLDEST_VENV)/oldest.txt --editable '.[test]'
	@touch $@

run: $(READY)  ## shortest flights between 152 airports, and one journey
	$(BIN)/warpladder paths data/flights.csv --from KEF --to NAN

# A file's tests share what they compile and translate, so a file stays with one process.
test: $(READY)  ## run the test suite (unit, property, golden, doctests) on all cores
	$(BIN)/python -m pytest -q -n auto --dist loadfile

# All that runs kernels; the rest of the suite is the same with either. As with the oldest versions,
# of what hangs on no kernel the first and the last case.
test-without-numba-cuda: $(PLAIN_READY)  ## kernels on the CUDA target that Numba itself ships
	$(PLAIN_VENV)/bin/python -c 'from warpladder.device.numba_target import FRONT_END; assert FRONT_END.package == "numba", FRONT_END'
	$(PLAIN_VENV)/bin/python -m pytest -q -n auto --dist loadfile --first-and-last \
	  tests/simulator tests/primer tests/device \
	  tests/lab/test_check.py tests/lab/test_climb.py tests/lab/test_differences.py tests/lab/test_exercises.py \
	  tests/lab/test_explain.py tests/lab/test_own.py tests/lab/test_pictures.py tests/lab/test_verify.py \
	  tests/cli/test_ladders.py tests/reduction/test_reduction_ladder.py tests/reduction/test_gpu_finish.py \
	  tests/shortest_paths/test_shortest_paths_ladder.py tests/shortest_paths/test_gpu_engine.py \
	  tests/shortest_paths/test_gpu_halves.py tests/shortest_paths/test_gpu_hop_counts.py \
	  tests/shortest_paths/test_batch_of_blocks.py tests/shortest_paths/test_register_tiles_int16.py \
	  tests/overlap_join/test_overlap_join_ladder.py tests/overlap_join/test_gpu_engine.py \
	  tests/advection/test_advection_ladder.py tests/advection/test_gpu_engine.py \
	  src/warpladder/simulator src/warpladder/device src/warpladder/lab

# What old versions warn of has been mended in newer ones.
test-oldest: $(OLDEST_READY)  ## every test with the oldest versions that pyproject.toml allows
	$(OLDEST_VENV)/bin/python -m pytest -q -n auto --dist loadfile --first-and-last \
	  --override-ini filterwarnings=default

test-large: $(READY)  ## what the test suite leaves out: more combinations, minutes, gigabytes
	$(BIN)/python -m pytest -q -n auto --dist loadfile -m large

lint: $(READY)  ## formatting, lint rules and strict types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY)  ## apply the formatter and the safe fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)  ## check and time everything; writes JSON, figure and table
	$(BIN)/python benchmarks/shortest_paths.py
	$(BIN)/python benchmarks/hop_counts.py $(if $(GRAPHS),--graphs $(GRAPHS)) --large
	$(BIN)/python benchmarks/weighted_paths.py $(if $(GRAPHS),--graphs $(GRAPHS))
	$(BIN)/python benchmarks/whole_lengths.py $(if $(GRAPHS),--graphs $(GRAPHS))
	$(BIN)/python benchmarks/graph_files.py
	$(BIN)/python benchmarks/reduction.py
	$(BIN)/python benchmarks/reduction_table.py
	$(BIN)/python benchmarks/cold_session.py
	$(BIN)/python benchmarks/standby.py
	$(BIN)/python benchmarks/choices.py
	$(BIN)/python benchmarks/overlap_join.py $(if $(SETS),--sets $(SETS)) --large
	$(BIN)/python benchmarks/advection.py
	$(BIN)/python benchmarks/simulator.py
	$(BIN)/python benchmarks/publish.py
	$(BIN)/python benchmarks/publish_choices.py

bench-gpu: $(READY)  ## check and time everything on the GPU; writes JSON, figure and tables
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,bench-gpu]'
	$(BIN)/python benchmarks/gpu_shortest_paths.py --out benchmarks/results
	$(BIN)/python benchmarks/gpu_hop_counts.py --out benchmarks/results $(if $(GRAPHS),--graphs $(GRAPHS))
	$(BIN)/python benchmarks/gpu_reduction.py --out benchmarks/results
	$(BIN)/python benchmarks/gpu_calls.py --out benchmarks/results
	$(BIN)/python benchmarks/gpu_calls.py --out benchmarks/results --drawn 150 --seconds 120
	$(BIN)/python benchmarks/gpu_overlap_join.py --out benchmarks/results
	$(BIN)/python benchmarks/gpu_advection.py --out benchmarks/results
	$(BIN)/python benchmarks/gpu_launch.py --out benchmarks/results
	$(BIN)/python benchmarks/gpu_primer.py --out benchmarks/results
	$(BIN)/python benchmarks/gpu_variants.py --out benchmarks/results
	$(BIN)/python benchmarks/publish_gpu.py
	$(BIN)/python benchmarks/publish_sources.py

# Warnings are errors. The cells of the notebooks are run; the simulator runs every rung, and one that
# does not do what it predicts makes no page.
docs: $(READY)  ## build the site into docs/_build/html; what is wrong in it ends it
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs]'
	$(BIN)/python -m sphinx -b html -W --keep-going -q -j auto docs docs/_build/html

notebooks: $(READY)  ## run the notebooks, without the site
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs]'
	$(BIN)/python -m pytest -q -m 'large or not large' tests/docs/test_notebooks.py

clean:  ## remove compiled kernels and caches (needed after editing a file of LLVM tiles)
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis docs/_build docs/ladders docs/counters.md
