"""What compute-sanitizer and the simulator's checks found, as a table and as one sentence."""

from __future__ import annotations

from typing import Any

from validation.common import Entry
from validation.sanitizer import SIMULATOR, TOOLS

__all__ = ["rows_of", "sentence", "table"]


def rows_of(entries: dict[str, Entry]) -> Entry:
    """Return what each found in the right rungs and in the wrong ones, without the rest."""
    done = {path: entry for path, entry in entries.items() if "row" in entry}
    return {
        kind: {path: entry["row"] for path, entry in done.items() if entry["wrong"] == is_wrong}
        for kind, is_wrong in (("right", False), ("wrong", True))
    }


def table(document: Entry) -> list[str]:
    """Return a table in Markdown: the wrong rungs first, as there is something to see."""
    machine = document["machine"]
    lines = [
        f"What compute-sanitizer finds on an {machine['gpu']['name']},",
        f"{machine['system']['date'][:10]}, and the check of the simulator that stops the rung.",
        "",
        f"| rung | {' | '.join(TOOLS)} | simulator |",
        f"|---|{'--:|' * len(TOOLS)}---|",
    ]
    for kind in ("wrong", "right"):
        for path, row in document["sanitizer"].get(kind, {}).items():
            cells = (str(row[tool]) for tool in (*TOOLS, SIMULATOR))
            lines.append(f"| {path}{' (wrong)' * (kind == 'wrong')} | {' | '.join(cells)} |")
    return lines


def sentence(document: Entry) -> str:
    """Return what README says of it, every name and number from the document."""
    right, wrong = (document["sanitizer"].get(kind, {}) for kind in ("right", "wrong"))
    machine = document["machine"]
    silent = sum(all(row[tool] == 0 for tool in TOOLS) for row in right.values())
    passed = sum(row[SIMULATOR] == "" for row in right.values())
    caught = [name for name, row in wrong.items() if any(_is_count(row[tool]) for tool in TOOLS)]
    stopped = sum(row[SIMULATOR] != "" for row in wrong.values())
    told = (
        f"compute-sanitizer's four tools on an {machine['gpu']['name']} "
        f"({machine['system']['date'][:10]}) find nothing in {silent} of {len(right)} right rungs, "
        f"the simulator's checks nothing in {passed}. Of {len(wrong)} wrong rungs the simulator's "
        f"checks catch {stopped}, compute-sanitizer {len(caught)}"
    )
    steps = document["sanitizer"]["steps"]
    unseen = steps - len(right) - len(wrong)
    late = f" For {unseen} of {steps} rungs there was no time." if unseen else ""
    missed = {name: row for name, row in wrong.items() if name not in caught}
    if not missed:
        return f"{told}.{late}"
    clean = [name for name, row in missed.items() if all(row[tool] == 0 for tool in TOOLS)]
    parts = [f"it finds nothing in {_listed(clean)}"] if clean else []
    parts += [
        f"{_listed([name])} {row[tool]} under {tool}"
        for name, row in missed.items()
        for tool in TOOLS
        if row[tool] != 0
    ]
    return (
        f"{told}, which looks for races in shared memory and for unset values in global memory "
        f"only: {', and '.join(parts)}.{late}"
    )


def _is_count(found: Any) -> bool:
    return isinstance(found, int) and found > 0


def _listed(paths: list[str]) -> str:
    names = [f"`{path.partition('/')[2]}`" for path in paths]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
