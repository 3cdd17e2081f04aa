"""How the GPU engine finishes: pieces of rows, ties, kept memory, tiles on their way; simulated."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import warpladder as wl
from choosing import large
from warpladder.reduction.gpu import parts, stream
from warpladder.reduction.gpu.pieces import Pieces
from warpladder.reduction.memory import layout
from warpladder.simulator import SimulatedDevice


def numbers(n: int, dtype: str, seed: int = 0) -> NDArray[Any]:
    rng = np.random.default_rng(seed + n)
    if dtype[0] == "f":
        return (rng.standard_normal(n) * 3).astype(dtype)
    return rng.integers(0, 100, n).astype(dtype)


@pytest.mark.parametrize("pieces", [2, 255, *large(257, 384, 512, 600)])
def test_any_number_of_pieces(
    gpu: SimulatedDevice, monkeypatch: pytest.MonkeyPatch, pieces: int
) -> None:
    """More pieces than threads are merged in more than one round."""
    monkeypatch.setattr(parts, "pieces_of", lambda *_: Pieces(False, pieces, 1, 256))
    values = numbers(pieces, "i8")
    values[pieces // 2] = 1000
    there = wl.reduce(gpu.to_device(values), ("sum", "argmax"), device=gpu)
    assert there == (values.sum(), pieces // 2)


@pytest.mark.parametrize("pieces", [256, 257, 512, 513, *large(400)])
def test_pieces_are_merged_in_one_order(
    strict_gpu: SimulatedDevice, monkeypatch: pytest.MonkeyPatch, pieces: int
) -> None:
    """Of 256 neighbours the halves are added, then halves of what is left; then what came of all.

    One chunk after the other, or two at once: bits hang on it.
    """
    monkeypatch.setattr(parts, "pieces_of", lambda *_: Pieces(False, pieces, 1, 256))
    values = np.random.default_rng(pieces).standard_normal(pieces)
    left = values
    while left.size > 1:
        chunks = np.pad(left, (0, -left.size % 256)).reshape(-1, 256)
        while chunks.shape[1] > 1:
            half = chunks.shape[1] // 2
            chunks = chunks[:, :half] + chunks[:, half:]
        left = chunks[:, 0]
    assert wl.reduce(strict_gpu.to_device(values), device=strict_gpu) == left[0]


def test_rows_of_several_pieces(strict_gpu: SimulatedDevice) -> None:
    """Each row is finished by the block that has its last piece; and once more in kept memory."""
    values = numbers(3 * 8500, "f4").reshape(3, 8500)
    there = strict_gpu.to_device(values)
    exact = [math.fsum(row) for row in values.tolist()]
    for _ in range(2):
        found = wl.reduce(there, ("sum", "argmin", "var"), axis=1, device=strict_gpu)
        np.testing.assert_allclose(found.sum.copy_to_host(), exact, rtol=1e-5)
        np.testing.assert_array_equal(found.argmin.copy_to_host(), values.argmin(axis=1))
        variance = values.astype("f8").var(axis=1)
        np.testing.assert_allclose(found.var.copy_to_host(), variance, rtol=1e-6)


@pytest.mark.large
def test_exact_sums_of_rows_of_several_pieces(strict_gpu: SimulatedDevice) -> None:
    values = numbers(3 * 8500, "f4").reshape(3, 8500)
    there = strict_gpu.to_device(values)
    exact = [math.fsum(row) for row in values.tolist()]
    squares = [math.fsum(v * v for v in row) for row in values.tolist()]
    for _ in range(2):
        both = wl.reduce(there, ("sum", "l2"), axis=1, accuracy="reproducible", device=strict_gpu)
        np.testing.assert_array_equal(both.sum.copy_to_host(), np.array(exact, "f4"))
        np.testing.assert_array_equal(both.l2.copy_to_host(), np.sqrt(squares).astype("f4"))


@pytest.mark.parametrize("dtype", ["i1", *large("u1", "i2", "u2", "i4", "u4")])
def test_integers_at_the_ends_of_their_range(gpu: SimulatedDevice, dtype: str) -> None:
    ends = np.iinfo(dtype)
    ops = ("sum", "min", "max", "argmin", "argmax", "mean", "var")
    for pattern in ((ends.max,), (ends.min,), (ends.min, ends.max), (ends.max, ends.max - 1)):
        values = np.resize(np.array(pattern, dtype), 16_400 if ends.bits == 8 else 8200)
        there = wl.reduce(gpu.to_device(values), ops, device=gpu)
        exact = [int(v) for v in values]
        mean = sum(exact) / len(exact)
        assert there.sum == sum(exact)
        assert (there.min, there.max) == (min(exact), max(exact))
        assert (there.argmin, there.argmax) == (values.argmin(), values.argmax())
        assert there.mean == pytest.approx(mean, rel=1e-15)
        variance = sum((v - mean) ** 2 for v in exact) / len(exact)
        assert there.var == pytest.approx(variance, rel=1e-13, abs=0)


@pytest.mark.parametrize("dtype", ["f4", *large("i1", "f8")])
def test_first_of_equal_extrema(gpu: SimulatedDevice, dtype: str) -> None:
    """Also where each batch has the extremum, or it lies before the first wide load."""
    values = np.zeros(9000, dtype)
    there = gpu.to_device(values)
    for part in (slice(None), slice(1, None)):
        assert wl.reduce(there[part], ("argmin", "argmax"), device=gpu) == (0, 0)
    values[[1, 5000, 8990]] = 1
    there = gpu.to_device(values)
    assert wl.reduce(there, ("argmin", "argmax"), device=gpu) == (0, 1)
    assert wl.reduce(there[1:], ("argmin", "argmax"), device=gpu) == (1, 0)
    assert wl.reduce(there[2:], "argmax", device=gpu) == 4998


# By default test_gpu_results has logarithms of sums of exponentials, of float64.
@pytest.mark.large
def test_exponentials_of_float32_are_made_in_float32(gpu: SimulatedDevice) -> None:
    values = (np.random.default_rng(0).standard_normal(9000) * 20).astype("f4")
    wide = values.astype("f8")
    expected = wide.max() + math.log(math.fsum(np.exp(wide - wide.max())))
    there = gpu.to_device(values)
    assert abs(float(wl.reduce(there, "logsumexp", device=gpu)) - expected) <= 2.0**-24 * 80
    found = wl.reduce(there, "logsumexp", dtype="f8", device=gpu)
    assert found == pytest.approx(expected, rel=1e-14)


def test_calls_from_several_threads(gpu: SimulatedDevice) -> None:
    """Each has memory for itself."""
    arrays = [numbers(9001, "f4", seed) for seed in range(4)]
    # As above, so that they are translated once.
    ops = ("argmin", "argmax")
    expected = [wl.reduce(gpu.to_device(array), ops, device=gpu) for array in arrays]
    assert len(set(expected)) == 4

    def call(array: Any) -> Any:
        return [wl.reduce(gpu.to_device(array), ops, device=gpu) for _ in range(3)]

    with ThreadPoolExecutor(4) as pool:
        for found, wanted in zip(pool.map(call, arrays), expected, strict=True):
            assert found == [wanted] * 3


def test_memory_is_kept_between_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    device = SimulatedDevice(counters=False, checks=False, multiprocessors=1)
    there = device.to_device(numbers(9001, "f4"))
    for accuracy in ("fast", "reproducible"):
        first = wl.reduce(there, accuracy=accuracy, device=device)
        with monkeypatch.context() as patch:
            patch.setattr(device, "empty", None)
            patch.setattr(device, "full", None)
            assert wl.reduce(there[:9001], accuracy=accuracy, device=device) == first


def test_how_spans_are_joined() -> None:
    spans = [layout.Span(i, i + 10, (slice(i, i + 10),)) for i in range(0, 60, 10)]
    joined = stream._neighbours_joined(spans, 25)
    assert [(s.begin, s.end) for s in joined] == [(0, 20), (20, 40), (40, 60)]
    assert [s.slices for s in joined] == [(slice(s.begin, s.end),) for s in joined]
    assert stream._neighbours_joined(spans, 5) == spans
    assert stream._neighbours_joined(spans, 60) == [layout.Span(0, 60, (slice(0, 60),))]
    several = [layout.Span(i, i + 1, (slice(0, 1), slice(i, i + 1))) for i in range(4)]
    assert stream._neighbours_joined(several, 100) == several


@pytest.mark.usefixtures("_small_tiles")
def test_a_copy_that_fails_ends_the_call(
    gpu: SimulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise MemoryError

    values = numbers(20_000, "f8")
    with monkeypatch.context() as patch:
        patch.setattr(np, "copyto", fail)
        with pytest.raises(MemoryError):
            wl.reduce(values, "max", device=gpu)
    assert wl.reduce(values, "max", device=gpu) == values.max()
