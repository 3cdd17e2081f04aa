"""Numbers of ids, against a dict; items that are moved to their rows, against lists."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpladder.formats import set_builder
from warpladder.formats.set_builder import RepeatedIdError, SetsBuilder
from warpladder.formats.set_numbering import IntegerNumbers, WordNumbers, grouped

INT64 = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3))


def numbered(ids):
    """Each id's number, by the order of first appearance, and the ids in that order."""
    known: dict[object, int] = {}
    return [known.setdefault(one, len(known)) for one in ids], list(known)


@given(chunks=st.lists(st.lists(INT64)))
def test_integers(chunks):
    numbers = IntegerNumbers()
    found = [one for chunk in chunks for one in numbers.of(np.array(chunk, np.int64)).tolist()]
    ids = [one for chunk in chunks for one in chunk]
    assert (found, numbers.known().tolist()) == numbered(ids)
    assert len(numbers) == len(set(ids))


@pytest.mark.parametrize("step", [1, 2**20, 2**44, -(2**33)])
@pytest.mark.parametrize("count", [511, 512, 513, 20_000])
def test_a_table_that_grows(count, step):
    ids = np.arange(count) * step
    twice = np.concatenate((ids, ids[::-1]))
    numbers = IntegerNumbers()
    assert np.array_equal(
        numbers.of(twice),
        np.concatenate((np.arange(count),) * 2)[:count].tolist() + np.arange(count)[::-1].tolist(),
    )
    assert np.array_equal(numbers.known(), ids)
    assert numbers.of(ids[count - 1 :]).tolist() == [count - 1]


def test_words():
    words = WordNumbers()
    given_words = ["b", "a", "b", "", "é"]
    assert (words.of(given_words).tolist(), words.known().tolist()) == numbered(given_words)
    assert words.known().dtype == object


@given(
    stretches=st.lists(st.tuples(st.integers(0, 4), st.lists(st.integers(0, 99), max_size=4))),
    paired=st.booleans(),
)
def test_grouped(stretches, paired):
    if paired:
        stretches = [(row, [item]) for row, items in stretches for item in items]
    rows = [
        [item for row, items in stretches if row == number for item in items] for number in range(5)
    ]
    numbers = np.array([row for row, _ in stretches], np.int32)
    lengths = np.array([len(items) for _, items in stretches], np.int32)
    if paired:
        lengths = np.broadcast_to(np.int32(1), len(numbers))
    items = np.array([item for _, items in stretches for item in items], np.int32)
    starts, moved = grouped(numbers, lengths, items, 5)
    assert [moved[a:b].tolist() for a, b in pairwise(starts)] == rows


@pytest.mark.parametrize("slab", [1, 3, 1 << 24])
def test_chunks_become_one_array(monkeypatch, slab):
    monkeypatch.setattr(set_builder, "_LARGEST_SLAB", slab)
    chunks = [[1], [], [2, 3, 4, 5, 6], [2**31 - 1, -(2**31)], [2**31], [7], [-(2**63)], [8] * 9]
    for count in range(len(chunks) + 1):
        builder = SetsBuilder(has_ids=False)
        for chunk in chunks[:count]:
            builder.add(None, np.array(chunk, np.int64), np.array([len(chunk)]))
        sets = builder.sets()
        flat = [item for chunk in chunks[:count] for item in chunk]
        assert sets.items.tolist() == flat
        assert sets.items.dtype == (np.int32 if count < 5 else np.int64)
        assert np.diff(sets.starts).tolist() == list(map(len, chunks[:count]))


def test_repeated_ids():
    for ids in (np.array([4, 5, 6, 5, 4]), ["b", "a", "c", "a", "b"]):
        builder = SetsBuilder(has_ids=True)
        builder.add(ids, np.arange(5), np.ones(5, np.int32))
        with pytest.raises(RepeatedIdError) as raised:
            builder.sets()
        error = raised.value
        assert (error.id, error.first, error.second) == (ids[1], 1, 3)
        assert type(error.id) is type(ids[1] if isinstance(ids, list) else 1)
