"""Atomic operations: threads that meet at one address take turns, in the order of their lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.simulator.execution.access import locate, places
from warpladder.simulator.execution.frame import Frame
from warpladder.simulator.machine.memory import Buffer, View
from warpladder.simulator.machine.program import Site
from warpladder.simulator.machine.values import take

__all__ = ["ATOMICS", "atomic"]

ATOMIC = "atomic"

#: Beyond this many threads at one address, turns are taken address by address.
_ROUNDS = 48

Update = Callable[..., Any]


def _greater(old: Any, value: Any) -> Any:
    """Numba's ``atomic.max`` replaces only what is less: NaN stays, and NaN never enters."""
    return np.where(value > old, value, old)


def _less(old: Any, value: Any) -> Any:
    return np.where(value < old, value, old)


def _greater_or_number(old: Any, value: Any) -> Any:
    """``atomic.nanmax`` replaces NaN, too; of zeros it keeps the one in place."""
    return np.where((value > old) | np.isnan(old), value, old)


def _less_or_number(old: Any, value: Any) -> Any:
    return np.where((value < old) | np.isnan(old), value, old)


def _increment(old: Any, limit: Any) -> Any:
    return np.where(old >= limit, old.dtype.type(0), old + old.dtype.type(1))


def _decrement(old: Any, limit: Any) -> Any:
    return np.where((old == 0) | (old > limit), limit, old - old.dtype.type(1))


#: By name in ``cuda.atomic``: the new value from the old one and the operands.
ATOMICS: dict[str, Update] = {
    "add": np.add,
    "sub": np.subtract,
    "and_": np.bitwise_and,
    "or_": np.bitwise_or,
    "xor": np.bitwise_xor,
    "max": _greater,
    "min": _less,
    "nanmax": _greater_or_number,
    "nanmin": _less_or_number,
    "inc": _increment,
    "dec": _decrement,
    "exch": lambda _, value: value,
    "cas": lambda old, expected, value: np.where(old == expected, value, old),
}


def atomic(
    frame: Frame,
    view: View,
    indices: tuple[Any, ...],
    update: Update,
    operands: tuple[Any, ...],
    site: Site,
) -> Any:
    """Apply ``update`` at these elements and return what each thread found there."""
    position = locate(frame, view, indices, site, ATOMIC)
    result: NDArray[Any] = np.empty(frame.count, dtype=view.dtype)
    for buffer, at, where in places(view, position):
        count = frame.count if where is None else len(where)
        at = at if isinstance(at, np.ndarray) else np.full(count, at)  # noqa: PLW2901
        values = tuple(
            part if isinstance(part, np.ndarray) else np.full(count, part)
            for part in (operands if where is None else [take(part, where) for part in operands])
        )
        if frame.launch.monitor is not None:
            operand = values[0] if values else None
            frame.launch.monitor.access(frame, buffer, view, at, where, ATOMIC, site, operand)
        if view.unit != view.dtype.itemsize and np.any(at % view.dtype.itemsize):
            first = int(np.flatnonzero(at % view.dtype.itemsize)[0])
            frame.launch.faults.misaligned(frame.lanes, view, first, site, ATOMIC)
        old, changed = _in_turn(buffer, view, at, update, values)
        if changed:
            frame.launch.changes += 1
        if frame.launch.watch is not None:
            frame.launch.watch.read(frame.reader(site, view), at, old)
        if where is None:
            result = old
        else:
            result[where] = old
    return result


def _in_turn(
    buffer: Buffer, view: View, at: NDArray[Any], update: Update, values: tuple[Any, ...]
) -> tuple[NDArray[Any], bool]:
    if view.unit != view.dtype.itemsize:
        at = at // view.dtype.itemsize
    memory = buffer.typed(view.dtype)
    found = memory[at]
    # Whoever waits for others asks again and again: where nobody changes anything, in any order.
    if np.asarray(update(found, *values)).astype(view.dtype).tobytes() == found.tobytes():
        return found, False
    order = np.argsort(at, kind="stable")
    sorted_at = at[order]
    first = np.ones(len(at), dtype=bool)
    first[1:] = sorted_at[1:] != sorted_at[:-1]
    starts = np.flatnonzero(first)
    lengths = np.diff(np.append(starts, len(at)))
    before = memory[sorted_at[starts]].copy()
    old = np.empty(len(at), dtype=view.dtype)
    if int(lengths.max()) <= _ROUNDS:
        for turn in range(int(lengths.max())):
            who = order[starts[lengths > turn] + turn]
            found = memory[at[who]]
            old[who] = found
            memory[at[who]] = update(found, *(value[who] for value in values))
    elif isinstance(update, np.ufunc):
        for start, length in zip(starts, lengths, strict=True):
            who = order[start : start + length]
            place = at[who[0]]
            if update is np.subtract:
                row = np.concatenate(([memory[place]], -values[0][who]))
                passed = np.add.accumulate(row, dtype=view.dtype)
            else:
                row = np.concatenate(([memory[place]], values[0][who]))
                passed = update.accumulate(row, dtype=view.dtype)
            old[who] = passed[:-1]
            memory[place] = passed[-1]
    else:
        for k in order:
            found = memory[at[k]]
            old[k] = found
            memory[at[k]] = update(found, *(value[k] for value in values))
    after = memory[sorted_at[starts]]
    return old, before.tobytes() != after.tobytes()
