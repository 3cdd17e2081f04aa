"""`warpladder overlap` as a person or a script would call it."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from brute import GOLDEN, random_sets

import warpladder as wl
from calling import call
from warpladder.cli import main
from warpladder.cli.amounts import as_bytes
from warpladder.cli.overlap_run import as_part
from warpladder.formats import growing
from warpladder.formats.growing import GrowingFile
from warpladder.overlap_join import stored

_PROGRAM = "from warpladder.cli import main; main()"
_ROWS = 300


def as_text(rows: dict[Any, Any]) -> str:
    return "".join(f"{row} {{{', '.join(map(str, ids))}}}\n" for row, ids in rows.items())


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    path = tmp_path / "golden.txt"
    path.write_text(as_text({row: sorted(ids) for row, ids in GOLDEN.items()}))
    return path


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows that have thousands of pairs."""
    sets = random_sets(8, _ROWS, 30, 9)
    path = tmp_path_factory.mktemp("rows") / "many.txt"
    path.write_text(as_text({1000 + row: sorted(ids) for row, ids in enumerate(sets)}))
    return path


def lines_of(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_summary_and_first_pairs(golden: Path) -> None:
    result = call("overlap", golden)
    assert result.returncode == 0, result.stderr
    lines = lines_of(result.stdout)
    assert ["rows", "4"] in lines
    assert ["ids", "17", "of", "9"] in lines
    assert ["asked", "count", ">=", "2"] in lines
    assert ["pairs", "4"] in lines
    assert lines[-5:] == [
        ["left", "right", "shared"], ["1", "2", "3"], ["1", "3", "3"], ["2", "3", "2"],
        ["3", "4", "2"],
    ]  # fmt: skip
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert result.stderr == ""


def test_only_the_first_pairs_are_shown(many: Path) -> None:
    result = call("overlap", many, "-t", "1")
    *_, last, more = result.stdout.splitlines()
    total = call("overlap", many, "-t", "1", "--json").stdout
    document = json.loads(total)
    assert len(document["first_pairs"]) == 10
    assert more.split() == ["...", f"{document['pairs'] - 10:,}", "more"]
    pair = document["first_pairs"][-1]
    assert last.split() == [str(pair["left"]), str(pair["right"]), str(pair["shared"])]
    assert document["pairs"] == len(wl.overlap_join(many, 1))


def test_json_of_another_measure(golden: Path) -> None:
    document = json.loads(
        call("overlap", golden, "--measure", "jaccard", "-t", "0.4", "--json").stdout
    )
    assert document["first_pairs"] == [
        {"left": 1, "right": 2, "shared": 3, "value": 0.5},
        {"left": 1, "right": 3, "shared": 3, "value": 0.5},
    ]
    assert (document["rows"], document["measure"], document["threshold"]) == (4, "jaccard", 0.4)
    assert document["seconds"] > 0
    shown = call("overlap", golden, "--measure", "jaccard", "-t", "0.4").stdout
    assert ["1", "2", "3", "0.5"] in lines_of(shown)


def test_counted(golden: Path) -> None:
    document = json.loads(call("overlap", golden, "--count-only", "--json").stdout)
    assert (document["pairs"], document["rows_in_pairs"]) == (4, 4)
    assert document["most_pairs_of_a_row"] == {"row": 3, "pairs": 3}
    assert "first_pairs" not in document
    lines = lines_of(call("overlap", golden, "--count-only").stdout)
    assert ["the", "most", "3,", "of", "row", "3"] in lines
    nothing = json.loads(call("overlap", golden, "--count-only", "-t", "9", "--json").stdout)
    assert (nothing["pairs"], nothing["rows_in_pairs"]) == (0, 0)


@pytest.mark.parametrize(
    "name", ["x.txt", "x.csv", "x.csv.gz", "x.tsv", "x.jsonl", "x.pairs", "x.arrows", "x.parquet"]
)
def test_output_is_what_the_library_writes(many: Path, tmp_path: Path, name: str) -> None:
    result = call("overlap", many, "-o", tmp_path / name)
    assert result.returncode == 0, result.stderr
    assert result.stderr == f"wrote {tmp_path / name}\n"
    wl.overlap_join(many, 2).write(tmp_path / f"other-{name}")
    contents = [(tmp_path / one).read_bytes() for one in (name, f"other-{name}")]
    if name.endswith("gz"):
        contents = list(map(gzip.decompress, contents))
    assert contents[0] == contents[1]
    assert names(tmp_path) == [f"other-{name}", name]
    twice = "each from both of its rows" in result.stdout
    assert twice == (name == "x.txt")


def test_the_golden_rows_in_the_form_of_the_source(golden: Path, tmp_path: Path) -> None:
    result = call("overlap", golden, "-o", tmp_path / "x.dat", "--format", "grouped", "--json")
    assert json.loads(result.stdout)["output"] == str(tmp_path / "x.dat")
    assert (tmp_path / "x.dat").read_text() == "1 {2, 3}\n2 {1, 3}\n3 {1, 2, 4}\n4 {3}\n"
    # What is written can be read.
    again = wl.read_sets(tmp_path / "x.dat", format="braces")
    assert again.ids is not None
    assert again.ids.tolist() == [1, 2, 3, 4]


def test_other_rows_and_the_best_of_each(golden: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("id,items\na b,5;10\nc,3;12;17\nd,\n")
    document = json.loads(call("overlap", golden, "--other", other, "--json").stdout)
    assert [tuple(pair.values()) for pair in document["first_pairs"]] == [
        (1, "a b", 2), (2, "a b", 2), (4, "c", 3),
    ]  # fmt: skip
    assert (document["rows"], document["other_rows"]) == (4, 3)
    best = json.loads(call("overlap", golden, "--top-k", "1", "--json").stdout)
    assert [tuple(pair.values()) for pair in best["first_pairs"]] == [
        (1, 2, 3), (2, 1, 3), (3, 1, 3), (4, 3, 2),
    ]  # fmt: skip
    target = tmp_path / "x.txt"
    shown = call("overlap", golden, "--top-k", "1", "-o", target)
    assert ["asked", "count", ">=", "2,", "the", "1", "best", "of", "each", "row"] in lines_of(
        shown.stdout
    )
    assert "both of its rows" not in shown.stdout
    assert target.read_text() == "1 {2}\n2 {1}\n3 {1}\n4 {3}\n"


def test_columns_and_repeated_rows(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("who,when,what\na,1,x\nb,2,x\na,3,y\nb,4,y\nb,5,z\n")
    document = json.loads(call("overlap", path, "--ids", "who", "--items", "2", "--json").stdout)
    assert document["first_pairs"] == [{"left": "a", "right": "b", "shared": 2}]
    path.write_text("1 {2, 3}\n2 {2, 3}\n1 {4}\n")
    refused = call("overlap", path)
    assert refused.returncode == 1
    assert "line" in refused.stderr
    assert json.loads(call("overlap", path, "--merge", "--json").stdout)["rows"] == 2


@pytest.mark.parametrize("count", [1, 3])
def test_parts_together_are_the_whole(many: Path, tmp_path: Path, count: int) -> None:
    call("overlap", many, "-o", tmp_path / "whole.parquet")
    tables, seen = [], 0
    for number in range(1, count + 1):
        path = tmp_path / f"{number}.parquet"
        result = call("overlap", many, "-o", path, "--part", f"{number}/{count}", "--json")
        document = json.loads(result.stdout)
        tables.append(pq.read_table(path))
        assert document["pairs"] == len(tables[-1])
        assert ("part" in document) == (count > 1)
        counted = call("overlap", many, "--count-only", "--part", f"{number}/{count}", "--json")
        assert json.loads(counted.stdout)["pairs"] == len(tables[-1])
        seen += len(tables[-1])
    assert pa.concat_tables(tables).equals(pq.read_table(tmp_path / "whole.parquet"))
    assert seen > 1000


def test_a_plan_does_nothing(golden: Path, tmp_path: Path) -> None:
    result = call("overlap", golden, "--plan", "-o", tmp_path / "x.csv")
    assert result.returncode == 0, result.stderr
    lines = lines_of(result.stdout)
    # The sum of f (f - 1) / 2 over ids that f rows have.
    assert ["updates", "12"] in lines
    assert ["time", "less", "than", "a", "second"] in lines
    assert max(map(len, result.stdout.splitlines())) <= 80
    of_a_part = lines_of(call("overlap", golden, "--plan", "--part", "1/2").stdout)
    assert ["updates", "12", "for", "all", "parts"] in of_a_part
    for piped in ([], ["-o", "-"]):
        document = json.loads(call("overlap", golden, "--plan", "--json", *piped).stdout)
        assert document["plan"]["updates"] == 12
    assert document["plan"]["expected_pairs"] == 4
    assert names(tmp_path) == ["golden.txt"]


@pytest.mark.parametrize("option", ["--ids", "--items"])
def test_more_digits_than_python_takes_are_no_column(tmp_path: Path, option: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("id,items\n1,5 6\n2,5 6\n")
    result = call("overlap", path, option, "7" * 5000)
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1
    assert "7' is no column; columns found: 'id', 'items'" in result.stderr


@pytest.mark.parametrize("plan", [[], ["--plan"]])
def test_an_infinite_frequency_is_text_in_json(golden: Path, plan: list[str]) -> None:
    result = call("overlap", golden, "--max-frequency", "inf", "--json", *plan)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout, parse_constant=pytest.fail)["max_frequency"] == "inf"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-t", "0"], "--threshold 0: how many ids"),
        (["-t", "2.5"], "--threshold 2.5: two rows share a whole number"),
        (["--measure", "jaccard"], "--threshold 2: the jaccard of two rows"),
        (["--measure", "x"], "--measure 'x' is not known"),
        (["--top-k", "0"], "--top-k 0 must be a whole number from 1 on; leave it out"),
        (["--max-frequency", "0"], "a share of them below 1; leave it out"),
        (["--device", "cuda"], "there is no GPU to use"),
        (["--input-format", "x"], "--input-format 'x' is not known"),
        (["-o", "x.xls"], "as --format csv"),
        (["-o", "x.csv", "--format", "x"], "--format 'x' is not known"),
        (["-o", "x.parquet.gz"], "drop the .gz"),
        (["-o", "none/x.csv"], "there is no folder none"),
        (["-o", 300 * "x" + ".csv"], "cannot write xxx"),
        (["-o", "-", "--format", "x"], "--format 'x' is not known"),
        (["--part", "3/2"], "--part 3/2: parts are numbered from 1 to 2"),
        (["--part", "0/2"], "--part 0/2"),
        (["--memory", "1kB"], "--memory 1,000 bytes: joining the rows takes more"),
        (["--ids", "who"], "--ids"),
        (["--ids", "7" * 5000], "7' has no meaning for"),
        (["--other", "none.txt"], "cannot read none.txt"),
    ],
)
def test_errors_are_one_line_that_names_the_option(
    golden: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = call("overlap", golden, *arguments)
    assert result.returncode == 1
    assert result.stdout == ""
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert names(tmp_path) == ["golden.txt"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--count-only", "-o", "x.csv"],
        ["--resume"],
        ["--resume", "-o", "-"],
        ["--json", "-o", "-"],
        ["--part", "2"],
        ["--memory", "much"],
        ["--memory", "1" + 310 * "0"],
    ],
)
def test_options_that_do_not_go_together(
    golden: Path, tmp_path: Path, arguments: list[str]
) -> None:
    result = call("overlap", golden, *arguments)
    assert result.returncode == 2
    assert arguments[0] in result.stderr
    assert names(tmp_path) == ["golden.txt"]


@pytest.mark.parametrize("side", [0, 1])
def test_what_is_read_is_not_written_over(golden: Path, tmp_path: Path, side: int) -> None:
    before = golden.read_text()
    others = tmp_path / "others.txt"
    others.write_text(before)
    result = call("overlap", golden, "--other", others, "-o", (golden, others)[side])
    assert result.returncode == 2
    assert "is a file that is read" in " ".join(result.stderr.replace("\u2502", " ").split())
    assert golden.read_text() == others.read_text() == before


def test_a_malformed_file_is_named_with_its_line(golden: Path) -> None:
    golden.write_text("1 {2, 3}\n2 {2, 3\n")
    result = call("overlap", golden)
    assert result.returncode == 1
    assert f"{golden}, line 2" in result.stderr


def test_ids_that_the_format_cannot_hold(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('["a b", [1, 2]]\n["c", [1, 2]]\n')
    result = call("overlap", path, "-o", tmp_path / "x.txt")
    assert result.returncode == 1
    assert "'a b' cannot be written" in result.stderr
    assert "instead of --format 'grouped'" in result.stderr
    assert names(tmp_path) == ["x.jsonl"]


@pytest.fixture
def in_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "PAIRS_OF_A_BLOCK", 200)
    monkeypatch.setattr(growing, "SYNC_SECONDS", 0)


def stopping(after: int, stop: Any) -> Any:
    """Return `GrowingFile.append` that lets something happen once a few pieces are there."""
    append = GrowingFile.append

    def stopped(self: GrowingFile, piece: bytes, note: Any) -> None:
        append(self, piece, note)
        if len(self.notes) == after:
            stop()

    return stopped


@pytest.mark.parametrize("name", ["x.csv", "x.parquet"])
def test_ctrl_c_and_resume(
    many: Path, tmp_path: Path, in_small_blocks: None, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path, whole = tmp_path / name, tmp_path / f"whole-{name}"
    call("overlap", many, "-o", whole)
    path.write_text("old")
    with monkeypatch.context() as patched:
        interrupt = lambda: signal.raise_signal(signal.SIGINT)  # noqa: E731 - as short as that
        patched.setattr(GrowingFile, "append", stopping(5, interrupt))
        # A suite in the background has Ctrl-C ignored.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        result = call("overlap", many, "-o", path)
        signal.signal(signal.SIGINT, before)
    assert result.returncode == 130
    first, second = result.stderr.splitlines()
    assert first == "warpladder: interrupted"
    assert second.endswith(f"{name}.partial; --resume goes on from there")
    assert path.read_text() == "old"
    refused = call("overlap", many, "-o", path)
    assert refused.returncode == 1
    assert "--resume goes on with it, or delete that file" in refused.stderr
    refused = call("overlap", many, "-o", path, "--resume", "-t", "3")
    assert refused.returncode == 1
    assert "--resume: " in refused.stderr
    assert "threshold 2, not 3" in refused.stderr
    again = json.loads(call("overlap", many, "-o", path, "--resume", "--json").stdout)
    assert path.read_bytes() == whole.read_bytes()
    assert 0 < again["resumed_at_row"] < _ROWS
    assert names(tmp_path) == sorted([name, f"whole-{name}"])
    # Where there is nothing to go on with, a run begins anew.
    assert call("overlap", many, "-o", path, "--resume").returncode == 0
    assert path.read_bytes() == whole.read_bytes()


def test_a_full_disk_says_how_to_go_on(
    many: Path, tmp_path: Path, in_small_blocks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(GrowingFile, "append", stopping(5, full))
        result = call("overlap", many, "-o", tmp_path / "x.csv")
    assert result.returncode == 1
    assert "No space left on device" in result.stderr
    assert result.stderr.endswith("x.csv.partial; --resume goes on from there\n")
    assert call("overlap", many, "-o", tmp_path / "x.csv", "--resume").returncode == 0
    assert names(tmp_path) == ["x.csv"]


_KILLED = """
import os, signal
from warpladder.formats import growing
from warpladder.overlap_join import stored
stored.PAIRS_OF_A_BLOCK, growing.SYNC_SECONDS = 200, 0
append = growing.GrowingFile.append
def killing(self, piece, note):
    append(self, piece, note)
    if len(self.notes) == 5:
        self._data.write(b"torn")
        self._data.flush()
        os.kill(os.getpid(), signal.SIGKILL)
growing.GrowingFile.append = killing
"""


@pytest.mark.skipif(os.name != "posix", reason="elsewhere processes are ended otherwise")
def test_killed_and_resumed(many: Path, tmp_path: Path, in_small_blocks: None) -> None:
    path, whole = tmp_path / "x.parquet", tmp_path / "whole.parquet"
    call("overlap", many, "-o", whole)
    command = [sys.executable, "-c", _KILLED + _PROGRAM, "overlap", str(many), "-o", str(path)]
    killed = subprocess.run(command, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert names(tmp_path) == ["whole.parquet", "x.parquet.journal", "x.parquet.partial"]
    again = json.loads(call("overlap", many, "-o", path, "--resume", "--json").stdout)
    assert again["resumed_at_row"] > 0
    assert path.read_bytes() == whole.read_bytes()
    assert names(tmp_path) == ["whole.parquet", "x.parquet"]


@pytest.mark.large
@pytest.mark.skipif(os.name != "posix", reason="elsewhere processes are ended otherwise")
# Text begins with a line of names, which is there once, and is packed piece by piece.
@pytest.mark.parametrize(("name", "n"), [("x.parquet", 9000), ("x.csv.gz", 9000)])
def test_killed_at_any_moment(tmp_path: Path, name: str, n: int) -> None:
    """Millions of pairs; killed again and again, some time after a run has got further."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3000, (n, 30))
    table = pa.table({"id": np.arange(n), "related": list(rows)})
    pq.write_table(table, tmp_path / "rows.parquet")
    path, whole, journal = (tmp_path / one for one in (name, f"whole-{name}", f"{name}.journal"))
    syncing = "from warpladder.formats import growing; growing.SYNC_SECONDS = 0.05\n"
    command = [sys.executable, "-c", syncing + _PROGRAM, "overlap", tmp_path / "rows.parquet"]
    command += ["-t", "1", "--resume", "-o"]
    subprocess.run([*command, whole], check=True, capture_output=True)
    for _ in range(2):
        before = size_of(journal)
        with subprocess.Popen([*command, path], stdout=-1, stderr=-1) as run:
            # Until another piece is there; the journal begins with 300 bytes of its own.
            while run.poll() is None and size_of(journal) < max(before, 400) + 60:
                sleep(0.01)
            # Both together are less than a fast machine needs for the whole.
            sleep(rng.random() / 10)
            run.kill()
        assert run.returncode == -signal.SIGKILL
        assert not path.exists()
    done = subprocess.run([*command, path, "--json"], check=True, capture_output=True)
    assert json.loads(done.stdout)["resumed_at_row"] > 0
    assert path.read_bytes() == whole.read_bytes()
    assert names(tmp_path) == sorted(["rows.parquet", name, f"whole-{name}"])


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(as_text(GOLDEN).encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(packed)))
    assert json.loads(call("overlap", "-", "--json").stdout)["pairs"] == 4


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ([], "left,right,shared\n1,2,3\n1,3,3\n2,3,2\n3,4,2\n"),
        (["--format", "grouped"], "1 {2, 3}\n2 {1, 3}\n3 {1, 2, 4}\n4 {3}\n"),
        (["--format", "pairs", "--part", "1/1"], "1 2 3\n1 3 3\n2 3 2\n3 4 2\n"),
    ],
)
def test_standard_output(golden: Path, form: list[str], expected: str) -> None:
    result = call("overlap", golden, "-o", "-", *form)
    assert (result.stdout, result.stderr) == (expected, "")


# By default `paths` shows it.
@pytest.mark.large
def test_a_closed_pipe_ends_quietly(golden: Path) -> None:
    command = [sys.executable, "-c", _PROGRAM, "overlap", str(golden), "-o", "-"]
    with subprocess.Popen(command, stdout=-1, stderr=-1) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_standard_output_is_one_line(
    golden: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        monkeypatch.setattr(sys, "argv", ["warpladder", "overlap", str(golden), "-o", "-"])
        with pytest.raises(SystemExit) as leaving:
            main()
        assert leaving.value.code == 1
    told = capfd.readouterr().err
    assert told == "warpladder: cannot write: No space left on device\n"


def test_ids_that_steer_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    names = ["[red]", "\x1b[2J", "y" * 100]
    path.write_text("".join(f"{json.dumps([name, [1, 2]])}\n" for name in names))
    result = call("overlap", path)
    assert result.returncode == 0, result.stderr
    assert "\x1b" not in result.stdout
    assert "[red]" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_help() -> None:
    result = call("overlap", "--help")
    assert result.returncode == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    for option in ("--threshold", "--part", "--resume", "--plan", "--top-k"):
        assert option in result.stdout


def test_parts_and_amounts() -> None:
    assert as_part("12/12") == (12, 12)
    assert [as_bytes(text) for text in ("7", "2kb", "1 GiB", " 0.5T ")] == [
        7, 2000, 2**30, 5 * 10**11,
    ]  # fmt: skip
    for text, said in (("4", "4 bytes; write 4GB"), ("0 GB", "0 bytes; write 4GB")):
        with pytest.raises(typer.BadParameter, match=f"'{text}' is {said}, say"):
            as_bytes(text, least=2**20)
