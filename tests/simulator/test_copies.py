"""Copies to the host that are put on a stream come when somebody waits for them, and not before."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpladder.simulator import SimulatedDevice
from warpladder.simulator.copies import LateCopies


@pytest.fixture
def device():
    return SimulatedDevice()


def late(device, stream, value=1.0):
    """Put a copy on a stream; return where it goes, which holds zeros until it comes."""
    out = np.zeros(3)
    assert device.to_host(device.full(3, value, np.float64), out, stream=stream) is out
    assert not out.any()
    return out


def test_a_stream_brings_its_own_copies_in_order(device):
    one, other = device.stream(), device.stream()
    there = device.to_device(np.zeros(3))
    out, elsewhere = np.empty(3), late(device, other)
    for value in (1.0, 2.0):
        device.to_device(np.full(3, value), out=there, stream=one)
        device.to_host(there, out=out, stream=one)
    # What the array is given later is not what was copied.
    device.to_device(np.full(3, 7.0), out=there, stream=one)
    one.synchronize()
    assert out.tolist() == [2, 2, 2]
    assert not elsewhere.any()


@pytest.mark.parametrize(
    "wait",
    [
        lambda device: device.synchronize(),
        lambda device: device.to_host(device.empty(1, np.int8)),
        lambda device: device.to_device(np.zeros(1)),
    ],
    ids=["for the device", "by a copy from it", "by a copy to it"],
)
def test_what_is_on_no_stream_waits_for_all_streams(device, wait):
    arrays = [late(device, device.stream()) for _ in range(2)]
    wait(device)
    assert all(array.all() for array in arrays)


def test_an_event_brings_the_copies_before_it_and_no_later_ones(device):
    stream, other = device.stream(), device.stream()
    before, event = late(device, stream), device.event()
    event.record(stream)
    behind, beside = late(device, stream), late(device, other)
    event.synchronize()
    assert before.all()
    assert not behind.any()
    assert not beside.any()
    event.record()
    event.synchronize()
    assert behind.all()
    assert beside.all()


def test_a_stream_that_waits_for_an_event_brings_what_is_before_it(device):
    streams = [device.stream() for _ in range(3)]
    arrays = [late(device, streams[0])]
    for one, next_one in pairwise(streams):
        event = device.event()
        event.record(one)
        next_one.wait(event)
        arrays.append(late(device, next_one))
    unwaited = late(device, streams[0])
    streams[2].synchronize()
    assert all(array.all() for array in arrays)
    assert not unwaited.any()


def test_a_stream_sends_on_what_it_has_brought(device):
    stream, other = device.stream(), device.stream()
    out, beside = late(device, stream, 2.0), late(device, stream)
    assert not device.to_device(out, stream=other).copy_to_host().any()
    assert device.to_device(out[1:], stream=stream).copy_to_host().tolist() == [2, 2]
    assert not beside.any()


def test_without_an_array_to_fill_one_is_given_that_fills_later(device):
    stream = device.stream()
    host = device.to_host(device.full((2, 3), 5, np.int32), stream=stream)
    assert (host.shape, host.dtype) == ((2, 3), np.int32)
    stream.synchronize()
    assert (host == 5).all()


@given(st.lists(st.sampled_from("abc") | st.none(), max_size=12))
def test_every_copy_comes_once_and_in_its_turn(steps):
    """A letter puts a copy on that stream; None waits for everything. Streams keep their order."""
    copies, target, last = LateCopies(), np.zeros(1), 0.0
    for number, stream in enumerate(steps, start=1):
        if stream is None:
            copies.complete()
            assert target[0] == last
        else:
            copies.put(stream, target, np.full(1, float(number)))
            last = float(number)
    copies.complete()
    assert target[0] == last
    target[0] = -1
    copies.complete()
    assert target[0] == -1
