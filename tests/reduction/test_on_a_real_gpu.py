"""Reductions of PyTorch's tensors on a GPU: its streams, its graphs, its arrays for results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warpladder as wl
from warpladder.device.cuda import probe_cuda
from warpladder.errors import InputError

pytestmark = pytest.mark.skipif(not probe_cuda().gpus, reason="needs a GPU")


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch")


def test_a_prepared_call_is_captured_in_a_graph(torch: Any) -> None:
    values = torch.rand(300, 500, device="cuda")
    prepared = wl.reduce.prepare(values, ("mean", "std"), axis=0)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        prepared(values)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        found = prepared(values)
    for _ in range(2):
        values.copy_(torch.rand(300, 500, device="cuda"))
        graph.replay()
        torch.cuda.synchronize()
        assert torch.allclose(found.mean, values.mean(0))
        assert torch.allclose(found.std, values.std(0, correction=0))


def test_work_waits_for_the_stream_it_is_on(torch: Any) -> None:
    """On a stream that does not wait for the default stream, nor it for that."""
    with torch.cuda.stream(torch.cuda.Stream()):
        for turn in range(3):
            values = torch.rand(1 << 22, device="cuda")
            for _ in range(20):
                values = values * 2 - values + turn
            exact = float(values.double().sum())
            assert abs(float(wl.reduce(values)) / exact - 1) < 1e-6
            rows = values.reshape(-1, 64)
            assert torch.allclose(wl.reduce(rows, axis=1), rows.sum(1))
            wide = wl.reduce(rows, axis=0, dtype="float64")
            assert torch.allclose(wide, rows.double().sum(0))


def test_results_of_other_dtypes_in_turn(torch: Any) -> None:
    """What calls share is told apart by its dtype."""
    values = torch.rand(40, 60, device="cuda") - 0.5
    marks = (values > 0).cpu().numpy()
    host = values.cpu().numpy()
    for op in ("sum", "count_nonzero", "any", "sum"):
        found = wl.reduce(values, op, axis=1, where=marks)
        expected = wl.reduce(host, op, axis=1, where=marks)
        np.testing.assert_allclose(found.cpu().numpy(), expected, rtol=1e-5)
        assert str(found.dtype).removeprefix("torch.") == expected.dtype.name


def test_tensors_on_the_host_are_taken_as_numpy_takes_them(torch: Any) -> None:
    assert wl.reduce(torch.ones(5)) == 5
    assert wl.reduce(torch.nn.Parameter(torch.ones(5), requires_grad=False)) == 5


def test_what_is_refused_when_it_is_seen(torch: Any) -> None:
    """A compiler may take it that no difference wraps, which the simulator does not show."""
    least, most = -(2**63), 2**63 - 1
    for ends, fits in (
        ((-5, 7), True),
        ((0, most), True),
        ((-1, most), False),
        ((least, 1), False),
    ):
        values = torch.tensor([[*ends], [1, 2]], device="cuda")
        if fits:
            assert wl.reduce(values, "ptp", axis=1).tolist() == [ends[1] - ends[0], 1]
        else:
            with pytest.raises(InputError, match=f"ptp is {ends[1] - ends[0]}"):
                wl.reduce(values, "ptp", axis=1)
    nothing = torch.tensor([[1.0, 2.0], [torch.nan, torch.nan]], device="cuda")
    assert wl.reduce(nothing[:1], "nanargmax", axis=1).tolist() == [1]
    with pytest.raises(InputError, match="only NaNs"):
        wl.reduce(nothing, "nanargmax", axis=1)


def test_calls_with_options_that_are_kept(torch: Any) -> None:
    options: list[dict[str, Any]] = [
        {"axis": (0, 2)},
        {"axis": (0, 2), "op": ("var", "max")},
        {"axis": None, "dtype": "float64"},
        {"axis": 1, "where": True},
        {"axis": (0, 2), "where": True, "op": "max"},
        {"axis": None, "where": True, "op": ("mean", "min")},
        {"axis": 2, "initial": 2},
        {"axis": (1, 2), "initial": 0.5, "op": ("max", "sum"), "out": 2},
        {"axis": 1, "op": "std", "out": 1},
        {"axis": (0, 2), "accuracy": "reproducible"},
        {"axis": 0, "accuracy": "reproducible", "op": ("mean", "sum"), "dtype": "float64"},
    ]
    on_another = torch.cuda.Stream()
    for turn in range(4):
        whole = torch.rand(40, 33, 70, device="cuda") + turn
        marks = torch.rand(40, 33, 80, device="cuda") < 0.5
        torch.cuda.synchronize()
        # A part, whose rows and elements are apart; a mask with other strides.
        values, mask = whole[1:, ::2, 3:-3], marks[1:, ::2, 5:69]
        # Of each row something is left.
        mask[..., ::3] = True
        mask[:, 2] = True
        for each in options:
            given = dict(each)
            outs = given.pop("out", 0)
            if outs:
                shape = values.sum(given["axis"]).shape
                made = tuple(torch.empty(shape, device="cuda") for _ in range(outs))
                given["out"] = made if outs > 1 else made[0]
            if "where" in given:
                given["where"] = mask
            stream = on_another if turn % 2 else torch.cuda.current_stream()
            torch.cuda.synchronize()
            with torch.cuda.stream(stream):
                found = wl.reduce(values, **given)
            torch.cuda.synchronize()
            here = {
                k: v.cpu().numpy() if k == "where" else v for k, v in given.items() if k != "out"
            }
            wanted = wl.reduce(values.cpu().numpy(), **here)
            pairs = (
                zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
            )
            for one, other in pairs:
                there = one.cpu().numpy() if isinstance(one, torch.Tensor) else one
                assert there.dtype == other.dtype
                bound = 0 if "accuracy" in given else 3e-6
                np.testing.assert_allclose(there, other, rtol=bound, err_msg=str(each))


def test_results_in_what_is_read(torch: Any) -> None:
    values = torch.rand(300, 40, device="cuda")
    for _ in range(3):
        expected = values.sum(0)
        wl.reduce(values, axis=0, out=values[5])
        assert torch.allclose(values[5], expected)


def test_an_operation_of_the_callers(torch: Any) -> None:
    """It does not commute: maps x -> m x + c modulo 97, as m * 97 + c, one after the other."""

    def compose(a: Any, b: Any) -> Any:
        m, c = a // 97, a % 97
        return m * (b // 97) % 97 * 97 + (c * (b // 97) + b % 97) % 97

    op = wl.AssociativeOp(compose, identity=97)
    for shape, axis in (
        ((1_000_003,), None),
        ((300, 7001), 1),
        ((7001, 300), 0),
        ((70, 33, 50), (0, 2)),
        ((5000, 40), 1),
    ):
        for dtype in (torch.int64, torch.int16):
            values = torch.randint(0, 97 * 97, shape, device="cuda").to(dtype)
            expected = wl.reduce(values.cpu().numpy(), op, axis=axis, dtype="int64")
            for part in (values, values[1:, ..., 1:] if len(shape) > 1 else values[1:]):
                if part is not values:
                    expected = wl.reduce(part.cpu().numpy(), op, axis=axis, dtype="int64")
                for _ in range(2):
                    found = wl.reduce(part, op, axis=axis, dtype="int64")
                    np.testing.assert_array_equal(torch.as_tensor(found).cpu(), expected)
            mask = torch.rand(shape, device="cuda") < 0.5
            found = wl.reduce(values, op, axis=axis, where=mask, dtype="int64")
            expected = wl.reduce(
                values.cpu().numpy(), op, axis=axis, where=mask.cpu().numpy(), dtype="int64"
            )
            np.testing.assert_array_equal(torch.as_tensor(found).cpu(), expected)
