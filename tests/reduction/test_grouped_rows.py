"""Rows in groups and panels are gone through as they lie, with the bits of the long way."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import warpladder as wl
from choosing import large, only
from warpladder.reduction.cpu import grouped_rows, in_groups
from warpladder.reduction.memory.copies import FEW
from warpladder.reduction.memory.levels import Panels
from warpladder.reduction.shortcuts import views

OPERATIONS = (
    *(("sum", "f4"), ("argmax", "f4"), ("var", "f8")),
    *large(("argmax", "i8"), ("max", "i1"), ("mean", "i4")),
    *large(("l2", "f8"), ("prod", "f8"), ("nanmax", "f4"), ("nansum", "f8"), ("sum", "f2")),
    *large(("logsumexp", "f4"), ("any", "u1"), ("all", "i2"), ("argmin", "f2"), ("ptp", "u4")),
    *large(("count_nonzero", "u8"), ("std", "f4"), ("l1", "i8"), ("argmax", "?"), ("nanmin", "f8")),
)
# Few rows and many, of one level and of three; more than are finished together.
SHAPES = ((20, 900), (9, 11, 200), (3, 5, 37, 40), (41, 17, 7, 33), *large(((2, 3, 4, 5, 500),)))


def numbers(op: str, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    rng = np.random.default_rng(shape)
    if dtype == "?":
        return rng.random(shape) < 0.01
    drawn = rng.integers(1 if op == "prod" else -3, 4, shape) / (3 if op == "prod" else 1)
    if op.startswith("nan"):
        drawn[rng.random(shape) < 0.1] = np.nan
    return drawn.astype(dtype)


def part_of(op: str, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    return numbers(op, dtype, tuple(n + 2 for n in shape))[(slice(1, -1),) * len(shape)]


@pytest.mark.parametrize(("op", "dtype"), OPERATIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_bits_are_those_of_the_long_way(op: str, dtype: str, shape: tuple[int, ...]) -> None:
    part = part_of(op, dtype, shape)
    assert part.size > FEW or len(shape) > 4
    # With others between neighbours, of which some begin where whole rows of them would, too.
    wide = np.repeat(part, 3, -1)
    apart = wide[..., ::3], wide[..., 1:-2:3], np.pad(wide, [(0, 0)] * (part.ndim - 1) + [(0, 1)])
    for lies in (
        part,
        part[::-1],
        part.swapaxes(0, -2),
        part[:, ::2],
        *apart[:2],
        apart[2][..., ::3],
    ):
        for options in ({}, {"keepdims": True, "ddof": 1}):
            (expected,) = wl.reduce(lies, (op,), axis=-1, **options)
            for _ in range(3):
                found = wl.reduce(lies, op, axis=-1, **options)
                assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
                assert found.tobytes() == expected.tobytes()


def test_rows_further_apart_than_their_neighbours_are_no_groups() -> None:
    drawn = np.random.default_rng(3).standard_normal((246, 771)).astype("f4")
    part = np.repeat(drawn, 2, -1)[:, ::2]
    for lies, axis in ((part, 0), (part.T, 1)):
        (expected,) = wl.reduce(lies, ("l1",), axis=axis)
        for _ in range(3):
            assert wl.reduce(lies, "l1", axis=axis).tobytes() == expected.tobytes()


def test_it_is_the_way_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    way_to = in_groups.way_to_grouped_rows
    monkeypatch.setattr(
        in_groups, "way_to_grouped_rows", lambda *a: made.append(a[1:]) or way_to(*a)
    )
    part = part_of("sum", "f4", (9, 11, 200))
    for _ in range(3):
        wl.reduce(part, axis=-1)
    assert made == [(((9, 13 * 202), (11, 202)), 200, 1)]
    made.clear()
    for step in (2, 5):
        for _ in range(3):
            wl.reduce(np.repeat(part, step, -1)[..., ::step], "max", axis=-1)
    assert made == [(((99, 400),), 200, 2), (((99, 1000),), 200, 5)]
    made.clear()
    # Few are copied in less time; what follows one another is no group.
    few = part[:2]
    for lies, axis in ((few, -1), (part, 0), (part, (1, 2)), (np.ascontiguousarray(part), -1)):
        for _ in range(3):
            wl.reduce(lies, axis=axis)
    assert not made


def test_numbers_near_the_ends_of_their_range() -> None:
    part = part_of("sum", "f8", (9, 11, 200))
    part[2, 3, :3], part[4, 5, 0], part[6, 7, 8] = 1e200, 1e-200, np.nan
    for op in ("l2", "var", "prod"):
        (expected,) = wl.reduce(part, (op,), axis=-1)
        for _ in range(3):
            assert wl.reduce(part, op, axis=-1).tobytes() == expected.tobytes()


def test_rows_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several threads at once, of which one at a time is helped, find the same."""
    monkeypatch.setattr(grouped_rows, "_LEAST_SHARED", 1)
    part = part_of("var", "f4", (60, 90, 50))
    (expected,) = wl.reduce(part, ("var",), axis=-1)

    def calls(_: int) -> bool:
        return all(
            wl.reduce(part, "var", axis=-1).tobytes() == expected.tobytes() for _ in range(20)
        )

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(calls, range(3)))


# Panels of one level and two, few and many lines, more lines than a block has; a line of several
# axes; lines that touch, between panels that do not.
PANELS = (
    ((9, 40, 70), (1,)), ((5, 7, 40, 33), (1,)), ((5, 7, 40, 33), (2,)), ((4, 600, 17), (1,)),
    ((3, 5, 9, 8, 31), (2,)), ((30, 40, 50), (0,)), ((5, 7, 40, 33), (1, 2)), ((6, 40, 100), (0,)),
)  # fmt: skip


@pytest.mark.parametrize(("op", "dtype"), OPERATIONS)
def test_panels_have_the_bits_of_the_long_way(op: str, dtype: str) -> None:
    for shape, axes in PANELS:
        part = part_of(op, dtype, shape)
        touching = numbers(op, dtype, (shape[0], shape[1] + 2, *shape[2:]))[:, 1:-1]
        if op.startswith("arg") and len(axes) > 1:
            continue
        for lies in (part, part[..., ::-1], touching):
            for options in ({}, {"keepdims": True, "ddof": 1}):
                (expected,) = wl.reduce(lies, (op,), axis=axes, **options)
                for _ in range(3):
                    found = wl.reduce(lies, op, axis=axes, **options)
                    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
                    assert found.tobytes() == expected.tobytes()


# Loops over lines take a second each: by default those that other tests need as well.
@pytest.mark.parametrize(
    ("op", "dtype"),
    only(
        lambda op, dtype: op == "std" or (dtype == "f4" and op in {"sum", "mean", "max"}),
        ("sum", "mean", "std", "l1", "nansum", "max"),
        ("f4", "f8"),
    ),
)
def test_few_columns_of_a_copy_are_joined_the_second_time_too(op: str, dtype: str) -> None:
    """The first call copies all of such an array, and takes many lines as if they were one."""
    drawn = np.random.default_rng(0).standard_normal((300, 8, 34)).astype(dtype)
    for lies, axis in ((drawn[:, :, 1:33], 0), (drawn[:, 1:-1, 1:-1], 0)):
        views._met.clear()
        views._way_to.cache_clear()
        first = wl.reduce(lies, op, axis=axis)
        for _ in range(3):
            assert wl.reduce(lies, op, axis=axis).tobytes() == first.tobytes()


def test_deviations_of_wide_panels() -> None:
    """What is kept of rows has room for some of them alone."""
    part = np.random.default_rng(1).standard_normal((4, 7, 5002))[1:, 1:-1, 1:-1]
    (expected,) = wl.reduce(part, ("var",), axis=1)
    for _ in range(3):
        assert wl.reduce(part, "var", axis=1).tobytes() == expected.tobytes()


def test_panels_are_gone_through_as_they_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    way_in = in_groups.way_in_panels
    monkeypatch.setattr(in_groups, "way_in_panels", lambda *a: made.append(a[1:]) or way_in(*a))
    for _ in range(3):
        wl.reduce(part_of("sum", "f4", (9, 40, 70)), axis=1)
        wl.reduce(part_of("sum", "f4", (5, 7, 40, 33)), axis=(1, 2))
    assert made == [(Panels(((9, 42 * 72),), 70, 72), 40)]


# Of one level and two, with few rows abreast, with so many lines that a panel is cut, and of one
# panel, which is; what cannot be cut, and lines between which others lie.
APART = (
    ((9, 40, 70), 1, 2), ((9, 40, 7), 1, 3), ((30, 23, 29), 1, 4), ((5, 7, 40, 33), 2, 2),
    ((2, 1000, 192), 1, 2), ((400, 600), 0, 2), ((300, 467), 0, 2), ((9, 40, 70), 1, 9),
)  # fmt: skip


def apart_of(op: str, dtype: str, shape: tuple[int, ...], step: int) -> NDArray[Any]:
    wide = np.zeros((*shape[:-1], shape[-1] * step), dtype)
    wide[..., ::step] = numbers(op, dtype, shape)
    return wide[..., ::step]


@pytest.mark.parametrize(("op", "dtype"), OPERATIONS)
def test_panels_whose_elements_lie_alone_have_the_bits_of_the_long_way(op: str, dtype: str) -> None:
    for shape, axis, step in APART:
        apart = apart_of(op, dtype, shape, step)
        # With nothing behind the last element of a line.
        ending = np.repeat(apart, step, -1)[..., : (shape[-1] - 1) * step + 1].copy()[..., ::step]
        for lies in (apart, ending, apart[1:, 1:], apart[..., ::-1]):
            for options in ({}, {"keepdims": True, "ddof": 1}):
                (expected,) = wl.reduce(lies, (op,), axis=axis, **options)
                for _ in range(3):
                    found = wl.reduce(lies, op, axis=axis, **options)
                    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
                    assert found.tobytes() == expected.tobytes()


def test_an_axis_of_one_panel_says_nothing_of_how_lines_lie() -> None:
    drawn = np.random.default_rng(0).standard_normal((3, 1000, 3, 5, 8)).astype("f4")
    for lies in (drawn[:1, :, :, 1:4, ::2], drawn[:1, :, :, 1:4, 1:-1]):
        for op in ("sum", "std", "l2"):
            (expected,) = wl.reduce(lies, (op,), axis=1)
            for _ in range(3):
                assert wl.reduce(lies, op, axis=1).tobytes() == expected.tobytes()


def test_panels_whose_elements_lie_alone_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Panels] = []
    for name in ("way_in_panels", "way_to_column_places"):
        way_to = getattr(in_groups, name)
        monkeypatch.setattr(
            in_groups, name, lambda *a, way_to=way_to: made.append(a[1]) or way_to(*a)
        )

    def panels(op: str, dtype: str, shape: tuple[int, ...], step: int, axis: int) -> Panels | None:
        made.clear()
        apart = apart_of(op, dtype, shape, step)
        for _ in range(3):
            wl.reduce(apart, op, axis=axis)
        return made[-1] if made else None

    assert panels("max", "i1", (9, 40, 70), 2, 1) == Panels(((9, 40 * 140),), 70, 140, 2)
    assert panels("argmax", "f8", (9, 40, 8), 3, 1) == Panels(((9, 40 * 24),), 8, 24, 3)
    # Of few rows abreast all are copied.
    assert panels("sum", "f8", (90, 400, 7), 2, 1) is None
    # A panel of 1.5 MB is cut into three, one panel alone into two.
    assert panels("max", "f8", (2, 1000, 192), 2, 1) == Panels(((2, 384_000), (3, 128)), 64, 384, 2)
    assert panels("sum", "f4", (400, 600), 2, 0) == Panels(((1, 0), (2, 600)), 300, 1200, 2)
    # 467 is a prime, and 90 a strip of which too little lies in a line.
    assert panels("sum", "f4", (400, 467), 2, 0) is None
    assert panels("sum", "f4", (4_000, 90), 2, 0) is None


def test_panels_are_shared() -> None:
    """Several threads at once, of which one at a time is helped, find the same."""
    apart = apart_of("sum", "f4", (64, 90, 20), 2)
    expected = {op: wl.reduce(apart, (op,), axis=1)[0].tobytes() for op in ("sum", "argmax")}

    def calls(_: int) -> bool:
        return all(
            wl.reduce(apart, op, axis=1).tobytes() == expected[op]
            for _ in range(20)
            for op in expected
        )

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(calls, range(3)))
