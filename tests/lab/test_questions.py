"""Every rung ends with a question of its own, and the laboratory knows its answer."""

from __future__ import annotations

import json
import re

import pytest
import toy

from calling import call
from warpladder.lab.questions import ANSWERS, answer
from warpladder.lab.registry import find_rung, ladders
from warpladder.lab.text import file_of, paragraphs_of, question_of, text_of

EVERY = [
    (ladder, rung)
    for ladder in ladders()
    for rung in (*ladder.rungs, *(wrong.rung for wrong in ladder.wrong))
]
#: Rungs whose kernels take seconds to translate, or to run at the size that is asked for.
SLOW = {"one-launch", "row-blocks", "pivot-in-run"}
CLAIMS = [
    pytest.param(case, marks=[pytest.mark.large] if case[1].name in SLOW else [])
    for case in EVERY
    if (known := ANSWERS[case[0].name].get(case[1].name)) and known.counted
]


def named(case):
    return f"{case[0].name}/{case[1].name}"


each_rung = pytest.mark.parametrize("case", EVERY, ids=named)


@each_rung
def test_one_question_ends_the_text(case):
    _, rung = case
    paragraphs = text_of(rung).split("\n\n")
    asking = [part for part in paragraphs if part.startswith("Question: ")]
    assert asking == paragraphs[-1:]
    question = question_of(rung)
    assert "?" in question
    # In one to three sentences: an end is followed by a capital, a command or nothing.
    assert 1 <= len(re.findall(r"[.?](?= [A-Z`]|$)", question)) <= 3
    assert question not in " ".join(paragraphs_of(rung))


def test_the_text_is_that_of_the_rung_s_own_file_whosever_host_function_it_takes():
    ladder, rung = find_rung("reduction/tuned-float32")
    assert rung.run is ladder.find("tuned").run
    assert file_of(rung).endswith("tuned_float32.py")
    assert text_of(rung).startswith("The top rung for float32")


def test_no_question_and_no_answer_repeats():
    questions = [question_of(rung) for _, rung in EVERY]
    assert len(set(questions)) == len(questions)
    answers = [" ".join(one.text.split()) for known in ANSWERS.values() for one in known.values()]
    assert len(set(answers)) == len(answers)


@pytest.mark.parametrize("ladder", ladders(), ids=lambda ladder: ladder.name)
def test_answers_are_those_of_the_rungs_in_their_order(ladder):
    wrong = [broken.rung for broken in ladder.wrong]
    assert set(ANSWERS[ladder.name]) == {rung.name for rung in (*ladder.rungs, *wrong)}
    assert all(len(one.text.split()) > 10 for one in ANSWERS[ladder.name].values())


@each_rung
def test_rungs_that_are_named_exist(case):
    ladder, rung = case
    told = f"{question_of(rung)} {' '.join(ANSWERS[ladder.name][rung.name].text.split())}"
    for command, rest in re.findall(r"`warpladder (\w+) ([^`]+)`", told):
        assert command in {"explain", "explore"}
        if command == "explain":
            path, *options = rest.split()
            assert not options or options[0] == "--n"
            find_rung(path)
    for path in re.findall(r"`([a-z-]+/[a-z0-9-]+)`", told):
        find_rung(path)
    for name in re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`", told):
        assert ladder.find(name), name


@pytest.mark.parametrize("case", CLAIMS, ids=named)
def test_what_answers_say_of_counters_is_counted(case, simulators):
    ladder, rung = case
    answered = answer(ladder, rung, simulators)
    assert len(answered.counted) == len(ANSWERS[ladder.name][rung.name].counted)
    failing = [(result.prediction, result.counted) for result in answered.counted if not result.ok]
    assert not failing


@pytest.fixture
def simulators():
    from warpladder.simulator import SimulatedDevice

    return SimulatedDevice


# --- explain --------------------------------------------------------------------------------------


def test_a_rung_of_somebody_else_s_ladder_has_no_answer(simulators):
    assert answer(toy.LADDER, toy.NEIGHBOURS, simulators) is None
    assert question_of(toy.NEIGHBOURS) == ""


def test_explain_asks_at_the_end_and_answers_on_demand():
    asked = call("explain", "primer/vector-add-cpu", "--no-lines").stdout.split("\n\n")
    assert asked[-1].startswith("Question: How many additions a second")
    assert asked[-1].rstrip().endswith("With --answer, the answer follows.")
    told = call("explain", "primer/atomic-count", "--no-lines", "--answer").stdout
    assert max(map(len, told.splitlines())) <= 80
    question, answered, *counted = told[told.index("Question: ") :].split("\n\n")
    assert question.rstrip().endswith("--n 200`.")
    assert answered.startswith("Answer: 7 requests and 67 passes.")
    assert [one.split()[0] for one in counted] == ["holds", "holds"]
    assert "atomic_passes == 67 at n = 200, counted 67" in counted[1]


def test_explain_as_json_has_the_question_and_on_demand_the_answer():
    plain = json.loads(call("explain", "primer/vector-add-cpu", "--json").stdout)
    assert plain["question"].startswith("How many additions a second")
    assert plain["answer"] is None
    assert not any(part.startswith("Question") for part in plain["text"])
    full = json.loads(call("explain", "primer/atomic-count", "--json", "--answer").stdout)
    assert full["answer"]["text"].startswith("7 requests and 67 passes.")
    assert [one["ok"] for one in full["answer"]["counted"]] == [True, True]
