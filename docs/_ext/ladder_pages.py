"""Pages of the course, made from the registry: one for each ladder, one for each rung.

A rung's page has its text, its kernels with what the simulator counted beside each line, its
predictions with the counted values, and the way to the rung below and the rung above. Nothing on it
is written by hand, so it cannot say something else than the code does.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from html import escape
from itertools import pairwise
from pathlib import Path

import warpladder
from listing import listing_as_html
from prose import escaped, paragraph_as_markdown
from warpladder.lab.documents import counters_document
from warpladder.lab.explain import Explanation, Listing, explain
from warpladder.lab.gutter import Column, choose_columns
from warpladder.lab.pictures.fitting import fitting_picture
from warpladder.lab.questions import ANSWERS
from warpladder.lab.recorded import recording_of, timed_of
from warpladder.lab.registry import LADDERS, find_ladder
from warpladder.lab.sources import sources_in
from warpladder.lab.text import file_of, how_launched, question_of
from warpladder.lab.verify import PredictionResult
from warpladder.rung import Ladder, Rung, shown
from warpladder.simulator import SimulatedDevice
from warpladder.simulator.checks.counters import Counters

__all__ = ["course_page", "explained", "ladder_page", "ladder_pages", "rung_page", "what_fails"]

#: Every column that is not empty has room on a page; in a terminal most have not.
_ALL_COLUMNS = 12
_ON_A_PHONE = 3

#: Listings are wide: these pages go without a list of their few headings at the right.
_WIDE = "---\nhtml_theme.sidebar_secondary.remove: true\n---\n"

_BROKEN = (
    "These are broken on purpose. The simulator's checks name the line of a kernel; where only "
    "host code is wrong, the comparison with the oracle finds it."
)

_PACKAGE = Path(warpladder.__file__).resolve().parent


def ladder_pages(name: str, part: int = 0, parts: int = 1) -> dict[str, str]:
    """Return the pages of a ladder as MyST Markdown, by their paths.

    Of several parts, each with as many neighbouring rungs, only one can be asked for: they are made
    by several processes.

    Raises
    ------
    ValueError
        What a page would teach does not hold: it says what.

    Examples
    --------
    >>> list(ladder_pages("primer", 0, 12))[:2]
    ['primer/index.md', 'primer/vector-add-cpu.md']
    """
    ladder = find_ladder(name)
    every = (*ladder.rungs, *(wrong.rung for wrong in ladder.wrong))
    begin, end = (len(every) * one // parts for one in (part, part + 1))
    pages = {} if part else {f"{name}/index.md": ladder_page(ladder)}
    for explanation in explained(ladder, every[begin:end]):
        if fault := what_fails(explanation):
            raise ValueError(f"{name}/{explanation.rung.name}: {fault}")
        pages[f"{name}/{explanation.rung.name}.md"] = rung_page(explanation)
    return pages


def what_fails(explanation: Explanation) -> str:
    """Return what a rung predicts and does not do, or how it is not caught; else nothing."""
    for result in explanation.predictions:
        if not result.ok:
            return f"{result.prediction} fails: {result.fault or result.shown}"
    wrong = explanation.wrong
    if wrong is not None and not wrong.ok:
        return f"not caught by {wrong.wrong.caught_by}, or not wrong: {wrong.visible}"
    return ""


def course_page(introduction: str, names: Iterable[str]) -> str:
    """Return the page on which the course begins: its text, and the ladders in their order."""
    ladders = [find_ladder(name) for name in names]
    rows = [
        (f"[{_as_title(one.name)}]({one.name}/index.md)", escaped(one.title), str(len(one.rungs)))
        for one in ladders
    ]
    pages = "\n".join(f"{one.name}/index" for one in ladders)
    return (
        f"{introduction}\n{_table(('ladder', 'what it is about', 'rungs'), rows, right=(2,))}\n\n"
        f"```{{toctree}}\n:hidden:\n\n{pages}\n```\n"
    )


def explained(ladder: Ladder, rungs: Iterable[Rung]) -> Iterator[Explanation]:
    """Explain rungs of a ladder; each is run once for its lines and for what it predicts."""
    # Checks make a run longer, and do not change what is counted; tests run all rungs with them.
    counting = partial(SimulatedDevice, checks=False)
    seen: dict[tuple[str, int], Counters] = {}
    for rung in rungs:
        if rung in ladder.rungs:
            yield explain(ladder, rung, counting, seen=seen)
        else:
            yield explain(ladder, rung, SimulatedDevice)


def ladder_page(ladder: Ladder) -> str:
    """Return the page that tells a ladder's story and lists its rungs."""
    story = inspect.cleandoc(sys.modules[_module_of(ladder)].__doc__ or "").split("\n\n")
    example, first = ladder.name, ladder.rungs[1]
    parts = [
        f"# {_as_title(ladder.name)}",
        *map(paragraph_as_markdown, story),
        _code("sh", f"warpladder climb {example}", f"warpladder explain {example}/{first.name}"),
        "## Rungs",
        _table(("", "rung", "what it does", "source"), [
            (str(number), _linked(rung), escaped(rung.title), escaped(rung.source))
            for number, rung in enumerate(ladder.rungs, 1)
        ]),
        *_recorded(ladder, ladder.rungs),
    ]  # fmt: skip
    if ladder.wrong:
        parts += [
            "## Wrong rungs",
            _BROKEN,
            _table(("rung", "what it does", "caught by"), [
                (_linked(wrong.rung), escaped(wrong.rung.title), wrong.caught_by)
                for wrong in ladder.wrong
            ]),
        ]  # fmt: skip
    every = (*ladder.rungs, *(wrong.rung for wrong in ladder.wrong))
    parts += ["\n".join(["```{toctree}\n:hidden:\n", *(rung.name for rung in every), "```"])]
    return _WIDE + "\n\n".join(parts) + "\n"


def rung_page(explanation: Explanation) -> str:
    """Return the page of one rung."""
    ladder, rung = explanation.ladder, explanation.rung
    as_markdown = partial(_with_links, ladder=ladder, itself=rung.name)
    text = [paragraph_as_markdown(part, as_markdown) for part in explanation.text]
    sources = [f"* {one.key}: {escaped(str(one))}" for one in sources_in(rung.source)]
    parts = [
        f"# {rung.name}",
        _place(explanation),
        *text,
        "\n".join(sources),
        *_facts(rung),
        *_picture(explanation),
        *_kernels(explanation),
    ]
    if explanation.wrong is not None:
        parts += _how_it_is_caught(explanation)
    if explanation.predictions:
        parts += ["## Predicted and counted", _predictions(explanation.predictions, ladder)]
    parts += [
        *_recorded(ladder, [rung]),
        *_question(ladder, rung),
        "## The whole file",
        _whole_file(ladder, rung),
        _neighbours(ladder, rung),
    ]
    return _WIDE + "\n\n".join(filter(None, parts)) + "\n"


def _recorded(ladder: Ladder, rungs: Iterable[Rung]) -> Iterator[str]:
    """Return what a GPU took for rungs, where that is on record: for a single one at every size."""
    recording = recording_of(ladder.name)
    if recording is None:
        return
    several = list(rungs)
    times = recording.of_each(several)
    if len(several) == 1:
        times = [(rung, time) for rung in several for time in recording.all_of(rung.name)]
    rows = [
        (_linked(rung), f"{time.n:,}", _three_digits(time.milliseconds)) for rung, time in times
    ]
    if rows:
        yield "## On a GPU"
        what = timed_of(several).capitalize()
        yield f"{what}, {recording.title} (`benchmarks/results/{recording.file}`)."
        yield _table(("rung", "n", "milliseconds"), rows, right=(1, 2))


def _three_digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.3g}"


def _question(ladder: Ladder, rung: Rung) -> Iterator[str]:
    """Return the question with which a rung ends, and its answer, folded."""
    if not (asked := question_of(rung)):
        return
    as_markdown = partial(_with_links, ladder=ladder, itself=rung.name)
    yield "## Question"
    yield as_markdown(asked)
    known = ANSWERS[ladder.name].get(rung.name)
    if known is not None:
        yield f"::::{{dropdown}} Answer\n{as_markdown(' '.join(known.text.split()))}\n::::"


def _whole_file(ladder: Ladder, rung: Rung) -> str:
    file = Path(file_of(rung)).resolve()
    inside = file.relative_to(_PACKAGE.parent)
    shown = _code(f"{{literalinclude}} ../../../src/{inside}", ":language: python")
    return (
        f"`{inside}`; "
        f"`warpladder explain {ladder.name}/{rung.name}` "
        f"prints what this page shows, for any size.\n\n"
        f"::::{{dropdown}} Source\n{shown}\n::::"
    )


# ---- what stands above the kernels ----------------------------------------------------------


def _place(explanation: Explanation) -> str:
    ladder, rung = explanation.ladder, explanation.rung
    if explanation.wrong is not None:
        return f"*A wrong rung of the ladder [{_as_title(ladder.name)}](index.md): {rung.title}*"
    number = ladder.rungs.index(rung) + 1
    return (
        f"*Rung {number} of {len(ladder.rungs)} of the ladder "
        f"[{_as_title(ladder.name)}](index.md): {escaped(rung.title)}*"
    )


def _facts(rung: Rung) -> Iterator[str]:
    bound = rung.bound
    yield f"**Limit:** on a perfect GPU it is bound by {bound.by}: {escaped(bound.formula)}."
    if rung.limits:
        yield f"**Not taken:** {escaped(rung.limits)}"


# ---- kernels --------------------------------------------------------------------------------


def _kernels(explanation: Explanation) -> Iterator[str]:
    listings = (*explanation.kernels, *explanation.elsewhere)
    counted = [line.counters for one in listings for line in one.lines if line.counters]
    columns = choose_columns(counted, _ALL_COLUMNS)
    narrow = choose_columns(counted, _ON_A_PHONE)
    yield "## Line by line" if columns else "## Source"
    if columns:
        yield f"Counted on the simulator at n = {explanation.n:,}."
    if explanation.stopped:
        yield f"Counted up to the fault: {escaped(explanation.stopped)}"
    for listing in listings:
        yield f"### `{listing.name}`"
        yield _launched(listing)
        caption = f"{listing.name}, line by line"
        table = listing_as_html(listing, columns, explanation, caption, narrow=narrow)
        yield _code("{raw} html", table)
        if listing.launches:
            yield _totals(listing)
    if columns:
        yield _legend(columns)


def _picture(explanation: Explanation) -> Iterator[str]:
    """Return what fits the rung best of what the simulator recorded of it, drawn."""
    drawn = fitting_picture(explanation.ladder, explanation.rung)
    if drawn is None:
        return
    path = f"{explanation.ladder.name}/{explanation.rung.name}"
    what = escape(f"{explanation.rung.name}, drawn: {drawn['shows']}.")
    image = f'<img src="data:image/png;base64,{drawn["png"]}" alt="{what}" loading="lazy">'
    yield "## Drawn"
    yield _code("{raw} html", f'<figure class="drawn">{image}</figure>')
    yield f"{drawn['shows'][:1].upper()}{drawn['shows'][1:]}: `warpladder picture {path}`."


def _launched(listing: Listing) -> str:
    if not listing.launches:
        return ""
    first = listing.launches[0]
    return f"{how_launched(len(listing.launches), first.grid, first.block, first.shared_bytes)}."


def _totals(listing: Listing) -> str:
    rows = [
        (_counter(name), shown(value))
        for name, value in counters_document(listing.counters).items()
        if value
    ]
    table = _table(("counter", "in all launches"), rows, right=(1,))
    return f"::::{{dropdown}} All counters of `{listing.name}`\n{table}\n::::"


def _legend(columns: list[Column]) -> str:
    terms = "".join(
        f"<dt>{column.heading}</dt><dd>{escape(column.meaning)}</dd>" for column in columns
    )
    return _code("{raw} html", f'<dl class="legend">{terms}</dl>')


# ---- what is claimed ------------------------------------------------------------------------


def _predictions(results: tuple[PredictionResult, ...], ladder: Ladder) -> str:
    rows = []
    for result in results:
        claim = result.prediction
        times = f" x {_linked_name(claim.than, ladder)}'s" if claim.than else ""
        claimed = f"{_counter(claim.counter)} {escaped(claim.relation)} {shown(claim.value)}{times}"
        rows.append((claimed, f"{claim.n:,}", result.shown, escaped(claim.why)))
    return _table(("predicted", "n", "counted", "why"), rows, right=(1,))


def _how_it_is_caught(explanation: Explanation) -> Iterator[str]:
    wrong = explanation.wrong
    assert wrong is not None  # noqa: S101  # the caller has asked
    yield "## How it is caught"
    by = wrong.wrong.caught_by
    yield (
        "No check of kernels finds it; the comparison with the oracle does:"
        if by == "verification"
        else f"With the checks on, **{by}** stops it:"
    )
    yield _code("text", wrong.fault or "no check stopped it")
    for schedule, is_wrong in wrong.visible.items():
        outcome = "wrong" if is_wrong else "right"
        yield f"* With the checks off, its result under the schedule `{schedule}` is {outcome}."


def _counter(name: str) -> str:
    return f"{{py:attr}}`~warpladder.simulator.Counters.{name}`"


# ---- links and names ------------------------------------------------------------------------


def _neighbours(ladder: Ladder, rung: Rung) -> str:
    """Return links to the rung below and the rung above; nothing for a wrong rung."""
    below = next((one for one, two in pairwise(ladder.rungs) if two is rung), None)
    above = next((two for one, two in pairwise(ladder.rungs) if one is rung), None)
    ways = [
        f"{word}: [`{one.name}`]({one.name}.md)"
        for word, one in (("Below", below), ("Above", above))
        if one is not None
    ]
    return " · ".join(ways)


def _with_links(text: str, ladder: Ladder, itself: str) -> str:
    """Return running text as Markdown, with rungs of the ladder that it names as links."""

    def link(found: re.Match[str]) -> str:
        name = found[1]
        return found[0] if name == itself or ladder.find(name) is None else _link(name)

    return re.sub(r"`([\w-]+)`", link, escaped(text))


def _link(name: str) -> str:
    return f"[`{name}`]({name}.md)"


def _linked(rung: Rung) -> str:
    return _link(rung.name)


def _linked_name(path: str, ladder: Ladder) -> str:
    return _link(path) if ladder.find(path) else f"`{path}`"


def _as_title(name: str) -> str:
    return name.replace("-", " ").capitalize()


def _module_of(ladder: Ladder) -> str:
    return LADDERS[ladder.name].partition(":")[0]


def _code(language: str, *lines: str) -> str:
    return "\n".join([f"```{language}", *lines, "```"])


def _table(
    heads: tuple[str, ...], rows: Sequence[tuple[str, ...]], right: tuple[int, ...] = ()
) -> str:
    rule = ["--:" if place in right else "---" for place in range(len(heads))]
    lines = [heads, rule, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
