"""A pandas DataFrame is a matrix whose vertices have names."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import warpladder as wl
from warpladder import errors

INF = np.inf
WEIGHTS = [[0, 4, INF], [INF, 0, 7], [1, INF, 0]]


def frame(labels: Any = "ABC", columns: Any = None, weights: Any = WEIGHTS) -> pd.DataFrame:
    names = list(labels)
    return pd.DataFrame(weights, index=names, columns=names if columns is None else list(columns))


def test_its_labels_name_the_vertices() -> None:
    answer = wl.shortest_paths(frame(), next_hops=True)
    assert answer.path("A", "C") == ["A", "B", "C"]
    assert answer.distance("C", "B") == 5
    shown = answer.to_pandas()
    assert list(shown.index) == list(shown.columns) == ["A", "B", "C"]
    again = wl.shortest_paths(shown)
    assert np.array_equal(again.dist_matrix, answer.dist_matrix)
    assert again.distance("C", "B") == 5
    assert wl.Graph.from_matrix(frame()).labels == ["A", "B", "C"]
    assert wl.Graph.from_matrix(frame(), labels=["x", "y", "z"]).labels == ["x", "y", "z"]


@pytest.mark.parametrize(
    "labels", [[7, 9, 11], [2, 1, 0], [("a", 1), ("a", 2), ("b", 1)], [0.5, 1, 2]]
)
def test_labels_of_any_kind(labels: list[Any]) -> None:
    index = pd.Index(labels, tupleize_cols=False)
    answer = wl.shortest_paths(pd.DataFrame(WEIGHTS, index=index, columns=index))
    assert answer.distance(labels[0], labels[2]) == 11


def test_without_names_vertices_are_numbers() -> None:
    answer = wl.shortest_paths(pd.DataFrame(WEIGHTS))
    assert answer.graph.labels is None
    assert answer.distance(0, 2) == 11
    assert wl.shortest_paths(pd.DataFrame()).graph.n == 0
    assert wl.shortest_paths(frame("A", weights=[[0]])).distance("A", "A") == 0


def test_what_no_edge_is() -> None:
    answer = wl.shortest_paths(frame(weights=[[0, 4, -1], [-1, 0, 7], [1, -1, 0]]), no_edge=-1)
    assert answer.distance("A", "C") == 11
    assert answer.dist_matrix.dtype == np.int64


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            frame("ABC", "BAC"),
            r"row 0 of the DataFrame is 'A' and column 0 is 'B'; bring both into",
        ),
        (frame("ABC", "ABZ"), "row 2 of the DataFrame is 'C' and column 2 is 'Z'; name both alike"),
        (frame([0, 1, 2], "ABC"), "row 0 of the DataFrame is 0 and column 0 is 'A'"),
        (frame("AAB"), "'A' appears twice"),
        (frame().iloc[:2], r"square, this has shape \(2, 3\)"),
        (frame(weights=[[0, 2**53 + 1, 0.5]] * 3), "integer 9007199254740993 would be rounded"),
    ],
)
def test_what_is_refused(given: pd.DataFrame, told: str) -> None:
    with pytest.raises(errors.InputError, match=told):
        wl.shortest_paths(given)
    with pytest.raises(errors.InputError, match=told):
        wl.Graph.from_matrix(given)


@pytest.mark.parametrize(
    "table",
    [lambda columns: pd.DataFrame(columns, ["a", "b"]), pl.DataFrame, pa.table, pa.record_batch],
)
def test_integers_beside_floats_are_not_rounded(table: Any) -> None:
    mixed = table({"a": [0, 2**53 + 1], "b": [0.5, 0.0]})
    unlike = table({"a": np.array([0, 2**53 + 1], "u8"), "b": np.array([1, 0])})
    for given in (mixed, unlike):
        with pytest.raises(errors.InputError, match="integer 9007199254740993 would be rounded"):
            wl.shortest_paths(given)
    alike = table({"a": [0, 2**53 + 1], "b": [1, 0]})
    assert wl.shortest_paths(alike).dist_matrix.tolist() == [[0, 1], [2**53 + 1, 0]]
    exact = table({"a": [0, 2**53], "b": [0.5, 0.0]})
    assert wl.shortest_paths(exact).distance(1, 0) == 2**53


def test_integers_of_128_bits_over_which_polars_panics() -> None:
    wide = pl.Series("a", [0], dtype=pl.Int128)
    for call in (
        lambda: wl.Graph.from_matrix(pl.DataFrame([wide])),
        lambda: wl.Graph.from_edges(wide, [1]),
        lambda: wl.Graph.from_edges([0], [1], wide),
    ):
        with pytest.raises(errors.InputTypeError, match="with Int128 is not taken; cast it to"):
            call()


def test_tables_of_float16_without_a_warning() -> None:
    halves = np.array(WEIGHTS, np.float16)
    for given in (pd.DataFrame(halves), pl.DataFrame(halves), [list(row) for row in halves]):
        answer = wl.shortest_paths(given)
        assert answer.dist_matrix.dtype == np.float32
        assert answer.distance(0, 2) == 11


@pytest.mark.parametrize("entry", [pd.NA, "x", None])
def test_objects_are_refused_with_what_to_do(entry: Any) -> None:
    given = frame(weights=[[0, entry, 1]] * 3).astype(object)
    with pytest.raises(errors.InputTypeError, match=r"frame\.to_numpy\(float, na_value"):
        wl.shortest_paths(given)


NULLABLE = ("Int64", "int64[pyarrow]", "UInt64", "Int32", "Float64", "double[pyarrow]")


@pytest.mark.parametrize("dtype", NULLABLE)
def test_nullable_dtypes_without_gaps_are_numbers(dtype: str) -> None:
    given = frame(weights=[[0, 4, 20], [20, 0, 7], [1, 20, 0]]).astype(dtype)
    answer = wl.shortest_paths(given)
    assert answer.graph.labels == ["A", "B", "C"]
    assert answer.dist_matrix.dtype.kind == ("i" if "nt" in dtype else "f")
    assert answer.distance("A", "C") == 11
    assert wl.Graph.from_matrix(given).labels == ["A", "B", "C"]
    # Beside a column of NumPy's own dtype, too.
    assert wl.shortest_paths(given.astype({"A": "int64"})).distance("C", "B") == 5


def test_nullable_integers_are_exact() -> None:
    given = frame("ab", weights=[[0, 1], [2**60 + 1, 0]])
    for dtype in ("Int64", "int64[pyarrow]"):
        assert wl.shortest_paths(given.astype(dtype)).distance("b", "a") == 2**60 + 1
    assert wl.shortest_paths(given.convert_dtypes()).distance("b", "a") == 2**60 + 1
    with pytest.raises(errors.InputError, match=f"integer {2**60 + 1} would be rounded"):
        wl.shortest_paths(given.astype({"a": "Int64", "b": "Float64"}))
    edges = frame("ab", weights=[[True, True], [False, False]])
    for dtype in ("boolean", "bool[pyarrow]"):
        assert wl.shortest_paths(edges.astype(dtype)).distance("b", "a") == INF
    with pytest.raises(errors.InputTypeError, match="Python objects, such as '0'"):
        wl.shortest_paths(frame("ab", weights=[[0, "x"], ["x", 0]]).astype("string"))


def test_ones_own_frames_are_taken_again() -> None:
    answer = wl.shortest_paths(wl.Graph.from_edges(["a", "b"], ["b", "a"], [3, 4]))
    again = wl.shortest_paths(answer.to_pandas())
    assert again.graph.labels == ["a", "b"]
    assert np.array_equal(again.dist_matrix, answer.dist_matrix)


def test_where_there_is_no_path_ones_own_frames_say_how_to_fill_them() -> None:
    answer = wl.shortest_paths(wl.Graph.from_edges(["a"], ["b"], [3]))
    shown = answer.to_pandas()
    told = r"graph: some are missing .*shortest_paths\(frame\.fillna\(-1\), no_edge=-1\)"
    with pytest.raises(errors.InputTypeError, match=told):
        wl.shortest_paths(shown)
    again = wl.shortest_paths(shown.fillna(-1), no_edge=-1)
    assert again.distance("a", "b") == 3
    assert again.distance("b", "a") == INF
    assert wl.shortest_paths(shown.astype("Float64").fillna(INF)).distance("b", "a") == INF


@pytest.mark.parametrize(
    "given",
    [
        pl.DataFrame({"a": [0, None], "b": [4, 0]}),
        pa.table({"a": [0, None], "b": [4, 0]}),
        pd.DataFrame({"a": [0, None], "b": [4, 0]}, dtype="Float64"),
        [pl.Series([0, None]), pl.Series([4, 0])],
    ],
)
def test_what_is_missing_is_not_called_nan(given: Any) -> None:
    for call in (wl.shortest_paths, wl.Graph.from_matrix):
        with pytest.raises(errors.InputTypeError, match=r"graph: some are missing \(null or NA\)"):
            call(given)


@pytest.mark.parametrize(
    "weights",
    [
        pl.Series([1, None]),
        pa.array([1, None]),
        pd.Series([1, None], dtype="Int64"),
        pd.array([1, None], dtype="Int64"),
    ],
)
def test_weights_that_are_missing(weights: Any) -> None:
    told = r"weights: some are missing \(null or NA\); leave these edges out"
    with pytest.raises(errors.InputTypeError, match=told):
        wl.shortest_paths(([0, 1], [1, 0], weights))


@pytest.mark.parametrize("name", [INF - INF, None, pd.NaT, pd.NA])
def test_labels_that_are_missing(name: Any) -> None:
    told = r"labels\[1\] is .*; give the vertex a name"
    for labels in (["a", name], ["a", name, name]):
        with pytest.raises(errors.InputError, match=told):
            wl.Graph.from_edges([0], [1], labels=labels)
    with pytest.raises(errors.InputError, match=told):
        wl.Graph.from_matrix(np.eye(2), labels=["a", name])
    index = pd.Index(["a", name], dtype=object)
    given = pd.DataFrame(np.eye(2), index=index, columns=index)
    told = r"row 1 of the DataFrame is named .*, which is no name; .*frame\.to_numpy\(\)"
    with pytest.raises(errors.InputError, match=told):
        wl.shortest_paths(given)
    with pytest.raises(errors.InputError, match="column 1 of the DataFrame is named"):
        wl.shortest_paths(given.set_axis(["a", "b"], axis=0))


def test_pandas_is_not_imported() -> None:
    code = (
        "import sys, warpladder as wl; wl.Graph.from_matrix([[0]]); print('pandas' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "False"


@pytest.mark.parametrize("kind", [pa.array, lambda names: pa.chunked_array([names]), pl.Series])
def test_columns_of_labels(kind: Any) -> None:
    graph = wl.Graph.from_edges(kind(["b"]), kind(["c"]), labels=kind(["a", "b", "c"]))
    assert wl.shortest_paths(graph).distance("b", "c") == 1
    assert wl.Graph.from_matrix(np.eye(2), labels=kind(["a", "b"])).labels == ["a", "b"]


def test_times_that_numpy_makes_integers_of() -> None:
    days = np.array(["2026-01-01", "2026-01-02"], "datetime64[ns]")
    other = days[::-1]
    for column in (np.asarray, pd.Series):
        with pytest.raises(errors.InputTypeError, match=r"sources: datetime64\[ns\] is no label"):
            wl.Graph.from_edges(column(days), column(other))
    with pytest.raises(errors.InputTypeError, match=r"labels\.astype\('timedelta64\[us\]'\)"):
        wl.Graph.from_matrix(np.eye(2), labels=days - days[0])
    graph = wl.Graph.from_edges(
        days.astype("datetime64[us]"), pd.DatetimeIndex(other).as_unit("us")
    )
    assert wl.shortest_paths(graph).distance(pd.Timestamp("2026-01-02"), graph.labels[0]) == 1
