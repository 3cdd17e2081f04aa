"""The page: templates filled with a report's document, nothing fetched from anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import count
from typing import TYPE_CHECKING, Any

from warpladder.errors import MissingExtraError
from warpladder.lab.gutter import Column
from warpladder.lab.recorded import common_size
from warpladder.lab.report.figures import (
    Plot,
    climb_plot,
    evidence_plot,
    panel_plot,
)
from warpladder.lab.report.listings import columns_of, listings_of
from warpladder.lab.report.prose import blocks_of, spans_of
from warpladder.lab.text import three_digits, with_prefix
from warpladder.rung import shown

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["render", "require_packages"]

_FAMILIAR = {"==": "", "<": "< ", "<=": "≤ ", ">": "> ", ">=": "≥ "}


def require_packages() -> None:
    """Raise now what rendering would raise after a run.

    Raises
    ------
    MissingExtraError
        Jinja, Pygments or matplotlib is not installed.
    """
    for package in ("jinja2", "matplotlib", "pygments"):
        try:
            __import__(package)
        except ImportError as fault:
            raise MissingExtraError("a report", package, "report") from fault


def render(document: Mapping[str, Any]) -> str:
    """Return a report's document as HTML, in one piece.

    Raises
    ------
    MissingExtraError
        As `require_packages`.
    """
    require_packages()
    numbers = count(1)
    ladders = [_chapter(ladder, document, numbers) for ladder in document["ladders"]]
    explorations = [
        {**one, "plots": [panel_plot(panel, next(numbers)) for panel in one["panels"]]}
        for one in document["explorations"]
    ]
    page = (
        _environment()
        .get_template("report.html")
        .render(
            document=document,
            machine=_machine(document["machine"]),
            ladders=ladders,
            explorations=explorations,
            legend=_legend(document),
            style=_text("style.css"),
            script=_text("page.js"),
        )
    )
    # Where a template's statements stood, lines are left empty.
    return re.sub(r"\n\s*\n+", "\n", page)


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("warpladder.lab.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters.update(
        blocks=blocks_of,
        spans=spans_of,
        listings=listings_of,
        claimed=_claimed,
        counted=_counted,
        cell=_cell,
        prefixed=with_prefix,
        breakable=_breakable,
        sentence=_sentence,
    )
    return environment


def _text(name: str) -> str:
    return files("warpladder.lab.report").joinpath("templates", name).read_text(encoding="utf-8")


# ---- the machine -----------------------------------------------------------------------------


def _machine(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what there is, a heading and a text each."""
    yield "processor", f"{found['cpu']}, {found['cores']} cores"
    if vector := found["vector"]:
        yield "vector unit", f"{vector['name']}, {8 * vector['bytes']} bits"
    yield "system", f"{found['system']}, Python {found['python']}"
    cuda = found["cuda"]
    unused = f": {cuda['why_not']}" if cuda["why_not"] else ""
    yield "CUDA driver", f"{cuda['driver'] or 'none'}{unused}"
    for gpu in cuda["gpus"]:
        major, minor = gpu["compute_capability"]
        kind = f"{gpu['name']}, compute capability {major}.{minor}"
        size = f"{gpu['multiprocessors']} SMs, {gpu['memory_bytes'] / 2**30:.0f} GiB"
        yield "GPU", f"{kind}, {size}"
    if front_end := found["front_end"]:
        used = f"{front_end['package']} {front_end['version']}: {front_end['why']}"
        yield "simulator", f"front end of {used}"
    packages = [f"{name} {number}" for name, number in found["packages"].items() if number]
    yield "packages", ", ".join(packages)
    yield "auto takes", f"{found['auto']['device']}: {found['auto']['why']}"
    for problem in found["problems"]:
        yield "problem", problem


# ---- a ladder --------------------------------------------------------------------------------


def _chapter(
    ladder: Mapping[str, Any], document: Mapping[str, Any], numbers: Iterator[int]
) -> dict[str, Any]:
    measured = [
        (rung["rung"], rung["climbed"]["n"], rung["climbed"]["kernel_seconds"])
        for rung in ladder["rungs"]
        if rung["climbed"]["kernel_seconds"]
    ]
    recorded = ladder["recorded"]
    times = recorded and [
        (row["rung"], row["n"], row["kernel_ms"] / 1e3) for row in recorded["times"]
    ]
    tasks = {rung["rung"]: rung["task"] for rung in ladder["rungs"]}
    plots: list[Plot | None] = []
    if measured:
        here = f"{document['device']}, measured for this report on {document['made'][:10]}"
        plots.append(climb_plot(measured, here, next(numbers), tasks))
    elif times:
        on_record = f"{recorded['card']}, recorded on {recorded['date']}, not measured here"
        plots.append(climb_plot(times, on_record, next(numbers), tasks))
    plots.append(evidence_plot(ladder["rungs"], next(numbers)))
    return {
        **ladder,
        "plots": [plot for plot in plots if plot],
        "overview": [_overview(rung, compared(times or [])) for rung in ladder["rungs"]],
        "timed": bool(measured),
        "on_record": bool(times),
        "recorded_n": common_size(n for _, n, _ in times or []),
    }


def compared(times: Sequence[tuple[str, int, float]]) -> dict[str, tuple[int, float]]:
    """Return the size and the seconds of each rung: at the size of most rungs, else its largest.

    Examples
    --------
    >>> compared([("a", 10, 1.0), ("a", 20, 2.0), ("a", 30, 3.0), ("b", 20, 4.0), ("c", 5, 5.0)])
    {'a': (20, 2.0), 'b': (20, 4.0), 'c': (5, 5.0)}
    """
    n = common_size(size for _, size, _ in times)
    inclined = sorted(times, key=lambda one: (one[0], one[1] == n, one[1]))
    return {name: (size, seconds) for name, size, seconds in inclined}


def _overview(rung: Mapping[str, Any], recorded: Mapping[str, tuple[int, float]]) -> dict[str, Any]:
    """Return a row of the table of a ladder."""
    row = rung["climbed"]
    failing = [claim for claim in row["predictions"] if not claim["ok"]]
    told = [*failing, *row["predictions"]][:1]
    n, seconds = recorded.get(rung["rung"], (None, None))
    percent = row["percent_of_limit"]
    return {
        "rung": rung["rung"],
        "title": rung["title"],
        "verified": row["verified"],
        "right": all(not verdict["fault"] for verdict in row["verified"]),
        "claim": told[0] if told else None,
        "n": row["n"],
        "kernel": "" if not row["kernel_seconds"] else three_digits(1e3 * row["kernel_seconds"]),
        "total": "" if not row["seconds"] else three_digits(1e3 * row["seconds"]),
        "limit": "" if percent is None else f"{percent:.3g} %",
        "recorded_n": n,
        "recorded": "" if seconds is None else three_digits(1e3 * seconds),
    }


def _legend(document: Mapping[str, Any]) -> tuple[Column, ...]:
    """Return every column that stands beside a line somewhere in the report."""
    found: dict[str, Column] = {}
    for ladder in document["ladders"]:
        for rung in (*ladder["rungs"], *ladder["wrong"]):
            if explained := rung["explained"]:
                listings = (*explained["kernels"], *explained["elsewhere"])
                found |= {column.heading: column for column in columns_of(listings)}
    return tuple(found.values())


# ---- words and numbers -----------------------------------------------------------------------


def _claimed(claim: Mapping[str, Any]) -> str:
    """Return what a prediction says of its counter."""
    times = f" x {claim['than']}'s" if claim["than"] else ""
    about = "about " if claim["tolerance"] else ""
    return f"{_FAMILIAR[claim['relation']]}{about}{claim['stated']}{times}"


def _counted(claim: Mapping[str, Any]) -> str:
    """Return what was counted, in the form of the prediction where it is as predicted."""
    measured = claim["measured"]
    if measured is None:
        return "not counted" if claim["counted"] is None else "no ratio"
    same = abs(measured - claim["value"]) <= 1e-9 * abs(claim["value"])
    told = claim["stated"] if same else shown(measured)
    return f"{told} x" if claim["than"] else told


def _cell(value: Any, kind: str) -> str:
    """Return a value of an exploration's table."""
    if value is None:
        return "--"
    if isinstance(value, str):
        return value
    if kind == "seconds":
        return with_prefix(value, "s")
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3g}"


def _breakable(name: str) -> list[str]:
    """Return the parts of a counter's name between which a line may be broken."""
    return re.findall(r"[^_]+_?", name)


def _sentence(text: str) -> str:
    """Return a text that begins and ends as a sentence does."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
