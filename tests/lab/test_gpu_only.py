"""A rung that is a library: verified on a GPU, left out elsewhere, with the reason."""

from __future__ import annotations

import dataclasses

import pytest
import toy
from fakes import FakeGpu

from warpladder.errors import InputError, MissingExtraError
from warpladder.lab import bench
from warpladder.lab.climb import climb
from warpladder.lab.explain import explain
from warpladder.lab.launches import launched_variants
from warpladder.lab.verify import verify
from warpladder.rung import Ladder
from warpladder.simulator import SimulatedDevice

LIBRARY = dataclasses.replace(
    toy.rung("library", toy.running(toy.NEAR), limits="it is compiled already"), on="gpu"
)


def climbed(rung, device):
    return list(climb(Ladder("l", "L", (rung,)), device, simulator=SimulatedDevice))


@pytest.fixture(autouse=True)
def hurry(monkeypatch):
    monkeypatch.setattr(bench, "_SECONDS", 0.0)


@pytest.mark.parametrize("device", [None, SimulatedDevice()], ids=["none", "simulated"])
def test_without_a_gpu_it_is_not_verified(device):
    with pytest.raises(InputError, match="library runs on a GPU only: it is compiled already"):
        verify(LIBRARY, device, [1])


def test_on_a_gpu_it_is_verified_and_timed_end_to_end():
    (row,) = climbed(LIBRARY, FakeGpu())
    assert not row.faults
    assert not row.skipped
    assert len(row.verdicts) == 6
    assert row.timing.kernel_seconds is None


def test_a_climb_on_the_simulator_leaves_it_out_with_the_reason():
    (row,) = climbed(LIBRARY, SimulatedDevice())
    assert row.skipped == "runs on a GPU only: it is compiled already"
    assert not row.faults
    assert not row.verdicts


def test_a_climb_without_a_device_says_what_it_takes():
    with pytest.raises(InputError, match="library runs on a GPU only; use the device cuda"):
        list(climb(Ladder("l", "L", (LIBRARY,)), None, simulator=SimulatedDevice, only="library"))


def test_a_package_that_is_missing_is_no_wrong_answer():
    def run(_device, _problem):
        raise MissingExtraError("the library", "thing", "extra")

    (row,) = climbed(dataclasses.replace(LIBRARY, run=run), FakeGpu())
    assert not row.faults
    assert row.skipped.startswith("was left out: the library needs thing, which is not installed")


def test_there_is_nothing_to_compile_and_its_host_code_is_explained():
    assert launched_variants(LIBRARY) == []
    found = explain(Ladder("l", "L", (LIBRARY,)), LIBRARY, SimulatedDevice)
    assert [listing.name for listing in found.kernels] == ["run"]
