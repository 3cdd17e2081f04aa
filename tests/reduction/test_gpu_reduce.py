"""The GPU engine, on a simulated GPU: every operation beside NumPy and the CPU engine."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import warpladder as wl
from choosing import large
from warpladder import errors
from warpladder.device import select
from warpladder.reduction.gpu.layout import matrix_of
from warpladder.reduction.gpu.pieces import pieces_of
from warpladder.simulator import SimulatedDevice
from warpladder.simulator.execution.arrays import SimulatedArray

OPS = (
    *("sum", "prod", "min", "max", "argmin", "argmax", "mean", "var", "std"),
    *("any", "all", "count_nonzero", "logsumexp", "l1", "l2"),
)
#: One thread per row, and a block; wide loads begin at 8192 float16, 4096 float32, 2048 float64.
SIZES = (1, 31, 32, 33, 64, 65, 1023, 1025, 8193)


def numbers(n: int, dtype: str, seed: int = 0) -> NDArray[Any]:
    rng = np.random.default_rng(seed + n)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return (rng.standard_normal(n) * 3).astype(kind)
    # Integers of 64 bits need them: their sums wrap, their means must not.
    unit = 1 << 56 if kind.itemsize == 8 else 1
    return (unit * rng.integers(0, 2 if kind.kind == "b" else 100, n)).astype(kind)


def host(found: Any) -> Any:
    return found.copy_to_host() if hasattr(found, "copy_to_host") else found


def plain(values: NDArray[Any], ops: tuple[str, ...], axis: int | None = None) -> Any:
    """Answer with NumPy, in longer floats where something is rounded.

    The CPU engine would have to be compiled for each dtype and set of operations first.
    """
    wide = values.astype(np.longdouble)
    exact = wide if values.dtype.kind == "f" else values
    others: dict[str, Callable[[], Any]] = {
        "mean": lambda: np.mean(wide, axis=axis),
        "var": lambda: np.var(wide, axis=axis),
        "std": lambda: np.std(wide, axis=axis),
        "logsumexp": lambda: np.log(np.sum(np.exp(wide), axis=axis)),
        "l1": lambda: np.sum(np.abs(wide), axis=axis),
        "l2": lambda: np.sqrt(np.sum(np.square(wide), axis=axis)),
    }
    found = []
    for op in ops:
        answer = others[op]() if op in others else getattr(np, op)(exact, axis=axis)
        shown = np.mean(values) if op in {"logsumexp", "l1", "l2"} else getattr(np, op)(values)
        found.append(np.asarray(answer).astype(np.asarray(shown).dtype.newbyteorder("="))[()])
    return namedtuple("Plain", ops)(*found)


def check_same(there: Any, here: Any, values: NDArray[Any]) -> None:
    """Compare with another answer: exactly, but for sums that are rounded in another order."""
    unit = np.finfo(values.dtype).eps if values.dtype.kind == "f" else 2.0**-52
    for op in here._fields:
        a, b = host(getattr(there, op)), getattr(here, op)
        assert a.dtype == b.dtype, op
        assert np.shape(a) == np.shape(b), op
        rounds = op.removeprefix("nan") in {
            "sum",
            "prod",
            "mean",
            "var",
            "std",
            "logsumexp",
            "l1",
            "l2",
        }
        if not rounds or (values.dtype.kind != "f" and a.dtype.kind != "f"):
            np.testing.assert_array_equal(a, b, op)
            continue
        scale = float(np.nansum(np.abs(values.astype(np.float64)))) if op.endswith("sum") else 1.0
        slack = 8 * unit * max(scale, 1.0)
        np.testing.assert_allclose(
            a.astype(float),
            b.astype(float),
            rtol=4000 * 2.0**-52 + 8 * unit,
            atol=slack,
            err_msg=op,
        )


def check_sizes(gpu: SimulatedDevice, dtype: str, ops: tuple[str, ...], sizes: Any) -> None:
    for n in sizes:
        values = numbers(n, dtype)
        if values.dtype.kind == "f":
            # Products that neither overflow nor vanish.
            values = np.exp(values / 30).astype(dtype)
        with np.errstate(all="ignore"):
            there = wl.reduce(gpu.to_device(values), ops, device=gpu)
            check_same(there, plain(values, ops), values)


# By default test_gpu_results has them, for float64.
@pytest.mark.large
@pytest.mark.parametrize("dtype", ["f4", "i4"])
def test_all_operations_in_one_pass(gpu: SimulatedDevice, dtype: str) -> None:
    check_sizes(gpu, dtype, OPS, SIZES)


FIVE = ("sum", "argmin", "max", "mean", "var")


@pytest.mark.parametrize(
    ("dtype", "ops"),
    [
        # Other tests have float64 and int8; test_bits_of_the_host has float16 and bool.
        ("u8", ("argmin", "mean")),
        *large(*((dtype, ("sum", "max")) for dtype in ("f2", "?"))),
        *large(("u8", ("any", "count_nonzero", "l1", "l2"))),
        *large(*((dtype, FIVE) for dtype in ("f8", "f2", "u8", "i1", "?"))),
    ],
)
def test_other_dtypes(gpu: SimulatedDevice, dtype: str, ops: tuple[str, ...]) -> None:
    check_sizes(gpu, dtype, ops, (65, 1025, 8193))


@pytest.mark.parametrize(
    ("dtype", "op"),
    [
        # Every operation, floats, signed and unsigned integers.
        *(("f4", "sum"), ("i1", "max")),
        *large(("u8", "prod"), ("i4", "prod"), ("u8", "sum"), ("u8", "min"), ("u4", "min")),
        *large(*(("i4", op) for op in ("sum", "min", "max"))),
        *large(("f4", "min"), ("f4", "max"), ("i1", "sum"), ("f8", "max")),
    ],
)
def test_plain_operations(gpu: SimulatedDevice, dtype: str, op: str) -> None:
    """One fold of one row, whatever it is; a slice begins between 16 bytes."""
    values = numbers(20_001, dtype) + np.dtype(dtype).type(1)
    there = gpu.to_device(values)
    for part in (slice(None), slice(1, None), slice(3, 8), slice(5, 6)):
        found = wl.reduce(there[part], op, device=gpu)
        (expected,) = plain(values[part], (op,))
        assert found.dtype == expected.dtype
        if (dtype, op) == ("f4", "sum"):
            np.testing.assert_allclose(found, expected, rtol=1e-4)
        else:
            assert found == expected


# By default test_gpu_results.py and test_gpu_finish.py run such kernels with all checks.
@pytest.mark.large
def test_with_all_checks(strict_gpu: SimulatedDevice) -> None:
    values = numbers(4501, "f4")
    there = strict_gpu.to_device(values)
    ops = ("sum", "max", "var")
    here = plain(values[3:], ops)
    check_same(wl.reduce(there[3:], ops, device=strict_gpu), here, values)
    matrix = values[:4096].reshape(16, 256).astype("i4")
    ops = ("sum", "max")
    check_same(
        wl.reduce(strict_gpu.to_device(matrix), ops, axis=0, device=strict_gpu),
        plain(matrix, ops, axis=0),
        matrix,
    )
    exact = wl.reduce(there, accuracy="reproducible", device=strict_gpu)
    assert exact == np.float32(math.fsum(values.tolist()))


def test_several_pieces_are_joined_in_order(
    gpu: SimulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = numbers(70_001, "f4")
    values[[777, 60_000]] = values.max() + 1
    values[[5, 69_999]] = values.min() - 1
    assert pieces_of(1, values.size, 0, 1, 16) == (False, 18, 4096, 256)
    ops = ("sum", "argmin", "argmax", "mean", "var")
    there = wl.reduce(gpu.to_device(values), ops, device=gpu)
    check_same(there, plain(values, ops), values)
    assert (there.argmax, there.argmin) == (777, 5)
    more = SimulatedDevice(counters=False, checks=False, multiprocessors=7)
    total = wl.reduce(gpu.to_device(values), "mean", device=gpu)
    assert wl.reduce(more.to_device(values), "mean", device=more) == total
    # Of equals the first counts, whichever thread has it: thread 0 has 1024, thread 2 has 8.
    values[[8, 1024, 1028, 4100]] = values.max() + 1
    values[[9, 2050]] = values.min() - 1
    assert wl.reduce(gpu.to_device(values), ops, device=gpu)[1:3] == (9, 8)
    values[[20, 1025]] = np.nan
    assert wl.reduce(gpu.to_device(values), ops, device=gpu)[1:3] == (20, 20)


@pytest.mark.parametrize("n", [9001, *large(97)])
def test_nan(gpu: SimulatedDevice, n: int) -> None:
    ops = ("sum", "min", "argmax", "nansum", "nanmax", "nanargmin", "nanvar", "count_nonzero")
    values = numbers(n, "f4")
    values[[n // 3, n - 1]] = np.nan
    there = wl.reduce(gpu.to_device(values), ops, device=gpu)
    assert np.isnan(there.sum)
    assert np.isnan(there.min)
    assert there.argmax == n // 3
    kept = values[~np.isnan(values)].astype(float)
    assert there.nanmax == kept.max()
    assert there.nanargmin == np.nanargmin(values)
    assert there.count_nonzero == n
    unit = np.finfo(values.dtype).eps
    np.testing.assert_allclose(there.nansum, kept.sum(), rtol=8 * unit, atol=n * unit)
    np.testing.assert_allclose(there.nanvar, kept.var(), rtol=16 * unit)


# By default test_gpu_results.py has them, beside the engine for CPUs.
@pytest.mark.large
def test_infinities_and_extreme_squares(gpu: SimulatedDevice) -> None:
    def reduce(values: Any, *ops: str) -> Any:
        return wl.reduce(gpu.to_device(np.array(values)), ops, device=gpu)

    found = reduce([1.0, np.inf, 2.0], "sum", "max", "var", "logsumexp", "l2")
    assert found.sum == found.max == found.logsumexp == found.l2 == np.inf
    assert np.isnan(found.var)
    assert reduce([-np.inf, 2.0], "sum", "max", "var", "logsumexp", "l2").logsumexp == 2
    for values in ([1e200, 1.0, 1e-200], [3e-200, 4e-200], [0.0, 0.0]):
        tiled = np.repeat(values, 700)
        found = reduce(tiled, "sum", "max", "var", "logsumexp", "l2")
        assert found.l2 == pytest.approx(math.hypot(*tiled.tolist()), rel=1e-14)
    far = np.random.default_rng(0).standard_normal(9000) + 1e8
    found = reduce(far, "sum", "max", "var", "logsumexp", "l2")
    assert found.var == pytest.approx(float(np.var(far.astype(np.longdouble))), rel=1e-12)


# ---- axes, layouts, masks -----------------------------------------------------------------------


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C": lambda x: x,
    "strided": lambda x: x[..., ::2],
    "backwards": lambda x: x[::-1, :, ::-1],
    "part": lambda x: x[1:, 2:5, 3:-3],
    "Fortran": lambda x: x.T,
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_axes_and_layouts(gpu: SimulatedDevice, name: str) -> None:
    values = numbers(5 * 17 * 40, "f4").reshape(5, 17, 40)
    here, there = LAYOUTS[name](values), LAYOUTS[name](gpu.to_device(values))
    for axis in (None, 0, 1, 2, -1, (0, 1), (0, -1), (1, 2), (0, 1, 2)):
        ops: tuple[str, ...] = ("sum", "max", "var")
        check_same(
            wl.reduce(there, ops, axis=axis, device=gpu),
            wl.reduce(here, ops, axis=axis, device="cpu"),
            here,
        )
        if not isinstance(axis, tuple):
            found = wl.reduce(there, "argmin", axis=axis, device=gpu)
            np.testing.assert_array_equal(host(found), here.argmin(axis=axis))


def test_nothing_is_copied(gpu: SimulatedDevice) -> None:
    there = gpu.to_device(numbers(600, "f4").reshape(4, 10, 15))
    regular = (
        (there, (0, 1, 2)),
        (there, (2,)),
        (there, (0,)),
        (there, (1,)),
        (there[:, 2, ::3], (1,)),
    )
    for array, axes in regular:
        matrix = matrix_of(gpu, array, axes, None, ordered=True)
        assert matrix.levels is None
        assert matrix.values.data.buffer is there.buffer
        assert matrix.below == 0 or array is not there
    other = gpu.to_device(numbers(360, "f4").reshape(3, 4, 5, 6))[::2, :3, :4]
    # Rows at one distance, elements at two; rows at three, elements at one; all four apart.
    nested = (there, (0, 2), (1, 2)), (other, (3,), (3, 1)), (other[..., :5], (), (4, 1))
    for array, axes, levels in nested:
        matrix = matrix_of(gpu, array, axes, None, ordered=True)
        assert matrix.levels == levels
        assert matrix.values.data.buffer is array.buffer


@pytest.mark.parametrize(
    ("order", "axis", "levels"),
    [
        # Neighbours in memory are rows of the first axis, and are read by neighbouring threads.
        ((2, 1, 0), 1, (2, 1)),
        ((0, 1, 2), (0, 2), (1, 2)),
        *large(((1, 2, 0), 0, None), ((0, 2, 1), 2, None)),
        *large(((1, 0, 2), (0, 2), None), ((2, 0, 1), (0, 2), None)),
    ],
)
def test_axes_that_are_turned(
    gpu: SimulatedDevice, order: tuple[int, ...], axis: Any, levels: tuple[int, int] | None
) -> None:
    values = numbers(40 * 45 * 50, "f8").reshape(40, 45, 50)
    lying = np.ascontiguousarray(values.transpose(order))
    back = tuple(np.argsort(order).tolist())
    on_device = gpu.to_device(lying)
    there = SimulatedArray(on_device.values.transpose(back), on_device.buffer)
    axes = axis if isinstance(axis, tuple) else (axis,)
    assert matrix_of(gpu, there, axes, None, ordered=False).levels == levels
    ops = ("sum", "argmax") if axis == 1 else ("sum", "max")
    check_same(
        wl.reduce(there, ops, axis=axis, device=gpu),
        wl.reduce(values, ops, axis=axis, device="cpu"),
        values,
    )


@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        # A thread's next element is whole runs farther, or part of one; rows of one element.
        ((3, 2, 300), (0, 2)),
        ((40, 1, 33, 2), (0, 1, 3)),
        *large(
            ((5, 2, 6, 2, 7), (0, 2, 4)),
            ((70, 33, 5), (0, 2)),
            ((513, 3, 31), (0, 2)),
            ((2, 3, 4, 5, 6, 7), (1, 3, 5)),
            ((9, 257, 2, 3), (1, 3)),
        ),
    ],
)
def test_elements_at_several_distances(
    gpu: SimulatedDevice, shape: tuple[int, ...], axis: tuple[int, ...]
) -> None:
    whole = numbers(math.prod(n + 2 for n in shape), "f4").reshape([n + 2 for n in shape])
    part = (slice(1, -1),) * len(shape)
    there, here = gpu.to_device(whole)[part], whole[part]
    mask = np.random.default_rng(2).random(shape[1:]) < 0.6
    flat: Any = {"axis": None}, {"axis": None, "where": mask}
    for options in ({"axis": axis}, {"axis": axis, "where": mask}, *flat):
        ops: tuple[str, ...] = ("sum", "nanvar", "any")
        check_same(
            wl.reduce(there, ops, device=gpu, **options),
            wl.reduce(here, ops, device="cpu", **options),
            here,
        )
    exact = {"axis": axis, "accuracy": "reproducible"}
    np.testing.assert_array_equal(
        host(wl.reduce(there, device=gpu, **exact)), wl.reduce(here, device="cpu", **exact)
    )
    assert wl.reduce(there, "argmin", device=gpu) == here.argmin()


def test_results_stay_on_the_gpu_where_axes_are_left(gpu: SimulatedDevice) -> None:
    there = gpu.to_device(np.ones((3, 4), np.float32))
    assert isinstance(wl.reduce(there, device=gpu), np.float32)
    assert isinstance(wl.reduce(there, axis=(0, 1), device=gpu), np.float32)
    assert type(wl.reduce(there, axis=1, device=gpu)) is type(there)


@pytest.mark.parametrize("axis", [0, *large(None, 1)])
def test_masks(gpu: SimulatedDevice, axis: int | None) -> None:
    rng = np.random.default_rng(7)
    values = rng.standard_normal((40, 130)).astype("f4")
    values[3, 7] = np.nan
    for mask in (rng.random((40, 130)) < 0.3, rng.random(130) < 0.5, rng.random((40, 1)) < 2):
        leaves_some = np.broadcast_to(mask, values.shape).any(axis=axis).all()
        ops = ("nansum", "nanmax" if leaves_some else "nanmean")
        here = wl.reduce(values, ops, axis=axis, where=mask, device="cpu")
        for given, where in (
            (gpu.to_device(values), mask),
            (gpu.to_device(values), gpu.to_device(mask)),
            (values, mask),
            (values, gpu.to_device(mask)),
        ):
            there = wl.reduce(given, ops, axis=axis, where=where, device=gpu)
            check_same(there, here, values)


# ---- accuracy -----------------------------------------------------------------------------------


# By default odd numbers of float64, below.
@pytest.mark.parametrize("dtype", ["f4", *large("f8")])
def test_reproducible_sums_have_the_same_bits(gpu: SimulatedDevice, dtype: str) -> None:
    rng = np.random.default_rng(0)
    spread = (rng.standard_normal(1500) * 10.0 ** rng.integers(-12, 12, 1500)).astype(dtype)
    cancelling = np.concatenate([spread, -spread[::-1], np.array([1.5], dtype)])
    ops = ("sum", "mean", "var", "l2") if dtype == "f8" else ("sum", "l1")
    for values in (spread, cancelling, numbers(70, dtype), np.full(9000, 0.1, dtype)):
        there = wl.reduce(gpu.to_device(values), ops, accuracy="reproducible", device=gpu)
        assert there == wl.reduce(values, ops, accuracy="reproducible", device="cpu")
        assert there.sum == np.dtype(dtype).type(math.fsum(values.tolist()))
    streamed = wl.reduce(spread, ops, accuracy="reproducible", device=gpu)
    assert streamed == wl.reduce(spread, ops, accuracy="reproducible", device="cpu")


@pytest.mark.large
def test_reproducible_sums_of_odd_numbers(gpu: SimulatedDevice) -> None:
    tiny, huge = np.nextafter(0, 1), np.finfo(np.float64).max
    ops = ("sum", "mean", "var", "l2")
    for values in (
        [tiny] * 77,
        [huge, huge, -huge, -huge, tiny] * 20,
        [1e300, 1.0, -1e300, 1e-300] * 3,
        [1.0, np.inf] * 40,
        [1.0, np.nan] * 40,
        [np.inf, -np.inf],
    ):
        array = np.array(values)
        there = wl.reduce(gpu.to_device(array), ops, accuracy="reproducible", device=gpu)
        here = wl.reduce(array, ops, accuracy="reproducible", device="cpu")
        np.testing.assert_array_equal(there, here)


def numbers_of_all_sizes(dtype: str, n: int) -> dict[str, np.ndarray]:
    """Return such that windows of 22 bits, four of which a thread has, are left in every way."""
    rng = np.random.default_rng(2)
    kind = np.finfo(dtype)
    least, largest = float(kind.smallest_normal), float(kind.max)
    z = rng.standard_normal(n)
    growing = np.geomspace(least, largest / n, n) * rng.choice([-1, 1], n)
    return {
        "of one size": z,
        "beyond two windows": np.clip(z * np.exp(3 * z[::-1]), -largest / n, largest / n),
        "of any size": growing[rng.permutation(n)],
        "growing": growing,
        "falling": growing[::-1],
        # A batch of a thread has one of them at the most.
        "one is large": np.where(np.arange(n) % 4099 == 77, largest / n, z),
        "two sizes in turn": np.where(np.arange(n) // 4096 % 2, z * least * 99, z * largest / n),
        "large and subnormal": np.where(
            np.arange(n) % 2, largest / n, rng.integers(1, 99, n) * float(kind.smallest_subnormal)
        ),
        "subnormal": rng.integers(-99, 99, n) * float(kind.smallest_subnormal),
        # The third window would stand below float32's last bit.
        "nearly subnormal": np.where(z > 0, z * min(2.0**37 * least, 1), z * least / 999),
        "largest": rng.choice([-largest, largest], n),
        "infinite": np.where(np.arange(n) == 4097, np.inf, z),
        "minus infinite": np.where(np.arange(n) == 4097, -np.inf, z),
        "no number": np.where(np.arange(n) == 4097, np.nan, z),
        "negative zeros": np.full(n, -0.0),
    }


@pytest.mark.parametrize("dtype", ["f4", *large("f2")])
def test_reproducible_sums_of_short_numbers_have_the_same_bits(
    gpu: SimulatedDevice, dtype: str
) -> None:
    n = 9001
    rng = np.random.default_rng(3)
    for name, given in numbers_of_all_sizes(dtype, n).items():
        values = given.astype(dtype)
        if name.startswith(("beyond", "of any", "nearly", "large and")):
            # Their last bits are what is left.
            values = np.concatenate([values, -rng.permutation(values), values[:1]])
        there = wl.reduce(gpu.to_device(values), ("sum", "l1"), accuracy="reproducible", device=gpu)
        here = wl.reduce(values, ("sum", "l1"), accuracy="reproducible", device="cpu")
        assert np.array_equal(there, here, equal_nan=True), name
        with np.errstate(over="ignore"):
            finite = np.isfinite(values).all()
            assert not finite or there.sum == values.dtype.type(math.fsum(values.tolist())), name


def test_compensated_sums_keep_their_bound(gpu: SimulatedDevice) -> None:
    rng = np.random.default_rng(1)
    values = rng.standard_normal(9000) * 10.0 ** rng.integers(-8, 8, 9000)
    values = np.concatenate([values, -values[::-1] * (1 + 2.0**-40)])
    there = wl.reduce(gpu.to_device(values), ("sum", "l1"), accuracy="compensated", device=gpu)
    exact, magnitude = math.fsum(values), math.fsum(np.abs(values))
    assert abs(there.sum - exact) <= 2.0**-53 * abs(exact) + 2.0**-90 * magnitude
    assert there.l1 == pytest.approx(magnitude, rel=2.0**-52)


@pytest.mark.parametrize("accuracy", ["fast", "pairwise"])
def test_float_sums_keep_their_bound(gpu: SimulatedDevice, accuracy: Any) -> None:
    values = np.random.default_rng(2).random(70_001).astype("f4")
    exact = math.fsum(values.tolist())
    found = wl.reduce(gpu.to_device(values), accuracy=accuracy, device=gpu)
    # 15 additions of a batch and the rounding of the result to 24 bits.
    assert abs(float(found) - exact) <= 17 * 2.0**-24 * exact


# ---- the host's arrays --------------------------------------------------------------------------


@pytest.mark.large
@pytest.mark.usefixtures("_small_tiles")
def test_arrays_of_the_host_in_many_tiles(gpu: SimulatedDevice) -> None:
    values = numbers(40 * 333, "f8").reshape(40, 333)
    ops = ("sum", "min", "argmax")
    told: list[float] = []
    for array in (values, values.T[::2], values.astype(">f8")):
        for axis in (None, 0):
            there = wl.reduce(array, ops, axis=axis, device=gpu, progress=told.append)
            check_same(there, plain(array, ops, axis), values)
            assert told[-1] == 1
    assert len(told) > 50


@pytest.mark.usefixtures("_small_tiles")
def test_files_and_chunks(gpu: SimulatedDevice, tmp_path: Any) -> None:
    values = numbers(9011, "f8")
    np.save(tmp_path / "values.npy", values)
    ops = ("sum", "min", "argmax")
    here = plain(values, ops)
    for source in (
        str(tmp_path / "values.npy"),
        np.load(tmp_path / "values.npy", mmap_mode="r"),
        iter(np.array_split(values, 5)),
    ):
        check_same(wl.reduce(source, ops, device=gpu), here, values)


@pytest.mark.parametrize("dtype", ["?", "f2"])
def test_bits_of_the_host(gpu: SimulatedDevice, dtype: str) -> None:
    # So many that float16 is loaded widely.
    values = numbers(8193, dtype)
    found = wl.reduce(values, ("sum", "max"), device=gpu)
    check_same(found, plain(values, ("sum", "max")), values)


# ---- nothing, errors, devices -------------------------------------------------------------------


def test_nothing(gpu: SimulatedDevice) -> None:
    nothing = gpu.to_device(np.empty(0))
    answer = wl.reduce(nothing, ("sum", "any", "all", "count_nonzero"), device=gpu)
    assert answer == (0, False, True, 0)
    assert np.isnan(wl.reduce(nothing, "mean", device=gpu))
    with pytest.raises(errors.InputError, match="min of no elements is not defined"):
        wl.reduce(nothing, "min", device=gpu)
    with pytest.raises(errors.InputError, match="min of no elements is not defined"):
        wl.reduce(gpu.to_device(np.empty((0, 0))), "min", axis=1, device=gpu)
    empty_axis = gpu.to_device(np.ones((3, 0)))
    assert host(wl.reduce(empty_axis, axis=1, device=gpu)).tolist() == [0, 0, 0]
    assert wl.reduce(np.empty((0, 3)), device=gpu) == 0


def test_how_arrays_on_a_gpu_are_refused(gpu: SimulatedDevice) -> None:
    there = gpu.to_device(np.ones((4, 3)))
    with pytest.raises(errors.InputError, match="values is an array on a GPU; copy it to the host"):
        wl.reduce(there, device="cpu")
    with pytest.raises(errors.InputTypeError, match="dtype complex64 is not taken"):
        wl.reduce(gpu.to_device(np.ones(2, np.complex64)), device=gpu)
    with pytest.raises(errors.InputTypeError, match="where: a mask of booleans is needed"):
        wl.reduce(there, where=np.ones(3), device=gpu)
    with pytest.raises(errors.InputError, match=r"where: its shape \(4,\) does not broadcast"):
        wl.reduce(there, where=np.ones(4, bool), device=gpu)
    with pytest.raises(errors.InputError, match="axis"):
        wl.reduce(there, axis=2, device=gpu)
    with pytest.raises(errors.InputError, match="is not known; use one of auto, cpu, cuda"):
        wl.reduce(np.ones(3), device="gpu")


def test_which_device(gpu: SimulatedDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    from warpladder import call
    from warpladder.reduction import api

    monkeypatch.setattr(select, "_obstacle", lambda: "")
    monkeypatch.setattr(call, "gpu", lambda: gpu)
    monkeypatch.setattr(api, "device_of", lambda *_: gpu)
    values = numbers(100, "i4")
    there = gpu.to_device(values)
    gpu.reset_counters()
    assert wl.reduce(values) == values.sum()
    assert not gpu.launches
    assert wl.reduce(there) == values.sum()
    assert len(gpu.launches) == 1
    assert wl.reduce(values, device="cuda") == values.sum()
    assert len(gpu.launches) == 2
    monkeypatch.setattr(select, "_obstacle", lambda: "no driver")
    with pytest.raises(errors.DeviceError, match="there is no GPU to use: no driver"):
        wl.reduce(values, device="cuda")
