"""What is left of a function of whose scope some bools are known."""

from __future__ import annotations

import dis
import importlib
import inspect
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

from warpladder.device.specialised import specialised
from warpladder.reduction.loops.folds import fold_kernel
from warpladder.reduction.loops.states import FoldSpec


def made(function: Any, plain: bool) -> Any:
    return function if plain else specialised(function)


def function_of(*, a: bool, b: bool, plain: bool = False) -> Any:
    one, seen = 1, []

    def tell(mark: Any) -> bool:
        seen.append(mark)
        return True

    def tested(x: int, *, more: int = 5) -> list[Any]:
        """Say which branches are taken."""
        found: list[Any] = []
        if a:
            found.append("a")
        elif b:
            found.append("b, not a")
        else:
            found.append("neither")
        if not a and (x > 0 or b):
            found.append("mixed")
        if a or x > one:
            found.append("either")
        if (x > 1 or a) and tell("asked"):
            found.append("both")
        for i in range(x):
            if a:
                if i == 1:
                    continue
                found.append(i)
        while not (a or b):
            found.append("once")
            break
        found.append(more if b else -more if not a else (a, b, x))
        if a and b:
            return [*found, "early"]
        found.append(len(seen))
        return found

    return made(tested, plain)


CHOICES = [(a, b) for a in (False, True) for b in (False, True)]


@pytest.mark.parametrize(("a", "b"), CHOICES)
@pytest.mark.parametrize("x", range(4))
def test_it_does_what_the_whole_function_does(a: bool, b: bool, x: int) -> None:
    whole, left = function_of(a=a, b=b, plain=True), function_of(a=a, b=b)
    assert left(x) == whole(x)
    assert left(x, more=7) == whole(x, more=7)


def names_in(function: Any) -> set[Any]:
    return {one.argval for one in dis.get_instructions(function)}


def test_what_is_ruled_out_is_gone() -> None:
    assert {"a", "b", "neither", "mixed"} <= names_in(function_of(a=True, b=False, plain=True))
    left = names_in(function_of(a=True, b=False))
    assert left.isdisjoint({"neither", "b, not a", "mixed", "more", "early"})
    # As values they are variables still.
    assert {"a", "b", "either", "asked"} <= left


@pytest.mark.parametrize(("a", "b"), CHOICES)
def test_where_it_stands_and_what_it_refers_to_stay(a: bool, b: bool) -> None:
    whole, left = function_of(a=a, b=b, plain=True), function_of(a=a, b=b)
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__kwdefaults__"):
        assert getattr(left, name) == getattr(whole, name)
    assert inspect.signature(left).parameters.keys() == inspect.signature(whole).parameters.keys()
    for name in ("co_filename", "co_name", "co_qualname", "co_firstlineno", "co_varnames"):
        if name != "co_varnames":
            assert getattr(left.__code__, name) == getattr(whole.__code__, name)
    # Numba finds again on disk what it compiled by the values of these.
    assert left.__code__.co_freevars == whole.__code__.co_freevars
    kept = [cell.cell_contents for cell in left.__closure__]
    assert kept[:3] == [a, b, 1]

    def lines(function: Any) -> set[tuple[Any, int | None]]:
        return {
            (one.argval, one.positions.lineno)
            for one in dis.get_instructions(function)
            if isinstance(one.argval, str) and one.opname == "LOAD_CONST" and one.positions
        }

    assert lines(left) <= lines(whole)
    assert lines(left)


def test_numba_compiles_it() -> None:
    def adder(*, squares: bool, many: int) -> Any:
        @njit
        @specialised
        def add(numbers: Any) -> Any:
            total = 0.0
            for i in range(min(many, numbers.size)):
                if squares:
                    total += numbers[i] * numbers[i]
                else:
                    total += numbers[i]
            return total

        return add

    numbers = np.arange(5.0)
    assert adder(squares=True, many=4)(numbers) == 14
    assert adder(squares=False, many=4)(numbers) == 6


def test_what_has_no_source_or_no_bools_stays_as_it_is() -> None:
    scope: dict[str, Any] = {}
    exec(  # noqa: S102 - a function that stands in no file
        "def of(a):\n    def f():\n        return 1 if a else 2\n    return f", scope
    )
    unread = scope["of"](True)
    assert specialised(unread) is unread
    number = 3

    def without_bools() -> int:
        return number

    assert specialised(without_bools) is without_bools


def test_a_name_that_is_bound_inside_tells_nothing_there() -> None:
    def functions(plain: bool) -> list[Any]:
        a = b = c = True

        def of_argument(x: int) -> Any:
            def inner(a: int) -> int:
                return 1 if a else 2

            return inner(x), 3 if a else 4

        def in_comprehension(x: int) -> Any:
            return [1 if a else 2 for a in (x, 1)], 3 if a else 4

        def rebound(x: int) -> Any:
            nonlocal b
            before = 1 if b else 2
            b = bool(x)
            return before, 3 if b else 4

        def rebound_in_passing(x: int) -> Any:
            nonlocal c
            return [(c := bool(x)) for _ in range(2)], 3 if c else 4

        found = (of_argument, in_comprehension, rebound, rebound_in_passing)
        return [made(function, plain)(0) for function in found]

    assert functions(plain=False) == functions(plain=True)


def test_it_may_name_itself() -> None:
    descends = True

    @specialised
    def factorial(n: int) -> int:
        return n * factorial(n - 1) if n and descends else 1

    assert factorial(4) == 24


def test_texts_and_columns_stay() -> None:
    known = True

    def whole(x: int) -> Any:
        """Say it.

        Indented.
        """
        # Not indented at all.
        text = """
    a
b"""
        return text if known else x

    left = specialised(whole)
    assert (left.__doc__, left(1)) == (whole.__doc__, whole(1))

    def columns(function: Any) -> set[Any]:
        return {one.positions for one in dis.get_instructions(function) if one.argval == "text"}

    assert columns(left) == columns(whole)


def test_a_lambda_stays_as_it_is() -> None:
    known = True
    chosen = lambda x: x if known else -x  # noqa: E731
    assert specialised(chosen) is chosen


TEXT = """from warpladder.device.specialised import specialised


def of(a):
    @specialised
    def f(x):
        if a:
            return x + 1
        return x

    return f
"""


@pytest.mark.parametrize(
    "changed",
    [
        TEXT,
        f"# More.\n{TEXT}",
        f"\n\n\n\n{TEXT}",
        TEXT.replace("x + 1", "x + 100"),
        "1\n" * 20,
        "'''",
    ],
)
def test_a_file_that_has_changed_since_is_not_gone_by(
    changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "changing", raising=False)
    # Equal functions are read once, wherever they stand.
    importlib.import_module(specialised.__module__)._source.cache_clear()
    file = tmp_path / "changing.py"
    file.write_text(TEXT)
    of = importlib.import_module("changing").of
    file.write_text(changed)
    assert [of(a)(1) for a in (True, False)] == [2, 1]
    assert ("a" in names_in(of(True))) == (changed != TEXT)


def test_the_loops_of_reductions_are_rid_of_what_they_do_not_need() -> None:
    """All their kernels have one text: unpruned, they would have one length."""
    sizes = {
        len(fold_kernel(FoldSpec(frozenset(folds), "float32", sums)).py_func.__code__.co_code)
        for folds, sums in (
            (["low"], "float32"),
            (["total"], "float64"),
            (["low", "total"], "float64"),
        )
    }
    assert len(sizes) > 1


def test_threads_make_trees_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(specialised.__module__)
    inside, most, definition = [], [], module._definition

    def slow(text: str) -> Any:
        inside.append(text)
        time.sleep(1e-3)
        most.append(len(inside))
        inside.pop()
        return definition(text)

    monkeypatch.setattr(module, "_definition", slow)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: function_of(a=n > 1, b=True)(1)[0], range(4)))
    assert found[:2] == found[1:2] * 2 != found[2:]
    assert max(most) == 1
