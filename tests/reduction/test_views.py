"""Arrays that lie otherwise than their shape says go a short way, with the bits of the long one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import warpladder as wl
from choosing import large
from warpladder.device.environment import worker_count
from warpladder.errors import InputError
from warpladder.reduction import api
from warpladder.reduction.lines import shared_lines
from warpladder.reduction.memory import layout
from warpladder.reduction.memory.copies import FEW
from warpladder.reduction.shortcuts import views

# Sums by lines and by rows have other bits; an index hangs on the order; deviations take two loops.
PAIRS = [
    *(("sum", "f4"), ("argmax", "f4"), ("var", "f4")),
    *large(
        ("mean", "i8"),
        ("max", "f4"),
        ("l2", "f8"),
        ("nansum", "f4"),
        ("any", "?"),
        ("sum", "f2"),
        ("logsumexp", "f8"),
    ),
    *large(("prod", "f4"), ("ptp", "i1"), ("nanargmin", "f8"), ("sum", "?")),
]


def numbers(dtype: str, *shape: int) -> NDArray[Any]:
    drawn = np.random.default_rng(len(shape)).standard_normal(shape) * 3
    return drawn > 0 if dtype == "?" else drawn.astype(dtype)


def whole_numbers(dtype: str, *shape: int) -> NDArray[Any]:
    """So few and small that their sums are exact in any order."""
    return np.rint(numbers(dtype, *shape))


def misaligned(values: NDArray[Any]) -> NDArray[Any]:
    """Return a field of records that begins at an odd address."""
    records = np.zeros(values.shape, [("name", "S3"), ("x", values.dtype)])
    records["x"] = values
    return records["x"]


def at_odd_address(values: NDArray[Any]) -> NDArray[Any]:
    moved = np.empty(values.nbytes + 1, np.uint8)[1:].view(values.dtype).reshape(values.shape)
    moved[:] = values
    return moved


def views_of(
    dtype: str, n: int, draw: Callable[..., NDArray[Any]] = numbers
) -> dict[str, NDArray[Any]]:
    """Return arrays of about so many elements, some of them parts of larger ones."""
    side, cube = round(n**0.5) + 1, round(n ** (1 / 3)) + 1
    table, box = draw(dtype, n // 4, 9), draw(dtype, cube, cube + 1, cube + 2)
    sheet, row = draw(dtype, side + 2, side + 3), draw(dtype, 2 * n)
    hyper = draw(dtype, 2, 3, 4, n // 24 + 1)
    return {
        "a column": draw(dtype, n, 7)[:, 3],
        "a column, one wide": draw(dtype, n, 7)[:, 3:4],
        "every second": row[::2],
        "every second, backwards": row[::-2],
        "backwards": row[:n][::-1],
        "some columns": table[:, 2:6],
        "every second column": table[:, ::2],
        "every second row": table[::2],
        "rows upside down": table[::-1],
        "mirrored": sheet[:, ::-1],
        "turned by half": sheet[::-1, ::-1],
        "in Fortran order": np.asfortranarray(sheet),
        "edges cut off": sheet[1:-1, 1:-1],
        "edges cut off, transposed": sheet[1:-1, 1:-1].T,
        "every second of both": draw(dtype, 2 * side, 2 * side)[::2, ::2],
        "a box, its first axis last": box.transpose(1, 2, 0),
        "a box, backwards in order": box.T,
        "a box, two turned": box.transpose(2, 0, 1)[:, ::-1],
        "part of a box": box[:-1, 1:, 1:-1],
        "part of a box, its middle first": box[1:, :, :-1].transpose(1, 0, 2),
        "part of a box, upside down": box[::-1, 1:-1, 1:-1],
        "part of a box, its middle backwards": box[1:, ::-1, :-1],
        "part of a box at an odd address": at_odd_address(box)[:, 1:-1, 1:-1],
        "part of a box of another byte order": box.astype(box.dtype.newbyteorder())[:, 1:, 1:-1],
        "one side of a box": box[:, 1:2].transpose(2, 1, 0),
        "of another byte order": sheet.astype(sheet.dtype.newbyteorder()),
        "of another byte order, turned": sheet.astype(sheet.dtype.newbyteorder()).T,
        "four axes, in a circle": hyper.transpose(1, 2, 3, 0),
        "four axes, one upside down": hyper.transpose(2, 3, 1, 0)[:, ::-1],
        "at an odd address": at_odd_address(sheet),
        "at an odd address, transposed": at_odd_address(sheet).T,
        "misaligned": misaligned(sheet),
        "misaligned, transposed": misaligned(sheet).T,
        "windows": np.lib.stride_tricks.sliding_window_view(draw(dtype, n + 4), 5),
        "broadcast": np.broadcast_to(draw(dtype, side), (3, side)),
    }


def outcome(values: NDArray[Any], op: Any, **options: Any) -> Any:
    """Return type, shape and bits of an answer, or what is said instead."""
    try:
        found = wl.reduce(values, op, **options)
    except InputError as fault:
        return str(fault)
    # Of operations in a tuple nothing is short.
    found = found if isinstance(op, str) else found[0]
    return type(found), found.dtype, found.shape, found.flags.carray, np.asarray(found).tobytes()


def check(values: NDArray[Any], op: str, name: str) -> None:
    axes = (None, *range(values.ndim), (0, -1), (1, 0), (1,)) if values.ndim > 1 else (None, 0)
    for axis in axes:
        for options in ({"axis": axis}, {"axis": axis, "keepdims": True, "ddof": 1}):
            expected = outcome(values, (op,), **options)
            for _ in range(2):
                assert outcome(values, op, **options) == expected, (name, op, options)


@pytest.mark.parametrize(("op", "dtype"), PAIRS)
def test_the_bits_are_those_of_the_long_way(op, dtype):
    """Few numbers are copied, more gone through in their place where they lie so."""
    for n in (40, 1500, 2 * FEW):
        for name, values in views_of(dtype, n).items():
            check(values, op, name)
            # What is copied is so at either size.
            if n == 1500:
                continue
            values.flags.writeable = False
            check(values, op, f"{name}, read-only")


# Deviations in many tiles are in test_reduce.py.
@pytest.mark.parametrize(("op", "dtype"), [*PAIRS[:2], *large(PAIRS[2]), *PAIRS[3:]])
def test_the_bits_of_many_tiles(op, dtype, monkeypatch):
    monkeypatch.setattr(layout, "TILE_BYTES", 1 << 14)
    monkeypatch.setattr(layout, "CACHED_BYTES", 1 << 14)
    for few in (100, FEW):
        monkeypatch.setattr(views, "FEW", few)
        for name, values in views_of(dtype, 12_000).items():
            check(values, op, name)


def test_as_numpy():
    for n in (8, 33, 5000):
        for name, values in views_of("f4", n, whole_numbers).items():
            for axis, keepdims in product((None, *range(values.ndim)), (False, True)):
                for op in ("sum", "min", "argmax"):
                    found = wl.reduce(values, op, axis=axis, keepdims=keepdims)
                    expected = getattr(np, op)(values, axis=axis, keepdims=keepdims)
                    np.testing.assert_array_equal(found, expected, f"{name}, {op}, {axis}")
                    assert np.shape(found) == np.shape(expected)


def test_what_lies_alike_is_looked_at_once(monkeypatch):
    """The second call of each does not go the long way, but for what is rare."""
    arrays = views_of("f4", 1500)
    strange = ("at an odd address", "of another byte order")
    for rare in ("broadcast", *(f"part of a box {one}" for one in strange)):
        del arrays[rare]
    # NumPy's are not to be written to.
    arrays["windows"] = np.lib.stride_tricks.sliding_window_view(
        numbers("f4", 1504), 5, writeable=True
    )
    for values in arrays.values():
        for axis in (None, *range(values.ndim)):
            wl.reduce(values, axis=axis)
    monkeypatch.setattr(api, "_reduce_new", None)
    for name, values in arrays.items():
        values[...] = values + 1
        for axis in (None, *range(values.ndim)):
            expected = values.sum(axis, np.float64)
            read_only = values.view()
            read_only.flags.writeable = False
            for given in (values, read_only):
                found = wl.reduce(given, axis=axis)
                np.testing.assert_allclose(found, expected, 1e-4, 1e-3, err_msg=name)


def test_results_are_the_callers_own():
    values = np.asfortranarray(numbers("f8", 20, 30))
    first = wl.reduce(values, axis=0)
    kept = first.copy()
    first[:] = 0
    np.testing.assert_array_equal(wl.reduce(values, axis=0), kept)
    assert not np.shares_memory(wl.reduce(numbers("f8", 20, 1)[:, ::-1], axis=1), values)
    single = numbers("f8", 1, 20)[:, ::-1]
    assert not np.shares_memory(wl.reduce(single, axis=0), single)


def test_what_is_wrong_is_said_as_ever():
    column = numbers("f4", 20, 3)[:, 1]
    for options in ({"op": "summ"}, {"axis": 1}, {"axis": (0, 0)}, {"accuracy": "quick"}):
        with pytest.raises(InputError, match=r"op|axis|accuracy"):
            wl.reduce(column, **options)
    with pytest.raises(InputError, match="indices along one axis"):
        wl.reduce(numbers("f4", 3, 4, 5).T, "argmax", axis=(0, 1))
    with pytest.raises(InputError, match="min"):
        wl.reduce(numbers("f4", 0, 4)[:, ::2], "min")


def test_lines_that_one_thread_has_copied_it_goes_through_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, team = [], shared_lines.LinesTogether._team

    def noting(one: shared_lines.LinesTogether, size: int) -> Any:
        asked.append(size)
        return team(one, size)

    monkeypatch.setattr(shared_lines.LinesTogether, "_team", noting)
    # A prime number of columns is not cut into strips.
    whole = np.random.default_rng(0).random((800, 2 * 467))
    for array, is_asked in ((whole[:, ::2], False), (np.ascontiguousarray(whole[:, ::2]), True)):
        for _ in range(3):
            asked.clear()
            np.testing.assert_allclose(wl.reduce(array, axis=0), array.sum(0))
        if worker_count() > 1:
            assert asked == [array.nbytes] * is_asked
    assert not shared_lines._here.is_alone


def test_whoever_was_alone_is_not_after_an_error() -> None:
    def fail() -> None:
        assert shared_lines._here.is_alone
        raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        shared_lines.lines_by_one_thread(fail)()
    assert not shared_lines._here.is_alone
