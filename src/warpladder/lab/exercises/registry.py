"""The exercises by the name of their rung, in the order in which to do them."""

from __future__ import annotations

from warpladder.errors import InputError
from warpladder.lab.exercises import advection, overlap_join, primer, reduction, shortest_paths
from warpladder.lab.exercises.exercise import Exercise
from warpladder.lab.registry import unknown

__all__ = ["EXERCISES", "find_exercise", "next_exercise"]

EXERCISES: tuple[Exercise, ...] = (
    *primer.EXERCISES,
    *reduction.EXERCISES,
    *advection.EXERCISES,
    *overlap_join.EXERCISES,
    *shortest_paths.EXERCISES,
)


def find_exercise(rung: str) -> Exercise:
    """Return the exercise of the rung ``ladder/rung``.

    Raises
    ------
    InputError
        There is none; the message has the nearest.

    Examples
    --------
    >>> find_exercise("primer/shared-flag")
    Traceback (most recent call last):
    ...
    warpladder.errors.InputError: no exercise 'primer/shared-flag'; did you mean ...
    """
    for exercise in EXERCISES:
        if exercise.rung == rung:
            return exercise
    names = [exercise.rung for exercise in EXERCISES]
    raise InputError(unknown("exercise", rung, names, "try"))


def next_exercise(exercise: Exercise) -> Exercise | None:
    """Return the exercise that follows, or None after the last."""
    place = EXERCISES.index(exercise) + 1
    return EXERCISES[place] if place < len(EXERCISES) else None
