"""What compute-sanitizer writes is read, and put down to the right rung; no GPU is needed."""

import importlib
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")

#: What the tools write, abridged; the first number of the summary counts.
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
NO_RACE = (
    "========= COMPUTE-SANITIZER\n"
    "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"
)
RACE = (
    "========= COMPUTE-SANITIZER\n"
    "========= Error: Race reported between Write access at add(Array<int, 1>)+0x240\n"
    "=========     and Read access at add(Array<int, 1>)+0x270 [128 hazards]\n"
    "=========\n"
    "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n"
)
INVALID = (
    "========= COMPUTE-SANITIZER\n"
    "========= Invalid __global__ read of size 4 bytes\n"
    "=========     at add(Array<float, 1>)+0x1f0\n"
    "=========     by thread (232,0,0) in block (3,0,0)\n"
    "=========     Address 0x7f0e4d200fa0 is out of bounds\n"
    "=========\n"
    "========= Target application returned an error\n"
    "========= ERROR SUMMARY: 124 errors\n"
    "========= ERROR SUMMARY: 24 errors were not printed. Use --print-limit option to adjust\n"
)
BROKEN = (
    "========= COMPUTE-SANITIZER\n"
    "========= Internal Sanitizer Error: The Sanitizer encountered an error\n"
    "========= ERROR SUMMARY: 0 errors\n"
)
DETACHED = (
    "========= COMPUTE-SANITIZER\n"
    "========= Error: No attachable process found. compute-sanitizer timed-out.\n"
)

#: A compute-sanitizer that runs nothing: it notes what its child would, and answers by the rungs.
FAKE = """\
#!{python}
import json, sys, time
given = sys.argv[1:]
tool = given[given.index("--tool") + 1]
assert given[given.index("--sanitized-child") + 1] == tool
end = given.index("--state")
rungs = given[given.index("--sanitized-child") + 2 : end]
answers = json.load(open({answers!r}))
noted = {{}}
for rung in rungs:
    told = answers.get(f"{{tool}} {{rung}}", {{}})
    if "endless" in told:
        time.sleep(60)
    if "crash" in told:
        sys.exit("Fatal Python error: Segmentation fault")
    noted[rung] = told.get("note", {{}})
    open(given[end + 1], "w").write(json.dumps(noted))
every = [answers.get(f"{{tool}} {{rung}}", {{}}) for rung in rungs]
said = [told["said"] for told in every if "said" in told]
sys.stdout.write(said[0] if said else {no_race!r} if tool == "racecheck" else {clean!r})
"""


@pytest.fixture(scope="module")
def validation():
    known, path = set(sys.modules), list(sys.path)
    sys.path.insert(0, str(BENCHMARKS))
    names = ("common", "sanitizer", "sanitizer_report", "report")
    modules = {name: importlib.import_module(f"validation.{name}") for name in names}
    command = importlib.import_module("validate_simulator")
    yield SimpleNamespace(**modules, command=command)
    sys.path[:] = path
    for name in set(sys.modules) - known:
        if name.partition(".")[0] in {"validation", "validate_simulator"}:
            del sys.modules[name]


@pytest.mark.parametrize(
    ("said", "count"),
    [(CLEAN, 0), (NO_RACE, 0), (INVALID, 124), ("", None), (BROKEN, None), (DETACHED, None)],
)
def test_the_summary_counts(validation, said, count):
    assert validation.sanitizer.findings(said) == count


def test_a_race_is_a_finding_and_no_failure_of_the_tool(validation):
    assert validation.sanitizer.findings(RACE) == 1


@pytest.fixture
def look(validation, tmp_path, monkeypatch):
    """Return a function that looks at rungs with a compute-sanitizer on the path that only acts."""
    if sys.platform == "win32":
        pytest.skip("a script with a #! line is no program on Windows")
    answers, folder = tmp_path / "answers.json", tmp_path / "bin"
    folder.mkdir()
    program = folder / "compute-sanitizer"
    program.write_text(
        FAKE.format(python=sys.executable, answers=str(answers), clean=CLEAN, no_race=NO_RACE)
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))

    def found(tool, paths, told, *, until=1e12):
        answers.write_text(json.dumps(told))
        request = validation.common.Request(tmp_path)
        where = validation.sanitizer._find()
        assert where == str(program)
        return validation.sanitizer._look(tool, paths, where, request, until)

    return found


def test_rungs_without_findings_share_a_process(look):
    assert look("synccheck", ["a/one", "a/two"], {}) == {
        "a/one": {"found": 0},
        "a/two": {"found": 0},
    }


def test_findings_of_a_group_are_put_down_to_their_rung(look):
    note = {"fault": "CUDA_ERROR_ILLEGAL_ADDRESS"}
    told = {"memcheck a/two": {"said": INVALID, "note": note}}
    found = look("memcheck", ["a/one", "a/two", "a/three"], told)
    assert [found[name]["found"] for name in ("a/one", "a/two", "a/three")] == [0, 124, 0]
    assert found["a/two"]["fault"] == note["fault"]


def test_what_does_not_end_is_stopped_and_said(look, validation, monkeypatch):
    monkeypatch.setattr(validation.sanitizer, "_ALONE_SECONDS", 1)
    found = look("racecheck", ["b/endless"], {"racecheck b/endless": {"endless": True}})
    assert found == {"b/endless": {"found": "did not end in 1 s"}}


def test_a_process_that_dies_has_not_found_nothing(look):
    found = look("initcheck", ["b/crash"], {"initcheck b/crash": {"crash": True}})
    assert found["b/crash"]["found"].startswith("ended with status 1: Fatal Python error")
    found = look("initcheck", ["b/broken"], {"initcheck b/broken": {"said": BROKEN}})
    assert found["b/broken"]["found"].startswith("ended with status 0: ")


def test_nothing_is_started_late(look):
    assert look("initcheck", ["a/one"], {}, until=0) == {
        "a/one": {"found": "not run for want of time"}
    }


# --- what becomes of it ---------------------------------------------------------------------------

MACHINE = {"system": {"date": "2030-01-02T03:04:05+00:00"}, "gpu": {"name": "GPU of tests"}}


def entries_of(validation, found):
    """Return the entries of the part, of what each tool found in each rung, by its kind."""
    looking = {
        (tool, path): SimpleNamespace(result=lambda one=one, path=path: {path: one})
        for path, by_tool in found.items()
        for tool, one in by_tool.items()
    }
    collect = validation.sanitizer._collect
    return {path: collect(path, looking, is_wrong=path.startswith("wrong/")) for path in found}


def row(simulator="", **others):
    found = dict.fromkeys(TOOLS, 0) | others | {"simulator": simulator}
    return {tool: {"found": one} for tool, one in found.items()}


def compose(validation, found):
    parts = {
        "machine": {"entries": MACHINE},
        "sanitizer": {"entries": entries_of(validation, found)},
    }
    return validation.report.compose(parts, dry=False, seconds=1.0)


def test_wrong_rungs_must_be_caught_and_right_ones_clean(validation):
    good = {
        "right/one": row(),
        "wrong/races": row("racecheck", racecheck=3),
        "wrong/hidden": row("racecheck"),
        "wrong/endless": row("livelock", **dict.fromkeys(TOOLS, "did not end in 40 s")),
    }
    document = compose(validation, good)
    assert validation.report.succeeded(document, ["sanitizer"])
    assert document["sanitizer"]["equal"] == list(good)
    for name, bad in (
        ("right/one", row(initcheck=1)),
        ("right/one", row("memcheck")),
        ("right/one", row(memcheck="did not end in 40 s")),
        ("right/one", row() | {"synccheck": {"found": 0, "fault": "n = 33: result[0]: ..."}}),
        ("wrong/hidden", row()),
        ("wrong/hidden", row("did not end in 40 s", racecheck=3)),
    ):
        document = compose(validation, good | {name: bad})
        assert not validation.report.succeeded(document, ["sanitizer"])
        assert list(document["sanitizer"]["differ"]) == [name]


def test_the_table_and_the_sentence(validation):
    document = compose(
        validation,
        {
            "right/one": row(),
            "right/two": row(),
            "wrong/races": row("racecheck", racecheck=3),
            "wrong/hidden": row("racecheck"),
            "wrong/endless": row("livelock", memcheck="did not end in 40 s"),
        },
    )
    rows = validation.sanitizer_report.table(document)[5:]
    assert rows[0] == "| wrong/races (wrong) | 0 | 3 | 0 | 0 | racecheck |"
    assert rows[-1] == "| right/two | 0 | 0 | 0 | 0 |  |"
    assert len(rows) == 5
    told = validation.sanitizer_report.sentence(document)
    assert "on an GPU of tests (2030-01-02) find nothing in 2 of 2 right rungs" in told
    assert "Of 3 wrong rungs the simulator's checks catch 3, compute-sanitizer 1, which" in told
    assert told.endswith(
        "finds nothing in `hidden`, and `endless` did not end in 40 s under memcheck."
    )
    document["sanitizer"]["steps"] += 2
    late = validation.sanitizer_report.sentence(document)
    assert late == f"{told} For 2 of 7 rungs there was no time."


def test_each_document_is_of_use_alone(validation):
    document = compose(validation, {"right/one": row()}) | {"rungs": {"steps": 1, "equal": ["a"]}}
    whole, sanitized = validation.command._parted(document)
    assert list(whole) == ["dry", "seconds", "machine", "rungs"]
    assert list(sanitized) == ["dry", "seconds", "machine", "sanitizer"]


def test_every_rung_is_looked_at_by_every_tool_and_the_simulator(validation, tmp_path, monkeypatch):
    seen = []

    def look(tool, paths, program, request, until):
        seen.extend((tool, path) for path in paths)
        return {path: {"found": 0 if tool in TOOLS else ""} for path in paths}

    monkeypatch.setattr(validation.sanitizer, "_look", look)
    steps = dict(
        validation.sanitizer.sanitizer_steps(validation.common.Request(tmp_path, dry=True))
    )
    found = {path: step() for path, step in steps.items()}
    assert len(seen) == len(set(seen)) == 5 * len(found)
    from warpladder.lab.registry import ladders

    wrong = {
        f"{ladder.name}/{one.rung.name}"
        for ladder in ladders()
        for one in ladder.wrong
        if one.caught_by != "verification"
    }
    right = {
        f"{ladder.name}/{rung.name}"
        for ladder in ladders()
        for rung in ladder.rungs
        if rung.on == "device"
    }
    assert {path for path, entry in found.items() if entry["wrong"]} == wrong
    assert set(found) - wrong == right


def test_a_child_notes_the_check_and_the_answer(validation, tmp_path, capsys):
    state = tmp_path / "noted.json"
    request = validation.common.Request(tmp_path, dry=True)
    paths = ["primer/vector-add-no-guard", "primer/vector-add-grid"]
    validation.sanitizer.sanitized_child("memcheck", paths, state, request)
    first, second = json.loads(state.read_text()).values()
    assert first["check"] == "memcheck"
    assert second == {}
    assert capsys.readouterr().out == "========= ERROR SUMMARY: 1 error\n"


def test_the_readme_says_what_was_found(validation):
    said = re.sub(r"\s+", " ", (ROOT / "README.md").read_text(encoding="utf-8"))
    records = list((BENCHMARKS / "results").glob("sanitizer_*.json"))
    assert records
    for record in records:
        document = json.loads(record.read_text(encoding="utf-8"))
        assert not document["dry"]
        assert "differ" not in document["sanitizer"]
        assert validation.sanitizer_report.sentence(document) in said
        table = "\n".join(validation.sanitizer_report.table(document)) + "\n"
        assert record.with_suffix(".md").read_text(encoding="utf-8") == table
