"""HB's theory question as properties: within a step, every order gives the same matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from warpladder.lab.explore.exploration import Setting
from warpladder.lab.explore.registry import find_exploration
from warpladder.lab.explore.shortest_paths import order
from warpladder.lab.explore.shortest_paths.order import relax_in_order

NO_PATH = 2**30 - 1


def matrices(weights):
    """Square matrices of up to 6 rows with a row k, and an order of their cells."""

    @some.composite
    def build(draw):
        n = draw(some.integers(1, 6))
        rows = [[draw(weights) for _ in range(n)] for _ in range(n)]
        return rows, draw(some.integers(0, n - 1)), draw(some.permutations(range(n * n)))

    return build()


def bits(rows):
    return np.array(rows).tobytes()


def relaxed(rows, k, cells):
    result = [list(row) for row in rows]
    relax_in_order(result, k, cells)
    return result


def all_at_once(rows, k):
    """The step as NumPy takes it: every operand is read before anything is written.

    A sum that is equal is no improvement, so that -0.0 is not replaced by 0.0, as minimum() may.
    """
    dist = np.array(rows)
    through = dist[:, k, None] + dist[k]
    return np.where(through < dist, through, dist)


INTEGERS = some.one_of(some.integers(-50, 99), some.just(NO_PATH))
FLOATS = some.floats(allow_nan=False, allow_infinity=False, width=64, min_value=-1e9, max_value=1e9)
REALS = some.one_of(FLOATS, some.just(np.inf))


@settings(max_examples=100)
@given(some.one_of(matrices(INTEGERS), matrices(REALS)), some.data())
def test_any_order_gives_the_same_bits_while_the_diagonal_entry_is_not_negative(case, data):
    rows, k, cells = case
    rows[k][k] = data.draw(some.sampled_from([0, 1, 7, NO_PATH]))
    expected = all_at_once(rows, k)
    found = relaxed(rows, k, cells)
    assert np.array(found, expected.dtype).tobytes() == expected.tobytes()
    assert bits(found) == bits(relaxed(rows, k, range(len(cells))))


@settings(max_examples=100)
@given(matrices(some.integers(-50, 99)), some.integers(-50, -1))
def test_with_a_negative_one_it_is_enough_to_move_that_entry_to_the_end(case, negative):
    rows, k, cells = case
    n = len(rows)
    rows[k][k] = negative
    corner = k * n + k
    others = [cell for cell in cells if cell != corner]
    first, last = relaxed(rows, k, [corner, *others]), relaxed(rows, k, [*others, corner])
    if n == 1:
        assert first == last
        return
    # Column k takes D[k,k] once in either order: twice the entry where it has been updated before.
    i = (k + 1) % n
    assert first[i][k] == rows[i][k] + 2 * negative
    assert last[i][k] == rows[i][k] + negative


def test_a_step_that_is_none_of_these_is_seen():
    """A step whose row k were to be read before it is finished would depend on the order."""
    rows, cells = [[-1, 5], [4, 9]], [0, 1, 2, 3]
    assert relaxed(rows, 0, cells) != relaxed(rows, 0, cells[::-1])
    rows[0][0] = 0
    assert relaxed(rows, 0, cells) == relaxed(rows, 0, cells[::-1])


@pytest.mark.parametrize("sizes", [(1, 2, 5)])
def test_the_exploration_says_what_the_proof_says(monkeypatch, sizes):
    monkeypatch.setattr(order, "_KERNEL_ORDERS", 1)
    findings = find_exploration("order").run(Setting(sizes))
    cells, blocks = findings.tables
    assert [row["n"] for row in cells.rows] == list(sizes)
    assert all(row["closed"] == 1 and row["right"] == "yes" for row in cells.rows)
    # One cell has one order; of two rows the four cells give four results.
    assert [row["negative"] for row in cells.rows[:2]] == [1, 4]
    assert cells.rows[2]["negative"] > 30
    assert [row["wrong"] for row in blocks.rows] == [0]
    assert findings.answer[0].startswith("No. Random orders")
    assert any(text.startswith("Why: a step does D[i,j] = min(") for text in findings.answer)
