"""Results that kernels make, rows however they lie, and calls made ready; on a simulated GPU."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import warpladder as wl
from choosing import large, only
from warpladder.device import libraries
from warpladder.errors import InputError, InputTypeError
from warpladder.reduction import api, prepare, ready
from warpladder.reduction.gpu import finish, parts, resident
from warpladder.reduction.gpu.pieces import Pieces, pieces_of
from warpladder.reduction.ops import parse_ops
from warpladder.reduction.plan import make_plan
from warpladder.simulator import SimulatedDevice
from warpladder.simulator.execution.arrays import SimulatedArray

#: Asked for together: each way of finishing once, for a dtype.
OF_FLOATS = (
    *("sum", "prod", "min", "max", "ptp", "argmin", "argmax", "mean", "var", "std", "any", "all"),
    *("count_nonzero", "logsumexp", "l1", "l2"),
)
OF_NUMBERS_ONLY = ("nansum", "nanprod", "nanmin", "nanmax", "nanptp", "nanmean", "nanvar", "nanstd")
OF_INTEGERS = tuple(op for op in OF_FLOATS if op != "ptp")


def host(found: Any) -> Any:
    return found.copy_to_host() if isinstance(found, SimulatedArray) else found


def on_the_host(monkeypatch: pytest.MonkeyPatch, *args: Any, **options: Any) -> Any:
    """Reduce as if no kernel made results: states go to the host, and NumPy finishes them."""
    with monkeypatch.context() as patch:
        patch.setattr(resident, "finished_there", lambda _: False)
        return wl.reduce(*args, **options)


def check_same(found: Any, expected: Any) -> None:
    """Compare two answers bit by bit, but for logarithms, which two libraries compute."""
    for name, *both in zip(found._fields, found, expected, strict=True):
        one, other = (np.asarray(host(each)) for each in both)
        assert one.dtype == other.dtype, name
        if name == "logsumexp":
            np.testing.assert_allclose(one, other, rtol=1e-15)
        else:
            np.testing.assert_array_equal(one, other, err_msg=name)


@pytest.mark.parametrize(
    ("dtype", "ops", "options"),
    [
        ("float64", OF_FLOATS, {"ddof": 1.5}),
        *large(
            ("float16", ("sum", "mean", "std", "max"), {}),
            ("float32", OF_FLOATS, {}),
            ("float64", OF_NUMBERS_ONLY, {"ddof": 1}),
            ("int8", OF_INTEGERS, {}),
            ("uint64", OF_INTEGERS, {}),
            ("bool", OF_INTEGERS, {}),
            ("int32", ("sum", "mean", "l2"), {"dtype": "float16"}),
            ("int32", ("sum", "prod"), {"dtype": "int8"}),
            ("float64", ("sum", "l1", "mean"), {"accuracy": "compensated"}),
        ),
    ],
)
def test_kernels_make_the_results_that_numpy_makes(
    gpu: SimulatedDevice, monkeypatch: pytest.MonkeyPatch, dtype: str, ops: Any, options: Any
) -> None:
    rng = np.random.default_rng(7)
    values = rng.integers(0, 2, (7, 40)) if dtype == "bool" else rng.standard_normal((7, 40)) * 50
    values = np.abs(values).astype(dtype) if dtype[0] == "u" else values.astype(dtype)
    if dtype[0] == "f":
        most = np.dtype(dtype).type(np.finfo(dtype).max / 1e3)
        values[1, 3], values[2, 5], values[3, 7] = np.nan, np.inf, -np.inf
        values[4], values[5] = 0, np.nan
        # Squares and products that leave the range of the dtype, and float64's.
        with np.errstate(all="ignore"):
            values[6, ::3] *= most
            values[6, 1::3] /= most
    there = gpu.to_device(values)
    for axis in (None, 0, 1):
        arguments = {"axis": axis, "device": gpu, **options}
        with np.errstate(all="ignore"):
            expected = on_the_host(monkeypatch, there, ops, **arguments)
        check_same(wl.reduce(there, ops, **arguments), expected)


def test_float16_is_rounded_once(gpu: SimulatedDevice) -> None:
    """A sum just above the middle of two float16 is not first rounded to that middle."""
    middle = 1 + 2.0**-11
    rows = np.array(
        [[middle, 2.0**-40], [middle, -(2.0**-40)], [-middle, -(2.0**-40)], [65519, 0.9]]
    )
    found = host(wl.reduce(gpu.to_device(rows), axis=1, dtype="float16", device=gpu))
    np.testing.assert_array_equal(found, rows.sum(axis=1).astype("float16"))
    tiny = np.array([[2.0**-24, 0], [2.0**-25, 2.0**-60], [2.0**-25, 0], [np.nan, 0], [1e300, 0]])
    found = host(wl.reduce(gpu.to_device(tiny), axis=1, dtype="float16", device=gpu))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found, tiny.sum(axis=1).astype("float16"))


@pytest.mark.parametrize(
    ("op", "dtype", "options", "is_there"),
    [
        ("max", "float32", {}, True),
        ("nanmin", "float32", {}, True),
        ("ptp", "float32", {}, True),
        ("ptp", "int8", {}, True),
        ("nanargmax", "float32", {}, True),
        ("argmax", "float32", {"masked": True}, True),
        # Of nothing, and a range that does not fit: a note says one of them.
        ("ptp", "int8", {"masked": True}, False),
        ("sum", "float32", {"masked": True}, True),
        # Merged by the host.
        (("sum", "nanmax"), "float32", {}, False),
        ("sum", "float32", {"accuracy": "reproducible"}, True),
        (("mean", "sum"), "float64", {"accuracy": "reproducible"}, True),
        ("nansum", "float32", {"accuracy": "reproducible"}, False),
        (("l1", "sum"), "float32", {"accuracy": "reproducible"}, False),
        ("var", "float32", {"accuracy": "reproducible"}, False),
        (wl.AssociativeOp(max, 0), "int64", {}, True),
        ((wl.AssociativeOp(max, 0), "sum"), "int64", {}, False),
    ],
)
def test_what_is_finished_there(op: Any, dtype: str, options: Any, is_there: bool) -> None:
    given = {"accuracy": "fast", "masked": False, **options}
    plan = make_plan(parse_ops(op), np.dtype(dtype), None, given["accuracy"], given["masked"])
    assert finish.finished_there(plan) is is_there


@pytest.mark.parametrize(
    "ops",
    [("sum", "any", "sum"), *large((("sum", "count_nonzero", "any", "argmax", "std", "sum"),))],
)
def test_calls_in_turn_that_share_what_is_kept(gpu: SimulatedDevice, ops: tuple[str, ...]) -> None:
    """Results of another dtype need a launch for that dtype."""
    values = np.arange(-12.0, 12).astype("f4").reshape(4, 6)
    there, marks = gpu.to_device(values), values > -5
    for op in ops:
        if op != "argmax":
            found = host(wl.reduce(there, op, axis=0, where=marks, device=gpu))
            assert found.dtype == wl.reduce(values, op, axis=0, where=marks).dtype
            number = wl.reduce(there, op, where=marks, device=gpu)
            np.testing.assert_allclose(number, wl.reduce(values, op, where=marks), rtol=1e-6)
        for dtype in ("f4", "f8") if op in {"sum", "std"} else (None,):
            found = host(wl.reduce(there, op, axis=1, dtype=dtype, device=gpu))
            expected = wl.reduce(values, op, axis=1, dtype=dtype)
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("op", ["nansum", "nanmax", *large("nanmean", "nanstd", "nanargmin")])
def test_integers_have_no_nan_to_skip(gpu: SimulatedDevice, op: str) -> None:
    values = np.arange(12, dtype="i4").reshape(3, 4)
    found = wl.reduce(gpu.to_device(values), op, axis=None, device=gpu)
    assert found == getattr(np, op)(values)


def test_a_class_that_might_be_on_a_gpu_and_is_not() -> None:
    """As subclasses of PyTorch's tensors: they describe themselves on a GPU alone."""

    class OnHost:
        @property
        def __cuda_array_interface__(self) -> Any:
            raise AttributeError("only on a GPU")

        def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
            return np.arange(5.0)

    assert wl.reduce(OnHost()) == 10


@pytest.mark.parametrize(
    ("op", "dtype", "is_late"),
    [
        ("ptp", "int8", True),
        ("ptp", "uint8", False),
        ("ptp", "float32", False),
        ("nanargmax", "float32", True),
        (("sum", "nanargmin"), "float64", True),
        ("argmax", "float32", False),
        ("nanmax", "float32", False),
    ],
)
def test_what_may_be_refused_when_it_is_seen(op: Any, dtype: str, is_late: bool) -> None:
    plan = make_plan(parse_ops(op), np.dtype(dtype), None, "fast", False)
    assert finish.refuses_when_seen(plan) is is_late


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [
        *(("int8", "int8"), ("int16", "uint8")),
        *large(
            *product(("int8", "int16", "int64"), ("int8", "uint8", "int32", "int64", "uint64")),
            *product(("uint8", "uint16", "uint64"), ("uint8", "int16", "int64", "float64")),
            *product(("int64",), ("float32", "float64")),
        ),
    ],
)
def test_ranges_wanted_as_another_dtype(
    gpu: SimulatedDevice, monkeypatch: pytest.MonkeyPatch, dtype: str, wanted: str
) -> None:
    """Refused as on the host, from the first that does not fit on."""
    ends = np.iinfo(dtype)
    most = int(np.finfo(wanted).max) if wanted[0] == "f" else int(np.iinfo(wanted).max)
    for span in {most, most + 1, most + 1025, ends.max, ends.max - ends.min, 100}:
        if span > ends.max - ends.min:
            continue
        values = np.array([[ends.min, ends.min + span], [1, 2]], dtype)
        told = []
        for way in (wl.reduce, lambda *args, **options: on_the_host(monkeypatch, *args, **options)):
            try:
                there = gpu.to_device(values)
                told.append(host(way(there, "ptp", axis=1, dtype=wanted, device=gpu)).tolist())
            except InputError as fault:
                told.append(str(fault))
        assert told[0] == told[1]


@pytest.mark.parametrize(
    ("op", "dtype"),
    [
        *(("nanargmax", "float32"), ("ptp", "int8")),
        *large(("nanargmin", "float64"), ("ptp", "int64"), ("ptp", "int32"), ("ptp", "uint16")),
    ],
)
def test_what_may_be_refused_and_is_not(gpu: SimulatedDevice, op: str, dtype: str) -> None:
    values = np.random.default_rng(5).integers(0, 100, (9, 70)).astype(dtype)
    if op != "ptp":
        values[2:8:2, ::3] = np.nan
    there = gpu.to_device(values)
    for axis in (None, 0, 1):
        expected = np.ptp(values, axis) if op == "ptp" else getattr(np, op)(values, axis)
        found = host(wl.reduce(there, op, axis=axis, device=gpu))
        np.testing.assert_array_equal(found, expected)
        out = gpu.empty(np.shape(expected), np.asarray(expected).dtype)
        if axis is not None:
            wl.reduce(there, op, axis=axis, out=out, device=gpu)
            np.testing.assert_array_equal(host(out), expected)


@pytest.mark.parametrize(
    ("op", "dtype", "told"),
    [
        ("nanargmax", "float32", "nanargmax is not defined where there are only NaNs"),
        ("ptp", "int8", "ptp is 254, which int8 cannot hold"),
        *large(("ptp", "int64", "ptp is 1844674407370955161., which int64 cannot hold")),
    ],
)
def test_a_call_like_one_before_that_is_refused(
    gpu: SimulatedDevice,
    library: Stand,
    monkeypatch: pytest.MonkeyPatch,
    op: str,
    dtype: str,
    told: str,
) -> None:
    good = np.random.default_rng(5).integers(0, 100, (9, 70)).astype(dtype)
    bad = good.copy()
    bad[3] = np.nan if op != "ptp" else np.iinfo(dtype).max
    if op == "ptp":
        bad[3, 5] = np.iinfo(dtype).min + 1
    for axis in (1, None):
        if axis is None and op != "ptp":
            bad[:] = np.nan
        expected = np.ptp(good, axis) if op == "ptp" else getattr(np, op)(good, axis)
        out = gpu.to_device(np.full(np.shape(expected), 77, np.asarray(expected).dtype))
        for _ in range(2):
            for _ in range(2):
                found = wl.reduce(gpu.to_device(good), op, axis=axis)
                np.testing.assert_array_equal(host(found), expected)
                with monkeypatch.context() as patch:
                    # What was refused before leaves nothing behind.
                    patch.setattr(api, "_reduce_new", None)
                    found = wl.reduce(gpu.to_device(good), op, axis=axis)
                np.testing.assert_array_equal(host(found), expected)
            with pytest.raises(InputError, match=told):
                wl.reduce(gpu.to_device(bad), op, axis=axis)
        if axis is not None:
            with pytest.raises(InputError, match=told):
                wl.reduce(gpu.to_device(bad), op, axis=axis, out=out)
            assert (host(out) == 77).all()
    assert len(ready._ready) == 2


def test_what_is_seen_too_late_is_refused(gpu: SimulatedDevice) -> None:
    wide = gpu.to_device(np.array([[-100, 100], [1, 2]], "int8"))
    with pytest.raises(InputError, match="ptp is 200, which int8 cannot hold"):
        wl.reduce(wide, "ptp", axis=1, device=gpu)
    nothing = gpu.to_device(np.array([[1, 2], [np.nan, np.nan]]))
    with pytest.raises(InputError, match="nanargmax is not defined where there are only NaNs"):
        wl.reduce(nothing, "nanargmax", axis=1, device=gpu)
    with pytest.raises(InputError, match="max is not defined where the mask leaves no element"):
        wl.reduce(wide, "max", where=np.array([[True], [False]]), axis=1, device=gpu)


# ---- rows -----------------------------------------------------------------------------------


@st.composite
def cut(draw: st.DrawFn) -> tuple[NDArray[Any], tuple[int, ...], Any]:
    """Return an array that lies in some way, axes to reduce over, and a mask or None."""
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=4)))
    values = np.arange(int(np.prod(shape)), dtype="int32").reshape(shape) * 7 % 101
    values = values.transpose(draw(st.permutations(range(values.ndim))))
    steps = tuple(slice(None, None, draw(st.sampled_from((1, 1, 2, -1)))) for _ in shape)
    values = values[steps]
    axes = draw(st.sets(st.integers(0, values.ndim - 1), min_size=1))
    mask = None
    if draw(st.booleans()):
        kept = tuple(draw(st.sampled_from((1, n))) for n in values.shape)
        mask = np.arange(int(np.prod(kept))).reshape(kept) % 3 != 1
    return values, tuple(axes), mask


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut())
def test_rows_however_they_lie(
    gpu: SimulatedDevice, case: tuple[NDArray[Any], tuple[int, ...], Any]
) -> None:
    values, axes, mask = case
    # With its own strides on the device too: a copy there would lie in C order.
    memory = values
    while memory.base is not None:
        memory = memory.base
    there = gpu.to_device(memory)
    first = values.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    whole = there.values.reshape(-1).view(np.uint8)[first:]
    strided = np.lib.stride_tricks.as_strided(
        whole[: values.itemsize].view(values.dtype), values.shape, values.strides
    )
    found = wl.reduce(SimulatedArray(strided, there.buffer), axis=axes, where=mask, device=gpu)
    expected = values.sum(axis=axes, where=True if mask is None else mask, dtype="int64")
    np.testing.assert_array_equal(host(found), expected)


@pytest.mark.parametrize(
    "shape",
    # Strips that are not full, with pieces and without; rows that share a block, or have a warp.
    [
        (64, 33),
        (700, 40),
        (3, 65, 33),
        *large(((5000, 33),), ((33, 100),), ((300, 700),), ((9, 16, 257),)),
    ],
)
def test_blocks_of_every_kind(strict_gpu: SimulatedDevice, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    values = rng.integers(-100, 100, shape).astype("int32")
    there = strict_gpu.to_device(values)
    for axis in range(len(shape)):
        found = wl.reduce(there, ("sum", "argmax"), axis=axis, device=strict_gpu)
        np.testing.assert_array_equal(host(found.sum), values.sum(axis=axis))
        np.testing.assert_array_equal(host(found.argmax), values.argmax(axis=axis))


# Threads with rows of their own, threads at a row, pieces of rows; some threads of a block along a
# row, all of one, several blocks.
STRIPS = [(3, 600), (40, 70), (4096, 40), (600, 3), (600, 40), (3, 4096), (5, 9000)]


@pytest.mark.parametrize(
    ("shape", "blocks"),
    only(lambda shape, blocks: blocks == 1 + STRIPS.index(shape) % 2, STRIPS, [1, 2, 3]),
)
def test_blocks_that_take_more_than_one_strip(
    strict_gpu: SimulatedDevice,
    monkeypatch: pytest.MonkeyPatch,
    shape: tuple[int, int],
    blocks: int,
) -> None:
    """As where there are more strips than blocks are launched."""
    monkeypatch.setattr(parts, "_MOST_BLOCKS", blocks)
    values = np.random.default_rng(4).integers(-100, 100, shape).astype("int32")
    there = strict_gpu.to_device(values)
    for axis in (0, 1):
        found = wl.reduce(there, ("sum", "argmax"), axis=axis, device=strict_gpu)
        np.testing.assert_array_equal(host(found.sum), values.sum(axis=axis))
        np.testing.assert_array_equal(host(found.argmax), values.argmax(axis=axis))


def test_blocks_that_add_exactly_more_than_one_row(
    strict_gpu: SimulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "_MOST_BLOCKS", 2)
    values = np.random.default_rng(4).integers(-100, 100, (5, 40)).astype("float32")
    found = wl.reduce(
        strict_gpu.to_device(values), axis=1, accuracy="reproducible", device=strict_gpu
    )
    np.testing.assert_array_equal(host(found), values.sum(axis=1))


# A thread has none, one or more whole batches of loads, and some elements beside them.
DIVISIONS = (
    *(Pieces(True, 1, length, 256) for length in (8, 9, 24, 33)),
    *(Pieces(True, 1, length, 64) for length in (31, 32, 70)),
    *(Pieces(True, each, 72, 64) for each in (2, 3)),
    Pieces(True, 3, 24, 256),
    Pieces(True, 3, 300, 8),
    *(Pieces(False, 1, length, 32) for length in (200, 700)),
    *(Pieces(False, each, 2500, 256) for each in (1, 2)),
)


def is_divided(groups: int, which: str, pieces: Pieces) -> bool:
    """Half of the ways of dividing rows, of each kind some, once, with the others by turns."""
    turn = DIVISIONS.index(pieces)
    return (
        turn in {0, 3, 5, 7, 8, 10, 11, 14}
        and groups == 1 + turn % 2
        and which == ("all", "masked", "numbers")[turn % 3]
    )


@pytest.mark.parametrize(
    ("groups", "which", "pieces"),
    only(is_divided, (1, 2), ("all", "masked", "numbers"), DIVISIONS),
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, Pieces) else None,
)
def test_rows_however_they_are_divided(
    strict_gpu: SimulatedDevice,
    monkeypatch: pytest.MonkeyPatch,
    pieces: Pieces,
    which: str,
    groups: int,
) -> None:
    """Sums and indices of all elements, of those of a mask, and of those that are no NaN."""
    monkeypatch.setattr(parts, "pieces_of", lambda *_: pieces)
    monkeypatch.setattr(parts, "_MOST_BLOCKS", 2)
    length = pieces.each * pieces.length - (3 if pieces.each > 1 else 0)
    rows = 3 if length > 500 else 70
    shape = (groups, length, rows) if pieces.is_across else (groups, rows, length)
    axis = 1 if pieces.is_across else 2
    rng = np.random.default_rng(6)
    values = rng.integers(-100, 100, shape).astype("float32")
    mask = rng.random(shape) < (0.7 if which == "masked" else 1)
    if which == "numbers":
        values[rng.random(shape) < 0.3] = np.nan
        # Else there would be nothing to index.
        values.swapaxes(axis, 0)[0] = 1
    names = ("nansum", "nanargmax") if which == "numbers" else ("sum", "argmax")
    # So that marks are not as far apart as elements.
    spread = strict_gpu.to_device(mask.repeat(2, axis=2))[..., ::2]
    found = wl.reduce(
        strict_gpu.to_device(values), names, axis=axis, device=strict_gpu,
        where=spread if which == "masked" else None,
    )  # fmt: skip
    sums = np.nansum(values, axis=axis, where=mask)
    seen = np.where(mask & ~np.isnan(values), values, -np.inf)
    np.testing.assert_array_equal(host(found[0]), sums)
    np.testing.assert_array_equal(host(found[1]), seen.argmax(axis=axis))


@pytest.mark.parametrize("pieces", [2, 63, 65, *large(600)])
def test_any_number_of_pieces_of_a_strip(
    gpu: SimulatedDevice, monkeypatch: pytest.MonkeyPatch, pieces: int
) -> None:
    """More pieces than the groups of a block take in at once are merged in more than one round."""
    monkeypatch.setattr(parts, "pieces_of", lambda *_: Pieces(True, pieces, 1, 32))
    values = np.arange(pieces * 33, dtype="i8").reshape(pieces, 33) % 1009
    found = wl.reduce(gpu.to_device(values), ("sum", "argmax"), axis=0, device=gpu)
    np.testing.assert_array_equal(host(found.sum), values.sum(axis=0))
    np.testing.assert_array_equal(host(found.argmax), values.argmax(axis=0))


@given(
    st.integers(1, 10**7), st.integers(1, 10**8), st.sampled_from((1, 7, 10**6)),
    st.sampled_from((1, 64, 10**5)), st.sampled_from((8, 16, 64)),
    st.sampled_from((1 << 18, 1 << 19)),
)  # fmt: skip
def test_pieces_cover_rows_and_no_thread_adds_too_much(
    count: int, length: int, pitch: int, step: int, batch: int, largest: int
) -> None:
    """What the bounds of `reduce` on errors allow is 2,048 elements of a thread, and few more."""
    is_across, each, size, threads = pieces_of(count, length, pitch, step, batch, largest)
    assert (each - 1) * size < length <= each * size
    assert threads in {1 << k for k in range(9)}
    assert is_across or threads == 256 or each == 1
    own = size * threads / 256 if is_across else size / threads
    assert own <= max(largest / 256, 1024)
    assert size <= largest or each == 1


# ---- calls made ready -----------------------------------------------------------------------


class Stand:
    """Reads arrays of the simulated device as `libraries` reads those of a GPU."""

    # ruff: noqa: ARG002 - a `Library` has these arguments

    makes_on_stream = True
    may_be_read_only = False

    def __init__(self, device: SimulatedDevice) -> None:
        self.own = device
        self.at = 0

    def look(self, array: SimulatedArray) -> tuple[int, Hashable] | None:
        return self.at, (array.dtype, array.shape, array.strides)

    def memory(self, array: SimulatedArray) -> SimulatedArray:
        memory = array.reshape(-1)
        # Truths are bytes there.
        values = memory.values.view(np.uint8) if array.dtype == np.bool_ else memory.values
        return SimulatedArray(values, memory.buffer)

    def stream(self, array: SimulatedArray) -> int:
        return self.at

    def device(self, array: SimulatedArray) -> SimulatedDevice:
        return self.own

    def maker(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        return lambda _: self.own.empty(shape, dtype)


@pytest.fixture
def library(gpu: SimulatedDevice, monkeypatch: pytest.MonkeyPatch) -> Stand:
    stand = Stand(gpu)
    monkeypatch.setitem(libraries._known, SimulatedArray, stand)
    monkeypatch.setattr(api, "device_of", lambda *_: gpu)
    monkeypatch.setattr(ready, "_ready", {})
    return stand


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("op", ["sum", ("max", "mean")])
def test_a_call_like_one_before_only_launches(
    gpu: SimulatedDevice, library: Stand, monkeypatch: pytest.MonkeyPatch, op: Any, axis: Any
) -> None:
    values = np.arange(60.0).reshape(6, 10)
    first = wl.reduce(gpu.to_device(values), op, axis=axis)
    monkeypatch.setattr(api, "parse_ops", None)
    again = wl.reduce(gpu.to_device(values + 1), op, axis=axis)
    many = (lambda found: found) if isinstance(op, tuple) else (lambda found: (found,))
    names = op if isinstance(op, tuple) else (op,)
    for name, one, other in zip(names, many(first), many(again), strict=True):
        expected = getattr(np, name)(values, axis=axis)
        np.testing.assert_array_equal(host(one), expected)
        np.testing.assert_array_equal(host(other), getattr(np, name)(values + 1, axis=axis))
        assert isinstance(other, SimulatedArray) is (axis is not None)


_MASK = np.random.default_rng(3).random((6, 3, 10)) < 0.6
# It leaves some of each row of each axis.
_MASK[:, 1] = True


@pytest.mark.parametrize("axis", [(0, 2), *large(1, None, ((0, 1),), ((0, 1, 2),))])
@pytest.mark.parametrize(
    ("op", "options"),
    [
        ("sum", {"dtype": "float64"}),
        ("sum", {"where": _MASK, "dtype": np.float64}),
        (("min", "mean"), {"where": _MASK[:1]}),
        ("sum", {"initial": 3}),
        (("sum", "max"), {"initial": 3.0, "where": _MASK, "out": ("f4", "f4")}),
        ("argmin", {"where": _MASK}),
        *large(
            ("max", {"where": _MASK[0]}),
            ("var", {"out": "f4"}),
            ("std", {"dtype": np.dtype("float32"), "ddof": 1, "where": _MASK}),
            ("nanmax", {"where": _MASK, "initial": -1}),
            ("prod", {"initial": 0.5, "out": "f4"}),
            ("count_nonzero", {"where": _MASK[:1], "out": "i8"}),
        ),
    ],
)
def test_calls_with_options_are_kept(
    gpu: SimulatedDevice,
    library: Stand,
    monkeypatch: pytest.MonkeyPatch,
    op: Any,
    options: dict[str, Any],
    axis: Any,
) -> None:
    if op == "argmin" and isinstance(axis, tuple):
        axis = None
    values = np.random.default_rng(4).random((6, 3, 10), np.float32)
    here = dict(options, axis=axis)
    here.pop("out", None)
    there = dict(here)
    shape = np.sum(values, axis=axis).shape
    for turn in range(3):
        if turn:
            # Nothing is asked anew.
            monkeypatch.setattr(api, "parse_ops", None)
        if "where" in options:
            shifted = np.roll(options["where"], turn, axis=-1) if turn == 2 else options["where"]
            here["where"] = shifted
            there["where"] = gpu.to_device(shifted)
        if "out" in options:
            kinds = options["out"]
            made = [gpu.empty(shape, kind) for kind in (kinds if type(kinds) is tuple else [kinds])]
            there["out"] = tuple(made) if type(kinds) is tuple else made[0]
        found = wl.reduce(gpu.to_device(values + turn), op, **there)
        with monkeypatch.context() as known:
            known.setattr(api, "parse_ops", parse_ops)
            wanted = wl.reduce(values + turn, op, **here)
        if "out" in options:
            assert found is there["out"] or list(found) == made
        many = (lambda each: each) if isinstance(op, tuple) else (lambda each: (each,))
        for one, other in zip(many(found), many(wanted), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(host(one), other, rtol=2e-6)


@pytest.mark.parametrize("axis", [(0, 2), *large(0, 1, None, ((0, 1),))])
@pytest.mark.parametrize(
    ("op", "dtype"),
    [("sum", "f4"), *large((("mean", "sum"), "f8"), ("l1", "f8"), ("mean", "f2"), ("mean", "i8"))],
)
def test_exact_sums_are_rounded_there(
    gpu: SimulatedDevice,
    library: Stand,
    monkeypatch: pytest.MonkeyPatch,
    op: Any,
    dtype: str,
    axis: Any,
) -> None:
    rng = np.random.default_rng(8)
    values = (rng.standard_normal((5, 6, 70)) * 2.0 ** rng.integers(-9, 9, (5, 6, 70))).astype(
        dtype
    )
    if values.dtype.kind == "f":
        # The sums of both are 0, 2^-24 and -0.0 aside.
        values[:, 1], values[:, 2] = -values[:, 0], 2.0**-24
    for _ in range(2):
        found = wl.reduce(gpu.to_device(values), op, axis=axis, accuracy="reproducible")
        wanted = wl.reduce(values, op, axis=axis, accuracy="reproducible", device="cpu")
        for one, other in zip(np.atleast_1d(host(found)), np.atleast_1d(wanted), strict=True):
            np.testing.assert_array_equal(host(one), other)
        # From the second time on.
        monkeypatch.setattr(resident, "_reduce", None)


def test_means_of_exact_sums_that_do_not_fit(gpu: SimulatedDevice, library: Stand) -> None:
    values = np.array([[1e308, 1.5e308, 1.7e308], [1, 2, 4], [np.inf, 1, 2]])
    for _ in range(2):
        found = wl.reduce(gpu.to_device(values), "mean", axis=1, accuracy="reproducible")
        np.testing.assert_array_equal(host(found), [1.4e308, 7 / 3, np.inf])
        total = wl.reduce(gpu.to_device(values), "sum", axis=1, accuracy="reproducible")
        np.testing.assert_array_equal(host(total), [np.inf, 7, np.inf])


def test_a_result_is_not_left_in_what_is_read(gpu: SimulatedDevice, library: Stand) -> None:
    there = gpu.to_device(np.arange(12.0).reshape(4, 3))
    for expected in ([18, 22, 26], [36, 43, 50]):
        # Its own first row.
        wl.reduce(there, axis=0, out=there[0])
        assert there.copy_to_host()[0].tolist() == expected
    mask = gpu.to_device(np.array([[True, False], [False, False]]))
    values = gpu.to_device(np.ones((2, 2), bool))
    for _ in range(2):
        # The first row of a mask for the columns.
        found = wl.reduce(values, "any", axis=0, where=mask, out=mask[0])
        assert found.copy_to_host().tolist() == [True, False]


def test_results_of_a_kept_call_that_share_memory_are_refused(
    gpu: SimulatedDevice, library: Stand
) -> None:
    there, a, b = (
        gpu.to_device(np.arange(6.0).reshape(3, 2)),
        gpu.empty(3, "f8"),
        gpu.empty(3, "f8"),
    )
    for _ in range(2):
        wl.reduce(there, ("sum", "max"), axis=1, out=(a, b))
        assert (a.copy_to_host().tolist(), b.copy_to_host().tolist()) == ([1, 5, 9], [1, 3, 5])
        with pytest.raises(InputError, match="two operations cannot share memory"):
            wl.reduce(there, ("sum", "max"), axis=1, out=(a, a))


@pytest.mark.parametrize(
    ("values", "op", "options"),
    [
        ([[0.0, 1], [2, 3]], "sum", {"initial": 2**63}),
        *large(([[0.0, 1], [2, 3]], "max", {"initial": 2**64 - 1})),
        *large(([[1.0, 2], [3, 4]], ("prod", "min"), {"initial": 1e30})),
        (np.array([[2**63, 1], [2, 3]], "u8"), ("sum", "max"), {"initial": 2**63 + 5}),
        (np.array([[2**63, 1], [2, 3]], "u8"), "sum", {"initial": 2**63, "dtype": "f8"}),
        *large(([[-5, 1], [2, 3]], "sum", {"initial": 2**63, "dtype": "f8"})),
        ([[1.0, 2.0]], "prod", {"initial": -0.0}),
        ([[1.0, 2.0]], "prod", {"initial": 0.0}),
        ([[1.0, 2.0]], "max", {"initial": np.nan}),
    ],
    ids=str,
)
def test_numbers_that_come_before(
    gpu: SimulatedDevice, library: Stand, values: Any, op: Any, options: Any
) -> None:
    here = np.asarray(values)
    for first in (options["initial"], -options["initial"] if options["initial"] == 0 else None):
        given = dict(options) if first is None else options | {"initial": first}
        for _ in range(2):
            found = wl.reduce(gpu.to_device(here), op, axis=1, **given)
            wanted = wl.reduce(here, op, axis=1, device="cpu", **given)
            many = (lambda each: each) if isinstance(op, tuple) else (lambda each: (each,))
            for one, other in zip(many(found), many(wanted), strict=True):
                np.testing.assert_array_equal(host(one), other)
                np.testing.assert_array_equal(np.signbit(host(one)), np.signbit(other))
    assert len(ready._ready) <= 2


def test_arrays_without_dimensions_beside_masks(gpu: SimulatedDevice) -> None:
    there = gpu.to_device(np.array(3.0))
    assert wl.reduce(there, where=np.array(True), device=gpu) == 3
    with pytest.raises(InputError, match="mask"):
        wl.reduce(there, "max", where=np.array(False), device=gpu)


def test_arrays_on_other_streams_are_asked_anew(gpu: SimulatedDevice, library: Stand) -> None:
    there = gpu.to_device(np.ones((2, 3)))
    mask, out = gpu.to_device(np.ones((2, 3), bool)), gpu.empty(2, "f8")
    given = (there, "sum", 1, "fast", 0, False, "auto")
    assert ready.key_of(*given, (mask, None, None, out)) is not None
    look = library.look
    for late in (mask, out):
        library.look = lambda array, late=late: (3 * (array is late), look(array)[1])
        assert ready.key_of(*given, (mask, None, None, out)) is None
    library.look = look
    # Some may be read-only, which their layout does not tell.
    library.may_be_read_only = True
    assert ready.key_of(*given, (mask, None, None, out)) is None
    assert ready.key_of(*given, (mask, None, None, None)) is not None


def test_what_a_mask_leaves_of_extrema(gpu: SimulatedDevice, library: Stand) -> None:
    values = np.array([[1.0, np.nan], [3.0, 4.0]])
    there, mask = gpu.to_device(values), np.array([[False, True], [True, True]])
    for _ in range(2):
        found = wl.reduce(there, "nanmax", axis=1, where=gpu.to_device(mask))
        np.testing.assert_array_equal(host(found), [np.nan, 4])
        out = gpu.to_device(np.array([7.0, 8.0]))
        nothing = gpu.to_device(np.array([[True, False], [False, False]]))
        with pytest.raises(InputError, match="mask"):
            wl.reduce(there, "min", axis=1, where=nothing, out=out)
        assert out.copy_to_host().tolist() == [7, 8]


def test_what_is_equal_and_means_something_else_is_another_call(
    gpu: SimulatedDevice, library: Stand
) -> None:
    there = gpu.to_device(np.arange(6.0).reshape(2, 3))
    assert wl.reduce(there, "sum", axis=1).shape == (2,)
    assert wl.reduce(there, "sum", axis=1, keepdims=True).shape == (2, 1)
    for wrong in ({"axis": True}, {"axis": 1, "keepdims": 0}, {"axis": 1, "keepdims": 1}):
        with pytest.raises(InputTypeError):
            wl.reduce(there, "sum", **wrong)
    assert wl.reduce(there, "var", axis=1, ddof=1).copy_to_host().tolist() == [1, 1]
    assert wl.reduce(there, "var", axis=1, ddof=0).copy_to_host().tolist() == [2 / 3, 2 / 3]
    assert wl.reduce(there, "var", axis=1, ddof=1.0).copy_to_host().tolist() == [1, 1]
    with pytest.raises(InputTypeError, match="ddof"):
        wl.reduce(there, "var", axis=1, ddof=True)
    assert wl.reduce(there, axis=(0, 1)) == 15
    for wrong in ((0, True), (0, 1.0)):
        with pytest.raises(InputTypeError):
            wl.reduce(there, axis=wrong)
    assert wl.reduce(there, axis=1, initial=1).copy_to_host().tolist() == [4, 13]
    # Per-thread streams share a name.
    library.at = 2
    assert ready.key_of(there, "sum", 1, "fast", 0, False, "auto") is None
    # So they are waited for, where who takes the results would not know on which stream to wait.
    library.at = 7
    assert ready.key_of(there, "sum", 1, "fast", 0, False, "auto") is not None
    library.makes_on_stream = False
    assert ready.key_of(there, "sum", 1, "fast", 0, False, "auto") is None


def test_what_is_not_plain_is_not_kept(
    gpu: SimulatedDevice, library: Stand, monkeypatch: Any
) -> None:
    monkeypatch.setattr(ready, "_ready", {})
    there = gpu.to_device(np.arange(6.0).reshape(2, 3))
    assert wl.reduce(there, ["sum", "max"], axis=1).max.copy_to_host().tolist() == [2, 5]
    assert wl.reduce(there, "var", axis=1, ddof=1.0).copy_to_host().tolist() == [1, 1]
    assert wl.reduce(there, axis=np.array(1)).copy_to_host().tolist() == [3, 12]
    outs = [gpu.empty(2, "f8")]
    assert wl.reduce(there, ["sum"], axis=1, out=outs).sum.copy_to_host().tolist() == [3, 12]
    mask = np.array([True, False, True])
    assert wl.reduce(there, axis=1, where=mask).copy_to_host().tolist() == [2, 8]
    for wrong in ({"axis": [1]}, {"accuracy": ["fast"]}, {"ddof": {}}):
        with pytest.raises((InputError, InputTypeError)):
            wl.reduce(there, "sum", **wrong)
    assert not ready._ready
    assert wl.reduce(there, ("sum", "max"), axis=1).sum.copy_to_host().tolist() == [3, 12]
    assert len(ready._ready) == 1


def test_numbers_and_ufuncs_of_numpy_are_plain(
    gpu: SimulatedDevice, library: Stand, monkeypatch: Any
) -> None:
    there = gpu.to_device(np.arange(6.0).reshape(2, 3))
    for turn in range(2):
        if turn:
            monkeypatch.setattr(api, "parse_ops", None)
        for axis in (np.int64(1), np.uint8(1), (np.int64(1),)):
            assert wl.reduce(there, "sum", axis=axis).copy_to_host().tolist() == [3, 12]
        assert wl.reduce(there, np.add, axis=1).copy_to_host().tolist() == [3, 12]
        for first in (np.float64(1), np.float32(1), np.int16(1)):
            assert wl.reduce(there, axis=1, initial=first).copy_to_host().tolist() == [4, 13]
    with monkeypatch.context() as known:
        known.setattr(api, "parse_ops", parse_ops)
        with pytest.raises(InputTypeError, match="axis"):
            wl.reduce(there, axis=np.True_)
        with pytest.raises(InputTypeError, match="axis"):
            wl.reduce(there, axis=np.float64(1))


@pytest.mark.parametrize("axis", [None, 0, *large(1)])
def test_an_operation_of_the_callers_is_kept_and_prepared(
    gpu: SimulatedDevice, library: Stand, monkeypatch: Any, axis: Any
) -> None:
    values = np.arange(60, dtype="f4").reshape(6, 10)
    largest = wl.AssociativeOp(max, -np.inf, name="largest")
    prepared = wl.reduce.prepare(gpu.to_device(values), largest, axis=axis)
    for shift in range(3):
        there = gpu.to_device(np.roll(values, shift) + shift)
        expected = np.max(np.roll(values, shift) + shift, axis=axis)
        np.testing.assert_array_equal(host(prepared(there)), expected)
        np.testing.assert_array_equal(host(wl.reduce(there, largest, axis=axis)), expected)
        mask = gpu.to_device(np.ones(values.shape, bool))
        found = wl.reduce(there, largest, axis=axis, where=mask)
        np.testing.assert_array_equal(host(found), expected)
        monkeypatch.setattr(api, "parse_ops", None)


def test_operations_that_differ_by_identity_are_other_calls(
    gpu: SimulatedDevice, library: Stand
) -> None:
    def add(a: Any, b: Any) -> Any:
        return a + b

    there = gpu.to_device(np.array([-0.0, -0.0]))
    for _ in range(2):
        for zero in (0.0, -0.0):
            found = wl.reduce(there, wl.AssociativeOp(add, zero))
            assert np.signbit(found) == np.signbit(zero)


def test_calls_kept_are_few(gpu: SimulatedDevice, library: Stand, monkeypatch: Any) -> None:
    monkeypatch.setattr(ready, "_MOST", 3)
    for n in range(1, 9):
        assert wl.reduce(gpu.to_device(np.ones(n))) == n
        assert 1 <= len(ready._ready) <= 3


def test_prepared(gpu: SimulatedDevice, library: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.arange(60, dtype="f4").reshape(6, 10)
    prepared = wl.reduce.prepare(gpu.to_device(values), ("mean", "argmax"), axis=0, keepdims=True)
    assert prepared.shape == (1, 10)
    assert prepared.dtypes == (np.float32, np.intp)
    monkeypatch.setattr(prepare, "parse_ops", None)
    for shift in (0, 5):
        found = prepared(gpu.to_device(values + shift))
        np.testing.assert_array_equal(host(found.mean), values.mean(axis=0, keepdims=True) + shift)
        np.testing.assert_array_equal(host(found.argmax), np.full((1, 10), 5))
    with pytest.raises(InputError, match="prepared for a SimulatedArray of float32, shape"):
        prepared(gpu.to_device(values.T.copy()))
    with pytest.raises(InputError, match="prepared for"):
        prepared(values)


def test_a_prepared_number_stays_there(gpu: SimulatedDevice, library: Stand) -> None:
    there = gpu.to_device(np.arange(5.0))
    prepared = wl.reduce.prepare(there)
    out = gpu.empty((), "f8")
    assert prepared(there, out=out) is out
    assert out.copy_to_host() == 10
    assert prepared(there).copy_to_host() == 10
    with pytest.raises(InputError, match="out: sum is float64 of shape"):
        prepared(there, out=gpu.empty(2, "f8"))


def test_results_that_share_memory_are_refused(gpu: SimulatedDevice) -> None:
    there, room = gpu.to_device(np.arange(6.0).reshape(3, 2)), gpu.empty(6, "f8")
    for second in (room[:3], room[2:5]):
        with pytest.raises(InputError, match="two operations cannot share memory"):
            wl.reduce(there, ("sum", "max"), axis=1, out=(room[:3], second), device=gpu)
    wl.reduce(there, ("sum", "max"), axis=1, out=(room[3:], room[:3]), device=gpu)
    assert room.copy_to_host().tolist() == [1, 3, 5, 1, 5, 9]


@pytest.mark.parametrize(
    ("values", "options", "error", "message"),
    [
        (np.ones(3), {"op": "ptp", "dtype": "f4"}, None, ""),
        (np.ones(3, "i1"), {"op": "ptp"}, InputError, "ptp of int8 .* finished on the host"),
        (np.ones(3), {"accuracy": "reproducible", "dtype": "f4"}, None, ""),
        (
            np.ones(3),
            {"accuracy": "reproducible", "op": "mean"},
            InputError,
            "finished on the host",
        ),
        (np.ones(3), {"accuracy": "reproducible", "op": "std"}, InputError, "finished on the host"),
        (np.ones(3), {"op": "summ"}, InputError, "'summ' is not known"),
        (np.ones((0, 3)), {}, InputError, "no elements"),
        (np.ones((2, 3, 4)), {"axis": (0, 2), "op": "ptp", "dtype": "f4"}, None, ""),
    ],
)
def test_what_cannot_be_prepared(
    gpu: SimulatedDevice, library: Stand, values: Any, options: Any, error: Any, message: str
) -> None:
    if error is None:
        assert wl.reduce.prepare(gpu.to_device(values), **options).dtypes == (np.float32,)
        return
    with pytest.raises(error, match=message):
        wl.reduce.prepare(gpu.to_device(values), **options)


def test_an_array_of_the_host_is_not_prepared_for() -> None:
    with pytest.raises(InputTypeError, match="like: an array on a GPU is needed, not ndarray"):
        wl.reduce.prepare(np.ones(3))
