"""What comes into the engine and what is found there, beside loops that anybody can read."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import DTYPES

from choosing import only
from warpladder.shortest_paths.dense import (
    NO_HOP,
    extremes,
    hop_matrix,
    import_weights,
    inner_no_path,
    longest_in_rows,
    outer_no_path,
    summarise,
)

#: Around vectors and pairs of them.
SIZES = [0, 1, 2, 3, 31, 32, 33, 65, 101]


def drawn(n, dtype, absent):
    """Return weights with everything that may stand in a matrix, NaN where that is "no edge"."""
    rng = np.random.default_rng(n)
    weights = rng.integers(-9, 9, (n, n)).astype(dtype)
    special = [absent, outer_no_path(dtype), np.dtype(dtype).type(0), extremes(np.dtype(dtype))[0]]
    where = rng.random((n, n)) < 0.2
    weights[where] = rng.choice(np.array(special, dtype), where.sum())
    return weights


def imported(weights, absent):
    """Do what `import_weights` does, one by one."""
    n, dtype = len(weights), weights.dtype
    dist, hops = weights.copy(), np.full((n, n), NO_HOP)
    least, greatest = extremes(dtype)
    largest, smallest = np.full(n, least, dtype), np.full(n, greatest, dtype)
    nan_columns = np.full(n, -1)
    for i, j in np.ndindex(n, n):
        weight = weights[i, j]
        is_absent = weight == absent or (np.isnan(weight) and np.isnan(absent))
        is_none = is_absent or (dtype.kind == "f" and weight == np.inf)
        if is_none or (i == j and weight >= 0):
            dist[i, j] = inner_no_path(dtype) if i != j else 0
        elif np.isnan(weight):
            nan_columns[i] = j
        else:
            largest[i], smallest[i] = max(largest[i], weight), min(smallest[i], weight)
        if i == j or not is_none:
            hops[i, j] = j
    return dist, hops, summarise(largest, smallest, nan_columns)


@pytest.mark.parametrize(
    ("dtype", "wants_hops"),
    only(lambda dtype, hops: dtype == ("int16" if hops else "float32"), DTYPES, [False, True]),
)
@pytest.mark.parametrize("absent", ["greatest", -1, 0, "nan"])
def test_weights_come_in_as_one_by_one(dtype, wants_hops, absent):
    if absent == "nan" and dtype.startswith("int"):
        absent = -9
    none = np.dtype(dtype).type(extremes(np.dtype(dtype))[1] if absent == "greatest" else absent)
    for n in SIZES:
        weights = drawn(n, dtype, none)
        dist, hops, summary = imported(weights, none)
        for in_place in (False, True):
            given = weights.copy()
            found = given if in_place else np.empty_like(given)
            links = hop_matrix(dtype, n, wanted=wants_hops)
            assert import_weights(given, found, links, none) == summary
            np.testing.assert_array_equal(found, dist)
            if wants_hops:
                np.testing.assert_array_equal(links, hops)


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("at", [(0, 0), (2, 2), (2, 1), (31, 40), (40, 40), (40, 0)])
def test_a_nan_is_found_wherever_it_is_and_stays(at, in_place):
    weights = np.ones((41, 41), np.float32)
    weights[at] = np.nan
    found = weights if in_place else np.empty_like(weights)
    for _ in range(2 if in_place else 1):
        nothing = hop_matrix("float32", 41, wanted=False)
        assert import_weights(weights, found, nothing, np.inf).nan_at == at
        assert np.isnan(found[at])


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_longest_distance_and_whether_one_is_missing(dtype):
    none = outer_no_path(dtype)
    for n in (1, 2, 33, 70):
        dist = np.random.default_rng(n).integers(0, 1000, (n, n)).astype(dtype)
        assert longest_in_rows(dist, none, 0, n) == (dist.max(), False)
        assert longest_in_rows(dist, none, n // 2, n) == (dist[n // 2 :].max(), False)
        dist[n // 2, 0] = none
        assert longest_in_rows(dist, none, 0, n) == (dist[dist < none].max(initial=0), True)
        dist[...] = none
        assert longest_in_rows(dist, none, 0, n) == (0, True)
