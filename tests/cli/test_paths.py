"""`warpladder paths` and `doctor` as a person or a script would call them."""

from __future__ import annotations

import gzip
import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import warpladder as wl
from calling import INTERRUPTION, call
from choosing import large
from warpladder.cli import main

_PROGRAM = "from warpladder.cli import main; main()"
_COMMAND = [sys.executable, "-c", _PROGRAM]
_RING = "a b 1\nb c 2\nc d 3\nd a 4\n--END--\n"


def run(*arguments, env=None, before="", **options):
    """In a process of its own only where it is asked to be in other surroundings."""
    if env is None and not options:
        return call(*arguments)
    # What is said where there is no GPU is asked here: an empty list hides those that are there.
    environment = {**os.environ, "COLUMNS": "80", "CUDA_VISIBLE_DEVICES": "", **(env or {})}
    return subprocess.run(
        [sys.executable, "-c", before + _PROGRAM, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        **options,
    )


@pytest.fixture
def ring(tmp_path):
    path = tmp_path / "ring.txt"
    path.write_text(_RING)
    return path


def test_summary_table_and_path(ring):
    result = run("paths", ring, "--from", "d", "--to", "c")
    assert result.returncode == 0, result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["graph", "4", "vertices,", "4", "directed", "edges"] in lines
    assert ["components", "1"] in lines
    assert ["a", "0", "1", "3", "6"] in lines
    assert ["d", "->", "a", "4"] in lines
    assert ["total", "7"] in lines
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_unreachable_is_two_dashes(ring):
    ring.write_text("a b 1\n--END--\n")
    result = run("paths", ring, "--from", "b", "--to", "a")
    assert ["b", "--", "0"] in [line.split() for line in result.stdout.splitlines()]
    assert "no path leads from b to a" in result.stdout


def test_json_is_one_document_without_infinities(ring):
    # No multiples of one step that searches by levels would take, and be compiled for.
    ring.write_text("a b 1.5\nc a 200.25\n--END--\n")
    result = run("paths", ring, "--from", "c", "--to", "b", "--json")
    document = json.loads(result.stdout, parse_constant=pytest.fail)
    assert document["vertices"] == 3
    assert document["method"] == "floyd-warshall"
    assert document["labels"] == ["a", "b", "c"]
    assert document["distances"] == [[0.0, 1.5, None], [None, 0.0, None], [200.25, 201.75, 0.0]]
    assert document["path"]["vertices"] == ["c", "a", "b"]
    assert document["path"]["total"] == 201.75
    assert document["relaxations_per_second"] > 0


def test_trace_prints_every_matrix(ring):
    result = run("paths", ring, "--trace", "--json")
    trace = json.loads(result.stdout)["trace"]
    assert len(trace) == 5
    assert trace[0][0] == [0, 1, None, None]
    assert trace[4][0] == [0, 1, 3, 6]
    shown = run("paths", ring, "--trace").stdout
    assert [f"M_{k}" in shown for k in range(6)] == [True] * 5 + [False]


def test_trace_of_a_larger_graph_is_refused(tmp_path):
    path = tmp_path / "big.txt"
    path.write_text("".join(f"{i} {i + 1} 1\n" for i in range(10)) + "--END--\n")
    result = run("paths", path, "--trace")
    assert result.returncode == 1
    assert "11 vertices" in result.stderr


@pytest.mark.parametrize("suffix", ["npy", "npz", "csv", "parquet"])
def test_output(ring, tmp_path, suffix):
    target = tmp_path / f"dist.{suffix}"
    result = run("paths", ring, "-o", target)
    assert result.returncode == 0, result.stderr
    assert f"wrote {target}" in result.stderr
    if suffix == "npy":
        assert np.load(target).tolist()[0] == [0, 1, 3, 6]
    assert sorted(path.name for path in tmp_path.iterdir()) == [target.name, "ring.txt"]


def test_next_hops_are_written_and_read_back(ring, tmp_path):
    target = tmp_path / "answer.npz"
    result = run("paths", ring, "--next-hops", "-o", target)
    assert result.returncode == 0, result.stderr
    assert wl.ShortestPaths.load(target).path("d", "c") == ["d", "a", "b", "c"]
    other = tmp_path / "answer.csv"
    result = run("paths", ring, "--next-hops", "-o", other)
    assert result.returncode == 1
    assert f"--next-hops: {other} has a place for distances alone; write .npz" in result.stderr
    assert not other.exists()


def test_undirected_dtype_and_method(ring):
    # What is compiled for other tests: float32, and for Dijkstra's method without next hops.
    result = run("paths", ring, "--undirected", "--dtype", "float32", "--json")
    document = json.loads(result.stdout)
    assert document["dtype"] == "float32"
    assert document["distances"][0] == [0, 1, 3, 4]
    result = run("paths", ring, "--method", "dijkstra", "--json")
    assert json.loads(result.stdout)["method"] == "dijkstra"


def test_columns_of_a_table_by_name_and_number(tmp_path):
    path = tmp_path / "roads.csv"
    path.write_text("road,from,to,km,minutes\n1,A,B,10,5\n2,B,C,20,7\n")
    by_name = run(
        "paths", path, "--source", "from", "--target", "to", "--weight", "minutes", "--json"
    )
    assert json.loads(by_name.stdout)["distances"][0] == [0, 5, 12]
    by_number = run("paths", path, "--source", 1, "--target", 2, "--weight", 3, "--json")
    assert json.loads(by_number.stdout)["distances"][0] == [0, 10, 30]


def test_gzip_is_seen_through(tmp_path):
    path = tmp_path / "ring.txt.gz"
    path.write_bytes(gzip.compress(_RING.encode()))
    assert json.loads(run("paths", path, "--json").stdout)["vertices"] == 4


@pytest.mark.parametrize(
    ("content", "arguments", "weights", "distance"),
    [
        ("id,source,target\n100,A,B\n", [], "none, every edge counts 1", 1),
        ("id,source,target\n100,A,B\n", ["--weight", "id"], "column 'id'", 100),
        ("A,B,7\n", [], "column 2, counted from 0", 7),
        ("A B 7\n--END--\n", [], "as the file's format has them", 7),
    ],
)
def test_the_output_says_where_the_weights_come_from(
    tmp_path, monkeypatch, capsys, content, arguments, weights, distance
):
    path = tmp_path / "roads.txt"
    path.write_text(content)
    command = ["warpladder", "paths", str(path), *arguments]
    monkeypatch.setattr(sys, "argv", [*command, "--json"])
    with pytest.raises(SystemExit) as leaving:
        main()
    assert leaving.value.code == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["weights"], document["distances"][0]) == (weights, [0, distance])
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit):
        main()
    shown = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert ["weights", weights] in [[part.strip() for part in line] for line in shown]


@pytest.mark.parametrize("option", ["--source", "--weight"])
def test_more_digits_than_python_takes_are_no_column(tmp_path, option):
    path = tmp_path / "roads.csv"
    path.write_text("source,target,km\nA,B,4\n")
    result = run("paths", path, "--target", "1", "--source", "0", option, "7" * 5000)
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1
    assert f"{option} '777" in result.stderr
    assert "7' is no column" in result.stderr


@pytest.mark.parametrize("link", [None, "symlink_to", "hardlink_to"])
def test_what_is_read_is_not_written_over(tmp_path, link):
    path = output = tmp_path / "same.csv"
    path.write_text("a,b,1\n")
    if link is not None:
        output = tmp_path / "other.csv"
        getattr(output, link)(path)
    result = run("paths", path, "-o", output)
    assert result.returncode == 2
    assert "is a file that is read" in " ".join(result.stderr.replace("\u2502", " ").split())
    assert path.read_text() == "a,b,1\n"


def test_an_unclear_weight_is_one_line_that_names_the_options(tmp_path, monkeypatch, capsys):
    path = tmp_path / "roads.csv"
    path.write_text("source,target,score\nA,B,4\n")
    monkeypatch.setattr(sys, "argv", ["warpladder", "paths", str(path)])
    with pytest.raises(SystemExit) as leaving:
        main()
    assert leaving.value.code == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "give --weight 'score', say, or only --source 'source' --target 'target'" in told


@pytest.mark.parametrize("packed", [False, True])
def test_a_dash_is_standard_input(monkeypatch, capsys, packed):
    data = "".join(f"{i % 60},{(7 * i + 1) % 60},{i}\n" for i in range(3000)).encode()
    stream = io.BytesIO(gzip.compress(data) if packed else data)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
    monkeypatch.setattr(sys, "argv", ["warpladder", "paths", "-", "--json"])
    with pytest.raises(SystemExit) as leaving:
        main()
    assert leaving.value.code == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["vertices"], document["edges"]) == (60, 3000)


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (_RING, ["--from", "x", "--to", "a"], "no vertex 'x'"),
        (_RING, ["--dtype", "int8x"], "--dtype: dtype int8x is not taken"),
        (_RING, ["--method", "johnson"], "--method 'johnson' is not known"),
        (_RING, ["--device", "cuda"], "there is no GPU to use"),
        (_RING, ["--negative-cycle", "x"], "--negative-cycle 'x'"),
        (_RING, ["--format", "x"], "format"),
        (_RING, ["-o", "out.xyz"], ".xyz"),
        (_RING, ["-o", "no/such/folder/out.npy"], "no/such/folder"),
        ("a b x\n--END--\n", [], "line 1"),
        ("a b -1\nb a 0\n--END--\n", [], "negative cycle of weight -1"),
        (f"a b {2**40}\n--END--\n", ["--dtype", "int16"], "beyond what distances use of int16"),
        ("", ["--format", "hochberg"], "--END--"),
    ],
)
def test_errors_are_one_line_and_status_1(tmp_path, monkeypatch, content, arguments, message):
    path = tmp_path / "g.txt"
    path.write_text(content)
    monkeypatch.chdir(tmp_path)
    result = run("paths", path, *arguments)
    assert result.returncode == 1
    assert result.stdout == ""
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["g.txt"]


def test_a_missing_file_and_a_folder(tmp_path):
    for path in (tmp_path / "none.txt", tmp_path):
        result = run("paths", path)
        assert result.returncode == 1
        assert str(path) in result.stderr
        assert "Traceback" not in result.stderr


def test_one_end_alone_is_a_usage_error(ring):
    result = run("paths", ring, "--from", "a")
    assert result.returncode == 2
    assert "both ends" in result.stderr


def test_empty_and_single_vertex(tmp_path):
    path = tmp_path / "g.mtx"
    for n in (0, 1):
        path.write_text(f"%%MatrixMarket matrix coordinate integer general\n{n} {n} 0\n")
        result = run("paths", path, "--trace")
        assert result.returncode == 0, result.stderr
        assert f"{n} vertices" in result.stdout


def test_marked_pairs(ring):
    ring.write_text("a b -2\nb a 1\nc a 1\n--END--\n")
    result = run("paths", ring, "--negative-cycle", "mark", "--from", "c", "--to", "b")
    assert result.returncode == 0, result.stderr
    assert "a negative cycle lies between c and b" in result.stdout
    document = json.loads(run("paths", ring, "--negative-cycle", "mark", "--json").stdout)
    assert document["distances"][2] == ["-inf", "-inf", 0]


def test_a_longest_distance_without_minimum_is_text_in_json(ring):
    ring.write_text("a b 1\nb a -2\n--END--\n")
    result = run("paths", ring, "--negative-cycle", "mark", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout, parse_constant=pytest.fail)["longest_distance"] == "-inf"


def test_interruption_leaves_nothing_behind(tmp_path):
    path = tmp_path / "big.npy"
    # Zeros that are not written take no time; one other weight, so that it is not undirected.
    weights = np.lib.format.open_memmap(path, "w+", np.float32, (6000, 6000))
    weights[0, 1] = 1
    del weights
    target = tmp_path / "dist.npy"
    # Sixteen cores or a GPU would be done before.
    one_core = {"NUMBA_NUM_THREADS": "1"}
    result = run("paths", path, "-o", target, env=one_core, before=INTERRUPTION)
    assert result.returncode == 130
    assert "interrupted" in result.stderr
    assert "Traceback" not in result.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["big.npy"]


def test_a_closed_pipe_ends_quietly(ring):
    with subprocess.Popen(
        [*_COMMAND, "paths", str(ring), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


def test_the_run_of_the_readme():
    flights = Path(__file__).parents[2] / "data" / "flights.csv"
    result = run("paths", flights, "--from", "KEF", "--to", "NAN")
    assert result.returncode == 0, result.stderr
    assert ["total", "15,226"] in [line.split() for line in result.stdout.splitlines()]


def test_doctor():
    result = run("doctor")
    assert result.returncode == 0, result.stderr
    assert "auto takes" in result.stdout
    # A GPU that is there is hidden.
    without = run("doctor", "--json", env={"CUDA_VISIBLE_DEVICES": "-1"})
    document = json.loads(without.stdout)
    assert document["auto"]["device"] == "cpu"
    assert document["packages"]["numba"]
    assert document["cuda"]["gpus"] == []
    assert document["cuda"]["why_not"]
    kernels = document["front_end"]
    assert kernels["package"] in {"numba", "numba-cuda"}
    assert kernels["version"] == document["packages"][kernels["package"]]
    assert kernels["why"].startswith("numba-cuda ")
    told = " ".join(result.stdout.split())
    assert f"front end of {kernels['package']} {kernels['version']}: " in told


WHERE_NOTHING_RUNS = [("NUMBA_DISABLE_JIT", "1"), ("NUMBA_NUM_THREADS", "0")]


@pytest.mark.parametrize(
    ("variable", "value"), [WHERE_NOTHING_RUNS[0], *large(WHERE_NOTHING_RUNS[1])]
)
def test_an_environment_in_which_nothing_runs_is_named(ring, variable, value):
    refusal = run("paths", ring, env={variable: value})
    assert refusal.returncode == 1
    assert len(refusal.stderr.splitlines()) == 1
    assert variable in refusal.stderr


@pytest.mark.parametrize(("variable", "value"), large(*WHERE_NOTHING_RUNS))
def test_doctor_tells_of_an_environment_in_which_nothing_runs(variable, value):
    document = json.loads(run("doctor", "--json", env={variable: value}).stdout)
    assert any(variable in problem for problem in document["problems"])
    assert run("paths", "--help", env={variable: value}).returncode == 0


def test_version_and_help():
    assert run("--version").stdout.startswith("warpladder 0.")
    for command in ([], ["paths"], ["make-graph"], ["doctor"]):
        result = run(*command, "--help")
        assert result.returncode == 0
        assert max(map(len, result.stdout.splitlines())) <= 80


def test_labels_that_look_like_markup_or_steer_a_terminal(tmp_path):
    path = tmp_path / "g.txt"
    path.write_text("[red] [/foo] 1\n[/foo] \x1b[2J 2\n--END--\n")
    result = run("paths", path, "--from", "[red]", "--to", "[/foo]")
    assert result.returncode == 0, result.stderr
    assert "[red] -> [/foo]" in result.stdout
    assert "\x1b" not in result.stdout


def test_numbers_are_shown_whole_or_not_at_all(tmp_path):
    path = tmp_path / "g.txt"
    path.write_text("".join(f"v{i} v{i + 1} 123456789\n" for i in range(11)) + "--END--\n")
    shown = run("paths", path).stdout
    assert "…" not in shown
    assert "123,456,789" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_a_trace_does_not_overflow(tmp_path):
    path = tmp_path / "g.txt"
    path.write_text("a b 16000\nb c 16000\nc d 16000\na d 5\n--END--\n")
    document = json.loads(run("paths", path, "--dtype", "int32", "--trace", "--json").stdout)
    assert document["trace"][2][0][2] == 32000
    assert document["trace"][3][0][3] == 5


@pytest.mark.parametrize("vertex", ["0", "--5", "9" * 5000, "-1"])
def test_a_number_is_no_index_where_vertices_have_names(ring, vertex):
    result = run("paths", ring, f"--from={vertex}", "--to", "a")
    assert result.returncode == 1
    assert "no vertex" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_numbers_that_vertices_are_called_by(tmp_path):
    """Negative ones, and the largest that files hold, which has 20 digits."""
    table = tmp_path / "g.parquet"
    largest = 2**64 - 1
    ends = {"source": pa.array([-7, 5]), "target": pa.array([5, largest], "uint64")}
    pa.parquet.write_table(pa.table(ends), table)
    result = run("paths", table, "--from=-7", f"--to={largest}", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["path"]["vertices"] == [-7, 5, largest]
    result = run("paths", table, "--from=-8", "--to=5")
    assert result.returncode == 1
    assert "no vertex '-8'; labels are -7, 5, 18446744073709551615" in result.stderr


def test_a_vast_graph_in_a_small_file(tmp_path):
    path = tmp_path / "vast.gr"
    path.write_text("p sp 300000000 1\na 1 2 5\n")
    result = run("paths", path, "--dtype", "float32")
    assert result.returncode == 1
    assert "GiB" in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.skipif(os.name == "nt", reason="needs a shell that closes files")
@pytest.mark.parametrize("command", ["paths {} -o -", "paths {}", "make-graph cycle --n 5"])
def test_a_closed_output_is_one_line(ring, command):
    asked = command.format(shlex.quote(str(ring)))
    line = f"{shlex.join(_COMMAND)} {asked} >&-"
    result = subprocess.run(["/bin/sh", "-c", line], stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr == (
        "warpladder: standard output is closed; direct it to a file, or to /dev/null\n"
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_one_line(ring):
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [*_COMMAND, "paths", str(ring)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert "space" in result.stderr


def test_marked_integers_are_written_as_infinities(ring, tmp_path):
    ring.write_text("a b -2\nb a 1\nc a 1\n--END--\n")
    target = tmp_path / "dist.csv"
    result = run("paths", ring, "--negative-cycle", "mark", "-o", target)
    assert result.returncode == 0, result.stderr
    assert target.read_text().splitlines()[1] == "a,-inf,-inf,"


@pytest.mark.parametrize("threads", ["0", "-2", "many"])
def test_a_number_of_threads_that_is_none(ring, threads):
    result = run("paths", ring, env={"NUMBA_NUM_THREADS": threads})
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1
    assert "NUMBA_NUM_THREADS" in result.stderr
