"""Well-formed files of every text format, in every dress they come in."""

from __future__ import annotations

import gzip
import math
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pytest
import scipy.io
import scipy.sparse

import warpladder as wl
from warpladder.errors import FileFormatError, InputError, InputTypeError
from warpladder.formats import graphs
from warpladder.formats.edges import EdgeTable

if TYPE_CHECKING:
    from pathlib import Path

TNTP = """<NUMBER OF ZONES> 3
<NUMBER OF NODES> 3
<FIRST THRU NODE> 1
<NUMBER OF LINKS> 2
<END OF METADATA>


~ \tinit_node\tterm_node\tcapacity\tlength\tfree_flow_time\tb\tpower\tspeed\ttoll\tlink_type\t;
\t1\t2\t25900.2\t6\t4.5\t0.15\t4\t0\t0\t1\t;
\t2\t3\t23403.4\t4\t7\t0.15\t4\t0\t0\t1;
"""

TNTP_OLDER = TNTP.replace("~ \tinit", "~ a comment\n~ \tInit").replace(
    "free_flow_time", "Free Flow Time"
)
TNTP_WITHOUT_NAMES = "\n".join(line for line in TNTP.split("\n") if "~" not in line)


def read(path: Path, content: str | bytes, **options: Any) -> EdgeTable:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    table = graphs.read(path, **options)
    assert isinstance(table, EdgeTable)
    assert table.sources.dtype == table.targets.dtype == np.int64
    return table


def plain(table: EdgeTable) -> tuple[Any, ...]:
    """Everything in a table as values that compare."""
    weights = None if table.weights is None else table.weights.tolist()
    labels = None if table.labels is None else list(table.labels)
    edges = list(zip(table.sources.tolist(), table.targets.tolist(), strict=True))
    return edges, weights, table.n, labels, table.directed


LONG = "x" * 500
HB = ([(0, 1), (1, 2), (2, 2)], [5, -2, 0], 3, ["a", "b", "c"], True)
ONE_TO_THREE = [1, 2, 3]
GOOD = [
    ("hb", "a b 5\nb c -2\nc c 0\n--END--\n", HB),
    ("hb", "a b 5\r\nb c -2\r\nc c 0\r\n--END--\r\n", HB),
    ("hb", "a b 5\rb c -2\rc c 0\r--END--\r", HB),
    ("hb", "\ufeffa b 5\nb c -2\nc c 0\n--END--", HB),
    ("hb", "\n  a\t b   5 \n\nb c -2\t\nc c +0\n --END-- \nwhat follows\nis not read", HB),
    ("hb", "--END--\n", ([], [], 0, None, True)),
    ("hb", "é 日本 1.5\n--END--\n", ([(0, 1)], [1.5], 2, ["é", "日本"], True)),
    ("hb", "#a %b 1\n--END--\n", ([(0, 1)], [1], 2, ["#a", "%b"], True)),
    ("hb", "a b inf\nb a 1e3\n--END--\n", ([(0, 1), (1, 0)], [math.inf, 1e3], 2, ["a", "b"], True)),
    ("hb", "a b 1\na b 2\n--END--\n", ([(0, 1), (0, 1)], [1, 2], 2, ["a", "b"], True)),
    (
        "hb",
        f"{LONG} b 1\nb {LONG}x 2\n--END--\n",
        ([(1, 0), (0, 2)], [1, 2], 3, ["b", LONG, f"{LONG}x"], True),
    ),
    ("hb", "10 9 7\n9 0 7\n--END--\n", ([(2, 1), (1, 0)], [7, 7], 3, ["0", "9", "10"], True)),
    (
        "gr",
        "c road\n\np sp 3 2\nc more\na 1 2 5\na 3 3 7\n",
        ([(0, 1), (2, 2)], [5, 7], 3, ONE_TO_THREE, True),
    ),
    ("gr", "p sp 3 0", ([], [], 3, ONE_TO_THREE, True)),
    ("gr", "p sp 1 1\na 1 1 .5", ([(0, 0)], [0.5], 1, [1], True)),
    ("gr", "p sp 0 0\n", ([], [], 0, [], True)),
    (
        "mtx",
        "%%MatrixMarket matrix coordinate integer general\n% c\n\n3 3 2\n1 2 5\n\n3 3 0\n",
        ([(0, 1), (2, 2)], [5, 0], 3, ONE_TO_THREE, True),
    ),
    (
        "mtx",
        "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 5\n",
        ([(0, 1)], [5.0], 2, [1, 2], True),
    ),
    (
        "mtx",
        "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 100000000000000000000\n",
        ([(0, 1)], [1e20], 2, [1, 2], True),
    ),
    (
        "mtx",
        "%%matrixmarket MATRIX Coordinate Pattern Symmetric\n2 2 1\n2 1\n",
        ([(1, 0)], None, 2, [1, 2], False),
    ),
    ("mtx", "%%MatrixMarket matrix coordinate pattern general\n0 0 0", ([], None, 0, [], True)),
    ("graph", "% c\n3 2\n2\n1 3\n2\n", ([(0, 1), (1, 2)], None, 3, ONE_TO_THREE, False)),
    ("graph", "3 1\n2\n% between\n1\n\n\n  \n", ([(0, 1)], None, 3, ONE_TO_THREE, False)),
    ("graph", "3 1\n2\n1\n", ([(0, 1)], None, 3, ONE_TO_THREE, False)),
    ("graph", "3 1 001\n2 5\n1 5\n\n", ([(0, 1)], [5], 3, ONE_TO_THREE, False)),
    ("graph", "2 1 1\n2 5.5\n1 5.5\n", ([(0, 1)], [5.5], 2, [1, 2], False)),
    ("graph", "2 1 1\n2 5\n1 4\n", ([(0, 1), (1, 0)], [5, 4], 2, [1, 2], False)),
    ("graph", "2 1 11 2\n8 9 2 5\n8 9 1 5\n", ([(0, 1)], [5], 2, [1, 2], False)),
    ("graph", "2 1 110\n7 8 2\n7 8 1\n", ([(0, 1)], None, 2, [1, 2], False)),
    ("graph", "2 2\n1 2\n1\n", ([(0, 1), (0, 0)], None, 2, [1, 2], False)),
    ("graph", "1 1\n1 1\n", ([(0, 0), (0, 0)], None, 1, [1], False)),
    ("graph", "0 0\n", ([], None, 0, [], False)),
    ("graph", "1 0\n\n", ([], None, 1, [1], False)),
    ("csv", "source,target,weight\n0,1,5\n2,1,6\n", ([(0, 1), (2, 1)], [5, 6], 3, None, True)),
    ("csv", "from,to,km\r\na, b ,5.5\r\n", ([(0, 1)], [5.5], 2, ["a", "b"], True)),
    (
        "csv",
        'a,"b, c",5\n"say ""x""",a,6',
        ([(0, 1), (2, 0)], [5, 6], 3, ["a", "b, c", 'say "x"'], True),
    ),
    ("csv", 'from,to\n"a\x1fb",c', ([(0, 1)], None, 2, ["a\x1fb", "c"], True)),
    ("csv", "source;target;weight\n7;3;5\n", ([(1, 0)], [5], 2, [3, 7], True)),
    ("csv", "km,dst,src\n5,a,b\n", ([(1, 0)], [5], 2, ["a", "b"], True)),
    ("csv", "id,tail,head,cost,note\n1,a,b,5,\n", ([(0, 1)], [5], 2, ["a", "b"], True)),
    ("csv", ",source,target,weight\n0,a,b,5\n", ([(0, 1)], [5], 2, ["a", "b"], True)),
    ("csv", "source,target,weight\n", ([], [], 0, None, True)),
    (
        "csv",
        '#c,a,7\na,b,5\n# c,a,7\n"#c",a,6\n',
        ([(1, 2), (0, 1)], [5, 6], 3, ["#c", "a", "b"], True),
    ),
    ("csv", "1,2,5\n#2,3,6\n#off\n", ([(0, 1)], [5], 2, [1, 2], True)),
    ("csv", '"Smith; J",B,5\n', ([(1, 0)], [5], 2, ["B", "Smith; J"], True)),
    (
        "txt",
        '"from" "to"  "km"\n"New York" "b, c" 5 \n"#d" e 6\n# off\n',
        ([(1, 2), (0, 3)], [5, 6], 4, ["#d", "New York", "b, c", "e"], True),
    ),
    ("txt", '"01" "1" 5\n', ([(0, 1)], [5], 2, ["01", "1"], True)),
    ("tsv", "New York\tBoston\t5\n", ([(1, 0)], [5], 2, ["Boston", "New York"], True)),
    (
        "txt",
        "# Undirected graph: x\n# From To\n10\t7\n7\t9\n",
        ([(2, 0), (0, 1)], None, 3, [7, 9, 10], False),
    ),
    ("txt", "# Directed graph\n# no undirected graph\n0 1\n", ([(0, 1)], None, 2, None, True)),
    (
        "edges",
        "% sym weighted\n1 2 5\n# c\n2 3 6",
        ([(0, 1), (1, 2)], [5, 6], 3, ONE_TO_THREE, False),
    ),
    ("edges", "% asym weighted\n1 2\t5", ([(0, 1)], [5], 2, [1, 2], True)),
    ("edges", "s 1\n1 t\n", ([(1, 0), (0, 2)], None, 3, ["1", "s", "t"], True)),
    (
        "edges",
        f"1 2\n-3 {10**20}\n",
        ([(1, 3), (0, 2)], None, 4, ["-3", "1", str(10**20), "2"], True),
    ),
    ("edges", "1 2 3\n2 1 3.5\n", ([(0, 1), (1, 0)], [3.0, 3.5], 2, [1, 2], True)),
    ("edges", "0 0 4", ([(0, 0)], [4], 1, None, True)),
    ("el", "# only a comment\n", ([], None, 0, None, True)),
    ("tntp", TNTP, ([(0, 1), (1, 2)], [4.5, 7.0], 3, ONE_TO_THREE, True)),
    ("tntp", TNTP_OLDER, ([(0, 1), (1, 2)], [4.5, 7.0], 3, ONE_TO_THREE, True)),
    ("tntp", TNTP_WITHOUT_NAMES, ([(0, 1), (1, 2)], [4.5, 7.0], 3, ONE_TO_THREE, True)),
]


@pytest.mark.parametrize(("suffix", "content", "expected"), GOOD)
@pytest.mark.parametrize("packed", [False, True])
def test_good_file(
    tmp_path: Path, suffix: str, content: str, expected: tuple[Any, ...], packed: bool
) -> None:
    data = content.encode()
    # Packed content is known by its bytes, so the name says nothing of it.
    table = read(tmp_path / f"g.{suffix}", gzip.compress(data) if packed else data)
    assert plain(table) == expected
    if table.weights is not None and expected[1]:
        is_float = any(isinstance(weight, float) for weight in expected[1])
        assert table.weights.dtype == (np.float64 if is_float else np.int64)


@pytest.mark.parametrize("name", ["g", "g.txt", "g.dat.gz", "g.xyz"])
@pytest.mark.parametrize(
    ("content", "labels"),
    [
        ("a b 5\n--END--\n", ["a", "b"]),
        ("c x\np sp 2 1\na 1 2 5\n", [1, 2]),
        ("%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 5\n", [1, 2]),
        (TNTP, ONE_TO_THREE),
        ("a\tb\t5\n", ["a", "b"]),
    ],
)
def test_format_from_content(tmp_path: Path, name: str, content: str, labels: list[Any]) -> None:
    table = read(tmp_path / name, content)
    assert table.labels is not None
    assert list(table.labels) == labels


@pytest.mark.parametrize("content", ["P SP 3 1\nA 1 2 3\n", "p SP 3 1\na 1 2 3\n"])
def test_dimacs_is_in_lower_case(tmp_path: Path, content: str) -> None:
    """What is not read as DIMACS is not taken for it either."""
    with pytest.raises(FileFormatError, match="a problem line 'p sp N M'"):
        read(tmp_path / "g.gr", content)
    with pytest.raises(InputError, match="not clear which columns hold the edges"):
        read(tmp_path / "g.txt", content)


def test_extension_before_gz_counts(tmp_path: Path) -> None:
    table = read(tmp_path / "G.GRAPH.GZ", gzip.compress(b"2 1\n2\n1\n"))
    assert plain(table) == ([(0, 1)], None, 2, [1, 2], False)


def test_explicit_format_overrides_the_extension(tmp_path: Path) -> None:
    assert read(tmp_path / "g.gr", "a b 5\n--END--", format="hochberg").labels == ["a", "b"]


@pytest.mark.parametrize(
    ("options", "edges", "weights"),
    [
        ({"source": "u2", "target": "u1", "weight": "w1"}, [("b", "a")], [1]),
        ({"source": 0, "target": 1, "weight": 3}, [("a", "b")], [2]),
        ({"source": "0", "target": "1"}, [("a", "b")], None),
        ({"source": "u1", "target": "u2", "delimiter": ","}, [("a", "b")], None),
    ],
)
def test_chosen_columns(
    tmp_path: Path, options: dict[str, Any], edges: list[Any], weights: list[int] | None
) -> None:
    table = read(tmp_path / "g.csv", "u1,u2,w1,w2\na,b,1,2\n", header=True, **options)
    assert table.labels is not None
    found = [(table.labels[u], table.labels[v]) for u, v in plain(table)[0]]
    assert (found, plain(table)[1]) == (edges, weights)


def test_header_said_or_found(tmp_path: Path) -> None:
    path = tmp_path / "g.edges"
    assert read(path, "p q\n1 2\n", header=True).labels == [1, 2]
    assert read(path, "p q\n1 2\n", header=False).labels == ["1", "2", "p", "q"]
    assert read(path, "source target\n", header=False).labels == ["source", "target"]
    assert read(path, "p q r\n1 2 3\n", source="p", target="r").labels == [1, 3]


def test_delimiter_said(tmp_path: Path) -> None:
    path = tmp_path / "g.edges"
    assert read(path, "a,b c 5\n", delimiter=" ").labels == ["a,b", "c"]
    assert read(path, "a|b|5\n", delimiter="|").labels == ["a", "b"]
    with pytest.raises(InputError, match="delimiter="):
        graphs.read(path, delimiter="||")


@pytest.mark.parametrize(
    ("content", "options", "labels"),
    [
        ("New York,Route 66\n", {}, ["New York", "Route 66"]),
        ("1 2 3,5\n", {"delimiter": ","}, ["1 2 3", "5"]),
        ('"1 2 3",5\n', {}, ["1 2 3", "5"]),
        ("from,to\n1 2 3,5\n", {}, ["1 2 3", "5"]),
        ('"1 2",3 4\n', {}, ["1 2", "3 4"]),
        ('"a b 3",5\n', {}, ["5", "a b 3"]),
        ("New York 3,Boston\n", {}, ["Boston", "New York 3"]),
        ("Route 66,5\n", {}, ["5", "Route 66"]),
        ("a b 3,5,7\n", {}, ["5", "a b 3"]),
        ("a b 3,5\n", {"delimiter": ","}, ["5", "a b 3"]),
    ],
)
def test_names_with_blanks_between_commas(
    tmp_path: Path, content: str, options: dict[str, Any], labels: list[str]
) -> None:
    assert read(tmp_path / "g.csv", content, **options).labels == labels


def test_dictionaries_behind_edges_whose_columns_are_given(tmp_path: Path) -> None:
    table = read(tmp_path / "g.edgelist", "a b {}\nb c {}\n", source=0, target=1)
    assert (table.labels, table.weights) == (["a", "b", "c"], None)


@pytest.mark.parametrize(
    ("content", "labels"),
    [
        ("01234 7\n1234 8\n", ["7", "8", "01234", "1234"]),
        ("7,01234\n8,1234\n", ["7", "8", "01234", "1234"]),
        ('"01",7\n"1",8\n', ["01", "1", "7", "8"]),
        ("1 7\n+1 8\n", ["+1", "1", "7", "8"]),
        ("7 -0\n8 0\n", ["-0", "0", "7", "8"]),
        ("7 -07 1\n-7 7 1\n", ["-07", "-7", "7"]),
        ("7 8 1e-05\n-7 0 1e+05\n", [-7, 0, 7, 8]),
        ("2.02\n1.2\n", ["1", "02", "2"]),
        (f"7 {'9' * 5000}\n8 1\n", ["1", "7", "8", "9" * 5000]),
        ("7 8 1e+05\n-7 0 01.5\n", [-7, 0, 7, 8]),
        ("7 8 -0\n-7 10 +3\n", [-7, 7, 8, 10]),
        ("7 8 +00\n-7 0 -0.5\n", [-7, 0, 7, 8]),
    ],
)
def test_ids_are_integers_where_all_are_written_as_printed(
    tmp_path: Path, content: str, labels: list[Any]
) -> None:
    delimiter = "." if "." in content.split(maxsplit=1)[0] else None
    table = read(tmp_path / "g.edges", content, delimiter=delimiter)
    assert table.labels == labels
    assert table.n == len(labels)


def test_a_padded_id_far_down_makes_text_of_all(tmp_path: Path) -> None:
    rows = [f"{number} {number + 1}" for number in range(20_000)]
    table = read(tmp_path / "g.edges", "\n".join([*rows, "007 7"]))
    assert table.n == 20_002
    assert table.labels is not None
    assert table.labels[6:9] == ["6", "007", "7"]


@pytest.mark.parametrize(("weight", "expected"), [("length", [6, 4]), (5, [0.15, 0.15])])
def test_tntp_weight(tmp_path: Path, weight: str | int, expected: list[float]) -> None:
    assert plain(read(tmp_path / "g.tntp", TNTP, weight=weight))[1] == expected


def test_tntp_zones_that_no_path_goes_through_are_remarked_on(tmp_path: Path) -> None:
    """Node 2 has links in and out; in zones 1 and 3 paths begin or end, whatever is said."""
    for first, is_said in ((1, False), (2, False), (3, True), (9, True)):
        content = TNTP.replace("THRU NODE> 1", f"THRU NODE> {first}")
        assert ("zones" in read(tmp_path / "g.tntp", content).remark) is is_said
        graph = wl.read_graph(tmp_path / "g.tntp")
        assert ("zones" in graph.remark) is is_said
        assert wl.shortest_paths(graph).why.endswith(graph.remark)
        assert (f"below {first}" in graph.remark) is is_said
    with pytest.raises(FileFormatError, match=r"line 3.*a node after '<FIRST THRU NODE>'"):
        read(tmp_path / "g.tntp", TNTP.replace("THRU NODE> 1", "THRU NODE> x"))


def test_tntp_unknown_weight_lists_the_columns(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"weight='cost'.*capacity, length, free_flow_time"):
        read(tmp_path / "g.tntp", TNTP, weight="cost")
    with pytest.raises(InputError, match="weight='init_node'"):
        read(tmp_path / "g.tntp", TNTP, weight="init_node")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a,b,c,d\n1,2,3,4\n", {"header": True}, "'a', 'b', 'c', 'd'; choose the source"),
        ("1 2 3 4\n", {}, "4 without names"),
        ("1\n", {}, "source and a target"),
        ("source,target,x,y\n1,2,3,4\n", {}, "which column is the weight"),
        ("source,target,cost,km\n1,2,3,4\n", {}, "which column is the weight"),
        ("source,target,u\n1,2,3\n", {}, "more than one column may be the source"),
        ("source,target\n1,2\n", {"source": "source"}, "both the source and the target"),
        ("source,target\n1,2\n", {"source": "source", "target": "x"}, "target='x' is no column"),
        ("source,target\n1,2\n", {"source": 0, "target": 2}, "target=2 is no column"),
        ("source,target\n1,2\n", {"source": 0, "target": 0}, "different columns"),
        ("from,to,km,km\n1,2,3,4\n", {"weight": "km"}, "weight='km' stands there twice; give its"),
        ("1 2 3\n", {"weight": 0}, "different columns"),
    ],
)
def test_unclear_columns(
    tmp_path: Path, content: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as raised:
        read(tmp_path / "g.edges", content, **options)
    assert message in str(raised.value)
    assert "g.edges" in str(raised.value)


def test_a_column_may_say_whether_edges_are_directed(tmp_path: Path) -> None:
    def table(*types: str, **options: Any) -> EdgeTable:
        rows = "".join(f"1,{i},{kind},{i},0.5\n" for i, kind in enumerate(types, 2))
        return read(tmp_path / "gephi.csv", f"Source,Target,Type,Id,Weight\n{rows}", **options)

    assert table("Undirected", '"undirected"').directed is False
    assert table("Directed").directed is True
    assert table("road", "").directed is True
    assert table("Undirected", "Directed", directed=False).directed is False
    with pytest.raises(FileFormatError, match="give directed=True or directed=False"):
        table("Undirected", "Directed")


def test_directed_argument(tmp_path: Path) -> None:
    metis = tmp_path / "g.graph"
    assert plain(read(metis, "2 1 1\n2 5\n1 5\n", directed=True))[:2] == ([(0, 1), (1, 0)], [5, 5])
    edges = tmp_path / "g.edges"
    assert plain(read(edges, "# Undirected graph\n0 1\n", directed=True))[0] == [(0, 1)]
    assert read(edges, "0 1\n", directed=False).directed is False
    assert read(tmp_path / "g.gr", "p sp 2 1\na 1 2 5\n", directed=False).directed is False


def test_options_of_other_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"header= does not apply .* for edges"):
        read(tmp_path / "g.gr", "p sp 0 0\n", header=True)


def test_unknown_format_lists_the_names(tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        graphs.read(tmp_path / "g", format="gml")
    assert all(name in str(raised.value) for name in graphs.FORMATS)


@pytest.mark.parametrize(
    "name", ["none.gr", "none", "none.npy", "none.parquet", "folder.gr", "folder"]
)
def test_unreadable_path_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.gr").mkdir()
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=name):
        graphs.read(tmp_path / name)


def test_permission_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(InputError, match=r"secret\.gr: Permission denied"):
        graphs.read(tmp_path / "secret.gr")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"header": "no"}, InputTypeError, "header='no' must be True or False"),
        ({"header": 0}, InputTypeError, "header=0 must be True or False"),
        ({"directed": "no"}, InputTypeError, "directed='no' must be True or False"),
        ({"delimiter": 3}, InputTypeError, "delimiter=3 must be text"),
        ({"format": []}, InputError, r"format=\[\] is not known"),
    ],
)
def test_arguments_of_a_wrong_kind(
    tmp_path: Path, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        read(tmp_path / "g.csv", "a,b,5\n", **options)


def test_truths_of_numpy_are_taken(tmp_path: Path) -> None:
    options = {"header": np.True_, "directed": np.False_}
    table = read(tmp_path / "g.csv", "source,target\na,b\n", **options)
    assert (table.directed, table.n) == (False, 2)


def test_path_of_a_wrong_type() -> None:
    with pytest.raises(InputTypeError, match="path must be"):
        graphs.read(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
def test_matrix_market_as_scipy_writes_it(tmp_path: Path, symmetry: str) -> None:
    dense = np.array([[0.0, 2.5, 0.0], [2.5, 0.0, 1e30], [0.0, 1e30, 3.0]])
    path = tmp_path / "g.mtx"
    scipy.io.mmwrite(path, scipy.sparse.coo_array(dense), symmetry=symmetry, comment="by scipy")
    table = graphs.read(path, directed=True)
    assert isinstance(table, EdgeTable)
    found = np.zeros((3, 3))
    found[table.sources, table.targets] = table.weights
    np.testing.assert_array_equal(found, dense)


def test_edge_list_as_networkx_writes_and_reads_it(tmp_path: Path) -> None:
    graph = nx.gnp_random_graph(20, 0.2, seed=1, directed=True)
    path = tmp_path / "g.edgelist"
    nx.write_edgelist(graph, path, data=False)
    table = graphs.read(path)
    assert isinstance(table, EdgeTable)
    labels = range(table.n) if table.labels is None else table.labels
    found = {(labels[u], labels[v]) for u, v in plain(table)[0]}
    assert found == set(nx.read_edgelist(path, nodetype=int, create_using=nx.DiGraph).edges)
