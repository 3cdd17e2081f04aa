"""Which of a test's parameters are taken by default, and which by `make test-large` alone.

And which are taken with the oldest versions of libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, product
from typing import Any

import pytest


def large(*values: Any) -> list[Any]:
    """Return parameters for the large tests; a tuple is one set of several."""
    sets = (value if isinstance(value, tuple) else (value,) for value in values)
    return [pytest.param(*one, marks=pytest.mark.large) for one in sets]


def only(
    is_chosen: Callable[..., bool],
    *factors: Sequence[Any],
    where: Callable[..., bool] = lambda *_: True,
) -> list[Any]:
    """Return every combination there is; those that are not chosen are for the large tests."""
    return [
        pytest.param(*one, marks=() if is_chosen(*one) else pytest.mark.large)
        for one in product(*factors)
        if where(*one)
    ]


def by_pairs(*factors: Sequence[Any]) -> list[Any]:
    """Return every combination, by default so many that any two values of two factors meet.

    The others are for the large tests. What goes wrong for one value, or for two together, is seen
    by default; there are as many combinations as the two longest factors have pairs, or few more.
    """
    chosen = set(meeting(*factors))
    return [
        pytest.param(*one, marks=() if one in chosen else pytest.mark.large)
        for one in product(*factors)
    ]


def meeting(
    *factors: Sequence[Any], where: Callable[..., bool] = lambda *_: True
) -> list[tuple[Any, ...]]:
    """Return so many combinations that any two values of two factors meet, where they ever do.

    For tests of which all combinations would take the large tests minutes.
    """
    every = [one for one in product(*factors) if where(*one)]
    missing = {pair for one in every for pair in _pairs(one)}
    chosen = []
    while missing:
        best = max(every, key=lambda one: len(missing & _pairs(one)))
        chosen.append(best)
        missing -= _pairs(best)
    return chosen


def first_and_last(names: Sequence[str]) -> list[str]:
    """Return the names of the first and the last case of each test.

    Of tests of ladders and of the simulator all: a case of theirs is a kernel, or what one may say.
    """
    cases: dict[str, list[str]] = {}
    for name in names:
        test = name.partition("[")[0]
        own = "/simulator/" in test or "_ladder.py::" in test
        cases.setdefault(name if own else test, []).append(name)
    return [name for every in cases.values() for name in dict.fromkeys((every[0], every[-1]))]


def _pairs(values: tuple[Any, ...]) -> set[Any]:
    return set(combinations(enumerate(values), 2))
