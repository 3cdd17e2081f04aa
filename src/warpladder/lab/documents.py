"""What the laboratory finds as plain dictionaries, for JSON; numbers that are none are null."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from warpladder.lab.climb import Row
from warpladder.lab.differences import Change, Difference
from warpladder.lab.explain import Explanation, Listing
from warpladder.lab.recorded import Recording, recording_of
from warpladder.lab.sources import sources_in
from warpladder.lab.verify import PredictionResult, WrongResult
from warpladder.rung import Ladder, Rung, shown
from warpladder.simulator.checks.counters import NSIGHT_COMPUTE, Counters

__all__ = [
    "counters_document",
    "difference_document",
    "explanation_document",
    "ladder_document",
    "recorded_document",
    "recording_document",
    "row_document",
    "wrong_document",
]


def counters_document(counters: Counters) -> dict[str, float]:
    """Return every sum and every ratio by name.

    Examples
    --------
    >>> counters_document(Counters(global_load_requests=2, global_load_sectors=8))[
    ...     "global_load_sectors_per_request"
    ... ]
    4.0
    """
    ratios = [name for name, kind in vars(Counters).items() if isinstance(kind, property)]
    return {**asdict(counters), **{name: getattr(counters, name) for name in ratios}}


def ladder_document(ladder: Ladder) -> dict[str, Any]:
    """Return a ladder with what its rungs state about themselves."""
    return {
        "name": ladder.name,
        "title": ladder.title,
        "sources": [
            asdict(source) for source in sources_in("; ".join(r.source for r in ladder.rungs))
        ],
        "rungs": [_rung_document(rung) for rung in ladder.rungs],
        "wrong": [
            {
                **_rung_document(wrong.rung),
                "caught_by": wrong.caught_by,
                "visible_under": list(wrong.visible_under),
                "n": wrong.n,
            }
            for wrong in ladder.wrong
        ],
    }


def recording_document(recording: Recording | None) -> dict[str, str] | None:
    """Return which card times were recorded on, when, and which of the committed results has them.

    Examples
    --------
    >>> from warpladder.lab.recorded import recording_of
    >>> recording_document(recording_of("reduction"))["card"]
    'NVIDIA H200'
    """
    if recording is None:
        return None
    return {"card": recording.card, "date": recording.date, "file": recording.file}


def recorded_document(recording: Recording | None, rung: Rung) -> list[dict[str, float]]:
    """Return the recorded times of a rung's kernels, by size; none where nothing was recorded."""
    times = recording.all_of(rung.name) if recording else []
    return [{"n": time.n, "kernel_ms": time.milliseconds} for time in times]


def row_document(row: Row, recording: Recording | None = None) -> dict[str, Any]:
    """Return what became of one rung in a climb, and what was recorded of it on another day."""
    return {
        "rung": row.rung.name,
        "ok": not row.faults,
        "faults": row.faults,
        "verified": [asdict(verdict) for verdict in row.verdicts],
        "predictions": [_prediction_document(result) for result in row.predictions],
        "n": row.n,
        "seconds": row.timing and row.timing.total_seconds,
        "kernel_seconds": row.timing and row.timing.kernel_seconds,
        "all_seconds": row.timing and list(row.timing.totals),
        "all_kernel_seconds": row.timing and list(row.timing.kernels),
        "rate": row.rate,
        "unit": row.rung.task.unit,
        "bound": row.rung.bound.by,
        "limit": row.limit and row.limit._asdict(),
        "percent_of_limit": row.percent_of_limit,
        "skipped": row.skipped,
        "recorded": recorded_document(recording, row.rung),
    }


def wrong_document(result: WrongResult) -> dict[str, Any]:
    """Return how a wrong rung was caught."""
    return {
        "rung": result.wrong.rung.name,
        "caught_by": result.wrong.caught_by,
        "caught": result.caught,
        "fault": result.fault,
        "visible_under": result.visible,
        "ok": result.ok,
    }


def explanation_document(explanation: Explanation, *, lines: bool = True) -> dict[str, Any]:
    """Return a rung explained; with ``lines``, every line of its kernels."""
    recording = recording_of(explanation.ladder.name)
    return {
        "ladder": explanation.ladder.name,
        **_rung_document(explanation.rung),
        "n": explanation.n,
        "file": explanation.file,
        "text": list(explanation.text),
        "sources": [asdict(source) for source in sources_in(explanation.rung.source)],
        "kernels": [_listing_document(kernel, lines=lines) for kernel in explanation.kernels],
        "elsewhere": [_listing_document(other, lines=lines) for other in explanation.elsewhere],
        "predictions": [_prediction_document(result) for result in explanation.predictions],
        "wrong": explanation.wrong and wrong_document(explanation.wrong),
        "stopped": explanation.stopped,
        "recorded": {
            "run": recording_document(recording),
            "times": recorded_document(recording, explanation.rung),
        },
        "faulty_lines": [
            {"file": file, "line": line} for file, line in sorted(explanation.faulty_lines)
        ],
        "nsight_compute": NSIGHT_COMPUTE,
    }


def difference_document(difference: Difference, *, lines: bool = True) -> dict[str, Any]:
    """Return two rungs beside each other; with ``lines``, every line of their kernels."""
    sides = (difference.before, difference.after)
    unlike = [
        [{"file": file, "line": line} for file, line in sorted(places)]
        for places in difference.unlike_lines
    ]
    before, after = (
        {
            "ladder": side.ladder.name,
            **_rung_document(side.rung),
            "kernels": [_listing_document(one, lines=lines) for one in side.counted.kernels],
            "elsewhere": [_listing_document(one, lines=lines) for one in side.counted.elsewhere],
            "counters": counters_document(side.counted.total),
            "stopped": side.counted.stopped,
            "unlike_lines": places,
            "recorded": {
                "run": recording_document(recording_of(side.ladder.name)),
                "times": recorded_document(recording_of(side.ladder.name), side.rung),
            },
        }
        for side, places in zip(sides, unlike, strict=True)
    )
    return {
        "n": difference.n,
        "before": before,
        "after": after,
        "changes": [_change_document(change) for change in difference.changes],
        "kernels": [
            {
                "before": pair.before and pair.before.name,
                "after": pair.after and pair.after.name,
                "changes": [_change_document(change) for change in pair.changes],
            }
            for pair in difference.kernels
        ],
        "predictions": [_prediction_document(result) for result in difference.claims],
    }


def _change_document(change: Change) -> dict[str, Any]:
    return {**asdict(change), "ratio": change.ratio}


def _rung_document(rung: Rung) -> dict[str, Any]:
    return {
        "rung": rung.name,
        "title": rung.title,
        "source": rung.source,
        "task": rung.task.name,
        "bound": {"by": rung.bound.by, "formula": rung.bound.formula},
        "on": rung.on,
        "exact": rung.exact,
        "max_n": rung.max_n,
        "limits": rung.limits,
        "predicts": [{**asdict(claim), "stated": shown(claim.value)} for claim in rung.predicts],
        "found": [
            {**asdict(found), "milliseconds": dict(found.milliseconds)} for found in rung.found
        ],
    }


def _prediction_document(result: PredictionResult) -> dict[str, Any]:
    return {
        **asdict(result.prediction),
        "stated": shown(result.prediction.value),
        "counted": result.counted,
        "base": result.base,
        "measured": None if math.isnan(result.measured) else result.measured,
        "ok": result.ok,
        "fault": result.fault,
    }


def _listing_document(listing: Listing, *, lines: bool) -> dict[str, Any]:
    document: dict[str, Any] = {
        "name": listing.name,
        "file": listing.file,
        "launches": [
            {"grid": launch.grid, "block": launch.block, "shared_bytes": launch.shared_bytes}
            for launch in listing.launches
        ],
        "counters": counters_document(listing.counters),
    }
    if lines:
        document["lines"] = [
            {
                "number": line.number,
                "text": line.text,
                "counters": line.counters and counters_document(line.counters),
            }
            for line in listing.lines
        ]
    return document
