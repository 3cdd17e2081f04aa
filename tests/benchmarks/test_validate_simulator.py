"""The parts of the hardware validation that need no hardware: reading, matching, comparing."""

import importlib.util
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from warpladder.simulator import Counters, SimulatedDevice

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

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

LONG = """\
"ID","Process ID","Kernel Name","Block Size","Grid Size","Section Name","Metric Name",\
"Metric Unit","Metric Value"
"0","4711","add","(64, 1, 1)","(2, 1, 1)","Command line profiler metrics",\
"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum","request","4"
"0","4711","add","(64, 1, 1)","(2, 1, 1)","Command line profiler metrics",\
"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum","sector","16"
"""


@pytest.fixture(scope="module")
def validate():
    path = list(sys.path)
    name = "validate_simulator"
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = path
    del sys.modules[name], sys.modules["micro_kernels"]


def test_raw_page_has_a_column_for_each_metric_and_a_line_of_units(validate):
    first, second = validate.parse_ncu_csv(RAW)
    assert first["Kernel Name"] == "add[abi:v1](Array<float, (int)1>, Array<float, (int)1>)"
    assert first["metrics"] == {
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 1024,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 4096,
    }
    assert second["metrics"]["smsp__sass_average_branch_targets_threads_uniform.pct"] == 50


def test_other_pages_have_a_line_for_each_metric(validate):
    (launch,) = validate.parse_ncu_csv(LONG)
    assert launch["Block Size"] == "(64, 1, 1)"
    assert launch["metrics"] == {
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 4,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 16,
    }


@pytest.mark.parametrize("text", ["", "==ERROR== no permission\n", '"ID","Kernel Name"\n'])
def test_output_without_launches_gives_none(validate, text):
    assert validate.parse_ncu_csv(text) == []


def test_rows_are_matched_in_order_and_others_passed_over(validate):
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
    matched = validate.match_rows(rows, launches)
    assert matched == {"a": rows[0], "b": rows[2], "c": rows[3]}


def test_counters_that_disagree_are_listed_with_both_numbers(validate):
    simulated = {
        "same": Counters(global_load_requests=4, global_load_sectors=16),
        "other": Counters(global_load_requests=4, global_load_sectors=128),
    }
    requests = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
    sectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
    hardware = {
        # Twice the requests, at the same sectors for each.
        "same": {requests: 8.0, sectors: 32.0},
        "other": {requests: 4.0, sectors: 64.0},
    }
    found = validate.compare_counters(simulated, hardware)
    assert found["global_load_sectors_per_request"] == {
        "agree": 1,
        "of": 2,
        "disagreements": [{"launch": "other", "simulator": 32.0, "hardware": 16.0}],
    }
    assert found["global_load_requests"]["disagreements"] == [
        {"launch": "same", "simulator": 4, "hardware": 8.0}
    ]
    assert found["shared_load_requests"]["of"] == 0


class _Wrong(SimulatedDevice):
    """A GPU whose last result is off by a little in one place."""

    def to_host(self, device_array, out=None, *, stream=None):
        host = super().to_host(device_array, out, stream=stream)
        if host.dtype == np.float64:
            host.ravel()[5] = np.nextafter(host.ravel()[5], np.inf)
        return host


def test_results_that_differ_are_reported_with_their_inputs(validate):
    case = next(one for one in validate.arithmetic_cases() if "int64 to floats" in one.name)
    same = validate._compare_case(case, SimulatedDevice(), SimulatedDevice())
    assert same["differences"] == []
    found = validate._compare_case(case, SimulatedDevice(), _Wrong())
    (fault,) = found["differences"]
    assert fault["row"] == "/"
    assert fault["count"] == 1
    (example,) = fault["examples"]
    assert example["at"] == 5
    assert len(example["inputs"]) == 2


def test_differences_within_the_units_allowed_pass(validate):
    case = next(one for one in validate.arithmetic_cases() if "float64 functions" in one.name)
    assert case.ulps
    found = validate._compare_case(case, SimulatedDevice(), _Wrong())
    assert found["differences"] == []


def test_a_part_goes_on_behind_a_step_that_ended_the_process(validate, tmp_path, monkeypatch):
    state = tmp_path / "part.json"
    state.write_text(json.dumps({"entries": {"one": {"x": 1}}, "running": "two"}))
    ran = []

    def steps(*_):
        for name in ("one", "two", "three"):
            yield name, lambda _, n=name: ran.append(n) or {"x": 2}

    monkeypatch.setattr(validate, "_steps", steps)
    assert validate._run_part("micro", state, dry=True, out=tmp_path) == 0
    document = json.loads(state.read_text())
    assert ran == ["three"]
    assert document["entries"]["one"] == {"x": 1}
    assert "ended" in document["entries"]["two"]["error"]
    assert document["complete"]


def test_cases_have_names_of_their_own(validate):
    cases = [*validate.memory_cases(), *validate.control_cases(), *validate.arithmetic_cases()]
    assert len({case.name for case in cases}) == len(cases)


def test_rehearsal_of_the_whole(validate, tmp_path, monkeypatch):
    # The occupancy part alone: the machine's part and the summary go with it.
    monkeypatch.setitem(os.environ, "PYTHONWARNINGS", "default")
    assert validate.main(["--dry", "--only", "occupancy", "--out", str(tmp_path)]) == 0
    (path,) = tmp_path.glob("validation_*.json")
    document = json.loads(path.read_text())
    assert document["summary"]["occupancy"]["differing"] == 0
    assert document["summary"]["occupancy"]["asked"] > 100
