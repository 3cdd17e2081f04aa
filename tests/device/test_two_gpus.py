"""Several GPUs: work goes to the one that has the array, and the caller's stays the current one."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import warpladder as wl
from warpladder.device import cuda_current, driver_calls
from warpladder.device.cuda import probe_cuda
from warpladder.device.cuda_current import CurrentGpu, Held
from warpladder.device.select import gpu

# ---- a stand-in for the driver -------------------------------------------------------------------


class Driver:
    """Notes which GPU is current, None where none is."""

    def __init__(self) -> None:
        self.current: int | None = None
        self.times = 0

    def make_current(self, index: int | None) -> None:
        self.current = index
        self.times += 1


class Gpu:
    """A device of cuda.core, or memory on it."""

    def __init__(self, driver: Driver, index: int) -> None:
        self.driver, self.index = driver, index
        self.closed_on: list[int | None] = []

    def set_current(self) -> None:
        self.driver.make_current(self.index)

    def close(self) -> None:
        self.closed_on.append(self.driver.current)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    stand_in = Driver()
    monkeypatch.setattr(cuda_current, "current_context", lambda: stand_in.current)
    monkeypatch.setattr(cuda_current, "_make_current", stand_in.make_current)
    return stand_in


@pytest.mark.parametrize("before", [None, 0, 1])
def test_afterwards_that_one_is_current_which_was(driver: Driver, before: int | None) -> None:
    driver.current = before
    first, second = (CurrentGpu(Gpu(driver, k), k, is_alone=False) for k in (0, 1))
    with second:
        assert driver.current == 1
        with first:
            assert driver.current == 0
        with second:
            assert driver.current == 1
        assert driver.current == 1
    assert driver.current == before
    with pytest.raises(ValueError, match="midway"), second:
        raise ValueError("midway")
    assert driver.current == before


def test_where_there_is_one_gpu_each_thread_asks_once(driver: Driver) -> None:
    current = CurrentGpu(Gpu(driver, 0), 0, is_alone=True)

    def enter_thrice() -> None:
        for _ in range(3):
            with current:
                assert driver.current == 0

    enter_thrice()
    assert (driver.current, driver.times) == (0, 1)
    thread = threading.Thread(target=enter_thrice)
    thread.start()
    thread.join()
    assert driver.times == 2


def test_memory_goes_back_on_the_gpu_that_has_it(driver: Driver) -> None:
    driver.current = 0
    buffer = Gpu(driver, 1)
    held = Held(buffer, CurrentGpu(Gpu(driver, 1), 1, is_alone=False))
    del held
    assert buffer.closed_on == [1]
    assert driver.current == 0


def test_the_driver_says_where_memory_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its own function: the bindings' answers 0 for every GPU."""
    bindings = pytest.importorskip("cuda.bindings.driver")
    ordinal = int(bindings.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)

    def answer(number: Any, asked: int, address: int) -> int:
        assert asked == ordinal
        number[0] = 3
        return 0 if address == 2**47 + 1 else 1

    signature = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.c_int, ctypes.c_uint64
    )
    function = signature(answer)
    place = ctypes.cast(function, ctypes.c_void_p).value
    monkeypatch.setattr(driver_calls, "_function", lambda _: place)
    driver_calls._pointer_attribute.cache_clear()
    try:
        assert driver_calls.gpu_at(2**47 + 1) == 3
        assert driver_calls.gpu_at(64) is None
    finally:
        driver_calls._pointer_attribute.cache_clear()


# ---- two GPUs ------------------------------------------------------------------------------------

needs_two = pytest.mark.skipif(len(probe_cuda().gpus) < 2, reason="takes two GPUs")

ROWS = np.random.default_rng(0).integers(0, 100, (300, 400)).astype(np.float32)
WEIGHTS = np.random.default_rng(1).integers(1, 100, (200, 200)).astype(np.int32)
CELLS = np.where(np.arange(5000) // 100 == 1, 1, 0).astype(np.float32)

CALLS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "number": (ROWS, lambda values: wl.reduce(values, "sum")),
    "columns": (ROWS, lambda values: wl.reduce(values, "argmax", axis=0)),
    "rows": (ROWS, lambda values: wl.reduce(values, ("sum", "max"), axis=1)[1]),
    "exact": (ROWS, lambda values: wl.reduce(values, "sum", accuracy="reproducible", axis=0)),
    "prepared": (ROWS, lambda values: wl.reduce.prepare(values, "sum", axis=0)(values)),
    "nothing": (ROWS[:0], lambda values: wl.reduce(values, "sum", axis=0)),
    "paths": (WEIGHTS, lambda values: wl.shortest_paths(values).dist_matrix),
    "with hops": (WEIGHTS, lambda values: wl.shortest_paths(values, next_hops=True).dist_matrix),
    "stack": (WEIGHTS.reshape(-1, 20, 20), lambda values: wl.shortest_paths(values).dist_matrix),
    "advect": (CELLS, lambda values: wl.advect(values, courant=0.5, steps=100).phi),
}


class Torch:
    """Tensors, and the GPU on which PyTorch works."""

    def __init__(self) -> None:
        self.library = pytest.importorskip("torch")

    def there(self, array: Any, index: int) -> Any:
        return self.library.from_numpy(array).to(f"cuda:{index}")

    def back(self, array: Any) -> tuple[int, Any]:
        return array.device.index, array.cpu().numpy()

    def work_on(self, index: int) -> None:
        self.library.cuda.set_device(index)

    def current(self) -> int:
        return int(self.library.cuda.current_device())


class CuPy:
    """Arrays of CuPy, and the GPU on which it works."""

    def __init__(self) -> None:
        self.library = pytest.importorskip("cupy")

    def there(self, array: Any, index: int) -> Any:
        with self.library.cuda.Device(index):
            return self.library.asarray(array)

    def back(self, array: Any) -> tuple[int, Any]:
        with array.device:
            return array.device.id, array.get()

    def work_on(self, index: int) -> None:
        self.library.cuda.Device(index).use()

    def current(self) -> int:
        return int(self.library.cuda.runtime.getDevice())


class Ours(Torch):
    """Arrays of ours, beside PyTorch."""

    def there(self, array: Any, index: int) -> Any:
        return gpu(index).to_device(array)

    def back(self, array: Any) -> tuple[int, Any]:
        return array.device.index, array.device.to_host(array)


@pytest.fixture(params=[Torch, CuPy, Ours], ids=lambda kind: kind.__name__)
def library(request: pytest.FixtureRequest) -> Iterator[Any]:
    if len(probe_cuda().gpus) < 2:
        pytest.skip("takes two GPUs")
    own = request.param()
    yield own
    own.work_on(0)


@pytest.mark.parametrize("name", CALLS)
def test_the_answer_is_where_the_array_is(library: Any, name: str) -> None:
    given, call = CALLS[name]
    expected = given.sum(axis=0) if name == "prepared" else call(given)
    for current, index in ((0, 1), (1, 0), (1, 1), (0, 0), (0, 1)):
        library.work_on(current)
        found = call(library.there(given, index))
        assert library.current() == current
        if np.ndim(expected):
            where, found = library.back(found)
            assert where == index
        assert np.array_equal(found, expected)


def test_masks_and_room_for_results_on_the_other_gpu(library: Any) -> None:
    values, mask = library.there(ROWS, 1), library.there(ROWS > 50, 1)
    room = library.there(ROWS[0], 1)
    assert wl.reduce(values, axis=0, where=mask, out=room) is room
    assert np.array_equal(library.back(room)[1], ROWS.sum(axis=0, where=ROWS > 50))
    assert library.current() == 0


def test_arrays_of_two_gpus_do_not_mix(library: Any) -> None:
    here, there = library.there(ROWS, 0), library.there(ROWS, 1)
    mask, room = library.there(ROWS > 50, 1), library.there(ROWS[0], 1)
    prepared = wl.reduce.prepare(here, "sum")
    for call in (
        lambda: wl.reduce(here, where=mask),
        lambda: wl.reduce(here, axis=0, out=room),
        lambda: prepared(there),
        lambda: wl.reduce(there, device=gpu(0)),
        lambda: wl.shortest_paths(library.there(WEIGHTS, 1), device=gpu(0)),
        lambda: wl.advect(library.there(CELLS, 1), courant=0.5, steps=5, device=gpu(0)),
    ):
        with pytest.raises(wl.InputError, match="GPU"):
            call()


@needs_two
@pytest.mark.parametrize("index", [0, 1])
def test_arrays_of_the_host_go_to_the_gpu_asked_for(index: int) -> None:
    device, beside = gpu(index), Torch()
    beside.work_on(1 - index)
    many = np.tile(ROWS, (100, 1))
    rows = [list(range(k, k + 20)) for k in range(200)]
    for call in (
        lambda where: wl.reduce(many, "sum", axis=0, device=where),
        lambda where: wl.shortest_paths(WEIGHTS, device=where).dist_matrix,
        lambda where: wl.advect(CELLS, courant=0.5, steps=100, device=where).phi,
        lambda where: len(wl.overlap_join(rows, 5, device=where)),
    ):
        assert np.array_equal(call(device), call("cpu"))
        assert beside.current() == 1 - index


@needs_two
def test_threads_have_a_gpu_each() -> None:
    beside = Torch()
    faults: list[BaseException] = []

    def work(own: int) -> None:
        try:
            beside.work_on(own)
            for k in range(100):
                for index in (own, 1 - own):
                    values = beside.library.full((300, 400), float(k % 7), device=f"cuda:{index}")
                    assert wl.reduce(values, "sum") == k % 7 * 120_000
                    assert bool((wl.reduce(values, "sum", axis=0) == k % 7 * 300).all())
                assert beside.current() == own
        except BaseException as fault:  # noqa: BLE001 - told below
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(k % 2,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
