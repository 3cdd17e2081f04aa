"""Ladders and rungs are found by name, and a name that is none is answered with those there are."""

from __future__ import annotations

import pytest
import toy

from warpladder.errors import InputError
from warpladder.lab import registry


@pytest.fixture(autouse=True)
def toys(monkeypatch):
    monkeypatch.setattr(registry, "LADDERS", {"toy": "toy:LADDER", "broken": "toy:BROKEN"})


def test_every_ladder_in_order():
    assert registry.ladders() == [toy.LADDER, toy.BROKEN]


def test_rungs_right_and_wrong_are_found():
    assert registry.find_rung("toy/strided") == (toy.LADDER, toy.STRIDED)
    assert registry.find_rung("toy/race") == (toy.LADDER, toy.RACE.rung)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("toys/strided", "no ladder 'toys'; did you mean toy? `warpladder ladders` lists"),
        ("xyz/strided", "no ladder 'xyz'; `warpladder ladders` lists what there is"),
        ("toy/stride", "no rung 'stride'; did you mean strided? `warpladder ladders toy` lists"),
        ("toy/", "no rung ''; `warpladder ladders toy` lists what there is"),
        ("toy/strided/x", "no rung 'strided/x'"),
        ("strided", "'strided' must be LADDER/RUNG"),
        ("", "'' must be LADDER/RUNG"),
    ],
)
def test_what_is_not_there(path, said):
    with pytest.raises(InputError) as fault:
        registry.find_rung(path)
    assert said in str(fault.value)
