"""Every exercise: the hole fails clearly, the solution passes, and both are made of the rung."""

from __future__ import annotations

import ast
import inspect
import sys

import pytest

from choosing import large
from warpladder.errors import InputError
from warpladder.lab.exercises.attempt import judge_attempt, open_attempt
from warpladder.lab.exercises.exercise import BEGIN, END, between_marks, file_name
from warpladder.lab.exercises.registry import EXERCISES, find_exercise, next_exercise
from warpladder.lab.registry import LADDERS, find_rung

#: What takes seconds: many sizes, many launches.
_LONG = {
    "shortest-paths/strided-cells",
    "shortest-paths/blocked-shared",
    "overlap-join/bitmap-tiles",
}

#: Right answers that are not good enough.
_BY_COUNTERS = {
    "overlap-join/bitmap-tiles",
    "primer/matrix-add-warp-rows",
    "shortest-paths/strided-cells",
}

every = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.rung)
run_them = pytest.mark.parametrize(
    "exercise",
    [
        pytest.param(one, id=one.rung, marks=[pytest.mark.large] if one.rung in _LONG else [])
        for one in EXERCISES
    ],
)


def kernels(text):
    """Return the functions of a file, without comments."""
    return [ast.unparse(node) for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]


def judged(exercise, folder, *, solved):
    path = folder / f"{'solved_' if solved else ''}{file_name(exercise.rung)}"
    path.write_text(exercise.copy(path.name, solved=solved), encoding="utf-8")
    attempt = open_attempt(path)
    assert attempt.untouched == (not solved)
    return judge_attempt(attempt)


def test_there_are_a_dozen_of_all_ladders():
    assert len(EXERCISES) >= 12
    assert len({exercise.rung for exercise in EXERCISES}) == len(EXERCISES)
    assert {exercise.rung.partition("/")[0] for exercise in EXERCISES} == set(LADDERS)


@every
def test_a_copy_is_the_rung_but_for_the_hole(exercise):
    source = inspect.getsource(sys.modules[find_rung(exercise.rung)[1].run.__module__])
    assert kernels(exercise.copy(solved=True)) == kernels(source)
    copy = exercise.copy()
    assert kernels(copy) != kernels(source)
    assert between_marks(copy) == exercise.placeholder != exercise.solution
    assert between_marks(exercise.copy(solved=True)) == exercise.solution
    assert exercise.solution not in copy
    assert copy.count(BEGIN) == copy.count(END) == 1
    assert f"warpladder try {file_name(exercise.rung)}" in copy
    assert max(map(len, copy.splitlines())) <= 110


@every
def test_texts(exercise):
    assert len(exercise.hints) >= 2
    assert len(set(exercise.hints)) == len(exercise.hints)
    assert all(exercise.solution not in hint or len(exercise.solution) < 60
               for hint in exercise.hints)  # fmt: skip
    assert exercise.idea
    assert exercise.asks.strip().endswith(".")


@run_them
def test_the_hole_fails_and_says_how(exercise, tmp_path):
    found = judged(exercise, tmp_path, solved=False)
    assert not found.solved
    assert found.right == (exercise.rung in _BY_COUNTERS)
    if not found.right:
        fault = found.verdicts[-1].fault
        assert fault.startswith(("KernelFaultError: ", "result"))


@run_them
def test_the_solution_passes(exercise, tmp_path):
    found = judged(exercise, tmp_path, solved=True)
    assert [verdict.fault for verdict in found.verdicts if not verdict.ok] == []
    assert [str(result.prediction) for result in found.predictions if not result.ok] == []
    assert found.predictions
    assert found.solved


def test_what_is_judged_is_the_rung_and_not_what_the_copy_says_of_it(tmp_path):
    exercise = find_exercise("primer/vector-add-grid")
    path = tmp_path / "mine.py"
    text = exercise.copy(solved=True).replace("sizes", "sizes")
    # Another prediction, which would hold, beside a kernel that adds twice.
    path.write_text(text.replace("a[i] + b[i]", "a[i] + b[i] + b[i]").replace("250", "1"))
    judged = judge_attempt(open_attempt(path))
    assert not judged.right
    assert judged.verdicts[-1].n == 1


@pytest.mark.parametrize(
    ("rung", "written", "solved"),
    [
        # Blocks add what others have added already, which leaves the same sums.
        *large(
            ("vector-add-grid-stride", "for i in range(cuda.grid(1), n, cuda.blockDim.x):", False)
        ),
        # An instruction more than the rung's own line, and the same branch.
        ("divergence-by-warp", "if (cuda.threadIdx.x // 32) % 2 == 0:", True),
    ],
)
def test_what_counts_is_the_idea(rung, written, solved, tmp_path):
    exercise = find_exercise(f"primer/{rung}")
    first = exercise.solution.splitlines()[0]
    path = tmp_path / "mine.py"
    path.write_text(exercise.copy(solved=True).replace(first, written))
    judged = judge_attempt(open_attempt(path))
    assert judged.right
    assert judged.solved == solved


def test_an_attempt_that_cannot_be_compiled_says_where(tmp_path):
    exercise = find_exercise("primer/vector-add-grid")
    path = tmp_path / "mine.py"
    path.write_text(exercise.copy().replace("out[i] = a[i]", "out[i] = c[i]"))
    attempt = open_attempt(path)
    assert not attempt.untouched
    verdict = judge_attempt(attempt).verdicts[-1]
    assert verdict.fault.startswith("cannot run: add (mine.py, line ")
    assert "name 'c' is not defined" in verdict.fault


def test_files_that_are_no_exercise(tmp_path):
    path = tmp_path / "mine.py"
    for text, said in (
        ('"""A file."""\n', "mine.py is no exercise"),
        ("x = (\n", "mine.py, line 1: Python cannot read it"),
        ('"""Exercise primer/nothing.\n\nIt.\n"""\n', "no exercise 'primer/nothing'"),
        ('"""Exercise primer/shared-flags.\n\nIt.\n"""\nx = 1\n', "leaves no LADDER and no RUNG"),
        (
            find_exercise("primer/atomic-count").copy().replace("primer/atomic-c", "primer/c", 1),
            "no exercise 'primer/count'; did you mean",
        ),
        (
            find_exercise("primer/atomic-count").copy().replace("/atomic-count", "/shared-flags"),
            "must leave the RUNG 'shared-flags', and no other one",
        ),
    ):
        path.write_text(text)
        with pytest.raises(InputError) as fault:
            open_attempt(path)
        assert said in str(fault.value)


def test_the_order():
    assert next_exercise(EXERCISES[0]) is EXERCISES[1]
    assert next_exercise(EXERCISES[-1]) is None


def test_marks():
    assert between_marks("nothing") is None
    assert between_marks(f"{END}\n{BEGIN}\n") is None
    assert between_marks(f"  {BEGIN}\n  {END}\n") == ""
