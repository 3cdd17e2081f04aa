"""Numbers from files: arrays that stay on disk, columns in chunks, files that are wrong."""

from __future__ import annotations

import gzip
import lzma
import re

import numpy as np
import pytest

import warpladder as wl
from choosing import by_pairs, large
from warpladder.errors import FileFormatError, InputError, InputTypeError
from warpladder.formats import value_columns, value_parquet
from warpladder.formats.values import StoredArray, open_values
from warpladder.reduction import intake

VALUES = np.random.default_rng(0).standard_normal(50_001)


@pytest.mark.parametrize("dtype", ["?", ">f8", *large("u1", ">f4", "f8", "f4", "f2", "i4", ">i8")])
def test_npy(tmp_path, dtype, monkeypatch):
    monkeypatch.setattr(intake, "_STRETCH_BYTES", 4096)
    values = (VALUES * 50).astype(dtype)
    np.save(tmp_path / "a.npy", values)
    native = values.astype(values.dtype.newbyteorder("="))
    options = {"accuracy": "reproducible"} if native.dtype.kind == "f" else {}
    expected = wl.reduce(native, ("sum", "argmin"), **options)
    for form in (tmp_path / "a.npy", str(tmp_path / "a.npy"), open_values(tmp_path / "a.npy")):
        assert wl.reduce(form, ("sum", "argmin"), **options) == expected


def test_npy_of_several_dimensions(tmp_path):
    values = VALUES[:3000].reshape(30, 20, 5)
    for name, array in (("c", values), ("f", np.asfortranarray(values))):
        np.save(tmp_path / f"{name}.npy", array)
        stored = open_values(tmp_path / f"{name}.npy")
        assert isinstance(stored, StoredArray)
        assert stored.shape == (30, 20, 5)
        assert wl.reduce(stored) == pytest.approx(values.sum(), rel=1e-13)
        np.testing.assert_allclose(wl.reduce(stored, axis=(0, 2)), values.sum(axis=(0, 2)))
        # Indices count in the order of the array, not of the file.
        assert wl.reduce(stored, "argmin") == values.argmin()
        assert wl.reduce(stored, where=values > 0) == pytest.approx(values[values > 0].sum())
        np.testing.assert_array_equal(stored.mapped(), values)


def test_raw_binary(tmp_path):
    path = tmp_path / "numbers.bin"
    path.write_bytes(b"head" + VALUES.astype(">f4").tobytes())
    expected = wl.reduce(VALUES.astype("f4"), ("sum", "argmin"), accuracy="reproducible")
    stored = open_values(path, dtype=">f4", offset=4)
    assert wl.reduce(stored, ("sum", "argmin"), accuracy="reproducible") == expected
    # An offset that is no multiple of the element.
    path.write_bytes(b"abc" + VALUES.tobytes())
    assert wl.reduce(open_values(path, dtype="f8", offset=3), "min") == VALUES.min()
    path.rename(tmp_path / "numbers.f64")
    assert wl.reduce(open_values(tmp_path / "numbers.f64", dtype="f8", offset=3)) == pytest.approx(
        VALUES.sum()
    )


def test_empty_files(tmp_path):
    np.save(tmp_path / "none.npy", np.empty((0, 3), "f4"))
    assert wl.reduce(tmp_path / "none.npy") == 0
    assert wl.reduce(tmp_path / "none.npy", axis=0).tolist() == [0, 0, 0]
    (tmp_path / "none.bin").write_bytes(b"")
    assert wl.reduce(open_values(tmp_path / "none.bin", dtype="f4")) == 0
    (tmp_path / "none.csv").write_text("x\n")
    assert wl.reduce(tmp_path / "none.csv") == 0


@pytest.mark.parametrize("text", ["", "\n\n", "# a comment\n"])
def test_a_table_without_header_and_rows(tmp_path, text):
    """Nothing at all is more often a failed download than no values."""
    path = tmp_path / "none.csv"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=r"none\.csv: expected numbers, .*an empty file"):
        wl.reduce(path)


def test_memory_maps(tmp_path):
    np.save(tmp_path / "a.npy", VALUES)
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    # One loop for both.
    assert wl.reduce(mapped, "min") == VALUES.min()
    assert wl.reduce(mapped, "argmin") == VALUES.argmin()


@pytest.mark.parametrize(
    ("packed", "end", "delimiter"),
    by_pairs([False, True], ["\n", "\r\n"], [",", ";", "\t", " "]),
)
def test_text(tmp_path, packed, end, delimiter, monkeypatch):
    monkeypatch.setattr(value_columns, "_CHUNK_BYTES", 1000)
    path = tmp_path / ("table.txt.gz" if packed else "table.txt")
    rows = [f"{i}{delimiter}{value!r}" for i, value in enumerate(VALUES[:1500].tolist())]
    text = end.join(["# a comment", delimiter.join(("n", "mm")), *rows[:9], "", *rows[9:]])
    for content in (text, text + end, "\ufeff" + text):
        data = content.encode()
        path.write_bytes(gzip.compress(data) if packed else data)
        for column in ("mm", 1):
            opened = open_values(path, column=column)
            assert opened.dtype == np.float64
            found = wl.reduce(opened, ("sum", "argmin"), accuracy="reproducible")
            assert found == wl.reduce(VALUES[:1500], ("sum", "argmin"), accuracy="reproducible")
        integers = wl.reduce(open_values(path, column="n"))
        assert integers == 1499 * 750
        assert integers.dtype == np.int64


def test_text_of_one_column_and_special_numbers(tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("1\n2\n-3\n")
    assert wl.reduce(path).dtype == np.int64
    assert wl.reduce(open_values(path, dtype="f8")).dtype == np.float64
    path.write_text('"x"\n1e3\nnan\n-inf\n+4.5\n')
    assert wl.reduce(path, ("nanmin", "nanmax", "argmax")) == (-np.inf, 1000, 1)
    path.write_text("name;x\n'\u00e9';1\n\"a;b\";20\n")
    assert wl.reduce(open_values(path, column="x")) == 21


def test_parquet(tmp_path, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    monkeypatch.setattr(value_parquet, "_ROWS", 777)
    path = tmp_path / "table.parquet"
    table = pa.table(
        {
            "x": VALUES[:5000],
            "n": np.arange(5000, dtype="i2"),
            "b": VALUES[:5000] > 0,
            "s": ["a"] * 5000,
            "gap": pa.array([1.0] * 4321 + [None] + [1.0] * 678),
        }
    )
    pq.write_table(table, path)
    expected = wl.reduce(VALUES[:5000], ("sum", "argmin"), accuracy="reproducible")
    opened = open_values(path, column="x")
    assert wl.reduce(opened, ("sum", "argmin"), accuracy="reproducible") == expected
    assert wl.reduce(open_values(path, column=1), ("sum", "max")) == (4999 * 2500, 4999)
    assert wl.reduce(open_values(path, column="b"), "count_nonzero") == (VALUES[:5000] > 0).sum()
    with pytest.raises(FileFormatError, match=r"'gap', found none in row 4321, counted from 0"):
        wl.reduce(open_values(path, column="gap"))
    with pytest.raises(FileFormatError, match=r"numbers in column 's', found type string"):
        open_values(path, column="s")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileFormatError, match="a whole Parquet file"):
        open_values(path, column="x")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("x\n1\n2\nabc\n", 4, "a number in column 'x', found 'abc'"),
        ("1\n2\n\n# no\nabc\n", 5, "a number in column 0, found 'abc'"),
        ("a,b\n1,2\n3\n", 3, "as many fields as in the first line, 2, found 1: '3'"),
        ("a,b\n1,2\n3,4,5\n", 3, "as many fields .*, 2, found 3: '3,4,5'"),
        ('a,b,c\n1,2,3\n"x,y",5\n', 3, "as many fields .*, 3, found 2"),
        ("a,b\n1,2\n'1,234',5\n", 3, "as many fields"),
        ("# c\n" * 40_000 + "x\n1\nabc\n", 40_003, "a number in column 'x', found 'abc'"),
        ("x\n1\u00a0000\n", 2, "as many fields"),
        ("1\r2\r3\r", 1, "lines that end with LF or CR LF, found a CR by itself"),
        ("a,b\n1,\n", 2, "a number in column 'b', found ''"),
        ('a,b\n1,"2\n', 2, "fields with closed quotes"),
        (
            "1\n" * 40_000 + "2.5\n",
            40_001,
            "an integer of 64 bits .* found '2.5'; .*dtype='float64'",
        ),
        ("1\n" * 40_000 + "9" * 30, 40_001, "an integer of 64 bits"),
        ("x\n1\n# no\n" + "9" * 30, 4, "an integer of 64 bits .* found '9{30}'; .*'float64'"),
        ("a,b\nn,1\nm,-9223372036854775809\n", 3, "an integer of 64 bits in column 'b'"),
    ],
)
def test_malformed_text(tmp_path, text, line, message, monkeypatch):
    monkeypatch.setattr(value_columns, "_CHUNK_BYTES", 1000)
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=message) as caught:
        wl.reduce(open_values(path, column=1 if "a,b" in text else None))
    assert caught.value.line == line
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("before", ["", "n\u00e9e,0\n"])
@pytest.mark.parametrize(
    "token", ["1_0", "0x10", "\uff11", "\u0663", "", "1 2", "1d3", "NA", "true", "--1", "\u22121"]
)
def test_what_is_no_number(tmp_path, token, before, monkeypatch):
    """A line of other characters than ASCII changes the way in which integers are read."""
    path = tmp_path / "bad.csv"
    path.write_text(f"name,x\n{before}a,3\nb,{token}\n", encoding="utf-8")
    for dtype in (None, "i8", "f8"):
        with pytest.raises(FileFormatError, match=f"column 'x', found '{token}'") as caught:
            wl.reduce(open_values(path, column="x", dtype=dtype))
        assert caught.value.line == (4 if before else 3)


@pytest.mark.parametrize(
    ("text", "column", "total"),
    [
        ("year,2020,2021\n1,20,3\n", "2020", 20),
        ("year,2020,2021\n1,20,3\n", 1, 20),
        ("a,1\nb,2\n", 1, 3),
        ("a,1\nb,2\n", "1", 3),
        ("NA,1\n2,3\n", 1, 4),
        (",x\n0,1.5\n1,2.5\n", "x", 4),
        ("year,1,0\n1,2,3\n", "1", 2),
        ('"a,b";c\n1;20\n', "c", 20),
        ('"a\tb",c\n1,20\n', "a\tb", 1),
        ('"x"\n"1"\n', "x", 1),
        ('"a b"  "c"\n1 "20"\n', "c", 20),
        ("x,y,\n1,20,\n1,2\n", "y", 22),
        ("x,y\n1,20,\n", " y ", 20),
        ("# " + "c" * 100_000 + "\n" + "#;\n" * 30_000 + "x,y\n1,20\n", "y", 20),
        (",".join(f"c{i}" for i in range(20_000)) + "\n" + ",".join("2" * 20_000), "c19999", 2),
        ("n,x\n\u00e9,+1\n\u00e9, 2 \n", "x", 3),
        ("_1\n5\n", 0, 5),
        ("\u03c1\n5\n", 0, 5),
        ('"5 min"\n5\n', "5 min", 5),
        ("5 min,10 min\n1,2\n", 1, 2),
        ("2019,2020,% change\n1,2,3\n4,5,6\n", 1, 7),
        ("2019,2020,(total)\n1,2,3\n4,5,6\n", 1, 7),
        ("2019,2020,\u00b0C\n1,2,3\n4,5,6\n", 1, 7),
        ("2019,2020,5 min\n1,2,3\n", "2020", 2),
        ("2026-01-02,5\n2026-01-03,6\n", 1, 11),
        ("1,2,3\n", 1, 2),
        ("-,1\n2,3\n", 1, 4),
        ("(m),name\n5,a\n", 0, 5),
        ("\u00b0C\n5\n", None, 5),
        ("(m)\n5\n", None, 5),
        ("[m]\n5\n", None, 5),
        ("%\n5\n", None, 5),
    ],
)
def test_headers_and_delimiters(tmp_path, text, column, total):
    path = tmp_path / "odd.csv"
    path.write_text(text, encoding="utf-8")
    assert wl.reduce(open_values(path, column=column)) == total


@pytest.mark.parametrize(
    "token", ["1..5", "NA", "null", "+-1", ".", "1_0", "\uff11", "12:00", "?", "5 min", "$5", "(5)"]
)
def test_what_is_no_number_is_no_header_either(tmp_path, token):
    """Skipped in the first line it would be one value less, where any other line refuses it."""
    path = tmp_path / "numbers.txt"
    path.write_text(f'"{token}"\n2\n3\n', encoding="utf-8")
    message = f"line 1: expected a number in column 0, or its name, .*column='{re.escape(token)}'"
    for dtype in (None, "i8", "f8"):
        with pytest.raises(FileFormatError, match=message) as caught:
            open_values(path, dtype=dtype)
        assert caught.value.line == 1
    named = open_values(path, column=token)
    assert named.header == token
    assert wl.reduce(named) == 5


@pytest.mark.parametrize("token", ["1..5", "5 min", "(5)"])
def test_a_line_that_may_be_a_header_is_not_counted(tmp_path, token):
    path = tmp_path / "unclear.csv"
    path.write_text(f"2019,2020,{token}\n1,2,3\n")
    message = f"line 1: expected a number in column 2, .*put # .*found '{re.escape(token)}'"
    with pytest.raises(FileFormatError, match=message):
        open_values(path, column=1)
    path.write_text(f"# 2019,2020,{token}\n1,2,3\n")
    assert wl.reduce(open_values(path, column=1)) == 2


def test_text_without_numbers(tmp_path):
    """A word is no table without rows, which a file called one and one with columns may be."""
    path = tmp_path / "hello.txt"
    path.write_text("# greeting\n\nhello\n\n")
    with pytest.raises(FileFormatError, match=r"expected numbers, found one line .*: 'hello'"):
        wl.reduce(path)
    assert wl.reduce(open_values(path, column="hello")) == 0
    path.write_text("day,mm\n")
    assert wl.reduce(open_values(path, column=1)) == 0
    path.write_text("mm\n1\n")
    opened = open_values(path)
    assert opened.header == "mm"
    assert wl.reduce(opened) == 1
    path.write_text("1\n2\n")
    assert open_values(path).header is None


def test_a_name_that_stands_twice(tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("x,x\n1,2\n")
    with pytest.raises(InputError, match="column='x' stands there twice; give its number"):
        open_values(path, column="x")
    assert wl.reduce(open_values(path, column=1)) == 2


def test_parquet_by_odd_names(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [{"a": 1}], "x.a": [5]}), path)
    assert wl.reduce(open_values(path, column="x.a")) == 5
    pq.write_table(pa.table({"x": [1], "x ": [30], " y": [7]}), path)
    for column, value in (("x", 1), ("x ", 30), (" y", 7), (" x", 1)):
        assert wl.reduce(open_values(path, column=column)) == value
    with pytest.raises(InputError, match="column='y' is not there; found: 'x', 'x ', ' y'"):
        open_values(path, column="y")
    pq.write_table(pa.Table.from_arrays([pa.array([1])] * 2, names=["x", "x"]), path)
    with pytest.raises(InputError, match="column='x' stands there twice, and Parquet is read by"):
        open_values(path, column=1)
    pq.write_table(pa.table({}), path)
    with pytest.raises(FileFormatError, match="expected columns, found none"):
        open_values(path)
    pq.write_table(
        pa.table({"x": VALUES}), path, compression=None, use_dictionary=False,
        write_page_checksum=True,
    )  # fmt: skip
    damaged = bytearray(path.read_bytes())
    damaged[5000] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(FileFormatError, match=r"whole Parquet file, found a broken one \(.*CRC"):
        wl.reduce(path)


def test_raw_binary_inside_of_an_archive(tmp_path):
    path = tmp_path / "two.zip"
    path.write_bytes(b"PK\3\4" + np.float32([2, 3]).tobytes())
    assert wl.reduce(open_values(path, dtype="float32", offset=4)) == 5


def test_text_that_is_none(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_bytes(b"x\n1\n\xff\n")
    with pytest.raises(
        FileFormatError, match=r"line 3: expected text in UTF-8 .*, found the byte 0xff"
    ):
        wl.reduce(path)
    path.write_bytes(b"x\n1\n" + bytes(8))
    with pytest.raises(FileFormatError, match=r"line 3: .* a NUL byte"):
        wl.reduce(path)
    path.write_bytes(gzip.compress(b"1\n" * 100_000)[:-20])
    with pytest.raises(FileFormatError, match="a whole gzip file"):
        wl.reduce(path)


def test_columns_that_are_not_there(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("day,mm\n1,2\n")
    with pytest.raises(InputError, match=r"choose a column, .* found: 'day', 'mm'"):
        open_values(path)
    with pytest.raises(InputError, match="choose a column") as raised:
        wl.reduce(path)
    assert "arguments of open_values" in raised.value.__notes__[0]
    for column in ("rain", 2, "7", -1):
        with pytest.raises(
            InputError, match=re.escape(f"column={column!r} is not there; found: 'day'")
        ):
            open_values(path, column=column)
    with pytest.raises(InputError, match="dtype=float32: a column of text is int64 or float64"):
        open_values(path, column="mm", dtype="f4")


def test_broken_arrays(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, VALUES)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(FileFormatError, match=r"50,001 elements of 8 bytes, found 400,007 bytes"):
        open_values(path)
    path.write_bytes(whole[:40])
    with pytest.raises(FileFormatError, match="the header of a NumPy file"):
        open_values(path)
    np.save(path, np.array([{}], object), allow_pickle=True)
    with pytest.raises(FileFormatError, match="expected numbers, found objects"):
        open_values(path)
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (%s), }\n"
    for shape, message in (
        (b"1," * 70, "up to 64 extents of 0 or more"),
        (b"0,%d" % 2**70, "up to 64 extents of 0 or more"),
        (
            b"0,%d" % 2**60,
            r"less than 2\^63 bytes, found shape \(0, 1152921504606846976\) of float64",
        ),
    ):
        text = header % shape
        path.write_bytes(b"\x93NUMPY\x01\0" + len(text).to_bytes(2, "little") + text + bytes(8))
        with pytest.raises(FileFormatError, match=message):
            wl.reduce(path, axis=0)
    for kind in (b"0<f8", b"2<f8", b"|S0"):
        text = (header % b"2,").replace(b"<f8", kind)
        path.write_bytes(b"\x93NUMPY\x01\0" + len(text).to_bytes(2, "little") + text + bytes(32))
        with pytest.raises(FileFormatError, match="expected numbers, found elements of dtype"):
            wl.reduce(path)
    np.save(path, np.array([1j]))
    with pytest.raises(InputTypeError, match="complex128 is not taken"):
        wl.reduce(path)
    path.write_bytes(gzip.compress(whole))
    with pytest.raises(InputError, match="unpack it first"):
        open_values(path)


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("a.bin", b"12345", {}, "raw binary does not tell its dtype"),
        ("a.bin", b"12345", {"dtype": "f4"}, "a multiple of 4 bytes for elements of float32"),
        ("a.bin", b"12345", {"dtype": "f4", "offset": 9}, "offset=9 is not inside"),
        ("a.bin", b"12345", {"dtype": "f4", "offset": -1}, "offset=-1 is not inside"),
        ("a.f4.xz", lzma.compress(bytes(8)), {"dtype": "f4"}, "a packed file cannot be read"),
        ("a.log", b"1 2\n3 4\n", {"dtype": "f8"}, "looks like text"),
        ("a.csv", b"1\n2\n", {"offset": 4}, "offset=4 has no meaning for .*, read as a table"),
    ],
)
def test_options_that_do_not_fit(tmp_path, name, content, options, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        open_values(tmp_path / name, **options)
    np.save(tmp_path / "a.npy", VALUES)
    with pytest.raises(InputError, match="column='x' has no meaning for"):
        open_values(tmp_path / "a.npy", column="x")
    np.savez(tmp_path / "a.npz", a=VALUES)
    for dtype in (None, "f8"):
        with pytest.raises(InputError, match=r"is an archive; .*numpy\.load\(path\)\[name\]"):
            open_values(tmp_path / "a.npz", dtype=dtype)


def test_binary_that_could_be_text(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"12\n34\n")
    assert wl.reduce(open_values(tmp_path / "a.bin", dtype="u1", offset=np.int64(4))) == 62
    (tmp_path / "a.dat").write_bytes(b"\n\n\n\n")
    assert wl.reduce(open_values(tmp_path / "a.dat", dtype="u1")) == 40


@pytest.mark.parametrize("name", ["a.npy", "a.bin", "a.csv"])
def test_files_that_change_once_opened(tmp_path, name):
    path = tmp_path / name
    np.save(path, VALUES) if name == "a.npy" else path.write_text("12345678\n" * 8)
    opened = open_values(path, dtype="f8" if name == "a.bin" else None)
    path.write_bytes(path.read_bytes()[:60])
    if name != "a.csv":
        with pytest.raises(FileFormatError, match=r"elements of 8 bytes, found .* bytes of them"):
            wl.reduce(opened)
    path.unlink()
    with pytest.raises(InputError, match="cannot read"):
        wl.reduce(opened)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*nothing"):
        wl.reduce(tmp_path / "nothing.npy")
    with pytest.raises(InputError, match="cannot read"):
        wl.reduce(tmp_path)
    with pytest.raises(InputError, match=r"cannot read .*too long"):
        wl.reduce(tmp_path / ("x" * 300))
    for name in ("", "a\0b"):
        with pytest.raises(InputError, match=r"path=.* can be no file's name"):
            wl.reduce(name)
    (tmp_path / "a.bin").write_bytes(b"1234")
    with pytest.raises(InputTypeError, match="dtype='x9' is not known"):
        open_values(tmp_path / "a.bin", dtype="x9")
