"""Every operation on every dtype, into every dtype, with every accuracy, beside fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import warpladder as wl
from choosing import large
from warpladder.reduction.ops import OPS
from warpladder.simulator import SimulatedDevice

INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
FLOATS = ("f2", "f4", "f8")
ACCURACIES = ("fast", "pairwise", "compensated", "reproducible")
#: Those for which a dtype can be asked for, and of which only the first two can be integers.
SUMS = ("sum", "prod", "mean", "var", "std", "l1", "l2", "logsumexp")
WITHOUT_NAN = ("any", "all", "count_nonzero")
#: What ``accuracy="reproducible"`` cannot be had for among floats.
NOT_EXACT = ("prod", "logsumexp")


def few_numbers(dtype):
    """Return 37 numbers whose sums and products are exact in none of the smaller types."""
    if dtype == "?":
        return np.arange(37) % 3 > 0
    if dtype in INTEGERS:
        return (
            np.arange(37) * 7 % 11 + 1 - (np.arange(37) % 2 * 9 if dtype[0] == "i" else 0)
        ).astype(dtype)
    return ((np.arange(37) * 7 % 11 - 4.75) / 4).astype(dtype)


def oracle(op, values):
    """Return the answer as a fraction, or as what it is where it is no number of that kind."""
    numbers = [Fraction(v) for v in values.tolist()]
    n, total = len(numbers), sum(numbers)
    if op in {"argmin", "argmax"}:
        best = min(numbers) if op == "argmin" else max(numbers)
        return numbers.index(best)
    answers = {
        "sum": lambda: total,
        "prod": lambda: math.prod(numbers),
        "min": lambda: min(numbers),
        "max": lambda: max(numbers),
        "ptp": lambda: max(numbers) - min(numbers),
        "mean": lambda: total / n,
        "var": lambda: sum((v - total / n) ** 2 for v in numbers) / n,
        "std": lambda: Fraction(math.sqrt(sum((v - total / n) ** 2 for v in numbers) / n)),
        "any": lambda: any(numbers),
        "all": lambda: all(numbers),
        "count_nonzero": lambda: sum(v != 0 for v in numbers),
        "logsumexp": lambda: Fraction(math.log(math.fsum(map(math.exp, numbers)))),
        "l1": lambda: sum(map(abs, numbers)),
        "l2": lambda: Fraction(math.sqrt(sum(v * v for v in numbers))),
    }
    return answers[op]()


def result_dtype(op, dtype, asked):
    if op in {"min", "max", "ptp"}:
        return np.dtype(dtype)
    if op in {"argmin", "argmax", "count_nonzero"}:
        return np.dtype(np.intp)
    if op in {"any", "all"}:
        return np.dtype(bool)
    if asked is not None:
        return np.dtype(asked)
    if dtype in FLOATS:
        return np.dtype(dtype)
    wide = {"u": "u8"}.get(dtype[0], "i8")
    return np.dtype(wide if op in {"sum", "prod"} else "f8")


def check(found, op, values, asked, exact):
    dtype = result_dtype(
        op, values.dtype.char if values.dtype.kind == "b" else values.dtype.str[1:], asked
    )
    assert found.dtype == dtype
    if dtype.kind != "f":
        # Sums and products wrap.
        wanted = np.array(int(exact) % 2**64, np.uint64).astype(dtype)
        assert found == wanted
        return
    # Where numbers are short, sums are made of float32.
    made_of = (
        np.float32
        if values.dtype.kind == "f" and max(values.itemsize, dtype.itemsize) <= 4
        else np.float64
    )
    unit, scale = np.finfo(made_of).eps, max(map(abs, map(Fraction, values.tolist())))
    slack = values.size * unit * float(scale * scale if op == "var" else scale)
    if op in {"min", "max", "ptp"}:
        slack = 0.0
    elif op == "prod":
        slack = values.size * 2.0**-53 * float(min(abs(exact), 10**300))
    with np.errstate(over="ignore"):
        wanted = dtype.type(float(exact))
    ends = np.finfo(dtype)
    tolerance = slack + (0.0 if op in {"min", "max"} else float(ends.eps) * abs(float(exact)))
    if np.isinf(wanted):
        assert found == wanted
    else:
        assert abs(float(found) - float(exact)) <= tolerance + float(ends.smallest_subnormal)


def check_cells(values, ops, asked, accuracy, device="cpu"):
    """Check operations in one pass, with and without NaNs, and return how many."""
    dtype = None if asked is None else np.dtype(asked)
    with_nan = tuple(f"nan{op}" for op in ops if op not in WITHOUT_NAN)
    both = (*ops, *with_nan)
    options = {"dtype": dtype, "accuracy": accuracy, "device": device}
    for op, found in zip(both, wl.reduce(values, both, **options), strict=True):
        name = op.removeprefix("nan")
        check(found, name, values, asked, oracle(name, values))
    if values.dtype.kind == "f":
        holes = values.copy()
        holes[[0, 5, 36]] = np.nan
        kept = holes[~np.isnan(holes)]
        for op, found in zip(both, wl.reduce(holes, both, **options), strict=True):
            name = op.removeprefix("nan")
            if op in {"nanargmin", "nanargmax"}:
                assert holes[found] == kept[oracle(name, kept)]
            elif op != name:
                check(found, name, kept, asked, oracle(name, kept))
            elif name in {"argmin", "argmax"}:
                assert found == 0
            elif name not in WITHOUT_NAN:
                assert np.isnan(found), op
    return len(both)


def cells(dtype):
    """Yield every group of operations that go together, result dtype and accuracy."""
    for accuracy in ACCURACIES:
        # Booleans have no difference.
        others = tuple(op for op in OPS if op not in SUMS and (op, dtype) != ("ptp", "?"))
        yield others, None, accuracy
        asked_dtypes = (None, *FLOATS) if dtype in FLOATS else (None, *INTEGERS, *FLOATS)
        for asked in asked_dtypes:
            ops = SUMS[:2] if asked in INTEGERS else SUMS
            is_real = dtype in FLOATS or asked in FLOATS
            if accuracy == "reproducible":
                ops = tuple(
                    op for op in ops if op != "logsumexp" and not (is_real and op in NOT_EXACT)
                )
            yield ops, asked, accuracy


@pytest.mark.large
@pytest.mark.parametrize("dtype", ["?", *INTEGERS, *FLOATS])
def test_every_cell(dtype):
    values, count = few_numbers(dtype), 0
    for ops, asked, accuracy in cells(dtype):
        count += check_cells(values, ops, asked, accuracy)
    assert count >= 200


@pytest.mark.large
@pytest.mark.parametrize("dtype", FLOATS)
def test_every_cell_on_a_gpu(dtype):
    gpu = SimulatedDevice(counters=False, checks=False, multiprocessors=1)
    values = few_numbers(dtype)
    for ops, asked, accuracy in cells(dtype):
        check_cells(values, ops, asked, accuracy, gpu)


@pytest.mark.large
def test_float16_into_float64_as_if_in_twice_the_precision():
    values = np.array([1.5, 2.5, -3], "f2")
    ops = ("sum", "mean", "l1")
    assert wl.reduce(values, ops, dtype="f8", accuracy="compensated") == (1, 1 / 3, 7)
    many = np.random.default_rng(0).standard_normal(20_000).astype("f2")
    found = wl.reduce(many, ops, dtype="f8", accuracy="compensated")
    assert found.sum == math.fsum(many.tolist())
    holes = np.append(many, np.float16("nan"))
    found = wl.reduce(holes, ("nansum", "nanmean"), dtype="f8", accuracy="compensated")
    exact = math.fsum(many.tolist())
    assert found == (exact, exact / many.size)


@pytest.mark.parametrize(
    ("dtype", "ops", "asked", "accuracy"),
    [
        ("f8", ("sum", "l1"), None, "reproducible"),
        *large(("i8", ("min", "max", "argmin", "argmax"), None, "fast")),
    ],
)
def test_cells_that_others_compile_too(dtype, ops, asked, accuracy):
    check_cells(few_numbers(dtype), ops, asked, accuracy)


def test_cells_are_all_there():
    assert {op for ops, _, _ in cells("f4") for op in ops} == set(OPS)
    found = {(asked, accuracy) for _, asked, accuracy in cells("i4")}
    assert found == set(product((None, *INTEGERS, *FLOATS), ACCURACIES))
