"""Distance matrices in files."""

from __future__ import annotations

import csv
import sys
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from warpladder.errors import InputError, InputTypeError, MissingExtraError
from warpladder.formats import distances, graphs
from warpladder.formats.distances import check_target, write_distances
from warpladder.formats.edges import DenseTable, EdgeTable

if TYPE_CHECKING:
    from pathlib import Path

MATRIX = np.array([[0, 0.1, np.inf], [2, 0, 3], [np.inf, np.inf, 0]])
LABELS = ["a", "b,c", 'd"é']


@pytest.mark.parametrize("name", ["d.npy", "d.npz", "d.npy.gz"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("labels", [None, LABELS, [7, 8, 9]])
def test_numpy_round_trip(
    tmp_path: Path, name: str, dtype: type, n: int, labels: list[Any] | None
) -> None:
    matrix = np.where(np.isinf(MATRIX), 99, MATRIX)[:n, :n].astype(dtype)
    write_distances(tmp_path / name, matrix, labels if labels is None else labels[:n])
    back = graphs.read(tmp_path / name)
    assert isinstance(back, DenseTable)
    np.testing.assert_array_equal(back.matrix, matrix)
    assert back.matrix.dtype == dtype
    has_labels = "npz" in name and labels is not None
    assert back.labels == (labels[:n] if has_labels and labels is not None else None)


def test_npz_has_scipys_name(tmp_path: Path) -> None:
    write_distances(tmp_path / "d.npz", MATRIX, LABELS)
    with np.load(tmp_path / "d.npz", allow_pickle=False) as stored:
        assert set(stored) == {"dist_matrix", "labels"}


def test_labels_of_mixed_kinds_become_text(tmp_path: Path) -> None:
    write_distances(tmp_path / "d.npz", np.zeros((2, 2)), ["a", (1, 2)])
    with np.load(tmp_path / "d.npz", allow_pickle=False) as stored:
        assert stored["labels"].tolist() == ["a", "(1, 2)"]
    write_distances(tmp_path / "d.npz", np.zeros((2, 2)), [1, 10**30])
    with np.load(tmp_path / "d.npz", allow_pickle=False) as stored:
        assert stored["labels"].tolist() == ["1", str(10**30)]


def test_members_of_enumerations_are_what_they_equal(tmp_path: Path) -> None:
    cities = list(Enum("City", {"OSLO": "Oslo", "ROME": "Rome"}, type=str))
    for suffix in ("npz", "csv", "parquet"):
        write_distances(tmp_path / f"d.{suffix}", np.zeros((2, 2)), cities)
    assert distances.read_distances(tmp_path / "d.npz").labels == ["Oslo", "Rome"]
    assert (tmp_path / "d.csv").read_text() == ",Oslo,Rome\nOslo,0.0,0.0\nRome,0.0,0.0\n"
    table = pq.read_table(tmp_path / "d.parquet")
    assert table.column_names == ["vertex", *table["vertex"].to_pylist()] == ["vertex", *cities]
    edge = EdgeTable(np.array([0]), np.array([1]), None, 2, cities, directed=True)
    graphs.write(tmp_path / "g.hb", edge)
    assert (tmp_path / "g.hb").read_text() == "Oslo Rome 1\n--END--\n"


@pytest.mark.parametrize("order", ["C", "F"])
def test_csv(tmp_path: Path, order: Any) -> None:
    path = tmp_path / "d.csv"
    write_distances(path, np.asarray(MATRIX, order=order), LABELS, no_path=np.inf)
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["", *LABELS],
        ["a", "0.0", "0.1", ""],
        ["b,c", "2.0", "0.0", "3.0"],
        ['d"é', "", "", "0.0"],
    ]


@pytest.mark.parametrize(
    ("matrix", "no_path", "expected"),
    [
        ([[0, -1], [5, 0]], -1, ",0,1\n0,0,\n1,5,0\n"),
        ([[0, -1], [5, 0]], None, ",0,1\n0,0,-1\n1,5,0\n"),
        ([[0.0, np.inf], [5, 0]], None, ",0,1\n0,0.0,inf\n1,5.0,0.0\n"),
        ([[0.0, np.nan], [5, 0]], np.nan, ",0,1\n0,0.0,\n1,5.0,0.0\n"),
        (np.array([[0, 0.1], [np.inf, 0]], np.float32), np.inf, ",0,1\n0,0.0,0.1\n1,,0.0\n"),
        (np.zeros((0, 0)), None, '""\n'),
    ],
)
def test_csv_cells(tmp_path: Path, matrix: Any, no_path: float | None, expected: str) -> None:
    write_distances(tmp_path / "d.csv", matrix, None, no_path=no_path)
    assert (tmp_path / "d.csv").read_text() == expected


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "d.parquet"
    write_distances(path, MATRIX, LABELS, no_path=np.inf)
    table = pq.read_table(path).to_pydict()
    assert table == {
        "vertex": LABELS,
        "a": [0, 2, None],
        "b,c": [0.1, 0, None],
        'd"é': [None, 3, 0],
    }
    write_distances(path, np.float32(MATRIX), None)
    table = pq.read_table(path)
    assert table["vertex"].to_pylist() == [0, 1, 2]
    assert table["1"].to_pylist() == [np.float32(0.1), 0, np.inf]
    assert str(table["1"].type) == "float"


@pytest.mark.parametrize(
    ("names", "labels", "told"),
    [
        (["d.npz", "d.csv", "d.csv.gz", "d.parquet"], ["1", 1, "x"], "'1' is the text of two"),
        (["d.npz", "d.csv", "d.parquet"], [1.5, "x", "1.5"], r"'1\.5' is the text of two"),
        (["d.npz"], ["a", "b", "a\0"], r"'a\\x00' ends with a NUL"),
        (["d.csv", "d.parquet"], ["a", "b", "\ud800"], r"'\\ud800' holds a character"),
        (["d.parquet"], ["vertex", "a", "b"], "'vertex' is the name of the column"),
    ],
)
def test_labels_that_a_file_would_not_give_back(
    tmp_path: Path, names: list[str], labels: list[Any], told: str
) -> None:
    for name in names:
        with pytest.raises(InputError, match=f"^labels: {told}.* so .* cannot hold them"):
            write_distances(tmp_path / name, MATRIX, labels)
        assert list(tmp_path.iterdir()) == []


def test_odd_labels_that_a_file_gives_back(tmp_path: Path) -> None:
    write_distances(tmp_path / "d.npy", MATRIX, ["1", 1, "a\0"])
    labels = ["a\0b", "vertex", "\ud800"]
    write_distances(tmp_path / "d.npz", MATRIX, labels)
    assert distances.read_distances(tmp_path / "d.npz").labels == labels
    labels = ["a\rb", "\r", "a,\n"]
    write_distances(tmp_path / "d.csv", MATRIX, labels)
    with (tmp_path / "d.csv").open(newline="") as file:
        heading, *rows = csv.reader(file)
    assert heading[1:] == [name for name, *_ in rows] == labels


def test_check_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in distances.DISTANCE_FORMATS:
        check_target(tmp_path / f"d{name}")
        check_target(str(tmp_path / f"d{name.upper()}"))
    for name in ("d.csv.gz", "d.npy.GZ"):
        check_target(tmp_path / name)
    for name in ("d.npz.gz", "d.parquet.gz"):
        with pytest.raises(InputError, match="archive already; drop the"):
            check_target(tmp_path / name)
    for name in ("d", "d.txt", "d.gz"):
        with pytest.raises(InputError, match=r"\.npy, \.npz, \.csv, \.parquet"):
            check_target(tmp_path / name)
    with pytest.raises(InputError, match="there is no folder"):
        check_target(tmp_path / "none" / "d.npy")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"writing Parquet .*warpladder\[parquet\]"):
        check_target(tmp_path / "d.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("matrix", "labels", "error", "message"),
    [
        (np.zeros((2, 3)), None, InputError, "square"),
        (np.zeros(3), None, InputError, "square"),
        (np.zeros((2, 2)), ["a"], InputError, "labels has 1 items"),
        (np.zeros((2, 2), complex), None, InputTypeError, "complex128"),
        ([["a"]], None, InputTypeError, "<U1"),
    ],
)
def test_refused(
    tmp_path: Path, matrix: Any, labels: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        write_distances(tmp_path / "d.npy", matrix, labels)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["d.csv", "d.csv.gz"])
def test_interrupted_csv_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / name
    path.write_text("old")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(distances, "_cells", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_distances(path, MATRIX, None)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
