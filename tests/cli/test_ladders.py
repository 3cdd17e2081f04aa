"""`warpladder ladders`, `climb` and `explain`, on toys in the place of ladders and devices."""

from __future__ import annotations

import json
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
import toy
from rich.console import Console

from calling import INTERRUPTION, call
from warpladder.cli.climb import _evidence
from warpladder.lab import recorded as recorded_times
from warpladder.lab.climb import Row
from warpladder.lab.recorded import Recording
from warpladder.lab.registry import ladders
from warpladder.lab.sources import SOURCES
from warpladder.lab.verify import PredictionResult, Verdict


def run(*arguments, gpu=False):
    with pytest.MonkeyPatch.context() as patch:
        toy.install(gpu, put=patch.setattr)
        result = call(*arguments)
    assert "Traceback" not in result.stderr
    assert max(map(len, result.stdout.splitlines()), default=0) <= 80 or "--json" in arguments
    return result


def words(result):
    return [line.split() for line in result.stdout.splitlines()]


def document(*arguments, gpu=False):
    return json.loads(run(*arguments, "--json", gpu=gpu).stdout)


def test_ladders():
    shown = words(run("ladders"))
    assert ["plain", "plain", "[as", "the", "title]"] in shown
    assert ["beyond;", "bound", "by", "dram"] in shown
    assert ["race", "race", "[as", "the", "title]"] in shown
    assert ["beyond;", "caught", "by", "racecheck"] in shown
    assert ["broken:", "Rungs", "that", "break", "their", "word"] in shown
    one = run("ladders", "toy").stdout
    assert "toy: Doubling [step by step]" in one
    assert "broken" not in one


def test_ladders_as_json():
    doubling, broken = document("ladders")["ladders"]
    assert [rung["rung"] for rung in doubling["rungs"]] == ["plain", "strided", "neighbours"]
    assert doubling["rungs"][2]["predicts"][0]["than"] == "strided"
    assert doubling["wrong"][0]["caught_by"] == "racecheck"
    assert broken["name"] == "broken"


def test_climb_on_the_simulator():
    result = run("climb", "toy")
    assert result.returncode == 0, result.stderr
    shown = words(result)
    assert ["plain", "yes"] in shown
    counter = "global_load_sectors/request"
    assert ["strided", "yes", counter, "==", "32", "32"] in shown
    assert ["neighbours", "yes", counter, "==", "1/8", "x", "1/8", "x"] in shown
    assert ["race", "caught", "by", "racecheck"] in shown
    assert "end to end" not in result.stdout
    assert "Not measured: times, rates and limits, for which it takes a GPU" in result.stdout


def test_climb_on_a_gpu():
    result = run("climb", "toy", gpu=True)
    shown = words(result)
    line = next(line for line in shown if line[0:1] == ["strided"])
    assert line[:5] == ["strided", "yes", "1000", "2", "ms"]
    assert line[-4:] == ["500", "k", "25", "%"]
    assert ["rung", "ok", "n", "kernel", "end", "to", "end", "additions/s", "limit"] in shown
    assert "Limits, measured in this run: memory 16 MB/s." in result.stdout
    assert not any("race" in line or "counter" in line for line in shown)
    assert "Not counted: what rungs predict of counters (--counters)." in result.stdout
    counted = run("climb", "toy", "--counters", gpu=True).stdout
    assert "global_load_sectors/request" in counted
    assert "Not counted" not in counted


def test_climb_on_a_gpu_as_json():
    found = document("climb", "toy", "--device", "cuda", gpu=True)
    assert found["not_measured"] == ""
    assert found["ceilings"] == [{"name": "memory", "rate": 16e6, "unit": "B/s"}]
    plain, strided, _ = found["rungs"]
    assert (plain["kernel_seconds"], plain["limit"], plain["percent_of_limit"]) == (None,) * 3
    assert strided["kernel_seconds"] == pytest.approx(2e-3)
    assert len(strided["all_kernel_seconds"]) == 5
    assert strided["rate"] == pytest.approx(1000 / 2e-3)
    assert strided["limit"] == {"by": "dram", "seconds": 5e-4}
    assert strided["percent_of_limit"] == pytest.approx(25)


def test_climb_on_the_cpu():
    (row,) = document("climb", "toy", "--device", "cpu", "--n", 50)["rungs"]
    assert (row["rung"], row["n"], row["unit"], row["ok"]) == ("plain", 50, "additions", True)
    result = run("climb", "broken", "--device", "cpu")
    assert result.returncode == 1
    assert "no rung of broken runs on the CPU" in result.stderr


def test_a_climb_that_fails_says_why_and_its_status_is_1():
    result = run("climb", "broken")
    assert result.returncode == 1
    shown = " ".join(result.stdout.split())
    assert "off NO" in shown
    # Its second claim fails, so the row shows that one.
    assert "liar yes warp_instructions == 1,234,567 20 FAILS" in shown
    assert "liar predicted warp_instructions == 1,234,567 at n = 33, counted 20" in shown
    assert "harmless NOT caught by memcheck; with checks off, right under the schedule" in shown
    assert "off is wrong at n = 1, 2, 33; the first: result[0]: expected 3.7012484" in shown


@pytest.mark.parametrize(
    ("rung", "status"), [("liar", 1), ("off", 1), ("harmless", 1), ("strided", 0), ("race", 0)]
)
def test_climb_of_one_rung(rung, status):
    ladder = "toy" if status == 0 else "broken"
    result = run("climb", ladder, "--rung", rung, "--json")
    assert result.returncode == status
    found = json.loads(result.stdout)
    assert [row["rung"] for row in found["rungs"] + found["wrong"]] == [rung]
    assert found["ok"] == (status == 0)


def test_explain():
    shown = words(run("explain", "toy/neighbours"))
    assert ["req", "load", "used", "thr"] in shown
    line = next(line for line in shown if line[-5:] == ["y[...]", "=", "x", "+", "x"])
    assert line[:4] == ["10", "4", "100", "30"]
    assert ["global_load_sectors_per_request", "4"] in shown
    assert any(line[:2] == ["load", "32-byte"] for line in shown)
    assert any(line[:2] == ["holds", "predicted"] for line in shown)
    assert ["It", "is", "so."] in shown


def test_explain_a_wrong_rung_and_one_on_the_cpu():
    shown = run("explain", "toy/race").stdout
    assert "With checks on: racecheck: double does what it must not" in shown
    assert "under the schedule warps-reverse is wrong" in shown
    assert "problem.x + problem.x" in run("explain", "toy/plain").stdout


def test_explain_prints_all_of_the_text_and_where_it_stands():
    shown = run("explain", "toy/strided", "--no-lines").stdout
    assert Path(shown.splitlines()[1]).name == "toy.py"
    assert "\nIdea: to this belongs a paragraph, which is shown, too.\n" in shown
    found = document("explain", "toy/strided")
    assert found["text"][1].startswith("Idea: to this")
    assert Path(found["file"]).name == "toy.py"


def test_explain_names_the_source_and_what_nsight_compute_calls_the_totals():
    shown = run("explain", "toy/neighbours", "--no-lines").stdout
    assert "CF: Pedro Carrega and Vasco Ferreira: A Study in CUDA Usage." in shown
    name = shown.splitlines().index("  global_load_sectors_per_request")
    assert shown.splitlines()[name + 1] == (
        "    l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"
    )
    assert "holds  predicted global_load_sectors_per_request == 1/8 x strided's" in shown
    found = document("explain", "toy/neighbours")
    assert found["sources"][0]["title"] == "A Study in CUDA Usage"
    assert found["predictions"][0]["stated"] == "1/8"
    metric = found["nsight_compute"]["global_load_sectors"]
    assert metric == "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"


def test_explain_without_lines_and_as_json():
    assert "y[...]" not in run("explain", "toy/strided", "--no-lines").stdout
    found = document("explain", "toy/strided", "--n", 7)
    assert found["n"] == 7
    assert found["kernels"][0]["lines"][2]["counters"]["global_load_sectors"] == 320
    assert found["predictions"][0]["measured"] == 32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ladders", "tow"], "no ladder 'tow'; did you mean toy? `warpladder ladders` lists"),
        (["climb", "tow"], "no ladder 'tow'"),
        (["climb", "toy/strided"], "'toy/strided' is a rung; its ladder is toy"),
        (["climb", "toy", "--rung", "stride"], "did you mean strided?"),
        (["climb", "toy", "--device", "gpu"], "--device 'gpu' is not known"),
        (["explain", "toy/stride"], "did you mean strided?"),
        (["explain", "toy"], "'toy' must be LADDER/RUNG"),
        (["explain", "toy/strided", "--diff", "plan"], "did you mean plain?"),
        (["explain", "toy/strided", "--diff", "tow/plain"], "no ladder 'tow'"),
        (
            ["explain", "toy/strided", "--diff", "neighbours", "--n", "9999"],
            "--n 9999: neighbours takes up to 2000: one block",
        ),
    ],
)
def test_errors_are_one_line_and_status_1(arguments, message):
    result = run(*arguments)
    assert result.returncode == 1
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""


@pytest.mark.parametrize("n", [99_999_999_999_999, 2**62, 10**20])
@pytest.mark.parametrize("command", [("climb", "primer", "--rung", "strided-access"),
                                     ("explain", "primer/strided-access"),
                                     ("explain", "shortest-paths/launch-per-k"),
                                     ("picture", "primer/strided-access")])  # fmt: skip
def test_what_memory_does_not_hold_is_told_by_its_option(command, n):
    result = call(*command, "--n", n)
    assert result.returncode == 1
    assert result.stderr.startswith("warpladder: --n: the memory at hand does not hold")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--device", "cuda"], "only the simulator counts"),
        (["--compute-capability", "nine"], "two numbers as in 9.0"),
        (["--n", "-1"], "--n"),
    ],
)
def test_usage_errors(arguments, message):
    result = run("explain", "toy/strided", *arguments)
    assert result.returncode == 2
    assert message in result.stderr


def test_help_fits_gives_examples_and_names_the_sources():
    for name in ("ladders", "climb", "explain"):
        shown = run(name, "--help").stdout
        assert f"warpladder {name} primer" in shown
        assert "…" not in shown
        for source in SOURCES.values():
            assert f"{source.key}: {source}" in " ".join(shown.split())


@pytest.fixture
def recorded(monkeypatch):
    run = Recording(
        "NVIDIA H200",
        "2026-11-20",
        "gpu_toy.json",
        {"strided": {1000: 2.0, 64: 0.25}, "neighbours": {1000: 0.5}},
    )
    monkeypatch.setattr(recorded_times, "_recordings", lambda: {"toy": run})


@pytest.mark.usefixtures("recorded")
def test_recorded_times_stand_where_there_is_no_gpu_with_card_and_date():
    for device in ("simulator", "cpu"):
        result = run("climb", "toy", "--device", device)
        shown = words(result)
        assert ["rung", "n", "recorded,", "ms"] in shown
        assert ["strided", "1,000", "2"] in shown
        assert ["neighbours", "1,000", "0.5"] in shown
        text = " ".join(result.stdout.split())
        assert "Recorded, not measured here: NVIDIA H200, 2026-11-20, kernels alone" in text
        assert "(benchmarks/results/gpu_toy.json)" in text
    assert ["strided", "64", "0.25"] in words(run("climb", "toy", "--n", 64))
    assert "ecorded" not in run("climb", "toy", gpu=True).stdout
    assert "ecorded" not in run("climb", "broken").stdout
    found = document("climb", "toy")
    assert found["recorded"] == {
        "card": "NVIDIA H200",
        "date": "2026-11-20",
        "file": "gpu_toy.json",
    }
    assert [row["recorded"] for row in found["rungs"]] == [
        [],
        [{"n": 64, "kernel_ms": 0.25}, {"n": 1000, "kernel_ms": 2.0}],
        [{"n": 1000, "kernel_ms": 0.5}],
    ]


@pytest.mark.usefixtures("recorded")
def test_explain_has_the_recorded_times_of_a_rung_and_of_two():
    result = run("explain", "toy/strided")
    assert ["64", "0.25"] in words(result)
    text = " ".join(result.stdout.split())
    assert "Recorded, not measured here: NVIDIA H200, 2026-11-20" in text
    assert "ecorded" not in run("explain", "toy/plain").stdout
    both = words(run("explain", "toy/neighbours", "--diff", "strided"))
    assert ["1,000", "2", "0.5", "0.25"] in both
    assert document("explain", "toy/neighbours")["recorded"]["times"] == [
        {"n": 1000, "kernel_ms": 0.5}
    ]


def test_explain_says_which_transactions_todays_gpus_use():
    shown = " ".join(run("explain", "toy/neighbours").stdout.split())
    assert "GPUs of today (compute capability 6.0 and later) move sectors of 32 bytes" in shown
    assert "sectors of 32 bytes" not in run("explain", "toy/plain").stdout


def test_explain_beside_another_rung():
    result = run("explain", "toy/neighbours", "--diff", "strided")
    shown = words(result)
    assert result.stdout.index("- toy/strided") < result.stdout.index("+ toy/neighbours")
    assert ["global_load_sectors", "320", "40", "0.125"] in shown
    assert "Counters that differ, of all launches, n = 33" in result.stdout
    assert any(line[:2] == ["holds", "predicted"] for line in shown)
    # The kernel is the same function: no line is another.
    assert "12-" not in result.stdout
    assert run("explain", "toy/neighbours", "--diff", "toy/strided").stdout == result.stdout
    found = document("explain", "toy/neighbours", "--diff", "strided", "--n", 7)
    assert (found["n"], found["before"]["rung"]) == (7, "strided")
    assert "y[...]" not in run("explain", "toy/strided", "--no-lines", "--diff", "race").stdout


def test_counters_are_not_broken_at_80_columns():
    for ladder in ladders():
        console = Console(width=80, file=StringIO())
        told = {rung.name: rung.predicts[0] for rung in ladder.rungs if rung.predicts}
        rows = [
            Row(ladder.find(name), (Verdict(1),), (PredictionResult(claim, claim.value, 1),))
            for name, claim in told.items()
        ]
        console.print(_evidence(rows))
        shown = {part for line in console.file.getvalue().splitlines() for part in line.split()}
        assert {claim.counter.replace("_per_", "/") for claim in told.values()} <= shown


def test_kernels_without_a_counterpart_are_named():
    shown = call("explain", "shortest-paths/blocked-shared", "--diff", "launch-per-k", "--n", 33)
    text = " ".join(shown.stdout.split())
    assert "In launch-per-k only: relax_cell; `warpladder explain shortest-paths/launch-p" in text
    assert "In blocked-shared only: close_diagonal, relax_panels, relax_rest;" in text
    assert max(map(len, shown.stdout.splitlines())) <= 80


def test_explain_beside_another_rung_on_a_wide_terminal(monkeypatch):
    narrow = run("explain", "toy/neighbours", "--diff", "strided").stdout
    assert " | " not in narrow
    monkeypatch.setattr("calling.COLUMNS", 160)
    with pytest.MonkeyPatch.context() as patch:
        toy.install(put=patch.setattr)
        wide = call("explain", "toy/neighbours", "--diff", "strided").stdout
    assert max(map(len, wide.splitlines())) <= 160
    (line,) = [line for line in wide.splitlines() if "y[...]" in line]
    left, right = line.split(" | ")
    assert (left.split()[:2], right.split()[:2]) == (["10", "32"], ["10", "4"])


def test_no_line_of_code_is_cut_without_a_sign():
    for rung in ("toy/neighbours", "toy/race"):
        lines = run("explain", rung).stdout.splitlines()
        first = next(i for i, line in enumerate(lines) if "def double" in line)
        code = " ".join(line for line in lines[first:] if "..  " in line or " # " in line)
        assert "A line on which nothing is counted" in code
        assert "narrow terminal has." in code.replace("  ", "")
        assert any(line.split()[:1] == [".."] for line in lines)


# By default the command is given with a toy, and the ladder without a command.
@pytest.mark.large
def test_the_primer_on_the_simulator():
    """The real ladder on the real device, all the way through the command line."""
    climbed = call("climb", "primer", "--device", "simulator", "--json")
    assert climbed.returncode == 0, climbed.stdout
    found = json.loads(climbed.stdout)
    assert all(wrong["caught"] for wrong in found["wrong"])
    explained = call("explain", "primer/strided-access")
    line = next(line.split() for line in explained.stdout.splitlines() if "STRIDE * i" in line)
    assert line[1:3] == ["32", "4"]


# By default other commands show it.
@pytest.mark.large
def test_an_interrupted_climb_ends_in_one_line():
    program = (
        f"import sys; sys.path.insert(0, {str(Path(toy.__file__).parent)!r}); import toy;"
        "toy.install(); from warpladder.cli import main; main()"
    )
    climb = ("climb", "toy", "--rung", "plain", "--device", "cpu", "--n", "200000000")
    result = subprocess.run(
        [sys.executable, "-c", INTERRUPTION + program, *climb],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 130
    assert result.stderr == "warpladder: interrupted; no file was changed\n"
    assert result.stdout == ""
