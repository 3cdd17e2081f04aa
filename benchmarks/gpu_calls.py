"""Time whole calls of `reduce` on arrays of a GPU, beside those of PyTorch and CuPy.

    python benchmarks/gpu_calls.py --out DIR

What a caller waits for: from the call until the GPU is done and, where the whole array is reduced,
the number is on the host. The libraries take turns, in an order that changes, so that all meet the
same states of the machine; medians of many. Every answer is checked against PyTorch's in float64
first. "Prepared" is what `reduce.prepare` makes, where it can, "queued" a call among many that
nobody waits for. Cases that miss what is asked for are timed once more at the end, since who shares
the host may slow it down for as long as a case takes; of both times the lesser of each contender
counts.

Ten operations give numbers and arrays, and so do sums of other dtypes. All others are timed where
they give arrays: on every shape, but those that are rare, and other dtypes, on one. Most of the
time goes to kernels that are compiled for the first time, so CuPy takes part in the ten and where
PyTorch has no one function, not in all. Who refuses a case is left out of it.

Arrays that lie otherwise, several axes and options of the call have cases of their own; an
operation of the caller's, the larger of two numbers, stands beside PyTorch's ``amax`` and a
reduction kernel of CuPy's that is as much the caller's own. With
``--drawn N`` cases that nobody chose are timed instead: any shape of 2^8 to 2^24 numbers, any axes,
dtype, layout and option.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from itertools import product
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import warpladder as wl
from gpu_timing import described, write_record
from report import Target, print_table, print_targets
from warpladder.device.select import gpu
from warpladder.errors import InputError

try:
    import cupy
    import torch

    from gpu_call_peers import of_cupy, of_torch, own_max_of_cupy, with_option
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
#: On every shape with an axis; on that of all rows and columns alike.
_OPS_OF_ARRAYS = ("min", "ptp", "argmin", "var", "all", "l1", "nansum", "nanmean")
_RARE_OPS = (
    *("nanmin", "nanmax", "nanptp", "nanargmin", "nanargmax", "nanprod", "nanvar", "nanstd"),
    *("nanlogsumexp", "nanl1", "nanl2"),
)
_OPS_OF_MORE_DTYPES = ("max", "argmax", "mean", "var", "ptp")
_MORE_DTYPES = ("int32", "float64")
_SQUARE = (4096, 4096)
#: The channels of images, their pixels; axes apart; parts of larger arrays; axes that are turned.
_LAID: tuple[tuple[Any, ...], ...] = (
    ((64, 256, 56, 56), (0, 2, 3)),
    ((64, 256, 56, 56), (2, 3)),
    ((64, 56, 56, 256), (0, 1, 2)),
    ((64, 1000, 6, 64), (0, 2)),
    ((4096, 4096), None, "edges cut off"),
    ((64, 3, 512, 512), (2, 3), "edges cut off"),
    ((256, 256, 256), 1, "in Fortran order"),
    ((256, 256, 256), 2, "every second"),
)
_OPS_LAID = ("sum", "max", "mean", "var")
#: What else is asked for, and of which operations.
_OPTIONS: dict[str, tuple[str, ...]] = {
    "sum": ("masked", "into float64", "out", "from 1", "exact"),
    "max": ("masked", "out", "from 1", "own"),
    "mean": ("masked",),
}
#: The same as an operation of the caller's.
_OWN_MAX = wl.AssociativeOp(max, -np.inf, name="own_max")
_THAT_CHANGE_RESULTS = ("masked", "from 1")
_SHAPES_WITH_OPTIONS: tuple[tuple[tuple[int, ...], int | None], ...] = (
    *(((1 << 20,), None), ((1 << 24,), None)),
    *(((32, 32), 1), (_SQUARE, 0), (_SQUARE, 1), ((64, 1000, 64), 1)),
)
#: Of cases that nobody chose: as they are, mostly, or parts of larger arrays, or transposed.
_LAYOUTS = ("", "", "", "in Fortran order", "edges cut off", "every second")
_FLOATS = ("float16", "float32", "float64")
_DRAWN_DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", *_FLOATS)
_FLOATS_ALONE = ("mean", "std", "l2", "logsumexp", "prod")
#: PyTorch takes no more.
_OVER_ONE_AXIS = ("argmax", "prod")
#: Every so many elements are NaN where NaNs are skipped: it divides none of the shapes' sides.
_NAN_EVERY = 11
#: Asked for: microseconds of a number up to 2^20, and how much longer than PyTorch an array.
_MOST_US, _MOST_RATIO = 40.0, 1.3
#: How far an answer may be from that of float64, by its dtype; others are the same.
_BOUNDS = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-11}
_SHOWN = (
    *("case", "ratio", "of_best", "ours_us", "torch_us", "cupy_us", "prepared_us"),
    *("queued_us", "torch_queued_us", "first_s", "torch_steps"),
)


class Case(NamedTuple):
    """An operation on a dtype, over some axes of a shape or over all of it.

    Of an array that lies so, and with an option.
    """

    op: str
    dtype: str
    shape: tuple[int, ...]
    axis: int | tuple[int, ...] | None
    layout: str = ""
    option: str = ""

    @property
    def name(self) -> str:
        """As the table has it."""
        axes = self.axis if isinstance(self.axis, tuple) else (self.axis,)
        axis = "" if self.axis is None else f" axis {' '.join(map(str, axes))}"
        more = "".join(f", {each}" for each in (self.layout, self.option) if each)
        return f"{self.op} {self.dtype} {'x'.join(map(str, self.shape))}{axis}{more}"


def main() -> None:
    """Check, time, print and write."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--ops", nargs="*", default=None, help="these operations alone")
    options.add_argument("--repeats", type=int, default=40)
    options.add_argument("--seconds", type=float, default=240, help="start no case after these")
    options.add_argument("--drawn", type=int, help="so many cases that nobody chose, instead")
    given = options.parse_args()
    every = _cases() if given.drawn is None else _drawn_cases(given.drawn)
    cases = [case for case in every if given.ops is None or case.op in given.ops]
    rows: list[dict[str, Any]] = []
    began = perf_counter()
    for place, case in enumerate(cases):
        if perf_counter() - began > given.seconds:
            print(f"{len(cases) - place} cases are left out: no time for them")
            break
        started = perf_counter()
        row = _measured(case, given.repeats)
        if row is not None:
            rows.append(row | {"case_s": perf_counter() - started})
    for place, row in enumerate(rows):
        if not _is_met(row) and perf_counter() - began < 1.1 * given.seconds:
            again = _measured(Case(*(row[name] for name in Case._fields)), given.repeats)
            rows[place] = _least(row, again or row)
    seconds = perf_counter() - began
    rows.sort(key=lambda row: -row.get("ratio", 0))
    shown = [{name: row.get(name, "") for name in _SHOWN} for row in rows]
    print_table("calls of reduce on a GPU, the slowest beside PyTorch first", shown)
    targets = _targets(rows)
    print_targets(targets)
    document = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": described(),
        "gpu": gpu().properties.name,
        "torch": torch.__version__,
        "cupy": cupy.__version__,
        "seconds": seconds,
        "cases_left_out": len(cases) - len(rows),
        "rows": rows,
        "targets": targets,
    }
    write_record(given.out, "gpu_calls" if given.drawn is None else "gpu_calls_drawn", document)


def _cases() -> Iterator[Case]:
    """Yield all cases; should time run out, those that matter least are the last."""
    arrays = [shape for shape in _SHAPES if shape[1] is not None]
    square = [shape for shape in arrays if shape[0] == _SQUARE]
    yield from (Case(op, "float32", *shape) for op in _OPS for shape in _SHAPES)
    yield from (Case("sum", dtype, *shape) for dtype in _DTYPES for shape in _SHAPES)
    for op, laid in product(_OPS_LAID, _LAID):
        yield Case(op, "float32", *laid)
    for (op, options), shape in product(_OPTIONS.items(), _SHAPES_WITH_OPTIONS):
        yield from (Case(op, "float32", *shape, "", option) for option in options)
    for ops, dtypes, shapes in (
        (_OPS_OF_ARRAYS, ("float32",), arrays),
        (_OPS_OF_MORE_DTYPES, _MORE_DTYPES, square),
        (_RARE_OPS, ("float32",), square),
    ):
        yield from (Case(op, d, *shape) for op in ops for d in dtypes for shape in shapes)


def _drawn_cases(count: int) -> Iterator[Case]:
    """Yield cases that nobody chose, the same ones each time."""
    rng = np.random.default_rng(5)
    for _ in range(count):
        shares = rng.random(rng.integers(1, 5))
        sides = 2 ** (shares / shares.sum() * rng.uniform(8, 24))
        shape = tuple(max(round(side), 1) for side in sides.tolist())
        op = str(rng.choice(_OPS))
        most = min(1 if op in _OVER_ONE_AXIS else 2, len(shape) - 1)
        axes = rng.choice(len(shape), rng.integers(0, most + 1), replace=False).tolist()
        axis = tuple(sorted(axes)) if len(axes) > 1 else axes[0] if axes else None
        dtype = str(rng.choice(_DRAWN_DTYPES if op not in _FLOATS_ALONE else _FLOATS))
        option = str(rng.choice(("", "", *_OPTIONS.get(op, ())))) if dtype in _FLOATS else ""
        yield Case(op, dtype, shape, axis, str(rng.choice(_LAYOUTS)), option)


def _measured(case: Case, repeats: int) -> dict[str, Any] | None:
    """Return the times of a case, None where nobody tells whether its answer is right."""
    values = _drawn(case)
    asked, is_own = _options(case, values), case.option == "own"
    op = _OWN_MAX if is_own else case.op
    ours = partial(wl.reduce, values, op, axis=case.axis, **asked)
    began = perf_counter()
    found = ours()
    first = perf_counter() - began
    if not _is_checked(case, values, found, asked):
        return None
    contenders: dict[str, Callable[[], Any]] = {"ours": ours}
    steps = ""
    with _leaving_out(case, "torch"):
        by_torch, steps = with_option(of_torch(case.op, case.dtype), case.op, case.option, asked)
        contenders["torch"] = _tried(partial(by_torch, values, **_along(case)))
    # Not for what is finished on the host.
    with suppress(InputError):
        if is_own or not case.option:
            prepared = wl.reduce.prepare(values, op, axis=case.axis)
            contenders["prepared"] = partial(prepared, values)
    by_cupy = own_max_of_cupy() if is_own else None if case.option else of_cupy(case.op)
    is_needed = is_own or steps or "torch" not in contenders or _is_of_the_ten(case)
    if by_cupy is not None and is_needed:
        with _leaving_out(case, "cupy"):
            there = cupy.from_dlpack(values)
            contenders["cupy"] = _tried(partial(by_cupy, there, axis=case.axis))
    waited = contenders
    if case.axis is None and case.option != "out":
        # Ours brings the number to the host by itself.
        waited = {name: _to_host(call) for name, call in contenders.items()} | {"ours": ours}
    times = _in_turns(waited, repeats)
    queued = {"queued_us": "prepared", "torch_queued_us": "torch"}
    return {
        "case": case.name,
        **case._asdict(),
        **_ratios(times),
        **{f"{name}_us": us for name, us in times.items()},
        **{us: _queued_us(contenders[name]) for us, name in queued.items() if name in contenders},
        "first_s": first,
        **({"torch_steps": steps} if steps else {}),
    }


def _drawn(case: Case) -> torch.Tensor:
    generator = torch.Generator(device="cuda").manual_seed(0)
    drawn = torch.rand(case.shape, generator=generator, device="cuda", dtype=torch.float32)
    if case.op.startswith("nan"):
        drawn.reshape(-1)[::_NAN_EVERY] = torch.nan
    whole = "int" in case.dtype
    return _laid((drawn * 100 if whole else drawn).to(getattr(torch, case.dtype)), case.layout)


def _options(case: Case, values: torch.Tensor) -> dict[str, Any]:
    """Return what ours is asked for besides."""
    match case.option:
        case "masked":
            generator = torch.Generator(device="cuda").manual_seed(1)
            mask = torch.rand(case.shape, generator=generator, device="cuda") < 0.5
            # For every result it leaves something.
            axes = range(len(case.shape)) if case.axis is None else np.atleast_1d(case.axis)
            every = range(len(case.shape))
            mask[tuple(slice(0, 1) if axis in axes else slice(None) for axis in every)] = True
            return {"where": mask}
        case "into float64":
            return {"dtype": "float64"}
        case "from 1":
            return {"initial": 1}
        case "exact":
            return {"accuracy": "reproducible"}
        case "out":
            like = wl.reduce(values, case.op, axis=case.axis)
            return {"out": values.new_empty(tuple(like.shape))}
    return {}


def _laid(values: torch.Tensor, layout: str) -> torch.Tensor:
    """Return the same numbers as they lie in a part of a larger array, or in another order."""
    shape = values.shape
    if not layout:
        return values
    if layout == "in Fortran order":
        laid = values.new_empty(shape[::-1]).permute(*range(len(shape))[::-1])
    elif layout == "every second":
        laid = values.new_empty((*shape[:-1], 2 * shape[-1]))[..., ::2]
    else:
        laid = values.new_empty([n + 2 for n in shape])[(slice(1, -1),) * len(shape)]
    return laid.copy_(values)


def _along(case: Case) -> dict[str, Any]:
    """Return how PyTorch is told the axis: all of them by nothing, but not everywhere."""
    if case.axis is None:
        return {"dim": tuple(range(len(case.shape)))} if case.op == "logsumexp" else {}
    return {"dim": case.axis}


def _is_of_the_ten(case: Case) -> bool:
    return case.op in _OPS and (case.dtype == "float32" or case.op == "sum")


@contextmanager
def _leaving_out(case: Case, name: str) -> Iterator[None]:
    """Say that somebody is left out of a case, whatever stands against it, and go on."""
    try:
        yield
    except Exception as fault:  # noqa: BLE001 - what a peer refuses costs no more than its column
        print(f"{case.name}: {name} is left out: {type(fault).__name__}: {fault}")


def _tried(call: Callable[[], Any]) -> Callable[[], Any]:
    """Return a call that was made once: some refuse when they are called, some when it is done."""
    call()
    torch.cuda.synchronize()
    return call


def _to_host(call: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: call().item()


def _ratios(times: Mapping[str, float]) -> dict[str, float]:
    """Return how long ours takes beside PyTorch, and beside the faster of the peers."""
    peers = [times[name] for name in ("torch", "cupy") if name in times]
    of_torch_alone = {"ratio": times["ours"] / times["torch"]} if "torch" in times else {}
    return of_torch_alone | ({"of_best": times["ours"] / min(peers)} if peers else {})


def _least(row: dict[str, Any], again: dict[str, Any]) -> dict[str, Any]:
    """Return a row of the lesser times of two."""
    names = [name for name in row if name.endswith("_us")]
    least = row | {name: min(row[name], again.get(name, row[name])) for name in names}
    return least | _ratios({name.removesuffix("_us"): least[name] for name in names})


def _is_number(row: dict[str, Any]) -> bool:
    """Tell whether a case is one of those of which microseconds are asked for."""
    return row["axis"] is None and bool(np.prod(row["shape"]) <= 1 << 20)


def _is_met(row: dict[str, Any]) -> bool:
    """Tell whether a case takes no longer than is asked for, where PyTorch takes part."""
    ratio = 0 if row["option"] == "exact" else row.get("ratio", 0)
    if _is_number(row):
        return bool(row["ours_us"] <= _MOST_US and ratio <= 1)
    return bool(ratio <= (1 if row["axis"] is None else _MOST_RATIO))


def _is_checked(case: Case, values: torch.Tensor, found: Any, asked: Mapping[str, Any]) -> bool:
    """Refuse a wrong answer: beside what PyTorch makes of float64, false where it makes nothing."""
    with _leaving_out(case, "the check"):
        option = case.option if case.option in _THAT_CHANGE_RESULTS else ""
        call, _ = with_option(of_torch(case.op, "float64"), case.op, option, asked)
        expected = call(values.double(), **_along(case)).cpu().numpy()
        _check(case, found, expected)
        return True
    return False


def _check(case: Case, found: Any, expected: Any) -> None:
    host = found.cpu().numpy() if isinstance(found, torch.Tensor) else np.asarray(found)
    # A sum may be too large for float16.
    with np.errstate(over="ignore"):
        expected = expected.astype(host.dtype if host.dtype.kind == "f" else expected.dtype)
    # Places, counts and truths are the same. Of products of numbers below 1 little is left.
    bound = 1e-4 if case.op.endswith("prod") else _BOUNDS.get(host.dtype.name, 0.0)
    # A square is twice as far off as its root.
    bound *= 2 if case.op.endswith("var") else 1
    ours, others = host.astype("f8"), expected.astype("f8")
    if not np.allclose(ours, others, rtol=bound, atol=1e-37, equal_nan=True):
        far = np.nanmax(np.abs(ours - others) / np.maximum(np.abs(others), 1e-37))
        raise SystemExit(f"WRONG: {case.name}, by up to {far:.2g} of what is right")


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
    numbers = [row for row in rows if _is_number(row)]
    # PyTorch has no sum that is the same in any order.
    arrays = [
        row
        for row in rows
        if row["axis"] is not None and "ratio" in row and row["option"] != "exact"
    ]
    targets = []
    if numbers:
        most = max(numbers, key=lambda row: float(row["ours_us"]))
        name = f"a number of up to 2^20, at most us ({most['case']})"
        targets.append(Target(name, most["ours_us"], _MOST_US, at_most=True))
    if arrays:
        worst = max(arrays, key=lambda row: float(row["ratio"]))
        name = f"an array, times PyTorch's ({worst['case']})"
        targets.append(Target(name, worst["ratio"], _MOST_RATIO, at_most=True))
    return targets


if __name__ == "__main__":
    main()
