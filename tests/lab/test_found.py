"""What rungs say that hardware showed stands in the committed records."""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from warpladder.lab.registry import ladders

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
RUNGS = [(ladder, rung) for ladder in ladders() for rung in ladder.rungs]
TOLD = [case for case in RUNGS if case[1].found]
#: Kernels that lost, at the size that was timed, to what they were to beat.
REFUTED = {
    "consecutive-cells", "flag-barrier", "grid-sync", "pivot-in-register", "last-block-finish",
    "host-finish", "one-word-finish", "shared-flags", "flat-rows", "signatures",
    "tile-with-halo", "warp-shuffle", "pivot-in-run", "half-tiles", "translation-soa",
    "access-permuted", "divergence-by-warp", "independent-loads",
}  # fmt: skip


def named(case):
    return f"{case[0].name}/{case[1].name}"


@cache
def record(ladder, card):
    name = f"gpu_{ladder.replace('-', '_')}-{card.lower().replace(' ', '-')}.json"
    return json.loads((RESULTS / name).read_text())


def recorded(ladder, found):
    """Return the milliseconds of every rung in that part of the record, at that size."""
    document = record(ladder.name, found.card)
    measured = document.get("measured", {}).get(found.part, document["date"])
    assert (document["gpu"], measured[:10]) == (found.card, found.date)
    part = document[found.part]
    rows = part["rungs"] if isinstance(part, dict) else part
    return {
        row.get("by", row["case"]): row.get("kernel_ms", row.get("kernel_us", row.get("us")))
        * (1 if "kernel_ms" in row else 1e-3)
        for row in rows
        if row["n"] == found.n
    }


def three_digits(value):
    return float(f"{value:.3g}")


@pytest.mark.parametrize("case", TOLD, ids=named)
def test_figures_are_those_of_the_record(case):
    ladder, rung = case
    for found in rung.found:
        times = recorded(ladder, found)
        assert found.milliseconds[0][0] == rung.name
        assert {name: three_digits(times[name]) for name, _ in found.milliseconds} == dict(
            found.milliseconds
        )


@pytest.mark.parametrize("case", TOLD, ids=named)
def test_the_paragraph_has_these_figures_and_no_others(case):
    ladder, rung = case
    text = sys.modules[rung.run.__module__].__doc__
    (paragraph,) = re.findall(r"\n\nFound: (.*?)\n\nSource:", text, re.DOTALL)
    paragraph = " ".join(paragraph.split())
    told = {
        float(number.replace(",", "")) * {"ms": 1, "us": 1e-3}[unit]
        for number, unit in re.findall(r"([\d,.]*\d) (ms|us)\b", paragraph)
    }
    sources = record(ladder.name, rung.found[0].card).get("ladder")
    theirs = sources["carrega_ferreira_ms"].values() if isinstance(sources, dict) else ()
    figures = {ms for found in rung.found for _, ms in found.milliseconds}
    assert {round(value, 9) for value in told - set(theirs)} == {round(ms, 9) for ms in figures}
    for found in rung.found:
        assert found.card in paragraph
        assert found.date in paragraph
        assert str(found.n) in paragraph or f"2**{found.n.bit_length() - 1}" in paragraph
        others = [name for name, _ in found.milliseconds[1:]]
        assert all(f"`{name}`" in paragraph for name in others)


def test_stories_that_were_refuted_are_told():
    assert {rung.name for _, rung in TOLD} >= REFUTED


def ladder_records(ladder):
    """Return the rows of each card's record."""
    for path in RESULTS.glob(f"gpu_{ladder.name.replace('-', '_')}-*.json"):
        part = json.loads(path.read_text()).get("ladder", [])
        yield part["rungs"] if isinstance(part, dict) else part


@pytest.mark.parametrize("ladder", ladders(), ids=lambda ladder: ladder.name)
def test_no_rung_is_slower_than_the_one_below_without_a_word(ladder):
    """Every kernel of the same task that a record has slower than its neighbour says so."""
    silent = set()
    records = list(ladder_records(ladder))
    assert any(records)
    for rows in records:
        for n in {row["n"] for row in rows}:
            times = {
                row["case"]: row.get("kernel_ms", row.get("kernel_us"))
                for row in rows
                if row["n"] == n
            }
            order = [rung for rung in ladder.rungs if rung.name in times]
            for below, rung in pairwise(order):
                slower = times[rung.name] > 1.02 * times[below.name]
                if slower and rung.task == below.task and not rung.found:
                    silent.add(rung.name)
    # It is told to be a disaster, and is one.
    assert silent == ({"column-blocks"} if ladder.name == "shortest-paths" else set())
