"""NumPy, scipy.sparse and Parquet files."""

from __future__ import annotations

import gzip
import sys
import zipfile
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse

from warpladder import read_graph, reduce
from warpladder.errors import FileFormatError, InputError, InputTypeError, MissingExtraError
from warpladder.formats import graphs
from warpladder.formats.distances import write_distances
from warpladder.formats.edges import DenseTable, EdgeTable

if TYPE_CHECKING:
    from pathlib import Path

SQUARE = np.array([[0, 1.5], [np.inf, 0]], dtype=np.float32)


def dense(path: Path, **options: Any) -> DenseTable:
    table = graphs.read(path, **options)
    assert isinstance(table, DenseTable)
    return table


def edges(path: Path, **options: Any) -> EdgeTable:
    table = graphs.read(path, **options)
    assert isinstance(table, EdgeTable)
    return table


def pack(path: Path) -> None:
    path.write_bytes(gzip.compress(path.read_bytes()))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    "matrix", [SQUARE, np.zeros((0, 0)), np.ones((1, 1), bool), np.eye(3, dtype=np.uint8)]
)
def test_npy(tmp_path: Path, matrix: np.ndarray[Any, Any], packed: bool) -> None:
    path = tmp_path / "m.npy"
    np.save(path, matrix)
    if packed:
        pack(path)
    table = dense(path)
    np.testing.assert_array_equal(table.matrix, matrix)
    assert type(table.matrix) is np.ndarray
    assert (table.matrix.dtype, table.labels) == (matrix.dtype, None)
    assert table.matrix.flags.writeable


def test_npy_without_extension(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", SQUARE)
    (tmp_path / "m.npy").rename(tmp_path / "m")
    np.testing.assert_array_equal(dense(tmp_path / "m").matrix, SQUARE)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", ["dist_matrix", "matrix", "arr_0", "anything"])
@pytest.mark.parametrize("labels", [None, ["a", "é"], [7, 9]])
def test_npz(tmp_path: Path, name: str, labels: list[Any] | None, packed: bool) -> None:
    path = tmp_path / "m.npz"
    arrays: dict[str, Any] = {name: SQUARE} if labels is None else {name: SQUARE, "labels": labels}
    np.savez_compressed(path, **arrays)
    if packed:
        pack(path)
    table = dense(path)
    np.testing.assert_array_equal(table.matrix, SQUARE)
    assert table.labels == labels


def test_directed_says_nothing_new_about_a_matrix(tmp_path: Path) -> None:
    path = tmp_path / "m.npy"
    np.save(path, SQUARE)
    assert dense(path, directed=True).labels is None
    with pytest.raises(InputError, match="directed=False does not apply"):
        graphs.read(path, directed=False)


@pytest.mark.parametrize(
    ("arrays", "expected", "found"),
    [
        ({"a": SQUARE, "b": SQUARE}, "one array, or one named", "named a, b"),
        ({}, "one array", "named nothing"),
        ({"matrix": np.zeros((2, 3))}, "a square matrix", "shape (2, 3)"),
        ({"matrix": np.zeros(4)}, "a square matrix", "shape (4,)"),
        ({"matrix": np.zeros((2, 2), complex)}, "real numbers", "complex128"),
        ({"matrix": np.array([["a"]])}, "real numbers", "<U1"),
        ({"matrix": np.array([[0, 1], [np.nan, 0]])}, "numbers or inf", "nan at (1, 0)"),
        ({"matrix": np.array([[0, -np.inf], [1, 0]])}, "numbers or inf", "-inf at (0, 1)"),
        ({"matrix": SQUARE, "labels": ["a"]}, "2 labels", "shape (1,)"),
        ({"matrix": SQUARE, "labels": [1.5, 2.5]}, "2 labels, integers or text", "float64"),
    ],
)
def test_npz_that_is_no_matrix(
    tmp_path: Path, arrays: dict[str, Any], expected: str, found: str
) -> None:
    path = tmp_path / "m.npz"
    np.savez(path, **arrays)
    with pytest.raises(FileFormatError) as raised:
        graphs.read(path)
    assert (raised.value.path, raised.value.line) == (path, None)
    assert expected in raised.value.expected
    assert found in raised.value.found


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "m.npz", matrix=SQUARE, labels=np.array(["a", None], dtype=object))
    for name in ("m.npy", "m.npz"):
        with pytest.raises(FileFormatError, match="without objects"):
            graphs.read(tmp_path / name)


def make_binary_files(folder: Path) -> None:
    matrix = np.arange(10000, dtype=np.float64).reshape(100, 100)
    np.save(folder / "m.npy", matrix)
    np.savez(folder / "m.npz", matrix=matrix)
    np.savez_compressed(folder / "c.npz", matrix=matrix)
    scipy.sparse.save_npz(folder / "s.npz", scipy.sparse.csr_array(matrix))
    pq.write_table(pa.table({"source": range(999), "target": range(999)}), folder / "p.parquet")


@pytest.mark.parametrize("name", ["m.npy", "m.npz", "c.npz", "s.npz", "p.parquet"])
@pytest.mark.parametrize("kept", [0, 4, 100, 0.5, -1])
@pytest.mark.parametrize("packed", [False, True])
def test_truncated_file(tmp_path: Path, name: str, kept: float, packed: bool) -> None:
    make_binary_files(tmp_path)
    path = tmp_path / name
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * kept) if kept == 0.5 else int(kept)])
    if packed:
        pack(path)
    with pytest.raises(FileFormatError) as raised:
        graphs.read(path)
    assert (raised.value.path, raised.value.line) == (path, None)


@pytest.mark.parametrize("name", ["m.npz", "c.npz", "s.npz"])
def test_flipped_bytes(tmp_path: Path, name: str) -> None:
    make_binary_files(tmp_path)
    path = tmp_path / name
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 50] = bytes(byte ^ 0x55 for byte in data[middle : middle + 50])
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match="a broken one"):
        graphs.read(path)


def test_header_that_promises_too_much(tmp_path: Path) -> None:
    path = tmp_path / "m.npy"
    np.save(path, np.zeros((100, 100)))
    path.write_bytes(path.read_bytes().replace(b"(100, 100)", b"(1 << 20,)"))
    with pytest.raises(FileFormatError):
        graphs.read(path)
    np.save(path, np.zeros((100, 100)))
    path.write_bytes(path.read_bytes().replace(b"(100, 100), ", b"(999999,999)"))
    with pytest.raises(FileFormatError):
        graphs.read(path)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint8, bool])
def test_scipy_sparse(tmp_path: Path, layout: str, kind: str, dtype: type, packed: bool) -> None:
    entries = (np.array([3, 0, 1], dtype=dtype), ([0, 1, 2], [1, 2, 2]))
    made = getattr(scipy.sparse, f"coo_{kind}")(entries, shape=(4, 4)).asformat(layout)
    path = tmp_path / "s.npz"
    scipy.sparse.save_npz(path, made)
    if packed:
        pack(path)
    table = edges(path)
    found = sorted(zip(table.sources.tolist(), table.targets.tolist(), strict=True))
    # The stored zero is an edge.
    assert found == [(0, 1), (1, 2), (2, 2)]
    assert table.weights is not None
    assert sorted(table.weights.tolist()) == sorted(entries[0].tolist())
    assert (table.weights.dtype, table.sources.dtype) == (dtype, np.int64)
    assert (table.n, table.labels, table.directed) == (4, None, True)


@pytest.mark.parametrize("layout", ["bsr", "dia"])
def test_scipy_layouts_with_filling(tmp_path: Path, layout: str) -> None:
    path = tmp_path / "s.npz"
    scipy.sparse.save_npz(path, scipy.sparse.eye_array(4).asformat(layout))
    with pytest.raises(FileFormatError, match=f"csr or csc or coo, found {layout}"):
        graphs.read(path)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (scipy.sparse.csr_array((2, 3)), "square"),
        (scipy.sparse.csr_array(np.array([[np.nan]])), "nan at 0"),
        (scipy.sparse.csr_array(np.array([[1j]])), "complex128"),
    ],
)
def test_scipy_matrix_that_is_no_graph(tmp_path: Path, matrix: Any, message: str) -> None:
    path = tmp_path / "s.npz"
    scipy.sparse.save_npz(path, matrix)
    with pytest.raises(FileFormatError, match=message):
        graphs.read(path)


def test_scipy_indices_out_of_range(tmp_path: Path) -> None:
    path = tmp_path / "s.npz"
    good = {"format": b"csr", "shape": [2, 2], "data": [1.0, 1.0]}
    for change in (
        {"indices": [0, 9], "indptr": [0, 1, 2]},
        {"indices": [0, 1], "indptr": [0, 9, 2]},
    ):
        np.savez(path, **(good | change))
        with pytest.raises(FileFormatError, match=r"whole scipy\.sparse file"):
            graphs.read(path)


def test_missing_scipy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.npz"
    scipy.sparse.save_npz(path, scipy.sparse.eye_array(2).tocsr())
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(MissingExtraError, match=r"warpladder\[sparse\]"):
        graphs.read(path)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint16"])
def test_parquet(tmp_path: Path, dtype: str, packed: bool) -> None:
    path = tmp_path / "p.parquet"
    columns = {"km": np.array([5, 6], dtype), "to": [3, 9], "from": [7, 3], "note": ["x", None]}
    pq.write_table(pa.table(columns), path)
    if packed:
        pack(path)
    table = edges(path)
    assert table.labels == [3, 7, 9]
    assert (table.sources.tolist(), table.targets.tolist()) == ([1, 0], [0, 2])
    assert table.weights is not None
    assert (table.weights.tolist(), table.weights.dtype) == ([5, 6], dtype)


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]
)
def test_parquet_names(tmp_path: Path, kind: Any) -> None:
    path = tmp_path / "p.pq"
    column = {"source": pa.array(["b", "a"], kind), "target": pa.array(["a", "c"], kind)}
    pq.write_table(pa.table(column), path)
    table = edges(path, directed=False)
    assert (table.labels, table.weights, table.directed) == (["a", "b", "c"], None, False)


@pytest.mark.parametrize(
    ("sources", "targets"),
    [
        ([2**53, 2**53 + 1], [2**53 + 1, 2**53 + 2]),
        ([2**64 - 2, 2**64 - 1], [-1, 2**63 - 1]),
    ],
)
def test_parquet_ids_of_two_integer_types(
    tmp_path: Path, sources: list[int], targets: list[int]
) -> None:
    path = tmp_path / "p.parquet"
    columns = {"source": pa.array(sources, pa.uint64()), "target": pa.array(targets, pa.int64())}
    pq.write_table(pa.table(columns), path)
    table = edges(path)
    assert table.labels == sorted({*sources, *targets})
    assert all(type(label) is int for label in table.labels)
    assert [table.labels[i] for i in table.sources] == sources
    assert [table.labels[i] for i in table.targets] == targets


def test_an_archive_of_other_files(tmp_path: Path) -> None:
    path = tmp_path / "roads.csv.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("roads.csv", "a,b,1\n")
    with pytest.raises(FileFormatError, match=r"arrays, found 'roads\.csv' in it; unpack it first"):
        graphs.read(path)


def test_parquet_chosen_columns(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"a": [0], "b": [1], "c": [2.5], "d": ["x"]}), path)
    table = edges(path, source="d", target=1, weight="c")
    assert table.labels == ["1", "x"]
    assert table.weights is not None
    assert table.weights.tolist() == [2.5]
    with pytest.raises(InputError, match="columns found: 'a', 'b', 'c', 'd'"):
        graphs.read(path)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_parquet_that_is_a_table_of_distances(tmp_path: Path, n: int) -> None:
    path = tmp_path / "d.parquet"
    write_distances(path, np.ones((n, n), int), None)
    with pytest.raises(InputError, match=r"'vertex', as in a table of distances, .* as \.npz"):
        graphs.read(path)
    if n > 1:
        assert graphs.read(path, source="vertex", target="0").n > 0
    # Edges may be those of vertices, too.
    pq.write_table(pa.table({"vertex": [7], "source": [0], "target": [1], "weight": [2]}), path)
    assert edges(path).n == 2


def test_parquet_columns_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    columns = [pa.array(column) for column in ([0], [1], [2.5], [7], ["x"])]
    names = ["source", "target", "km", "km", "x.km"]
    pq.write_table(pa.Table.from_arrays(columns, names=names), path)
    for number, weight in ((2, 2.5), (3, 7)):
        weights = edges(path, weight=number).weights
        assert weights is not None
        assert weights.tolist() == [weight]
    with pytest.raises(InputError, match="weight='km' stands there twice; give its number"):
        graphs.read(path, weight="km")


def test_parquet_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    pq.write_table(
        pa.table({"source": pa.array([], pa.string()), "target": pa.array([], pa.string())}), path
    )
    assert edges(path).n == 0


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"source": [0, None], "target": [1, 2]}, "column 'source', found none in row 1"),
        (
            {"source": [0, 1], "target": [1, 2], "weight": [1.0, None]},
            "'weight', found none in row 1",
        ),
        (
            {"source": [0.5], "target": [1.5]},
            "integers or text in column 'source', found type double",
        ),
        ({"source": [0], "target": [1], "weight": [np.nan]}, "nan at 0"),
        ({"source": [0], "target": [1], "weight": ["x"]}, "real numbers"),
        (
            {"source": [0], "target": [1], "weight": [Decimal("1.5")]},
            r"real numbers .*, found type decimal128\(2, 1\) in column 'weight'",
        ),
    ],
)
def test_parquet_that_is_no_graph(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table(columns), path)
    with pytest.raises(FileFormatError, match=message):
        graphs.read(path)


def test_missing_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"reading Parquet .*warpladder\[parquet\]"):
        graphs.read(tmp_path / "p.parquet")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"matrix": np.eye(2), "labels": ["a", "a"]}, "labels: 'a' appears twice"),
        ({"matrix": np.full((2, 2), 2**63, np.uint64)}, "9223372036854775808 does not fit int64"),
        ({"matrix": np.eye(2, dtype=np.longdouble)}, "real numbers of up to 64 bits"),
    ],
)
def test_what_is_refused_after_reading_names_the_file(
    tmp_path: Path, arrays: dict[str, Any], message: str
) -> None:
    if arrays["matrix"].dtype.itemsize == 8 and "bits" in message:
        pytest.skip("this machine's long double is a double")
    path = tmp_path / "m.npz"
    np.savez(path, **arrays)
    with pytest.raises(InputError, match=message) as raised:
        read_graph(path)
    assert str(path) in str(raised.value)


def test_extended_floats_in_npy(tmp_path: Path) -> None:
    path = tmp_path / "m.npy"
    np.save(path, np.eye(2, dtype=np.longdouble))
    if np.dtype(np.longdouble).itemsize == 8:
        pytest.skip("this machine's long double is a double")
    for read in (read_graph, reduce):
        with pytest.raises((InputError, InputTypeError)) as raised:
            read(path)
        assert str(path) in str(raised.value)
