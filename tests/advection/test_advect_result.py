"""What a run can be asked: exact solutions, errors, mass, pictures; snapshots, files, going on."""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import warpladder as wl
from choosing import large
from warpladder.advection.boundaries import as_boundary
from warpladder.advection.exact import whole_cells
from warpladder.advection.plain import PlainEngine
from warpladder.advection.refinement import as_grids
from warpladder.device import host_memory
from warpladder.device.host_memory import HostMemory
from warpladder.simulator import SimulatedDevice

pytestmark = pytest.mark.usefixtures("plain_engine")


def hill(x):
    return np.exp(-np.square((x - 0.4) / 0.1))


def cells(n, dtype="f8", seed=0):
    return np.random.default_rng(seed + n).standard_normal(n).astype(dtype)


def same(found, expected):
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


# ---- the exact solution ----------------------------------------------------------------------


@pytest.mark.parametrize("c", [0.5, -0.5])
@pytest.mark.parametrize(
    "boundary", ["periodic", "neumann", "outflow", ("dirichlet", 5), ("inflow", np.cos)],
    ids=lambda given: given if isinstance(given, str) else given[0],
)  # fmt: skip
def test_exact_is_what_courant_number_1_computes(boundary, c):
    """Of a run with half of it: the same time is reached by half of the steps, without error."""
    phi = cells(30)
    how = {"dx": 0.1, "scheme": "upwind", "boundary": boundary}
    for steps in (0, 2, 20, 80):
        run = wl.advect(phi, courant=c, dt=0.01, steps=steps, **how)
        exact = wl.advect(phi, courant=2 * c, dt=0.02, steps=steps // 2, **how).phi
        np.testing.assert_allclose(run.exact(phi), exact, rtol=0, atol=1e-14)


@pytest.mark.parametrize("boundary", ["periodic", "neumann"])
@pytest.mark.parametrize("velocity", [1, -1])
def test_exact_of_a_function_that_jumps_is_that_of_its_cells(velocity, boundary):
    """After 0.9 * 60, which rounding makes 54.00000000000001, and the like."""
    x = np.arange(50) / 50
    for steps in range(10, 100, 10):
        run = wl.advect(x, velocity=velocity, dx=1 / 50, dt=0.9 / 50, steps=steps, scheme="upwind",
                        boundary=boundary)  # fmt: skip
        for edge in x:
            jump = (x >= edge) * 1.0
            same(run.exact(lambda x, edge=edge: (x >= edge) * 1.0), run.exact(jump))
    # But what it knows of a small part of a cell is not thrown away.
    run = wl.advect(x, courant=1 - 1e-10, steps=3, boundary="periodic")
    assert run.exact(lambda x: x)[10] == pytest.approx(7 + 3e-10, abs=1e-14)


@pytest.mark.parametrize("c", [1e15, -1e30, 1e300])
def test_exact_after_more_cells_than_an_array_counts(c):
    phi, how = np.arange(7.0), {"courant": c, "steps": 3000, "allow_unstable": True}
    ring = wl.advect(phi, boundary="periodic", **how).exact(phi)
    assert ring.tolist() == [(i - 3000 * int(c)) % 7 for i in range(7)]
    same(wl.advect(phi, **how).exact(phi), np.full(7, 0.0 if c > 0 else 6.0))


def test_exact_of_a_function_is_known_anywhere():
    n = 200
    for c in (0.35, -0.35):
        x = np.arange(n) / n
        run = wl.advect(hill(x), velocity=np.sign(c), dx=1 / n, dt=0.35 / n, steps=33,
                        boundary="periodic")  # fmt: skip
        expected = hill((x - np.sign(c) * 33 * 0.35 / n) % 1)
        np.testing.assert_allclose(run.exact(hill), expected, rtol=0, atol=1e-14)
        with pytest.raises(wl.InputError, match=r"has moved by -?11\.55 cells, and what lies"):
            run.exact(hill(x))


@pytest.mark.parametrize("steps", [10**6 + 1, 10**9 + 1, 2**53 - 1])
def test_half_a_cell_is_told_from_a_whole_one_after_any_steps(steps):
    phi = np.arange(8.0)
    how = {
        "scheme": {-1: 1, 0: 0},
        "method": "jump",
        "boundary": "periodic",
        "allow_unstable": True,
    }
    run = wl.advect(phi, courant=0.5, steps=steps, **how)
    with pytest.raises(wl.InputError, match="initial: the solution has moved by"):
        run.exact(phi)
    same(wl.advect(phi, courant=0.5, steps=steps - 1, **how).exact(phi),
         np.roll(phi, (steps - 1) // 2 % 8))  # fmt: skip
    same(wl.advect(phi, courant=-1, steps=steps, **how).exact(phi), np.roll(phi, -steps % 8))
    # A third of so many steps is whole but for the third's rounding, as long as that is small.
    thirds = wl.advect(phi, courant=1 / 3, steps=3 * (steps // 3), **how)
    if steps < 10**12:
        same(thirds.exact(phi), np.roll(phi, steps // 3 % 8))
    else:
        with pytest.raises(wl.InputError, match="has moved by"):
            thirds.exact(phi)


def test_what_is_left_over_of_a_cell_is_told_from_rounding():
    assert whole_cells(0.95, 109951162777601) is None
    # What a Courant number is off by in floats, times as many steps.
    assert whole_cells(0.1, 10**12) == 10**11
    assert whole_cells(-0.1, 10**12) == -(10**11)
    assert whole_cells(0.1, 10**12 + 1) is None
    assert whole_cells(0.5, 10**15) == 5 * 10**14


@pytest.mark.parametrize("boundary", ["periodic", "neumann"])
@pytest.mark.parametrize(
    "initial",
    [
        lambda _: None, lambda x: x[:2], lambda _: "a", lambda _: [[1], [2, 3]],
        lambda x: np.ma.masked_less(x, 5),
    ],
)  # fmt: skip
def test_a_start_that_is_no_function_of_x(initial, boundary):
    run = wl.advect(cells(20), courant=0.5, steps=3, boundary=boundary)
    for ask in (run.exact, run.errors, run.mass_balance):
        with pytest.raises(wl.InputTypeError, match="initial: of an array of 20 x it returned"):
            ask(initial)
    assert run.exact(lambda _: 2).tolist() == [2] * 20
    with pytest.raises(wl.InputTypeError, match="initial: some cells are masked; fill them"):
        run.mass_balance(np.ma.masked_less(cells(20), 0))


def test_errors_are_norms_with_dx():
    phi = np.array([0.0, 4, 0, 0])
    run = wl.advect(phi, courant=0.5, dx=0.25, steps=2, scheme="upwind", boundary="periodic")
    # It has 1, 2, 1 where 4 ought to be in one cell.
    assert run.phi.tolist() == [0, 1, 2, 1]
    assert run.errors(phi) == (0.25 * 4, np.sqrt(0.25 * 6), 2)
    both = wl.advect(np.stack((phi, phi)), courant=[0.5, 1], dx=0.25, steps=2, scheme="upwind",
                     boundary="periodic")  # fmt: skip
    np.testing.assert_array_equal(both.errors([phi, phi]).l1, [1, 0])


def test_the_start_is_the_first_snapshot_or_asked_for():
    phi = cells(20)
    how = {"courant": 0.5, "steps": 4, "boundary": "periodic"}
    run = wl.advect(phi, **how)
    for ask in (run.exact, run.errors, run.mass_balance):
        with pytest.raises(wl.InputError, match="initial=None: the start was not kept; give it"):
            ask()
    kept = wl.advect(phi, save_every=4, **how)
    same(kept.exact(), run.exact(phi))
    # Gone on, the first snapshot is not the start.
    with pytest.raises(wl.InputError, match="initial=None"):
        kept.resume(2, save_every=1).exact()
    with pytest.raises(wl.InputError, match="initial: 1 systems of 3 cells, where the run has 1"):
        run.exact([1, 2, 3])


def test_mass_and_variation():
    run = wl.advect(np.array([0.0, 1, 3, 0]), courant=1, dx=0.5, steps=1, scheme="upwind")
    assert run.phi.tolist() == [0, 0, 1, 3]
    assert (run.mass, run.total_variation) == (2, 3)
    assert run.mass_balance([0, 1, 3, 0]) == (2, 2, 0)
    ring = wl.advect(np.array([0.0, 1, 3, 0]), courant=1, steps=1, scheme="upwind",
                     boundary="periodic")  # fmt: skip
    assert ring.total_variation == 6
    pair = wl.advect(np.array([[0.0, 1], [2, 2]]), courant=0.5, steps=0)
    assert pair.mass.tolist() == [1, 4]
    assert pair.mass_balance(np.ones_like).change.tolist() == [-1, 2]


def test_what_has_grown_without_bound_is_told_without_a_warning():
    phi = cells(20)
    run = wl.advect(phi, courant=8, steps=2000, boundary="periodic", allow_unstable=True)
    assert not np.isfinite(run.phi).any()
    assert not np.isfinite([*run.errors(phi), run.mass, run.total_variation]).any()
    assert not np.isfinite(run.mass_balance(phi).change)


def test_errors_whose_squares_vanish():
    run = wl.advect([1e-200, 1e-200], courant=0.5, steps=1)
    with np.errstate(all="raise"):
        assert run.errors(np.zeros_like) == (2e-200, 0, 1e-200)


@pytest.mark.parametrize(
    ("initial", "grids", "told"),
    [
        ([1, 2], 3, "initial: finer grids need a function of x"),
        (hill, 1, "grids=1: an order is seen from one grid to the next"),
        (hill, "2", "grids='2' must be a whole number"),
        (hill, 50, "grids=50: each takes four times the work of the one before, the last more"),
        (hill, 19, "give at most 18"),
        (lambda x: x[:2], 2, "initial: of an array of 20 x it returned float64 of shape (2,)"),
    ],
)
def test_convergence_refuses(initial, grids, told):
    run = wl.advect(hill(np.arange(20) / 20), courant=0.5, steps=3)
    with pytest.raises((wl.InputError, wl.InputTypeError), match=re.escape(told)):
        run.convergence(initial, grids)


@pytest.mark.parametrize(
    ("cells_and_steps", "method", "most"),
    [((20, 40), "steps", 16), ((2**20, 2**18), "steps", 2), ((20, 10**9), "jump", 36)],
)
def test_grids_are_as_many_as_take_an_hour(cells_and_steps, method, most):
    assert as_grids(most, *cells_and_steps, method) == most
    with pytest.raises(wl.InputError, match=f"hour; give at most {most}, or fewer cells or steps"):
        as_grids(most + 1, *cells_and_steps, method)
    with pytest.raises(wl.InputError, match="more than an hour; give fewer cells or steps"):
        as_grids(2, 2**20, 2**19, "steps")


def test_convergence_refuses_what_memory_does_not_hold(monkeypatch):
    run = wl.advect(hill(np.arange(1000) / 1000), courant=0.5, steps=3)
    monkeypatch.setattr(host_memory, "_NOT_WORTH_ASKING", 0)
    monkeypatch.setattr(host_memory, "host_memory", lambda: HostMemory(1 << 20, 1 << 20, "a test"))
    with pytest.raises(wl.TooLargeError, match="grids: the cells of the finest take"):
        run.convergence(hill, 12)


def test_going_on_refuses_what_memory_does_not_hold(monkeypatch):
    run = wl.advect(np.ones(1000), courant=0.5, steps=3)
    monkeypatch.setattr(host_memory, "_NOT_WORTH_ASKING", 0)
    monkeypatch.setattr(host_memory, "host_memory", lambda: HostMemory(15_999, 1 << 20, "a test"))
    with pytest.raises(wl.TooLargeError, match="phi: the cells that come of it take"):
        run.resume(3)


def test_what_it_says_of_itself():
    run = wl.advect(np.ones((2, 1000), "f4"), courant=[0.5, -0.25], steps=2000)
    assert repr(run) == (
        "Advection(2,000 steps of 2 systems of 1,000 cells, lax-friedrichs, c = -0.25 to 0.5, "
        "neumann, float32)"
    )


# ---- snapshots, files, going on ----------------------------------------------------------------


def test_snapshots_are_what_shorter_runs_end_with():
    phi = np.stack((cells(20, "f4"), cells(20, "f4", seed=1)))
    how = {"courant": 0.5, "dt": 0.1, "scheme": "superbee"}
    run = wl.advect(phi, steps=10, save_every=4, **how)
    assert run.saved.tolist() == [0, 4, 8, 10]
    np.testing.assert_allclose(run.times, [0, 0.4, 0.8, 1])
    for step, found in zip(run.saved.tolist(), run.snapshots, strict=True):
        same(found, wl.advect(phi, steps=step, **how).phi)
    assert wl.advect(phi, steps=10, **how).snapshots is None


FORMATS = ["npz", pytest.param("zarr")]


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("shape", [(33,), (2, 33)])
def test_a_run_goes_on_from_a_file(tmp_path, suffix, shape):
    if suffix == "zarr":
        pytest.importorskip("zarr")
    phi = np.random.default_rng(0).standard_normal(shape).astype("f4")
    how = {"courant": -0.3, "dt": 0.7, "scheme": "fromm", "boundary": (("dirichlet", 1), "neumann")}
    path = tmp_path / f"run.{suffix}"
    whole = wl.advect(phi, steps=20, save_every=3, **how)
    written = wl.advect(phi, steps=11, save_every=3, out=path, **how)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    same(np.asarray(written.snapshots[:4]), whole.snapshots[:4])
    same(written.phi, wl.advect(phi, steps=11, **how).phi)
    loaded = wl.Advection.load(path)
    assert loaded.saved.tolist() == [0, 3, 6, 9, 11]
    same(loaded.phi, written.phi)
    same(loaded.resume(9).phi, whole.phi)
    same(loaded.exact(hill), written.exact(hill))
    again = loaded.resume(9, save_every=1, out=tmp_path / f"more.{suffix}")
    assert (again.steps, again.saved[0]) == (20, 11)
    same(wl.Advection.load(tmp_path / f"more.{suffix}").resume(0).phi, whole.phi)
    with pytest.raises(wl.InputError, match="is the file that this run goes on from"):
        loaded.resume(1, out=path)
    # Over what is there already.
    wl.advect(phi, steps=2, out=path, **how)
    assert wl.Advection.load(path).saved.tolist() == [0, 2]


def test_boundaries_that_follow_the_velocity_are_no_others():
    """Both have an inflow on the left and an outflow on the right, where it is not negative."""
    follows = as_boundary(("inflow", np.cos), 1)
    stays = as_boundary((("inflow", np.cos), "outflow"), 1)
    assert follows.is_like(as_boundary(("inflow", np.sin), 1))
    assert not follows.is_like(stays)
    assert not stays.is_like(follows)


def test_a_file_goes_on_with_its_own_boundary_only(tmp_path):
    path = tmp_path / "run.npz"
    wl.advect(cells(8), courant=0.5, steps=3, boundary="periodic", out=path)
    wl.Advection.load(path, boundary="periodic")
    for other in ("neumann", ("inflow", np.cos), ("dirichlet", 0)):
        with pytest.raises(
            wl.InputError, match=r"^boundary=.* is not that of .*is periodic; leave"
        ):
            wl.Advection.load(path, boundary=other)
    ends = (("inflow", np.cos), ("dirichlet", 1))
    wl.advect(cells(8), courant=0.5, steps=3, boundary=ends, out=path)
    wl.Advection.load(path, boundary=(("inflow", np.sin), ("dirichlet", 1)))
    for other in ("neumann", ("inflow", np.cos), (("inflow", np.cos), ("dirichlet", 2))):
        with pytest.raises(wl.InputError, match="which is inflow on the left, dirichlet on the"):
            wl.Advection.load(path, boundary=other)


def test_what_becomes_of_its_courant_numbers_is_nothing_to_a_run():
    run = wl.advect(cells(20).reshape(2, 10), courant=[0.5, 0.25], steps=1)
    run.courant[:] = 2
    np.testing.assert_array_equal(run.courant, [0.5, 0.25])


def test_steps_are_counted_from_the_start():
    run = wl.advect(cells(8), courant=1, steps=2**53, scheme="upwind", method="jump",
                    boundary="periodic")  # fmt: skip
    same(run.resume(0).phi, cells(8))
    with pytest.raises(wl.InputError, match="steps: there are more than"):
        run.resume(1)


def test_any_program_reads_the_file(tmp_path):
    path = tmp_path / "run.npz"
    run = wl.advect(cells(8), courant=0.5, dt=0.1, dx=2, steps=3, save_every=2, out=path)
    with np.load(path) as arrays:
        assert sorted(arrays.files) == ["about", "snapshots", "steps", "times", "x"]
        same(arrays["snapshots"][-1], run.phi)
        assert arrays["x"].tolist() == [2 * i for i in range(8)]
        assert json.loads(str(arrays["about"]))["courant"] == [0.5]


def test_own_weights_and_inflows_go_on_from_a_file(tmp_path):
    path = tmp_path / "run.npz"
    boundary = ("inflow", lambda t: t)
    how = {"courant": 0.3, "dt": 0.1, "boundary": boundary,
           "scheme": {-1: lambda c: c, 0: lambda c: 1 - c}}  # fmt: skip
    wl.advect(cells(9), steps=5, out=path, **how)
    with pytest.raises(
        wl.InputError, match=r"boundary=None: .* is of a run with a function of time"
    ):
        wl.Advection.load(path)
    going_on = wl.Advection.load(path, boundary=boundary).resume(6)
    same(going_on.phi, wl.advect(cells(9), steps=11, **how).phi)


class StopAfter(PlainEngine):
    """An engine that fails, as a full disk or Ctrl-C would make a run fail, after so many calls."""

    def __init__(self, calls):
        self.calls = calls

    def advance(self, *args):
        self.calls -= 1
        if self.calls < 0:
            raise KeyboardInterrupt
        return super().advance(*args)


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_file_is_whole_or_as_it_was(tmp_path, monkeypatch, suffix):
    from warpladder.advection import prepared

    if suffix == "zarr":
        pytest.importorskip("zarr")
    path = tmp_path / f"run.{suffix}"
    wl.advect(np.ones(5), courant=0.5, steps=3, out=path)
    monkeypatch.setattr(prepared, "_cpu_engine", lambda: (StopAfter(2), "stops"))
    for target in (path, tmp_path / f"new.{suffix}"):
        with pytest.raises(KeyboardInterrupt):
            wl.advect(np.ones(5), courant=0.5, steps=9, save_every=2, out=target)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert wl.Advection.load(path).steps == 3


@pytest.mark.parametrize("kind", ["text", "cut", "other", "packed"])
def test_files_that_are_no_run_of_ours(tmp_path, kind):
    path = tmp_path / "run.npz"
    wl.advect(np.ones(50), courant=0.5, steps=3, out=path)
    whole = path.read_bytes()
    if kind == "text":
        path.write_text("not a zip")
    elif kind == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif kind == "other":
        np.savez(path, snapshots=np.ones((2, 3)))
    else:
        with np.load(path) as arrays:
            np.savez_compressed(path, **dict(arrays))
        same(wl.Advection.load(path).phi, np.ones(50))
        with zipfile.ZipFile(path) as archive:
            assert archive.getinfo("snapshots.npy").compress_type != zipfile.ZIP_STORED
        return
    with pytest.raises(wl.FileFormatError, match="expected snapshots that warpladder"):
        wl.Advection.load(path)


@pytest.mark.parametrize(
    ("name", "anew", "found"),
    [
        ("steps", lambda steps: steps[:1], "arrays that do not fit each other"),
        ("snapshots", lambda shots: shots[:, :3], "arrays that do not fit each other"),
        ("snapshots", lambda shots: shots[..., None, None] * np.ones(5), "arrays that do not fit"),
        ("steps", lambda steps: steps - 1, "steps that do not ascend from 0 or later"),
        ("steps", lambda steps: steps[::-1], "steps that do not ascend from 0 or later"),
        ("steps", lambda steps: steps * 0.5, "steps that do not ascend from 0 or later"),
        ("snapshots", lambda shots: shots.astype("i4"), "snapshots of int32"),
        ("snapshots", lambda shots: shots.astype("f2"), "snapshots of float16"),
        ("format", lambda _: 2, "format 2 of them"),
        ("method", lambda _: "leap", "something else"),
        ("dt", lambda _: 0.0, "something else"),
        ("dx", lambda _: float("nan"), "something else"),
        ("velocity", lambda _: [float("inf")], "something else"),
        ("courant", lambda _: [0.5, 0.5], "something else"),
        ("boundary", lambda known: known | {"left": {"kind": "wall"}}, "something else"),
        ("boundary", lambda known: known | {"left": {"kind": "periodic"}}, "something else"),
    ],
)
def test_files_that_others_have_changed(tmp_path, name, anew, found):
    path = tmp_path / "run.npz"
    wl.advect(np.ones(5), courant=0.5, steps=3, out=path)
    with np.load(path) as arrays:
        parts = dict(arrays)
    if name in parts:
        parts[name] = anew(parts[name])
    else:
        about = json.loads(str(parts["about"]))
        parts["about"] = np.array(json.dumps(about | {name: anew(about[name])}))
    np.savez(path, **parts)
    with pytest.raises(wl.FileFormatError, match=f"has written, found {found}"):
        wl.Advection.load(path)


def test_parts_of_a_zarr_group_that_are_damaged_or_lost(tmp_path):
    pytest.importorskip("zarr")
    path = tmp_path / "run.zarr"
    wl.advect(np.zeros(5), courant=0.5, steps=3, out=path)
    (chunk,) = (one for one in path.glob("snapshots/c/1/*") if one.is_file())
    chunk.write_bytes(b"no chunk")
    with pytest.raises(wl.FileFormatError, match="something else, or a damaged file"):
        wl.Advection.load(path)
    chunk.unlink()
    assert np.isnan(wl.Advection.load(path).phi).all()


def test_snapshots_in_the_order_of_fortran(tmp_path):
    path = tmp_path / "run.npz"
    run = wl.advect(cells(5), courant=0.5, steps=3, out=path)
    expected = run.resume(2).phi
    with np.load(path) as arrays:
        parts = dict(arrays)
    np.savez(path, **parts | {"snapshots": np.asfortranarray(parts["snapshots"])})
    same(np.asarray(wl.Advection.load(path).snapshots), parts["snapshots"])
    same(wl.Advection.load(path).resume(2).phi, expected)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(wl.InputError, match=r"cannot read .*: No such file"):
        wl.Advection.load(tmp_path / "none.npz")


def test_snapshots_are_found_wherever_the_process_goes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = wl.advect(np.ones(4), courant=0.5, steps=1, out="run.npz")
    loaded, lost = wl.Advection.load("run.npz"), wl.Advection.load("run.npz")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir("below")
    same(run.snapshots, loaded.snapshots)
    (tmp_path / "run.npz").unlink()
    with pytest.raises(wl.InputError, match=r"cannot read .*run\.npz: No such file"):
        _ = lost.snapshots


@pytest.mark.parametrize("count", large(400))
def test_what_is_written_is_not_kept_in_memory(tmp_path, count):
    import tracemalloc

    phi = np.ones(1 << 18)
    # Modules and compiled code are loaded once.
    wl.advect(phi, courant=0.5, steps=2, save_every=1, out=tmp_path / "run.npz")
    tracemalloc.start()
    wl.advect(phi, courant=0.5, steps=count, save_every=1, out=tmp_path / "run.npz")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 8 * phi.nbytes
    assert (tmp_path / "run.npz").stat().st_size > count * phi.nbytes


# ---- pictures and tables -----------------------------------------------------------------------


def test_plot(tmp_path):
    n = 100
    start = hill(np.arange(n) / n)
    run = wl.advect(start, velocity=1, dx=1 / n, courant=0.3, steps=7, save_every=7)

    def curves(figure):
        return {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}

    # It has moved by 2.1 cells: only a function knows the exact one.
    assert [*curves(run.plot())] == ["initial", "computed"]
    shown = curves(run.plot(hill, path=tmp_path / "run.png"))
    assert [*shown] == ["initial", "exact", "computed"]
    same(shown["computed"], run.phi)
    np.testing.assert_allclose(shown["exact"], run.exact(hill))
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    assert [*curves(wl.advect(start, courant=0.3, steps=7).plot())] == ["computed"]
    # A start that a run goes on from is not the first.
    assert [*curves(run.resume(3, save_every=2).plot())] == ["computed"]
    both = wl.advect(np.stack((start, start)), courant=[1, 0.3], steps=7, save_every=7)
    assert [*curves(both.plot(system=0))] == ["initial", "exact", "computed"]
    assert [*curves(both.plot(system=1))] == ["initial", "computed"]
    with pytest.raises(wl.InputError, match="its name must end in"):
        run.plot(path=tmp_path / "run.jpeg2000")
    with pytest.raises(wl.InputTypeError, match="path=5 must be the path of a file"):
        run.plot(path=5)


@pytest.mark.parametrize(("low", "high"), [(12_345, 54_321), (100_000, 100_001)])
def test_many_cells_are_drawn_by_their_extremes(low, high):
    phi = np.zeros(100_002)
    phi[low], phi[high] = -1, 1
    (line,) = wl.advect(phi, courant=0.5, steps=0).plot().axes[0].lines
    assert len(line.get_xdata()) < 10_000
    assert (line.get_ydata().min(), line.get_ydata().max()) == (-1, 1)
    assert np.all(np.diff(line.get_xdata()) >= 0)


def test_animate(tmp_path):
    run = wl.advect(cells(20), courant=0.5, steps=3, save_every=1)
    assert run.animate(path=tmp_path / "run.gif") is None
    assert (tmp_path / "run.gif").read_bytes().startswith(b"GIF")
    with pytest.raises(wl.InputTypeError, match="path=5 must be the path of a file"):
        run.animate(path=5)
    with pytest.raises(wl.InputError, match="animate: there are no snapshots"):
        wl.advect(cells(20), courant=0.5, steps=3).animate()


@pytest.mark.parametrize(
    ("phi", "limits"),
    [([2, np.nan, 4, 3], (1.9, 4.1)), ([2, 4, np.inf, 3], (1.9, 4.1)), ([np.nan], (-0.5, 0.5))],
)
def test_an_animation_shows_what_is_finite(phi, limits, tmp_path):
    pytest.importorskip("matplotlib")
    run = wl.advect(phi, courant=1, steps=1, save_every=1, boundary="periodic")
    found = run.animate()
    found.save(tmp_path / "run.gif", writer="pillow")
    assert found._fig.axes[0].get_ylim() == pytest.approx(limits)


@pytest.mark.parametrize("system", [1, -2, "0", 0.0, True])
def test_systems_that_are_not_there(system):
    run = wl.advect(cells(20), courant=0.5, steps=3, save_every=1)
    for draw in (run.plot, run.animate):
        with pytest.raises((wl.InputError, wl.InputTypeError), match=f"system={system!r} "):
            draw(system=system)
    pair = wl.advect(np.stack((cells(20), cells(20) + 1)), courant=0.5, steps=0)
    assert "system 1" in pair.plot(system=-1).axes[0].get_title()
    with pytest.raises(wl.InputTypeError, match="path=5 must be the path of a file"):
        wl.Advection.load(5)


@pytest.mark.parametrize(
    ("old", "fault"),
    [
        *((None, OSError("full")), (b"old", ValueError("kind")), (b"old", KeyboardInterrupt())),
        *large((b"old", OSError("full")), (None, KeyboardInterrupt())),
    ],
)
def test_of_an_animation_that_fails_nothing_is_left(tmp_path, monkeypatch, fault, old):
    writers = pytest.importorskip("matplotlib.animation")

    def fails(writer):
        # At the end: Pillow's writer has all frames by then.
        Path(writer.outfile).write_bytes(b"half")
        raise fault

    monkeypatch.setattr(writers.PillowWriter, "finish", fails)
    path = tmp_path / "run.gif"
    if old is not None:
        path.write_bytes(old)
    run = wl.advect(cells(20), courant=0.5, steps=1, save_every=1)
    told = wl.InputError if isinstance(fault, Exception) else KeyboardInterrupt
    with pytest.raises(told) as found:
        run.animate(path=path)
    assert told is KeyboardInterrupt or f"cannot write {path}: {fault};" in str(found.value)
    assert [one.read_bytes() for one in tmp_path.iterdir()] == ([] if old is None else [old])


@pytest.mark.parametrize("shape", [(5,), (2, 5)])
def test_to_xarray(shape):
    pytest.importorskip("xarray")
    run = wl.advect(np.ones(shape), velocity=2, dx=0.5, dt=0.1, steps=4, save_every=2)
    found = run.to_xarray()
    assert found.phi.dims == (("time", "x") if len(shape) == 1 else ("time", "system", "x"))
    same(found.phi.values, run.snapshots)
    np.testing.assert_allclose(found.time, [0, 0.2, 0.4])
    np.testing.assert_allclose(found.x, np.arange(5) * 0.5)
    assert found.attrs["scheme"] == "lax-friedrichs"
    assert wl.advect(np.ones(shape), courant=0.5, steps=4).to_xarray().phi.shape == (1, *shape)


@pytest.mark.parametrize(
    ("module", "extra", "ask"),
    [
        ("matplotlib.figure", "plot", lambda run: run.plot()),
        ("xarray", "fields", lambda run: run.to_xarray()),
        ("zarr", "fields", lambda run: run.resume(1, out="run.zarr")),
    ],
)
def test_missing_extras_are_named(monkeypatch, module, extra, ask):
    run = wl.advect(np.ones(5), courant=0.5, steps=1)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(wl.MissingExtraError, match=re.escape(f"pip install 'warpladder[{extra}]'")):
        ask(run)


# ---- arrays of a device -------------------------------------------------------------------------


class Hosted:
    """An engine of a device that computes on the host: what is around one, without its kernels."""

    def __init__(self, device):
        self.device = device

    def advance(self, problem, phi, first, steps, advanced):
        host = self.device.to_host(phi)
        assert host.flags.c_contiguous
        return self.device.to_device(PlainEngine().advance(problem, host, first, steps, advanced))


@pytest.fixture
def device(monkeypatch):
    from warpladder.advection.gpu import engine

    monkeypatch.setattr(engine, "GpuEngine", Hosted)
    return SimulatedDevice(checks=False, counters=False)


@pytest.mark.parametrize("courant", [0.5, [0.5, 0.25, -0.5, 0.75]])
def test_arrays_on_a_device_stay_there(device, courant, tmp_path):
    phi = np.stack([cells(20, seed=seed) for seed in range(4)])
    how = {"courant": courant, "steps": 9, "scheme": "upwind", "save_every": 4}
    expected = wl.advect(phi, **how)
    there = device.to_device(phi)
    run = wl.advect(there, device=device, **how)
    assert type(run.phi) is type(run.snapshots) is type(there)
    same(device.to_host(run.phi), expected.phi)
    same(device.to_host(run.snapshots), expected.snapshots)
    same(run.exact(hill), expected.exact(hill))
    same(run.mass, expected.mass)
    same(device.to_host(run.resume(3).phi), expected.resume(3).phi)
    # Cells of the host go there and come back.
    same(wl.advect(phi, device=device, **how).phi, expected.phi)
    same(wl.advect(phi, device=device, **how).snapshots, expected.snapshots)
    wl.advect(there, device=device, out=tmp_path / "run.npz", **how)
    same(wl.Advection.load(tmp_path / "run.npz").phi, expected.phi)
    one = wl.advect(device.to_device(phi[0]), courant=0.5, steps=0, device=device).phi
    assert one.shape == (20,)


def test_the_engine_of_devices_is_the_one_that_runs():
    device = SimulatedDevice(checks=False, counters=False)
    phi = np.stack((cells(40, "f4"), cells(40, "f4", seed=1)))
    how = {"courant": [0.5, -0.25], "steps": 3, "boundary": ("inflow", np.cos)}
    run = wl.advect(device.to_device(phi), device=device, **how)
    same(device.to_host(run.phi), wl.advect(phi, **how).phi)
    assert run.why == device.properties.name


def test_what_is_refused_of_arrays_on_a_device(device):
    for phi, told in (
        (device.to_device(np.ones(5, "i4")), "phi: dtype int32 is not taken on a GPU"),
        (device.to_device(np.ones((5, 2))).T, "phi: on a GPU the cells must lie side by side"),
    ):
        with pytest.raises((wl.InputError, wl.InputTypeError), match=re.escape(told)):
            wl.advect(phi, courant=0.5, steps=1, device=device)
    there = device.to_device(np.ones(5))
    for how in ({"method": "jump"}, {"device": "cpu"}):
        with pytest.raises(wl.InputError, match="copy it to the host"):
            wl.advect(there, **{"courant": 0.5, "steps": 1, "device": device} | how)
    with pytest.raises(wl.InputError, match="it runs on the CPU"):
        wl.advect(np.ones(5), courant=0.5, steps=1, method="jump", device=device)
