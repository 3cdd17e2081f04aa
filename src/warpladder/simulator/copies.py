"""Copies to the host that are put on a stream: done as late as they may be.

On a GPU such a copy into page-locked memory happens at some time between the call and the end of a
wait for its stream. Whoever reads before that wait reads old values on some days and new ones on
others. Here it is old ones every time, which turns a rare mistake into one that the first run
shows.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["LateCopies"]


class _Copy(NamedTuple):
    stream: Any
    target: NDArray[Any]
    values: NDArray[Any]


class LateCopies:
    """The copies of one device that nobody has waited for yet, in the order of their calls.

    Examples
    --------
    >>> copies, stream, target = LateCopies(), object(), np.zeros(2)
    >>> copies.put(stream, target, np.ones(2))
    >>> target
    array([0., 0.])
    >>> copies.complete(stream)
    >>> target
    array([1., 1.])
    """

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._waiting: dict[int, _Copy] = {}
        # By stream, the copies of other streams that it has been told to wait for.
        self._behind: list[tuple[Any, frozenset[int]]] = []

    def put(self, stream: Any, target: NDArray[Any], values: NDArray[Any]) -> None:
        """Note that ``values``, which nobody else may change, are to come to ``target``."""
        self._waiting[next(self._numbers)] = _Copy(stream, target, values)

    def put_behind(self, stream: Any, copies: frozenset[int]) -> None:
        """Note that ``stream`` waits for these copies."""
        if copies:
            self._behind.append((stream, copies))

    def on(self, stream: Any) -> frozenset[int]:
        """Return the copies that are complete when a stream is; without one, all."""
        own = {n for n, copy in self._waiting.items() if stream is None or copy.stream is stream}
        return frozenset(own).union(*(held for by, held in self._behind if by is stream))

    def complete(self, stream: Any = None) -> None:
        """Do the copies that are complete when a stream is; without one, all."""
        self.complete_all_of(self.on(stream))

    def complete_into(self, host: NDArray[Any], stream: Any) -> None:
        """Do the copies to memory of ``host`` that come before what a stream does next."""
        here = {n for n in self.on(stream) if n in self._waiting}
        self.complete_all_of(
            {n for n in here if np.may_share_memory(self._waiting[n].target, host)}
        )

    def complete_all_of(self, copies: Collection[int]) -> None:
        """Do these copies, those of them that have not been done yet."""
        for number in sorted(copies):
            if (copy := self._waiting.pop(number, None)) is not None:
                np.copyto(copy.target, copy.values)
        if not self._waiting:
            self._behind.clear()
