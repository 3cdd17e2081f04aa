"""What `reduce` remembers of a call never answers another that differs in one argument."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import warpladder as wl
from warpladder.errors import InputError, InputTypeError
from warpladder.reduction import api
from warpladder.reduction.plan import make_plan
from warpladder.reduction.quiet import quietly
from warpladder.reduction.shortcuts import afterwards, few, views


class Kind(np.ndarray):
    """A subclass whose sums NumPy would make of itself."""


def forget():
    for remembered in (few.answer, few.answer_to, views._way_to, make_plan, afterwards._known):
        remembered.cache_clear()
    afterwards._found.clear()


def outcome(values, options, *, short):
    """Return type, dtype, shape and bits of an answer, or what is said instead.

    Of operations in a tuple nothing is remembered but plans, and nothing is short.
    """
    options = {**options}
    op, out = options.pop("op"), options.pop("out")
    out = None if out is None else out.copy()
    is_tuple = isinstance(op, tuple)
    if not (short or is_tuple):
        op, out = (op,), None if out is None else (out,)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = wl.reduce(values, op, out=out, **options)
    except (InputError, InputTypeError) as fault:
        return type(fault), str(fault)
    (found,) = found if isinstance(op, tuple) else (found,)
    return type(found), found.dtype.char, found.shape, np.asarray(found).tobytes()


NUMBERS = (np.arange(24) * 7 % 11).reshape(4, 6)


def ignore(_fraction):
    pass


def kept_read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


# How the numbers lie and what they are, each with shape (4, 6) or (6, 4).
VALUES = {
    "plain": NUMBERS.astype,
    "turned": lambda dtype: NUMBERS.astype(dtype).reshape(6, 4),
    "backwards": lambda dtype: NUMBERS.astype(dtype)[:, ::-1],
    "every other": lambda dtype: NUMBERS.repeat(2, axis=1).astype(dtype)[:, ::2],
    "in columns": lambda dtype: np.asfortranarray(NUMBERS.astype(dtype)),
    "swapped": lambda dtype: NUMBERS.astype(np.dtype(dtype).newbyteorder()),
    "unaligned": lambda dtype: np.ndarray(
        (4, 6), dtype, b"\0" + NUMBERS.astype(dtype).tobytes() + b"\0", 1
    ),
    "read-only": lambda dtype: kept_read_only(NUMBERS.astype(dtype)),
    "subclass": lambda dtype: NUMBERS.astype(dtype).view(Kind),
    "masked": lambda dtype: np.ma.array(NUMBERS.astype(dtype), mask=NUMBERS % 2),
    "flat": lambda dtype: NUMBERS.astype(dtype).ravel(),
    "no axis": lambda dtype: np.array(5, dtype),
    "empty": lambda dtype: np.empty((4, 0), dtype),
    "list": lambda dtype: [NUMBERS.astype(dtype)[0]] * 4,
}
MASK = NUMBERS % 3 > 0

ARGUMENTS = {
    "values": tuple(VALUES),
    # Two of these are equal, and scalars of them are of two types.
    "elements": ("f4", "l", "q", "?", "i1"),
    "op": ("sum", "max", "argmax", np.add, np.maximum, "middle", ("sum",)),
    "axis": (None, 0, 1, -1, 2, True, 1.0, np.int64(1), (0,), (0, 1), (), "0"),
    "where": (None, MASK, MASK[:, ::-1], MASK[0], MASK.view("u1"), MASK.tolist(), ~MASK & MASK),
    "keepdims": (False, True, 0, 1, np.True_, None),
    "ddof": (0, 1, True, 0.0, "0"),
    "accuracy": ("fast", "pairwise", "reproducible", "slow", 1),
    "dtype": (None, "f8", np.float64, np.dtype("f8"), "l", "q", "i1", "nothing"),
    "initial": (None, 0, 1, 0.0, True, np.nan, "0"),
    "out": (None, np.empty(6), np.empty(6, "f4"), np.empty(4, "l"), np.empty((), "f4")),
    "device": ("auto", "cpu", "gpu", None),
    "progress": (None, ignore, 3),
}
NAMES = st.sampled_from(sorted(ARGUMENTS))


def call(given, *, short=True):
    given = dict(given)
    values = VALUES[given.pop("values")](given.pop("elements"))
    return outcome(values, given, short=short)


@settings(max_examples=200)
@given(st.data())
def test_one_argument_makes_another_call(data):
    first = {name: choices[0] for name, choices in ARGUMENTS.items()}
    for name in data.draw(st.lists(NAMES, max_size=3, unique=True), "said"):
        first[name] = data.draw(st.sampled_from(ARGUMENTS[name]), name)
    changed = data.draw(NAMES, "changed")
    second = first | {changed: data.draw(st.sampled_from(ARGUMENTS[changed]), "into")}
    cold = []
    for given_now in (first, second):
        forget()
        cold.append(call(given_now))
        assert cold[-1] == call(given_now, short=False)
    # The last call of these went before; now each follows the other, and itself.
    assert [call(first), call(first), call(second), call(second), call(first)] == [
        *(cold[0], cold[0], cold[1], cold[1], cold[0])
    ]


@pytest.mark.parametrize("axis", [None, 0])
def test_equal_dtypes_have_scalars_of_their_own(axis):
    for kinds in ("lq", "ql"):
        forget()
        for kind in kinds:
            values = np.ones((3, 3), kind)
            assert wl.reduce(values, "max", axis=axis).dtype.char == kind


@pytest.mark.parametrize(
    "options",
    [
        *({"dtype": kind} for kind in (float, np.float64, "f8", np.dtype("f8"))),
        *({"axis": 0, "dtype": "f4"}, {"axis": np.int8(1)}, {"axis": np.int64(-1), "dtype": "f8"}),
        *({"out": np.empty((), "i4")}, {"axis": 0, "out": np.empty(6, "f8"), "dtype": "f8"}),
    ],
)
def test_options_that_keep_to_the_short_way(monkeypatch, options):
    monkeypatch.setattr(api, "_reduce_new", lambda *_: pytest.fail("this is the long way"))
    values = NUMBERS.astype("i4")
    op = "sum" if "dtype" in options else "max"
    found, expected = wl.reduce(values, op, **options), getattr(np, op)(values, **options)
    assert np.array_equal(found, expected)
    assert found.dtype == expected.dtype
    assert found is options.get("out", found)


def test_memory_that_is_remembered_is_bounded():
    for rows in range(1, 1500):
        wl.reduce(np.ones((rows, 2), np.float32), axis=1)
    kept = few.answer_to.cache_info()
    assert kept.currsize <= kept.maxsize < 1500


def test_results_of_two_calls_share_no_memory():
    values = np.arange(64, dtype=np.float32).reshape(8, 8)
    for options in ({"axis": 0}, {"axis": 1}, {"keepdims": True}, {"axis": 1, "where": values > 3}):
        for op in ("sum", "max", "argmax", "var"):
            first = wl.reduce(values, op, **options)
            bits = first.tobytes()
            second = wl.reduce(values + 1, op, **options)
            assert not np.shares_memory(first, second)
            assert not np.shares_memory(first, values)
            assert first.tobytes() == bits


def test_calls_with_axes_at_once_do_not_meet():
    arrays = [np.full((40, 25), i, np.float32) for i in range(64)]
    with ThreadPoolExecutor(8) as pool:
        for axis, length in ((0, 40), (1, 25)):
            calls = [lambda a=array, axis=axis: wl.reduce(a, axis=axis) for array in arrays]
            for i, found in enumerate(pool.map(lambda ask: ask(), calls)):
                assert (found == length * i).all()


def test_warnings_are_off_in_several_threads_at_once_and_nowhere_else():
    both = Barrier(2, timeout=30)

    def divide():
        both.wait()
        return quietly(lambda: (both.wait(), np.ones(2) / 0)[1])

    said = np.geterr()
    with ThreadPoolExecutor(2) as pool:
        for found in pool.map(lambda _: divide(), range(2)):
            assert np.isinf(found).all()
    assert np.geterr() == said
    with np.errstate(all="raise"):
        assert np.isnan(wl.reduce(np.zeros((2, 1)), "var", axis=1, ddof=1)).all()
        with pytest.raises(FloatingPointError):
            np.ones(2) / 0
