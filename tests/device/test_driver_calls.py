"""Launches from compiled code: what the driver is given, by a function that stands in for its."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pytest
from numba import config

from warpladder.device import driver_calls
from warpladder.device.cuda_bound import CudaBound
from warpladder.device.driver_calls import compiled_launch, described_launch

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")

_WORDS = ctypes.POINTER(ctypes.POINTER(ctypes.c_int64))
_AS_DRIVER = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, ctypes.c_void_p, _WORDS, ctypes.c_void_p
)
_FAULT = 700


class Driver:
    """Notes what it is given, and answers with a code."""

    def __init__(self, words: int) -> None:
        self.given: list[tuple[object, ...]] = []
        self.code = 0
        self._words = words
        self.function = _AS_DRIVER(self._note)

    def _note(self, *given: object) -> int:
        *plain, pointers, extra = given
        words = [pointers[number][0] for number in range(self._words)]  # type: ignore[index]
        self.given.append((*plain, words, extra))
        return self.code


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    stand_in = Driver(4)
    address = ctypes.cast(stand_in.function, ctypes.c_void_p).value
    monkeypatch.setattr(driver_calls, "_function", lambda: address)
    return stand_in


def test_the_driver_is_given_what_was_described(driver: Driver) -> None:
    extents = (2**31 - 1, 65535, 3, 1024, 5, 6, 232_448)
    described = described_launch(2**47 + 1, extents, [11, -12, 2**62, 14], [3, 1])
    address = ctypes.addressof(described)
    launch = compiled_launch(2)
    assert launch(address, 99, (2**47 + 5, 66)) == 0
    assert driver.given == [(2**47 + 1, *extents, 99, [11, 66, 2**62, 2**47 + 5], None)]
    # Nothing is left of the launch before.
    driver.code = _FAULT
    assert launch(address, 0, (7, 8)) == _FAULT
    assert driver.given[1] == (2**47 + 1, *extents, None, [11, 8, 2**62, 7], None)


def test_the_stream_that_is_waited_for_is_the_one_that_launches_go_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bindings that were told so take 0 for a default stream of the thread."""
    bindings = pytest.importorskip("cuda.bindings.driver")
    waited = []

    def synchronize(stream: int) -> tuple[int]:
        waited.append(stream)
        return (0,)

    monkeypatch.setattr(bindings, "cuStreamSynchronize", synchronize)
    bound = object.__new__(CudaBound)
    monkeypatch.setattr(bound, "_enter", lambda: None, raising=False)
    bound.wait()
    bound.wait(2**40)
    assert waited == [bindings.CU_STREAM_LEGACY, 2**40]


def test_other_numbers_of_words_are_refused(driver: Driver) -> None:
    described = described_launch(1, (1, 1, 1, 32, 1, 1, 0), [1, 2, 3, 4], [0, 1])
    for words in ((1,), (1, 2, 3)):
        with pytest.raises((IndexError, ValueError)):
            compiled_launch(2)(ctypes.addressof(described), 0, words)
    assert not driver.given
