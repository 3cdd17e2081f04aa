"""The parts of the hardware validation that need no hardware: reading, matching, comparing."""

import importlib
import json
import os
import sys
from dataclasses import fields
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from warpladder.simulator import Counters, SimulatedDevice
from warpladder.simulator.checks.counters import NSIGHT_COMPUTE

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
UNIFORM = "smsp__sass_average_branch_targets_threads_uniform.pct"

RAW = """\
==PROF== Connected to process 4711 (/opt/torch/.venv/bin/python3.12)
==PROF== Profiling "add" - 0: 0%....50%....100% - 3 passes
==WARNING== Note: a remark that stands before the table
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",\
"Grid Size","Device","CC","l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",\
"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",\
"smsp__sass_average_branch_targets_threads_uniform.pct"
"","","","","","","","","","","","request","sector","%"
"0","4711","python3.12","127.0.0.1","add[abi:v1](Array<float, (int)1>, Array<float, (int)1>)",\
"1","7","(64, 1, 1)","(2, 1, 1)","0","9.0","1,024","4,096.00","n/a"
"1","4711","python3.12","127.0.0.1","scale","1","7","(32, 1, 1)","(1, 1, 1)","0","9.0","1","32","50"
"""


@pytest.fixture(scope="module")
def validation():
    known, path = set(sys.modules), list(sys.path)
    sys.path.insert(0, str(BENCHMARKS))
    names = ("counters", "ncu", "parts", "report", "results")
    modules = {name: importlib.import_module(f"validation.{name}") for name in names}
    command = importlib.import_module("validate_simulator")
    cases = importlib.import_module("micro_kernels")
    yield SimpleNamespace(**modules, main=command.main, cases=cases)
    sys.path[:] = path
    for name in set(sys.modules) - known:
        if name.partition(".")[0] in {"validation", "validate_simulator", "micro_kernels"}:
            del sys.modules[name]


def test_names_are_followed_by_units_and_other_columns_left_out(validation):
    first, second = validation.ncu.parse_ncu_csv(RAW, (REQUESTS, SECTORS, UNIFORM))
    assert first == {
        "ID": "0",
        "Kernel Name": "add[abi:v1](Array<float, (int)1>, Array<float, (int)1>)",
        "Block Size": "(64, 1, 1)",
        "Grid Size": "(2, 1, 1)",
        "metrics": {REQUESTS: 1024, SECTORS: 4096},
    }
    assert second["metrics"][UNIFORM] == 50


def test_what_is_written_for_a_rehearsal_is_read_again(validation):
    launch = {"key": "a", "kernel": "add", "grid": [2, 1, 1], "block": [64, 1, 1]}
    metrics = {REQUESTS: 1024.0, SECTORS: 0.25}
    text = validation.ncu.write_ncu_csv([launch | {"metrics": metrics}], metrics)
    rows = validation.ncu.parse_ncu_csv(text, metrics)
    assert validation.ncu.match_rows(rows, [launch])["a"]["metrics"] == metrics


@pytest.mark.parametrize("text", ["", "==ERROR== no permission\n", '"ID","Kernel Name"\n'])
def test_output_without_launches_gives_none(validation, text):
    assert validation.ncu.parse_ncu_csv(text, (REQUESTS,)) == []


def test_rows_are_matched_in_order_and_others_passed_over(validation):
    def launch(key, kernel, block):
        return {"key": key, "kernel": kernel, "grid": [1, 1, 1], "block": [block, 1, 1]}

    def row(kernel, block):
        size = {"Block Size": f"({block}, 1, 1)", "Grid Size": "(1, 1, 1)"}
        return {"Kernel Name": f"module::{kernel}[abi:v1]", **size}

    rows = [row("add", 32), row("fill", 256), row("add", 64), row("scale", 32)]
    launches = [
        launch("a", "add", 32),
        launch("b", "add", 64),
        launch("none", "add", 128),
        launch("c", "scale", 32),
    ]
    matched = validation.ncu.match_rows(rows, launches)
    assert matched == {"a": rows[0], "b": rows[2], "c": rows[3]}


def counted(validation, **sums):
    return validation.counters.metrics_of(Counters(**sums))


def test_nsight_computes_names_are_of_what_was_compared(validation):
    sums = {field.name: 1009 * k + 7 for k, field in enumerate(fields(Counters))}
    counters, compared = Counters(**sums), validation.counters
    metrics = compared.metrics_of(counters)
    names = {one.name for one in compared.COMPARISONS}
    for name, metric in NSIGHT_COMPUTE.items():
        parts = metric.split(" + ")
        if name in names and name.endswith("sectors_per_request"):
            # Nsight Compute's own ratio of the two sums that were asked for.
            assert parts[0].startswith("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global")
        else:
            assert sum(metrics[part] for part in parts) == pytest.approx(getattr(counters, name))
    # All that was compared has its name, but for ratios that Nsight Compute does not have.
    assert {part for metric in NSIGHT_COMPUTE.values() for part in metric.split(" + ")} >= set(
        compared.METRICS
    )


def test_counters_that_disagree_are_listed_with_both_numbers(validation):
    simulated = {
        "same": counted(validation, global_load_requests=4, global_load_sectors=16),
        "other": counted(validation, global_load_requests=4, global_load_sectors=128),
    }
    hardware = {
        # Twice the requests, at the same sectors for each.
        "same": {REQUESTS: 8.0, SECTORS: 32.0},
        "other": {REQUESTS: 4.0, SECTORS: 64.0},
    }
    found = validation.counters.compare_counters(simulated, hardware)
    assert found["counters"]["global_load_sectors_per_request"] == {
        "definition": f"{SECTORS} / {REQUESTS}",
        "agree": 1,
        "of": 2,
        "disagreements": [{"case": "other", "simulator": 32, "hardware": 16}],
    }
    assert found["counters"]["global_load_requests"]["disagreements"] == [
        {"case": "same", "simulator": 4, "hardware": 8}
    ]
    assert found["counters"]["shared_load_requests"]["of"] == 0
    assert found["table"]["rows"] == [
        ["same", 4, None, None, None],
        ["other", [32, 16], None, None, None],
    ]


def test_disagreements_that_are_known_come_last_with_the_reason(validation):
    ours = counted(validation, global_load_requests=4, global_load_sectors=32)
    cases = [f"global/complex64 stride {k}" for k in range(60)] + ["global/float32 stride 1"]
    hardware = {REQUESTS: 8.0, SECTORS: 64.0}
    found = validation.counters.compare_counters(
        dict.fromkeys(cases, ours), dict.fromkeys(cases, hardware)
    )
    requests = found["counters"]["global_load_requests"]
    assert requests["of"] == 61
    assert requests["disagreements_expected"] == 60
    assert len(requests["disagreements"]) == 40
    first, *others = requests["disagreements"]
    assert first == {"case": "global/float32 stride 1", "simulator": 4, "hardware": 8}
    assert all("complex" in one["expected"] for one in others)


def test_launches_of_a_step_that_are_alike_are_one_row(validation):
    ours = counted(validation, global_load_requests=1, global_load_sectors=4)
    simulated = {f"step #{k}": ours for k in range(1, 9)}
    hardware = {key: {REQUESTS: 1.0, SECTORS: 4.0 + (key == "step #4")} for key in simulated}
    found = validation.counters.compare_counters(simulated, hardware)
    assert [row[:2] for row in found["table"]["rows"]] == [
        ["step #1-3", 4],
        ["step #4", [4, 5]],
        ["step #5-8", 4],
    ]


class _Wrong(SimulatedDevice):
    """A GPU whose last result is off by a little in one place."""

    def to_host(self, device_array, out=None, *, stream=None):
        host = super().to_host(device_array, out, stream=stream)
        if host.dtype == np.float64:
            host.ravel()[5] = np.nextafter(host.ravel()[5], np.inf)
        return host


def arithmetic(validation, name):
    return next(one for one in validation.cases.arithmetic_cases() if name in one.name)


def test_results_that_differ_are_reported_with_their_inputs(validation):
    case = arithmetic(validation, "int64 to floats")
    same = validation.results.compare_case(case, SimulatedDevice(), SimulatedDevice())
    assert same["differences"] == []
    found = validation.results.compare_case(case, SimulatedDevice(), _Wrong())
    (fault,) = found["differences"]
    assert fault["row"] == "/"
    assert fault["count"] == 1
    assert "expected" not in fault
    (example,) = fault["examples"]
    assert example["at"] == 5
    assert len(example["inputs"]) == 2


def test_a_difference_that_is_known_says_why(validation):
    case = arithmetic(validation, "float32 a b + c")
    found = validation.results.compare_case(case, SimulatedDevice(), _Wrong())
    (fault,) = found["differences"]
    assert "fma" in fault["expected"]
    document = validation.report.compose(
        {"micro": {"entries": {case.name: found, "other": {"differences": []}}}},
        dry=True,
        seconds=1.0,
    )
    assert document["micro"]["equal"] == ["other"]
    assert list(document["micro"]["differ_as_expected"]) == [case.name]
    assert validation.report.succeeded(document, ["micro"])


def test_differences_within_the_units_allowed_pass(validation):
    case = arithmetic(validation, "float64 functions")
    assert case.ulps
    found = validation.results.compare_case(case, SimulatedDevice(), _Wrong())
    assert found["differences"] == []


def steps_of(*steps):
    return lambda _: iter(steps)


def fail():
    raise ValueError("no such thing")


def test_a_step_that_fails_is_recorded_and_the_rest_goes_on(validation, tmp_path, monkeypatch):
    steps = steps_of(("one", dict), ("two", fail), ("three", partial(dict, differences=[{"n": 1}])))
    monkeypatch.setitem(validation.parts.PARTS, "micro", steps)
    state = tmp_path / "part.json"
    assert validation.parts.run_part("micro", state, None) == 0
    found = validation.parts._read(state, "")
    outcome = validation.report.compose({"micro": found}, dry=True, seconds=1.0)["micro"]
    assert outcome["equal"] == ["one"]
    assert "no such thing (test_validate_simulator.py:" in outcome["failed"]["two"]
    assert outcome["differ"] == {"three": [{"n": 1}]}


def test_a_part_that_cannot_begin_says_why(validation, tmp_path, monkeypatch):
    monkeypatch.setitem(validation.parts.PARTS, "micro", lambda _: fail())
    state = tmp_path / "part.json"
    assert validation.parts.run_part("micro", state, None) == 1
    found = validation.parts._read(state, "the process ended with status 1")
    assert found["error"] == "ValueError: no such thing"
    document = validation.report.compose({"micro": found}, dry=True, seconds=1.0)
    assert not validation.report.succeeded(document, ["micro"])


@pytest.mark.parametrize(
    ("ended", "two", "kind"),
    [("", "time", "skipped"), ("the process ended with status -11", "-11", "error")],
)
def test_steps_that_a_part_did_not_come_to_are_skipped(validation, tmp_path, ended, two, kind):
    state = tmp_path / "part.json"
    document = {"steps": ["one", "two", "three"], "entries": {"one": {}}, "running": "two"}
    state.write_text(json.dumps(document))
    entries = validation.parts._read(state, ended)["entries"]
    assert entries["one"] == {}
    assert two in entries["two"][kind]
    assert list(entries["three"]) == ["skipped"]


def test_cases_have_names_of_their_own(validation):
    made = validation.cases
    cases = [*made.memory_cases(), *made.control_cases(), *made.arithmetic_cases()]
    assert len({case.name for case in cases}) == len(cases)
    assert all(set(case.expected) <= {*case.rows, ""} for case in cases)


@pytest.mark.large
def test_rehearsal_of_the_whole(validation, tmp_path, monkeypatch):
    # The occupancy part alone: the machine's part and the report go with it.
    monkeypatch.setitem(os.environ, "PYTHONWARNINGS", "default")
    assert validation.main(["--dry", "--only", "occupancy", "--out", str(tmp_path)]) == 0
    (path,) = tmp_path.glob("validation_*.json")
    document = json.loads(path.read_text())
    assert "differ" not in document["occupancy"]
    assert document["occupancy"]["asked"] > 100
    assert document["occupancy"]["steps"] == len(document["occupancy"]["equal"]) == 13
