"""`warpladder advect` as a person or a script would call it."""

from __future__ import annotations

import json

import numpy as np
import pytest

import warpladder as wl
from calling import call


def run(*arguments):
    return call("advect", *arguments)


def document(*arguments):
    result = run(*arguments, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout, parse_constant=pytest.fail)


def test_a_summary():
    result = run("--cells", 200, "--steps", 40, "--courant", 0.25)
    assert result.returncode == 0, result.stderr
    lines = dict(line.split(None, 1) for line in result.stdout.splitlines() if line[0] != " ")
    assert lines["cells"].strip() == "200 float64, gaussian"
    assert lines["scheme"].strip() == "lax-friedrichs, Courant number 0.25"
    assert lines["steps"].strip() == "40, to t = 0.05"
    assert lines["error"].startswith("L1 ")
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.parametrize("initial", ["gaussian", "square", "sine"])
@pytest.mark.parametrize("courant", [1, -1])
def test_a_shape_comes_back_after_one_length(initial, courant, tmp_path):
    path = tmp_path / "end.npy"
    facts = document("--initial", initial, "--cells", 50, "--until", 1, "--courant", courant,
                     "--boundary", "periodic", "-o", path)  # fmt: skip
    assert (facts["steps"], facts["courant"]) == (50, courant)
    assert facts["errors"]["linf"] < 1e-14
    assert facts["mass_change"] == pytest.approx(0, abs=1e-15)
    assert np.load(path).max() == pytest.approx(facts["most"])
    assert [one.name for one in tmp_path.iterdir()] == ["end.npy"]


def test_files_are_started_from(tmp_path):
    phi = np.array([0, 4, 2, 0, 1], "f4")
    expected = wl.advect(phi, courant=0.5, steps=2).phi
    np.save(tmp_path / "a.npy", phi)
    np.savez(tmp_path / "a.npz", phi=phi, other=[1])
    (tmp_path / "a.csv").write_text("x,height\n" + "".join(f"0,{v:g}\n" for v in phi))
    for name, options in (("a.npy", ()), ("a.npz", ()), ("a.csv", ("--column", "height"))):
        out = tmp_path / "out.npy"
        facts = document("--initial", tmp_path / name, "--steps", 2, *options, "-o", out)
        np.testing.assert_array_equal(np.load(out), expected)
        assert facts["type"] == ("float64" if name == "a.csv" else "float32")
        # By one cell: the exact solution is known.
        assert "errors" in facts
    # NumPy tells them apart by what is in them.
    (tmp_path / "a.npy").rename(tmp_path / "b.npz")
    assert document("--initial", tmp_path / "b.npz", "--steps", 2)["type"] == "float32"
    facts = document("--initial", tmp_path / "b.npz", "--steps", 1, "--dtype", "float64")
    assert facts["type"] == "float64"
    assert "errors" not in facts


@pytest.mark.parametrize("options", [(), ("--dtype", "float32")])
def test_files_without_cells(tmp_path, options):
    path = tmp_path / "none.npy"
    for array, told in (
        (np.zeros(0), "--initial: shape (0,) has no cells; give at least one"),
        (np.zeros((0, 3)), "--initial: shape (0, 3) has no cells"),
        (np.float64(3), "--initial: shape (); cells have one dimension"),
        (np.array(["a"]), "--initial: dtype <U1 is not taken"),
    ):
        np.save(path, array)
        result = run("--initial", path, "--steps", 5, *options)
        assert (result.returncode, result.stdout) == (1, "")
        assert told in result.stderr
        assert "Traceback" not in result.stderr
    header = tmp_path / "header.csv"
    header.write_text("height\n")
    result = run("--initial", header, "--steps", 5, *options)
    assert "--initial: shape (0,) has no cells" in result.stderr
    word = tmp_path / "word.txt"
    word.write_text("abc")
    result = run("--initial", word, "--steps", 5, *options)
    assert "expected numbers, found one line without any: 'abc'" in result.stderr


def test_snapshots_and_going_on(tmp_path):
    first, second = tmp_path / "first.npz", tmp_path / "second.npz"
    how = ("--initial", "square", "--cells", 60, "--scheme", "mc")
    facts = document(*how, "--steps", 20, "--save-every", 8, "-o", first)
    assert facts["snapshots"] == 4
    whole = document(*how, "--steps", 34, "-o", tmp_path / "whole.npy")
    facts = document("--resume", first, "--steps", 14, "-o", second)
    assert (facts["first_step"], facts["steps"]) == (20, 34)
    assert facts["errors"] == whole["errors"]
    np.testing.assert_array_equal(wl.Advection.load(second).phi, np.load(tmp_path / "whole.npy"))
    until = document("--resume", first, "--until", 25 * 0.5 / 60)
    assert until["steps"] == 25
    for time, told in (
        (1e300, "--until 1e+300: from t = 0.1666666667 that is 1.2e+302 steps of"),
        (0.1, "--until 0.1 is before t = 0.1666666667, where the file ends"),
        (0.17, "--until 0.17: from t = 0.1666666667 that is no whole number of steps"),
    ):
        refused = run("--resume", first, "--until", time)
        assert (refused.returncode, told in refused.stderr) == (1, True)


def test_systems_with_courant_numbers_of_their_own(tmp_path):
    path = tmp_path / "run.npz"
    wl.advect(np.ones((2, 5)), courant=[0.5, 0.25], steps=2, out=path)
    assert document("--resume", path, "--steps", 1)["courant"] == [0.5, 0.25]
    assert "Courant number 0.25 to 0.5" in run("--resume", path, "--steps", 1).stdout


def test_numbers_that_a_type_does_not_have(tmp_path):
    path = tmp_path / "cells.npy"
    np.save(path, [1e300, np.inf])
    refused = run("--initial", path, "--steps", 1, "--dtype", "float32")
    assert f"--dtype float32: {path} has numbers beyond 3.40282e+38" in refused.stderr
    np.save(path, [1e30, np.inf])
    assert document("--initial", path, "--steps", 1, "--dtype", "float32")["most"] == "inf"


def test_the_order_is_shown():
    how = ("--initial", "sine", "--cells", 64, "--until", 0.5, "--boundary", "periodic",
           "--courant", 0.8, "--scheme", "fromm", "--convergence", 3)  # fmt: skip
    facts = document(*how)
    assert [grid["cells"] for grid in facts["convergence"]] == [64, 128, 256]
    assert facts["orders"][-1]["l2"] == pytest.approx(2, abs=0.05)
    shown = run(*how).stdout
    assert shown.splitlines()[-1].split()[0::2] == [
        "256",
        *(f"{order:.2f}" for order in facts["orders"][-1].values()),
    ]


@pytest.mark.large
def test_many_grids_are_taken_where_they_are_little_work():
    facts = document("--initial", "sine", "--cells", 4, "--steps", 1, "--convergence", 13)
    assert facts["convergence"][-1]["cells"] == 4 << 12


def test_orders_that_are_no_numbers_are_text():
    """All errors are 0 where the solution moves by whole cells."""
    facts = document("--cells", 8, "--steps", 2, "--courant", 1, "--boundary", "periodic",
                     "--convergence", 2)  # fmt: skip
    assert facts["orders"] == [{"l1": "nan", "l2": "nan", "linf": "nan"}]


def test_what_is_read_is_not_written_over(tmp_path):
    start, snapshots = tmp_path / "a.npy", tmp_path / "a.npz"
    np.save(start, np.ones(5))
    assert run("--cells", 9, "--steps", 1, "-o", snapshots).returncode == 0
    picture = tmp_path / "a.png"
    picture.symlink_to(start)
    before = start.read_bytes(), snapshots.read_bytes()
    for arguments in (
        ("--initial", start, "-o", start),
        ("--initial", start, "--plot", picture),
        ("--resume", snapshots, "-o", snapshots),
    ):
        result = run(*arguments, "--steps", 1)
        assert result.returncode == 2
        assert "is a file that is read" in " ".join(result.stderr.replace("\u2502", " ").split())
    assert (start.read_bytes(), snapshots.read_bytes()) == before


def test_the_picture(tmp_path):
    result = run("--cells", 100, "--steps", 5, "--plot", tmp_path / "hill.svg")
    assert result.returncode == 0, result.stderr
    assert result.stderr == f"wrote {tmp_path / 'hill.svg'}\n"
    assert "<svg" in (tmp_path / "hill.svg").read_text()


def test_plan_does_nothing(tmp_path):
    path = tmp_path / "run.npz"
    how = ("--cells", 10**6, "--steps", 10**6, "--save-every", 1000, "-o", path, "--plan")
    assert document(*how)["plan"]["cell_steps"] == 10**12
    assert "1 T cell-steps" in run(*how).stdout
    assert not path.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give --steps, or --until"),
        (("--steps", 1, "--until", 1), "--steps and --until both say how far to go; give one of"),
        (("--steps", 0, "--until", 0), "--steps and --until both say how far to go; give one of"),
        (("--steps", -1), "--steps -1 must not be below 0"),
        (("--steps", 1, "--courant", 1.25), "--courant 1.25: lax-friedrichs is stable up to 1"),
        (("--steps", 1, "--courant", 0), "--courant 0 must be a number other than 0"),
        (("--steps", 10**30), "--steps: there are more than 9,007,199,254,740,992"),
        (("--until", 1e300), "--until 1e+300 is 2e+303 steps of"),
        (("--until", "inf"), "--until inf must be finite"),
        (("--until", 1, "--courant", 1e-320), "--until 1.0 is inf steps of"),
        (("--steps", 1, "--courant", 1e-322), "--courant 9.88131e-323 makes steps of no length"),
        (("--until", -1), "before the start, which is at 0; to the left the curve moves with a --"),
        (("--steps", 1, "--scheme", "euler"), "superbee, van-leer, mc \u2570"),
        (("--steps", 1, "--scheme", ""), "--scheme '' is not known"),
        (("--steps", 1, "--boundary", ""), "--boundary '' is not known"),
        (("--steps", 1, "--boundary", "inflow"), "'inflow' is not known; use one of neum"),
        (("--steps", 1, "--boundary", "outflow," * 2 + "outflow"), "outflow' has 3 parts; use one"),
        (("--steps", 1, "--boundary", "dirichlet:x"), "a number is needed behind the colon"),
        (("--steps", 1, "--initial", "no.csv"), "--initial 'no.csv' is neither a file nor one of"),
        (("--steps", 1, "--cells", 0), "--cells 0 must be at least 1"),
        (("--steps", 1, "--save-every", 1), "--save-every needs a file for snapshots"),
        (("--steps", 1, "-o", "a.txt"), "-o 'a.txt': its name must end in one of .npz, .zarr, "),
        (("--steps", 1, "-o", ""), "-o needs the name of a file"),
        (("--steps", 1, "--cells", 10**12), "--cells 1000000000000: the numbers of so many take"),
        (("--steps", 1, "--cells", 10**20 - 1), "--cells 99999999999999999999: the numbers of so"),
        (("--steps", 1, "--plot", "a.txt"), "its name must end in one of .png"),
        (("--steps", 1, "--dtype", "int8"), "--dtype 'int8' must be float32 or float64"),
        (("--steps", 1, "--method", "leap"), "--method 'leap' is not known"),
        (("--steps", 9, "--method", "jump"), "--method jump: at the left end"),
        (("--steps", 1, "--column", "a"), "--column is that of a file"),
        (("--steps", 1, "--initial", "a.npz", "--column", "a"), "--column is that of a table"),
        (("--steps", 1, "--initial", __file__, "--column", "7" * 5000), "7' is not there; found:"),
        (("--steps", 1, "--resume", "a.npz", "--cells", 3), "--cells has no meaning beside"),
        (("--steps", 1, "--resume", "a.npz"), "cannot read a.npz: No such file"),
        (("--until", 1, "--convergence", 1, "--cells", 9), "--convergence 1: an order is seen"),
        (("--steps", 5, "--convergence", 50), "--convergence 50: each takes four times the work"),
        (("--steps", 5, "--cells", 20, "--convergence", 50), "an hour; give at most 17, or fewer"),
    ],
)  # fmt: skip
def test_refusals(arguments, message):
    result = run(*arguments)
    assert result.returncode in {1, 2}
    assert result.stdout == ""
    told = " ".join(result.stderr.replace("\u2502", " ").split())
    assert message in told
    assert "Traceback" not in result.stderr
