"""Arrays of other libraries that DLPack or ``__cuda_array_interface__`` alone describes."""

from __future__ import annotations

import importlib
import sys
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import warpladder as wl
from warpladder.device import cuda_memory, driver_calls, foreign
from warpladder.device.cuda_array import CudaArray
from warpladder.reduction import answers
from warpladder.simulator import SimulatedDevice

pytest.importorskip("cuda.core")


class Exported:
    """Gives its array by DLPack and by nothing else, and says that it is on a GPU."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self.asked: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        self.asked.append(stream)
        return self.array.__dlpack__(**options)


@pytest.mark.numba_cuda
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "uint16"])
def test_what_dlpack_alone_describes_is_adopted(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign, "gpu", lambda number: f"GPU {number}")
    whole = np.arange(60, dtype=dtype).reshape(6, 10)
    for array in (whole, whole[::2, 1:], whole.T, whole[0], whole[:0]):
        given = Exported(array)
        ours = foreign.adopted(given)
        assert isinstance(ours, CudaArray)
        assert (ours.shape, ours.dtype) == (array.shape, array.dtype)
        if array.size:
            # Where it lies is what the exporter said; that is all we may know of it here.
            assert ours.address == array.ctypes.data
            assert ours.strides == array.strides
        # Its work is waited for by the default stream.
        assert given.asked == [1]


class Described:
    """Says where it lies and how, and has no attribute else."""

    def __init__(self, array: np.ndarray[Any, Any], *, strides: bool = True) -> None:
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (array.ctypes.data, False),
            **({"strides": array.strides} if strides else {}),
        }


@pytest.mark.numba_cuda
def test_what_is_described_alone_is_adopted(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[None] = []
    there = SimpleNamespace(synchronize=lambda: waited.append(None))
    monkeypatch.setattr(foreign, "gpu_of", lambda _: there)
    whole = np.arange(60, dtype="f4").reshape(6, 10)
    for array in (whole, whole[::2, 1:], whole.T, whole[0]):
        ours = foreign.adopted(Described(array))
        assert isinstance(ours, CudaArray)
        assert (ours.device, ours.address) == (there, array.ctypes.data)
        assert (ours.shape, ours.dtype, ours.strides) == (array.shape, array.dtype, array.strides)
    assert len(waited) == 4
    assert foreign.adopted(Described(whole, strides=False)).strides == whole.strides
    known = Described(whole)
    known.dtype, known.shape = whole.dtype, whole.shape  # type: ignore[attr-defined]
    assert foreign.adopted(known) is known


class OfAClass(Described):
    """Has the interface by its class, as libraries do: `reduce` reads such ones in a quick way."""

    __cuda_array_interface__: Any = None


@pytest.mark.parametrize("kind", [Described, OfAClass])
def test_without_a_driver_arrays_on_a_gpu_are_refused(
    kind: type[Described], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> Any:
        raise RuntimeError("the driver is not there")

    monkeypatch.setattr(driver_calls, "_pointer_attribute", fails)
    array = kind(np.ones(4))
    for call in (
        lambda: wl.reduce(array),
        lambda: wl.reduce(np.ones(4), where=kind(np.ones(4, bool))),
        lambda: wl.reduce.prepare(array),
        lambda: wl.advect(array, courant=0.5, steps=1),
    ):
        with pytest.raises(wl.DeviceError, match="on a GPU, which cannot be: the driver is not"):
            call()


@pytest.mark.parametrize("has", [set(), {"shape", "dtype"}])
def test_what_does_not_say_where_it_lies_is_refused(has: set[str]) -> None:
    for interface, lacking in (
        ({"shape": (3,)}, "'typestr', 'data'"),
        ({"shape": (3,), "typestr": "<f4"}, "'data'"),
        ({"data": (0, False), "typestr": "<f4"}, "'shape'"),
        (None, "'shape', 'typestr', 'data'"),
    ):
        ways = {"__cuda_array_interface__": interface, "shape": (3,), "dtype": np.dtype("f4")}
        kept = {key: way for key, way in ways.items() if key.startswith("_") or key in has}
        array = type("Tensor", (), kept)()
        with pytest.raises(wl.InputError, match=f"of a Tensor has no {lacking}; give an array"):
            foreign.gpu_of(array)
        if interface and not has:
            with pytest.raises(wl.InputError, match=f"of a Tensor has no {lacking}; give"):
                wl.reduce(array)


class Refuses:
    """Has no DLPack for what it holds, as arrays of Arrow with missing values."""

    def __dlpack_device__(self) -> tuple[int, int]:
        raise TypeError("can only use DLPack on arrays with no nulls")


def test_arrays_of_the_host_are_left_as_they_are() -> None:
    refuses = Refuses()
    assert foreign.adopted(refuses) is refuses
    array = np.ones(3)
    assert foreign.adopted(array) is array
    assert foreign.adopted(None) is None


class Tensor(Described):
    """Stands for a tensor of PyTorch on a GPU, which tells of no stream."""

    device = "cuda:0"

    def __init__(self, array: np.ndarray[Any, Any], *, is_neg: bool = False) -> None:
        super().__init__(array)
        self.dtype, self.shape = array.dtype, array.shape
        self.is_neg = lambda: is_neg


class NeedsGradients:
    """A tensor of PyTorch of which gradients are asked for."""

    @property
    def __cuda_array_interface__(self) -> Any:
        raise RuntimeError("Can't get it on a Variable that requires grad; use var.detach()")


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Keep which streams wait for which others."""
    found: list[tuple[int, int]] = []

    def stream_of(handle: int) -> Any:
        return SimpleNamespace(
            handle=handle, wait=lambda other: found.append((handle, other.handle))
        )

    core = importlib.import_module("cuda.core")
    monkeypatch.setattr(core, "Stream", SimpleNamespace(from_handle=stream_of))
    monkeypatch.setattr(core, "LEGACY_DEFAULT_STREAM", stream_of(1))
    return found


@pytest.mark.numba_cuda
@pytest.mark.parametrize(("stream", "waited"), [(0, []), (77, [(1, 77)])])
def test_work_waits_for_the_stream_that_pytorch_works_on(
    monkeypatch: pytest.MonkeyPatch,
    waits: list[tuple[int, int]],
    stream: int,
    waited: list[tuple[int, int]],
) -> None:
    current = SimpleNamespace(current_stream=lambda _: SimpleNamespace(cuda_stream=stream))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=Tensor, cuda=current))
    array = np.ones(3)
    assert cuda_memory.adopted("GPU", Tensor(array)).address == array.ctypes.data
    assert waits == waited


@pytest.mark.numba_cuda
def test_whoever_takes_arrays_of_ours_waits_for_the_default_stream(
    monkeypatch: pytest.MonkeyPatch, waits: list[tuple[int, int]]
) -> None:
    given = SimpleNamespace(__dlpack__=lambda **options: options)
    view = SimpleNamespace(from_cuda_array_interface=lambda *_: given)
    monkeypatch.setattr(importlib.import_module("cuda.core.utils"), "StridedMemoryView", view)
    entered: list[str] = []
    current = ExitStack()
    current.callback(entered.append, "left")
    ours = CudaArray.at(SimpleNamespace(current=current), None, 4096, (3,), "f4")
    assert ours.__cuda_array_interface__["stream"] == 1
    for stream in (None, -1, 1, 77):
        assert ours.__dlpack__(stream=stream, max_version=(1, 0)) == {"max_version": (1, 0)}
    assert waits == [(77, 1)]
    assert entered == ["left"]


@pytest.mark.numba_cuda
def test_what_no_kernel_could_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = SimpleNamespace(index=0)
    monkeypatch.setattr(foreign, "gpu_of", lambda _: gpu)
    whole = np.zeros(65, np.uint8)
    begin = -whole.ctypes.data % 8
    odd = whole[begin + 1 : begin + 57].view("f4")
    gaps = np.lib.stride_tricks.as_strided(whole[begin : begin + 4].view("f4"), (3,), (6,))
    for array in (odd, gaps):
        with pytest.raises(wl.InputError, match="float32 that do not begin at multiples of 4 byt"):
            cuda_memory.described(gpu, Described(array))
    assert cuda_memory.described(gpu, Described(odd[:0])).size == 0
    masked = Tensor(np.ones(3))
    masked.__cuda_array_interface__["mask"] = Described(np.ones(3, bool))
    for call in (wl.reduce, wl.shortest_paths, lambda x: wl.advect(x, courant=0.5, steps=1)):
        with pytest.raises(wl.InputTypeError, match="has a mask: elements may be missing; fill"):
            cuda_memory.described(gpu, masked)
        with pytest.raises(wl.InputTypeError, match=r"has still to change; give its .resolve_neg"):
            call(Tensor(np.ones((3, 3)), is_neg=True))
        with pytest.raises(wl.InputTypeError, match=r"requires grad; use var.detach"):
            call(NeedsGradients())
    with pytest.raises(wl.InputTypeError, match=r"a NeedsGradients that cannot be taken: Can't"):
        wl.overlap_join(NeedsGradients())


class Short:
    """Stands for a dtype of PyTorch that NumPy lacks."""

    def __str__(self) -> str:
        return "torch.bfloat16"


@pytest.mark.numba_cuda
def test_dtypes_that_numpy_lacks_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = SimpleNamespace(index=0)
    monkeypatch.setattr(foreign, "gpu_of", lambda _: gpu)
    there = Tensor(np.ones((3, 3)))
    there.dtype = Short()  # type: ignore[assignment]
    # Where ml_dtypes is, NumPy knows it.
    told = r"of dtype torch.bfloat16, which NumPy does not|dtype bfloat16"
    with pytest.raises(wl.InputTypeError, match=told):
        wl.shortest_paths(there)
    device = SimulatedDevice()
    gpu.index = None  # type: ignore[assignment]  # as if that were it
    with pytest.raises(wl.InputTypeError, match=told):
        wl.reduce(device.to_device(np.ones((3, 3))), where=there, device=device)
    with pytest.raises(wl.InputTypeError, match=told):
        wl.reduce(there, device=device)


@pytest.mark.numba_cuda
def test_arrays_on_another_gpu_than_the_call_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    there = SimpleNamespace(index=1, launch=None)
    monkeypatch.setattr(foreign, "gpu_of", lambda _: SimpleNamespace(index=0))
    here, simulated = Tensor(np.ones((3, 3))), SimulatedDevice()
    for device, told in ((there, "GPU 1"), (simulated, "simulated sm_90")):
        for call, name in (
            (wl.reduce, "values"),
            (wl.shortest_paths, "graph"),
            (lambda x, device: wl.advect(x, courant=0.5, steps=1, device=device), "phi"),
        ):
            with pytest.raises(wl.InputError, match=f"^{name}: it is on GPU 0, .* on {told}"):
                call(here, device=device)
    values = simulated.to_device(np.ones(3))
    with pytest.raises(wl.InputError, match=r"^where: it is on GPU 0, and the call is"):
        wl.reduce(values, where=Tensor(np.ones(3, bool)), device=simulated)
    nowhere = Tensor(np.ones(0))
    nowhere.__cuda_array_interface__["data"] = 0, False
    assert foreign.device_of(nowhere, there, "values") is there


@pytest.mark.numba_cuda
def test_results_go_to_what_is_described_alone_unless_it_is_read_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gpu = SimpleNamespace(index=0, synchronize=lambda: None)
    for module in (foreign, answers):
        monkeypatch.setattr(module, "gpu_of", lambda _: gpu)
    plan: Any = SimpleNamespace(
        requests=[SimpleNamespace(name="sum")], dtypes=[np.dtype(np.float64)]
    )
    out = Described(np.empty(3))
    answers.check_outs((out,), plan, (3,), gpu)
    with pytest.raises(wl.InputError, match=r"sum is float64 of shape \(4,\), this is float64"):
        answers.check_outs((out,), plan, (4,), gpu)
    out.__cuda_array_interface__["data"] = (4096, True)
    with pytest.raises(wl.InputError, match="out: it is read-only"):
        answers.check_outs((out,), plan, (3,), gpu)
