"""Write the times of rungs that the package brings, from the newest results of each ladder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from report import measured_on
from warpladder.lab.registry import LADDERS

__all__ = ["PACKAGED", "recorded_times", "write_recorded_times"]

_ROOT = Path(__file__).parent.parent
_RESULTS = _ROOT / "benchmarks" / "results"
PACKAGED = _ROOT / "src" / "warpladder" / "lab" / "recorded.json"


def recorded_times() -> dict[str, Any]:
    """Return card, date, file and milliseconds of every ladder that was timed.

    They have five digits, of which three are shown: rounded to four before, a figure might be shown
    as another than texts have.
    """
    found = {ladder: _newest(ladder) for ladder in sorted(LADDERS)}
    return {ladder: _times(*newest) for ladder, newest in found.items() if newest}


def _newest(ladder: str) -> tuple[str, dict[str, Any]] | None:
    paths = _RESULTS.glob(f"gpu_{ladder.replace('-', '_')}-*.json")
    results = [(path.name, json.loads(path.read_text(encoding="utf-8"))) for path in paths]
    timed = [one for one in results if "ladder" in one[1]]
    return max(timed, key=lambda one: measured_on(one[1], "ladder"), default=None)


def _times(file: str, results: dict[str, Any]) -> dict[str, Any]:
    part = results["ladder"]
    milliseconds: dict[str, dict[str, float]] = {}
    for row in part["rungs"] if isinstance(part, dict) else part:
        ms = row["kernel_ms"] if "kernel_ms" in row else row["kernel_us"] / 1000
        milliseconds.setdefault(row["case"], {})[str(row["n"])] = float(f"{ms:.5g}")
    return {
        "card": results["gpu"],
        "date": measured_on(results, "ladder"),
        "file": file,
        "milliseconds": milliseconds,
    }


def write_recorded_times() -> None:
    """Write the file of the package."""
    PACKAGED.write_text(json.dumps(recorded_times(), indent=1) + "\n", encoding="utf-8")
    print(f"wrote {PACKAGED.name}")


if __name__ == "__main__":
    write_recorded_times()
