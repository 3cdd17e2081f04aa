"""One small document of everything that was found, and the lines that sum it up."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from validation.common import Entry
from validation.counters import compare_counters
from validation.sanitizer_report import rows_of, sentence, table

__all__ = ["compose", "layout", "print_report", "succeeded"]

#: The parts that compare results, and so decide the exit status.
_RESULTS = ("rungs", "micro", "pipelines", "sanitizer")


def compose(found: dict[str, Entry], *, dry: bool, seconds: float) -> Entry:
    """Return the document: the machine once, names of what is equal, and what is not."""
    document: Entry = {"dry": dry, "seconds": round(seconds)}
    for part, part_found in found.items():
        entries = part_found["entries"]
        if part == "machine":
            document[part] = entries
            continue
        outcome = _outcome(part_found)
        if part == "rungs":
            outcome["largest_n"] = _values(entries, "largest_n")
        elif part == "occupancy":
            outcome["asked"] = sum(_values(entries, "asked").values())
            outcome["registers"] = _values(entries, "registers")
        elif part == "pipelines":
            keep_out = {"differences", "error", "skipped"}
            outcome["times"] = {
                name: {key: value for key, value in entry.items() if key not in keep_out}
                for name, entry in entries.items()
            }
        elif part == "counters":
            outcome |= _counters(entries)
        elif part == "sanitizer":
            outcome |= rows_of(entries)
        document[part] = outcome
    return document


def _values(entries: dict[str, Entry], key: str) -> Entry:
    return {name: entry[key] for name, entry in entries.items() if key in entry}


def _outcome(part: Entry) -> Entry:
    """Sort the steps of a part by what came of them; what did not happen is left out."""
    entries: dict[str, Entry] = part["entries"]
    different = {name: found for name, found in _values(entries, "differences").items() if found}
    expected = {
        name: found for name, found in different.items() if all("expected" in one for one in found)
    }
    failed, skipped = _values(entries, "error"), _values(entries, "skipped")
    kinds: Entry = {
        "error": part.get("error"),
        "differ": {name: one for name, one in different.items() if name not in expected},
        "failed": failed,
        "skipped": skipped,
        "differ_as_expected": expected,
        "equal": [name for name in entries if name not in {*different, *failed, *skipped}],
    }
    return {"steps": len(entries)} | {kind: names for kind, names in kinds.items() if names}


def _counters(entries: dict[str, Entry]) -> Entry:
    """Compare what all groups of launches counted, at once."""
    sides: dict[str, Entry] = {"simulated": {}, "hardware": {}}
    runs = {}
    for group, entry in entries.items():
        for side in sides:
            sides[side] |= entry.get(side, {})
        record = {key: value for key, value in entry.items() if key not in sides and value}
        record["refused"] = {side: one for side, one in entry.get("refused", {}).items() if one}
        runs[group] = record
    return {"runs": runs} | compare_counters(**sides)


def succeeded(document: Entry, parts: Iterable[str]) -> bool:
    """Return whether every result was the same, or differed as expected; some must be there."""
    outcomes = [document[part] for part in parts if part in _RESULTS]
    return all(
        ("equal" in outcome or "differ_as_expected" in outcome)
        and not any(kind in outcome for kind in ("error", "differ", "failed"))
        for outcome in outcomes
    )


def layout(value: Any, indent: int = 0, width: int = 140) -> str:
    """Return JSON with everything that fits a line on one line.

    Examples
    --------
    >>> print(layout({"short": [1, 2], "long": ["a" * 6, "b" * 6]}, width=20))
    {
     "short": [1, 2],
     "long": [
      "aaaaaa",
      "bbbbbb"
     ]
    }
    """
    flat = json.dumps(value, default=str)
    if len(flat) + indent <= width or not isinstance(value, dict | list):
        return flat
    inner = indent + 1
    if isinstance(value, dict):
        ends = "{}"
        lines = [f"{json.dumps(key)}: {layout(one, inner, width)}" for key, one in value.items()]
    else:
        ends = "[]"
        lines = [layout(one, inner, width) for one in value]
    body = f",\n{' ' * inner}".join(lines)
    return f"{ends[0]}\n{' ' * inner}{body}\n{' ' * indent}{ends[1]}"


def print_report(document: Entry) -> None:
    """Print what sums the document up."""
    print("\n".join(_lines(document)), flush=True)


def _lines(document: Entry) -> Iterator[str]:
    gpu = document["machine"].get("gpu", {}).get("name", "no GPU")
    yield f"\n=== simulator against {gpu} ==="
    yield f"{'part':44} {'equal':>6} {'of':>6} {'skipped':>8} {'expected':>9}"
    for part, outcome in document.items():
        if isinstance(outcome, dict) and "steps" in outcome:
            yield from _part_lines(part, outcome)
    yield from _counter_lines(document.get("counters", {}).get("counters", {}))
    if "sanitizer" in document:
        yield from ("", *table(document), "", sentence(document))
    for name, entry in document.get("pipelines", {}).get("times", {}).items():
        times = {key: value for key, value in entry.items() if isinstance(value, float)}
        yield f"{name}: {times}"


def _part_lines(part: str, outcome: Entry) -> Iterator[str]:
    equal, skipped, expected = (
        len(outcome.get(kind, ())) for kind in ("equal", "skipped", "differ_as_expected")
    )
    yield f"{part:44} {equal:6} {outcome['steps']:6} {skipped:8} {expected:9}"
    if "error" in outcome:
        yield f"    FAILED: {outcome['error']}"
    for name, fault in list(outcome.get("failed", {}).items())[:25]:
        yield f"    FAILED {name}: {fault[:200]}"
    for name, faults in list(outcome.get("differ", {}).items())[:25]:
        first = next(one for one in faults if "expected" not in one)
        what = f"{first.get('row', '')} {first.get('fault') or first}"
        yield f"    DIFFERS {name}: {what.strip()[:200]}"


def _counter_lines(counters: dict[str, Entry]) -> Iterator[str]:
    if counters:
        yield f"\n{'counters':44} {'agree':>6} {'of':>6} {'expected':>18}"
    for name, one in counters.items():
        known = "(information only)" if "expected" in one else one.get("disagreements_expected", "")
        yield f"{name:44} {one['agree']:6} {one['of']:6} {known:>18}"
        if "expected" in one:
            continue
        for record in [record for record in one["disagreements"] if "expected" not in record][:8]:
            yield (
                f"    {record['case']}: simulator {record['simulator']}, "
                f"hardware {record['hardware']}"
            )
