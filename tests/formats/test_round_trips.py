"""What is written is read back as the same graph."""

from __future__ import annotations

import gzip
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st

from warpladder.errors import InputError, InputTypeError
from warpladder.formats import graphs
from warpladder.formats.edges import DenseTable, EdgeTable

INTEGERS = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(allow_nan=False, exclude_min=True, min_value=-np.inf)
LABELS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=5)


@st.composite
def tables(
    draw: st.DrawFn, *, directed: bool | None = None, named: bool = False, isolated: bool = True
) -> EdgeTable:
    n = draw(st.integers(0, 5))
    vertices = st.integers(0, max(n - 1, 0))
    edges = draw(st.lists(st.tuples(vertices, vertices), max_size=8 if n else 0))
    if not isolated:
        edges += [(vertex, 0) for vertex in range(n)]
    kind = draw(st.sampled_from(["none", "integer", "real"]))
    weights = None
    if kind != "none":
        values = INTEGERS if kind == "integer" else FLOATS
        drawn = draw(st.lists(values, min_size=len(edges), max_size=len(edges)))
        weights = np.array(drawn, dtype=np.int64 if kind == "integer" else np.float64)
    labels = draw(st.lists(LABELS, min_size=n, max_size=n, unique=True)) if named else None
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    is_directed = draw(st.booleans()) if directed is None else directed
    return EdgeTable(ends[:, 0], ends[:, 1], weights, n, labels, directed=is_directed)


def labelled_edges(table: EdgeTable, *, ones: bool = False) -> Counter[tuple[Any, ...]]:
    """Every direction of every edge by label, so that neither order nor numbering counts."""
    both = table.with_both_directions()
    labels = [str(label) for label in (range(table.n) if table.labels is None else table.labels)]
    weights: list[Any] = [1 if ones else None] * len(both.sources)
    if both.weights is not None:
        weights = both.weights.tolist()
    ends = zip(both.sources.tolist(), both.targets.tolist(), strict=True)
    return Counter((labels[u], labels[v], w) for (u, v), w in zip(ends, weights, strict=True))


def rewritten(name: str, table: EdgeTable, **options: Any) -> EdgeTable | None:
    """The table after a trip through a file; None where the writer says it cannot be written."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        try:
            graphs.write(path, table, **options)
        except InputError:
            return None
        back = graphs.read(path)
    assert isinstance(back, EdgeTable)
    return back


def same_dtype(back: EdgeTable, table: EdgeTable) -> bool:
    if back.weights is None or table.weights is None:
        return back.weights is table.weights
    return len(table.weights) == 0 or back.weights.dtype == table.weights.dtype


@given(tables())
def test_dimacs(table: EdgeTable) -> None:
    back = rewritten("g.gr", table, comment="two\nlines")
    assert back is not None
    both = table.with_both_directions()
    np.testing.assert_array_equal(back.sources, both.sources)
    np.testing.assert_array_equal(back.targets, both.targets)
    expected = np.ones(len(both.sources)) if both.weights is None else both.weights
    np.testing.assert_array_equal(back.weights, expected)
    assert (back.n, back.labels, back.directed) == (table.n, range(1, table.n + 1), True)
    assert table.weights is None or same_dtype(back, table)


@given(tables())
def test_matrix_market(table: EdgeTable) -> None:
    back = rewritten("g.mtx", table, comment="c")
    assert back is not None
    unnamed = EdgeTable(back.sources, back.targets, back.weights, back.n, None, back.directed)
    assert labelled_edges(unnamed) == labelled_edges(table)
    assert (back.n, back.directed) == (table.n, table.directed)
    assert same_dtype(back, table)


@given(tables(directed=False))
def test_metis(table: EdgeTable) -> None:
    back = rewritten("g.graph", table, comment="c")
    assert back is not None
    unnamed = EdgeTable(back.sources, back.targets, back.weights, back.n, None, back.directed)
    assert labelled_edges(unnamed) == labelled_edges(table)
    assert (back.n, len(back.sources), back.directed) == (table.n, len(table.sources), False)
    assert same_dtype(back, table)


@given(tables(named=True, isolated=False))
def test_hochberg(table: EdgeTable) -> None:
    back = rewritten("g.hb", table, comment="c\n--END--")
    if back is not None:
        assert labelled_edges(back) == labelled_edges(table, ones=True)
        assert (back.n, back.directed) == (table.n, True)
        assert table.weights is None or same_dtype(back, table)


@pytest.mark.parametrize("name", ["g.csv", "g.tsv", "g.edges", "g.csv.gz"])
@settings(max_examples=60)
@given(
    table=tables(named=True, isolated=False), comment=st.sampled_from([None, "Undirected graph\rx"])
)
def test_named_edge_lists(name: str, table: EdgeTable, comment: str | None) -> None:
    back = rewritten(name, table, comment=comment)
    if back is None:
        return
    assert labelled_edges(back) == labelled_edges(table)
    assert (back.n, back.directed) == (table.n, table.directed)
    assert len(table.sources) == 0 or same_dtype(back, table)


@pytest.mark.parametrize("name", ["g.csv", "g.tsv", "g.edges"])
@settings(max_examples=60)
@given(table=tables(isolated=False))
def test_numbered_edge_lists(name: str, table: EdgeTable) -> None:
    back = rewritten(name, table)
    assert back is not None
    np.testing.assert_array_equal(back.sources, table.sources)
    np.testing.assert_array_equal(back.targets, table.targets)
    if len(table.sources):
        np.testing.assert_array_equal(back.weights, table.weights)
    assert (back.n, back.labels, back.directed) == (table.n, None, table.directed)


def test_plain_labels_always_survive(tmp_path: Path) -> None:
    labels = ["#a", "b c", 'd"e', "é,;"]
    table = EdgeTable(
        np.array([0, 2]), np.array([1, 3]), np.array([1, 2]), 4, labels, directed=True
    )
    for name in ("g.csv", "g.tsv"):
        graphs.write(tmp_path / name, table)
        back = graphs.read(tmp_path / name)
        assert isinstance(back, EdgeTable)
        assert back.labels == labels


TWO = EdgeTable(np.array([0]), np.array([1]), np.array([2.5]), 2, ["a", "b"], directed=True)


def changed(**fields: Any) -> EdgeTable:
    values = {name: getattr(TWO, name) for name in TWO.__slots__}
    return EdgeTable(**(values | fields))


@pytest.mark.parametrize(
    ("name", "table", "message"),
    [
        ("g.graph", TWO, "undirected graphs only"),
        ("g.hb", changed(labels=["a b", "c"]), "'a b' cannot be written to hochberg"),
        ("g.hb", changed(labels=["--END--", "c"]), "'--END--' cannot be written"),
        ("g.hb", changed(labels=["", "c"]), "'' cannot be written"),
        ("g.hb", changed(labels=["a\n", "c"]), "cannot be written"),
        ("g.hb", changed(labels=["\ufeffa", "c"]), "cannot be written"),
        ("g.csv", changed(labels=["a\0", "c"]), "cannot be written to edges"),
        ("g.csv", changed(labels=["\ud800", "c"]), "cannot be written to edges"),
        ("g.csv", changed(labels=["1", 1]), "two vertices have the same label"),
        ("g.csv", changed(n=3, labels=["a", "b", "c"]), "vertex 'c' has no edge"),
        ("g.edges", changed(labels=["#a", "c"]), "'#a' needs quotes"),
        ("g.edges", changed(labels=["source", "target"]), "taken for a header"),
        ("g.gr", changed(weights=np.array([np.nan])), "NaN or -inf"),
        ("g.gr", changed(weights=np.array([-np.inf])), "NaN or -inf"),
        ("g.gr", changed(weights=np.ones(2)), r"weights of shape \(2,\) for 1 edges"),
        ("g.npz", TWO, r"extensions \.hb, \.gr, .* one of hochberg"),
        ("g", TWO, "cannot tell a format"),
    ],
)
def test_what_cannot_be_written_is_refused(
    tmp_path: Path, name: str, table: EdgeTable, message: str
) -> None:
    path = tmp_path / name
    with pytest.raises(InputError, match=message):
        graphs.write(path, table)
    assert list(tmp_path.iterdir()) == []


def test_write_takes_edge_tables_only(tmp_path: Path) -> None:
    with pytest.raises(InputTypeError, match="write_distances"):
        graphs.write(tmp_path / "g.gr", DenseTable(np.zeros((1, 1)), None))  # type: ignore[arg-type]


@pytest.mark.parametrize("weight", [1j, "5", None])
def test_weights_that_are_no_real_numbers(tmp_path: Path, weight: Any) -> None:
    with pytest.raises(InputTypeError, match="weights of dtype"):
        graphs.write(tmp_path / "g.gr", changed(weights=np.array([weight])))


def test_write_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="format='gml' is not known"):
        graphs.write(tmp_path / "g", TWO, format="gml")
    with pytest.raises(InputError, match="cannot tell a format"):
        graphs.write(tmp_path / "g.gr", TWO, format="parquet")


def test_gz_is_packed_and_reproducible(tmp_path: Path) -> None:
    for name in ("a.gr.gz", "b.gr.gz"):
        graphs.write(tmp_path / name, TWO)
    packed = (tmp_path / "a.gr.gz").read_bytes()
    assert gzip.decompress(packed) == b"p sp 2 1\na 1 2 2.5\n"
    assert packed == (tmp_path / "b.gr.gz").read_bytes()


@pytest.mark.parametrize("name", ["g.gr", "g.mtx"])
def test_other_dtypes_keep_their_values(name: str) -> None:
    for weights in (
        np.array([0.1], dtype=np.float32),
        np.array([True]),
        np.array([200], np.uint8),
        np.array([2**53 + 1], np.uint64),
    ):
        back = rewritten(name, changed(weights=weights))
        assert back is not None
        assert back.weights is not None
        assert back.weights[0].item() == weights[0].item()


# SciPy 1.18 wants to be told which kind of matrix; the argument for it is not in 1.13.
@pytest.mark.filterwarnings(
    "ignore:The default value for `spmatrix` is changing:DeprecationWarning"
)
@pytest.mark.parametrize("directed", [True, False])
def test_scipy_reads_what_is_written(tmp_path: Path, directed: bool) -> None:
    ends = np.array([0, 1, 2]), np.array([1, 2, 2])
    table = EdgeTable(*ends, np.array([2.5, -1.0, 4.0]), 4, None, directed)
    path = tmp_path / "g.mtx"
    graphs.write(path, table, comment="c")
    expected = np.zeros((4, 4))
    both = table.with_both_directions()
    expected[both.sources, both.targets] = both.weights
    np.testing.assert_array_equal(scipy.io.mmread(path).toarray(), expected)


def test_symmetric_files_hold_the_lower_triangle(tmp_path: Path) -> None:
    ends = np.array([0, 2]), np.array([1, 1])
    path = tmp_path / "g.mtx"
    graphs.write(path, EdgeTable(*ends, None, 3, None, directed=False))
    assert path.read_text().splitlines()[1:] == ["3 3 2", "2 1", "3 2"]
