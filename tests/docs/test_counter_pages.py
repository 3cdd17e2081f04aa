"""Every counter is defined in the simulator's manual."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

import counter_pages
from warpladder.lab.documents import counters_document
from warpladder.simulator.checks.counters import NSIGHT_COMPUTE, Counters


def test_none_lacks_and_each_is_defined_once():
    page = counter_pages.counters_page()
    assert re.findall(r"Counters\.(\w+)$", page, re.MULTILINE) == list(
        counters_document(Counters())
    )


def test_every_definition_says_something():
    for names, meaning in counter_pages.sums_and_meanings():
        assert meaning.endswith((".", ")")), names
        assert len(meaning.split()) >= 2, names


def test_nsight_computes_names_are_told():
    page = counter_pages.counters_page()
    for metric in {part for metrics in NSIGHT_COMPUTE.values() for part in metrics.split(" + ")}:
        assert f"``{metric}``" in page


def test_every_column_is_explained():
    page = counter_pages.counters_page()
    columns = re.findall(r"^\| (\w{3,4}) \| ", page, re.MULTILINE)
    assert {"req", "load", "bank", "thr", "unif", "sync"} < set(columns)
    assert len(columns) == len(set(columns)) == 12


def test_a_sum_without_a_definition_is_noticed(monkeypatch):
    known = counter_pages.sums_and_meanings()
    monkeypatch.setattr(counter_pages, "sums_and_meanings", lambda: known[1:])
    with pytest.raises(ValueError, match="does not list its sums"):
        counter_pages.counters_page()
    assert len(fields(Counters)) == sum(len(names) for names, _ in known)
