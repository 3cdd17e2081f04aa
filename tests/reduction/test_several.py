"""Several operations on few numbers at once: the answers, and the bits, of the long way."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import warpladder as wl
from choosing import large
from warpladder.errors import InputError, InputTypeError
from warpladder.reduction import api

SETS = [
    (("min", "max"), "f4"), (("sum", "mean", "std"), "f4"),
    *large(
        (("sum", "mean", "std"), "f8"), (("argmin", "any"), "i1"),
        (("mean", "var", "max", "argmax"), "f4"), (("sum", "count_nonzero", "all"), "?"),
        (("ptp", "l1", "l2"), "i4"), (("prod", "logsumexp"), "f8"), (("sum", "mean"), "i8"),
        (("nanmin", "nansum"), "f4"), (("sum", "nansum"), "f8"), (("mean", "l2"), "f2"),
        (("max", "sum"), "u8"),
    ),
]  # fmt: skip


def numbers(dtype: str, n: int) -> NDArray[Any]:
    drawn = np.random.default_rng(n).standard_normal(n) * 9
    return drawn > 0 if dtype == "?" else np.abs(drawn).astype(dtype)


def outcome(values: NDArray[Any], op: Any, **options: Any) -> Any:
    """Return types and bits of the answers, or what is said instead."""
    try:
        found = wl.reduce(values, op, **options)
    except InputError as fault:
        return str(fault)
    one_by_one = [(type(one), np.asarray(one).dtype.char, one.tobytes()) for one in found]
    return found._fields, one_by_one


def the_long_way(values: NDArray[Any], op: tuple[str, ...], **options: Any) -> Any:
    """Of a list of operations nothing is remembered."""
    return outcome(values, list(op), **options)


@pytest.mark.parametrize(("op", "dtype"), SETS)
def test_the_bits_are_those_of_the_long_way(op: tuple[str, ...], dtype: str) -> None:
    for n in (0, 1, 2, 31, 33, 1021, 5000, 140_000):
        values = numbers(dtype, n)
        given = [values, values[::-1], numbers(dtype, 2 * n)[::2]]
        if values.dtype.kind == "f" and n:
            for odd in (np.nan, np.inf, np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal):
                given.append(np.where(np.arange(n) % 5, values, np.array(odd, dtype)))
                given.append(np.full(n, odd, dtype))
        for each in given:
            for options in ({}, {"ddof": 1}, {"keepdims": True}, {"axis": 0}):
                expected = the_long_way(each, op, **options)
                for _ in range(2):
                    assert outcome(each, op, **options) == expected, (n, options)
    table = numbers(dtype, 60).reshape(5, 12)
    for values in (table, table.T, table[:, 2:7]):
        for options in ({}, {"axis": (0, 1)}, {"axis": 1}, {"where": np.ones_like(values, bool)}):
            if "argmin" not in op or "axis" not in options:
                assert outcome(values, op, **options) == the_long_way(values, op, **options)


@pytest.mark.parametrize(("op", "dtype"), SETS)
def test_over_an_axis(op: tuple[str, ...], dtype: str) -> None:
    for shape in ((1, 1), (5, 12), (40, 33), (3, 5000), (5000, 3), (7, 8, 9), (6, 1, 70), (3, 0)):
        values = numbers(dtype, int(np.prod(shape))).reshape(shape)
        if values.dtype.kind == "f" and values.size > 9:
            values.reshape(-1)[[3, -1]] = np.nan, np.inf
        for axis in (0, 1, -1, 2, (0, 1), (0, -1), None):
            for options in ({"axis": axis}, {"axis": axis, "keepdims": True, "ddof": 1}):
                expected = the_long_way(values, op, **options)
                for _ in range(2):
                    assert outcome(values, op, **options) == expected, (shape, options)


def test_the_second_call_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    values = numbers("f4", 1000)
    table = values.reshape(50, 20)
    first = wl.reduce(values, ("mean", "std"))
    alone = {
        axis: [wl.reduce(table, op, axis=axis) for op in ("mean", "std")] for axis in (None, 0, 1)
    }
    monkeypatch.setattr(api, "_reduce_new", None)
    again = wl.reduce(values, ("mean", "std"))
    assert again == first
    assert again._fields == ("mean", "std")
    assert pickle.loads(pickle.dumps(again)) == first  # noqa: S301 - made here
    assert again == tuple(alone[None])
    for axis in (0, 1, -1):
        found = wl.reduce(table, ("mean", "std"), axis=axis)
        np.testing.assert_array_equal(found, alone[axis % 2])


def test_what_is_wrong_is_said_as_ever() -> None:
    values = numbers("f4", 10)
    for op, text in ((("sum", "sum"), "twice"), (("sum", "summ"), "not known"), ((), "at least")):
        with pytest.raises(InputError, match=text):
            wl.reduce(values, op)
    with pytest.raises(InputTypeError, match="no name"):
        wl.reduce(values, ("sum", 3))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="min of no elements"):
        wl.reduce(values[:0], ("sum", "min"))


def test_what_does_not_fit_gives_no_warning_whichever_operation_is_first() -> None:
    values = np.full((18, 30), 3e5, np.float32)
    for op in (("max", "prod"), ("prod", "max")):
        for _ in range(3):
            found = wl.reduce(values, op, axis=0)
            assert np.isinf(found.prod).all()
            assert (found.max == np.float32(3e5)).all()
