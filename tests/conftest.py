"""Make helper modules beside the tests importable, and decide what a machine cannot run."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest

# First, since tests say `from numba import cuda`: it decides whose target that is.
from warpladder.device.numba_target import FRONT_END

#: The largest takes a minute on a quiet machine, five on a busy one.
_LARGE_SECONDS = 1800

_HELPERS = ("advection", "lab", "overlap_join", "shortest_paths")
sys.path[:0] = [str(Path(__file__).parent / folder) for folder in _HELPERS]

# All that lives is looked at between files alone, see below: in 87 tests that translate kernels for
# the simulator the collector took 16 of 100 CPU seconds, nearly all of them for old objects.
gc.set_threshold(20_000, 20, 1_000_000)


@pytest.fixture(autouse=True, scope="module")
def _garbage_of_other_files_is_gone() -> None:
    """What compilers leave in memory is a second's work for the collector, each time."""
    gc.collect()
    gc.freeze()


def pytest_report_header() -> str:
    """Say whose CUDA target the tests run on."""
    why = f" ({FRONT_END.why_not})" if FRONT_END.why_not else ""
    return f"kernels: {FRONT_END.package} {FRONT_END.version}{why}"


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes that nobody can read by their number: a packed file holds the time of its making.

    Two processes that collect the tests must find the same names.
    """
    if isinstance(val, bytes) and not (val.isascii() and val.decode().isprintable()):
        return f"{argname}-of-{len(val)}-bytes"
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give large tests time on slow machines; skip what needs numba-cuda where it is not in use."""
    for item in items:
        if item.get_closest_marker("large"):
            item.add_marker(pytest.mark.timeout(_LARGE_SECONDS))
    if not FRONT_END.why_not:
        return
    skip = pytest.mark.skip(reason=f"needs numba-cuda, which {FRONT_END.why_not}")
    for item in items:
        if item.get_closest_marker("numba_cuda"):
            item.add_marker(skip)
