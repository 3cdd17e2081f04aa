"""Time whole calls of `reduce` on arrays of a GPU, beside those of PyTorch and CuPy.

    python benchmarks/gpu_calls.py --out DIR

What a caller waits for: from the call until the GPU is done and, where the whole array is reduced,
the number is on the host. The libraries take turns, in an order that changes, so that all meet the
same states of the machine; medians of many. Every answer is checked against PyTorch's in float64
first. "Prepared" is what `reduce.prepare` makes, "queued" a call among many that nobody waits for.
Cases that miss what is asked for are timed once more at the end, since who shares the host may slow
it down for as long as a case takes; of both times the lesser of each contender counts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import warpladder as wl
from gpu_timing import described, write_record
from report import Target, print_table, print_targets
from warpladder.device.select import gpu

try:
    import cupy
    import torch
except ImportError as fault:
    print(f"left out: {fault.name} is needed beside ours, in the build for this machine's CUDA")
    raise SystemExit(0) from None

_OPS = ("sum", "max", "argmax", "mean", "std", "any", "prod", "count_nonzero", "l2", "logsumexp")
_SHAPES: tuple[tuple[tuple[int, ...], int | None], ...] = (
    *(((1 << k,), None) for k in (10, 16, 18, 20, 22, 24)),
    *(((4096, 4096), axis) for axis in (0, 1)),
    *(((64, 1000, 64), axis) for axis in (0, 1, 2)),
    *(((8, 2_000_000), axis) for axis in (0, 1)),
)
_DTYPES = ("int8", "float16", "int32", "float64")
#: Asked for: microseconds of a number up to 2^20, and how much longer than PyTorch an array.
_MOST_US, _MOST_RATIO = 40.0, 1.3

_TORCH: dict[str, Callable[..., Any]] = {
    "sum": torch.sum,
    "max": torch.amax,
    "argmax": torch.argmax,
    "mean": torch.mean,
    "std": partial(torch.std, correction=0),
    "any": torch.any,
    "prod": torch.prod,
    "count_nonzero": torch.count_nonzero,
    "l2": torch.linalg.vector_norm,
    "logsumexp": torch.logsumexp,
}
_CUPY: dict[str, Callable[..., Any]] = {
    name: getattr(cupy, name)
    for name in ("sum", "max", "argmax", "mean", "std", "any", "prod", "count_nonzero")
}


def main() -> None:
    """Check, time, print and write."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--ops", nargs="*", default=_OPS)
    options.add_argument("--repeats", type=int, default=40)
    options.add_argument("--seconds", type=float, default=240, help="start no case after these")
    given = options.parse_args()
    cases = [(op, "float32", *shape) for op in given.ops for shape in _SHAPES]
    cases += [("sum", dtype, *shape) for dtype in _DTYPES for shape in _SHAPES]
    rows: list[dict[str, Any]] = []
    began = perf_counter()
    for case in cases:
        if perf_counter() - began > given.seconds:
            print(f"{len(cases) - len(rows)} cases are left out: no time for them")
            break
        rows.append(_measured(*case, given.repeats))
    for place, row in enumerate(rows):
        if not _is_met(row) and perf_counter() - began < 2 * given.seconds:
            rows[place] = _least(row, _measured(*cases[place], given.repeats))
    rows.sort(key=lambda row: -row["ratio"])
    print_table("calls of reduce on a GPU, the slowest beside PyTorch first", rows)
    targets = _targets(rows)
    print_targets(targets)
    document = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": described(),
        "gpu": gpu().properties.name,
        "torch": torch.__version__,
        "cupy": cupy.__version__,
        "cases_left_out": len(cases) - len(rows),
        "rows": rows,
        "targets": targets,
    }
    write_record(given.out, "gpu_calls", document)


def _measured(
    op: str, dtype: str, shape: tuple[int, ...], axis: int | None, repeats: int
) -> dict[str, Any]:
    generator = torch.Generator(device="cuda").manual_seed(0)
    drawn = torch.rand(shape, generator=generator, device="cuda", dtype=torch.float32)
    values = (drawn * 100 if dtype in {"int8", "int32"} else drawn).to(getattr(torch, dtype))
    there = cupy.from_dlpack(values)
    ours = partial(wl.reduce, values, op, axis=axis)
    began = perf_counter()
    found = ours()
    first = perf_counter() - began
    _check(op, values, axis, found)
    along = {} if axis is None else {"dim": axis}
    if axis is None and op == "logsumexp":
        along = {"dim": 0}
    by_torch = partial(_TORCH[op], values, **along)
    contenders: dict[str, Callable[[], object]] = {"ours": ours}
    prepared = partial(wl.reduce.prepare(values, op, axis=axis), values)
    if axis is None:
        contenders["torch"] = lambda: by_torch().item()
        contenders["prepared"] = lambda: prepared().item()
    else:
        contenders["torch"] = by_torch
        contenders["prepared"] = prepared
    if op in _CUPY:
        by_cupy = partial(_CUPY[op], there, axis=axis)
        contenders["cupy"] = by_cupy if axis is not None else lambda: by_cupy().item()
    times = _in_turns(contenders, repeats)
    return {
        "case": f"{op} {dtype} {'x'.join(map(str, shape))}"
        + ("" if axis is None else f" axis {axis}"),
        "op": op,
        "dtype": dtype,
        "shape": shape,
        "axis": axis,
        **_ratios(times),
        **{f"{name}_us": us for name, us in times.items()},
        "queued_us": _queued_us(prepared),
        "torch_queued_us": _queued_us(by_torch),
        "first_s": first,
    }


def _ratios(times: Mapping[str, float]) -> dict[str, float]:
    """Return how long ours takes beside PyTorch, and beside the faster of the peers."""
    peers = [times[name] for name in ("torch", "cupy") if name in times]
    return {"ratio": times["ours"] / times["torch"], "of_best": times["ours"] / min(peers)}


def _least(row: dict[str, Any], again: dict[str, Any]) -> dict[str, Any]:
    """Return a row of the lesser times of two."""
    least = row | {name: min(us, again[name]) for name, us in row.items() if name.endswith("_us")}
    times = {name.removesuffix("_us"): us for name, us in least.items() if name.endswith("_us")}
    return least | _ratios(times)


def _is_number(row: dict[str, Any]) -> bool:
    """Tell whether a case is one of those of which microseconds are asked for."""
    return row["axis"] is None and bool(np.prod(row["shape"]) <= 1 << 20)


def _is_met(row: dict[str, Any]) -> bool:
    """Tell whether a case takes no longer than is asked for."""
    if _is_number(row):
        return bool(row["ours_us"] <= _MOST_US and row["ratio"] <= 1)
    return bool(row["ratio"] <= (1 if row["axis"] is None else _MOST_RATIO))


def _check(op: str, values: torch.Tensor, axis: int | None, found: Any) -> None:
    """Refuse a wrong answer: beside what PyTorch makes of float64."""
    wide = values.double()
    along: dict[str, Any] = {} if axis is None else {"dim": axis}
    if axis is None and op == "logsumexp":
        along = {"dim": 0}
    expected = _TORCH[op](wide, **along).cpu().numpy()
    host = found.cpu().numpy() if isinstance(found, torch.Tensor) else np.asarray(found)
    # A sum may be too large for float16.
    with np.errstate(over="ignore"):
        expected = expected.astype(host.dtype if host.dtype.kind == "f" else expected.dtype)
    # Numbers below 1: of their product is left less than any bound but for rounding to nothing.
    bound = 1e-4 if op == "prod" else 2e-3 if values.dtype == torch.float16 else 2e-6
    good = np.allclose(host.astype("f8"), expected.astype("f8"), rtol=bound, atol=1e-37)
    if not good:
        raise SystemExit(f"WRONG: {op} of {values.dtype} {tuple(values.shape)}, axis {axis}")


def _in_turns(contenders: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the median microseconds of each, the GPU's work included.

    The order is another in each turn: after milliseconds of another's kernel a call takes longer.
    """
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    order = list(contenders.items())
    shuffle = Random(0).shuffle  # noqa: S311 - no secret
    for turn in range(repeats + 5):
        shuffle(order)
        for name, call in order:
            torch.cuda.synchronize()
            began = perf_counter()
            call()
            torch.cuda.synchronize()
            if turn >= 5:
                taken[name].append(1e6 * (perf_counter() - began))
    return {name: median(times) for name, times in taken.items()}


def _queued_us(call: Callable[[], object], calls: int = 100) -> float:
    """Return the microseconds of a call among many that are not waited for one by one."""
    torch.cuda.synchronize()
    began = perf_counter()
    for _ in range(calls):
        call()
    torch.cuda.synchronize()
    return 1e6 * (perf_counter() - began) / calls


def _targets(rows: list[dict[str, Any]]) -> list[Target]:
    numbers = [r for r in rows if _is_number(r)]
    arrays = [r for r in rows if r["axis"] is not None]
    most, worst = max(numbers, key=lambda r: r["ours_us"]), max(arrays, key=lambda r: r["ratio"])
    return [
        Target(
            f"a number of up to 2^20, at most us ({most['case']})",
            most["ours_us"],
            _MOST_US,
            at_most=True,
        ),
        Target(
            f"an array, times PyTorch's ({worst['case']})",
            worst["ratio"],
            _MOST_RATIO,
            at_most=True,
        ),
    ]


if __name__ == "__main__":
    main()
