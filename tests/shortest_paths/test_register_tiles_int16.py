"""The rung that relaxes pairs: right up to the last distance that fits."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from choosing import large
from warpladder.lab.verify import check_predictions, verify
from warpladder.shortest_paths.ladder import LADDER
from warpladder.shortest_paths.rungs._tasks import DISTANCES, DISTANCES_INT16, Weights
from warpladder.shortest_paths.rungs.register_tiles_int16 import RUNG
from warpladder.simulator import SimulatedDevice

NO_PATH = 16383


@pytest.mark.large
def test_four_tiles_with_all_checks():
    (verdict,) = verify(RUNG, SimulatedDevice(counters=False), [255], seed=4)
    assert verdict.ok, verdict.fault


@pytest.mark.parametrize("n", [1, 33, *large(2, 31, 127, 128)])
def test_one_tile(n):
    (verdict,) = verify(RUNG, SimulatedDevice(checks=False, counters=False), [n], seed=4)
    assert verdict.ok, verdict.fault


@pytest.mark.large
def test_the_longest_distance_that_fits_is_found_through_nine_tiles():
    """A one-way street in a random order of the vertices, as long as can be."""
    n = 300
    rng = np.random.default_rng(n)
    lengths = np.full(n - 1, (NO_PATH - 1) // (n - 1))
    lengths[: NO_PATH - 1 - lengths.sum()] += 1
    place = np.concatenate([[0], np.cumsum(lengths)])
    assert place[-1] == NO_PATH - 1
    ahead = place - place[:, None]
    wanted = np.where(ahead >= 0, ahead, NO_PATH).astype(np.int16)
    weights = np.full((n, n), NO_PATH, np.int16)
    np.fill_diagonal(weights, 0)
    weights[np.arange(n - 1), np.arange(1, n)] = lengths
    order = rng.permutation(n)
    shuffled = np.ix_(order, order)
    device = SimulatedDevice(checks=False, counters=False)
    found = RUNG.run(device, Weights(weights[shuffled], NO_PATH))
    assert found.dtype == np.int16
    assert np.array_equal(found, wanted[shuffled])


@pytest.mark.large
def test_half_of_everything_outside_the_diagonal():
    results = check_predictions(RUNG, LADDER, partial(SimulatedDevice, checks=False))
    assert [(str(one.prediction), one.measured) for one in results if not one.ok] == []


@pytest.mark.parametrize("n", [166, 167, 382, 1000, 2048])
def test_weights_are_such_that_every_distance_fits(n):
    problem = DISTANCES_INT16.make(n, 0)
    assert (problem.matrix.dtype, problem.no_path) == (np.int16, NO_PATH)
    off_diagonal = problem.matrix[~np.eye(n, dtype=bool)]
    edges = off_diagonal[off_diagonal != NO_PATH].astype(int)
    assert edges.min() == 1
    # A path has at most n - 1 edges; none of them is lighter than need be.
    assert (n - 1) * edges.max() < NO_PATH
    assert edges.max() == min(99, (NO_PATH - 1) // (n - 1))


def test_other_types_have_edges_of_all_lengths_at_every_size():
    matrix = DISTANCES.make(1000, 0).matrix
    assert matrix[matrix < 2**30 - 1].max() == 99
