"""The benchmark of calls on a GPU, tried without one: on NumPy's arrays, with few elements.

PyTorch and CuPy, which the tests do without, are a few of NumPy's functions here.
"""

from __future__ import annotations

import json
import math
import sys
from functools import partial
from itertools import chain
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import warpladder
from warpladder.errors import InputError
from warpladder.reduction.ops import OPS


class Tensor(np.ndarray):
    """What the benchmark asks of a tensor."""

    def double(self):
        return self.astype("f8")

    def isnan(self):
        return np.isnan(self)

    def masked_fill(self, mask, value):
        return np.where(mask, self.dtype.type(value), self).view(Tensor)

    def new_empty(self, shape):
        return np.empty(shape, self.dtype).view(Tensor)

    def permute(self, *axes):
        return self.transpose(axes)

    def copy_(self, values):
        self[...] = values
        return self

    def clamp(self, least):
        return tensor(np.maximum(self, least))

    def sum(self, dim=None):
        return tensor(np.sum(np.asarray(self), axis=dim))

    def sqrt(self):
        return np.sqrt(self)

    def to(self, dtype):
        return self.astype(dtype)

    def cpu(self):
        return self

    def numpy(self):
        return np.asarray(self)


def tensor(found):
    return np.asarray(found).view(Tensor)


def along(function, **always):
    """Return a function of NumPy's that is told the axis as PyTorch is."""

    def call(values, dim=None, **options):
        options = {{"keepdim": "keepdims"}.get(name, name): of for name, of in options.items()}
        return tensor(function(np.asarray(values), axis=dim, **always, **options))

    return call


def norm(values, axis=None, ord=2):  # noqa: A002 - its name there
    return np.sum(np.abs(values) ** ord, axis=axis) ** (1 / ord)


def logsumexp(values, axis=None):
    return np.log(np.sum(np.exp(values), axis=axis))


@pytest.fixture
def torch():
    """Return what stands for PyTorch."""
    torch = ModuleType("torch")
    for name in ("sum", "prod", "argmin", "argmax", "mean", "any", "all", "nansum", "nanmean"):
        setattr(torch, name, along(getattr(np, name)))
    torch.amin, torch.amax = along(np.min), along(np.max)
    torch.var, torch.std = (
        lambda values, dim=None, correction=1, of=of: tensor(of(values, dim, ddof=correction))
        for of in (np.var, np.std)
    )
    torch.aminmax = lambda values, dim: (torch.amin(values, dim), torch.amax(values, dim))
    torch.count_nonzero, torch.logsumexp = along(np.count_nonzero), along(logsumexp)
    torch.where = lambda *given: tensor(np.where(*given))
    torch.linalg = SimpleNamespace(vector_norm=along(norm))
    torch.rand = lambda shape, generator, **_: tensor(generator.random(shape, "f4"))
    seeds = SimpleNamespace(manual_seed=np.random.default_rng)
    torch.Generator = lambda **_: seeds
    torch.cuda = SimpleNamespace(synchronize=lambda: None)
    torch.Tensor, torch.nan, torch.__version__ = Tensor, math.nan, "2"
    for dtype in ("int8", "int32", "float16", "float32", "float64"):
        setattr(torch, dtype, np.dtype(dtype))
    return torch


@pytest.fixture
def bench(program, torch, monkeypatch):
    pytest.importorskip("cuda.core")
    cupy = ModuleType("cupy")
    vars(cupy).update({name: getattr(np, name, None) for name in (*OPS, "nanmax", "nanvar")})
    cupy.from_dlpack, cupy.__version__ = np.asarray, "14"
    cupy.ReductionKernel = lambda *_: np.max
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    bench = program("gpu_calls")
    monkeypatch.setattr(bench, "wl", SimpleNamespace(reduce=Reduce()))
    return bench


def without_nans(of_row, row):
    return of_row(row[~np.isnan(row)])


class Reduce:
    """Answers row by row, without NaNs where they do not count: ours would be compiled first."""

    def __call__(self, values, op, axis=None, **asked):
        # Of an operation of its own there is this one.
        op = op if isinstance(op, str) else "max"
        if asked:
            asked = {k: v if isinstance(v, str | int) else np.asarray(v) for k, v in asked.items()}
            return tensor(warpladder.reduce(np.asarray(values), op, axis=axis, **asked))
        values, plain = np.asarray(values), op.removeprefix("nan")
        of_row = {"l1": partial(norm, ord=1), "l2": norm, "logsumexp": logsumexp}.get(plain)
        of_row = of_row or getattr(np, op if plain.startswith("arg") else plain)
        if op != plain and not plain.startswith("arg"):
            of_row = partial(without_nans, of_row)
        wide = values.astype("f8" if values.dtype.kind == "f" else "i8")
        if isinstance(axis, tuple):
            # The axes that go as one, the last.
            kept = wide.ndim - len(axis)
            wide = np.moveaxis(wide, axis, range(kept, wide.ndim))
            wide, axis = wide.reshape(*wide.shape[:kept], -1), -1
        found = of_row(wide.ravel()) if axis is None else np.apply_along_axis(of_row, axis, wide)
        is_float = found.dtype.kind == values.dtype.kind == "f"
        found = found.astype(values.dtype) if is_float else found
        return found if axis is None else tensor(found)

    def prepare(self, like, op, axis=None):
        if isinstance(op, str) and op.startswith("nanarg"):
            raise InputError(f"{op} of {like.dtype} is finished on the host")
        return lambda values: tensor(self(values, op, axis))


def small(case):
    sides = {1: (100,), 2: (24, 36), 3: (6, 15, 8), 4: (3, 4, 5, 6)}
    return case._replace(shape=sides[len(case.shape)])


@pytest.mark.numba_cuda
def test_every_operation_is_timed_where_it_gives_arrays(bench):
    cases = list(bench._cases())
    assert len(cases) == len(set(cases))
    plain = [case for case in cases if not (case.layout or case.option)]
    cases = [case for case in plain if not isinstance(case.axis, tuple)]
    with_nan = {f"nan{op}" for op in OPS} - {"nanany", "nanall", "nancount_nonzero"}
    for axis in (0, 1):
        there = {case.op for case in cases if case[1:4] == ("float32", (4096, 4096), axis)}
        assert there == {*OPS} | with_nan
    # Ten operations, and sums of four more dtypes, of six sizes.
    assert sum(case.axis is None for case in cases) == 6 * (10 + 4)
    for op in ("max", "argmax", "mean", "var"):
        assert {"float32", "float64", "int32"} <= {case.dtype for case in cases if case.op == op}


@pytest.mark.numba_cuda
def test_nans_are_among_the_elements_of_every_result(bench):
    for case in bench._cases():
        if case.op.startswith("nan"):
            assert all(math.gcd(side, bench._NAN_EVERY) == 1 for side in case.shape)


@pytest.mark.numba_cuda
def test_who_is_timed_gives_the_answer_of_all(bench):
    rows = {}
    plain = [case for case in bench._cases() if case.axis == 0 and not case.option]
    for case in {(case.op, case.dtype): case for case in plain}.values():
        row = rows[case.op, case.dtype] = bench._measured(small(case), 1)
        assert row["case"] == small(case).name
        assert row["ratio"] == pytest.approx(row["ours_us"] / row["torch_us"])
        assert ("queued_us" in row) == ("prepared_us" in row) == (not case.op.startswith("nanarg"))
    composed = {op for (op, _), row in rows.items() if "torch_steps" in row}
    assert composed == {"var", "ptp", *bench._RARE_OPS}
    assert rows["nanmax", "float32"]["torch_steps"] == "masked_fill, amax"
    assert rows["var", "int32"]["torch_steps"] == "double, var"
    # Beside one function of PyTorch's, CuPy takes part in the first ten only.
    with_cupy = {(op, dtype) for (op, dtype), row in rows.items() if "cupy_us" in row}
    assert {("sum", "int8"), ("max", "float32"), ("nanvar", "float32")} <= with_cupy
    assert not {("min", "float32"), ("max", "float64"), ("nanl2", "float32")} & with_cupy
    number = bench._measured(bench.Case("sum", "float32", (100,), None), 1)
    assert {"ours_us", "torch_us", "prepared_us", "cupy_us"} < number.keys()


@pytest.mark.numba_cuda
def test_options_and_layouts_are_those_of_all(bench):
    cases = [case for case in bench._cases() if case.option or case.layout]
    assert {case.option for case in cases} == {"", *chain(*bench._OPTIONS.values())}
    for case in cases:
        row = bench._measured(small(case), 1)
        assert row["ratio"] > 0
        assert ("torch_steps" in row) == (case.option in {"masked", "from 1", "exact"})


@pytest.mark.numba_cuda
def test_cases_that_nobody_chose(bench):
    cases = list(bench._drawn_cases(300))
    assert cases == list(bench._drawn_cases(300))
    assert {case.layout for case in cases} == set(bench._LAYOUTS)
    assert {len(case.shape) for case in cases} == {1, 2, 3, 4}
    assert {"", "masked", "out"} < {case.option for case in cases}
    assert any(isinstance(case.axis, tuple) for case in cases)
    assert all(2**7 < math.prod(case.shape) < 2**25 for case in cases)


@pytest.mark.numba_cuda
def test_who_refuses_a_case_is_left_out_of_it(bench, monkeypatch, capsys):
    case = bench.Case("max", "float64", (24, 36), 0)

    def refuses(*_, **__):
        raise NotImplementedError("amax of nothing")

    assert bench._measured(case, 1)["ratio"] > 0
    of_torch, is_checked = bench.of_torch, bench._is_checked
    monkeypatch.setattr(bench, "of_torch", lambda *of: of_torch(*of)._replace(call=refuses))
    monkeypatch.setattr(bench, "_is_checked", lambda *_: True)
    row = bench._measured(case, 1)
    assert "max float64 24x36 axis 0: torch is left out: NotImplementedError" in (
        capsys.readouterr().out
    )
    assert "ratio" not in row
    # It needs somebody beside ours.
    assert row["of_best"] == pytest.approx(row["ours_us"] / row["cupy_us"])
    assert bench._is_met(row)
    assert bench._least(row, row) == row
    monkeypatch.setattr(bench, "of_torch", of_torch)
    monkeypatch.setattr(bench, "_is_checked", is_checked)
    number = bench._measured(bench.Case("sum", "float32", (100,), None), 1)
    # Of what nobody stands beside, none is the slowest.
    assert [target["limit"] for target in bench._targets([row, number])] == [40]


@pytest.mark.numba_cuda
def test_what_nobody_checks_is_not_timed(bench, torch, capsys):
    del torch.amin
    assert bench._measured(bench.Case("min", "float32", (24, 36), 0), 1) is None
    assert "the check is left out: AttributeError" in capsys.readouterr().out


@pytest.mark.numba_cuda
@pytest.mark.parametrize("op", ["argmax", "mean"])
def test_a_wrong_answer_ends_it(op, bench, monkeypatch):
    right = bench.wl.reduce
    # A place beside the right one, and a number a little off.
    monkeypatch.setattr(bench.wl, "reduce", lambda *given, **axis: right(*given, **axis) + 1e-3)
    with pytest.raises(SystemExit, match=f"WRONG: {op} float32 24x36 axis 0, by up to"):
        bench._measured(bench.Case(op, "float32", (24, 36), 0), 1)


@pytest.mark.numba_cuda
def test_what_is_written_is_published(bench, program, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib", reason="figures are drawn with it")
    measured = bench._measured
    monkeypatch.setattr(bench, "_measured", lambda case, _: measured(small(case), 1))
    monkeypatch.setattr(bench, "described", dict)
    card = SimpleNamespace(properties=SimpleNamespace(name="NVIDIA H200"))
    monkeypatch.setattr(bench, "gpu", lambda: card)
    options = "gpu_calls.py", "--out", str(tmp_path), "--ops", "sum", "nanmax"
    monkeypatch.setattr(sys, "argv", list(options))
    bench.main()
    record = json.loads((tmp_path / "gpu_calls-nvidia-h200.json").read_text())
    assert [row["ratio"] for row in record["rows"]] == sorted(
        (row["ratio"] for row in record["rows"]), reverse=True
    )
    table = program("publish_gpu")._calls_table
    lines = table(record, {"rows": record["rows"][:3]})
    counts = [line.split(" | ")[:2] for line in lines[2:9]]
    assert counts == [
        ["| a number, of 2^10 to 2^24", "30"],
        ["| an array, over an axis", "35"],
        ["| an array, by several functions there", "2"],
        ["| over several axes, or laid otherwise", "8"],
        ["| with a mask, `dtype`, `out`, `initial`, an own operation", "24"],
        ["| exact sums, beside those in float64", "6"],
        ["| cases that nobody chose", "3"],
    ]
    assert "2 operations on float32; sum of float16, float64, int32, int8;" in lines[-2]
    assert lines[-1] == (
        "\nBy several functions of PyTorch: nanmax (masked_fill, amax); sum (sum, addition); "
        "sum (where, sum)."
    )
    # Of one that PyTorch refused there is no ratio to show.
    del record["rows"][0]["ratio"]
    assert "1 are without PyTorch" in table(record, {"rows": []})[-2]
