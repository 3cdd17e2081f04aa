"""The GPU engine, on a simulated GPU with all checks, against the plain loop: the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from choosing import large, only
from warpladder.advection.forms import LIMITERS, Edge, Limited, Problem, Stencil
from warpladder.advection.gpu import engine as engines
from warpladder.advection.gpu.engine import GpuEngine
from warpladder.advection.gpu_tiles import passes
from warpladder.advection.gpu_tiles.plan import STRIPS, Shape
from warpladder.advection.plain import PlainEngine
from warpladder.lab.compare import difference
from warpladder.simulator import SimulatedDevice

#: Two points, one side only, all of five, and the widest.
OFFSETS = ((-1, 1), (-1, 0), (1, 2), (-2, -1, 0), (-2, -1, 0, 1, 2), (-4, -1, 0, 2, 4))
SCHEMES = [(limiter, mirrored) for limiter in LIMITERS for mirrored in (False, True)]
ENDS = (("copy", "copy"), ("given", "copy"), ("copy", "given"), ("given", "given"),
        ("periodic", "periodic"))  # fmt: skip
#: Each limiter, both ways, and different ends.
LIMITED_CASES = list(zip(SCHEMES[::5] + SCHEMES[3::4], ENDS[1:], strict=False))
#: Strips so short that few cells are several tiles, and launches that do not divide the steps.
SMALL = Shape(8, 5)


@pytest.fixture(scope="module")
def gpu() -> SimulatedDevice:
    return SimulatedDevice(counters=False)


def nothing(_steps: float) -> None:
    pass


def stencil(offsets: tuple[int, ...], systems: int, dtype: str) -> Stencil:
    # Not stable, nor anything else but numbers; of a size that leaves them numbers.
    rng = np.random.default_rng(len(offsets))
    weights = rng.uniform(-1, 1, (systems, len(offsets))) / len(offsets)
    return Stencil(offsets, weights.astype(dtype))


def limited(limiter: str, mirrored: bool, systems: int, dtype: str) -> Limited:
    courant = np.linspace(0.3, 0.9, systems)
    correction = courant * (1 - courant) / 2
    return Limited(limiter, courant.astype(dtype), correction.astype(dtype), mirrored)


def rule_of(case: Any, systems: int, dtype: str) -> Stencil | Limited:
    if isinstance(case[0], str):
        return limited(*case, systems, dtype)
    return stencil(case, systems, dtype)


def problem_of(
    rule: Stencil | Limited, ends: tuple[Any, Any], steps: int, systems: int, dtype: str
) -> Problem:
    rng = np.random.default_rng(9)
    edges = [
        Edge(kind, rng.random((steps, systems)).astype(dtype) if kind == "given" else None)
        for kind in ends
    ]
    return Problem(rule, *edges)


def cells_of(systems: int, n: int, dtype: str) -> NDArray[Any]:
    """Return cells with hills and flat stretches: limiters take all their ways."""
    drawn = np.random.default_rng(n).random((systems, n)) * 3 - 1
    return np.clip(drawn, 0, 1).astype(dtype)


def check(
    gpu: SimulatedDevice,
    case: Any,
    ends: tuple[str, str],
    n: int,
    *,
    systems: int = 1,
    steps: int = 12,
    dtype: str = "float32",
    first: int = 0,
    shape: Shape | None = SMALL,
) -> None:
    problem = problem_of(rule_of(case, systems, dtype), ends, first + steps, systems, dtype)
    phi = cells_of(systems, n, dtype)
    before = phi.copy()
    told: list[float] = []
    expected = PlainEngine().advance(problem, phi, first, steps, nothing)
    found = GpuEngine(gpu, shape=shape).advance(problem, phi, first, steps, told.append)
    assert not difference(expected, found)
    assert np.array_equal(phi, before)
    assert not np.shares_memory(found, phi)
    assert sum(told) == steps


@pytest.mark.parametrize(
    ("offsets", "ends"),
    only(lambda offsets, ends: OFFSETS.index(offsets) % 5 == ENDS.index(ends), OFFSETS, ENDS),
)
def test_stencils_over_several_tiles(
    gpu: SimulatedDevice, offsets: tuple[int, ...], ends: tuple[str, str]
) -> None:
    check(gpu, offsets, ends, 600, systems=2, steps=7)


@pytest.mark.parametrize(
    ("scheme", "ends"),
    only(lambda scheme, ends: (scheme, ends) in LIMITED_CASES, SCHEMES, ENDS),
)
def test_limiters_over_several_tiles(
    gpu: SimulatedDevice, scheme: tuple[str, bool], ends: tuple[str, str]
) -> None:
    check(gpu, scheme, ends, 300, steps=7)


@pytest.mark.parametrize("n", [256, 257, *large(502, 503, 511, 1000)])
@pytest.mark.parametrize("ends", [ENDS[0], ENDS[-1]])
def test_tiles_at_their_edges(gpu: SimulatedDevice, n: int, ends: tuple[str, str]) -> None:
    # A tile has 256 cells; 246 of them are kept.
    check(gpu, (-1, 1), ends, n)


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("offsets", [(-4, -1, 0, 2, 4), *large(((-1, 1),))])
def test_few_cells(gpu: SimulatedDevice, offsets: tuple[int, ...], ends: tuple[str, str]) -> None:
    for n in (1, 2, 3, 4, 31, 33, 255):
        check(gpu, offsets, ends, n, systems=3, steps=5, first=2)


@pytest.mark.parametrize("scheme", [SCHEMES[5], *large(*((one,) for one in SCHEMES))])
def test_few_cells_and_a_limiter(gpu: SimulatedDevice, scheme: tuple[str, bool]) -> None:
    for n in (1, 2, 3, 33):
        check(gpu, scheme, ENDS[n % 5], n, systems=2, steps=5)


@pytest.mark.parametrize(
    ("case", "ends", "n"),
    [((-1, 1), ENDS[1], 260), (SCHEMES[2], ENDS[4], 33), *large((SCHEMES[5], ENDS[0], 257))],
)
def test_float64(gpu: SimulatedDevice, case: Any, ends: tuple[str, str], n: int) -> None:
    check(gpu, case, ends, n, dtype="float64", steps=3, shape=Shape(8, 2))


@pytest.mark.parametrize(
    ("strip", "itemsize", "ends"),
    [
        (48, 4, ENDS[0]), (128, 4, ENDS[-1]), (24, 8, ENDS[1]),
        *large(
            *(
                (strip, size, ends)
                for size, strips in STRIPS.items()
                for strip in strips
                for ends in (ENDS[3], ENDS[-1])
            )
        ),
    ],
)  # fmt: skip
def test_every_length_of_strips(
    gpu: SimulatedDevice, strip: int, itemsize: int, ends: tuple[str, str]
) -> None:
    dtype = f"float{8 * itemsize}"
    check(gpu, (-2, -1, 0), ends, 32 * strip + 5, dtype=dtype, steps=3, shape=Shape(strip, 2))


def test_systems_are_alike_only_bit_for_bit(gpu: SimulatedDevice) -> None:
    weights = np.array([[0.0, 1.0], [-0.0, 1.0]], np.float32)
    problem = Problem(Stencil((-1, 0), weights), Edge("copy"), Edge("copy"))
    for n in (40, 300):
        phi = np.full((2, n), -0.0, np.float32)
        expected = PlainEngine().advance(problem, phi, 0, 1, nothing)
        assert GpuEngine(gpu).advance(problem, phi, 0, 1, nothing).tobytes() == expected.tobytes()


@pytest.mark.parametrize(("n", "steps"), [(40, 0), (40, 1), (600, 0), (600, 1), (600, 24)])
def test_few_steps_and_a_shape_of_its_own(gpu: SimulatedDevice, n: int, steps: int) -> None:
    check(gpu, (-1, 1), ENDS[0], n, steps=steps, shape=None)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("case", [(-1, 1), SCHEMES[0]])
def test_what_is_no_number(gpu: SimulatedDevice, case: Any, value: float) -> None:
    problem = problem_of(rule_of(case, 1, "float32"), ENDS[0], 4, 1, "float32")
    phi = cells_of(1, 300, "float32")
    phi[0, [0, 130, 240, 299]] = value
    expected = PlainEngine().advance(problem, phi, 0, 4, nothing)
    assert 0 < (~np.isfinite(expected)).sum() < 60
    assert not difference(expected, GpuEngine(gpu).advance(problem, phi, 0, 4, nothing))


def test_upwind_at_courant_number_one_goes_around_a_ring(gpu: SimulatedDevice) -> None:
    rule = Stencil((-1, 0), np.array([[1, 0]], np.float32))
    phi = cells_of(1, 300, "float32")
    problem = Problem(rule, Edge("periodic"), Edge("periodic"))
    found = GpuEngine(gpu, shape=SMALL).advance(problem, phi, 0, 17, nothing)
    assert np.array_equal(found, np.roll(phi, 17))


@settings(max_examples=12)
@given(
    st.sampled_from([OFFSETS[0], OFFSETS[-1], SCHEMES[0]]),
    st.sampled_from([ENDS[1], ENDS[4]]),
    st.integers(1, 300),
    st.integers(1, 3),
    st.integers(0, 9),
    st.integers(1, 9),
)
def test_any_numbers_of_cells_systems_and_steps(
    case: Any, ends: tuple[str, str], n: int, systems: int, steps: int, depth: int
) -> None:
    device = SimulatedDevice(counters=False, checks=False)
    check(device, case, ends, n, systems=systems, steps=steps, shape=Shape(8, depth))


# --- on the device --------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [40, 300])
@pytest.mark.parametrize("steps", [0, 1, 12, 13])
def test_cells_that_are_on_the_device_stay_there(n: int, steps: int) -> None:
    device = SimulatedDevice(counters=False)
    problem = problem_of(stencil((-1, 1), 2, "float32"), ENDS[0], steps, 2, "float32")
    phi = cells_of(2, n, "float32")
    there: Any = device.to_device(phi)
    engine = GpuEngine(device, shape=SMALL)
    found: Any = engine.advance(problem, there, 0, steps, nothing)
    assert not isinstance(found, np.ndarray)
    assert np.array_equal(device.to_host(there), phi)
    expected = PlainEngine().advance(problem, phi, 0, 2 * steps, nothing)
    # What came back is an array of its own, and can be taken further.
    further = engine.advance(problem, found, steps, steps, nothing)
    assert np.array_equal(device.to_host(there), phi)
    assert np.array_equal(device.to_host(further), expected)


def test_values_of_edges_are_brought_in_parts(
    gpu: SimulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "_MOST_VALUES", 7)
    check(gpu, (-1, 1), ENDS[3], 300, steps=17, first=3)
    check(gpu, (-1, 1), ENDS[3], 40, systems=10, steps=3, first=3)


class Waits(SimulatedDevice):
    """Counts how often somebody waits for it."""

    waits = 0

    def synchronize(self) -> None:
        self.waits += 1
        super().synchronize()


def test_nobody_waits_for_each_launch() -> None:
    device = Waits(checks=False, counters=False)
    problem = problem_of(stencil((-1, 1), 1, "float32"), ENDS[0], 100, 1, "float32")
    told: list[float] = []
    phi = cells_of(1, 300, "float32")
    GpuEngine(device, shape=Shape(8, 1)).advance(problem, phi, 0, 70, told.append)
    assert len(device.launches) == 70
    assert device.waits <= 3
    assert told == [32, 32, 6]


def test_few_cells_take_many_steps_to_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "_MOST_STEPS", 10)
    device = SimulatedDevice(counters=False, checks=False)
    check(device, (-1, 1), ENDS[1], 40, steps=25, first=4)
    assert len(device.launches) == 3
    monkeypatch.setattr(passes, "_MOST_UPDATES", 100)
    monkeypatch.setattr(passes, "_FEWEST_STEPS", 6)
    check(device, (-1, 1), ENDS[1], 40, steps=25, first=4)
    assert len(device.launches) == 3 + 5


def test_what_progress_raises_stops_the_launches() -> None:
    device = SimulatedDevice(checks=False, counters=False)
    problem = problem_of(stencil((-1, 1), 1, "float32"), ENDS[0], 1000, 1, "float32")

    def stop(_steps: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        GpuEngine(device, shape=Shape(8, 1)).advance(
            problem, cells_of(1, 300, "float32"), 0, 1000, stop
        )
    assert len(device.launches) == 32
