"""`doctor` on a machine where everything is broken, and what keeps the verbs from running."""

from __future__ import annotations

import importlib
import json

import numba
import numpy as np
import pytest

import warpladder as wl
from warpladder.cli import doctor as command
from warpladder.device import cuda, environment, kernel_cache, team
from warpladder.device.capabilities import capabilities
from warpladder.device.properties import known_capabilities
from warpladder.errors import DeviceError, InputError

# The package has a function of this name.
from warpladder.reduction import plan
from warpladder.reduction.memory import copies

# The package has a function of this name.
doctor = importlib.import_module("warpladder.device.doctor")


def _broken(*_arguments, **_options):
    raise RuntimeError("it is broken")


@pytest.fixture
def shown(capsys, monkeypatch):
    """Return what the command prints."""
    monkeypatch.setenv("COLUMNS", "200")

    def shown():
        command.doctor(capabilities=False, json=False)
        return capsys.readouterr().out

    return shown


@pytest.mark.parametrize("broken", ["_numba_is_there", "vector_unit", "_jit_cache", "worker_count"])
def test_one_thing_broken(monkeypatch, shown, broken):
    monkeypatch.setattr(doctor, broken, _broken)
    found = wl.doctor()
    assert len(found.problems) == 1
    assert "it is broken" in found.problems[0]
    json.dumps(found.as_dict())
    assert "it is broken" in shown()


def test_everything_broken(monkeypatch, shown):
    for name in ("_numba_is_there", "_cpu_name", "worker_count", "host_memory"):
        monkeypatch.setattr(doctor, name, _broken)
    found = wl.doctor()
    assert len(found.problems) == 4
    assert (found.vector, found.memory, found.jit_cache) == (None, None, None)
    assert "Python" in shown()


@pytest.mark.numba_cuda
def test_a_broken_cuda_is_a_finding(monkeypatch):
    target = importlib.import_module("numba.cuda")
    monkeypatch.setattr(target, "is_available", _broken)
    assert "it is broken" in cuda.probe_cuda().why_not


def test_where_kernels_are_kept(shown):
    found = wl.doctor()
    kept = kernel_cache.cache_folder(copies._copy_lines)
    assert kept is not None
    assert kept.is_relative_to(found.jit_cache)
    assert found.jit_cache_writable
    assert f"{found.jit_cache} (" in shown()
    assert found.problems == ()
    assert found.packages["warpladder"] == wl.__version__


def test_where_no_kernels_can_be_kept(monkeypatch, shown):
    monkeypatch.setattr(team.next_task, "_cache", numba.core.caching.NullCache())
    found = wl.doctor()
    assert (found.jit_cache, found.jit_cache_writable, found.jit_cache_bytes) == (None, False, 0)
    assert "NUMBA_CACHE_DIR" in shown()


@pytest.mark.parametrize("value", ["0", "-1", "many", "", "1.5"])
def test_numbers_of_threads_that_are_none(monkeypatch, value):
    monkeypatch.setenv("NUMBA_NUM_THREADS", value)
    with pytest.raises(InputError, match=f"NUMBA_NUM_THREADS='{value}'"):
        environment.worker_count()
    monkeypatch.delitem(vars(wl), "reduce", raising=False)
    with pytest.raises(InputError, match="NUMBA_NUM_THREADS"):
        _ = wl.reduce


@pytest.mark.parametrize("value", ["1", "3", " 2 "])
def test_numbers_of_threads(monkeypatch, value):
    monkeypatch.setenv("NUMBA_NUM_THREADS", value)
    assert environment.worker_count() == int(value)


def test_without_a_compiler_nothing_is_computed(monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    plan.make_plan.cache_clear()
    with pytest.raises(DeviceError, match="unset it"):
        wl.shortest_paths([[0, 1], [1, 0]])
    with pytest.raises(DeviceError, match="unset it"):
        wl.reduce(np.arange(3, dtype="int16"), "mean", axis=0)


# --- GR's table of limits, and today's ------------------------------------------------------------


def gpu_of(capability):
    return cuda.Gpu(
        f"a GPU of {capability}", capability, 132, 1 << 37, 1024, 227 << 10, 65536, 2048
    )


@pytest.fixture
def told(capsys, monkeypatch):
    """Return what ``doctor --capabilities`` prints where there are GPUs of some capabilities."""
    monkeypatch.setenv("COLUMNS", "80")

    def told(*at_hand, json=False):
        report = cuda.CudaReport("13.0", tuple(map(gpu_of, at_hand)), "")
        monkeypatch.setattr(cuda, "probe_cuda", lambda: report)
        command.doctor(capabilities=True, json=json)
        return capsys.readouterr().out

    return told


def test_limits_are_those_that_gr_prints():
    # Warps, threads, blocks and registers of a multiprocessor, registers of a thread, shared KiB.
    printed = {
        (2, 0): (48, 1536, 8, 32768, 63, (16, 48)),
        (2, 1): (48, 1536, 8, 32768, 63, (16, 48)),
        (3, 0): (64, 2048, 16, 65536, 63, (16, 32, 48)),
        (3, 5): (64, 2048, 16, 65536, 255, (16, 32, 48)),
    }
    assert printed == {
        one.compute_capability: (
            one.warps_per_multiprocessor,
            one.threads_per_multiprocessor,
            one.blocks_per_multiprocessor,
            one.registers_per_multiprocessor,
            one.registers_per_thread,
            tuple(size >> 10 for size in one.shared_bytes_per_multiprocessor),
        )
        for one in capabilities()
        if one.source == "GR"
    }
    assert {(one.threads_per_warp, one.threads_per_block) for one in capabilities()} == {(32, 1024)}


def test_capabilities_are_in_order_and_all_that_are_known():
    listed = [one.compute_capability for one in capabilities()]
    assert listed == sorted(set(listed))
    assert set(known_capabilities()) <= set(listed)


def test_the_table_fits_80_columns_whole_and_marks_what_is_at_hand(told):
    shown = told((9, 0)).splitlines()
    assert max(map(len, shown)) <= 80
    assert not any("\N{HORIZONTAL ELLIPSIS}" in line for line in shown)
    assert [line.split() for line in shown if line.startswith("* 9")] == [
        ["*", "9.0", "H200", "64", "2048", "32", "65536", "255", "228", "227"]
    ]
    assert "* at hand: a GPU of (9, 0) (9.0)" in shown
    assert len([line for line in shown if line.startswith("*")]) == 2


def test_without_a_gpu_and_with_one_that_is_not_known(told):
    assert "No GPU is at hand; the simulator has the limits of 9.0" in told()
    assert "not listed" in " ".join(told((99, 9)).split())


def test_capabilities_as_json(told):
    document = json.loads(told((8, 6), json=True))
    marked = [row["compute_capability"] for row in document["capabilities"] if row["at_hand"]]
    assert marked == document["gpus"] == [[8, 6]]
    assert len(document["capabilities"]) == len(capabilities())
