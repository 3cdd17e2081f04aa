"""The function of n that the time follows.

HB asks for the function that T(n) follows on a system of K cards with M multiprocessors of C cores.
A power of n is a straight line in logarithms: its slope is the exponent. The line is fitted by
least squares, and once more to the upper half of the sizes: where the two exponents differ, the
points do not lie on a line, and the second is nearer to the law.

Expect: n**3 relaxations and K * M * C of them at a time, so T(n) grows like n**3 / (K M C): cubic
on any machine, however large; the machine only divides. What does not grow like that counts while n
is small: a call costs the same for any n, n launches or barriers grow like n, the transfers like
n**2, and cores that are not all busy yet get busier. Each of these makes the exponent smaller. It
exceeds 3 for a while where the matrix outgrows a cache.

Source: HB exploration 6
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from warpladder.lab.explore.exploration import (
    Column,
    Exploration,
    Findings,
    Panel,
    Series,
    Setting,
    Table,
    paragraph,
)
from warpladder.lab.explore.shortest_paths.methods import (
    Times,
    time_methods,
    times_panel,
    times_table,
)

__all__ = ["EXPLORATION", "PowerLaw", "fit_power", "upper_exponent"]

#: Two points lie on a line whatever they are.
_FEWEST = 3
_NOT_CUBIC_YET = 2.5


class PowerLaw(NamedTuple):
    """``factor * n ** exponent``, fitted.

    Attributes
    ----------
    exponent, error
        The exponent and its standard error, which takes what is off the line for chance.
    factor
        Seconds at n = 1.
    worst
        The largest ratio between a point and the line, in either direction.
    """

    exponent: float
    error: float
    factor: float
    worst: float

    def at(self, n: float) -> float:
        """Return the seconds on the line."""
        return float(self.factor * n**self.exponent)


def fit_power(seconds: dict[int, float]) -> PowerLaw:
    """Fit a power of n by least squares of log T on log n.

    Parameters
    ----------
    seconds
        By n, at least three.

    Examples
    --------
    >>> law = fit_power({10: 3e3, 20: 24e3, 40: 192e3})
    >>> round(law.exponent, 9), round(law.factor, 9), round(law.worst, 9)
    (3.0, 3.0, 1.0)
    """
    x = np.log(np.array(list(seconds), dtype=np.float64))
    y = np.log(np.array(list(seconds.values())))
    around = x - x.mean()
    exponent = float(around @ y / (around @ around))
    residuals = y - y.mean() - exponent * around
    variance = float(residuals @ residuals) / (len(x) - 2)
    return PowerLaw(
        exponent,
        float(np.sqrt(variance / (around @ around))),
        float(np.exp(y.mean() - exponent * x.mean())),
        float(np.exp(np.abs(residuals).max())),
    )


def upper_exponent(medians: dict[int, float]) -> float | None:
    """Return the exponent of the upper half of the sizes, where they are enough for that.

    Examples
    --------
    >>> round(upper_exponent({1: 1, 2: 1, 4: 1, 8: 8, 16: 64, 32: 512}), 9)
    3.0
    >>> upper_exponent({1: 1, 2: 8, 4: 64}) is None
    True
    """
    upper = dict(list(medians.items())[len(medians) // 2 :])
    return fit_power(upper).exponent if len(upper) >= _FEWEST else None


def _run(setting: Setting) -> Findings:
    times, remarks = time_methods(setting)
    rows, lines = [], []
    for name, known in times.items():
        medians = {n: spread.median for n, spread in known.items()}
        row: dict[str, Any] = {"method": name, "sizes": len(medians)}
        if len(medians) < _FEWEST:
            remarks = (*remarks, f"{name}: {len(medians)} sizes are too few for a fit.")
        else:
            law = fit_power(medians)
            row |= {**law._asdict(), "upper": upper_exponent(medians)}
            ends = (float(min(medians)), float(max(medians)))
            title = f"{name}: n^{law.exponent:.2f}"
            lines.append(Series(title, ends, tuple(law.at(n) for n in ends), model=True))
        rows.append(row)
    fits = Table(
        "T(n) = factor * n ** exponent, by least squares of log T on log n",
        (
            Column("method", "method", "text"),
            Column("sizes", "sizes", "count"),
            Column("exponent", "exponent"),
            Column("error", "+-"),
            Column("worst", "off by up to x"),
            Column("upper", "upper half"),
        ),
        tuple(rows),
    )
    return Findings(
        (times_table(times, setting), fits),
        _answer(rows),
        (_panel(times, setting, lines),),
        remarks,
    )


def _panel(times: Times, setting: Setting, lines: list[Series]) -> Panel:
    panel = times_panel(times, setting)
    return Panel(
        "Whole computation: medians, and the fitted powers",
        panel.x_label,
        panel.y_label,
        (*panel.series, *lines),
        log_base=10,
    )


def _answer(rows: list[dict[str, Any]]) -> tuple[str, ...]:
    fitted = [
        f"{row['method']} n^({row['exponent']:.2f} +- {row['error']:.2f})"
        for row in rows
        if "exponent" in row
    ]
    early = [
        f"{row['method']} is not there yet: n^{row['upper']:.2f} in the upper half of the sizes. "
        "What does not grow like n**3 still decides; larger --sizes show more."
        for row in rows
        if (row.get("upper") or 3.0) < _NOT_CUBIC_YET
    ]
    return (
        f"Polynomial, and cubic in the end. Measured: {'; '.join(fitted) or 'too little to tell'}.",
        *early,
        "Why: " + paragraph(__doc__, "Expect: "),
    )


EXPLORATION = Exploration(
    name="growth",
    question="Which function of n does the time follow?",
    source="HB exploration 6",
    run=_run,
    sizes=(128, 256, 512, 768, 1024, 1536, 2048, 3072, 4096),
    largest=16384,
    why_largest="a matrix of that size takes a gigabyte",
    rung="shortest-paths/sequential-cpu",
    # Up to 4096 an H200 has hardly more to do than to fetch and to send the matrix.
    gpu_sizes=(6144, 8192),
)
