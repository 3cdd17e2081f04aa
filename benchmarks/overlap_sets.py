"""Rows of ids to join, made on the spot: of Zipf's law, uniform, and a file with planted pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import warpladder as wl

__all__ = ["planted_rows", "uniform_rows", "zipf_rows"]

_PLANTED_EVERY, _PLANTED_IDS = 1000, 5
_ROWS_AT_ONCE = 1 << 19


def zipf_rows(count: int, ids: int, universe: int, exponent: float, *, seed: int) -> wl.Sets:
    """Return rows of ids drawn with probabilities that fall with a power of their rank."""
    odds = np.arange(1, universe + 1) ** -exponent
    below = np.cumsum(odds / odds.sum())
    draws = np.random.default_rng(seed).random(count * ids)
    items = np.searchsorted(below, draws).clip(0, universe - 1).astype(np.int32)
    return wl.Sets(np.arange(count + 1) * ids, items)


def uniform_rows(count: int, ids: int, universe: int, *, seed: int) -> wl.Sets:
    """Return rows of ids each as likely as any other."""
    items = np.random.default_rng(seed).integers(0, universe, count * ids, dtype=np.int32)
    return wl.Sets(np.arange(count + 1) * ids, items)


def planted_rows(path: Path, count: int, ids: int, *, seed: int) -> set[tuple[int, int]]:
    """Write rows of ids, out of as many as there are rows; return the pairs planted among them.

    Every thousandth row shares its first five ids with the row behind it.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    schema = pa.schema([("id", pa.int64()), ("related_ids", pa.list_(pa.int64()))])
    planted = set()
    with pq.ParquetWriter(path, schema) as writer:
        for first in range(0, count, _ROWS_AT_ONCE):
            size = min(_ROWS_AT_ONCE, count - first)
            drawn = rng.integers(0, count, (size, ids))
            originals = np.arange(0, size - 1, _PLANTED_EVERY)
            drawn[originals + 1, :_PLANTED_IDS] = drawn[originals, :_PLANTED_IDS]
            planted |= {(first + row, first + row + 1) for row in originals.tolist()}
            offsets = pa.array(np.arange(size + 1, dtype=np.int32) * ids)
            lists = pa.ListArray.from_arrays(offsets, pa.array(drawn.ravel()))
            rows = {"id": pa.array(np.arange(first, first + size)), "related_ids": lists}
            writer.write_table(pa.table(rows, schema=schema))
    return planted
