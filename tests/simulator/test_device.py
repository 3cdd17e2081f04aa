"""The simulated device as host code sees it."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from numba import cuda, float32

from warpladder.device.base import Device
from warpladder.errors import (
    DeviceError,
    InputError,
    InputTypeError,
    KernelFaultError,
    TooLargeError,
)
from warpladder.simulator import SimulatedDevice, simulate, simulated_cuda


@cuda.jit
def doubled(values):
    i = cuda.grid(1)
    if i < values.size:
        values[i] *= 2


@cuda.jit
def shifted(values):
    values[0] = 1


@pytest.fixture
def device():
    return SimulatedDevice()


def test_it_is_a_device():
    assert isinstance(SimulatedDevice(), Device)


@pytest.mark.parametrize(
    "name", [name for name in vars(Device) if inspect.isfunction(vars(Device)[name])]
)
def test_its_methods_take_what_the_protocol_says(name):
    if name.startswith("_"):
        assert name in {"__init__", "__subclasshook__"}
        return
    wanted = inspect.signature(getattr(Device, name)).parameters
    given = inspect.signature(getattr(SimulatedDevice, name)).parameters
    assert list(given) == list(wanted)
    for parameter in wanted:
        assert given[parameter].kind == wanted[parameter].kind
        assert given[parameter].default == wanted[parameter].default


def test_properties_are_those_of_the_capability():
    device = SimulatedDevice((7, 5), multiprocessors=3)
    assert device.properties.compute_capability == (7, 5)
    assert device.properties.multiprocessors == 3
    assert SimulatedDevice().properties.compute_capability == (9, 0)


@pytest.mark.parametrize(
    "options",
    [{"compute_capability": (4, 2)}, {"multiprocessors": 0}, {"schedule": "x"}, {"checks": ["x"]}],
)
def test_options_that_are_not_known(options):
    with pytest.raises(InputError):
        SimulatedDevice(**options)


# --- memory ---------------------------------------------------------------------------------------


def test_objects_are_refused_before_their_memory_is_touched(device):
    objects = np.array([None])
    within = np.zeros(2, [("a", "i4"), ("b", "O")])
    with simulated_cuda():
        calls = [lambda: cuda.to_device(objects), lambda: cuda.device_array(3, object)]
        calls += [lambda: device.to_device(objects), lambda: device.to_device(within)]
        calls += [lambda: device.empty(3, object), lambda: device.full(3, None, object)]
        calls += [lambda: device.mapped(3, object), lambda: device.pinned(3, object)]
        for call in calls:
            with pytest.raises(InputTypeError, match=r"^dtype .*: Python objects cannot lie"):
                call()


@pytest.mark.parametrize("name", ["empty", "mapped", "pinned"])
def test_shapes_and_dtypes_that_are_none(device, name):
    make = getattr(device, name)
    with pytest.raises(InputError, match="shape=-1: no size can be negative"):
        make(-1, np.int32)
    with pytest.raises(InputTypeError, match=r"shape=2\.5: sizes are whole numbers"):
        make(2.5, "f8")
    with pytest.raises(InputTypeError, match="dtype='nonsense' is not known"):
        make(3, "nonsense")


@pytest.mark.parametrize("shape", [2**60, (2**32, 2**32)])
def test_what_memory_does_not_hold_is_refused(device, shape):
    with pytest.raises(TooLargeError, match="elements of a simulated device take"):
        device.empty(shape, np.float32)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int64, np.float16, np.complex64])
def test_there_and_back(device, dtype, order):
    host = np.asarray(np.arange(24).reshape(2, 3, 4).astype(dtype), order=order)
    there = device.to_device(host)
    assert (there.shape, there.dtype) == (host.shape, host.dtype)
    back = device.to_host(there)
    assert np.array_equal(back, host)
    assert back.flags.f_contiguous == host.flags.f_contiguous
    assert not np.shares_memory(back, host)


def test_a_copy_of_the_device_is_its_own(device):
    host = np.arange(5.0)
    there = device.to_device(host)
    host[:] = -1
    device.launch(doubled, 1, 32, there)
    assert device.to_host(there).tolist() == [0, 2, 4, 6, 8]
    assert (host == -1).all()


@pytest.mark.parametrize("shape", [0, (0, 3), (), 1, (2, 0)])
def test_arrays_without_elements_or_axes(device, shape):
    there = device.full(shape, 7, np.int32)
    assert device.to_host(there).shape == (shape if isinstance(shape, tuple) else (shape,))
    assert (device.to_host(there) == 7).all()


def test_what_is_on_the_device_passes(device):
    there = device.full(4, 1, np.float32)
    assert device.to_device(there) is there


def test_lists_and_scalars_are_taken_as_numpy_takes_them(device):
    assert device.to_host(device.to_device([[1, 2], [3, 4]])).tolist() == [[1, 2], [3, 4]]
    assert device.to_host(device.to_device(2.5)) == 2.5


def test_non_contiguous_host_arrays(device):
    host = np.arange(20).reshape(4, 5)[::2, ::-2]
    assert np.array_equal(device.to_host(device.to_device(host)), host)


def test_slices_share_memory(device):
    base = device.to_device(np.arange(10.0))
    part = base[2:8:2]
    assert part.shape == (3,)
    device.launch(doubled, 1, 32, part)
    assert device.to_host(base).tolist() == [0, 1, 4, 3, 8, 5, 12, 7, 8, 9]
    assert device.to_host(part).tolist() == [4, 8, 12]


def test_rows_and_columns_share_memory(device):
    base = device.full((3, 4), 1, np.float32)
    device.launch(doubled, 1, 32, base[1])
    device.launch(doubled, 1, 32, base[:, 2])
    expected = np.ones((3, 4))
    expected[1] *= 2
    expected[:, 2] *= 2
    assert np.array_equal(device.to_host(base), expected)


# NumPy would copy: a kernel that is given the copy would look for it beside the array.
@pytest.mark.parametrize(
    "of",
    [
        lambda array: array[:, 1:3].reshape(6),
        lambda array: array.T.ravel(),
        lambda array: array.reshape(12, order="F"),
        lambda array: array[[0, 2]],
        lambda array: array[np.array([True, False, True])],
    ],
)
def test_what_would_be_a_copy_is_refused(device, of):
    array = device.to_device(np.arange(12.0).reshape(3, 4))
    with pytest.raises(InputError, match="is a copy; copy it to the host first"):
        of(array)


def test_two_slices_of_one_array_are_one_memory_to_racecheck(device):
    @cuda.jit
    def kernel(left, right):
        i = cuda.grid(1)
        right[i] = left[i]

    base = device.to_device(np.arange(64.0))
    device.launch(kernel, 1, 32, base[:32], base[32:])
    with pytest.raises(KernelFaultError) as caught:
        device.launch(kernel, 1, 32, base[:32], base[1:33])
    assert caught.value.check == "racecheck"


def test_to_host_into_an_array(device):
    there, out = device.to_device(np.arange(4.0)), np.zeros(4)
    assert device.to_host(there, out) is out
    assert out.tolist() == [0, 1, 2, 3]
    assert device.to_host(there, out=out, stream=device.stream()) is out


@pytest.mark.parametrize("with_stream", [False, True])
@pytest.mark.parametrize(
    ("out", "told"),
    [
        (np.zeros(3), r"out has shape \(3,\)"),
        (np.zeros((2, 4)), r"out has shape \(2, 4\)"),
        (np.zeros(4, "f4"), "dtype float32"),
        (np.zeros(8)[::2], "must be contiguous"),
    ],
)
def test_to_host_refuses_what_a_gpu_could_not_copy_into(device, out, told, with_stream):
    stream = device.stream() if with_stream else None
    with pytest.raises(InputError, match=told):
        device.to_host(device.to_device(np.arange(4.0)), out, stream=stream)


@pytest.mark.parametrize("stranger", [np.zeros(3), [1, 2], None])
def test_to_host_of_what_is_not_on_the_device(device, stranger):
    with pytest.raises(DeviceError, match="no array of the simulated device"):
        device.to_host(stranger)


def test_arrays_of_a_program_are_copied_as_numba_copies_them():
    with simulated_cuda():
        there = cuda.to_device(np.arange(5.0))
        host = np.zeros((5, 1))
        assert there.copy_to_host(host) is host
        assert [part.copy_to_host().tolist() for part in there.split(3)] == [[0, 1, 2], [3, 4]]
        assert there.is_c_contiguous()
        assert there.is_f_contiguous()
        for other in (np.zeros(5, "f4"), np.zeros(1)):
            with pytest.raises((TypeError, ValueError), match=r"incompatible (dtype|shape)"):
                there.copy_to_host(other)
            with pytest.raises((TypeError, ValueError), match=r"incompatible (dtype|shape)"):
                cuda.to_device(other, to=there)


def test_arrays_of_a_program_are_turned_by_a_copy():
    @cuda.jit
    def kernel(values):
        values[cuda.grid(2)] += 7

    with simulated_cuda(checks=True):
        host = np.arange(6.0).reshape(2, 3)
        there = cuda.to_device(host)
        turned = there.T
        assert there.transpose((0, 1)) is there
        assert turned.copy_to_host().tolist() == host.T.tolist()
        kernel[1, turned.shape](turned)
        assert there.copy_to_host().tolist() == host.tolist()
        # Of what nobody has written the copy is known to be such.
        with pytest.raises(KernelFaultError, match="initcheck"):
            kernel[1, 1](cuda.device_array((1, 2)).T)
        with pytest.raises(NotImplementedError, match="has to have two axes"):
            cuda.device_array((1, 2, 3)).transpose()
        with pytest.raises(ValueError, match="are not the two of the array"):
            there.transpose((0, 2))


def test_what_is_repeated_on_the_host_is_repeated_on_the_device():
    with simulated_cuda(checks=True):
        there = cuda.to_device(np.broadcast_to(np.arange(3.0), (2, 3)))
        assert there.strides == (0, 8)
        assert there.copy_to_host().tolist() == [[0, 1, 2], [0, 1, 2]]

        @cuda.jit
        def kernel(values):
            values[cuda.grid(1), 0] = cuda.grid(1)

        with pytest.raises(KernelFaultError, match="racecheck"):
            kernel[1, 2](there)


def test_arrays_of_a_program_may_have_gaps():
    @cuda.jit
    def kernel(values, out):
        out[cuda.grid(1)] = values.strides[0]

    with simulated_cuda(counters=True):
        there = cuda.device_array((3, 5), np.float32, strides=(64, 4))
        out = cuda.to_device(np.zeros(1))
        kernel[1, 1](there, out)
        assert out.copy_to_host() == [there.strides[0]] == [64]
        there[:] = 7
        assert cuda.device_array(np.array([2, 3])).shape == (2, 3)
        with pytest.raises(ValueError, match="without a copy"):
            np.asarray(there, copy=False)
        assert there.copy_to_host().tolist() == [[7] * 5] * 3
        assert cuda.device_array_like(there).strides == (20, 4)
        assert cuda.device_array((3, 5), np.float32, strides=(4, 12)).flags.f_contiguous
        assert cuda.device_array((0, 5), strides=(64, 8)).shape == (0, 5)
        with pytest.raises(ValueError, match="takes 2 of them"):
            cuda.device_array((3, 5), strides=(8,))


@pytest.mark.parametrize(
    ("copy", "fault", "told"),
    [
        (lambda _: cuda.to_device(np.zeros((4, 4))[:, ::2]), ValueError, "not contiguous"),
        (lambda _: shifted[1, 1](np.zeros(8)[::2]), ValueError, "not contiguous"),
        (lambda there: there[::2].copy_to_device(np.zeros((2, 3))), ValueError, "not contiguous"),
        (lambda there: there.copy_to_host(np.zeros((4, 3)).T.copy().T), ValueError, "incompatible"),
        (lambda there: there.copy_to_device(np.zeros((4, 3), order="F")), None, ""),
        (
            lambda there: there.copy_to_device(cuda.to_device(np.zeros((4, 3), order="F"))),
            ValueError,
            "incompatible strides",
        ),
        (lambda there: there[::-1].copy_to_host(), NotImplementedError, "backwards"),
        (lambda there: there[:, ::2].reshape(8), NotImplementedError, "is a copy"),
    ],
)
def test_copies_that_no_gpu_makes(copy, fault, told):
    with simulated_cuda():
        there = cuda.to_device(np.zeros((4, 3)))
        if fault is None:
            copy(there)
            return
        with pytest.raises(fault, match=told):
            copy(there)


def test_kernels_that_were_made_before_are_launched_there():
    @cuda.jit(device=True)
    def function(values):
        values[0] = 1

    kernel, configured = cuda.jit(doubled.py_func), type(doubled).__getitem__
    with simulated_cuda(checks=True):
        values = cuda.to_device(np.arange(4.0))
        kernel[1, 4](values)
        kernel.forall(4)(values)
        with simulated_cuda():
            cuda.jit(shifted)[1, 1](values)
        assert values.copy_to_host().tolist() == [1, 4, 8, 12]
        with pytest.raises(RuntimeError, match="device function"):
            function[256, 1](np.zeros(1))
    assert type(doubled).__getitem__ is configured


def test_each_kernel_is_itself_though_nobody_keeps_it(device):
    def storing(number):
        @cuda.jit
        def kernel(values):
            values[0] = number

        return kernel

    values = device.full(1, -1, np.int64)
    with simulated_cuda():
        for number in range(6):
            device.launch(storing(number), 1, 1, values)
            assert device.to_host(values)[0] == number


def test_kernels_keep_their_signatures(device):
    def halved(number, values):
        values[0] = number / 2

    signature, values = "void(int32, float64[:])", device.full(1, 0, np.float64)
    with simulated_cuda():
        compiled = cuda.jit(signature)(halved)
    for kernel in (compiled, simulate(compiled), simulate(halved, signature=signature)):
        device.launch(kernel, 1, 1, 3.9, values)
        assert device.to_host(values)[0] == 1.5


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda device, _: device.launch(None, 1, 1), "kernel is of type NoneType"),
        (lambda device, _: device.launch(len, 1, 1), "kernel is of type builtin_function"),
        (lambda device, x: device.launch(doubled, 1, 1, x, shared_bytes=1.5), "no number of bytes"),
        (lambda device, x: device.launch(doubled, 1, 1, x, cooperative="no"), "True or False"),
        (lambda device, _: device.max_active_blocks(doubled, 32.5), "not made of whole numbers"),
        (
            lambda device, _: device.to_device(np.zeros(3), out=np.zeros(3)),
            "out is of type ndarray",
        ),
        (lambda device, x: device.to_host(x, out=[0, 0, 0]), "out is of type list"),
        (lambda *_: SimulatedDevice(multiprocessors=1.5), "no whole number"),
        (
            lambda device, x: device.bind(doubled, 1, 1, x, moving=(0,))((device.empty(3, "f4"),)),
            r"bound to <SimulatedArray shape=\(3,\) dtype=float64> cannot be given",
        ),
    ],
)
def test_what_a_device_cannot_be_asked(device, ask, told):
    with pytest.raises((TypeError, DeviceError), match=told):
        ask(device, device.full(3, 1, np.float64))


@pytest.mark.parametrize(
    ("decorate", "told"),
    [
        (lambda: cuda.jit(fastmth=True)(shifted.py_func), "fastmth is no option of kernels"),
        (lambda: cuda.jit("void(f8[:])", nopython=True)(shifted.py_func), "nopython is no option"),
        (
            lambda: cuda.jit("int32(f8[:])")(shifted.py_func),
            "must have void return type, not int32",
        ),
        (lambda: cuda.jit(launch_bounds=(1, 2, 3, 4))(len), "launch_bounds=.* takes the threads"),
        (lambda: cuda.jit(shared_memory_carveout=101)(len), "carveout=101 is none of default"),
        (
            lambda: cuda.jit(shared_memory_carveout="most")(len),
            "carveout='most' is none of default",
        ),
    ],
)
def test_decorators_that_numba_refuses(decorate, told):
    with simulated_cuda(), pytest.raises((TypeError, ValueError), match=told):
        decorate()


def test_what_a_program_asks_of_a_kernel():
    with simulated_cuda():
        kernel = cuda.jit(launch_bounds=64, max_registers=32, cache=True)(shifted.py_func)
        assert len(kernel.overloads) == 0
        kernel.configure(1, 1)(np.zeros(1))
        (signature,) = kernel.signatures
        ((same, compiled),) = kernel.overloads.items()
        assert same == signature
        assert compiled.max_cooperative_grid_blocks(64) > 100
        with pytest.raises(AttributeError, match="inspect_asm: a simulated kernel is not"):
            kernel.inspect_asm()
        with pytest.raises(AttributeError, match="no attribute 'lanch'"):
            _ = kernel.lanch


def test_a_program_finds_one_device(capsys):
    with simulated_cuda():
        assert cuda.detect()
        with cuda.gpus[0]:
            assert [*cuda.gpus] == cuda.gpus.lst == cuda.list_devices()
            assert cuda.gpus.current is cuda.get_current_device() is cuda.select_device(0)
        free, total = cuda.current_context().get_memory_info()
        assert free == total > 0
        with cuda.profiling():
            cuda.event(True).record()
        assert cuda.require_context(len)([1]) == 1
        assert cuda.is_bfloat16_supported()
        cuda.external_stream(0).synchronize()
        with pytest.raises(DeviceError, match="there is one simulated device"):
            cuda.select_device(1)
        # As text, like numba-cuda's.
        assert "sm_" in cuda.get_current_device().name
    found = capsys.readouterr().out
    assert "Found 1 CUDA devices" in found
    assert "b'" not in found


def test_pinned_memory_is_a_host_array(device):
    pinned = device.pinned((2, 3), np.float32)
    assert isinstance(pinned, np.ndarray)
    assert (pinned.shape, pinned.dtype) == ((2, 3), np.float32)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex128])
def test_unwritten_floats_are_nan(device, dtype):
    assert np.isnan(device.to_host(device.empty(5, dtype))).all()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint64])
def test_unwritten_integers_are_no_number_that_a_kernel_would_write(device, dtype):
    found = device.to_host(device.empty((2, 2), dtype))
    assert (found == found[0, 0]).all()
    assert not -50 < int(found[0, 0]) < 150


def test_initcheck_knows_what_the_host_wrote(device):
    values = device.empty(8, np.float32)
    with pytest.raises(KernelFaultError, match=r"values\[0\] is read before") as caught:
        device.launch(doubled, 1, 32, values)
    assert caught.value.check == "initcheck"
    values[2:6] = np.arange(4)
    device.launch(doubled, 1, 32, values[2:6])
    assert device.to_host(values)[2:6].tolist() == [0, 2, 4, 6]
    with pytest.raises(KernelFaultError, match="initcheck"):
        device.launch(doubled, 1, 32, values[5:7])
    device.launch(doubled, 1, 32, device.full(8, 0, np.float32))
    device.launch(doubled, 1, 32, device.to_device(np.zeros(8)))


def test_columns_that_the_host_wrote(device):
    matrix = device.empty((4, 4), np.int32)
    matrix[:, 1] = 5
    device.launch(doubled, 1, 32, matrix[:, 1])
    assert (device.to_host(matrix)[:, 1] == 10).all()
    with pytest.raises(KernelFaultError, match="initcheck"):
        device.launch(doubled, 1, 32, matrix[:, 2])


def test_without_checks_unwritten_memory_may_be_read():
    device = SimulatedDevice(checks=False)
    values = device.empty(4, np.float32)
    device.launch(doubled, 1, 32, values)
    assert np.isnan(device.to_host(values)).all()


# --- kernels, streams, events ---------------------------------------------------------------------


def test_a_plain_function_may_be_launched(device):
    def kernel(values):
        values[cuda.grid(1)] = 3

    values = device.empty(4, np.int32)
    device.launch(kernel, 1, 4, values)
    assert (device.to_host(values) == 3).all()


def test_grids_and_blocks_of_every_dimension(device):
    @cuda.jit
    def kernel(count):
        cuda.atomic.add(count, 0, 1)

    count = device.full(1, 0, np.int32)
    for grid, block in ((2, 3), ((2, 2), (3, 1)), ((1, 2, 3), (4, 1, 2)), (2, (5, 2))):
        before = device.to_host(count)[0]
        device.launch(kernel, grid, block, count)
        assert device.to_host(count)[0] - before == np.prod(grid) * np.prod(block)
    assert device.launches[2].grid == (1, 2, 3)
    assert device.launches[3].block == (5, 2, 1)


def test_dynamic_shared_memory_is_reported(device):
    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(0, float32)
        tile[0] = 4
        out[0] = tile[0] + tile.size

    out = device.empty(1, np.float32)
    device.launch(kernel, 1, 1, out, shared_bytes=64)
    assert device.to_host(out)[0] == 20
    assert device.launches[-1].shared_bytes == 64


# Of 9.0: 2048 threads, 32 blocks and 228 KiB, 1 KiB of it taken by each block, to a multiprocessor.
@pytest.mark.parametrize(
    ("block", "shared_bytes", "blocks"),
    [
        (1024, 0, 2),
        (256, 0, 8),
        ((16, 16), 0, 8),
        ((8, 8, 4), 0, 8),
        (32, 0, 32),
        (33, 0, 32),
        (768, 0, 2),
        (32, 99 * 1024, 2),
        (32, 227 * 1024, 1),
    ],
)
def test_max_active_blocks(device, block, shared_bytes, blocks):
    assert device.max_active_blocks(doubled, block, shared_bytes) == blocks


def test_streams_and_events(device):
    stream = device.stream()
    first, second = device.event(), device.event()
    with pytest.raises(DeviceError, match="recorded first"):
        first.elapsed_ms(second)
    first.record(stream)
    values = device.to_device(np.arange(4), stream=stream)
    device.launch(doubled, 1, 32, values, stream=stream)
    second.record(stream)
    for wait in (stream, first, second):
        wait.synchronize()
    device.synchronize()
    assert first.elapsed_ms(second) > 0
    assert first.elapsed_ms(second) == -second.elapsed_ms(first)
    assert device.to_host(values).tolist() == [0, 2, 4, 6]
