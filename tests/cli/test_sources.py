"""`warpladder sources`: as text, as JSON, and for a key that there is not."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from warpladder.cli.app import app
from warpladder.errors import InputError
from warpladder.lab.coverage import ITEMS
from warpladder.lab.sources import SOURCES


def invoke(*arguments):
    return CliRunner().invoke(app, ["sources", *arguments], env={"COLUMNS": "80"})


@pytest.mark.parametrize("key", ["HB", "hb"])
def test_one_source_from_its_review_to_its_answers(key):
    result = invoke(key)
    assert result.exit_code == 0, result.exception
    lines = result.stdout.splitlines()
    assert lines[0].startswith("HB: Robert Hochberg")
    assert max(map(len, lines)) <= 80
    place = next(n for n, line in enumerate(lines) if line.startswith("exploration 8:"))
    assert [line.strip() for line in lines[place + 1 : place + 3]] == [
        "shortest-paths/next-hops",
        "explore next-hops",
    ]
    assert "Pedro" not in result.stdout


def test_what_is_not_run_has_its_reason():
    assert "not run: Numba's CUDA target has no textures" in invoke("GR").stdout


def test_all_of_them_as_json():
    found = json.loads(invoke("--json").stdout)
    assert list(found["sources"]) == list(SOURCES)
    assert [row["places"] for row in found["items"]] == [list(item.places) for item in ITEMS]
    assert all(row["runs"] or row["not_done"] for row in found["items"])


def test_a_source_that_there_is_not():
    result = invoke("XY")
    assert isinstance(result.exception, InputError)
    assert "no source 'XY'; they are CF, GR, HB, IM, RD" in str(result.exception)
