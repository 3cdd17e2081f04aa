"""The map of the sources: nothing is left out silently, and all that it names exists."""

from __future__ import annotations

import importlib
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from typer.main import get_command

from warpladder.cli.app import app
from warpladder.errors import InputError
from warpladder.lab.coverage import ITEMS, Item, holding, places_named
from warpladder.lab.explore.registry import EXPLORATIONS
from warpladder.lab.registry import find_rung, ladders
from warpladder.lab.sources import SOURCES

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "sources.md"
PLACES = [place for item in ITEMS for place in item.places]

#: What the texts have, counted in them: of each kind as many, with these numbers.
NUMBERED = {
    "CF listing": [str(n) for n in range(1, 8)],
    "CF figure": ["1", "2", "3"],
    "HB figure": ["1.1", "1.2", "1.3", "1.4", "1.5", "2.1", "2.2", "2.3", "2.4"],
    "HB equation": ["1.1", "1.2"],
    "HB spot check": ["1", "2", "3", "4"],
    "HB exploration": [str(n) for n in range(1, 10)],
    "RD": [str(n) for n in range(1, 14)] + ["2^10", "2^20", "2^30"],
    "IM case": ["1", "2"],
    "GR FD_kernel": ["1", "2"],
}


@pytest.mark.parametrize("kind", NUMBERED)
def test_everything_that_has_a_number_is_there(kind):
    of_kind = [re.fullmatch(rf"{re.escape(kind)} ?(\d[\d.^]*)", place) for place in PLACES]
    assert sorted(one[1] for one in of_kind if one) == sorted(NUMBERED[kind])


@pytest.mark.parametrize(
    "place",
    [
        *(f"CF {letter}" for letter in "ABCDE"),
        *("CF table I", "CF table II", "RD sequential", "HB graph1", "HB graph2", "HB fwStepK"),
        *("GR texture memory", "GR constant memory", "GR compute capability", "HB 2.2.3"),
        *("IM experiments' table", "GR reduction", "GR Floyd-Warshall", "GR linear advection"),
    ],
)
def test_what_has_a_name_is_there(place):
    assert place in PLACES


def test_each_place_stands_once_and_has_the_key_of_its_source():
    assert [place for place, count in Counter(PLACES).items() if count > 1] == []
    assert {place[:3] for place in PLACES} == {f"{key} " for key in SOURCES}
    assert all({place[:2] for place in item.places} == {item.key} for item in ITEMS)


def test_every_place_that_a_rung_or_an_exploration_names_is_in_the_map():
    unknown = {f"{what}: {place}" for place, what in places_named() if place not in PLACES}
    assert not unknown, "give each an Item, or a place in one, in lab/coverage"


def test_every_rung_that_has_a_source_is_in_the_map():
    known = {what for every in holding().values() for what in every}
    for ladder in ladders():
        for rung in (*ladder.rungs, *(wrong.rung for wrong in ladder.wrong)):
            assert rung.source == "beyond" or f"{ladder.name}/{rung.name}" in known
    assert {f"explore {name}" for name in EXPLORATIONS} <= known


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.places[0])
def test_what_is_named_exists_or_it_is_said_why_there_is_nothing(item):
    what = holding()[item]
    assert what or item.not_done
    assert not item.not_done or item.not_done.endswith(".")
    assert all(map(_exists, what)), what


def _exists(what: str) -> bool:
    if what.startswith("explore "):
        return what.removeprefix("explore ") in EXPLORATIONS
    if what.startswith("warpladder "):
        return _is_command(what.split()[1:])
    if what.startswith(("tests/", "src/", "benchmarks/", "docs/")):
        path, _, test = what.partition("::")
        file = ROOT / path
        return file.is_file() and (not test or f"def {test}(" in file.read_text("utf-8"))
    try:
        find_rung(what)
    except InputError:
        return False
    return True


def _is_command(words: list[str]) -> bool:
    command = get_command(app)
    for word in words:
        if word.startswith("-"):
            return any(word in parameter.opts for parameter in command.params)
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            return False
    return True


@pytest.mark.parametrize(
    "what",
    [
        *("primer/nothing", "explore nothing", "warpladder nothing", "warpladder make-graph x"),
        "warpladder paths --nothing",
        *("tests/nothing.py", "tests/lab/test_coverage.py::test_nothing"),
    ],
)
def test_what_does_not_exist_is_seen(what):
    assert not _exists(what)


def test_rungs_are_found_by_their_places():
    known = {item.places[0]: what for item, what in holding((Item(("RD 4",), "x"),)).items()}
    assert "reduction/indexed-shared" in known["RD 4"]


def test_ladders_of_other_packages_are_no_part_of_it(tmp_path, monkeypatch):
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[warpladder.ladders]\ngone = nowhere:LADDER\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InputError, match="nowhere"):
        ladders()
    assert list(places_named())


@pytest.fixture
def publisher(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    yield importlib.import_module("publish_sources")
    sys.modules.pop("publish_sources")


def test_the_page_is_made_of_the_map_and_of_committed_results(publisher):
    assert PAGE.read_text("utf-8") == publisher.page(), "run benchmarks/publish_sources.py"


def test_the_page_has_a_row_for_each_item(publisher):
    rows = [line for part in publisher._map() for line in part.splitlines() if line[:2] == "| "]
    assert len(rows) == len(ITEMS) + 2 * len(SOURCES)


def test_figures_that_no_record_has_are_said_to_be_missing(publisher, monkeypatch):
    real = publisher._record
    monkeypatch.setattr(publisher, "_record", lambda name: {**real(name), "ladder": []})
    rows = [line for line in "".join(publisher._joins()).splitlines() if "`unrolled`" in line]
    assert len(rows) == 2
    assert all("not yet measured" in row for row in rows)
