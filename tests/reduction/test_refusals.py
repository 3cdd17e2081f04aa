"""What is not taken: every refusal names the argument, what is wrong and what to do."""

from __future__ import annotations

import numpy as np
import pytest

import warpladder as wl
from warpladder.errors import InputError, InputTypeError

LONG = np.longdouble(1).itemsize > 8


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1j], r"values: dtype complex128 is not taken; reduce \.real and \.imag"),
        (["a"], "values: dtype <U1 is not taken; only booleans, integers and floats"),
        ([None], "values: dtype object"),
        ([2**70], "values: dtype object .* fit 64 bits"),
        (np.array(["2020-01-01"], "M8[D]"), "values: dtype datetime64"),
        (np.zeros(2, [("a", "f4")]), "values: dtype"),
        ([[1], [1, 2]], "values: cannot be read as an array"),
        ({1, 2}, "values: dtype object"),
        (None, "values: dtype object"),
        (iter([[1.0], [1]]), "chunk 1 is of int64, those before of float64"),
        (iter([["a"]]), "values: chunk 0: dtype"),
        *([(np.ones(2, np.longdouble), r"values: dtype .* use \.astype")] if LONG else []),
    ],
)
def test_values(values, message):
    with pytest.raises(InputTypeError, match=message):
        wl.reduce(values)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"op": "median"}, "op='median' is not known; use one of sum, prod"),
        ({"op": "nanany"}, "op='nanany' is not known"),
        ({"op": ()}, "op: at least one operation"),
        ({"op": ("sum", "sum")}, "op: 'sum' is asked for twice"),
        ({"accuracy": "best"}, "accuracy='best' is not known; use one of fast"),
        ({"accuracy": "reproducible", "op": "prod"}, "cannot be had for prod"),
        ({"accuracy": "reproducible", "op": ("sum", "logsumexp")}, "cannot be had for logsumexp"),
        ({"axis": 2}, "axis=2 is out of range for values of 2 dimensions"),
        ({"axis": (0, -2)}, r"axis=\(0, -2\) names an axis twice"),
        ({"axis": ()} | {"op": "argmin"}, "gives indices along one axis"),
        ({"dtype": "i4"}, "dtype=int32 cannot hold sum of float64; use float16, float32 or"),
        ({"dtype": "c16"}, "dtype=complex128 cannot hold sum"),
        ({"dtype": "f4", "op": ("min", "any")}, "dtype=float32 has no meaning for min, any"),
        ({"where": [True, False, True]}, r"where: its shape \(3,\) does not broadcast"),
        ({"where": False, "op": "max"}, "where: max is not defined where the mask leaves no"),
        ({"device": "tpu"}, "device='tpu' is not known"),
    ],
)
def test_options(options, message):
    with pytest.raises(InputError, match=message):
        wl.reduce(np.ones((2, 2)), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"op": 3}, "op: a name, an AssociativeOp or a tuple"),
        ({"op": ("sum", 3)}, "op: 3 is no name"),
        ({"axis": 1.5}, r"axis=1\.5 must be None, an integer"),
        ({"dtype": "nonsense"}, "dtype='nonsense' is not known"),
        ({"where": [0, 1]}, "where: a mask of booleans is needed, not dtype int64"),
    ],
)
def test_kinds_of_options(options, message):
    with pytest.raises(InputTypeError, match=message):
        wl.reduce(np.ones((2, 2)), **options)


@pytest.mark.parametrize("op", ["min", "max", "argmin", "argmax", "nanmin"])
def test_nothing_has_no_extremum(op):
    for values, axis in ((np.empty(0), None), (np.empty((3, 0)), 1), (np.empty((0, 2), "i4"), 0)):
        with pytest.raises(InputError, match=f"values: {op.removeprefix('nan')}|values: {op}"):
            wl.reduce(values, op, axis=axis)
    with pytest.raises(InputError, match="is not defined"):
        wl.reduce(iter([]), op)


def test_only_nan_has_no_index():
    with pytest.raises(InputError, match="values: nanargmin is not defined where there are only"):
        wl.reduce([[np.nan, np.nan], [1.0, 2.0]], "nanargmin", axis=1)


def test_chunks_have_no_axes():
    for option in ({"axis": 0}, {"where": True}):
        with pytest.raises(InputError, match=f"{next(iter(option))}: it has no meaning for chunks"):
            wl.reduce(iter([[1.0]]), **option)
