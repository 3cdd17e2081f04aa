"""Every error of ours comes out of a process of a pool as it went in."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import warpladder as wl
from warpladder import errors

# One value for each parameter of any error; a new parameter takes its place here.
_VALUES = {
    "args": ("what was wrong: \N{SNOWMAN}", 7),
    "path": Path("roads.gr"),
    "line": 3,
    "expected": "an arc line",
    "found": "'a 1 2'",
    "cycle": ["a", ("b", 1), 3],
    "weight": -(2**60) - 1,
    "purpose": "reading Parquet",
    "package": "pyarrow",
    "extra": "parquet",
    "check": "memcheck",
    "message": "kernel.py, line 7: out of bounds",
    "graph": 3,
}


def tree(kind: type[errors.WarpladderError]) -> Iterator[type[errors.WarpladderError]]:
    yield kind
    for below in kind.__subclasses__():
        if below.__module__.startswith("warpladder"):
            yield from tree(below)


TREE = sorted(set(tree(errors.WarpladderError)), key=lambda kind: kind.__name__)
every_error = pytest.mark.parametrize("kind", TREE)


def made(kind: type[errors.WarpladderError]) -> errors.WarpladderError:
    """Return an error with every field that its class has, and with some that were added."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    _, *parameters = inspect.signature(kind.__init__).parameters.items()
    for name, parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += _VALUES[name]
        elif parameter.kind is parameter.KEYWORD_ONLY:
            named[name] = _VALUES[name]
        elif parameter.kind is not parameter.VAR_KEYWORD:
            positional.append(_VALUES[name])
    fault = kind(*positional, **named)
    fault.add_note("seen in a test")
    return fault


def same(one: BaseException, other: BaseException) -> None:
    assert type(one) is type(other)
    assert one is not other
    assert str(one) == str(other)
    assert repr(one) == repr(other)
    assert one.args == other.args
    assert vars(one) == vars(other)
    assert one.__notes__ == ["seen in a test"]


@every_error
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickled_with_every_field(kind: type[errors.WarpladderError], protocol: int) -> None:
    fault = made(kind)
    found = pickle.loads(pickle.dumps(fault, protocol))  # noqa: S301 - made here
    same(fault, found)
    # ImportError has the message in a place of its own.
    assert getattr(fault, "msg", None) == getattr(found, "msg", None)


@every_error
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copied_with_every_field(kind: type[errors.WarpladderError], copied: Any) -> None:
    fault = made(kind)
    same(fault, copied(fault))


@every_error
def test_with_a_message_that_was_put_in_its_place(kind: type[errors.WarpladderError]) -> None:
    fault = made(kind)
    fault.args = ("graph 3: what was wrong",)
    assert str(fault) == "graph 3: what was wrong"
    same(fault, pickle.loads(pickle.dumps(fault)))  # noqa: S301 - made here


@every_error
def test_importable_from_the_top(kind: type[errors.WarpladderError]) -> None:
    assert getattr(wl, kind.__name__) is kind
    assert kind.__name__ in wl.__all__
    assert kind.__name__ in errors.__all__


class OddError(errors.InputError):
    """What somebody may derive: arguments that are no message, and one by name only."""

    def __init__(self, first: int, *, second: list[int]) -> None:
        self.first, self.second = first, second
        super().__init__(f"{first} and {second}")


def test_one_with_other_arguments() -> None:
    fault = OddError(1, second=[2])
    found = copy.deepcopy(fault)
    assert (found.first, found.second, str(found)) == (1, [2], "1 and [2]")
    assert found.second is not fault.second
