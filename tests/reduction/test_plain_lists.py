"""Lists of Python's own numbers as arrays, in one pass or two: they are NumPy's, or left alone."""

from __future__ import annotations

import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpladder.reduction import plain_lists
from warpladder.reduction.plain_lists import of_plain_list

MANY = 2 * plain_lists._LEAST_WRITTEN


class OwnFloat(float):
    """A float that may say anything of itself."""


def is_taken(values: list[Any]) -> bool:
    """Tell whether an array is made of a list, which is NumPy's then."""
    found = of_plain_list(values)
    if found is values:
        return False
    expected = np.array(values)
    assert isinstance(found, np.ndarray)
    assert found.dtype == expected.dtype and found.shape == expected.shape  # noqa: PT018 - one array
    assert found.tobytes() == expected.tobytes()
    assert found.flags.carray and found.flags.writeable  # noqa: PT018 - likewise
    return True


@pytest.mark.parametrize("count", [1, 2, MANY - 1, MANY, MANY + 1])
def test_numbers_of_one_kind(count: int) -> None:
    rng = np.random.default_rng(count)
    assert is_taken(rng.integers(-(2**31), 2**31, count).tolist())
    assert is_taken(rng.integers(-(2**63), 2**63, count).tolist())
    bits = rng.integers(-(2**63), 2**63, count).tolist()
    assert is_taken([struct.unpack("d", struct.pack("q", each))[0] for each in bits])


def test_extreme_numbers() -> None:
    floats = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 2.2e-308, 1.8e308]
    assert is_taken([float(each) for each in floats] * MANY)
    for ints in (
        [-(2**31), 2**31 - 1, 0, -1],
        [0, 2**31],
        [0, -(2**31) - 1],
        [2**63 - 1, -(2**63)],
    ):
        assert is_taken(ints * MANY)
    for ints in ([0, 2**63], [2**63, 0], [0, -(2**63) - 1], [2**64], [10**400]):
        assert not is_taken(ints * MANY)


# What is written in as many bytes as a float or an int, and what is in more, fewer or not at all.
OTHERS: list[Any] = [
    True,
    None,
    "1234",
    "",
    b"1234",
    b"",
    1j,
    (),
    [],
    [0.5],
    [1],
    {},
    range(3),
    Fraction(1, 2),
    np.float64(2),
    np.float32(2),
    np.int64(2),
    np.array(2.0),
    np.ones(3),
    OwnFloat(2),
    Ellipsis,
    StopIteration,
    len,
]


@pytest.mark.parametrize("count", [3, MANY])
@pytest.mark.parametrize("number", [0.5, 1, 2**40], ids=["float", "int", "long"])
def test_lists_with_anything_else_are_left_alone(count: int, number: float) -> None:
    for other in [*OTHERS, 1 if type(number) is float else 1.5]:
        for place in (0, count // 2, count - 1):
            values = [number] * count
            values[place] = other
            assert of_plain_list(values) is values


@pytest.mark.parametrize("number", [0.5, 1, 2**40], ids=["float", "int", "long"])
@pytest.mark.parametrize("shape", [(2, 2), (2, MANY), (MANY, 1), (16, 31), (3, 2, 2), (8, 5, 1, 9)])
def test_lists_of_lists(shape: tuple[int, ...], number: float) -> None:
    def fresh() -> list[Any]:
        found: list[Any] = np.full(shape, number).tolist()
        return found

    assert is_taken(fresh())
    spoilings: list[Callable[[list[Any]], Any]] = [
        lambda row: row.append(row[0]),
        lambda row: row.pop(),
        lambda row: row.__setitem__(-1, "1234"),
        lambda row: row.__setitem__(0, True),
        lambda row: row.__setitem__(0, [row[0]]),
    ]
    for spoiled in spoilings:
        values = fresh()
        row = values[-1]
        while isinstance(row[0], list):
            row = row[-1]
        spoiled(row)
        assert of_plain_list(values) is values
    values = fresh()
    values[-1] = tuple(values[-1])
    assert of_plain_list(values) is values


def test_as_many_numbers_otherwise_divided_are_left_alone() -> None:
    half = MANY // 2
    for number in (0.5, 1):
        row: list[Any] = [number] * half
        for values in (
            [row, row[1:], [number, *row]],
            # All at the distances of a matrix, in a list for each pair.
            [row, [*row[:-2], row[:2]]],
            [row[:-1], row, [*row, number]],
        ):
            assert of_plain_list(values) is values


def test_what_has_no_end_or_no_numbers_is_left_alone() -> None:
    endless: list[Any] = []
    endless.append(endless)
    beginning: list[Any] = [0.5] * MANY
    beginning.append(beginning)
    deep: list[Any] = [0.5]
    for _ in range(100):
        deep = [deep]
    for values in (endless, beginning, deep, [], [[]], [[], []], [[], [1]], [[1], []]):
        assert of_plain_list(values) is values


def test_ways_are_those_that_they_are_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(plain_lists, "_in_two_passes", never)
    for values in ([0.5] * MANY, [1] * MANY, [[0.5] * MANY] * 2, [[[1] * 8] * 8] * 8):
        assert is_taken(values)
    # To look once more would tell nothing new.
    assert not is_taken([0.5] * MANY + [1])


@given(
    st.lists(st.integers(-(2**64), 2**64), max_size=4)
    | st.lists(
        st.floats()
        | st.integers(-(2**64), 2**64)
        | st.booleans()
        | st.lists(st.floats() | st.integers(-9, 9), max_size=3),
        max_size=4,
    )
)
def test_any_list_is_numpys_array_or_itself(few: list[Any]) -> None:
    for values in (few, few * MANY):
        found = of_plain_list(values)
        kinds = {type(each) for each in values}
        if kinds == {float}:
            assert isinstance(found, np.ndarray)
        if kinds == {int}:
            fit = all(-(2**63) <= each < 2**63 for each in values)
            assert isinstance(found, np.ndarray) is fit
        if isinstance(found, np.ndarray):
            assert found.tobytes() == np.array(values).tobytes()
