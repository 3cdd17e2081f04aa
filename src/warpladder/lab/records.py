"""Whether the records of a ladder hold what they are declared to hold.

Python does not ask: a forgotten comma makes `kernels=(add)` a kernel instead of a tuple of one, and
it shows much later. The records of this package are held against their types by mypy; those that
someone else writes, when they are loaded.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

__all__ = ["RecordFault", "first_fault"]


class RecordFault(NamedTuple):
    """A field of a record that holds something else than it must.

    Attributes
    ----------
    kind, record
        Of the record: its class, and its name if it has one.
    field
        Which one.
    found, wanted
        What it holds and what it must hold, in words.
    """

    kind: str
    record: str
    field: str
    found: str
    wanted: str

    def __str__(self) -> str:
        of = f" {self.record!r}" if self.record else ""
        return f"{self.field} of the {self.kind}{of} is {self.found}; it must be {self.wanted}"


def first_fault(record: Any) -> RecordFault | None:
    """Return the first field, here or in a record within, that is not of its type.

    Examples
    --------
    >>> from warpladder.rung import Bound, Ladder
    >>> print(first_fault(Ladder("mine", "Mine", [])))
    rungs of the Ladder 'mine' is of type list; it must be a tuple of Rung, in which one has a
    comma behind it too: (one,)
    >>> print(first_fault(Bound("memory", "8 n bytes")))
    by of the Bound is 'memory'; it must be 'dram', 'shared', 'issue', 'latency' or 'pcie'
    """
    return next(_faults(record, ""), None)


def _faults(record: Any, owner: str) -> Iterator[RecordFault]:
    # A wrong rung is called as the rung in it is.
    name = getattr(record, "name", getattr(getattr(record, "rung", None), "name", ""))
    name = name if isinstance(name, str) and name else owner
    hints = get_type_hints(type(record))
    for one in fields(record):
        value, hint = getattr(record, one.name), hints[one.name]
        if not _fits(value, hint):
            yield RecordFault(type(record).__name__, name, one.name, _shown(value), _words(hint))
        for inner in value if isinstance(value, tuple) else (value,):
            if is_dataclass(inner) and not isinstance(inner, type):
                yield from _faults(inner, name)


def _fits(value: Any, hint: Any) -> bool:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin is Literal:
        return value in inner
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if inner[-1] is Ellipsis:
            return all(_fits(one, inner[0]) for one in value)
        return len(value) == len(inner) and all(map(_fits, value, inner))
    if origin in {Union, types.UnionType}:
        return any(_fits(value, one) for one in inner)
    if origin is Callable:
        return callable(value) and _takes(value, len(inner[0]))
    if hint in {int, float}:
        allowed = (int,) if hint is int else (int, float)
        return isinstance(value, allowed) and not isinstance(value, bool)
    return isinstance(value, hint)


def _takes(function: Callable[..., Any], count: int) -> bool:
    """Return whether a function can be called with so many arguments, as far as Python knows."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True


def _shown(value: Any) -> str:
    are_texts = isinstance(value, tuple) and all(isinstance(one, str) for one in value)
    is_plain = are_texts or isinstance(value, str | int | float | None)
    return repr(value) if is_plain else _kind(value)


def _kind(value: Any) -> str:
    if isinstance(value, tuple):
        return f"a tuple of {', '.join(sorted({type(one).__name__ for one in value}))}"
    if inspect.isfunction(value):
        return f"{value.__name__}({', '.join(inspect.signature(value).parameters)})"
    return f"of type {type(value).__name__}"


def _words(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return _either([repr(one) for one in inner])
    if origin is tuple:
        of = "" if inner[0] is Any else f" of {getattr(inner[0], '__name__', inner[0])}"
        if get_origin(inner[0]) is Literal:
            of = f" of {_words(inner[0])}"
        return f"a tuple{of}, in which one has a comma behind it too: (one,)"
    if origin in {Union, types.UnionType}:
        return _either([_words(one) for one in inner])
    if origin is Callable:
        return f"a function of {len(inner[0])} argument{'s' if len(inner[0]) > 1 else ''}"
    return {types.NoneType: "None", str: "a text", int: "a whole number", float: "a number"}.get(
        hint, f"a {getattr(hint, '__name__', hint)}"
    )


def _either(words: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
