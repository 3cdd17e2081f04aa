"""What a learner reads: the text of every rung of every ladder."""

from __future__ import annotations

import re

import pytest

from warpladder.lab.registry import ladders
from warpladder.lab.text import text_of

RUNGS = [(ladder, rung) for ladder in ladders() for rung in ladder.rungs]
WRONG = [(ladder, wrong.rung) for ladder in ladders() for wrong in ladder.wrong]


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
    assert f"\n\nSource: {rung.source}\n\nQuestion: " in text[places[-1] :]


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
    assert f"\n\nSource: {rung.source}\n\nQuestion: " in text[places[-1] :]
