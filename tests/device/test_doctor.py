"""`doctor` on a machine where everything is broken, and what keeps the verbs from running."""

from __future__ import annotations

import importlib
import json

import numba
import numpy as np
import pytest

import warpladder as wl
from warpladder.cli import doctor as command
from warpladder.device import cuda, environment, team
from warpladder.errors import DeviceError, InputError
from warpladder.reduction import plan

# The package has a function of this name.
doctor = importlib.import_module("warpladder.device.doctor")


def _broken(*_arguments, **_options):
    raise RuntimeError("it is broken")


@pytest.fixture
def shown(capsys, monkeypatch):
    """Return what the command prints."""
    monkeypatch.setenv("COLUMNS", "200")

    def shown():
        command.doctor(json=False)
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
    assert found.jit_cache_writable is (found.jit_cache is not None)
    assert found.problems == ()
    assert found.packages["warpladder"] == wl.__version__


def test_where_no_kernels_can_be_kept(monkeypatch, shown):
    monkeypatch.setattr(team.barrier, "_cache", numba.core.caching.NullCache())
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
