"""Times of rungs on a GPU that is not here, from the committed records."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Recorded", "recorded_times"]

#: Where the records stand in a working copy; what is installed has none.
_RECORDS = Path(__file__).parents[4] / "benchmarks" / "results"


@dataclass(frozen=True, slots=True)
class Recorded:
    """The newest record of a ladder.

    Attributes
    ----------
    card, date
        Which GPU, and the day.
    times
        The name of a rung, the problem size, and the seconds of its kernels.
    """

    card: str
    date: str
    times: tuple[tuple[str, int, float], ...]

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for JSON."""
        keys = ("rung", "n", "kernel_seconds")
        times = [dict(zip(keys, time, strict=True)) for time in self.times]
        return {"card": self.card, "date": self.date, "times": times}


def recorded_times(ladder: str) -> Recorded | None:
    """Return what is on record of a ladder, or None where nothing is."""
    found = [
        json.loads(path.read_text(encoding="utf-8"))
        for path in _RECORDS.glob(f"gpu_{ladder.replace('-', '_')}-*.json")
    ]
    records = [record for record in found if record.get("ladder")]
    if not records:
        return None
    newest = max(records, key=lambda record: str(record["date"]))
    part = newest["ladder"]
    rows: list[dict[str, Any]] = part["rungs"] if isinstance(part, dict) else part
    times = tuple((str(row["case"]), int(row["n"]), _seconds(row)) for row in rows)
    return Recorded(str(newest["gpu"]), str(newest["date"])[:10], times)


def _seconds(row: dict[str, Any]) -> float:
    """Return the time of the kernels; records have it in milli- or in microseconds."""
    return float(row["kernel_ms"] / 1e3 if "kernel_ms" in row else row["kernel_us"] / 1e6)
