"""``for`` loops: iterators over ranges, arrays, tuples, and what is built on them.

An iterator's state is a few variables of the program; Numba, too, keeps one state for each place
in the source that makes an iterator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from warpladder.device.numba_target import types
from warpladder.simulator.execution import access
from warpladder.simulator.machine.builder import Builder, Operand
from warpladder.simulator.machine.values import expand, select_item, take

__all__ = ["Iterator", "counter", "make_iterator"]


class Iterator(Protocol):
    """An iterator, known while translating; its state is in variables."""

    def advance(self, t: Builder, result: int) -> None:
        """Emit ``result = (next value, whether there is one)``, and go on by one."""


class _Counted:
    """One that counts: from ``start`` by ``step`` while ``value_at`` has elements."""

    def __init__(
        self,
        t: Builder,
        sources: list[int],
        begin: Callable[..., tuple[Any, Any, Any]],
        value_at: Callable[[Any, Any, Any, Any], Any] | None = None,
        whole: int | None = None,
    ) -> None:
        self.state = [t.new_slot() for _ in range(3)]
        self.value_at = value_at
        self.whole = whole
        self.site = t.site
        current, stop, step = self.state

        def run(frame: Any) -> None:
            v = frame.variables
            v[current], v[stop], v[step] = begin(*[v[slot] for slot in sources])

        t.emit(run, sources, self.state, counted=False)

    def advance(self, t: Builder, result: int) -> None:
        """Emit one step."""
        current, stop, step = self.state
        value_at, whole, site = self.value_at, self.whole, self.site
        item, is_there = t.new_slot(), t.new_slot()

        def run(frame: Any) -> None:
            v = frame.variables
            now, last, by = v[current], v[stop], v[step]
            if isinstance(by, np.ndarray):
                more = np.where(by > 0, now < last, now > last)
            else:
                more = now < last if by > 0 else now > last
            v[item] = now if value_at is None else value_at(frame, v[whole], now, (more, site))
            v[is_there] = more
            v[current] = now + by

        reads = [*self.state] if whole is None else [*self.state, whole]
        t.emit(run, reads, (item, is_there, current))
        t.pack((item, is_there), result)


class _Zipped:
    """Several iterators side by side; ends with the first of them."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def advance(self, t: Builder, result: int) -> None:
        """Emit one step of each."""
        steps = []
        for part in self.parts:
            slot = t.new_slot()
            part.advance(t, slot)
            steps.append(slot)

        def run(frame: Any) -> None:
            v = frame.variables
            pairs = [v[slot] for slot in steps]
            more = pairs[0][1]
            for _, also in pairs[1:]:
                more = more & also
            v[result] = (tuple([value for value, _ in pairs]), more)

        t.emit(run, steps, (result,), counted=False)


def counter(t: Builder, bounds: list[int]) -> Iterator:
    """Return an iterator that counts from ``start`` to ``stop`` by ``step``, given as variables."""
    return _Counted(t, bounds, lambda start, stop, step: (start, stop, step))


def make_iterator(t: Builder, source: Operand) -> Any:
    """Return an iterator over the value of ``source``, and emit what starts it."""
    kind = source.type
    if isinstance(kind, types.RangeType):
        return _Counted(t, [source.slot], lambda bounds: bounds)
    if isinstance(kind, types.Array):
        return _Counted(t, [source.slot], _over_array, _array_item, source.slot)
    if isinstance(kind, types.BaseTuple) and len({types.unliteral(t) for t in kind.types}) <= 1:
        return _Counted(t, [source.slot], _over_tuple, _tuple_item, source.slot)
    if isinstance(kind, types.EnumerateType | types.ZipType):
        parts = t.template[source.slot]
        return _Zipped(parts)
    return t.refuse(f"iteration over {kind}")


def _over_array(view: Any) -> tuple[Any, Any, Any]:
    return np.int64(0), view.extents[0], np.int64(1)


def _over_tuple(items: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    return np.int64(0), np.int64(len(items)), np.int64(1)


def _array_item(frame: Any, view: Any, index: Any, state: tuple[Any, Any]) -> Any:
    """Load for the threads that have a next element; the others get nothing of meaning."""
    more, site = state
    if len(view.shape) > 1:
        clipped = np.minimum(index, np.maximum(np.asarray(view.shape[0]) - 1, 0))
        return access.slice_view(frame, view, (clipped,), site)
    if not np.any(more):
        return np.zeros(1, dtype=view.dtype)[0]
    if np.all(more):
        return access.load(frame, view, (index,), site)
    where = np.flatnonzero(expand(more, frame.count))
    part = frame.narrowed(where)
    value = np.zeros(frame.count, dtype=view.dtype)
    value[where] = access.load(part, take(view, where), (take(index, where),), site)
    return value


def _tuple_item(frame: Any, items: tuple[Any, ...], index: Any, state: tuple[Any, Any]) -> Any:
    if not items:
        return np.int64(0)
    del state
    return select_item(items, np.minimum(index, len(items) - 1), frame.count)
