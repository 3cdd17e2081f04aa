"""Whether float32 is enough for 100,000 steps.

A square wave goes around a ring for 10, 100, .. and 100,000 steps, in float32 and in float64. What
lies between the two is what rounding did; what lies between float64 and the exact solution is what
the scheme did.

Expect: a step rounds each cell by half a unit at most, 2**-25 of a number below 1, now up, now
down. Errors of steps add up as in a random walk, so they grow as the square root of the steps, if
that: a scheme that smears waves smears rounding, too. All but the mean, which nothing smears: mass
walks at random.

Unless the weights themselves are rounded. Their sum is 1, and rounded to float32 it may be some
2**-25 more or less; with every step all cells are multiplied by it. That is no walk but a march: it
grows with the steps, by 100,000 * 2**-25 or 0.3 %. At c = 0.75 the weights of many schemes are
multiples of 1/32 or so and exact, at c = 0.7 none is. (So `warpladder.advect` rounds the weights of
a scheme together, to multiples of one unit, such that they add up to 1. Here each is rounded by
itself, as one would write it.)

Source: GR linear advection
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warpladder.lab.explore.advection.around import LINEAR, advance, square, stencil_of
from warpladder.lab.explore.exploration import (
    Column,
    Exploration,
    Findings,
    Panel,
    Series,
    Setting,
    Table,
)

__all__ = ["EXPLORATION", "sum_off"]

_COURANT = (0.75, 0.7)
_STEPS = (10, 100, 1_000, 10_000, 100_000)
_LIMITER = "van-leer"
_REMARK = (
    "weights: their sum less 1, in float32. cells, mass: float32 less float64, the largest, and of "
    "all together. scheme: float64 less the exact solution, the largest."
)


def sum_off(scheme: str, courant: float) -> float | None:
    """Return by how much the float32 weights of a linear scheme add up to more than 1.

    Examples
    --------
    >>> sum_off("upwind", 0.75), sum_off("van-leer", 0.75)
    (0.0, None)
    """
    if scheme not in LINEAR:
        return None
    weights = stencil_of(scheme, courant, np.float32).weights
    return float(weights.astype(np.float64).sum() - 1)


def _run(setting: Setting) -> Findings:
    schemes = (*LINEAR, _LIMITER)
    jobs = [(n, scheme, c) for n in setting.sizes for scheme in schemes for c in _COURANT]
    rows, grown = [], {}
    for n, scheme, courant in setting.watch(
        jobs, lambda job: f"{job[1]}, c = {job[2]}, {job[0]} cells", lambda job: job[0]
    ):
        off = _differences(n, scheme, courant)
        grown[n, scheme, courant] = [float(np.abs(one - two).max()) for one, two in off]
        single, double = off[-1]
        exact = np.roll(square(n), round(courant * _STEPS[-1]) % n)
        rows.append(
            {
                "n": n, "scheme": scheme, "courant": courant,
                "sum": _millionths(sum_off(scheme, courant)),
                "rounding": _millionths(grown[n, scheme, courant][-1]),
                "mass": _millionths(float(single.sum() / double.sum() - 1)),
                "scheme_error": _millionths(float(np.abs(double - exact).max())),
            }
        )  # fmt: skip
    table = Table(
        f"after {_STEPS[-1]:,} steps, in millionths",
        (
            Column("n", "cells", "count"),
            Column("scheme", "scheme", "text"),
            Column("courant", "c"),
            Column("sum", "weights"),
            Column("rounding", "cells"),
            Column("mass", "mass"),
            Column("scheme_error", "scheme"),
        ),
        tuple(rows),
    )
    n = max(setting.sizes)
    return Findings((table,), _answer(rows, n), _panels(grown, n), (_REMARK,))


def _millionths(value: float | None) -> float | None:
    return None if value is None else 1e6 * value


def _differences(n: int, scheme: str, courant: float) -> list[tuple[Any, Any]]:
    """Return the cells in float32, widened, and in float64, after each number of steps."""
    single, double = square(n).astype(np.float32), square(n)
    found, done = [], 0
    for steps in _STEPS:
        single = advance(scheme, single, courant, steps - done)
        double = advance(scheme, double, courant, steps - done)
        found.append((single.astype(np.float64), double))
        done = steps
    return found


def _answer(rows: list[dict[str, Any]], n: int) -> tuple[str, ...]:
    seen = [row for row in rows if row["n"] == n]
    exact = [row for row in seen if row["sum"] == 0]
    off = [row for row in seen if row["sum"]]
    said = []
    if exact:
        walk = 1e6 * 2.0**-25 * _STEPS[-1] ** 0.5
        said.append(
            f"Where the weights add up to 1, float32 is off by {_most(exact, 'rounding'):.3g} "
            f"millionths at most after {_STEPS[-1]:,} steps, and mass by "
            f"{_most(exact, 'mass'):.3g}; a random walk would have come {walk:.2g} far. What a "
            "scheme has smeared flat is rounded alike in all cells and in each step."
        )
    if off:
        worst = max(off, key=lambda row: abs(float(row["mass"])))
        said.append(
            f"Where they do not, mass marches: {worst['scheme']} at c = {worst['courant']} has "
            f"weights {worst['sum']:.2g} millionths off, times {_STEPS[-1]:,} that is "
            f"{_STEPS[-1] * worst['sum']:,.0f}, and mass has changed by {worst['mass']:,.0f}."
        )
    least = min(row["scheme_error"] for row in seen)
    said.append(
        f"The scheme itself is off by far more, {least:,.0f} millionths and up for a square wave: "
        "float32 is enough for the picture, and not for a balance of mass over many steps."
    )
    return tuple(said)


def _most(rows: list[dict[str, Any]], key: str) -> float:
    return max(abs(float(row[key])) for row in rows)


def _panels(grown: dict[Any, list[float]], n: int) -> tuple[Panel, ...]:
    steps = tuple(map(float, _STEPS))
    root = tuple(2.0**-25 * one**0.5 for one in steps)
    return tuple(
        Panel(
            f"float32 beside float64 at c = {courant}, {n} cells",
            "steps",
            "largest difference",
            (
                *(
                    # What does not differ at all has no logarithm.
                    Series(scheme, steps, tuple(one or None for one in grown[n, scheme, courant]))
                    for scheme in (*LINEAR, _LIMITER)
                ),
                Series("a random walk", steps, root, model=True),
            ),
            log_base=10,
        )
        for courant in _COURANT
    )


EXPLORATION = Exploration(
    name="precision",
    question="Is float32 enough for 100,000 steps?",
    source="GR linear advection",
    run=_run,
    sizes=(200,),
    largest=10_000,
    why_largest="100,000 steps of more take minutes",
    rung="advection/sequential-cpu",
)
