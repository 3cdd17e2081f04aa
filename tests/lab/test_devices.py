"""Which device is opened."""

from __future__ import annotations

import pytest
from fakes import FakeGpu, FakeSimulator

from warpladder.device import cuda_device
from warpladder.device.base import Device
from warpladder.errors import DeviceError, InputError
from warpladder.lab.devices import Simulated, Timed, open_device
from warpladder.simulator import SimulatedDevice


def no_gpu(**_options):
    raise DeviceError("there is no GPU")


def test_cuda_where_there_is_a_gpu_and_else_the_simulator(monkeypatch):
    made = []
    monkeypatch.setattr(cuda_device, "CudaDevice", lambda **options: made.append(options) or "gpu")
    assert open_device("auto") == open_device("cuda", time_kernels=True) == "gpu"
    assert made == [{"time_kernels": False}, {"time_kernels": True}]
    monkeypatch.setattr(cuda_device, "CudaDevice", no_gpu)
    assert isinstance(open_device("auto"), SimulatedDevice)
    with pytest.raises(DeviceError, match="there is no GPU"):
        open_device("cuda")


def test_the_others():
    assert isinstance(open_device("simulator"), SimulatedDevice)
    assert open_device("cpu") is None
    with pytest.raises(InputError, match="use one of auto, simulator, cuda, cpu"):
        open_device("gpu")


def test_the_fakes_are_what_they_stand_for():
    assert isinstance(FakeGpu(), Device)
    assert isinstance(FakeSimulator(), Device)
    assert isinstance(FakeSimulator(), Simulated)
    assert not isinstance(FakeSimulator(), Timed)
    assert isinstance(FakeGpu(), Timed)
    assert not isinstance(FakeGpu(), Simulated)
    assert isinstance(SimulatedDevice(), Simulated)
    assert not isinstance(SimulatedDevice(), Timed)
