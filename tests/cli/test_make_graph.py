from __future__ import annotations

import gzip
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from typer.testing import CliRunner

from warpladder import read_graph, shortest_paths
from warpladder.cli import main
from warpladder.cli.make_graph import make_graph
from warpladder.formats.graphs import WRITABLE_FORMATS
from warpladder.shortest_paths.generators import cycle, grid, random_graph, scale_free

if TYPE_CHECKING:
    from pathlib import Path

    from warpladder.shortest_paths.graph import Graph

KINDS: dict[str, tuple[list[str], Graph]] = {
    "cycle": (["cycle", "--n", "5"], cycle(5)),
    "undirected cycle": (
        ["cycle", "--n", "5", "--undirected", "--weight", "3"],
        cycle(5, directed=False, weight=3),
    ),
    "random by density": (
        ["random", "--n", "20", "--density", "0.3", "--weights", "1:9"],
        random_graph(20, density=0.3, weights=(1, 9)),
    ),
    "random by edges": (
        ["random", "--n", "9", "--edges", "30", "--weights", "-2:9", "--seed", "4"],
        random_graph(9, edges=30, weights=(-2, 9), seed=4),
    ),
    "undirected random": (
        ["random", "--n", "9", "--edges", "30", "--undirected"],
        random_graph(9, edges=30, directed=False, weights=None),
    ),
    "grid": (["grid", "--rows", "3", "--columns", "4"], grid(3, 4, weights=None)),
    "directed grid": (
        ["grid", "--rows", "3", "--columns", "4", "--directed", "--weights", "0:9", "--seed", "8"],
        grid(3, 4, directed=True, weights=(0, 9), seed=8),
    ),
    "scale-free": (
        ["scale-free", "--n", "30", "--edges-per-vertex", "3", "--weights", "1:5"],
        scale_free(30, edges_per_vertex=3, weights=(1, 5)),
    ),
}
every_kind = pytest.mark.parametrize(("options", "made"), KINDS.values(), ids=KINDS.keys())


def invoke(*options: str) -> Any:
    return CliRunner().invoke(make_graph, options)


def arcs(graph: Graph, first: int = 0) -> set[tuple[int, int, int]]:
    """Every direction of every edge by vertex names, counted from `first` where there are none."""
    names = [int(str(label)) for label in graph.labels or range(first, first + graph.n)]
    weights = [1] * graph.edge_count if graph.weights is None else graph.weights.tolist()
    edges = [
        (names[u], names[v], weight)
        for u, v, weight in zip(
            graph.sources.tolist(), graph.targets.tolist(), weights, strict=True
        )
    ]
    return {*edges, *(() if graph.directed else ((v, u, weight) for u, v, weight in edges))}


@every_kind
def test_standard_output_is_a_hochberg_file(
    options: list[str], made: Graph, tmp_path: Path
) -> None:
    result = invoke(*options)
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith("\n--END--\n")
    file = tmp_path / "graph.txt"
    file.write_text(result.stdout)
    assert arcs(read_graph(file)) == arcs(made)


@every_kind
@pytest.mark.parametrize(("name", "first"), [("graph.gr", 1), ("graph.hb", 0), ("graph.csv", 0)])
def test_the_extension_decides_on_the_format(
    options: list[str], made: Graph, name: str, first: int, tmp_path: Path
) -> None:
    file = tmp_path / name
    result = invoke(*options, "-o", str(file))
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert arcs(read_graph(file)) == arcs(made, first)


@pytest.mark.parametrize("name", WRITABLE_FORMATS)
def test_every_format_is_named_in_the_help_and_can_be_chosen(name: str, tmp_path: Path) -> None:
    assert name in invoke("grid", "--help").output.replace("-\n", "-")
    file = tmp_path / "graph"
    options = ["grid", "--rows", "2", "--columns", "3", "--format", name]
    assert invoke(*options, "-o", str(file)).exit_code == 0
    assert invoke(*options).stdout == file.read_text()


def test_a_name_in_gz_is_packed(tmp_path: Path) -> None:
    file = tmp_path / "ring.hb.gz"
    invoke("cycle", "--n", "3", "-o", str(file))
    assert gzip.decompress(file.read_bytes()) == b"0 1 1\n1 2 1\n2 0 1\n--END--\n"


def test_what_was_made_as_json(tmp_path: Path) -> None:
    file = tmp_path / "ring.gr"
    found = CliRunner().invoke(make_graph, ["cycle", "--n", "5", "-o", str(file), "--json"])
    assert json.loads(found.stdout) == {
        "file": str(file), "format": "dimacs", "vertices": 5, "edges": 5, "directed": True,
        "remark": "",
    }  # fmt: skip
    refused = CliRunner().invoke(make_graph, ["graph1", "--json"])
    assert refused.exit_code == 2
    assert "give -o" in refused.output


def test_one_line_on_standard_error_says_what_was_made(tmp_path: Path) -> None:
    file = tmp_path / "town.gr"
    result = invoke("grid", "--rows", "30", "--columns", "40", "-o", str(file))
    assert result.stderr == f"wrote {file}: 1,200 vertices, 2,330 undirected edges\n"
    result = invoke("cycle", "--n", "3")
    assert result.stderr == "wrote to standard output: 3 vertices, 3 directed edges\n"


def test_the_same_options_give_the_same_bytes() -> None:
    options = ("random", "--n", "50", "--density", "0.5", "--weights", "1:99")
    assert invoke(*options).stdout == invoke(*options).stdout
    assert invoke(*options).stdout != invoke(*options, "--seed", "1").stdout


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["cycle"], "--n"),
        (["cycle", "--n", "0"], "--n"),
        (["cycle", "--n", "many"], "--n"),
        (["cycle", "--n", "3", "--rows", "3"], "--rows"),
        (["random", "--n", "5"], "--density"),
        (["random", "--n", "5", "--density", "0.1", "--edges", "1"], "--density"),
        (["random", "--n", "5", "--density", "2"], "--density"),
        (["grid", "--rows", "2"], "--columns"),
        (["grid", "--rows", "2", "--columns", "2", "--weights", "9"], "--weights"),
        (["grid", "--rows", "2", "--columns", "2", "--weights", "a:b"], "--weights"),
        (["grid", "--rows", "2", "--columns", "2", "--weights", "9:1"], "--weights"),
        (["grid", "--rows", "2", "--columns", "2", "--seed", "-1"], "--seed"),
        (["grid", "--rows", "2", "--columns", "2", "--format", "tntp"], "--format"),
        (["scale-free", "--n", "5", "--edges-per-vertex", "0"], "--edges-per-vertex"),
        (["tree"], "tree"),
    ],
)
def test_options_that_make_no_sense_are_usage_errors(options: list[str], complaint: str) -> None:
    result = invoke(*options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert complaint in result.stderr


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["cycle", "--n", "2", "--undirected"], "--n 2 is too small"),
        (["cycle", "--n", "4", "-o", "graph.xyz"], "cannot tell a format"),
        (["cycle", "--n", "4", "-o", "nowhere/graph.gr"], "cannot write"),
        (["cycle", "--n", "4", "-o", "graph.metis"], "metis holds undirected graphs only"),
        (["cycle", "--n", "4", "-o", "g.metis"], "or make or read the graph with --undirected"),
        (["random", "--n", "4", "--edges", "13"], "--edges 13 is too large"),
        (
            ["grid", "--rows", "2", "--columns", "2", "--weights", "-1:1"],
            "--weights: -1 is below 0",
        ),
        (
            ["scale-free", "--n", "3", "--edges-per-vertex", "3"],
            "--edges-per-vertex 3 is too large",
        ),
    ],
)
def test_errors_of_the_library_are_one_line_and_status_1(
    options: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["warpladder", "make-graph", *options])
    with pytest.raises(SystemExit) as leaving:
        main()
    assert leaving.value.code == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("warpladder: ")
    assert printed.err.count("\n") == 1
    assert complaint in printed.err
    assert list(tmp_path.iterdir()) == []


def distances_in(file: Path) -> Any:
    # Searches, which these graphs would be left to, would be compiled for this alone.
    return shortest_paths(read_graph(file), method="floyd-warshall").with_infinities()


@pytest.mark.parametrize("directed", ["--directed", "--undirected"])
@pytest.mark.parametrize("weights", [(), ("--weights", "1:9")])
@pytest.mark.parametrize(
    ("drawn", "lonely"),
    [
        (("--n", "5", "--density", "0.5"), None),
        (("--n", "1", "--density", "0.5"), "vertex 0 has none and is written with one to itself"),
        (
            ("--n", "12", "--edges", "0"),
            "12 vertices have none and are written with one to themselves",
        ),
        (
            # So few that one core closes them.
            ("--n", "100", "--edges", "15"),
            " vertices have none and are written with one to themselves",
        ),
    ],
)
def test_vertices_without_an_edge_are_in_every_file(
    drawn: tuple[str, ...],
    lonely: str | None,
    weights: tuple[str, ...],
    directed: str,
    tmp_path: Path,
) -> None:
    options = ("random", *drawn, *weights, directed)
    plain = tmp_path / "graph.mtx"
    assert invoke(*options, "-o", str(plain)).exit_code == 0
    piped = invoke(*options)
    assert piped.exit_code == 0, piped.output
    assert piped.stdout == invoke(*options).stdout
    (tmp_path / "piped.txt").write_text(piped.stdout)
    assert lonely is None or lonely in piped.stderr
    for name in ("graph.hb", "graph.csv", "graph.txt", "graph.el"):
        result = invoke(*options, "-o", str(tmp_path / name))
        assert result.exit_code == 0, result.output
    expected = distances_in(plain)
    for file in sorted(set(tmp_path.iterdir()) - {plain}):
        graph = read_graph(file)
        names = [int(str(label)) for label in graph.labels or range(graph.n)]
        assert names == list(range(int(drawn[1])))
        assert np.array_equal(distances_in(file), expected), file.name


def test_every_seed_of_the_default_makes_a_graph() -> None:
    for seed in range(30):
        result = invoke("random", "--n", "5", "--density", "0.2", "--seed", str(seed))
        assert result.exit_code == 0, result.output


def test_text_is_written_as_on_standard_output(tmp_path: Path) -> None:
    for name in ("ring.txt", "ring.TXT"):
        file = tmp_path / name
        assert invoke("cycle", "--n", "7", "-o", str(file)).exit_code == 0
        assert file.read_text() == invoke("cycle", "--n", "7").stdout
        assert arcs(read_graph(file)) == arcs(cycle(7))
    packed = tmp_path / "ring.txt.gz"
    assert invoke("cycle", "--n", "7", "-o", str(packed)).exit_code == 0
    assert gzip.decompress(packed.read_bytes()) == file.read_bytes()
    listed = tmp_path / "list.txt"
    assert invoke("cycle", "--n", "7", "-o", str(listed), "--format", "edges").exit_code == 0
    assert arcs(read_graph(listed)) == arcs(cycle(7))


def test_a_pipe_that_closes_early_ends_the_command_without_complaint() -> None:
    # Where the package is on the path only, no script called warpladder is installed.
    command = [sys.executable, "-m", "warpladder"]
    arguments = [*command, "make-graph", "grid", "--rows", "100", "--columns", "300"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == b"0 1 1\n"
        running.stdout.close()
        assert running.stderr.read() == b""


def test_help_does_not_load_the_libraries() -> None:
    program = (
        "import sys; from warpladder.cli.app import app; app(['--help'], standalone_mode=False);"
        "assert not {'numpy', 'numba', 'warpladder.shortest_paths'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("name", "size"), [("graph1", "6 vertices, 14"), ("graph2-end", "6 vertices, 8")]
)
def test_graphs_of_hochbergs_module_are_files_of_its_form(
    name: str, size: str, tmp_path: Path
) -> None:
    file = tmp_path / "graph.txt"
    result = invoke(name, "-o", str(file))
    assert result.exit_code == 0, result.output
    assert result.stderr == f"wrote {file}: {size} directed edges\n"
    read = read_graph(file)
    ends = {"graph1": ("C", "B", 11), "graph2-end": ("A", "B", 102)}[name]
    assert shortest_paths(read).distance(*ends[:2]) == ends[2]
