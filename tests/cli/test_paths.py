"""`warpladder paths` and `doctor` as a person or a script would call them."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

_COMMAND = [sys.executable, "-c", "from warpladder.cli import main; main()"]
_RING = "a b 1\nb c 2\nc d 3\nd a 4\n--END--\n"


def run(*arguments, env=None, **options):
    environment = {**os.environ, "COLUMNS": "80", **(env or {})}
    return subprocess.run(
        [*_COMMAND, *map(str, arguments)],
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
    ring.write_text("a b 1.5\nc a 2\n--END--\n")
    result = run("paths", ring, "--from", "c", "--to", "b", "--json")
    document = json.loads(result.stdout, parse_constant=pytest.fail)
    assert document["vertices"] == 3
    assert document["method"] == "floyd-warshall"
    assert document["labels"] == ["a", "b", "c"]
    assert document["distances"] == [[0.0, 1.5, None], [None, 0.0, None], [2.0, 3.5, 0.0]]
    assert document["path"]["vertices"] == ["c", "a", "b"]
    assert document["path"]["total"] == 3.5
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


def test_undirected_dtype_and_method(ring):
    result = run("paths", ring, "--undirected", "--dtype", "float64", "--json")
    document = json.loads(result.stdout)
    assert document["dtype"] == "float64"
    assert document["distances"][0] == [0, 1, 3, 4]
    result = run("paths", ring, "--method", "dijkstra", "--next-hops", "--json")
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
    ("content", "arguments", "message"),
    [
        (_RING, ["--from", "x", "--to", "a"], "no vertex 'x'"),
        (_RING, ["--dtype", "int8x"], "--dtype: dtype int8x is not taken"),
        (_RING, ["--method", "johnson"], "method='johnson' is not known"),
        (_RING, ["--device", "cuda"], "there is no GPU to use"),
        (_RING, ["--negative-cycle", "x"], "negative_cycle='x'"),
        (_RING, ["--format", "x"], "format"),
        (_RING, ["-o", "out.xyz"], ".xyz"),
        (_RING, ["-o", "no/such/folder/out.npy"], "no/such/folder"),
        ("a b x\n--END--\n", [], "line 1"),
        ("a b -1\nb a 0\n--END--\n", [], "negative cycle of weight -1"),
        (f"a b {2**40}\n--END--\n", ["--dtype", "int16"], "int16 cannot hold"),
        ("", ["--format", "hochberg"], "--END--"),
    ],
)
def test_errors_are_one_line_and_status_1(tmp_path, content, arguments, message):
    path = tmp_path / "g.txt"
    path.write_text(content)
    result = run("paths", path, *arguments, cwd=tmp_path)
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


def test_interruption_leaves_nothing_behind(tmp_path):
    path = tmp_path / "big.npy"
    np.save(path, np.random.default_rng(0).random((6000, 6000), dtype=np.float32))
    target = tmp_path / "dist.npy"
    with subprocess.Popen(
        [*_COMMAND, "paths", str(path), "-o", str(target)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in complaint
    assert "Traceback" not in complaint
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
    document = json.loads(run("doctor", "--json").stdout)
    assert document["auto"]["device"] == "cpu"
    assert document["packages"]["numba"]
    assert document["cuda"]["gpus"] or document["cuda"]["why_not"]


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


def test_a_vast_graph_in_a_small_file(tmp_path):
    path = tmp_path / "vast.gr"
    path.write_text("p sp 300000000 1\na 1 2 5\n")
    result = run("paths", path)
    assert result.returncode == 1
    assert "GiB" in result.stderr
    assert len(result.stderr.splitlines()) == 1


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
