"""The overlap join on a GPU: checked against the CPU engine, then timed; writes JSON.

    python benchmarks/gpu_overlap_join.py --out DIR [--seconds 480]

Rows of 1,000 ids out of as many as there are rows are made on the GPU (`overlap_rows`), some pairs
planted among them, so that the source's whole problem, 14,000,000 rows with 56 GB of ids, needs no
host. Of each shape that is counted, the partners of some rows are counted once more by a kernel
that shares nothing with the engine. A shape that would not end in the time that is left is not run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numba import cuda, uint32

import warpladder as wl
from gpu_timing import parser_of_parts, record_parts
from overlap_rows import PLANTED_EVERY, make_rows, partners_of
from overlap_sets import uniform_rows, zipf_rows
from report import Target, print_table, print_targets
from warpladder.device.cuda_device import CudaDevice
from warpladder.device.shared_adds import count_byte, shared_address
from warpladder.lab.gpu_timing import event_times_ms
from warpladder.overlap_join.forms import Join, Rows
from warpladder.overlap_join.gpu.engine import GpuEngine
from warpladder.overlap_join.ladder import LADDER
from warpladder.overlap_join.measures import Rule
from warpladder.overlap_join.rungs._published import CARD, PUBLISHED
from warpladder.overlap_join.rungs._tasks import Problem
from warpladder.rung import Rung

_IDS, _THRESHOLD, _SEED = 1000, 5, 2026
#: Rows, how often they are counted, the seconds wanted, and those to keep free for them.
_SHAPES = (
    (50_000, 5, 0.05, 5),
    (500_000, 3, None, 10),
    (2_000_000, 2, 2.0, 20),
    (14_000_000, 1, 45.0, 150),
)
_SAMPLED = 32
#: Words of four counters of a block, and additions of a thread, for the ceiling.
_WORDS, _STEPS = 1 << 13, 4096
#: Rows for the ladder, and the rungs that take too long for more than one run.
_LADDER_ROWS, _FEW_ROWS, _SLOW_S = 1000, 33, 1.0
#: At these IM measured, too. At its 50,000 rows `flat-rows` would take minutes and 10 GB.
_OTHER_ROWS = {"row-against-chunk": 50, "unrolled": 4000, "shared-flags": 4000}


def main() -> None:
    """Check, time, print, write."""
    parser = parser_of_parts(__doc__)
    parser.add_argument("--seconds", type=float, default=480, help="in which all has to be done")
    given = parser.parse_args()
    ends = perf_counter() + given.seconds
    device = CudaDevice()
    parts: dict[str, Callable[[dict[str, Any]], Any]] = {
        "checks": lambda _: _check(device),
        "ceilings": lambda _: _ceilings(device),
        "peers": lambda _: _time_peers(device),
        "calls": lambda _: _time_calls(device),
        "shapes": lambda _: _time_shapes(device, ends),
        "targets": lambda record: _targets(record["shapes"]),
        "parquet": lambda _: _time_parquet(device),
        "ladder": lambda _: _time_ladder(CudaDevice(time_kernels=True)),
    }
    record_parts("gpu_overlap_join", device, parts, given)


def _check(device: CudaDevice) -> list[dict[str, Any]]:
    """Compare pairs, shared ids and degrees with the CPU engine's, bit for bit."""
    cases: dict[str, tuple[Any, ...]] = {
        "uniform, T = 2": (uniform_rows(3000, 100, 5000, seed=1), 2, "count", None),
        "few long rows, T = 20": (uniform_rows(700, 1000, 50_000, seed=2), 20, "count", None),
        "Zipf, T = 5": (zipf_rows(5000, 60, 20_000, 0.9, seed=3), 5, "count", None),
        "Zipf, other rows, T = 3": (
            zipf_rows(4000, 40, 20_000, 0.9, seed=4), 3, "count",
            zipf_rows(3000, 30, 20_000, 0.9, seed=5),
        ),
        "Zipf, Jaccard 0.3": (zipf_rows(5000, 30, 3000, 1.1, seed=6), 0.3, "jaccard", None),
        "Zipf, cosine 0.4": (zipf_rows(5000, 30, 3000, 1.1, seed=7), 0.4, "cosine", None),
        "Zipf, Dice 0.5": (zipf_rows(5000, 30, 3000, 1.1, seed=8), 0.5, "dice", None),
        "Zipf, containment 0.5": (zipf_rows(5000, 30, 3000, 1.1, seed=9), 0.5, "containment", None),
        "sparse, T = 2": (uniform_rows(200_000, 20, 200_000, seed=10), 2, "count", None),
    }  # fmt: skip
    rows = []
    for case, (sets, threshold, measure, other) in cases.items():
        answers = [
            wl.overlap_join(sets, threshold, other=other, measure=measure, device=where)
            for where in ("cpu", device)
        ]
        here, there = answers
        np.testing.assert_array_equal(there.starts, here.starts)
        np.testing.assert_array_equal(there.positions, here.positions)
        np.testing.assert_array_equal(there.shared, here.shared)
        counted = wl.overlap_join(
            sets, threshold, other=other, measure=measure, device=device, count_only=True
        )
        assert counted.pairs == len(here)  # noqa: S101 - a check, then times
        rows.append({"case": case, "pairs": len(here), "equal": "yes"})
    print_table("pairs on the GPU beside those of the CPU engine", rows)
    return rows


@cuda.jit
def add_anywhere(out: Any, steps: int) -> None:
    """Add ones to counters of 8 bits in shared memory, wherever a generator points."""
    counters = cuda.shared.array(_WORDS, uint32)
    for i in range(cuda.threadIdx.x, _WORDS, cuda.blockDim.x):
        counters[i] = 0
    cuda.syncthreads()
    base = shared_address(counters)
    number = uint32(cuda.grid(1) * 40503 + 12345)
    for _ in range(steps):
        # Upper bits of a congruential generator; the lower ones repeat soon.
        number = uint32(number * uint32(1664525) + uint32(1013904223))
        upper = uint32(number >> 16)
        count_byte(counters, base, upper & uint32(4 * _WORDS - 1), upper)
    cuda.syncthreads()
    out[cuda.blockIdx.x] = counters[0]


def _ceilings(device: CudaDevice) -> dict[str, float]:
    """Measure what shared memory takes: additions to counters anywhere, and nothing beside."""
    threads, resident = 1024, 2
    blocks = 4 * resident * device.properties.multiprocessors
    out = device.empty(blocks, np.uint32)
    taken = min(
        event_times_ms(device, lambda: device.launch(add_anywhere, blocks, threads, out, _STEPS))
    )
    found = {"additions_per_second": blocks * threads * _STEPS / taken * 1000}
    rows = [{"case": name, "T_per_second": rate / 1e12} for name, rate in found.items()]
    print_table("ceiling: additions to 8-bit counters anywhere in shared memory", rows)
    return found


def _time_peers(device: CudaDevice) -> list[dict[str, Any]]:
    """Count pairs as a user of CuPy would: the sparse matrix times its transpose, by cuSPARSE."""
    try:
        import cupy
        from cupyx.scipy.sparse import csr_matrix
    except ImportError:
        return [{"case": "not run: there is no CuPy"}]

    threshold = 2
    rows, ids, universe = 20_000, 100, 1_000_000
    drawn = np.asarray(zipf_rows(rows, ids, universe, 0.7, seed=1).items, np.int64)
    # A matrix would add up what a row has twice.
    each = np.unique(np.repeat(np.arange(rows), ids) * universe + drawn)
    starts = np.searchsorted(each, np.arange(rows + 1) * universe)
    items = (each % universe).astype(np.int32)
    sets = wl.Sets(starts, items)

    def theirs() -> int:
        ones = cupy.ones(items.size, "float32")
        which = cupy.asarray(items), cupy.asarray(starts.astype(np.int32))
        matrix = csr_matrix((ones, *which), shape=(rows, universe))
        product = matrix @ matrix.T
        of_themselves = int((np.diff(starts) >= threshold).sum())
        return (int((product.data >= threshold).sum()) - of_themselves) // 2

    def ours() -> int:
        return int(wl.overlap_join(sets, threshold, count_only=True, device=device).pairs)

    found = []
    for case, call in {"CuPy, A @ A.T": theirs, "warpladder": ours}.items():
        taken = []
        for _ in range(4):
            began = perf_counter()
            pairs = call()
            taken.append(perf_counter() - began)
        found.append({"case": case, "pairs": pairs, "s": min(taken[1:])})
    if len({row["pairs"] for row in found}) > 1:
        print("WRONG: they do not agree", flush=True)
    print_table("20,000 x 100 of Zipf(0.7), T = 2, counted, from rows of the host", found)
    return found


def _time_calls(device: CudaDevice) -> list[dict[str, Any]]:
    """Whole calls on rows of the host, on the GPU and on the CPU of the same machine."""
    rows = []
    cases = {
        "20,000 x 100 of Zipf(0.7)": (zipf_rows(20_000, 100, 1_000_000, 0.7, seed=1), 2),
        "90,000 x 10 of Zipf(1.1)": (zipf_rows(90_000, 10, 16_000, 1.1, seed=1), 2),
        "50,000 x 1,000 of 50,000": (uniform_rows(50_000, 1000, 50_000, seed=3), 2),
        "2,000,000 x 20 of 2,000,000": (uniform_rows(2_000_000, 20, 2_000_000, seed=3), 3),
    }
    for case, (sets, threshold) in cases.items():
        taken, pairs = {}, set()
        where_to_run: dict[str, Any] = {"GPU": device, "CPU": "cpu"}
        for where, on in where_to_run.items():
            times = []
            for _ in range(3):
                began = perf_counter()
                counted = wl.overlap_join(sets, threshold, count_only=True, device=on)
                times.append(perf_counter() - began)
                pairs.add(counted.pairs)
            taken[where] = min(times[1:])
        assert len(pairs) == 1  # noqa: S101 - a check, then times
        rows.append(
            {"case": case, "pairs": pairs.pop(), "GPU_s": taken["GPU"], "CPU_s": taken["CPU"]}
        )
    print_table("whole calls, counted, from rows of the host", rows)
    return rows


def _time_shapes(device: CudaDevice, ends: float) -> list[dict[str, Any]]:
    """Count rows that are on the GPU already, coded; each run makes the index, too."""
    rows: list[dict[str, Any]] = []
    for count, times, _, needed in _SHAPES:
        if perf_counter() + needed > ends:
            print(f"{count:,} rows: not run, {needed} s are not left")
            continue
        made = make_rows(device, count, _IDS, count, _SEED)
        join = Join(made, made, Rule(0, float(_THRESHOLD)))
        GpuEngine(join, device).counted(0, _FEW_ROWS, lambda _: None)  # compiles
        device.synchronize()
        taken = []
        for _ in range(times):
            began = perf_counter()
            counted = GpuEngine(join, device).counted(0, count, lambda _: None)
            taken.append(perf_counter() - began)
        which = np.linspace(0, count - 1, _SAMPLED).astype(np.int64)
        which[:2] = 0, PLANTED_EVERY
        degrees = (counted.of_left + counted.of_right)[which]
        np.testing.assert_array_equal(partners_of(device, made, which, _THRESHOLD), degrees)
        # Of two rows, each id of the one is in the other with this chance; ids as they are drawn.
        updates = _updates(device, made)
        rows.append(
            {
                "case": f"{count:,} x {_IDS:,}", "pairs": counted.pairs, "s": min(taken),
                "updates": updates, "T_updates_per_s": updates / min(taken) / 1e12,
                "runs": times, "rows_checked": _SAMPLED,
            }
        )  # fmt: skip
        del join, made, counted
    print_table(f"rows x ids out of as many as rows, T = {_THRESHOLD}, counted", rows)
    return rows


def _targets(shapes: list[dict[str, Any]]) -> list[Target]:
    """Return the seconds that are asked for, beside those reached."""
    asked = {f"{count:,} x {_IDS:,}": (count, wanted) for count, _, wanted, _ in _SHAPES}
    found = []
    for row in shapes:
        count, wanted = asked[row["case"]]
        if wanted is not None:
            name = f"{count:,} rows x {_IDS:,} ids, s"
            found.append(Target(name, row["s"], wanted, at_most=True))
    print_targets(found)
    return found


def _updates(device: CudaDevice, rows: Any) -> int:
    """Return how many ids all pairs of rows share: f (f - 1) / 2 over ids that f rows have."""
    frequency = np.zeros(rows.universe, np.int64)
    step = 1 << 28
    for first in range(0, rows.items.size, step):
        some = device.to_host(rows.items[first : first + step])
        frequency += np.bincount(some, minlength=rows.universe)
    return int((frequency * (frequency - 1) // 2).sum())


def _time_parquet(device: CudaDevice) -> dict[str, Any]:
    """1,000,000 rows of 200 ids from Parquet to Parquet, end to end, by the public calls."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return {"case": "not run: there is no pyarrow"}

    count, ids, threshold = 1_000_000, 200, 4
    sets = uniform_rows(count, ids, count, seed=5)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "rows.parquet"), Path(folder, "pairs.parquet")
        lists = pa.ListArray.from_arrays(pa.array(sets.starts.astype(np.int32)), sets.items)
        pq.write_table(pa.table({"id": np.arange(count), "related_ids": lists}), source)
        began = perf_counter()
        read = wl.read_sets(source)
        read_s = perf_counter() - began
        pairs = wl.overlap_join(read, threshold, device=device)
        joined_s = perf_counter() - began - read_s
        pairs.write(target)
        seconds = perf_counter() - began
    result = {
        "case": f"{count:,} x {ids}, T = {threshold}", "pairs": len(pairs), "read_s": read_s,
        "join_s": joined_s, "write_s": seconds - read_s - joined_s, "s": seconds,
    }  # fmt: skip
    print_table("from Parquet to Parquet", [result])
    return result


def _time_ladder(device: CudaDevice) -> list[dict[str, Any]]:
    """Each rung's kernels and whole call on rows of 1,000 ids, beside what IM measured."""
    published: dict[tuple[str, int], float] = {}
    for one in PUBLISHED:
        for name in one.rungs:
            key = name, one.rows
            published[key] = min(one.seconds, published.get(key, one.seconds))
    rows = []
    for rung in LADDER.rungs:
        if rung.on != "device":
            continue
        # Compiled, before anything is timed. By few rows, but as long as those: rows of more ids
        # than a narrow counter holds have a kernel of their own.
        _once(device, rung, _first_rows(rung.task.make(_LADDER_ROWS, 0), _FEW_ROWS))
        others = (_OTHER_ROWS[rung.name],) if rung.name in _OTHER_ROWS else ()
        for n in (_LADDER_ROWS, *others):
            problem = rung.task.make(n, 0)
            kernels, calls = [], []
            for _ in range(4):
                seconds, kernel_ms = _once(device, rung, problem)
                calls.append(seconds)
                kernels.append(kernel_ms)
                if seconds > _SLOW_S:
                    break
            best = published.get((rung.name, n))
            rows.append(
                {
                    "case": rung.name, "n": n, "kernel_ms": min(kernels),
                    "call_ms": 1e3 * min(calls), "IM_ms": None if best is None else 1e3 * best,
                }
            )  # fmt: skip
    print_table(f"the ladder, rows of {_IDS:,} ids; IM on a {CARD}", rows)
    return rows


def _first_rows(problem: Problem, count: int) -> Problem:
    rows = problem.rows
    starts = rows.starts[: count + 1]
    return problem._replace(rows=Rows(starts, rows.items[: starts[-1]], rows.universe))


def _once(device: CudaDevice, rung: Rung, problem: Any) -> tuple[float, float]:
    device.synchronize()
    device.reset_kernel_ms()
    began = perf_counter()
    rung.run(device, problem)
    device.synchronize()
    return perf_counter() - began, device.kernel_ms


if __name__ == "__main__":
    main()
