"""Malformed files: each is answered with its path and the line an editor shows."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from warpladder.errors import FileFormatError
from warpladder.formats import graphs

if TYPE_CHECKING:
    from pathlib import Path

MTX = "%%MatrixMarket matrix coordinate "
TNTP = "<NUMBER OF NODES> 2\n<NUMBER OF LINKS> 1\n<END OF METADATA>\n"
ROW = "1 2 9 9 5 9 9 9 9 9"

# suffix, content, line, part of what was expected, part of what was found
MALFORMED = [
    ("hb", "a b 1\nb c\n--END--\n", 2, "'V W length'", "'b c'"),
    ("hb", "a b 1\r\n\r\nb c 2 3\r\n--END--", 3, "'V W length'", "'b c 2 3'"),
    ("hb", "a b 1\rb c\r--END--", 2, "'V W length'", "'b c'"),
    ("hb", "a b 1\nb c x\n--END--\n", 2, "number or inf as length", "'x'"),
    ("hb", "a b 1\nb c 2\n", 2, "--END--", "the end of the file"),
    ("hb", "a b 1\nb c 2", 2, "--END--", "the end of the file"),
    ("hb", "", 1, "--END--", "the end of the file"),
    ("hb", "a b\nb c 2", 1, "'V W length'", "'a b'"),
    ("hb", "\n\na b nan\n--END--", 3, "number or inf", "'nan'"),
    ("hb", "a b 1.5\na b -inf\n--END--", 2, "number or inf", "'-inf'"),
    ("hb", "a b 1\na b 9223372036854775808\n--END--", 2, "64-bit integers", "9223372036854775808"),
    ("hb", "a b 1.5\na b -9223372036854775809\n--END--", 2, "64-bit", "-9223372036854775809"),
    ("hb", f"a b {'9' * 5000}\n--END--", 1, "64-bit integers", "999..."),
    ("hb", f"a b 0.5\na b {2**53 + 1}\n--END--", 2, "that float64 holds", "'9007199254740993'"),
    ("hb", f"a b -{2**53 + 1}\na b inf\n--END--", 1, "not all are integers", "-9007199254740993"),
    ("hb", "a b 1\na b 1e999\n--END--", 2, "number or inf", "'1e999'"),
    ("hb", "a b 1\na b 1_000\n--END--", 2, "number or inf", "'1_000'"),
    ("hb", "a b 1\na b 0x10\n--END--", 2, "number or inf", "'0x10'"),
    ("hb", "a b 1\na b 1.5_0\n--END--", 2, "number or inf", "'1.5_0'"),
    ("hb", "a b 1\na b \uff11\n--END--", 2, "number or inf", "'\uff11'"),
    ("hb", "a b 1\na b --5\n--END--", 2, "number or inf", "'--5'"),
    ("hb", f"a b 1\n{'x' * 500}\n--END--", 2, "'V W length'", "x..."),
    ("gr", "", 1, "'p sp N M'", "the end of the file"),
    ("gr", "c only\nc comments\n", 2, "'p sp N M'", "the end of the file"),
    ("gr", "c\na 1 2 3\np sp 2 1\n", 2, "'p sp N M'", "'a 1 2 3'"),
    ("gr", "p max 2 1\na 1 2 3\n", 1, "'p sp N M'", "'p max 2 1'"),
    ("gr", "p sp 2\na 1 2 3\n", 1, "'p sp N M'", "'p sp 2'"),
    ("gr", "p sp -2 1\na 1 2 3\n", 1, "'p sp N M'", "'p sp -2 1'"),
    ("gr", "p sp 2 1.0\na 1 2 3\n", 1, "'p sp N M'", "'p sp 2 1.0'"),
    ("gr", "p sp 2 1\n\na 1 2\n", 3, "'a U V W'", "'a 1 2'"),
    ("gr", "p sp 2 1\nc\na 1 3 5\n", 3, "from 1 to 2 as head", "'3'"),
    ("gr", "p sp 2 1\na 0 2 5\n", 2, "from 1 to 2 as tail", "'0'"),
    ("gr", "p sp 2 1\na 1.0 2 5\n", 2, "from 1 to 2 as tail", "'1.0'"),
    ("gr", "p sp 2 1\na 99999999999999999999 2 5\n", 2, "from 1 to 2 as tail", "'9999"),
    ("gr", "p sp 2 2\na 1 2 5\narc 1 2 5\n", 3, "'a'", "'arc'"),
    ("gr", "p sp 2 2\na 1 2 5\np sp 2 2\n", 3, "'a'", "'p'"),
    ("gr", "c\np sp 2 2\na 1 2 5\n", 2, "2 arcs", "1 arcs"),
    ("gr", "p sp 2 1\na 1 2 5\na 1 2 6\n", 1, "1 arcs", "2 arcs"),
    ("mtx", "", 1, "%%MatrixMarket", "''"),
    ("mtx", "3 3 1\n1 2 5\n", 1, "%%MatrixMarket", "'3 3 1'"),
    ("mtx", MTX + "real\n1 1 0\n", 1, "%%MatrixMarket", "coordinate real"),
    ("mtx", MTX + "complex general\n1 1 0\n", 1, "pattern or integer or real", "'complex'"),
    ("mtx", MTX + "real skew-symmetric\n1 1 0\n", 1, "general or symmetric", "'skew-symmetric'"),
    ("mtx", MTX + "real hermitian\n1 1 0\n", 1, "general or symmetric", "'hermitian'"),
    (
        "mtx",
        MTX.replace("coordinate", "array") + "real general\n1 1\n5\n",
        1,
        "coordinate",
        "'array'",
    ),
    ("mtx", MTX + "real general\n% c\n", 2, "size line", "the end of the file"),
    ("mtx", MTX + "real general\n% c\n3 3\n", 3, "size line", "'3 3'"),
    ("mtx", MTX + "real general\n3 x 1\n", 2, "size line", "'3 x 1'"),
    ("mtx", MTX + "real general\n%\n3 4 1\n1 1 1\n", 3, "square", "3 rows and 4 columns"),
    ("mtx", MTX + "real general\n3 3 1\n\n1 4 1\n", 4, "from 1 to 3 as column", "'4'"),
    ("mtx", MTX + "real general\n3 3 1\n1 1\n", 3, "'row column value'", "'1 1'"),
    ("mtx", MTX + "pattern general\n3 3 1\n1 1 5\n", 3, "'row column'", "'1 1 5'"),
    ("mtx", MTX + "integer general\n3 3 1\n1 1 5.0\n", 3, "integer", "'5.0'"),
    ("mtx", MTX + "real general\n3 3 1\n1 1 nan\n", 3, "number or inf", "'nan'"),
    ("mtx", MTX + "real general\n3 3 2\n1 1 1\n", 2, "2 entries", "1 in the file"),
    ("graph", "", 1, "header", "the end of the file"),
    ("graph", "% c\n\n3\n", 3, "header", "'3'"),
    ("graph", "3 x\n", 1, "header", "'3 x'"),
    ("graph", "1 0 2\n\n", 1, "fmt", "'2'"),
    ("graph", "1 0 1111\n\n", 1, "fmt", "'1111'"),
    ("graph", "1 0 1 2\n\n", 1, "fmt with vertex weights", "'1 0 1 2'"),
    ("graph", "3 1\n2\n1", 3, "3 vertex lines", "the end of the file"),
    ("graph", "2 1\n2\n1\n\n1\n", 5, "nothing after the 2 vertex lines", "'1'"),
    ("graph", "2 1\n%\n2\n1 3\n", 4, "from 1 to 2 as neighbour", "'3'"),
    ("graph", "2 1 10\n5 2\nx 1\n", 3, "1 numbers before the neighbours", "'x 1'"),
    ("graph", "2 1\n2\nx\n", 3, "from 1 to 2 as neighbour", "'x'"),
    ("graph", "2 1 1\n2 5\n1\n", 3, "pairs", "'1'"),
    ("graph", "2 1 1\n2 5\n1 x\n", 3, "number or inf as edge weight", "'x'"),
    ("graph", "2 1 11 2\n1 1 2 5\n1\n", 3, "2 numbers before the neighbours", "'1'"),
    ("graph", "3 2\n2\n1 3\n\n", 3, "list vertex 2 too", "neighbour 3"),
    ("graph", "3 2\n2\n1\n2\n", 4, "list vertex 3 too", "neighbour 2"),
    ("graph", "2 1\n2\n1 1\n", 3, "list vertex 2 too", "neighbour 1"),
    ("graph", "%\n2 2\n2\n1\n", 2, "2 edges", "1 edges"),
    ("csv", "source,target,weight\na,b,5\na,b\n", 3, "3 fields, as in line 1", "'a,b'"),
    ("csv", "source,target,weight\na,b,\n", 2, "weight (column 'weight')", "''"),
    ("csv", "source,target,weight\n,b,5\n", 2, "a source", "''"),
    ("csv", "source,target,weight\na,  ,5\n", 2, "a target", "''"),
    ("csv", "source,target,km\na,b,far\n", 2, "column 'km'", "'far'"),
    ("csv", 'source,target\na,b\n"a,b\nc,d\n', 3, "closed quotes", "'\"a,b'"),
    ("csv", 'source,target\na,b\n"a"x,b\n', 3, "closed quotes", '"a"x,b'),
    ("csv", 'source,target\na,b\n"a" ,b\n', 3, "nothing, not even a blank, after", '"a" ,b'),
    ("csv", '"a,b\n', 1, "closed quotes", '"a,b'),
    ("edges", 'a b\n"c d\n', 2, "closed quotes", '"c d'),
    ("csv", 'source,target,weight\n"a",b,5\n"",b,5\n', 3, "a source", "''"),
    ("csv", 'source,target,weight\n"a\x1fb",c,x\n', 2, "number or inf", "'x'"),
    ("csv", 'from,to\n"a\x1fb"\n', 2, "2 fields", "'\"a\\x1fb\"'"),
    ("csv", 'from,to,km\na,"b\nc",5\n', 2, "closed quotes", "'a,\"b'"),
    ("csv", "from,to,km\na,b,1\n#c,a,2\n", 3, "a blank after the # of a comment", "'#c,a,2'"),
    ("txt", "a b 1\n#end of file\n#c a 2\n", 3, "a blank after the # of a comment", "'#c a 2'"),
    ("edges", "a b\n%c a\n", 2, "or a name in quotes", "'%c a'"),
    ("csv", "from;to\n  %c;a\n", 2, "or a name in quotes", "'%c;a'"),
    ("edges", "0 1 {}\n1 2 {}\n", 1, "without a dictionary", "'0 1 {}'"),
    ("edges", "a b {'km': 1, 'h': 2}\n", 1, "write_weighted_edgelist", "'h': 2}"),
    ("edges", "# of networkx\n0 2\n1 {}\n2 {}\n", 3, "without a dictionary", "'1 {}'"),
    ("csv", "", None, "edges, a header or a comment", "an empty file"),
    ("txt", " \n\n", None, "edges, a header or a comment", "an empty file"),
    ("edges", "# c\n1 2 3\n1 2\n", 3, "3 fields, as in line 2", "'1 2'"),
    ("edges", "1 2\n1 2 3\n", 2, "2 fields", "'1 2 3'"),
    ("edges", "1 2 3\n\n2 1 x\n", 3, "number or inf as weight", "'x'"),
    ("edges", "u v\nv w\n", 1, "not what may be both", "'u v'"),
    ("csv", "# c\nstart,end\nstart,a\n", 2, "give source= and target= by name", "'start,end'"),
    ("txt", "u v 5\nv w 3\n", 1, "put 'source target weight' before it", "'u v 5'"),
    ("edges", "# c\np q\n1 2\n", 2, "or names like", "'p q'"),
    ("edges", "p q r\n1 2 3\n", 1, "or names like", "'p q r'"),
    ("txt", "# c\n1 2 3,5\n2 3 4,5\n", 2, "decimals need points", "'1 2 3'"),
    ("csv", "\n1 2,5\n", 2, "delimiter=','", "'1 2'"),
    ("txt", "a b 3,5\n", 1, "put a name in quotes", "'a b 3'"),
    ("csv", "a;24,b,14\n", 1, "not both (put a name in quotes", "'a;24,b,14'"),
    ("txt", "a b 2 -3,5\n", 1, "decimals need points", "'a b 2 -3'"),
    ("csv", "40.7 -74.0,42.3 -71.1,5\n", 1, "in quotes", "'40.7 -74.0'"),
    ("tntp", "", 1, "<END OF METADATA>", "the end of the file"),
    ("tntp", "<NUMBER OF NODES> 2\n", 1, "<END OF METADATA>", "the end of the file"),
    ("tntp", "<NUMBER OF NODES> 2\n1 2\n", 2, "metadata", "'1 2'"),
    ("tntp", "<NUMBER OF NODES> two\n<END OF METADATA>\n", 1, "count", "two"),
    ("tntp", "<X> 2\n<END OF METADATA>\n", 2, "<NUMBER OF NODES>", "END OF METADATA"),
    ("tntp", TNTP + f"{ROW} 9\n", 4, "10 fields, then ';'", f"'{ROW} 9'"),
    ("tntp", TNTP + f"{ROW};;\n", 4, "10 fields, then ';'", f"'{ROW}"),
    ("tntp", TNTP + f"{ROW.replace(' 5', ';5')};\n", 4, "10 fields, then ';'", "'1 2"),
    (
        "tntp",
        TNTP + f"~ a b c d free_flow_time f g h i j ;\n{ROW} 9;\n",
        5,
        "10 fields, then ';'",
        "9 9 9",
    ),
    ("tntp", TNTP + f"~ c\n\n{ROW.replace('1 2', '1 3', 1)} ;\n", 6, "from 1 to 2", "'3'"),
    ("tntp", TNTP + f"{ROW.replace('5', 'x')};\n", 4, "as free_flow_time", "'x'"),
    ("tntp", TNTP + f"{ROW};\n{ROW};\n", 2, "1 links", "2 links"),
]


@pytest.mark.parametrize(("suffix", "content", "line", "expected", "found"), MALFORMED)
@pytest.mark.parametrize("packed", [False, True])
def test_malformed_file(
    tmp_path: Path,
    suffix: str,
    content: str,
    line: int | None,
    expected: str,
    found: str,
    packed: bool,
) -> None:
    path = tmp_path / f"g.{suffix}"
    path.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    with pytest.raises(FileFormatError) as raised:
        graphs.read(path)
    error = raised.value
    assert (error.path, error.line) == (path, line)
    assert expected in error.expected
    assert found in error.found
    assert len(str(error)) < 400 + len(str(path))


@pytest.mark.parametrize("suffix", ["hb", "gr", "mtx", "graph", "csv", "tntp", "txt"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_bytes_that_are_not_utf8(tmp_path: Path, suffix: str, end: bytes) -> None:
    path = tmp_path / f"g.{suffix}"
    path.write_bytes("é b 1".encode() + end + b"x y 2" + end + b"\xe9 b 3" + end)
    with pytest.raises(
        FileFormatError, match=r"line 3: expected text in UTF-8, found the byte 0xe9"
    ):
        graphs.read(path)


def test_nul_byte(tmp_path: Path) -> None:
    path = tmp_path / "g.edges"
    path.write_bytes(b"a b\nc\0d e\n")
    with pytest.raises(FileFormatError, match="line 2: expected text, found a NUL byte"):
        graphs.read(path)


@pytest.mark.parametrize("name", ["g.hb", "g.txt.gz", "g.npy", "g.npz", "g.parquet", "g"])
@pytest.mark.parametrize("damage", ["truncated", "flipped", "header only"])
def test_broken_gzip(tmp_path: Path, name: str, damage: str) -> None:
    data = bytearray(gzip.compress(b"a b 1\n" * 1000 + b"--END--\n"))
    if damage == "truncated":
        data = data[:-10]
    elif damage == "flipped":
        data[len(data) // 2] ^= 0xFF
    else:
        data = data[:4]
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match="expected a whole gzip file") as raised:
        graphs.read(path)
    assert (raised.value.path, raised.value.line) == (path, None)


def test_first_of_several_faults_is_named(tmp_path: Path) -> None:
    path = tmp_path / "g.gr"
    path.write_text("p sp 9 9\n" + "a 1 2 3\n" * 5 + "a 1 2 x\na 1 99 3\na 1\n")
    with pytest.raises(FileFormatError) as raised:
        graphs.read(path)
    assert raised.value.line == 7
