"""A run: systems put together that one engine takes at once, and stretches between snapshots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from warpladder.advection.boundaries import edge_of
from warpladder.advection.forms import Engine, Limited, Problem, Stencil
from warpladder.advection.schemes import rule_of
from warpladder.advection.setup import Setup
from warpladder.advection.snapshots import check_room, keeper, saved_count, saved_steps
from warpladder.call import Progress
from warpladder.device.foreign import is_on_gpu, like
from warpladder.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from warpladder.advection.intake import Cells
    from warpladder.device.base import Device

__all__ = ["Engines", "Ran", "run"]

# Values of a boundary, of all steps and systems, that are laid out at once; as many as there are
# cells may always be. Either is far more steps than an engine takes in one pass over memory.
_VALUES_AT_ONCE = 1 << 22
# What rounding may leave of the steps that engines tell in parts.
_TOLD = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Engines:
    """What computes, and where.

    Attributes
    ----------
    engine
        Of one problem at a time.
    device
        The GPU that the cells are on meanwhile; None for the host.
    why
        Which, and why, for people.
    """

    engine: Engine
    device: Device | None
    why: str


@dataclass(frozen=True, slots=True, eq=False)
class Ran:
    """What a run leaves: the cells at its end, and snapshots with their steps, where kept."""

    phi: Any
    steps: NDArray[np.int64]
    snapshots: Any


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """Systems that are computed together: their numbers, ascending, and the rule for them."""

    systems: NDArray[np.int64]
    rule: Stencil | Limited
    mirrored: bool


def run(
    setup: Setup,
    engines: Engines,
    cells: Cells,
    first: int,
    steps: int,
    save_every: int | None,
    out: Path | None,
    progress: Progress | None,
) -> Ran:
    """Run from one step to another, and keep or write snapshots on the way.

    Parameters
    ----------
    setup, engines
        What to compute, and by what.
    cells
        The state before step ``first``; left as it is.
    save_every
        Steps between two snapshots.
    out
        The file or folder to write them to; else they are kept, where ``save_every`` is given.
    progress
        As for `warpladder.advect`.
    """
    device = engines.device
    state = cells.values
    if device is not None:
        state = device.to_device(state)
        if not state.flags.c_contiguous:
            raise InputError(
                "phi: on a GPU the cells must lie side by side in memory; give a copy of it that "
                "is contiguous, as phi.contiguous() or ascontiguousarray(phi) are"
            )
        state = state.reshape((setup.systems, setup.cells))
    done = 0.0

    def advanced(count: float) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done / steps if done < steps * (1 - _TOLD) else 1.0)

    stepper = _Stepper(setup, engines)
    if out is None:
        check_room(setup, saved_count(steps, save_every, is_written=False), device)
    saved = saved_steps(steps, save_every, is_written=out is not None)
    ends = saved[1:] if len(saved) else np.array([steps])
    with keeper(setup, first + saved, out, device) as kept:
        if len(saved):
            kept.add(state)
        before = 0
        for end in ends.tolist():
            state = stepper.advance(state, first + before, end - before, advanced)
            if len(saved):
                kept.add(state)
            before = end
    if not steps:
        state = _copied(state, device)
    return Ran(_as_given(setup, engines, cells, state), first + saved, kept.result(cells.given))


def _copied(state: Any, device: Device | None) -> Any:
    if device is None:
        return state.copy()
    return device.to_device(state, out=device.empty(state.shape, state.dtype))


def _as_given(setup: Setup, engines: Engines, cells: Cells, state: Any) -> Any:
    """Return the cells in the shape and of the kind that the caller gave."""
    state = state.reshape(setup.shape)
    if engines.device is None:
        return state
    return like(state, cells.given) if is_on_gpu(cells.given) else engines.device.to_host(state)


class _Stepper:
    """Advances all systems: groups of them, and stretches of steps that edges have values for."""

    def __init__(self, setup: Setup, engines: Engines) -> None:
        self._setup = setup
        self._engine, self._device = engines.engine, engines.device
        self._groups = [*_groups(setup, in_runs=engines.device is not None)]
        boundary = setup.boundary
        has_values = bool({boundary.left.kind, boundary.right.kind} & {"value", "function"})
        self._most = max(_VALUES_AT_ONCE // setup.systems, setup.cells) if has_values else None

    def advance(self, state: Any, first: int, steps: int, advanced: Callable[[float], None]) -> Any:
        """Return the state after so many steps, a new array if there are any."""
        most = self._most or max(steps, 1)
        for begin in range(0, steps, most):
            state = self._stretch(state, first + begin, min(most, steps - begin), advanced)
        return state

    def _stretch(
        self, state: Any, first: int, steps: int, advanced: Callable[[float], None]
    ) -> Any:
        if len(self._groups) == 1:
            return self._of_group(self._groups[0], state, first, steps, advanced)
        device = self._device
        new = np.empty_like(state) if device is None else device.empty(state.shape, state.dtype)
        for group in self._groups:
            share = len(group.systems) / self._setup.systems

            def of_group(count: float, share: float = share) -> None:
                advanced(count * share)

            if device is None:
                new[group.systems] = self._of_group(
                    group, state[group.systems], first, steps, of_group
                )
            else:
                rows = slice(int(group.systems[0]), int(group.systems[-1]) + 1)
                part = self._of_group(group, state[rows], first, steps, of_group)
                device.to_device(part, out=new[rows])
        return new

    def _of_group(
        self,
        group: _Group,
        state: Any,
        first: int,
        steps: int,
        advanced: Callable[[float], None],
    ) -> Any:
        setup = self._setup
        left, right = (
            edge_of(side, group.systems, first, steps, setup.course.dt, setup.dtype)
            for side in setup.boundary.sides(mirrored=group.mirrored)
        )
        told = 0.0

        def tell(count: float) -> None:
            nonlocal told
            told += count
            advanced(count)

        new = self._engine.advance(Problem(group.rule, left, right), state, 0, steps, tell)
        # An engine tells nothing of what is soon done, and its parts may sum to a bit less.
        if steps - told > _TOLD * steps:
            advanced(steps - told)
        return new


def _groups(setup: Setup, *, in_runs: bool) -> list[_Group]:
    """Return systems of one sign together; in runs of neighbours, where rows are not gathered."""
    scheme, courant = setup.scheme, setup.course.courant
    mirrored = courant < 0
    if not (scheme.is_upwind or setup.boundary.follows_velocity):
        mirrored = np.zeros_like(mirrored)
    numbers = np.arange(setup.systems)
    if in_runs:
        parts = np.split(numbers, np.flatnonzero(np.diff(mirrored)) + 1)
    else:
        parts = [part for part in (numbers[~mirrored], numbers[mirrored]) if len(part)]
    # Of all systems, since weights of one's own may be arrays with one for each.
    rules = {
        side: rule_of(scheme, courant, setup.dtype, mirrored=side) for side in {*mirrored.tolist()}
    }
    sides = (bool(mirrored[part[0]]) for part in parts)
    return [
        _Group(part, _of_systems(rules[side], part), side)
        for part, side in zip(parts, sides, strict=True)
    ]


def _of_systems(rule: Stencil | Limited, systems: NDArray[np.int64]) -> Stencil | Limited:
    if isinstance(rule, Stencil):
        return replace(rule, weights=rule.weights[systems])
    return replace(rule, courant=rule.courant[systems], correction=rule.correction[systems])
