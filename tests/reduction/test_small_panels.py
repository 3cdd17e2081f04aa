"""Rows side by side in many small panels are turned, with the bits of the long way."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import warpladder as wl
from choosing import large
from warpladder.reduction import api
from warpladder.reduction.memory import layout
from warpladder.reduction.passes import rows_of
from warpladder.reduction.shortcuts import along
from warpladder.reduction.shortcuts.ways import plan_of

OPERATIONS = (
    *(("sum", "f4"), ("argmax", "f4")),
    *large(
        ("argmax", "i8"),
        *(("var", "f8"), ("mean", "i8")),
        *(("max", "i1"), ("mean", "i4"), ("l2", "f8"), ("prod", "f8"), ("nanmax", "f4")),
        *(("nansum", "f8"), ("sum", "f2"), ("any", "u1"), ("all", "i2"), ("argmin", "f4")),
        *(("ptp", "u4"), ("count_nonzero", "u8"), ("std", "f4"), ("l1", "i8"), ("argmax", "u1")),
        *(("nanmin", "f8"), ("nanmean", "f4"), ("nanvar", "f8"), ("sum", "f8"), ("prod", "i4")),
        *(("logsumexp", "f4"), ("argmax", "?"), ("mean", "u8")),
    ),
)
#: Panels, lines of each and rows abreast: of sizes that have a loop, or none, of long lines and
#: short ones, and more than one turn takes.
SHAPES = (
    *((700, 3, 3), (33, 16, 5), (2100, 2, 2), (41, 64, 3)),
    *large(((300_001, 2, 3),), ((400, 4, 16),), ((90, 127, 1),), ((64, 128, 2),), ((5000, 1, 7),)),
)


def numbers(op: str, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    rng = np.random.default_rng(shape)
    if dtype == "?":
        return rng.random(shape) < 0.3
    drawn = rng.integers(1 if op == "prod" else -3, 4, shape) / (3 if op == "prod" else 1)
    if dtype[0] == "u":
        drawn = abs(drawn)
    if op.startswith("nan"):
        drawn[rng.random(shape) < 0.2] = np.nan
        drawn[5, :, 0] = np.nan
    return drawn.astype(dtype)


def the_long_way(values: NDArray[Any], op: str) -> NDArray[Any]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("answer_of_few", "answer_of_view"):
            patch.setattr(api, name, lambda *_: None)
        return wl.reduce(values, op, axis=1)


@pytest.mark.parametrize(("op", "dtype"), OPERATIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_bits_are_those_of_the_long_way(op: str, dtype: str, shape: tuple[int, ...]) -> None:
    values = numbers(op, dtype, shape)
    expected = the_long_way(values, op)
    for _ in range(3):
        found = wl.reduce(values, op, axis=1)
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        assert found.tobytes() == expected.tobytes()
    if op in {"sum", "var", "mean", "argmax", "max", "prod"} and dtype != "f2":
        of_numpy = getattr(np, op)(values.astype("f8") if dtype == "f4" else values, axis=1)
        np.testing.assert_allclose(found, of_numpy, rtol=1e-5)


@pytest.mark.parametrize(("op", "extreme"), [("l2", 1e200), ("prod", 1e200), ("var", 1e-170)])
def test_numbers_near_the_ends_of_their_range(op: str, extreme: float) -> None:
    values = np.random.default_rng(3).random((400, 4, 3))
    values[17, :2, 1] = extreme
    assert wl.reduce(values, op, axis=1).tobytes() == the_long_way(values, op).tobytes()


def test_which_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few panels, large ones and wide ones are gone through as they lie."""
    noted: list[tuple[int, ...]] = []
    make = along.way_in_small_panels

    def noting(plan: Any, *lies: int) -> Any:
        noted.append(lies)
        return make(plan, *lies)

    monkeypatch.setattr(along, "way_in_small_panels", noting)
    sizes = [(64, 4, 4), (63, 4, 4), (70, 4, 16), (70, 4, 17), (70, 16, 16), (70, 17, 16)]
    for shape in sizes:
        values = np.random.default_rng(shape).random(shape)
        np.testing.assert_allclose(wl.reduce(values, "min", axis=1), values.min(axis=1))
    assert noted == [(64, 4, 4), (70, 4, 16), (70, 16, 16)]
    # More numbers than a byte counts have places in the long way alone.
    for length in (128, 129):
        values = np.zeros((50, length, 2), np.int8)
        values[:, -1] = 1
        assert (wl.reduce(values, "argmax", axis=1) == length - 1).all()


def test_lines_of_a_lone_last_panel_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    """So they are where tiles are cut so; then all go the long way."""
    values = np.random.default_rng(1).random((41, 64, 3))
    monkeypatch.setattr(layout, "TILE_BYTES", 20 * values[0].nbytes)
    monkeypatch.setattr(layout, "_FEW_TILES", 1000)
    monkeypatch.setattr(layout, "_TILES", 1000)
    plan = plan_of("sum", values.dtype, "fast", False)
    rows = rows_of(values, (1,), None, plan, on_gpu=False)
    rows.allow_stacks()
    assert [span.end - span.begin for span in rows.row_spans()] == [15] * 8 + [3]
    expected = the_long_way(values, "sum")
    assert wl.reduce(values, "sum", axis=1).tobytes() == expected.tobytes()


def test_panels_that_are_shared() -> None:
    """Who stands by has some, with the same bits; two threads at once do not meet."""
    values = np.random.default_rng(3).random((30_000, 3, 3))
    expected = the_long_way(values, "var").tobytes()

    def calls(_: int) -> bool:
        return {wl.reduce(values, "var", axis=1).tobytes() for _ in range(20)} == {expected}

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(calls, range(3)))
