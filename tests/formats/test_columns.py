"""Columns are taken by the names in the header, in text and in Parquet alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from warpladder.errors import InputError
from warpladder.formats import graphs
from warpladder.formats.edges import EdgeTable

if TYPE_CHECKING:
    from pathlib import Path

both_formats = pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])


def table_file(folder: Path, suffix: str, columns: dict[str, Any]) -> Path:
    """A file of one row."""
    path = folder / f"roads.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.table({name: [value] for name, value in columns.items()}), path)
    else:
        sign = "," if suffix == "csv" else "\t"
        rows = (sign.join(map(str, row)) for row in (columns, columns.values()))
        path.write_text("\n".join(rows) + "\n")
    return path


def read(path: Path, **options: Any) -> EdgeTable:
    table = graphs.read(path, **options)
    assert isinstance(table, EdgeTable)
    return table


def only_edge(table: EdgeTable) -> tuple[Any, ...]:
    assert table.labels is not None
    ends = (table.labels[table.sources[0]], table.labels[table.targets[0]])
    return *ends, None if table.weights is None else table.weights[0], table.weight_column


@both_formats
@pytest.mark.parametrize("name", ["id", "ID", "key", "Edge ID", "link_id", "note", "Unnamed: 0"])
def test_what_numbers_or_names_the_edges_is_no_weight(
    tmp_path: Path, suffix: str, name: str
) -> None:
    ends = {"source": "A", "target": "B"}
    for columns in ({name: 100, **ends}, {**ends, name: 100}):
        path = table_file(tmp_path, suffix, columns)
        assert only_edge(read(path)) == ("A", "B", None, None)
        # Who asks for it gets it.
        assert only_edge(read(path, weight=name)) == ("A", "B", 100, name)
        path = table_file(tmp_path, suffix, {"km": 5, **columns})
        assert only_edge(read(path)) == ("A", "B", 5, "km")


@both_formats
@pytest.mark.parametrize(
    ("source", "target", "weight"),
    [
        ("source", "target", "weight"),
        ("from", "to", "cost"),
        ("src", "dst", "distance"),
        ("u", "v", "w"),
        ("tail", "head", "length"),
        ("From Node", "To Node", "Travel Time"),
        ("source_id", "target_id", "value"),
        ("start.node", "end.node", "minutes"),
        ("init_node", "term_node", "free_flow_time"),
        ("Origin", "Destination", "Miles"),
    ],
)
def test_usual_names_in_any_order(
    tmp_path: Path, suffix: str, source: str, target: str, weight: str
) -> None:
    columns = {weight: 7, "id": 3, target: "B", "colour": 4, source: "A"}
    found = only_edge(read(table_file(tmp_path, suffix, columns)))
    assert found == ("A", "B", 7, weight)


@both_formats
@pytest.mark.parametrize("others", [{"score": 4}, {"x": 4, "y": 5}, {"km": 4, "cost": 5}])
def test_a_weight_that_is_not_clear_is_asked_for(
    tmp_path: Path, suffix: str, others: dict[str, int]
) -> None:
    first = next(iter(others))
    path = table_file(tmp_path, suffix, {"source": "A", **others, "target": "B"})
    with pytest.raises(InputError) as raised:
        read(path)
    message = str(raised.value)
    assert str(path) in message
    assert all(repr(name) in message for name in ("source", "target", *others))
    assert f"give weight={first!r}, say, or only source='source' target='target' for" in message
    # What the message says helps.
    assert only_edge(read(path, weight=first)) == ("A", "B", 4, first)
    assert only_edge(read(path, source="source", target="target")) == ("A", "B", None, None)


@both_formats
def test_more_digits_than_python_takes_are_no_column(tmp_path: Path, suffix: str) -> None:
    path = table_file(tmp_path, suffix, {"source": "A", "target": "B", "km": 4})
    for options in ({"weight": "7" * 5000}, {"source": "7" * 5000, "target": 1}):
        with pytest.raises(InputError, match="7' is no column; columns found"):
            read(path, **options)


def test_a_column_without_a_header_is_told_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "roads.edges"
    path.write_text("A B 5\n")
    assert only_edge(read(path)) == ("A", "B", 5, 2)
    assert only_edge(read(path, directed=False).with_both_directions())[3] == 2
    path.write_text("A B\n")
    assert only_edge(read(path)) == ("A", "B", None, None)


@both_formats
def test_many_and_long_names_are_not_listed_whole(tmp_path: Path, suffix: str) -> None:
    columns = {"source": "A", "target": "B"} | {f"{i}{'x' * 5000}": 1 for i in range(50)}
    path = table_file(tmp_path, suffix, columns)
    for options in ({}, {"weight": "z"}):
        with pytest.raises(InputError, match=r"\(52 in all\)") as raised:
            read(path, **options)
        assert len(str(raised.value)) < 400 + len(str(path))


TNTP = """<NUMBER OF NODES> 3
<NUMBER OF LINKS> 2
<END OF METADATA>
"""
NAMES = "~\tInit node\tTerm node\tCapacity\tLength\tFree Flow Time\tB\tPower\tSpeed limit\tToll\t"
ROWS = ["1\t2\t9\t6\t4.5\t9\t9\t9\t0\t1", "2\t3\t9\t6\t7\t9\t9\t9\t0\t1"]


@pytest.mark.parametrize("last", [None, "Type\t;", "Type;\t ", "Type\t", "", " ", "\t;", " \t; "])
@pytest.mark.parametrize("ends", [("\t;", "\t;"), (";", ""), ("", ""), (" \t", ";  ")])
def test_tntp_as_it_is_published(tmp_path: Path, last: str | None, ends: tuple[str, str]) -> None:
    """Some networks have rows without the semicolon, one has a last column without a name."""
    path = tmp_path / "town_net.tntp"
    rows = "".join(f"\t{row}{end}\n" for row, end in zip(ROWS, ends, strict=True))
    names = "" if last is None else f"{NAMES}{last}\n"
    path.write_text(f"{TNTP}\n\n{names}{rows}")
    table = read(path)
    assert table.weights is not None
    edges = list(zip(table.sources.tolist(), table.targets.tolist(), strict=True))
    assert (edges, table.weights.tolist(), table.n) == ([(0, 1), (1, 2)], [4.5, 7], 3)
    with pytest.raises(InputError, match="7' is no column of weights"):
        read(path, weight="7" * 5000)
    assert table.weight_column == "free_flow_time"
    if names:
        path.write_text(path.read_text().replace("Free Flow Time", "FFT"))
        message = "there is no column 'free_flow_time', which is taken for the weight unless"
        with pytest.raises(InputError, match=message):
            read(path)
        assert read(path, weight="fft").weight_column == "fft"
        path.write_text(path.read_text().replace("FFT", "Free Flow Time"))
    if names:
        assert read(path, weight="speed limit").weight_column == "speed_limit"
    last = read(path, weight=9)
    assert last.weights is not None
    assert last.weights.tolist() == [1, 1]
