"""The five sources are named in one place, from which all others take them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from warpladder.lab.registry import ladders
from warpladder.lab.sources import SOURCES, sources_in

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_every_key_that_a_rung_names_has_its_source():
    fields = [
        rung.source
        for ladder in ladders()
        for rung in (*ladder.rungs, *(wrong.rung for wrong in ladder.wrong))
    ]
    for field in fields:
        assert field == "beyond" or sources_in(field)
        for part in field.split("; "):
            assert part == "beyond" or part[:2] in SOURCES
    used = {source.key for field in fields for source in sources_in(field)}
    assert used == set(SOURCES)


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_the_readme_lists_them_as_they_are(source):
    assert f"* **{source.key}**: {source}." in " ".join(README.split())


def test_the_readme_lists_no_others():
    assert re.findall(r"^\* \*\*([A-Z]{2})\*\*:", README, re.MULTILINE) == list(SOURCES)
