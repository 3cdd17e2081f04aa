"""What comes of stretches of rows: merged pairwise in order, and taken when it is complete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warpladder.reduction.memory.layout import Span
from warpladder.reduction.plan import Plan

__all__ = ["Cascade", "Taker"]

#: Takes a run of rows that is complete, with the states of the plan's parts.
Taker = Callable[[Span, list[Any]], None]


class Cascade:
    """States of neighbouring stretches, merged pairwise as they come."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._levels: list[tuple[int, list[Any]]] = []

    def push(self, states: list[Any]) -> None:
        """Add the states of the stretch that follows."""
        weight = 1
        while self._levels and self._levels[-1][0] == weight:
            earlier = self._levels.pop()[1]
            states, weight = self._plan.merged(earlier, states), 2 * weight
        self._levels.append((weight, states))

    def drain(self) -> list[Any] | None:
        """Return the states of all stretches, None where there was none."""
        if not self._levels:
            return None
        states = self._levels.pop()[1]
        while self._levels:
            earlier = self._levels.pop()[1]
            states = self._plan.merged(earlier, states)
        return states
