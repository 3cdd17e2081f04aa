"""What `CudaDevice` adds to cuda.core: without a GPU against a stand-in, with one for real."""

from __future__ import annotations

import gc
import importlib
import math
import weakref
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from warpladder.device import cuda_device, cuda_launcher, cuda_memory, cuda_streams
from warpladder.device.compiler import Compiled, kinds_and_words
from warpladder.device.cuda import probe_cuda
from warpladder.device.cuda_array import CudaArray
from warpladder.device.cuda_device import CudaDevice
from warpladder.errors import DeviceError, InputError, InputTypeError, LaunchError, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warpladder.device.base import Device

KIB = 1024


class CoreError(Exception):
    """Stands for the error class of cuda.core."""


CoreError.__module__ = "cuda.core.stand_in"


class Kernel:
    """A dispatcher of Numba's, and what it is compiled to."""

    def __init__(self, static: int = 0, resident: int = 2, fault: Exception | None = None) -> None:
        self.py_func = SimpleNamespace(__name__="relax")
        self.overloads = {"": SimpleNamespace(regs_per_thread=100, max_threads_per_block=640)}
        self.static = static
        self.resident = resident
        self.fault = fault
        self.is_debugged = self.has_grid_barrier = False
        self.compiled: list[tuple[Any, ...]] = []
        self.launches: list[tuple[Any, ...]] = []
        self.launches_by_numba: list[tuple[Any, ...]] = []

    # As a kernel of cuda.core.

    @property
    def attributes(self) -> Any:
        return SimpleNamespace(shared_size_bytes=self.static)

    @property
    def occupancy(self) -> Any:
        return SimpleNamespace(max_active_blocks_per_multiprocessor=lambda *_: self.resident)


def compile_kernel(kernel: Kernel, args: tuple[Any, ...]) -> Compiled:
    """Stands for the seam to Numba."""
    kernel.compiled.append(args)
    code = SimpleNamespace(get_kernel=lambda _: kernel)
    return Compiled(code, "relax", kernel.has_grid_barrier, kernel.is_debugged)


class Gpu:
    """A device of cuda.core, whose driver knows nothing of blocks per multiprocessor."""

    name = "stand-in"
    compute_capability = (9, 9)
    properties = SimpleNamespace(
        multiprocessor_count=132,
        max_threads_per_block=1024,
        max_threads_per_multiprocessor=2048,
        max_shared_memory_per_block=48 * KIB,
        max_shared_memory_per_block_optin=227 * KIB,
        max_block_dim_x=1024,
        max_block_dim_y=1024,
        max_block_dim_z=64,
        max_grid_dim_x=2**31 - 1,
        max_grid_dim_y=65535,
        max_grid_dim_z=65535,
    )

    def __init__(self, core: Core) -> None:
        self._core = core

    def set_current(self) -> None:
        pass

    def sync(self) -> None:
        pass

    def create_event(self, _options: Any) -> Any:
        return Moment()


class Moment:
    """An event of cuda.core, as a time in milliseconds."""

    at = math.nan

    def __sub__(self, other: Moment) -> float:
        return self.at - other.at


class Pool:
    """Memory of which none is left."""

    attributes = SimpleNamespace(reserved_mem_current=300, used_mem_current=200)

    def allocate(self, _size: int, **_options: Any) -> Any:
        raise CoreError("CUDA_ERROR_OUT_OF_MEMORY: out of memory")


class Core:
    """`cuda.core` with one GPU, on which each event is a millisecond later than the last."""

    LaunchConfig = SimpleNamespace
    EventOptions = SimpleNamespace

    def __init__(self) -> None:
        self.clock = 0.0
        self.Device = SimpleNamespace(get_all_devices=lambda: (Gpu(self),))

    def DeviceMemoryResource(self, _index: int, _options: Any) -> Pool:  # noqa: N802 - as there
        return Pool()

    def DeviceMemoryResourceOptions(self) -> None:  # noqa: N802 - as there
        pass

    def launch(self, _stream: Any, config: Any, kernel: Kernel, *words: Any) -> None:
        if kernel.fault:
            raise kernel.fault
        kernel.launches.append((config, words))

    def record(self, event: Moment) -> None:
        self.clock += 1.0
        event.at = self.clock


def launch_by_numba(kernel: Kernel, ready: Any, args: tuple[Any, ...], *_: Any) -> None:
    kernel.launches_by_numba.append(args)


@pytest.fixture
def _stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    core = Core()
    monkeypatch.setattr(cuda_device, "_cuda_core", lambda: core)
    monkeypatch.setattr(cuda_device.memory, "keep", lambda *_: None)
    monkeypatch.setattr(CudaDevice, "_memory_info", lambda _: (900, 1 << 37))
    for module in (cuda_device, cuda_streams):
        monkeypatch.setattr(module, "core_stream", lambda _: core)
    monkeypatch.setattr(cuda_launcher, "compile_kernel", compile_kernel)
    monkeypatch.setattr(cuda_launcher, "_launch_by_numba", launch_by_numba)


@pytest.fixture
def stand_in(_stand_in: None) -> CudaDevice:
    return CudaDevice()


def test_no_gpu_says_why() -> None:
    from numba import cuda

    if cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(DeviceError) as caught:
        CudaDevice()
    assert probe_cuda().why_not.rstrip(".") in str(caught.value)


@pytest.mark.numba_cuda
def test_gpus_are_described_without_a_context_on_each(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba import cuda

    limits = (
        *("MULTIPROCESSOR_COUNT", "MAX_THREADS_PER_BLOCK", "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
        *("MAX_REGISTERS_PER_MULTIPROCESSOR", "MAX_THREADS_PER_MULTIPROCESSOR"),
    )
    # Nothing else is asked of them.
    gpus = [
        SimpleNamespace(id=k, name="one", compute_capability=(9, 0), **dict.fromkeys(limits, 7))
        for k in range(2)
    ]
    driver = importlib.import_module("cuda.bindings.driver")
    answers = {0: (driver.CUresult.CUDA_SUCCESS, 100), 1: (driver.CUresult.CUDA_SUCCESS, 200)}
    monkeypatch.setattr(driver, "cuDeviceTotalMem", answers.__getitem__)
    monkeypatch.setattr(cuda, "is_available", lambda: True)
    monkeypatch.setattr(cuda, "list_devices", lambda: gpus)
    monkeypatch.setattr(cuda.cudadrv.driver.driver, "get_version", lambda: (13, 0))
    assert [gpu.memory_bytes for gpu in probe_cuda().gpus] == [100, 200]
    answers[1] = (driver.CUresult.CUDA_ERROR_INVALID_DEVICE, None)
    assert probe_cuda().why_not == "CUDA cannot be used: GPU 1: CUDA_ERROR_INVALID_DEVICE"


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("index", [-1, 1])
def test_no_such_gpu(index: int) -> None:
    with pytest.raises(InputError, match=f"index={index}: the GPUs of this machine are 0 to 0"):
        CudaDevice(index)


def test_properties_are_completed_from_the_table(stand_in: CudaDevice) -> None:
    properties = stand_in.properties
    assert properties.name == "stand-in"
    assert properties.compute_capability == (9, 9)
    assert properties.memory_bytes == 1 << 37
    assert properties.max_threads_per_multiprocessor == 2048
    # Not told, and the capability is not in the table: as for 9.0, the newest before it.
    assert properties.max_blocks_per_multiprocessor == 32
    assert properties.register_allocation_unit == 256


def test_launch_completes_dimensions(stand_in: CudaDevice) -> None:
    kernel = Kernel()
    stand_in.launch(kernel, 3, (16, 2), 7)
    stand_in.launch(kernel, [3], [16, 2], 7)
    config = SimpleNamespace(grid=(3, 1, 1), block=(16, 2, 1), shmem_size=0, is_cooperative=False)
    assert kernel.launches == [(config, (7,))] * 2


def test_a_kernel_is_compiled_once_for_arguments_of_the_same_kinds(stand_in: CudaDevice) -> None:
    kernel = Kernel()
    stand_in.launch(kernel, 3, 32, 7, (-1, 5))
    stand_in.launch(kernel, 4, 64, 8, (2, 6))
    assert [words for _, words in kernel.launches] == [(7, -1, 5), (8, 2, 6)]
    assert kernel.compiled == [(7, (-1, 5))]
    others: Any = (
        (7, (1, 2, 3)),
        ((7, 1), 5),
        (True, (1, 2)),
        (1.0, (1, 2)),
        (np.int32(7), (1, 2)),
    )
    for number, args in enumerate(others, 2):
        stand_in.launch(kernel, 3, 32, *args)
        assert kernel.compiled[-1] == args
        assert len(kernel.compiled) == number
    assert not kernel.launches_by_numba


def test_what_only_numba_knows_is_left_to_it(stand_in: CudaDevice) -> None:
    kernel = Kernel()
    stand_in.launch(kernel, 3, 32, 1 << 63)
    stand_in.launch(kernel, 3, 32, 1j)
    assert kernel.launches_by_numba == [(1 << 63,), (1j,)]
    debugged = Kernel()
    debugged.is_debugged = True
    for _ in range(2):
        stand_in.launch(debugged, 3, 32, 7)
    assert debugged.launches_by_numba == [(7,), (7,)]
    assert not kernel.launches + debugged.launches


def array(shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None = None) -> CudaArray:
    return CudaArray.at(SimpleNamespace(index=0), None, 4096, shape, dtype, strides)


def test_how_arguments_are_described() -> None:
    described = kinds_and_words((array((2, 3), "f4"), 9, np.float16(1)))
    assert described is not None
    kinds, words = described
    assert words[:-1] == [0, 0, 6, 4, 4096, 2, 3, 12, 4, 9]
    assert words[-1].value == 0x3C00
    record = np.dtype([("count", "i8"), ("total", "f8")], align=True)
    others = [
        array((2, 3), "i4"), array((6,), "f4"), array((6,), record), array((2, 3), "f4", (4, 8)),
        array((2, 3), "f4", (0, 4)),
    ]  # fmt: skip
    found = {(kinds_and_words((other,)) or ((),))[0] for other in others} | {kinds[:1]}
    assert len(found) == len(others) + 1
    assert kinds_and_words((np.datetime64("2020-01-01"),)) is None


def test_numpy_takes_a_copy() -> None:
    """Not an array of the elements as objects, each an array on the GPU."""
    host = np.arange(3, dtype="f4")
    device = SimpleNamespace(to_host=lambda *_, **__: host.copy())
    there = CudaArray.at(device, None, 4096, (3,), "f4")
    assert np.asarray(there).tolist() == [0, 1, 2]
    assert np.asarray(there).dtype == np.float32
    assert np.asarray(there, "i8").dtype == np.int64
    assert np.sum(there) == 3
    with pytest.raises(InputError, match="without a copy"):
        np.asarray(there, copy=False)


def test_arrays_look_as_numpys_do() -> None:
    real = np.arange(24, dtype="f4").reshape(4, 6)
    there = array(real.shape, real.dtype)
    for part in (
        lambda a: a[1:], lambda a: a[:, 2], lambda a: a[::-1, 1::2], lambda a: a.T, lambda a: a[3],
        lambda a: a[..., None, 2:4], lambda a: a.view("i2"), lambda a: a.reshape(2, 12)[1:],
        lambda a: a[4:], lambda a: a[-1][-2:],
    ):  # fmt: skip
        same, found = part(real), part(there)
        assert (found.shape, found.strides, found.dtype) == (same.shape, same.strides, same.dtype)
        moved = same.__array_interface__["data"][0] - real.__array_interface__["data"][0]
        assert not same.size or found.address == 4096 + moved
    assert there[2, 3].address == 4096 + 4 * 15
    assert len(there) == 4
    assert there.__cuda_array_interface__["data"] == (4096, False)
    assert there[:, 0].__cuda_array_interface__["strides"] == (24,)
    for index in ([0, 1], np.array([0]), "x", True, 1.5):
        with pytest.raises(InputError, match="is not indexed by"):
            there[index]
    with pytest.raises(InputError, match="contiguous"):
        there.T.reshape(24)


@pytest.mark.parametrize(
    ("grid", "block", "shared", "message"),
    [
        (0, 32, 0, r"relax: grid=0 is not within"),
        ((1, 65536), 32, 0, r"grid=\(1, 65536\) is not within 1 to \(2147483647, 65535, 65535\)"),
        (1, (1, 1, 65), 0, r"block=\(1, 1, 65\) is not within 1 to \(1024, 1024, 64\)"),
        (1, (64, 32), 0, r"a block of 2048 threads; stand-in takes at most 1024"),
        (1.5, 32, 0, r"grid=1.5 is not one to three whole numbers"),
        ((1, 1, 1, 1), 32, 0, r"is not one to three"),
        ((), 32, 0, r"is not one to three"),
        (1, 32, 227 * KIB + 1, r"shared_bytes=232449; a block on stand-in has 0 to 232448"),
        (1, 32, -1, r"shared_bytes=-1"),
    ],
)
def test_launches_that_no_device_takes(
    stand_in: CudaDevice, grid: Any, block: Any, shared: int, message: str
) -> None:
    kernel = Kernel()
    with pytest.raises(LaunchError, match=message):
        stand_in.launch(kernel, grid, block, shared_bytes=shared)
    assert not kernel.launches


def test_launch_needs_a_kernel(stand_in: CudaDevice) -> None:
    with pytest.raises(InputTypeError, match=r"kernel is a function; .* numba\.cuda\.jit"):
        stand_in.launch(lambda: None, 1, 1)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the driver is asked to allow."""
    calls: list[int] = []
    monkeypatch.setattr(
        cuda_launcher, "_set_max_dynamic_shared", lambda _, shared, __: calls.append(shared)
    )
    return calls


def test_more_shared_memory_is_asked_for_where_needed(
    stand_in: CudaDevice, asked: list[int]
) -> None:
    kernel = Kernel(static=8 * KIB)
    for shared in (40 * KIB, 40 * KIB + 1, 200 * KIB, 100 * KIB):
        stand_in.launch(kernel, 1, 32, shared_bytes=shared)
    assert asked == [40 * KIB + 1, 200 * KIB]
    assert kernel.launches[-1][0].shmem_size == 100 * KIB


def test_static_and_dynamic_shared_memory_share_the_limit(
    stand_in: CudaDevice, asked: list[int]
) -> None:
    with pytest.raises(LaunchError, match="shared_bytes=225280 and 8192 bytes of static arrays"):
        stand_in.launch(Kernel(static=8 * KIB), 1, 32, shared_bytes=220 * KIB)
    assert not asked


def test_cooperative_launch(stand_in: CudaDevice) -> None:
    kernel = Kernel(resident=2)
    stand_in.launch(kernel, (132, 2), 256, cooperative=True)
    stand_in.launch(kernel, (132, 2), 256)
    assert [config.is_cooperative for config, _ in kernel.launches] == [True, False]
    kernel = Kernel()
    kernel.has_grid_barrier = True
    stand_in.launch(kernel, (132, 2), 256)
    assert kernel.launches[-1][0].is_cooperative
    with pytest.raises(
        LaunchError, match=r"265 blocks of 256 threads .* holds 264 of them .* 132 multiprocessors"
    ):
        stand_in.launch(kernel, 265, 256, cooperative=True)


def test_refused_launch_is_described(stand_in: CudaDevice) -> None:
    kernel = Kernel(fault=CoreError("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: too many resources"))
    with pytest.raises(LaunchError) as caught:
        stand_in.launch(kernel, 7, (1024,), shared_bytes=64)
    assert str(caught.value) == (
        "relax: grid=(7, 1, 1), block=(1024, 1, 1), shared_bytes=64: "
        "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: too many resources; the compiled kernel takes 100 "
        "registers per thread and at most 640 threads per block"
    )


def test_overfull_grid_of_a_kernel_with_a_grid_barrier_is_refused(stand_in: CudaDevice) -> None:
    # The words of cuda.core.
    fault = ValueError("The specified grid size (265 * 1 * 1) exceeds the limit (264)")
    with pytest.raises(LaunchError, match=r"relax: grid=\(265, 1, 1\).* exceeds the limit \(264\)"):
        stand_in.launch(Kernel(fault=fault), 265, 256)


def test_fault_of_an_earlier_kernel_is_no_launch_error(stand_in: CudaDevice) -> None:
    fault = CoreError("CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access")
    with pytest.raises(DeviceError, match=r"relax: .* this process has lost the GPU") as caught:
        stand_in.launch(Kernel(fault=fault), 1, 32)
    assert not isinstance(caught.value, LaunchError)
    assert caught.value.__cause__ is fault


@pytest.mark.numba_cuda
@pytest.mark.parametrize(
    ("code", "means"),
    [
        ("CUDA_ERROR_ILLEGAL_ADDRESS", "; a kernel before this call went wrong, and this process"),
        ("CUDA_ERROR_NOT_INITIALIZED", "; this process was forked from one that uses the GPU"),
        ("CUDA_ERROR_INVALID_VALUE", "$"),
    ],
)
def test_what_the_driver_answers_is_told_with_what_it_means(
    monkeypatch: pytest.MonkeyPatch, code: str, means: str
) -> None:
    driver = importlib.import_module("cuda.bindings.driver")
    monkeypatch.setattr(driver, "cuGetErrorString", lambda _: (0, b"so it says"))
    with pytest.raises(DeviceError, match=rf"^copying: {code} \(so it says\){means}"):
        cuda_memory.checked("copying", (getattr(driver.CUresult, code),))


def test_faults_that_are_not_the_drivers_pass(stand_in: CudaDevice) -> None:
    with pytest.raises(ZeroDivisionError):
        stand_in.launch(Kernel(fault=ZeroDivisionError()), 1, 32)


def test_max_active_blocks_needs_a_compiled_kernel(stand_in: CudaDevice) -> None:
    kernel = Kernel(resident=5)
    with pytest.raises(LaunchError, match=r"relax: .* launch it once before"):
        stand_in.max_active_blocks(kernel, 256)
    stand_in.launch(kernel, 1, 256)
    assert stand_in.max_active_blocks(kernel, (16, 16)) == 5


@pytest.mark.usefixtures("_stand_in")
def test_kernels_are_timed() -> None:
    device = CudaDevice(time_kernels=True)
    for _ in range(3):
        device.launch(Kernel(), 1, 32)
    device.synchronize()
    assert device.kernel_ms == 3.0
    device.reset_kernel_ms()
    assert device.kernel_ms == 0.0


def test_time_is_not_a_number_where_it_is_not_taken(stand_in: CudaDevice) -> None:
    stand_in.launch(Kernel(), 1, 32)
    stand_in.synchronize()
    assert math.isnan(stand_in.kernel_ms)


def test_memory_runs_out(stand_in: CudaDevice) -> None:
    with pytest.raises(TooLargeError, match=r"8000 bytes does not fit: stand-in has 1000 of"):
        stand_in.empty((10, 100), np.float64)


def test_shapes_and_arrays_are_checked(stand_in: CudaDevice) -> None:
    with pytest.raises(InputError, match=r"shape=\(2, -1\): no size can be negative"):
        stand_in.empty((2, -1), np.float32)
    with pytest.raises(InputTypeError, match="device_array is a ndarray"):
        stand_in.to_host(np.zeros(3))


# From here on with a GPU.


@pytest.fixture(scope="module")
def gpu() -> Iterator[CudaDevice]:
    try:
        device = CudaDevice(time_kernels=True)
    except DeviceError as why_not:
        pytest.skip(str(why_not))
    yield device
    device.synchronize()


def kernels() -> SimpleNamespace:
    from numba import cuda, float32

    @cuda.jit
    def double(values: Any) -> None:
        i = cuda.grid(1)
        if i < values.size:
            values[i] *= 2

    @cuda.jit
    def reverse(values: Any) -> None:
        tile = cuda.shared.array(0, float32)
        i = cuda.threadIdx.x
        tile[i] = values[i]
        cuda.syncthreads()
        values[i] = tile[values.size - 1 - i]

    @cuda.jit
    def two_phases(values: Any, sums: Any) -> None:
        i = cuda.grid(1)
        values[i] = i
        cuda.cg.this_grid().sync()
        sums[i] = values[i] + values[values.size - 1 - i]

    @cuda.jit
    def scale(pair: Any, factor: Any, added: Any, out: Any) -> None:
        i = cuda.grid(1)
        if i < out.size:
            out[i] = pair[0][i] * factor + added

    return SimpleNamespace(double=double, reverse=reverse, two_phases=two_phases, scale=scale)


def test_gpu_properties_agree_with_the_table(gpu: CudaDevice) -> None:
    from dataclasses import asdict

    from warpladder.device.properties import known_capabilities, properties_of

    if gpu.properties.compute_capability not in known_capabilities():
        pytest.skip(f"{gpu.properties.compute_capability} is not in the table")
    table = properties_of(gpu.properties.compute_capability)
    of_the_product = {"name", "multiprocessors", "memory_bytes"}
    told, known = asdict(gpu.properties), asdict(table)
    assert {k: v for k, v in told.items() if k not in of_the_product} == {
        k: v for k, v in known.items() if k not in of_the_product
    }


def test_gpu_is_a_device(gpu: CudaDevice) -> None:
    from warpladder.device.base import Device as Protocol

    device: Device = gpu
    assert isinstance(device, Protocol)


@pytest.mark.parametrize("shape", [0, 1, 33, (0, 3), (5, 7), (2, 3, 4), ()])
@pytest.mark.parametrize("dtype", ["float32", "int16", "uint8", "complex64", "bool"])
def test_gpu_copies_there_and_back(gpu: CudaDevice, shape: Any, dtype: str) -> None:
    host = np.arange(math.prod(np.empty(shape).shape)).reshape(shape).astype(dtype)
    there = gpu.to_device(host)
    assert there.shape == host.shape
    assert there.dtype == host.dtype
    assert gpu.to_device(there) is there
    np.testing.assert_array_equal(gpu.to_host(there), host)
    out = np.empty_like(host)
    assert gpu.to_host(there, out) is out
    np.testing.assert_array_equal(out, host)


def test_gpu_takes_any_layout(gpu: CudaDevice) -> None:
    host = np.arange(60, dtype=np.int32).reshape(6, 10)
    for view in (host.T, host[::2, 1::3], host[:, ::-1], np.broadcast_to(host[0], (4, 10))):
        np.testing.assert_array_equal(gpu.to_host(gpu.to_device(view)), view)
    there = gpu.to_device(host)
    out = np.empty((3, 5), np.int32)
    np.testing.assert_array_equal(gpu.to_host(there[::2, ::2]), host[::2, ::2])
    np.testing.assert_array_equal(gpu.to_host(there[::2, ::2], out), host[::2, ::2])
    with pytest.raises(InputError, match="out has shape"):
        gpu.to_host(there, out)


def test_gpu_takes_arrays_of_others_without_a_copy(gpu: CudaDevice) -> None:
    mine = gpu.full(8, 1, np.float32)
    others: Any = SimpleNamespace(__cuda_array_interface__=mine.__cuda_array_interface__)
    gpu.launch(kernels().double, 1, 8, gpu.to_device(others))
    assert (gpu.to_host(mine) == 2).all()
    assert (gpu.to_host(others) == 2).all()


@pytest.mark.parametrize("shape", [0, 1, 257, (3, 1000), ()])
@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (0, "float32"),
        (-1, "int64"),
        (math.inf, "float32"),
        (1.5, "float16"),
        (math.nan, "float64"),
        (258, "int16"),
        (1 + 2j, "complex128"),
        (True, "bool"),
        (200, "uint8"),
    ],
)
def test_gpu_fills(gpu: CudaDevice, shape: Any, value: Any, dtype: str) -> None:
    np.testing.assert_array_equal(
        gpu.to_host(gpu.full(shape, value, dtype)), np.full(shape, value, dtype)
    )


def test_gpu_streams_and_events(gpu: CudaDevice) -> None:
    host = gpu.pinned(1 << 20, np.float32)
    host[:] = 3
    back = gpu.pinned(1 << 20, np.float32)
    stream, start, end = gpu.stream(), gpu.event(), gpu.event()
    start.record(stream)
    there = gpu.to_device(host, stream=stream)
    gpu.launch(kernels().double, 4096, 256, there, stream=stream)
    gpu.to_host(there, back, stream=stream)
    end.record(stream)
    stream.synchronize()
    end.synchronize()
    assert (back == 6).all()
    assert start.elapsed_ms(end) > 0
    assert gpu.pinned(0, np.float32).size == 0


@pytest.mark.parametrize("time_kernels", [False, True])
@pytest.mark.usefixtures("gpu")
def test_gpu_binds_a_launch_to_be_made_again(time_kernels: bool) -> None:
    """By the driver alone, and where kernels are timed; on both kinds of streams."""
    gpu = CudaDevice(time_kernels=time_kernels)
    x, y = gpu.to_device(np.arange(100.0)), gpu.to_device(np.ones(100))
    host, there = gpu.mapped(100, np.float64)
    bound = gpu.bind(kernels().scale, 1, 128, (x, y), 2.5, 3, x, moving=(0, 2))
    bound((x.address, there.address), waits=True)
    np.testing.assert_array_equal(host, np.arange(100) * 2.5 + 3)
    stream = gpu.stream()
    bound((y.address, there.address), stream.__cuda_stream__()[1], waits=True)
    np.testing.assert_array_equal(host, np.full(100, 5.5))
    np.testing.assert_array_equal(gpu.to_host(x), np.arange(100))
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None, "what is replaced at each launch is not kept"


def test_gpu_gives_all_its_shared_memory(gpu: CudaDevice) -> None:
    most = gpu.properties.shared_bytes_per_block_optin
    host = np.arange(1024, dtype=np.float32)
    there, reverse = gpu.to_device(host), kernels().reverse
    gpu.launch(reverse, 1, 1024, there, shared_bytes=most)
    np.testing.assert_array_equal(gpu.to_host(there), host[::-1])
    assert gpu.max_active_blocks(reverse, 1024, most) == 1


def test_gpu_occupancy_is_the_calculators(gpu: CudaDevice) -> None:
    from warpladder.device.occupancy import occupancy

    double = kernels().double
    gpu.launch(double, 1, 32, gpu.full(32, 1, np.float32))
    registers = next(iter(double.overloads.values())).regs_per_thread
    for threads in (32, 33, 96, 256, 352, 1024):
        for shared in (0, 1000, 20_200, 49_152, gpu.properties.shared_bytes_per_block_optin):
            expected = occupancy(
                gpu.properties, threads, registers_per_thread=registers, shared_bytes=shared
            )
            assert (
                gpu.max_active_blocks(double, threads, shared) == expected.blocks_per_multiprocessor
            )


def test_gpu_launches_cooperatively(gpu: CudaDevice) -> None:
    two_phases = kernels().two_phases
    threads = 128
    gpu.launch(
        two_phases,
        2,
        threads,
        gpu.empty(2 * threads, np.int64),
        gpu.empty(2 * threads, np.int64),
        cooperative=True,
    )
    most = gpu.max_active_blocks(two_phases, threads) * gpu.properties.multiprocessors
    values, sums = gpu.empty(most * threads, np.int64), gpu.empty(most * threads, np.int64)
    gpu.launch(two_phases, most, threads, values, sums, cooperative=True)
    np.testing.assert_array_equal(gpu.to_host(sums), most * threads - 1)
    with pytest.raises(LaunchError, match=f"two_phases: a cooperative launch of {most + 1} blocks"):
        gpu.launch(two_phases, most + 1, threads, values, sums, cooperative=True)
    with pytest.raises(LaunchError, match="two_phases: grid="):
        gpu.launch(two_phases, most + 1, threads, values, sums)


def test_gpu_launches_any_kernel_cooperatively(gpu: CudaDevice) -> None:
    there = gpu.full(32, 1, np.float32)
    gpu.launch(kernels().double, 1, 32, there, cooperative=True)
    assert (gpu.to_host(there) == 2).all()


def test_gpu_times_kernels(gpu: CudaDevice) -> None:
    there, double = gpu.full(1 << 24, 1, np.float32), kernels().double
    taken = []
    # Other processes may be at work on the GPU, which takes turns with them.
    for _ in range(10):
        gpu.synchronize()
        gpu.reset_kernel_ms()
        gpu.launch(double, 1 << 16, 256, there)
        gpu.synchronize()
        taken.append(gpu.kernel_ms)
    # 128 MiB cannot pass in less than 10 us; compiling, which takes longer than 50 ms, is not in.
    assert min(taken) > 0.01
    assert min(taken[1:]) < 50


def test_gpu_memory_runs_out(gpu: CudaDevice) -> None:
    with pytest.raises(TooLargeError, match=r"an array of 1125899906842624 bytes does not fit"):
        gpu.empty(1 << 50, np.uint8)
