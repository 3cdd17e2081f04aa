"""What the Courant number does to a hill that is carried once around.

The exact solution keeps its shape. The scheme of the source does not: each step makes a cell of its
two neighbours, so that a peak spreads. Here a Gaussian hill goes around a ring of n cells by
Lax-Friedrichs and by upwind, with Courant numbers from 0.1 to 1; small ones take more steps for the
same way.

Expect: take the weights for chances. A step of Lax-Friedrichs moves what is in a cell by one cell
to the right with chance (1 + c) / 2, else to the left: by c cells in the mean, with a variance of 1
- c**2. Variances add up, so after S steps that of the hill has grown by S (1 - c**2), exactly; with
S = n / c steps that is n (1 / c - c), and nothing at c = 1. Upwind moves by one cell or by none: c
(1 - c) a step, n (1 - c) in all. A hill of standard deviation s that becomes wider to t has s / t
of its height. So the smaller the time step, the worse: the opposite of what one is used to.

Source: GR linear advection
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warpladder.lab.explore.advection.around import advance, hill
from warpladder.lab.explore.exploration import (
    Column,
    Exploration,
    Findings,
    Panel,
    Series,
    Setting,
    Table,
)

__all__ = ["EXPLORATION", "grown"]

_COURANT = (0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0)
_DRAWN = (0.2, 0.6, 0.9)
_SCHEMES = ("lax-friedrichs", "upwind")
_REMARK = (
    "Variances are in cells squared. Where a hill has become nearly as wide as the ring, what went "
    "around it is measured short."
)


def grown(scheme: str, courant: float, steps: int) -> float:
    """Return by how much the variance grows, in cells squared.

    Examples
    --------
    >>> grown("lax-friedrichs", 0.6, 100), grown("upwind", 0.5, 100)
    (64.0, 25.0)
    """
    each = 1 - courant**2 if scheme == "lax-friedrichs" else courant * (1 - courant)
    return steps * each


def _run(setting: Setting) -> Findings:
    jobs = [(n, scheme, c) for n in setting.sizes for scheme in _SCHEMES for c in _COURANT]
    rows, curves = [], {}
    for n, scheme, courant in setting.watch(
        jobs, lambda job: f"{job[1]}, c = {job[2]}", lambda job: job[0] ** 2 / job[2]
    ):
        steps = round(n / courant)
        before = hill(n)
        after = advance(scheme, before, courant, steps)
        # It has come as far as that: the nearest number of steps is not the exact way.
        ways = courant * steps - n
        width = np.sqrt((n / 40) ** 2 + grown(scheme, courant, steps))
        rows.append(
            {
                "n": n, "scheme": scheme, "courant": courant, "steps": steps,
                "peak": float(after.max()), "expected": float(n / 40 / width),
                "grown": _variance(after, ways) - _variance(before, 0.0),
                "expected_grown": grown(scheme, courant, steps),
            }
        )  # fmt: skip
        curves[n, scheme, courant] = after
    table = Table(
        "a hill carried once around",
        (
            Column("n", "cells", "count"),
            Column("scheme", "scheme", "text"),
            Column("courant", "c"),
            Column("steps", "steps", "count"),
            Column("peak", "height"),
            Column("expected", "expected"),
            Column("grown", "variance"),
            Column("expected_grown", "expected"),
        ),
        tuple(rows),
    )
    n = max(setting.sizes)
    return Findings((table,), _answer(rows, n), _panels(curves, n), (_REMARK,))


def _variance(phi: Any, ways: float) -> float:
    """Return the variance of a hill in the middle, about where it has come."""
    n = len(phi)
    off = (np.arange(n) - n / 2 - ways + n / 2) % n - n / 2
    return float((phi * off**2).sum() / phi.sum())


def _answer(rows: list[dict[str, Any]], n: int) -> tuple[str, ...]:
    left = {(row["scheme"], row["courant"]): row["peak"] for row in rows if row["n"] == n}
    worst = max(abs(row["peak"] - row["expected"]) for row in rows if row["n"] == n)
    around = (
        f"Once around {n} cells, Lax-Friedrichs leaves {100 * left['lax-friedrichs', 0.9]:.0f} % "
        f"of the hill's height at c = 0.9, {100 * left['lax-friedrichs', 0.1]:.0f} % at c = 0.1; "
        f"upwind leaves {100 * left['upwind', 0.9]:.0f} % and {100 * left['upwind', 0.1]:.0f} %. "
        "At c = 1 both only move the cells, and all of it is left."
    )
    steps = (
        "The time step is to be as large as is stable: each step spreads the hill by 1 - c**2 "
        "(upwind: c (1 - c)) cells squared, and small steps are many. Heights are off by "
        f"{worst:.2g} at most from those that follow from the variances alone."
    )
    return around, steps


def _panels(curves: dict[Any, Any], n: int) -> tuple[Panel, ...]:
    place = tuple(map(float, range(n)))
    return tuple(
        Panel(
            f"{scheme}, once around {n} cells",
            "cell",
            "phi",
            (
                *(
                    Series(f"c = {courant}", place, tuple(curves[n, scheme, courant].tolist()))
                    for courant in _DRAWN
                ),
                Series("exact", place, tuple(hill(n).tolist()), model=True),
            ),
        )
        for scheme in _SCHEMES
    )


EXPLORATION = Exploration(
    name="diffusion",
    question="How much does the Courant number smear a wave?",
    source="GR linear advection",
    run=_run,
    sizes=(200, 400),
    largest=4000,
    why_largest="steps are as many as cells, and more where the Courant number is small",
    rung="advection/sequential-cpu",
)
