"""`warpladder reduce` as a person or a script would call it."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from calling import INTERRUPTION, call
from warpladder.cli import main

_YES = shutil.which("yes")
_COMMAND = [sys.executable, "-c", "from warpladder.cli import main; main()"]


def run(*arguments):
    return call("reduce", *arguments)


@pytest.fixture
def rain(tmp_path):
    path = tmp_path / "rain.csv"
    path.write_text("day,mm\n1,2.5\n2,0\n3,4\n")
    return path


def test_a_table(rain):
    result = run(rain, "--column", "mm", "--op", "sum, max,argmin")
    assert result.returncode == 0, result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0][:1] == ["file"]
    assert lines[-3:] == [["sum", "6.5"], ["max", "4.0"], ["argmin", "1"]]


def test_a_header_is_told(rain):
    """Who has none sees then that the first line does not count."""
    result = run(rain, "--column", "mm")
    assert ["header", "mm", "(the", "first", "line,", "no", "value)"] in [
        line.split() for line in result.stdout.splitlines()
    ]
    assert json.loads(run(rain, "--column", "mm", "--json").stdout)["header"] == "mm"
    rain.write_text("1\n2\n")
    assert "no value" not in run(rain).stdout
    rain.write_text("1..5\n2\n3\n")
    refused = run(rain)
    assert refused.returncode == 1
    assert "line 1: expected a number in column 0" in refused.stderr
    assert "as --column '1..5'" in refused.stderr


def test_json_of_an_array(tmp_path):
    np.save(tmp_path / "a.npy", np.array([1.0, np.inf, 1e-3], "f4"))
    result = run(tmp_path / "a.npy", "--op", "sum,min,any", "--accuracy", "reproducible", "--json")
    document = json.loads(result.stdout, parse_constant=pytest.fail)
    assert document["type"] == "float32"
    assert document["elements"] == 3
    assert document["accuracy"] == "reproducible"
    assert document["results"] == {"sum": "inf", "min": 0.0010000000474974513, "any": True}


def test_raw_binary_and_its_options(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"xx" + np.arange(10, dtype=">i2").tobytes())
    result = run(
        path, "--dtype", ">i2:f4", "--offset", 2, "--op", "var,mean", "--ddof", 1, "--json"
    )  # fmt: skip
    results = json.loads(result.stdout)["results"]
    assert results["mean"] == 4.5
    assert results["var"] == float(np.float32(np.var(np.arange(10), ddof=1)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "choose a column"),
        (("--column", "7" * 5000), "7' is not there; found: 'day', 'mm'"),
        (("--column", "mm", "--op", "median"), "--op 'median' is not known"),
        (("--column", "mm", "--op", ","), "--op: at least one operation"),
        (("--column", "mm", "--accuracy", "best"), "--accuracy 'best'"),
        (("--column", "mm", "--device", "tpu"), "--device 'tpu'"),
        (("--column", "mm", "--dtype", "x"), "--dtype 'x' is not known"),
        (("--column", "mm", "--dtype", "f4:"), "--dtype float32: a column of text is int64 or"),
        (("--column", "mm", "--dtype", "f4", "--op", "max"), "--dtype float32 has no meaning for"),
    ],
)
def test_refusals(rain, arguments, message):
    result = run(rain, *arguments)
    assert result.returncode == 1
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_names_are_shown_as_they_are(tmp_path):
    """Neither markup nor emoji, and no argument of the library but an option."""
    path = tmp_path / "[bold]:smile:dtype=1.csv"
    path.write_text("1\n" * 40_000 + "2.5\n")
    result = run(path)
    assert result.returncode == 1
    expected = f"warpladder: {path}, line 40001: expected an integer of 64 bits in column 0, found"
    assert result.stderr.startswith(expected)
    assert result.stderr.endswith("give --dtype 'float64'\n")
    result = run(path, "--dtype", "float64", "--op", "max")
    assert "[bold]:smile:dtype=1.csv (float64)" in "".join(result.stdout.split("\n      "))
    assert "\x1b" not in result.stdout


def test_a_malformed_file_is_named_with_its_line(rain):
    rain.write_text("day,mm\n1,2.5\n2,dry\n")
    result = run(rain, "--column", "mm")
    assert result.returncode == 1
    assert f"{rain}, line 3: expected a number in column 'mm', found 'dry'" in result.stderr


def npy(values):
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


TEXT, BYTES = b"".join(b"%d\n" % i for i in range(10)), np.arange(10, dtype="i2").tobytes()


@pytest.mark.parametrize(
    ("content", "options", "type_", "total"),
    [
        (
            gzip.compress(b"day,mm\n" + b"1,2.5\n" * 3000, mtime=0),
            ("--column", "mm"),
            "float64",
            7500.0,
        ),
        (TEXT, (), "int64", 45),
        # A type that text can have is that of its numbers; another, that of the answer.
        (TEXT, ("--dtype", "float64"), "float64", 45.0),
        (TEXT, ("--dtype", "f4", "--column", "0"), "int64", 45.0),
        (npy(np.arange(10, dtype="i1")), (), "int8", 45),
        (npy(np.arange(10, dtype="i1")), ("--dtype", "float64"), "int8", 45.0),
        (BYTES, ("--dtype", "int16"), "int16", 45),
        (BYTES, ("--dtype", "int16:float64"), "int16", 45.0),
        (BYTES[:16], ("--dtype", "i8", "--op", "count_nonzero"), "int64", 2),
    ],
)
def test_a_dash_is_standard_input(monkeypatch, capsys, content, options, type_, total):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    monkeypatch.setattr(sys, "argv", ["warpladder", "reduce", "-", *options, "--json"])
    with pytest.raises(SystemExit) as leaving:
        main()
    assert leaving.value.code == 0
    document = json.loads(capsys.readouterr().out)
    ((_, found),) = document["results"].items()
    assert (document["type"], found, type(found)) == (type_, total, type(total))
    assert document["file"] == "standard input"


def test_standard_input_that_may_be_either(monkeypatch, capsys):
    """As bytes these are numbers, too: which is meant has to be said."""
    for dtype in ("uint8", "f4:f8"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT)))
        monkeypatch.setattr(sys, "argv", ["warpladder", "reduce", "-", "--dtype", dtype])
        with pytest.raises(SystemExit) as leaving:
            main()
        assert leaving.value.code == 1
        assert "standard input looks like text; give --column 0" in capsys.readouterr().err


@pytest.mark.large
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_stays_bounded(tmp_path):
    """A file of 400 MB takes less than a quarter of that beyond what loading Numba takes.

    Each core has some stretches in memory, and an allocator's arena: as many here as anywhere.
    """
    small, large = tmp_path / "small.npy", tmp_path / "large.npy"
    np.save(small, np.ones(1000, "f4"))
    np.save(large, np.ones(100_000_000, "f4"))
    program = (
        "import re, sys, warpladder as wl\n"
        "print(wl.reduce(sys.argv[1], ('sum', 'max')).sum)\n"
        "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
    )
    peaks = []
    for path in (small, large):
        command = [sys.executable, "-c", program, str(path)]
        environment = {**os.environ, "NUMBA_NUM_THREADS": "2"}
        printed = subprocess.run(
            command, capture_output=True, text=True, check=True, env=environment
        ).stdout
        peaks.append(int(printed.splitlines()[1]) / 1024)
    assert float(printed.splitlines()[0]) == 1e8
    assert peaks[1] - peaks[0] < 100


@pytest.mark.skipif(_YES is None, reason="needs a program that writes without end")
def test_interrupt_is_one_line():
    program = INTERRUPTION + "from warpladder.cli import main; main()"
    # However many cores read a file, it may be done with before the interruption.
    with subprocess.Popen([_YES, "1"], stdout=subprocess.PIPE) as endless:
        result = subprocess.run(
            [sys.executable, "-c", program, "reduce", "-"],
            stdin=endless.stdout,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        endless.kill()
    assert result.returncode == 130
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1].startswith("warpladder: interrupted")
    assert "Traceback" not in result.stderr
