"""NetworkX's own tests through its backend interface, and what they do not ask.

NetworkX finds backends through the entry points of what is installed. Where the package is only on
the path, the tests register it with a folder that says what an installation would.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from fractions import Fraction
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import warpladder as wl
from warpladder import errors
from warpladder.shortest_paths.networkx_backend import Backend

_ENTRY_POINTS = """\
[networkx.backends]
warpladder = warpladder.shortest_paths.networkx_backend:Backend
[networkx.backend_info]
warpladder = warpladder.shortest_paths.networkx_backend:get_info
"""


@pytest.fixture
def registered(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a process in which NetworkX knows the backend."""
    assert wl.__file__ is not None
    places = [str(Path(wl.__file__).parents[1])]
    if "warpladder" not in entry_points(group="networkx.backends").names:
        about = tmp_path / "installed" / "warpladder-0.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: warpladder\nVersion: 0\n")
        (about / "entry_points.txt").write_text(_ENTRY_POINTS)
        places.append(str(about.parent))
    path = os.pathsep.join(filter(None, [*places, os.environ.get("PYTHONPATH")]))
    # Other people's tests, so neither our settings nor plug-ins that happen to be there.
    return {**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def test_networkxs_own_tests_pass_on_this_backend(
    registered: dict[str, str], tmp_path: Path
) -> None:
    folder = "networkx.algorithms.shortest_paths.tests"
    modules = [f"{folder}.{name}" for name in ("test_dense", "test_dense_numpy")]
    # From NetworkX 3.7 on 500 random graphs are compared among its own functions too.
    few = ["-k", "not consistency", "-p", "no:cacheprovider"]
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *few, "--pyargs", *modules],
        env={
            **registered,
            "NETWORKX_TEST_BACKEND": "warpladder",
            "NETWORKX_FALLBACK_TO_NX": "1",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout
    passed = re.search(r"(\d+) passed", result.stdout)
    assert passed is not None
    assert int(passed[1]) >= 15


def test_networkx_finds_it_and_answers_itself_what_it_cannot(registered: dict[str, str]) -> None:
    code = (
        "import fractions, networkx as nx; g = nx.DiGraph();"
        "nx.config.backend_priority = ['warpladder'];"
        "third = fractions.Fraction(1, 3);"
        "for_networkx = [third, 2**70, 2**62, -float('inf')];"
        "made = [nx.DiGraph([(0, 1, {'weight': w})]) for w in for_networkx];"
        "dist = [nx.floyd_warshall(each)[0][1] for each in made];"
        "assert dist == for_networkx, dist;"
        "g.add_edge(0, 1, weight=2**53 + 1);"
        "g.add_edge(1, 0, weight=-(2**54));"
        # Nobody but this backend refuses a negative cycle.
        "nx.floyd_warshall(g, backend='warpladder')"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], env=registered, capture_output=True, text=True, check=False
    )
    assert "NetworkXUnbounded: the graph has a negative cycle" in result.stderr


@pytest.fixture
def graph() -> Any:
    made = nx.gnp_random_graph(40, 0.1, seed=5, directed=True)
    for u, v, data in made.edges(data=True):
        data["weight"] = (7 * u + 3 * v) % 11 + 1
    return made


def test_the_same_answers_as_networkx(graph: Any) -> None:
    ours = Backend.floyd_warshall_numpy(Backend.convert_from_nx(graph))
    assert np.array_equal(ours, nx.floyd_warshall_numpy(graph, backend="networkx"))
    order = list(reversed(list(graph)))
    ours = Backend.floyd_warshall_numpy(graph, nodelist=order)
    assert np.array_equal(ours, nx.floyd_warshall_numpy(graph, order, backend="networkx"))
    ours = Backend.floyd_warshall(Backend.convert_from_nx(graph))
    assert ours == nx.floyd_warshall(graph, backend="networkx")
    predecessors, dist = Backend.floyd_warshall_predecessor_and_distance(graph)
    for source, row in predecessors.items():
        for target in row:
            path = nx.reconstruct_path(source, target, predecessors)
            assert nx.path_weight(graph, path, "weight") == dist[source][target]


def kinds(distances: Any) -> dict[Any, dict[Any, tuple[type, Any]]]:
    return {
        source: {target: (type(value), value) for target, value in row.items()}
        for source, row in distances.items()
    }


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weights", [(2**53 + 1, 5), (2**62 - 7, 1), (2**53 + 1, math.inf), (3, 4)])
def test_integers_stay_integers_where_a_pair_has_no_path(
    weights: tuple[float, float], directed: bool
) -> None:
    made = nx.DiGraph() if directed else nx.Graph()
    made.add_edge("a", "b", weight=weights[0])
    made.add_edge("b", "c", weight=weights[1])
    made.add_node("alone")
    _, ours = Backend.floyd_warshall_predecessor_and_distance(made)
    _, theirs = nx.floyd_warshall_predecessor_and_distance(made, backend="networkx")
    assert kinds(ours) == kinds(theirs)
    ours = Backend.floyd_warshall(made)
    assert kinds(ours) == kinds(nx.floyd_warshall(made, backend="networkx"))
    assert ours["a"]["b"] == weights[0]
    # Theirs is a matrix of float64 too, of weights that are rounded before they are added.
    dist = Backend.floyd_warshall_numpy(made)
    theirs = nx.floyd_warshall_numpy(made, backend="networkx")
    assert dist.dtype == theirs.dtype == np.float64
    assert np.allclose(dist, theirs, rtol=2 * np.finfo(float).eps, atol=0)


def test_floats_are_floats_and_the_way_to_oneself_is_0() -> None:
    made = nx.DiGraph([("a", "b", {"weight": 0.5})])
    assert kinds(Backend.floyd_warshall(made)) == kinds(nx.floyd_warshall(made, backend="networkx"))


def test_weights_in_narrow_floats_of_numpy_are_added_as_networkx_adds_them() -> None:
    made = nx.DiGraph([(0, 1, {"weight": np.float32(0.1)}), (1, 2, {"weight": np.float32(1e6)})])
    expected = nx.floyd_warshall_numpy(made, backend="networkx")
    assert np.array_equal(Backend.floyd_warshall_numpy(made), expected)


def test_an_integer_that_floats_beside_it_would_round_is_refused() -> None:
    made = nx.DiGraph([(0, 1, {"weight": 2**53 + 1}), (1, 2, {"weight": 0.5})])
    told = "the integer 9007199254740993 would be rounded"
    with pytest.raises(NotImplementedError, match=told):
        Backend.floyd_warshall(made)
    for graph in (([0, 1], [1, 2], [2**53 + 1, 0.5]), [[0, 2**53 + 1], [math.inf, 0]]):
        with pytest.raises(errors.InputError, match=told):
            wl.shortest_paths(graph)
    assert wl.shortest_paths([[0, 2**53 + 2], [math.inf, 0]]).distance(0, 1) == 2**53 + 2


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("seed", range(5))
def test_predecessors_are_networkxs_with_loops_too(kind: type[nx.Graph], seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = kind()
    made.add_nodes_from(range(12))
    # Sums of powers of two: no two paths have the same length, so their predecessors are given.
    for edge, (u, v) in enumerate(rng.integers(0, 12, (20, 2)).tolist()):
        made.add_edge(u, v, weight=1 << edge)
    for vertex, weight in ((0, 0), (3, 0), (5, 2)):
        made.add_edge(vertex, vertex, weight=weight)
    ours = Backend.floyd_warshall_predecessor_and_distance(made)
    theirs = nx.floyd_warshall_predecessor_and_distance(made, backend="networkx")
    assert ours[0] == theirs[0]
    assert ours[1] == theirs[1]
    assert ours[0][5][5] == 5


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("seed", range(5))
def test_predecessors_are_networkxs_with_infinite_edges(kind: type[nx.Graph], seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = kind()
    made.add_nodes_from(range(8))
    for edge, (u, v) in enumerate(rng.integers(0, 8, (14, 2)).tolist()):
        made.add_edge(u, v, weight=math.inf if edge % 2 else 1 << edge)
    made.add_edge(2, 2, weight=math.inf)
    ours = Backend.floyd_warshall_predecessor_and_distance(made)
    assert ours == nx.floyd_warshall_predecessor_and_distance(made, backend="networkx")
    assert ours[0][2][2] == 2


def test_a_function_that_networkx_takes_for_a_key_is_left_to_it(
    registered: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def five(*_: Any) -> int:
        return 5

    made = nx.DiGraph([("a", "b"), ("b", "c")])
    monkeypatch.setattr(nx, "__version__", "3.6.1")
    for name in ("floyd_warshall", "floyd_warshall_predecessor_and_distance"):
        told = f"weight: {name} of NetworkX 3.6.1 takes no function, and counts every edge 1"
        assert str(Backend.can_run(name, (made, five), {})).startswith(told)
        assert str(Backend.can_run(name, (made,), {"weight": five})).startswith(told)
        assert Backend.can_run(name, (made,), {}) is True
        assert Backend.can_run(name, (made, "km"), {}) is True
        with pytest.raises(NotImplementedError, match=told):
            getattr(Backend, name)(made, weight=five)
    # That of matrices takes none in any version.
    for version in ("3.6.1", "3.7rc0.dev0"):
        monkeypatch.setattr(nx, "__version__", version)
        assert Backend.can_run("floyd_warshall_numpy", (made, None, five), {}) is not True
        assert Backend.can_run("floyd_warshall_numpy", (made, None), {"weight": "km"}) is True
        with pytest.raises(NotImplementedError, match="floyd_warshall_numpy of NetworkX"):
            Backend.floyd_warshall_numpy(made, weight=five)
    assert Backend.can_run("floyd_warshall", (made, five), {}) is True
    code = (
        "import networkx as nx; g = nx.DiGraph([(0, 1)]);"
        "nx.config.backend_priority = ['warpladder'];"
        "print(nx.floyd_warshall_numpy(g, weight=lambda u, v, d: 5)[0, 1])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], env=registered, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "1.0"


def test_a_weight_may_be_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checked against NetworkX where it knows that, from 3.7 on; the numbers are by hand."""
    real = tuple(map(int, re.findall(r"\d+", nx.__version__)[:2]))
    monkeypatch.setattr(nx, "__version__", "3.7")

    def uphill(u: int, v: int, _data: dict[str, Any]) -> int | None:
        return None if (u, v) == (2, 0) else 2**53 + 1 if u < v else 1

    made = nx.Graph([(0, 1), (1, 2), (2, 0)])
    dist = Backend.floyd_warshall(made, weight=uphill)
    assert dist[0] == {0: 0, 1: 2**53 + 1, 2: 2**53 + 1}
    assert dist[2] == {0: 2, 1: 1, 2: 0}
    many = nx.MultiDiGraph([(0, 1, {"km": 7}), (0, 1, {"km": 5})])
    found = Backend.floyd_warshall(
        many, weight=lambda _u, _v, keys: sum(d["km"] for d in keys.values())
    )
    assert found == {0: {0: 0, 1: 12}, 1: {0: math.inf, 1: 0}}
    if real >= (3, 7):
        assert kinds(dist) == kinds(nx.floyd_warshall(made, uphill, backend="networkx"))


def test_a_weight_that_is_none_is_not_one_that_is_missing() -> None:
    made = nx.Graph([("a", "b"), ("b", "c", {"weight": None})])
    told = "the weight of the edge from 'b' to 'c' is None; leave the attribute out"
    with pytest.raises(errors.InputTypeError, match=told):
        wl.shortest_paths(made)
    with pytest.raises(NotImplementedError, match=told):
        Backend.floyd_warshall(made)


def test_a_negative_cycle_and_a_wrong_nodelist(graph: Any) -> None:
    with pytest.raises(nx.NetworkXError, match="nodelist"):
        Backend.floyd_warshall_numpy(graph, nodelist=[0, 1])
    ring = nx.DiGraph()
    ring.add_weighted_edges_from([(0, 1, -2), (1, 0, 1)])
    told = r"negative cycle of weight -1: .*, in warpladder\.shortest_paths$"
    with pytest.raises(nx.NetworkXUnbounded, match=told):
        Backend.floyd_warshall(ring)


@pytest.mark.parametrize("strange", [2, 7, "z"])
def test_a_node_of_nodelist_is_a_node_not_its_number(strange: Any) -> None:
    made = nx.DiGraph([("a", "b"), ("b", "7")])
    told = re.escape(f"Nodes {{{strange!r}}} in nodelist is not in G")
    for backend in (Backend, nx):
        options = {"backend": "networkx"} if backend is nx else {}
        with pytest.raises(nx.NetworkXError, match=told):
            backend.floyd_warshall_numpy(made, nodelist=["a", "b", strange], **options)


@pytest.mark.parametrize("weight", [Fraction(1, 3), 2**70, 2**63, 2**62, math.nan, -math.inf])
def test_weights_that_networkx_is_to_take_itself(weight: Any) -> None:
    made = nx.DiGraph([(0, 1, {"weight": weight})])
    with pytest.raises(NotImplementedError, match="weight"):
        Backend.floyd_warshall(made)
