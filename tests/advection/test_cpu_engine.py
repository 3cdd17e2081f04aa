"""The engine for CPUs gives the bits of the plain loop, however cells and steps are cut."""

from __future__ import annotations

from itertools import cycle, pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from choosing import by_pairs, large, meeting
from late_workers import come_in_phase
from warpladder.advection import cpu
from warpladder.advection.cpu import CpuEngine, plan_tiles
from warpladder.advection.forms import LIMITERS, Edge, Limited, Problem, Stencil
from warpladder.advection.plain import PlainEngine
from warpladder.advection.rows import AS_IT_LIES, strips_of
from warpladder.advection.vectors import Shape, code_of, reach_of, shape_for

#: The first and the last are compiled by default: each takes seconds.
RULES = ["lax-friedrichs", "fromm", "mc"]
OTHER_RULES = ["upwind", "downwind", "far", "five", "minmod", "superbee", "van-leer"]
OFFSETS = {
    "lax-friedrichs": (-1, 1),
    "fromm": (-2, -1, 0, 1),
    "upwind": (-1, 0),
    "downwind": (0, 1),
    "far": (-3, -2),
    "five": (-2, -1, 0, 1, 2),
}
EDGES = ["copy", "given", "copy given", "periodic"]
SIZES = [1, 2, 33, 2047, 2048, 2049, 4099, 20_011]


def rule_of(name: str, systems: int, dtype: Any, *, mirrored: bool = False) -> Stencil | Limited:
    rng = np.random.default_rng(7)
    if name in LIMITERS:
        courant = rng.uniform(0.1, 0.9, systems)
        correction = courant * (1 - courant) / 2
        return Limited(name, courant.astype(dtype), correction.astype(dtype), mirrored)
    weights = rng.uniform(0.1, 1.0, (systems, len(OFFSETS[name])))
    return Stencil(OFFSETS[name], (weights / weights.sum(1, keepdims=True)).astype(dtype))


def edges_of(kinds: str, steps: int, systems: int, dtype: Any) -> list[Edge]:
    rng = np.random.default_rng(8)
    left, right = (kinds.split() * 2)[:2]
    return [
        Edge(kind, rng.standard_normal((steps, systems)).astype(dtype) if kind == "given" else None)  # type: ignore[arg-type]
        for kind in (left, right)
    ]


def cells(systems: int, n: int, dtype: Any) -> NDArray[Any]:
    return np.random.default_rng(n).standard_normal((systems, n)).astype(dtype)


def check(problem: Problem, phi: NDArray[Any], steps: int, first: int = 0) -> None:
    before = phi.tobytes()
    expected = PlainEngine().advance(problem, phi, first, steps, lambda _: None)
    done: list[float] = []
    found = CpuEngine().advance(problem, phi, first, steps, done.append)
    assert found.dtype == phi.dtype
    assert found.tobytes() == expected.tobytes()
    assert phi.tobytes() == before
    assert sum(done) <= steps


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut what would be one tile into several, and let two workers share it."""
    monkeypatch.setattr(cpu, "_ROW_BYTES", 8 << 10)
    monkeypatch.setattr(cpu, "_TILE_BYTES", 16 << 10)
    monkeypatch.setattr(cpu, "_SHARED_CELLS", 1 << 11)
    monkeypatch.setattr(cpu, "_WORK_OF_ONE", 1 << 13)
    monkeypatch.setattr(cpu, "worker_count", lambda: 2)


@pytest.mark.parametrize(
    ("name", "dtype", "kinds", "n", "steps"),
    [
        *by_pairs(["lax-friedrichs", "mc"], ["float32"], EDGES, SIZES, [1, 2, 3, 8, 61]),
        *large(*product(["fromm"], ["float32"], EDGES, SIZES, [1, 2, 3, 8, 61])),
        *large(*product(["lax-friedrichs"], ["float64"], EDGES, SIZES, [3, 61])),
        # The others are compiled for strips, below; these have the farthest edges and two limiters.
        *large(*product(["far", "minmod", "van-leer"], ["float32"], EDGES, [33, 2049, 4099], [61])),
        *large(*product(RULES[2:], ["float64"], EDGES, [33, 2049, 4099], [61])),
    ],
)
def test_the_bits_of_the_plain_loop(
    small_tiles: None, name: str, dtype: str, kinds: str, n: int, steps: int
) -> None:
    problem = Problem(rule_of(name, 2, dtype), *edges_of(kinds, steps, 2, dtype))
    check(problem, cells(2, n, dtype), steps)


@pytest.mark.parametrize("passes", [1, 2, 3, 4])
def test_a_worker_may_come_in_any_pass(
    passes: int, small_tiles: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    n, in_pass = 20_011, shape_for(code_of(OFFSETS["lax-friedrichs"]), np.dtype("f4")).depth
    edges = edges_of("copy given", passes * in_pass, 1, "f4")
    problem = Problem(rule_of("lax-friedrichs", 1, "f4"), *edges)
    monkeypatch.setattr(
        cpu, "plan_tiles", lambda *how, **where: plan_tiles(*how, **where)._replace(steps=in_pass)
    )
    for late in range(passes + 1):
        monkeypatch.setattr(cpu, "run_briefly", come_in_phase(late, passes))
        check(problem, cells(1, n, "f4"), passes * in_pass)


@pytest.mark.parametrize("kinds", EDGES)
def test_velocities_below_zero(small_tiles: None, kinds: str) -> None:
    problem = Problem(rule_of("mc", 1, "float32", mirrored=True), *edges_of(kinds, 30, 1, "f4"))
    check(problem, cells(1, 5000, "float32"), 30)


@pytest.mark.parametrize("n", [5, 20, 5000])
def test_it_goes_on_where_it_was_left(small_tiles: None, n: int) -> None:
    problem = Problem(rule_of("lax-friedrichs", 1, "f4"), *edges_of("given", 50, 1, "f4"))
    phi = cells(1, n, "f4")
    whole = CpuEngine().advance(problem, phi, 0, 50, lambda _: None)
    part = CpuEngine().advance(problem, phi, 0, 13, lambda _: None)
    rest = CpuEngine().advance(problem, part, 13, 37, lambda _: None)
    assert rest.tobytes() == whole.tobytes()
    assert whole.tobytes() != CpuEngine().advance(problem, part, 0, 37, lambda _: None).tobytes()


@pytest.mark.parametrize("n", [900, 9000])
def test_infinities_and_nans_spread_as_in_the_plain_loop(small_tiles: None, n: int) -> None:
    phi = cells(1, n, "float32")
    phi[0, [100, n // 2, n - 1]] = np.nan, np.inf, -np.inf
    problem = Problem(rule_of("lax-friedrichs", 1, "f4"), Edge("copy"), Edge("copy"))
    engines = PlainEngine(), CpuEngine()
    expected, found = (one.advance(problem, phi, 0, 40, lambda _: None) for one in engines)
    np.testing.assert_array_equal(found, expected)
    assert 30 < np.isnan(found).sum() < 500


def test_what_is_read_only_is_taken() -> None:
    phi = cells(1, 3000, "float32")
    phi.flags.writeable = False
    check(Problem(rule_of("lax-friedrichs", 1, "f4"), Edge("copy"), Edge("copy")), phi, 10)


def test_no_steps_are_a_copy() -> None:
    phi = cells(2, 50, "float32")
    problem = Problem(rule_of("lax-friedrichs", 2, "f4"), Edge("copy"), Edge("copy"))
    found = CpuEngine().advance(problem, phi, 0, 0, lambda _: None)
    assert found is not phi
    assert found.tobytes() == phi.tobytes()


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("n", [500, 1 << 16])
def test_what_progress_raises_passes_through(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "_WORK_OF_ONE", 1)
    monkeypatch.setattr(cpu, "_PASS_WORK", 1 << 20)
    problem = Problem(rule_of("lax-friedrichs", 1, "f4"), Edge("copy"), Edge("copy"))

    def stop(_: float) -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        CpuEngine().advance(problem, cells(1, n, "f4"), 0, 10**7, stop)


@settings(max_examples=60)
@given(
    n=st.integers(2048, 9000), steps=st.integers(3, 70), systems=st.integers(1, 3),
    kinds=st.sampled_from(EDGES), tile=st.integers(9, 14), workers=st.integers(1, 3),
)  # fmt: skip
def test_any_cut(n: int, steps: int, systems: int, kinds: str, tile: int, workers: int) -> None:
    problem = Problem(
        rule_of("lax-friedrichs", systems, "f4"), *edges_of(kinds, steps, systems, "f4")
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu, "_ROW_BYTES", 4 << 10)
        patch.setattr(cpu, "_TILE_BYTES", 4 << tile)
        patch.setattr(cpu, "_SHARED_CELLS", 1 << 11)
        patch.setattr(cpu, "_WORK_OF_ONE", 1 << 13)
        patch.setattr(cpu, "worker_count", lambda: workers)
        check(problem, cells(systems, n, "float32"), steps)


@pytest.mark.parametrize(
    ("name", "dtype", "lanes"),
    [
        ("lax-friedrichs", "float32", 4),
        *large(*meeting(RULES, ["float32", "float64"], [2, 8, 16])),
        *large(*zip(OTHER_RULES, cycle(["float32", "float64"]), cycle([16, 4, 2]), strict=False)),
    ],
)
def test_rows_in_strips_of_any_number(
    monkeypatch: pytest.MonkeyPatch, name: str, dtype: str, lanes: int
) -> None:
    monkeypatch.setattr(cpu, "shape_for", lambda _code, _dtype: Shape(lanes, 2))
    sizes = {1, 2, 3, *(lanes * k + more for k in range(1, 5) for more in (-1, 0, 1)), 100, 1025}
    for kinds, n in product([*EDGES, "given copy"], sorted(sizes)):
        steps = 3 + n % 5
        problem = Problem(rule_of(name, 2, dtype), *edges_of(kinds, steps + 1, 2, dtype))
        check(problem, cells(2, n, dtype), steps, first=n % 2)


@settings(max_examples=60)
@given(n=st.integers(1, 2000), steps=st.integers(1, 70), kinds=st.sampled_from(EDGES))
def test_any_row(n: int, steps: int, kinds: str) -> None:
    problem = Problem(rule_of("lax-friedrichs", 2, "f4"), *edges_of(kinds, steps, 2, "f4"))
    check(problem, cells(2, n, "float32"), steps)


@settings(max_examples=100)
@given(
    n=st.integers(1, 10**4), lanes=st.sampled_from([2, 4, 8, 16]),
    offsets=st.sampled_from(list(OFFSETS.values())),
)  # fmt: skip
def test_strips_hold_all_cells_and_see_no_farther_than_the_ones_beside(
    n: int, lanes: int, offsets: tuple[int, ...]
) -> None:
    reach = max(reach_of(code_of(offsets)))
    strips = strips_of(n, code_of(offsets), lanes)
    assert (strips != AS_IT_LIES) == (n >= lanes * reach)
    if strips == AS_IT_LIES:
        return
    firsts = [lane * strips.apart + min(lane, strips.farther) for lane in range(lanes)]
    assert firsts[-1] + strips.length == n
    assert all(reach <= b - a <= strips.length for a, b in pairwise(firsts))


@settings(max_examples=100)
@given(
    n=st.integers(2048, 10**8), steps=st.integers(1, 10**5), workers=st.integers(1, 64),
    offsets=st.sampled_from(list(OFFSETS.values())), periodic=st.booleans(),
)  # fmt: skip
def test_tiles_answer_for_all_cells_and_hold_their_halo(
    n: int, steps: int, workers: int, offsets: tuple[int, ...], periodic: bool
) -> None:
    code, shape = code_of(offsets), Shape(16, 6)
    plan = plan_tiles(n, steps, code, shape, 4, workers=workers, periodic=periodic)
    assert (plan.tiles - 1) * plan.kept < n <= plan.tiles * plan.kept
    assert plan.steps % shape.depth == 0
    reach = max(-offsets[0], 0) + max(offsets[-1], 0)
    alone = plan.tiles == 1 and not periodic
    assert shape.lanes * plan.length >= plan.kept + (0 if alone else plan.steps * reach)
    # What an end changes in a sweep, and depends on, is in one tile.
    assert min(shape.lanes * plan.length, n) >= shape.depth * reach


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("code", [-1, *map(code_of, OFFSETS.values())])
def test_a_sweep_takes_several_steps_of_a_stencil(code: int, dtype: str) -> None:
    shape = shape_for(code, dtype)
    assert shape.depth == 1 if code < 0 else 2 <= shape.depth <= 6
    assert shape.lanes * np.dtype(dtype).itemsize in (16, 32, 64)
