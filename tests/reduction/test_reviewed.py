"""What a reviewer broke, and what it does now."""

from __future__ import annotations

import copy
import os
import pickle
import sys

import numpy as np
import pytest
from numba import njit

import warpladder as wl
from choosing import large
from warpladder import errors
from warpladder.reduction import intake
from warpladder.reduction.cpu import jobs
from warpladder.reduction.loops.states import FoldSpec, merge_kernel, new_states
from warpladder.simulator import SimulatedDevice


def test_numbers_without_dimensions_one_at_a_time():
    assert wl.reduce(iter([1.0, 2.0, 3.0])) == 6
    assert wl.reduce(iter([1.0, 2.0, 3.0]), ("sum", "max")) == (6, 3)
    assert wl.reduce(np.array(3.5), ("sum", "max")) == (3.5, 3.5)


def test_a_name_like_an_inner_field_takes_nothing_from_it():
    xor = wl.AssociativeOp(lambda a, b: a ^ b, 0, name="total")
    assert wl.reduce(np.arange(1, 6), ("sum", xor)) == (15, 1)
    larger = wl.AssociativeOp(lambda a, b: max(b, a), 0, name="low")
    assert wl.reduce(np.arange(1, 6), ("min", larger)) == (1, 5)


@pytest.mark.parametrize("name", ["my op", "class", "_x"])
def test_names_that_no_field_can_have(name):
    with pytest.raises(errors.InputError, match="cannot be the name of a field"):
        wl.AssociativeOp(lambda a, b: a + b, 0, name=name)


def test_the_other_byte_order():
    assert wl.reduce(np.arange(5, dtype=">f4")) == 10


def test_chunks_of_either_byte_order_and_of_nothing():
    chunks = [[], np.ones(2, ">f4"), np.ones(3, "<f4"), [], np.ones(1, ">f4")]
    for one in (chunks, chunks[::-1]):
        total = wl.reduce(iter(one))
        assert total == 6
        assert total.dtype == np.float32
    assert wl.reduce(iter([[], [1, 2], []]), "argmax") == 1


def test_chunks_of_nothing_in_a_dtype():
    for dtype in ("i8", "u1", "f4", "f8"):
        for chunks in ([], [[]], [[], []]):
            found = wl.reduce(iter(chunks), dtype=dtype)
            expected = wl.reduce(np.empty(0, dtype), dtype=dtype)
            assert found == expected
            assert found.dtype == expected.dtype
    found = wl.reduce(iter([[], [1, 2], []]), dtype="i4")
    assert found == 3
    assert found.dtype == np.int32
    assert wl.reduce(iter([np.empty(0, "f4")])).dtype == np.float32
    with pytest.raises(errors.InputError, match="cannot hold sum of float64"):
        wl.reduce(iter([[1.5]]), dtype="i8")


def test_a_generator_that_fails():
    def chunks():
        yield np.ones(3)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        wl.reduce(chunks())


def test_results_go_through_pickle():
    both = wl.reduce(np.arange(5.0), ("sum", "max"))
    for again in (pickle.loads(pickle.dumps(both)), copy.deepcopy(both)):  # noqa: S301 - our own
        assert again == both
        assert type(again) is type(both)
        assert repr(again) == "Reductions(sum=np.float64(10.0), max=np.float64(4.0))"


def test_the_divisor():
    values = np.arange(3.0)
    for ddof in (-1, 1, np.float32(1), np.float16(1), 1.5, 2.5):
        assert wl.reduce(values, "var", ddof=ddof) == pytest.approx(values.var(ddof=ddof))
    assert wl.reduce(values, "var", ddof=3) == np.inf
    assert np.isnan(wl.reduce([2.0], "var", ddof=1))


@pytest.mark.parametrize("accuracy", ["fast", "reproducible"])
def test_the_divisor_of_nothing(accuracy):
    for values in ([], [np.nan]):
        for op in ("nanvar", "nanstd"):
            assert wl.reduce(values, op, ddof=-1, accuracy=accuracy) == 0
            assert np.isnan(wl.reduce(values, op, accuracy=accuracy))
    # Beside a row whose squares do not fit.
    rows = np.array([[np.nan, np.nan], [1e300, -1e300]])
    found = wl.reduce(rows, "nanstd", axis=1, ddof=-1, accuracy=accuracy)
    assert found.tolist() == [0, pytest.approx(np.sqrt(2 / 3) * 1e300)]


def test_masks_whose_bytes_are_not_0_and_1():
    mask = np.frombuffer(b"\x02\0\xfe\x01", bool)
    assert wl.reduce(np.arange(1.0, 5), ("sum", "argmax"), where=mask) == (8, 3)


@pytest.mark.parametrize(
    "ops",
    [
        # test_in_bytes.py has means, test_places.py indices.
        ("sum", "prod"),
        *large((("sum", "prod", "argmax", "argmin", "mean", "var", "l1", "count_nonzero", "max"),)),
    ],
)
def test_truths_whose_bytes_are_not_1(tmp_path, ops):
    raw = b"\x02\0\x05\x01" * 3000
    odd = np.frombuffer(raw, bool).reshape(60, 200)
    plain = np.array([bool(one) for one in odd.ravel()]).reshape(odd.shape)
    keep = plain ^ True | (np.arange(200) % 3 == 0)
    for values, others in ((odd, plain), (odd.T, plain.T), (odd[:, 1::2], plain[:, 1::2])):
        for axis in (None, 0, 1):
            assert np.array_equal(
                wl.reduce(values, ops, axis=axis), wl.reduce(others, ops, axis=axis)
            )
    assert wl.reduce(odd, ops, where=keep) == wl.reduce(plain, ops, where=keep)
    assert wl.reduce(odd, "mean", accuracy="reproducible") == plain.mean()
    assert wl.reduce(odd, device=SimulatedDevice()) == plain.sum()
    path = tmp_path / "truths.bin"
    path.write_bytes(raw)
    assert wl.reduce(wl.open_values(path, dtype="bool")) == plain.sum()


def test_chunks_with_masks_are_refused():
    with pytest.raises(errors.InputTypeError, match=r"chunk 0 is a masked array.*compressed"):
        wl.reduce(iter([np.ma.array([1.0, 2, 3], mask=[0, 1, 0])]))


def test_what_is_no_accuracy_or_number():
    with pytest.raises(errors.InputError, match="accuracy"):
        wl.reduce(np.arange(5.0), accuracy=["fast"])
    with pytest.raises(errors.InputTypeError, match="ddof='a' is no number"):
        wl.reduce([1.0, 2.0], "var", ddof="a")


def test_files_that_are_none(tmp_path):
    empty = tmp_path / "failed.npy"
    empty.touch()
    with pytest.raises(errors.FileFormatError, match="a NumPy file"):
        wl.reduce(empty)
    backwards = tmp_path / "backwards.npy"
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }".ljust(117) + b"\n"
    backwards.write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + header)
    with pytest.raises(errors.FileFormatError):
        wl.reduce(backwards)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not cut a file that is mapped")
def test_a_file_that_is_cut_short_meanwhile(tmp_path, monkeypatch):
    """Where it is seen in time; nothing before the cut is touched after it."""
    monkeypatch.setattr(jobs, "worker_count", lambda: 1)
    monkeypatch.setattr(intake, "_STRETCH_BYTES", 1 << 16)
    path = tmp_path / "numbers.npy"
    np.save(path, np.ones(100_000))
    with pytest.raises(errors.FileFormatError, match=r"numbers\.npy.*100,000 elements of 8 bytes"):
        wl.reduce(path, ("sum",), progress=lambda _: os.truncate(path, 300_000))


@pytest.mark.parametrize("given", [{"dtype": "S"}, {"dtype": "V0"}, {"dtype": "f4", "offset": 4.0}])
def test_raw_binary_is_of_numbers(tmp_path, given):
    raw = tmp_path / "r.bin"
    raw.write_bytes(bytes(range(16)))
    with pytest.raises(errors.InputTypeError, match=r"read as real numbers|no whole number"):
        wl.open_values(raw, **given)


@pytest.mark.parametrize("dtype", ["foo", ",f4"])
def test_an_unknown_dtype_of_a_file(tmp_path, dtype):
    table, raw = tmp_path / "c.csv", tmp_path / "c.bin"
    table.write_text("a\n1\n")
    raw.write_bytes(bytes(4))
    for path, options in ((table, {"column": "a"}), (raw, {})):
        with pytest.raises(errors.InputTypeError, match=f"dtype='{dtype}' is not known"):
            wl.open_values(path, dtype=dtype, **options)


def test_numba_does_not_warn_of_a_second_kind_of_state():
    """As it does where one function is compiled for two, and nothing is in a cache."""
    for folds in ({"moments"}, {"moments", "nonzero"}):
        spec = FoldSpec(frozenset(folds), "float64", "float64")
        merge = njit(merge_kernel(spec).py_func)
        merge(new_states(spec, 1), new_states(spec, 1))
