"""The choices of the CPU engine of `reduce`: their list, their record and their page."""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "warpladder"
# What makes a function one that Numba compiles, which takes constants in.
COMPILED = {"njit", "subroutine", "strict", "loose", "compiled", "intrinsic"}


@pytest.fixture
def choices(program, tmp_path, monkeypatch):
    choices = program("choices")
    monkeypatch.setattr(program("report"), "_RESULTS", tmp_path)
    return choices


def row_of(choices, **told):
    """Return a row of a record as if a first choice had been timed."""
    choice = choices.CHOICES[0]
    chosen = {"us": 2.0, "bits": "a", "functions": ["f 1"]}
    other = {**chosen, "us": 3.0, **told}
    return choices._row(choice, "below", choice.below[0].name, [chosen] * 3, [other] * 3)


def test_a_choice_is_made_by_constants_that_are_there_and_by_others(choices):
    names = [choice.name for choice in choices.CHOICES]
    assert len(set(names)) == len(names)
    for choice in choices.CHOICES:
        values = {getattr(module, choice.attribute) for module in choice.imported()}
        assert values == {choice.value}, choice.name
        assert not choice.below or choice.least < choice.value, choice.name
        assert not choice.above or choice.most > choice.value, choice.name
        assert choice.below or choice.above, choice.name


def test_what_compiled_functions_read_has_kernels_of_its_own(choices):
    for choice in choices.CHOICES:
        readers = [
            function.name
            for module in choice.imported()
            for function in ast.walk(ast.parse(inspect.getsource(module)))
            if isinstance(function, ast.FunctionDef)
            and COMPILED & {word for each in function.decorator_list for word in names_in(each)}
            and choice.attribute in names_in(function)
        ]
        assert choice.is_compiled == bool(readers), (choice.name, readers)


def names_in(node):
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def test_a_call_is_made_the_other_way(choices, monkeypatch):
    choice = choices.CHOICES[0]
    (module,) = choice.imported()
    monkeypatch.setattr(module, choice.attribute, choice.value)
    calls = []
    monkeypatch.setattr(choices, "_call", lambda cell: calls.append(cell.name) or {"us": 1.0})
    found = choices.calls_of(choice.name, "above", "other")
    assert getattr(module, choice.attribute) == choice.most
    assert list(found) == calls == [cell.name for cell in choice.above]


def test_a_wrong_answer_ends_it(choices):
    cell = choices.CHOICES[0].below[0]
    choices._compare(cell, 1.0, 1.0 + 1e-12)
    with pytest.raises(ValueError, match=f"{cell.name} is not NumPy's"):
        choices._compare(cell, 1.0, 1.1)


def test_all_of_it_is_printed_and_written(choices, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(choices, "timed", lambda _: [row_of(choices)])
    monkeypatch.setattr(choices.multiprocessing, "set_forkserver_preload", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["choices.py"])
    choices.main()
    assert "choices, and the other way" in capsys.readouterr().out
    (written,) = tmp_path.glob("choices-*.json")
    rows = json.loads(written.read_text())["choices"]
    assert len(rows) == len(choices.CHOICES)
    assert rows[0]["gain"] == 1.5
    assert rows[0]["same_bits"]


def test_some_of_it_is_written_only_where_it_is_told(choices, monkeypatch, tmp_path):
    monkeypatch.setattr(choices, "timed", lambda _: [row_of(choices)])
    monkeypatch.setattr(choices.multiprocessing, "set_forkserver_preload", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["choices.py", "--only", choices.CHOICES[0].name])
    choices.main()
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--out", str(tmp_path / "here")])
    choices.main()
    assert list((tmp_path / "here").iterdir())


def test_the_page_has_each_call_and_says_which_are_faster_the_other_way(choices, program):
    publish = program("publish_choices")
    rows = [row_of(choices), row_of(choices, us=1.0, bits="b")]
    machine = {"cpu": "Some CPU", "cores": 2}
    page = publish.page([{"machine": machine, "date": "2026-12-01", "rounds": 3, "choices": rows}])
    case, (first, second) = rows[0]["case"], page.splitlines()[-2:]
    assert first.startswith(f"| `{rows[0]['choice']}`<br>`{rows[0]['constant']}` = ")
    assert first.endswith(f"| {case} | 2 | 3 | 1.50 |")
    assert second == f"|  |  | {case} | 2 | 1 | **0.50** |"
    assert f"but those of {case}. " in page
    assert "2 cores of an Some CPU, 2026-12-01. Others" in page
    other = {"cpu": "Other(R) CPU", "cores": 2}
    older = {"machine": other, "date": "2026-11-30", "rounds": 3, "choices": rows[:1]}
    newer = {"machine": machine, "date": "2026-12-01", "rounds": 3, "choices": rows}
    page = publish.page([newer, older])
    assert page.splitlines()[-1].endswith("| **0.50** | 1.50 |")
    assert "the last gains those of an Other(R) CPU, 2026-11-30. Others" in page


def test_the_record_and_the_page_are_those_of_the_list(program):
    choices, publish = program("choices"), program("publish_choices")
    records = publish.newest_first()
    expected = [
        (choice.name, choice.value, cell.name)
        for choice in choices.CHOICES
        for cell in (*choice.below, *choice.above)
    ]
    for record in records:
        assert [(row["choice"], row["value"], row["case"]) for row in record["choices"]] == expected
    assert publish.PAGE.read_text(encoding="utf-8") == publish.page(records)


def test_comments_name_choices_that_there_are(choices):
    named = {
        name
        for path in SOURCE.rglob("*.py")
        for told in re.findall(r"`benchmarks/choices\.py`:\s([^)]*)\)", path.read_text())
        for name in re.findall(r"`([a-z-]+)`", told)
    }
    assert named == {choice.name for choice in choices.CHOICES}
