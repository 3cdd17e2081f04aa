"""Schemes side by side on a square wave, the hardest shape there is.

A square wave goes around a ring of n cells once, by each of the library's schemes, c = 1/2.

Expect: schemes of first order (Lax-Friedrichs, upwind) smear the steps and keep within 0 and 1.
Linear ones of second order (Lax-Wendroff, Beam-Warming, Fromm) are steeper and swing over: behind
the steps, before them, or on both sides a little. Godunov (1959): no linear scheme of more than
first order keeps a wave from making new extrema. A limiter is how a scheme that is not linear gets
around that: steep and within bounds; total variation, 2 for this wave, never grows. Mass is kept by
all of them, but for rounding.

Source: GR linear advection
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warpladder.advection.schemes import SCHEMES
from warpladder.lab.explore.advection.around import LINEAR, advance, square
from warpladder.lab.explore.exploration import (
    Column,
    Exploration,
    Findings,
    Panel,
    Series,
    Setting,
    Table,
)

__all__ = ["EXPLORATION"]

_COURANT = 0.5
_SWING = 1e-9


def _run(setting: Setting) -> Findings:
    jobs = [(n, scheme) for n in setting.sizes for scheme in SCHEMES]
    rows, curves = [], {}
    for n, scheme in setting.watch(
        jobs, lambda job: f"{job[1]} on {job[0]} cells", lambda job: job[0] ** 2
    ):
        before = square(n)
        after = advance(scheme, before, _COURANT, 2 * n)
        rows.append(
            {
                "n": n, "scheme": scheme,
                "error": float(np.abs(after - before).sum() / before.sum()),
                "variation": float(np.abs(np.diff(after, append=after[0])).sum()),
                "lowest": float(after.min()), "highest": float(after.max()),
                "mass": float(after.sum() - before.sum()),
            }
        )  # fmt: skip
        curves[n, scheme] = after
    table = Table(
        f"a square wave carried once around, Courant number {_COURANT}",
        (
            Column("n", "cells", "count"),
            Column("scheme", "scheme", "text"),
            Column("error", "error/mass"),
            Column("variation", "variation"),
            Column("lowest", "lowest"),
            Column("highest", "highest"),
        ),
        tuple(rows),
    )
    n = max(setting.sizes)
    return Findings((table,), _answer(rows, n), _panels(curves, n))


def _answer(rows: list[dict[str, Any]], n: int) -> tuple[str, ...]:
    seen = {row["scheme"]: row for row in rows if row["n"] == n}
    order = sorted(seen, key=lambda scheme: float(seen[scheme]["error"]))
    swings = [
        one for one in seen if seen[one]["lowest"] < -_SWING or seen[one]["highest"] > 1 + _SWING
    ]
    grown = [one for one in seen if seen[one]["variation"] > 2 + _SWING]
    errors = ", ".join(f"{one} {100 * seen[one]['error']:.0f} %" for one in order)
    swinging = (
        f"Below 0 or above 1 go {', '.join(swings) or 'none'}; total variation has grown with "
        f"{', '.join(grown) or 'none'}. Limiters take the steps of second order and leave the "
        "swings: superbee dares the most and is made for such waves; on smooth hills it makes "
        "steps where there are none."
    )
    gained = max(abs(row["mass"]) for row in seen.values())
    kept = f"Mass is kept by all of them, to {gained:.1g} of {n // 4}."
    return f"From the least error to the largest, on {n} cells: {errors}.", swinging, kept


def _panels(curves: dict[Any, Any], n: int) -> tuple[Panel, ...]:
    place = tuple(map(float, range(n)))
    exact = Series("exact", place, tuple(square(n).tolist()), model=True)
    limiters = [scheme for scheme in SCHEMES if scheme not in LINEAR]
    return tuple(
        Panel(
            f"{kind}, once around {n} cells",
            "cell",
            "phi",
            (*(Series(one, place, tuple(curves[n, one].tolist())) for one in chosen), exact),
        )
        for kind, chosen in (("linear schemes", LINEAR), ("limiters", limiters))
    )


EXPLORATION = Exploration(
    name="schemes",
    question="Which scheme keeps a square wave square?",
    source="GR linear advection",
    run=_run,
    sizes=(100, 200),
    largest=4000,
    why_largest="steps are twice as many as cells",
    rung="advection/sequential-cpu",
)
