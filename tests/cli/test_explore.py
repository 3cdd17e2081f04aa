"""`warpladder explore`: the list, every exploration at small sizes, pictures, errors, Ctrl-C."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from calling import INTERRUPTION, call
from choosing import only
from warpladder.cli.app import app
from warpladder.device import cuda_device
from warpladder.errors import DeviceError, InputError
from warpladder.lab.explore import measure
from warpladder.lab.explore.advection import precision
from warpladder.lab.explore.reduction import block_size
from warpladder.lab.explore.registry import EXPLORATIONS, explorations
from warpladder.lab.explore.shortest_paths import barrier, cycles, order

# Within a moment each, and with something to tell.
SMALL = {
    "subproblems": "1,3",
    "order": "2,3",
    "barrier": "4",
    "pitch": "5,8",
    "columns": "5,8",
    "versions": "4",
    "next-hops": "4",
    "multiples": "8",
    "crossover": "4,8",
    "growth": "4,8,16",
    "cycles": "3,5,8",
    "scaling": "8,20",
    "block-size": "40",
    "blocks": "17",
    "updates": "2",
    "concurrency": "64",
    "diffusion": "20",
    "schemes": "20",
    "precision": "8",
    "halo": "300",
}


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(measure, "_ROUNDS", 2)
    monkeypatch.setattr(measure, "_SECONDS_EACH", 0.0)
    monkeypatch.setattr(order, "_KERNEL_ORDERS", 1)
    monkeypatch.setattr(barrier, "SCHEDULES", ("lockstep", "warps-random"))
    monkeypatch.setattr(precision, "_STEPS", (10, 100))
    monkeypatch.setattr(cycles, "_RUNS", 2)
    monkeypatch.setattr(block_size, "_THREADS", (32, 1024))
    monkeypatch.setattr(block_size, "_COUNTED", ("sequential-shared", "grid-stride"))


def invoke(*arguments):
    command = ["explore", *map(str, arguments)]
    result = CliRunner().invoke(app, command, env={"COLUMNS": "80"})
    assert max(map(len, result.stdout.splitlines()), default=0) <= 80 or "--json" in arguments
    return result


def document(*arguments):
    result = invoke(*arguments, "--json")
    assert result.exit_code == 0, result.exception
    return json.loads(result.stdout)


def start(*arguments, code):
    """Run the command as a process of its own, after some code."""
    script = f"{code}\nfrom warpladder.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", script, "explore", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "80"},
        check=False,
    )


def test_alone_it_lists_them_one_line_each():
    lines = invoke().stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["exploration", *EXPLORATIONS]
    assert [line.split(maxsplit=1)[1].strip() for line in lines[1:]] == [
        one.question for one in explorations()
    ]
    found = document()["explorations"]
    assert [one["exploration"] for one in found] == list(EXPLORATIONS)


def test_every_exploration_is_tried_here():
    assert set(SMALL) == set(EXPLORATIONS)


#: One or two of each computation; what others find is tested without the command.
BY_DEFAULT = {"order", "barrier", "block-size", "updates", "schemes"}


@pytest.mark.parametrize("name", only(BY_DEFAULT.__contains__, list(EXPLORATIONS)))
def test_an_exploration_as_text_and_picture(name, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "picture.png"
    result = invoke(name, "--sizes", SMALL[name], "--device", "cpu", "--plot", picture)
    assert result.exit_code == 0, result.exception
    assert result.stderr == f"wrote {picture}\n"
    assert result.stdout.startswith(f"{name}: ")
    assert picture.read_bytes().startswith(b"\x89PNG")
    if name == "order":  # what stands in brackets is not taken for markup
        assert "all steps, D[k,k] >= 0" in result.stdout


@pytest.mark.parametrize("name", ["pitch", "crossover"])
def test_an_exploration_as_json(name):
    found = document(name, "--sizes", SMALL[name], "--device", "cpu")
    assert (found["exploration"], found["machine"]["gpu"]) == (name, None)
    sizes = [int(part) for part in SMALL[name].split(",")]
    assert [row["n"] for row in found["tables"][0]["rows"]] == sizes
    assert any("left out, as asked" in remark for remark in found["remarks"])
    assert found["answer"]


def test_sizes_are_sorted_and_each_is_taken_once():
    found = document("columns", "--sizes", "8, 2,8", "--device", "cpu")
    assert [row["n"] for row in found["tables"][0]["rows"]] == [2, 8]


def test_sizes_can_be_given_by_their_ends():
    found = document("subproblems", "--sizes", "1:5:2, 4", "--device", "cpu")
    assert [row["s"] for row in found["tables"][1]["rows"]] == [1, 3, 4, 5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["growht"], "no exploration 'growht'; did you mean growth?"),
        (["pitch", "--sizes", "8,x"], "--sizes='8,x' must be whole numbers with commas"),
        (["pitch", "--sizes", ""], "--sizes='' must be whole numbers"),
        (["pitch", "--sizes", "-3"], "--sizes='-3' must be whole numbers"),
        (["pitch", "--sizes", "0,3"], "the number of vertices is at least 1"),
        (["pitch", "--sizes", "99999999999"], "--sizes: pitch takes up to 512, not 99999999999"),
        (["pitch", "--sizes", "9" * 20], "must be whole numbers"),
        (["pitch", "--sizes", "8:16"], "or LOW:HIGH:STEP, such as 10:1800:10"),
        (["pitch", "--sizes", "8:16:"], "must be whole numbers"),
        (["pitch", "--sizes", "16:8:1"], "16:8:1 must go from the lowest to the highest"),
        (["pitch", "--sizes", "8:16:0"], "by at least 1"),
        (["pitch", "--sizes", "1:9999:1"], "at most 1000 sizes"),
        (["pitch", "--sizes", "513"], "pitch takes up to 512, not 513: the simulator runs n**3"),
        (["scaling", "--gpu-sizes", "8"], "--gpu-sizes: scaling takes --sizes for a GPU too"),
        (["pitch", "--device", "gpu"], "--device 'gpu' is not known; use one of auto, cuda, cpu"),
        (["pitch", "--plot", "a.gif"], "its name must end in one of .png, .svg, .pdf"),
    ],
)
def test_errors_name_the_option_before_anything_is_run(arguments, message):
    result = invoke(*arguments)
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)
    assert result.stdout == ""


def test_options_without_a_name_are_refused():
    result = invoke("--sizes", "3")
    assert result.exit_code == 2
    assert "name an exploration" in result.stderr


def test_cuda_is_insisted_on(monkeypatch):
    def none(**_options):
        raise DeviceError("there is no GPU here.")

    monkeypatch.setattr(cuda_device, "CudaDevice", none)
    result = invoke("columns", "--sizes", "3", "--device", "cuda")
    assert isinstance(result.exception, DeviceError)
    result = invoke("columns", "--sizes", "3")
    assert "Kernel times are not measured: there is no GPU here." in result.stdout


def test_without_matplotlib_nothing_is_run_and_the_install_line_is_named(tmp_path, monkeypatch):
    picture = tmp_path / "picture.png"
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = call("explore", "barrier", "--plot", picture)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        "warpladder: --plot needs matplotlib, which is not installed: "
        "pip install 'warpladder[plot]'\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_help_fits_gives_examples_and_loads_nothing_heavy():
    code = (
        "import atexit, sys\n"
        "heavy = {'numpy', 'numba', 'matplotlib', 'warpladder.lab.explore.registry'}\n"
        "atexit.register(lambda: print(*sorted(heavy & set(sys.modules)), file=sys.stderr))"
    )
    result = start("--help", code=code)
    assert "warpladder explore barrier" in result.stdout
    assert "…" not in result.stdout
    assert result.stderr.strip() == ""


def test_an_interrupted_exploration_leaves_no_picture(tmp_path):
    picture = tmp_path / "picture.png"
    result = start("barrier", "--plot", picture, code=INTERRUPTION)
    assert result.returncode == 130
    assert result.stderr == "warpladder: interrupted; no file was changed\n"
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []
