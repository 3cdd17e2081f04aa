"""What counts as the same answer, and what is said of answers that differ."""

from __future__ import annotations

from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest

from warpladder.lab.compare import difference, named_arrays, poison, uncompared
from warpladder.simulator import SimulatedDevice

Pair = namedtuple("Pair", "left right")
AOS = np.dtype([("x", "f4"), ("id", "i4")])


def f32(*values):
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    "answer",
    [
        f32(),
        f32(1, np.nan, np.inf, -0.0),
        np.float64(3),
        np.array(7, np.int64),
        np.zeros((3, 0)),
        np.arange(12).reshape(3, 4).T,
        np.array([1 + 2j, np.nan]),
        np.ones(3, AOS),
        np.array([True, False]),
        (f32(1), np.arange(3)),
    ],
)
def test_an_answer_equals_itself_and_a_copy(answer):
    again = tuple(map(np.copy, answer)) if isinstance(answer, tuple) else np.copy(answer)
    for tolerance in (None, (0.0, 0.0), (1e-6, 1e-6)):
        assert difference(answer, again, tolerance) == ""


def test_the_payload_of_a_nan_does_not_matter():
    other = np.array([0xFFC12345], np.uint32).view(np.float32)
    assert difference(f32(np.nan), other) == ""


@pytest.mark.parametrize(
    ("expected", "found", "said"),
    [
        (f32(1, 2), f32(1, 3), "result[1]: expected 2.0, found 3.0; 1 of 2 differ, by up to 1,"),
        (f32(1, 2), f32(1, np.inf), "found inf; 1 of 2 differ, where equal bits are asked for"),
        (f32(0.1), np.nextafter(f32(0.1), f32(1)), "expected 0.1, found 0.10000001"),
        (f32(0.0), f32(-0.0), "expected 0.0, found -0.0"),
        (f32(1), f32(np.nan), "found nan (memory that was never written holds nan too)"),
        (f32(np.nan), f32(1), "expected nan, found 1.0"),
        (f32(np.inf), f32(-np.inf), "expected inf, found -inf"),
        (f32(1, 2), f32(1), "expected shape (2,), found (1,)"),
        (f32(1), f32(1)[0], "expected shape (1,), found ()"),
        (f32(1), np.array([1.0]), "expected dtype float32, found float64"),
        (np.array([1], np.int32), np.array([1], np.uint32), "expected dtype int32, found uint32"),
        (np.array(1), np.array(2), "result: expected 1, found 2"),
        (np.zeros((2, 3)), np.eye(2, 3), "result[0, 0]: expected 0.0, found 1.0; 2 of 6"),
        (np.array([2**63 - 1]), np.array([-(2**63)]), "by up to 1.84467e+19"),
        (np.array([1 + 1j]), np.array([1 + 2j]), "result.imag[0]: expected 1.0, found 2.0"),
        (np.array([complex(np.nan, 1)]), np.array([complex(np.nan, 2)]), "result.imag[0]"),
        (np.zeros(2, AOS), np.array([(0, 0), (0, 5)], AOS), "result['id'][1]: expected 0, found 5"),
        (np.array([0, 3]), poison(2, np.int64), "found -6510615555426900571 (this place was never"),
        ((f32(1), f32(2)), (f32(1), f32(3)), "result[1][0]: expected 2.0"),
        ((f32(1), f32(2)), (f32(1),), "expected result[0], result[1], found result[0]"),
        (f32(1), (f32(1),), "expected result, found result[0]"),
        (f32(1), None, "found result of type NoneType, which holds no array"),
        (f32(1), SimulatedDevice().empty(1, "f4"), "device, from where device.to_host() brings it"),
    ],
)
def test_what_differs_is_said(expected, found, said):
    assert said in difference(expected, found)


@pytest.mark.parametrize(
    ("expected", "found", "same"),
    [
        (0.0, 0.25, True),
        (0.0, 0.26, False),
        (100.0, 125.25, True),
        (100.0, 125.26, False),
        (-100.0, -125.25, True),
        (-100.0, -125.26, False),
        (0.0, -0.0, True),
        (0.0, np.nan, False),
        (np.nan, 0.0, False),
        (np.inf, 1.0, False),
        (1.0, np.inf, False),
        (np.inf, -np.inf, False),
        (np.inf, np.inf, True),
        (1e308, -1e308, False),
    ],
)
def test_a_tolerance_is_relative_plus_absolute_and_for_finite_values(expected, found, same):
    said = difference(np.array([expected]), np.array([found]), tolerance=(0.25, 0.25))
    assert (said == "") == same


def test_the_tolerance_is_said():
    said = difference(f32(1), f32(2), (0.1, 0.01))
    assert "by up to 1, where 0.1 of the value + 0.01 is allowed" in said


def test_records_are_walked_through():
    record = Pair({"a": np.zeros(1)}, [SimpleNamespace(size=3), "text", None])
    names = [name for name, _ in named_arrays(record, "problem")]
    assert names == ["problem.left['a']", "problem.right[0]['size']"]


def test_answers_of_other_parts_are_told_with_a_few_of_them():
    assert difference([], f32(1)) == "expected nothing, found result"
    said = difference([1] * 1000, f32(1))
    assert said.startswith("expected result[0], result[1], ")
    assert said.endswith(", result[5] and 994 more, found result")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (f32(1), ""),
        ((1, None, {"a": True}), ""),
        (None, "result of type NoneType"),
        ({(1, 2)}, "result of type set"),
        ({"size": 1, "names": ["a"]}, "result['names'][0] of type str"),
        (np.array(["a"]), "result of type array of <U1"),
        (np.array([{1}]), "result of type array of object"),
        (
            np.zeros(1, [("id", "i4"), ("day", "M8[D]")]),
            "result['day'] of type array of datetime64",
        ),
    ],
)
def test_what_nothing_compares_is_named(answer, told):
    assert uncompared(answer)[: len(told) or None] == told


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "i1", "u4", "i8", "?", AOS])
@pytest.mark.parametrize("shape", [(), 3, (2, 2), (0,)])
def test_poison_equals_no_answer(dtype, shape):
    array = poison(shape, dtype)
    assert array.shape == np.empty(shape, dtype).shape
    assert array.dtype == np.dtype(dtype)
    for answer in (np.zeros(shape, dtype), np.ones(shape, dtype)):
        assert (difference(answer, array) == "") == (array.size == 0)
