"""Whose CUDA target types kernels, and what is said where it is not numba-cuda's."""

from __future__ import annotations

import runpy
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import warpladder as wl
from choosing import large
from warpladder.device import cuda as probing
from warpladder.device import numba_target, select
from warpladder.device.cuda_device import CudaDevice
from warpladder.device.doctor import doctor
from warpladder.device.numba_target import FRONT_END, FrontEnd
from warpladder.errors import DeviceError
from warpladder.lab import compile as compiling
from warpladder.lab.devices import open_device
from warpladder.simulator import SimulatedDevice


def version_of(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return None


# ---- which one it is -------------------------------------------------------------------------


def test_it_is_numba_cudas_where_that_can_be_used_and_else_numbas():
    # What NumPy 2.5 has dropped, numba-cuda 0.30 cannot do without.
    usable = version_of("numba-cuda") is not None and "row_stack" in dir(np)
    package = "numba-cuda" if usable else "numba"
    assert FRONT_END.package == package
    assert FRONT_END.version == version_of(package)
    assert bool(FRONT_END.why_not) == (package == "numba")
    module = numba_target.CUDADispatcher.__init__.__code__.co_filename
    assert ("numba_cuda" in Path(module).parts) == usable


#: A program as users write them, with what the two targets have in different places.
PROGRAM = """
import numpy as np
{before}
from numba import cuda
from warpladder.device.numba_target import FRONT_END
from warpladder.simulator import SimulatedDevice, simulate, simulated_cuda
from warpladder.device.instructions import relax_pairs
from warpladder.device.wide_loads import load_16_bytes

@cuda.jit(device=True)
def halved(x):
    return x / 2

@cuda.jit
def kernel(numbers, out):
    i = cuda.grid(1)
    tile = cuda.shared.array(32, np.int32)
    tile[i] = cuda.shfl_down_sync(-1, numbers[i], 1)
    cuda.syncthreads()
    votes = cuda.ballot_sync(-1, numbers[i] > 28)
    four = load_16_bytes(numbers, 4)
    cuda.cg.this_grid().sync()
    cuda.atomic.add(out, 0, tile[i])
    out[1] = cuda.popc(votes)
    out[2] = four[0] + four[3] + relax_pairs(9, 3, 4)
    out[3] = halved(np.divide(numbers[3], 3))

out = np.zeros(4)
simulate(kernel, checks=True).launch(1, 32, (np.arange(32, dtype=np.int32), out), cooperative=True)
print(FRONT_END.package, out.tolist())
with simulated_cuda():
    print(cuda.device_array(3).copy_to_host().shape, cuda.__name__)
"""
EXPECTED = ["[527.0, 3.0, 18.0, 0.5]", "(3,) numba.cuda"]


@pytest.mark.parametrize(
    ("broken", "first"),
    [
        # As by NumPy 2.5: it seems to be there, and fails when something is to be typed.
        ("numba.cuda.np.arrayobj", "from numba import cuda"),
        # `numba.cuda` itself cannot be imported.
        *large(("numba.cuda.cgutils", "import warpladder.simulator")),
    ],
)
def test_numba_cuda_is_set_aside_where_it_cannot_be_used(broken, first):
    """In a process of its own, with a module of numba-cuda's that cannot be imported."""
    before = f"import sys; sys.modules[{broken!r}] = None; {first}"
    command = [sys.executable, "-c", PROGRAM.format(before=before)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"numba {EXPECTED[0]}", EXPECTED[1]]


@pytest.mark.numba_cuda
def test_a_numba_cuda_that_is_built_otherwise_is_named(monkeypatch):
    monkeypatch.delattr("numba.cuda.utils.numba_target_override")
    expected = (
        rf"numba-cuda {FRONT_END.version} is built otherwise.*pip install 'warpladder\[cu13\]'"
    )
    with pytest.raises(DeviceError, match=expected):
        runpy.run_path(numba_target.__file__)


# ---- what is said ----------------------------------------------------------------------------


def test_numbas_simulator_is_not_ours(monkeypatch):
    monkeypatch.setattr(numba_target.config, "ENABLE_CUDASIM", 1)
    with pytest.raises(DeviceError, match=r"NUMBA_ENABLE_CUDASIM is set, .*; unset it: "):
        numba_target._choose()


def test_the_obstacle_names_the_reason_and_the_line_that_installs_it(monkeypatch):
    monkeypatch.setattr(numba_target, "_FOR_THIS_SYSTEM", True)
    missing = FrontEnd("numba", "0.68.1", "is not installed")
    assert (
        missing.obstacle() == "numba-cuda, which is not installed: pip install 'warpladder[cu13]'"
    )
    assert "'warpladder[compile]'" in missing.obstacle("compile")
    assert missing.why == "numba-cuda is not installed"
    assert not FrontEnd("numba-cuda", "0.30.4", "").obstacle()
    # No line that installs nothing.
    monkeypatch.setattr(numba_target, "_FOR_THIS_SYSTEM", False)
    assert missing.obstacle() == "numba-cuda, which exists for Linux and Windows only"


@pytest.fixture(params=[None, "13.0"])
def driver(request, monkeypatch):
    """A machine without numba-cuda, without and with a CUDA driver."""
    monkeypatch.setattr(numba_target, "_FOR_THIS_SYSTEM", True)
    missing = FrontEnd("numba", "0.68.1", "is not installed")
    for module in (numba_target, compiling):
        monkeypatch.setattr(module, "FRONT_END", missing)
    monkeypatch.setattr(probing, "_driver_version", lambda: request.param)
    kept = (select._may_find_one, select._found, compiling._libdevice)
    for function in kept:
        function.cache_clear()
    yield request.param
    for function in kept:
        function.cache_clear()


LINE = r"numba-cuda, which is not installed: pip install 'warpladder\[cu13\]'"


def test_calls_for_a_gpu_without_numba_cuda(driver):
    there = f"CUDA driver {driver} is there" if driver else "no CUDA driver is found"
    graph = np.ones((3, 3))
    on_a_gpu = SimpleNamespace(
        __cuda_array_interface__={}, shape=(3,), dtype=np.dtype("f4"), ndim=1, size=3
    )
    for call in (
        lambda: wl.shortest_paths(graph, device="cuda"),
        lambda: wl.reduce(graph, device="cuda"),
        lambda: wl.reduce(on_a_gpu, device="cuda"),
        lambda: open_device("cuda"),
        CudaDevice,
    ):
        with pytest.raises(DeviceError, match=f"{there}, and a GPU is driven through {LINE}"):
            call()
    with pytest.raises(DeviceError, match=f"values is an array on a GPU.* {LINE}"):
        wl.reduce(on_a_gpu)
    assert isinstance(open_device("auto"), SimulatedDevice)


def test_auto_says_that_a_driver_lies_idle(driver):
    device, why = select.choose_device("auto")
    assert device == "cpu"
    if driver:
        assert why.startswith("CUDA driver 13.0 is there, and a GPU is driven through numba-cuda")
        assert "pip install 'warpladder[cu13]'" in why
    else:
        assert why == "there is no CUDA GPU"
    found = doctor()
    assert (found.cuda.driver, found.cuda.gpus, found.auto.why) == (driver, (), why)


@pytest.mark.usefixtures("driver")
def test_compiling_without_numba_cuda():
    line = r"numba-cuda, which is not installed: pip install 'warpladder\[compile\]'"
    with pytest.raises(DeviceError, match=f"compiling kernels without a GPU needs {line}"):
        compiling._libdevice()
    assert "warpladder[compile]" in compiling.missing_tool()


def test_the_driver_is_asked_for_its_version(monkeypatch):
    def library(name):
        def tell(pointer):
            pointer._obj.value = 12080
            return 0

        assert name in {"libcuda.so.1", "nvcuda.dll"}
        return SimpleNamespace(cuDriverGetVersion=tell)

    monkeypatch.setattr("ctypes.CDLL", library)
    assert probing._driver_version() == "12.8"
    assert probing.has_driver()

    def nothing(name):
        raise OSError(name)

    monkeypatch.setattr("ctypes.CDLL", nothing)
    monkeypatch.delenv("NUMBA_CUDA_DRIVER", raising=False)
    assert probing._driver_version() is None
    assert not probing.has_driver()
    monkeypatch.setenv("NUMBA_CUDA_DRIVER", "elsewhere/libcuda.so")
    assert probing.has_driver()
