"""The overlap join on the CPU: checked, then timed beside the best peers in the same process.

    python benchmarks/overlap_join.py [--sets FOLDER] [--large]

``--sets`` names a folder with ``retail.dat`` and ``T10I4D100K.dat`` of the FIMI repository, which
are not part of this project; without it sets of the same kind are made. ``--large`` adds the
sources' largest shape that fits a small machine, and 14,000,000 rows from Parquet to Parquet.

Peers: sparse_dot_topn with as many threads, SciPy's ``A @ A.T`` where its result fits, and
SetSimilaritySearch for Jaccard. Each gets the matrix or the lists that it takes, made before; ours
gets the same matrix. Peers find each pair twice, from either row; that is their way, and part of
the comparison. sparse_dot_topn makes room for every row's pairs before: where pairs are counted it
keeps the 10 best of each row, which is less than was asked; where they are written, all of them, in
stretches of rows.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

import warpladder as wl
from overlap_sets import planted_rows, uniform_rows, zipf_rows
from report import Target, print_table, print_targets, quantiles, write_results
from warpladder.device.environment import worker_count

_ROUNDS = 5
# So often peers have their turn, and between these we have this many.
_TURNS, _OURS = 3, 5
_BEST = 10
_FEWER_ROWS = 10_000
# Pairs that sparse_dot_topn is given room for at once.
_PLACES = 50_000_000
# SciPy keeps every pair that shares an id: 12 bytes each.
_MOST_FOR_SCIPY = 200_000_000
_KNOWN = {("retail", 2): 620_991_399, ("retail", 5): 1_614_363}
_ROWS, _IDS, _SEED = 14_000_000, 20, 2026


def main() -> None:
    """Check, time, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=Path, help="folder with retail.dat and T10I4D100K.dat")
    parser.add_argument("--large", action="store_true", help="minutes and gigabytes more")
    asked = parser.parse_args()
    targets: list[Target] = []
    sets = _sets(asked.sets)
    document: dict[str, Any] = {
        "sets": _time_sets(sets, targets),
        "jaccard": _time_jaccard(sets, targets),
        "files": _time_files(sets, targets),
        "sources": _time_sources((1000, 4000, 50_000) if asked.large else (1000, 4000), targets),
    }
    if asked.large:
        document["parquet"] = _time_parquet(targets)
    print_targets(targets)
    print(f"wrote {write_results('overlap_join', {**document, 'targets': targets}).name}")


def _sets(folder: Path | None) -> dict[str, Any]:
    """Return a matrix of each set by its name."""
    found = {"zipf": zipf_rows(20_000, 100, 1_000_000, 0.7, seed=1)}
    if folder is not None:
        for name in ("retail", "T10I4D100K"):
            found[name] = wl.read_sets(folder / f"{name}.dat")
    return {name: _matrix(sets) for name, sets in found.items()}


def _matrix(sets: wl.Sets) -> Any:
    matrix = csr_matrix((np.ones(sets.items.size, np.int32), sets.items, sets.starts))
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


def _rounds(task: Callable[[], Any], rounds: int = _ROUNDS) -> tuple[dict[str, float], Any]:
    """Return how long a task takes, once warm, and its answer."""
    times, answer = _times(task, rounds)
    return quantiles(times), answer


def _times(task: Callable[[], Any], rounds: int) -> tuple[list[float], Any]:
    times: list[float] = []
    answer: Any = None
    # Once: a core that waits while garbage is looked for wakes up too late for calls of 30 ms.
    gc.collect()
    for _ in range(rounds):
        # What the last round made goes before the next one is timed.
        answer = None
        began = perf_counter()
        answer = task()
        times.append(perf_counter() - began)
    return times, answer


def _in_turn(
    task: Callable[[], Any], peers: dict[str, Callable[[], float]]
) -> tuple[float, dict[str, float]]:
    """Return the medians of how long a task takes, and of the peers', who tell it themselves."""
    ours: list[float] = []
    theirs: dict[str, list[float]] = {name: [] for name in peers}
    for _ in range(_TURNS):
        ours += _times(task, _OURS)[0]
        for name, peer in peers.items():
            theirs[name].append(peer())
    return median(ours), {name: median(times) for name, times in theirs.items()}


def _time_sets(sets: dict[str, Any], targets: list[Target]) -> list[dict[str, Any]]:
    rows = []
    for name, matrix in sets.items():
        for threshold in (2, 5):
            wl.overlap_join(matrix[:200], threshold, count_only=True)
            plan = wl.overlap_join.plan(matrix, threshold)
            task = partial(wl.overlap_join, matrix, threshold, count_only=True)
            counted: Any = task()
            if (name, threshold) in _KNOWN:
                assert counted.pairs == _KNOWN[name, threshold]  # noqa: S101 - a check, then times
            others: dict[str, Callable[[], float]] = {
                "sparse_dot_topn": partial(_by_sparse_dot_topn, matrix, threshold)
            }
            if plan.updates < _MOST_FOR_SCIPY:
                others["scipy"] = partial(_by_scipy, matrix, threshold, counted.pairs)
            ours, peers = _in_turn(task, others)
            best = min(peers.values())
            rows.append(
                {
                    "case": f"{name}, T = {threshold}", "pairs": counted.pairs,
                    "method": plan.method, "s": ours,
                    "G_updates_per_s": plan.updates / ours / 1e9,
                    "sparse_dot_topn_s": peers["sparse_dot_topn"],
                    "scipy_s": peers.get("scipy", float("nan")),
                    "times_faster": best / ours,
                }
            )  # fmt: skip
            limit = {("retail", 2): 30, ("zipf", 2): 20}.get((name, threshold), 1)
            targets.append(
                Target(
                    f"{name}, T = {threshold}, beside the better peer",
                    rows[-1]["times_faster"],
                    limit,
                )
            )
            if (name, threshold) == ("retail", 2):
                targets.append(Target("retail, G updates/s", rows[-1]["G_updates_per_s"], 3))
    print_table(f"counted, {worker_count()} threads", rows)
    return rows


def _by_sparse_dot_topn(matrix: Any, threshold: int) -> float:
    """Return how long the best of each row take; all products are made for them."""
    from sparse_dot_topn import sp_matmul_topn

    left = matrix.astype(np.int32)
    right = left.T.tocsr()
    began = perf_counter()
    sp_matmul_topn(left, right, top_n=_BEST, threshold=threshold - 1, n_threads=worker_count())
    return perf_counter() - began


def _all_by_sparse_dot_topn(matrix: Any, threshold: int, degrees: NDArray[np.int64]) -> Any:
    """Return all pairs, once each, from stretches of rows whose pairs it has room for."""
    from sparse_dot_topn import sp_matmul_topn

    left = matrix.astype(np.int32)
    right = left.T.tocsr()
    # Each row's pair with itself comes, too.
    most = int(degrees.max()) + 1
    step = max(1, _PLACES // most)
    columns = []
    for first in range(0, left.shape[0], step):
        some = left[first : first + step]
        found = sp_matmul_topn(
            some, right, top_n=most, threshold=threshold - 1, n_threads=worker_count()
        ).tocoo()
        once = found.row + first < found.col
        columns.append((found.row[once] + first, found.col[once], found.data[once]))
    return [np.concatenate(column) for column in zip(*columns, strict=True)]


def _by_scipy(matrix: Any, threshold: int, pairs: int) -> float:
    other = matrix.T.tocsr()
    began = perf_counter()
    found = matrix @ other
    found.data[found.data < threshold] = 0
    found.eliminate_zeros()
    seconds = perf_counter() - began
    _check_twice(found, threshold, pairs)
    return seconds


def _check_twice(found: Any, threshold: int, pairs: int) -> None:
    """Check that a peer has each pair from either row, and what rows share with themselves."""
    own = int((found.diagonal() >= threshold).sum())
    assert found.nnz == 2 * pairs + own  # noqa: S101 - a check, then times


def _time_jaccard(sets: dict[str, Any], targets: list[Target]) -> list[dict[str, Any]]:
    from SetSimilaritySearch import all_pairs

    rows = []
    for name in sets.keys() - {"zipf"} or {"zipf"}:
        # The peer takes more than five minutes for all of them.
        matrix = sets[name][:_FEWER_ROWS]
        lists = [
            matrix.indices[begin:end].tolist()
            for begin, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
        ]
        filled = [one for one in lists if one]
        wl.overlap_join(matrix[:200], 0.5, measure="jaccard", count_only=True)
        ours, counted = _rounds(
            partial(wl.overlap_join, matrix, 0.5, measure="jaccard", count_only=True)
        )
        began = perf_counter()
        pairs = sum(1 for _ in all_pairs(filled, similarity_func_name="jaccard",
                                         similarity_threshold=0.5))  # fmt: skip
        seconds = perf_counter() - began
        rows.append(
            {
                "case": f"{_FEWER_ROWS:,} rows of {name}, Jaccard 0.5",
                "pairs": counted.pairs, "peers_pairs": pairs,
                "s": ours["median"], "SetSimilaritySearch_s": seconds,
                "times_faster": seconds / ours["median"],
            }
        )  # fmt: skip
        targets.append(Target(rows[-1]["case"], rows[-1]["times_faster"], 10))
    print_table("Jaccard, counted", rows)
    return rows


def _time_files(sets: dict[str, Any], targets: list[Target]) -> list[dict[str, Any]]:
    """Pairs to Parquet, beside the best peer's with the same writer's defaults."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = []
    for name in sets.keys() - {"zipf"} or {"zipf"}:
        matrix, threshold = sets[name], 5
        with tempfile.TemporaryDirectory() as folder:
            ours, answer = _rounds(
                partial(_written, matrix, threshold, Path(folder, "ours.parquet")), 3
            )
            degrees = wl.overlap_join(matrix, threshold, count_only=True).degrees
            began = perf_counter()
            columns = _all_by_sparse_dot_topn(matrix, threshold, degrees)
            table = pa.table(columns, ["left", "right", "shared"])
            pq.write_table(table, Path(folder, "peers.parquet"))
            seconds = perf_counter() - began
            assert len(table) == answer  # noqa: S101 - a check, then times
        rows.append(
            {
                "case": f"{name}, T = {threshold}, to Parquet", "pairs": answer,
                "s": ours["median"], "sparse_dot_topn_s": seconds,
                "times_faster": seconds / ours["median"],
            }
        )  # fmt: skip
        targets.append(
            Target(rows[-1]["case"], rows[-1]["times_faster"], 25 if name == "retail" else 1)
        )
    print_table("pairs kept and written", rows)
    return rows


def _written(matrix: Any, threshold: int, path: Path) -> int:
    pairs = wl.overlap_join(matrix, threshold)
    assert isinstance(pairs, wl.Overlaps)  # noqa: S101 - they were not only counted
    pairs.write(path)
    return len(pairs)


def _time_sources(shapes: tuple[int, ...], targets: list[Target]) -> list[dict[str, Any]]:
    """IM's shapes: rows of 1,000 ids out of 50,000. IM took 0.66 s per thousand rows squared."""
    rows = []
    for count in shapes:
        sets = uniform_rows(count, 1000, 50_000, seed=3)
        wl.overlap_join(uniform_rows(100, 1000, 50_000, seed=3), 2, count_only=True)
        plan = wl.overlap_join.plan(sets, 2)
        rounds = 3 if count > 4000 else _ROUNDS
        ours, counted = _rounds(partial(wl.overlap_join, sets, 2, count_only=True), rounds)
        published = 0.66e-6 * count**2
        rows.append(
            {
                "case": f"{count:,} rows x 1,000 ids", "pairs": counted.pairs, "s": ours["median"],
                "G_updates_per_s": plan.updates / ours["median"] / 1e9,
                "IM_on_a_GPU_s": published, "times_faster": published / ours["median"],
            }
        )  # fmt: skip
        if count == 50_000:
            targets.append(Target("50,000 rows x 1,000 ids, s", ours["median"], 12, at_most=True))
    print_table("the source's shapes, counted", rows)
    return rows


def _time_parquet(targets: list[Target]) -> dict[str, Any]:
    """14,000,000 rows from Parquet to Parquet, by the command line, in a process of its own."""
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        rows, pairs = Path(folder, "rows.parquet"), Path(folder, "pairs.parquet")
        planted = planted_rows(rows, _ROWS, _IDS, seed=_SEED)
        command = [str(Path(sys.executable).with_name("warpladder")), "overlap", str(rows),
                   "--threshold", "3", "-o", str(pairs), "--json"]  # fmt: skip
        began = perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE)  # noqa: S603 - made here
        peak = 0
        while process.poll() is None:
            peak = max(peak, _peak(process.pid))
            gc.collect()
            try:
                process.wait(0.2)
            except subprocess.TimeoutExpired:
                continue
        seconds = perf_counter() - began
        if process.returncode:
            raise SystemExit("warpladder overlap failed")
        table = pq.read_table(pairs)
    found = set(zip(table["left"].to_pylist(), table["right"].to_pylist(), strict=True))
    missing = planted - found
    result = {
        "rows": _ROWS, "ids_of_a_row": _IDS, "seed": _SEED, "threshold": 3, "s": seconds,
        "peak_GB": peak / 1e9, "pairs": len(found), "planted": len(planted),
        "planted_missing": len(missing),
    }  # fmt: skip
    print_table("from Parquet to Parquet", [result])
    targets += [
        Target("14,000,000 rows x 20 ids, s", seconds, 240, at_most=True),
        Target("its peak of memory, GB", peak / 1e9, 12, at_most=True),
        Target("planted pairs that were missed", len(missing), 0, at_most=True),
    ]
    return result


def _peak(process: int) -> int:
    """Return the most memory that a process has had, in bytes; 0 where the system does not say."""
    try:
        status = Path("/proc", str(process), "status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s+(\d+)", status)
    return 1024 * int(found[1]) if found else 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", str(worker_count()))
    main()
