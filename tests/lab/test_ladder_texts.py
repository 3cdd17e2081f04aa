"""What a learner reads: the text of every rung of every ladder."""

from __future__ import annotations

import re
import sys

import pytest

from warpladder.lab.registry import ladders

RUNGS = [(ladder, rung) for ladder in ladders() for rung in ladder.rungs]
WRONG = [(ladder, wrong.rung) for ladder in ladders() for wrong in ladder.wrong]


def text_of(rung):
    return sys.modules[rung.run.__module__].__doc__


def ending_of(text):
    """Return how a text ends but for the question that it may put to the learner."""
    return text.rstrip().partition("\n\nQuestion: ")[0]


def named(case):
    return f"{case[0].name}/{case[1].name}"


@pytest.mark.parametrize("case", RUNGS, ids=named)
def test_a_docstring_tells_the_idea_the_step_and_what_to_expect(case):
    _, rung = case
    text = text_of(rung)
    assert len(text.split()) > 60
    told = ("Found",) if rung.found else ()
    places = [
        text.index(f"\n\n{heading}: ") for heading in ("Idea", "Below", "Expect", *told, "Source")
    ]
    assert places == sorted(places)
    assert ending_of(text).endswith(f"\n\nSource: {rung.source}")


@pytest.mark.parametrize("case", WRONG, ids=named)
def test_a_wrong_docstring_tells_the_fault_and_the_rung_that_mends_it(case):
    ladder, rung = case
    text = text_of(rung)
    places = [
        text.index(f"\n\n{heading}: ") for heading in ("Idea", "Fault", "Mended by", "Source")
    ]
    assert places == sorted(places)
    mended_by = re.findall(r"`([^`]+)`", text[places[2] : places[3]])
    assert mended_by
    assert {ladder.find(name) for name in mended_by} <= set(ladder.rungs)
    assert ending_of(text).endswith(f"\n\nSource: {rung.source}")
