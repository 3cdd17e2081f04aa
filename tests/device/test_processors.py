"""Threads that leave a processor, where the system lets them choose."""

from __future__ import annotations

import os

import pytest

from warpladder.device import processors
from warpladder.device.processors import keep_off, leave, place_of_question, processor


@pytest.fixture
def chosen(monkeypatch):
    """What a thread on processor 1 of 0 to 2 asks of the system, and for which thread."""
    made: list[tuple[int, set[int]]] = []

    def choose(thread, to):
        made.append((thread, set(to)))

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    monkeypatch.setattr(os, "sched_setaffinity", choose, raising=False)
    return made


def test_it_goes_elsewhere_and_may_come_back(chosen):
    leave(1)
    assert chosen == [(0, {0, 2}), (0, {0, 1, 2})]


def test_another_thread_is_kept_off_a_processor(chosen, monkeypatch):
    keep_off(77, 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1})
    keep_off(77, 1)
    assert chosen == [(77, {0, 2}), (77, {1})]


def test_there_is_nowhere_to_go(chosen, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1})
    leave(1)
    assert not chosen


def test_where_it_is_forbidden_it_stays(monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr(os, "sched_setaffinity", refuse, raising=False)
    leave(1)
    keep_off(77, 1)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="a thread cannot choose")
def test_this_thread_leaves_its_processor_and_keeps_its_choice():
    allowed, place = os.sched_getaffinity(0), processor()
    assert place in allowed
    assert place_of_question()
    leave(place)
    assert os.sched_getaffinity(0) == allowed


def test_where_the_system_does_not_say(monkeypatch):
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    processors._question.cache_clear()
    try:
        assert processor() == -1
        assert place_of_question() == 0
    finally:
        monkeypatch.undo()
        processors._question.cache_clear()
