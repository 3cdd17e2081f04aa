"""Make helper modules beside the tests importable, and decide what a machine cannot run."""

from __future__ import annotations

import gc
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from choosing import first_and_last

# First, since tests say `from numba import cuda`: it decides whose target that is.
from warpladder.device.numba_target import FRONT_END

#: The largest takes a minute on a quiet machine, five on a busy one.
_LARGE_SECONDS = 1800

#: Of whose tests those that simulate kernels stay together, and with how many processes at most.
_WITH_KERNELS = ("advection", "lab", "overlap_join", "reduction", "shortest_paths")
_TOGETHER_UP_TO = 4

_HELPERS = ("advection", "lab", "overlap_join", "shortest_paths")
sys.path[:0] = [str(Path(__file__).parent / folder) for folder in _HELPERS]

# No test is timed: the first example may compile what the others run.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# All that lives is looked at between files alone, see below: in 87 tests that translate kernels for
# the simulator the collector took 16 of 100 CPU seconds, nearly all of them for old objects.
gc.set_threshold(20_000, 20, 1_000_000)


@pytest.fixture(autouse=True, scope="module")
def _garbage_of_other_files_is_gone() -> None:
    """What compilers leave in memory is a second's work for the collector, each time."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let all tests be run with fewer of their parameters."""
    parser.addoption(
        "--first-and-last",
        action="store_true",
        help="of each test's cases the first and the last: what another version of a library "
        "changes is seen in these; all where a case is a kernel, or what kernels may say",
    )


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


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Leave a folder's files that simulate kernels to one process, which translates each once.

    Where there are few processes: 18 files of `tests/shortest_paths` take 67 CPU seconds in one and
    73 in two. Many would wait for the one, and so do those that have large tests.
    """
    has_large = config.getoption("markexpr") != "not large"
    if (config.getoption("dist") != "loadfile" or has_large) or (
        len(config.getoption("tx")) > _TOGETHER_UP_TO
    ):
        return None
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _simulating(super()._split_scope(nodeid))

    return Together(config, log)


@cache
def _simulating(file: str) -> str:
    """Return the folder of a file that simulates kernels of its own subject, else the file."""
    path = Path(__file__).parents[1] / file
    if path.parent.name not in _WITH_KERNELS or path.parent.parent != Path(__file__).parent:
        return file
    return path.parent.name if "SimulatedDevice" in path.read_text("utf-8") else file


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give large tests time on slow machines; skip what needs numba-cuda where it is not in use.

    When it is settled which of them are run, the cases between the first and the last may go.
    """
    if config.getoption("--first-and-last"):
        kept = set(first_and_last([item.nodeid for item in items]))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in kept])
        items[:] = [item for item in items if item.nodeid in kept]
    for item in items:
        if item.get_closest_marker("large"):
            item.add_marker(pytest.mark.timeout(_LARGE_SECONDS))
    if not FRONT_END.why_not:
        return
    skip = pytest.mark.skip(reason=f"needs numba-cuda, which {FRONT_END.why_not}")
    for item in items:
        if item.get_closest_marker("numba_cuda"):
            item.add_marker(skip)
