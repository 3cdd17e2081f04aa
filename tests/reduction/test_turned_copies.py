"""Copies against the order of memory, by squares of elements, alone and with who stands by."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import warpladder as wl
from choosing import large
from warpladder.device.environment import worker_count
from warpladder.reduction.memory.copies import copied
from warpladder.reduction.memory.squares import turn_in_blocks, turn_rows
from warpladder.reduction.memory.turned_copies import TurnedCopies, turned_copies

DTYPES = ("i1", "f4", "f8", *large("f2", "?", "u2", "i8"))
# Of few lines and rows, of no whole squares and blocks, and so many that blocks are taken.
SIDES = ((8, 2100), (9, 1900), (63, 300), (64, 257), (70, 300), (131, 1001), (2100, 8))


def drawn(dtype: str, *shape: int) -> NDArray[Any]:
    return np.random.default_rng(shape).integers(0, 100, shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_lines_of_memory_become_rows(dtype: str) -> None:
    for lines, rows in SIDES:
        whole = drawn(dtype, lines, rows + 5)
        panels = drawn(dtype, 3, lines, rows + 1)[..., 1:]
        for part, kept in (
            (whole[:, :rows].T, 1),
            (whole[::-1, 3 : rows + 3].T, 1),
            (panels.transpose(0, 2, 1), 2),
            (panels[::-2, ::2].transpose(0, 2, 1), 2),
        ):
            for buffers in (None, {}):
                copy = copied(part, kept, part.dtype, "data", buffers)
                np.testing.assert_array_equal(copy, part.ravel())


def test_elements_in_steps() -> None:
    whole = drawn("u4", 150, 90)
    for turn in (turn_rows, turn_in_blocks):
        for lines, rows, step in ((50, 90, 3), (50, 29, 3), (150, 90, 1), (5, 7, 2)):
            found = np.zeros((rows, 160), "u4")
            turn(whole.ctypes.data, lines, rows, 90 * step, 1, found.reshape(-1), 160)
            np.testing.assert_array_equal(found[:, :lines], whole[::step, :rows][:lines].T)
            assert not found[:, lines:].any()
    for turn in (turn_rows, turn_in_blocks):
        found = np.zeros((45, 150), "u4")
        turn(whole.ctypes.data, 150, 45, 90, 2, found.reshape(-1), 150)
        np.testing.assert_array_equal(found, whole[:, ::2].T)


@pytest.mark.skipif(worker_count() == 1, reason="nobody stands by on one core")
def test_copies_are_shared() -> None:
    """Several threads at once, of which one at a time is helped, find the same."""
    whole, panels = drawn("f8", 300, 2000), drawn("f8", 70, 90, 200)

    def calls(_: int) -> bool:
        return all(
            np.array_equal(copied(part, kept, part.dtype, "", None), part.ravel())
            for _ in range(20)
            for part, kept in ((whole.T, 1), (panels.transpose(0, 2, 1), 2))
        )

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(calls, range(3)))


@pytest.mark.skipif(worker_count() == 1, reason="nobody stands by on one core")
def test_who_is_late_does_not_write_into_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[NDArray[Any]] = []

    def late(_: TurnedCopies, team: Any, size: int, fold: Any, given: Any, kept: Any) -> bool:
        asked.append(kept[1])
        return False

    monkeypatch.setattr(TurnedCopies, "_team", lambda *_: object())
    monkeypatch.setattr(TurnedCopies, "_shares", late)
    monkeypatch.setattr(turned_copies(8), "_fold", None, raising=False)
    part = drawn("i8", 300, 2000).T
    copy = copied(part, 1, part.dtype, "", None)
    np.testing.assert_array_equal(copy, part.ravel())
    assert len(asked) == 1
    assert not np.shares_memory(asked[0], copy)


@pytest.mark.parametrize("dtype", ["f2", *large("f4", "f8")])
def test_sums_beside_a_mask_over_the_first_axis(dtype: str) -> None:
    values, mask = drawn(dtype, 700, 401), drawn("?", 700, 401)
    for _ in range(3):
        found = wl.reduce(values, axis=0, where=mask)
        sums = values.sum(0, dtype="f8", where=mask)
        np.testing.assert_array_equal(found, sums.astype(dtype))
        found = wl.reduce(values, "max", axis=0)
        np.testing.assert_array_equal(found, values.max(0))
