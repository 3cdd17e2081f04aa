"""Two rungs beside each other: one problem, the lines and the counters in which they differ."""

from __future__ import annotations

import dataclasses
import json

import pytest
import toy
from fakes import FakeKernel, FakeSimulator

from warpladder.errors import InputError
from warpladder.lab.differences import Change, changes, compare
from warpladder.lab.documents import difference_document
from warpladder.lab.registry import find_rung
from warpladder.rung import Ladder
from warpladder.simulator import SimulatedDevice
from warpladder.simulator.checks.counters import Counters

STRIDED, NEIGHBOURS = (toy.LADDER, toy.STRIDED), (toy.LADDER, toy.NEIGHBOURS)


def by_counter(found):
    return {change.counter: change for change in found}


def test_counters_that_differ_with_both_values_and_the_ratio():
    found = compare(NEIGHBOURS, STRIDED, FakeSimulator)
    changed = by_counter(found.changes)
    assert changed["global_load_sectors"] == Change("global_load_sectors", 320, 40)
    assert changed["global_load_sectors"].ratio == 1 / 8
    assert changed["global_load_sectors_per_request"].before == 32
    # Ten requests each.
    assert not {"global_load_requests", "warp_instructions", "launches"} & set(changed)
    (pair,) = found.kernels
    assert pair.changes == found.changes


def test_nothing_divided_by_nothing_has_no_ratio():
    (change,) = changes(Counters(), Counters(shuffles=3))
    assert (change.before, change.after, change.ratio) == (0, 3, None)
    assert Change("shuffles", 3, 0).ratio == 0
    assert changes(Counters(shuffles=3), Counters(shuffles=3)) == []


def test_the_size_is_that_of_the_claim_about_both():
    claims = (toy.claim(4), dataclasses.replace(toy.claim(1 / 8, than="strided"), n=70))
    rung = dataclasses.replace(toy.NEIGHBOURS, predicts=claims)
    found = compare((toy.LADDER, rung), STRIDED, FakeSimulator)
    assert found.n == 70
    (claim,) = found.claims
    assert (claim.counted, claim.base, claim.ok) == (4, 32, True)
    # Nothing is claimed the other way round: the size of its own first claim.
    other_way = compare(STRIDED, (toy.LADDER, rung), FakeSimulator)
    assert (other_way.n, other_way.claims) == (33, ())


def test_a_claim_about_a_rung_of_another_ladder_is_found_by_its_whole_name():
    claims = (toy.claim(4), dataclasses.replace(toy.claim(1 / 8, than="toy/strided"), n=70))
    rung = dataclasses.replace(toy.NEIGHBOURS, predicts=claims)
    found = compare((Ladder("mine", "Mine", (rung,)), rung), STRIDED, FakeSimulator)
    assert found.n == 70
    assert [claim.base for claim in found.claims] == [32]
    # One that only has the same name is another rung.
    claims = (toy.claim(4), dataclasses.replace(toy.claim(1 / 8, than="strided"), n=70))
    rung = dataclasses.replace(toy.NEIGHBOURS, predicts=claims)
    found = compare((Ladder("mine", "Mine", (rung,)), rung), STRIDED, FakeSimulator)
    assert (found.n, found.claims) == (33, ())


def test_a_size_that_only_one_of_them_takes():
    assert compare(STRIDED, NEIGHBOURS, FakeSimulator, n=2000).n == 2000
    with pytest.raises(InputError, match="n=2001: neighbours takes up to 2000: one block"):
        compare(STRIDED, NEIGHBOURS, FakeSimulator, n=2001)
    small = dataclasses.replace(toy.NEIGHBOURS, max_n=5)
    assert compare(STRIDED, (toy.LADDER, small), FakeSimulator).n == 5


def made(*names):
    """Return a rung with kernels of these names; each of them loads ten times."""
    kernels = []
    for name in names:

        def kernel(y, x):
            y[...] = x + x

        kernel.__code__ = kernel.__code__.replace(co_name=name)
        kernel.__name__ = name
        kernels.append(FakeKernel(kernel, {1: toy.loads(10, 40)}))

    def run(device, problem):
        return [toy.running(kernel)(device, problem) for kernel in kernels][-1]

    return Ladder("l", "L", (rung := toy.rung("made", run, kernels=tuple(kernels)),)), rung


@pytest.mark.parametrize(
    ("before", "after", "pairs"),
    [
        (("a",), ("b",), [("a", "b")]),
        (("a", "b"), ("b", "a"), [("b", "b"), ("a", "a")]),
        (("a", "b"), ("c", "b"), [("a", "c"), ("b", "b")]),
        (("a", "b"), ("b", "c", "d"), [("a", None), ("b", "b"), (None, "c"), (None, "d")]),
        (("a", "b", "c"), ("d",), [("a", None), ("b", None), ("c", None), (None, "d")]),
    ],
)
def test_kernels_that_correspond(before, after, pairs):
    found = compare(made(*after), made(*before), FakeSimulator)
    names = [(p.before and p.before.name, p.after and p.after.name) for p in found.kernels]
    assert names == pairs
    for pair in found.kernels:
        # All of these kernels do the same.
        assert pair.changes == []
    ratio = by_counter(found.changes).get("global_load_requests")
    assert (ratio.ratio if ratio else 1) == len(after) / len(before)


def test_lines_that_only_one_has():
    found = compare(
        find_rung("primer/access-misaligned"), find_rung("primer/access-aligned"), SimulatedDevice
    )
    sides = (found.before, found.after)
    told = [
        {line.text.strip() for one in side.listings for line in one.lines
         if (one.file, line.number) in places}
        for side, places in zip(sides, found.unlike_lines, strict=True)
    ]  # fmt: skip
    assert "out[i] = source[i]" in told[0]
    assert "out[i] = source[i + 1]" in told[1]
    assert not {"i = cuda.grid(1)", "if i < n:", "@cuda.jit"} & (told[0] | told[1])
    # Worked out by hand: 8 warps, 5 sectors instead of 4.
    changed = by_counter(found.changes)
    assert (changed["global_load_sectors"].before, changed["global_load_sectors"].after) == (32, 40)


def test_kernels_that_a_function_makes_are_counted_too():
    found = compare(
        find_rung("reduction/tuned"), find_rung("reduction/last-block-finish"), SimulatedDevice
    )
    assert [listing.launches != () for listing in found.after.counted.kernels] == [True]
    changed = by_counter(found.changes)
    assert (changed["barriers"].before, changed["barriers"].after) == (136, 72)
    assert {change.counter for change in found.kernels[0].changes} == set(changed)
    assert all(claim.ok for claim in found.claims)


def test_launches_of_kernels_that_the_rung_does_not_list_are_in_the_sums():
    def other(y, x):
        y[...] = x + x

    hidden = FakeKernel(other, {1: toy.loads(7, 7)})

    def run(device, problem):
        toy.running(hidden)(device, problem)
        return toy.running(toy.NEAR)(device, problem)

    rung = toy.rung("both", run, kernels=(toy.NEAR,))
    found = compare((toy.LADDER, rung), STRIDED, FakeSimulator)
    assert by_counter(found.changes)["global_load_requests"].after == 17
    assert "global_load_requests" not in by_counter(found.kernels[0].changes)


def test_a_wrong_rung_and_one_on_the_cpu_have_something_to_compare():
    race = compare((toy.LADDER, toy.RACE.rung), NEIGHBOURS, FakeSimulator)
    assert by_counter(race.changes)["global_load_sectors"].after == 4
    plain = compare(NEIGHBOURS, (toy.LADDER, toy.PLAIN), FakeSimulator)
    assert by_counter(plain.changes)["launches"] == Change("launches", 0, 1)


@pytest.mark.parametrize("lines", [True, False])
def test_the_document_is_json(lines):
    found = compare(NEIGHBOURS, STRIDED, FakeSimulator)
    document = json.loads(json.dumps(difference_document(found, lines=lines), allow_nan=False))
    assert (document["before"]["rung"], document["after"]["rung"]) == ("strided", "neighbours")
    assert {"counter": "global_load_sectors", "before": 320, "after": 40, "ratio": 0.125} in (
        document["changes"]
    )
    assert document["kernels"][0]["changes"] == document["changes"]
    assert ("lines" in document["before"]["kernels"][0]) == lines
    assert document["predictions"][0]["than"] == "strided"
    assert document["before"]["recorded"] == {"run": None, "times": []}
