"""What a climb takes it gives back: nothing of one rung is there when the next one begins."""

from __future__ import annotations

import gc
import weakref

import pytest

from warpladder.lab.climb import climb
from warpladder.lab.registry import find_ladder
from warpladder.lab.verify import check_wrong
from warpladder.simulator import SimulatedDevice
from warpladder.simulator.execution.arrays import SimulatedArray
from warpladder.simulator.execution.batch import Batch
from warpladder.simulator.execution.launch import Launch

LADDER = find_ladder("primer")


@pytest.fixture
def made(monkeypatch):
    """Return weak references to the arrays, launches and batches made from here on.

    The collector of garbage rests meanwhile: it goes by the number of objects, so that a few rings
    of them can keep gigabytes. Numba's compiler leaves such rings, with the frames of who called
    it, so what counts is the second time, when nothing is compiled.
    """
    references = []

    def note(cls):
        real = cls.__init__

        def init(self, *args, **options):
            real(self, *args, **options)
            references.append(weakref.ref(self))

        monkeypatch.setattr(cls, "__init__", init)

    for cls in (SimulatedArray, Batch, Launch):
        note(cls)
    gc.disable()
    yield references
    gc.enable()


def kept(references):
    assert references
    there = [reference() for reference in references]
    references.clear()
    return [type(thing).__name__ for thing in there if thing is not None]


def test_a_climb_keeps_no_memory_of_a_rung(made):
    device = SimulatedDevice(counters=False)
    for name in ("vector-add-grid", "shared-flags"):
        for first in (True, False):
            made.clear()
            (row,) = climb(LADDER, device, simulator=SimulatedDevice, only=name)
            assert row.predictions
            assert not row.faults
            assert first or kept(made) == []


@pytest.mark.parametrize("wrong", LADDER.wrong, ids=lambda wrong: wrong.rung.name)
def test_nor_of_a_wrong_one(wrong, made):
    for first in (True, False):
        made.clear()
        assert check_wrong(wrong, SimulatedDevice).ok
        assert first or kept(made) == []
