"""Launches from compiled code: what the driver is given, by a function that stands in for its."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import pytest
from numba import config

from warpladder.device import driver_calls
from warpladder.device.driver_calls import compiled_launch, described_launch

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")

_WORDS = ctypes.POINTER(ctypes.POINTER(ctypes.c_int64))
_CODE, _HANDLE = ctypes.c_int, ctypes.c_void_p
_SIGNATURES = {
    "cuCtxGetCurrent": (_CODE, ctypes.POINTER(_HANDLE)),
    "cuCtxSetCurrent": (_CODE, _HANDLE),
    "cuLaunchKernel": (_CODE, _HANDLE, *[ctypes.c_uint] * 7, _HANDLE, _WORDS, _HANDLE),
    "cuStreamSynchronize": (_CODE, _HANDLE),
}
_OURS, _OTHER = 2**46 + 1, 2**46 + 3
_FAULT = 700


class Driver:
    """Notes what it is given, and answers with codes."""

    def __init__(self, words: int) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.codes: dict[str, int] = {}
        self.current: int | None = _OURS
        self._words = words
        ways = {
            "cuCtxGetCurrent": self._get_current,
            "cuCtxSetCurrent": self._set_current,
            "cuLaunchKernel": self._launch,
        }
        self.functions = {
            name: ctypes.CFUNCTYPE(*signature)(self._noted(name, ways.get(name)))
            for name, signature in _SIGNATURES.items()
        }

    def address(self, name: str) -> int | None:
        return ctypes.cast(self.functions[name], _HANDLE).value

    def _noted(self, name: str, way: Any) -> Any:
        def function(*given: Any) -> int:
            self.asked.append((name, *(given if way is None else way(*given))))
            return self.codes.get(name, 0)

        return function

    def _get_current(self, place: Any) -> tuple[object, ...]:
        place[0] = self.current
        return ()

    def _set_current(self, context: int | None) -> tuple[object, ...]:
        self.current = context
        return (context,)

    def _launch(self, *given: Any) -> tuple[object, ...]:
        *plain, pointers, extra = given
        return *plain, [pointers[number][0] for number in range(self._words)], extra


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    stand_in = Driver(4)
    monkeypatch.setattr(driver_calls, "_function", stand_in.address)
    return stand_in


_EXTENTS = (2**31 - 1, 65535, 3, 1024, 5, 6, 232_448)


@pytest.fixture
def launch(driver: Driver) -> Any:
    described = described_launch(_OURS, 2**47 + 1, _EXTENTS, [11, -12, 2**62, 14], [3, 1])
    # The array has to live as long as it is read.
    return lambda *given, described=described: compiled_launch(2)(
        ctypes.addressof(described), *given
    )


def test_the_driver_is_given_what_was_described(driver: Driver, launch: Any) -> None:
    assert launch(99, (2**47 + 5, 66), False) == 0
    launched = "cuLaunchKernel", 2**47 + 1, *_EXTENTS
    assert driver.asked == [("cuCtxGetCurrent",), (*launched, 99, [11, 66, 2**62, 2**47 + 5], None)]
    # Nothing is left of the launch before.
    driver.codes["cuLaunchKernel"] = _FAULT
    assert launch(0, (7, 8), True) == _FAULT
    assert driver.asked[3:] == [(*launched, None, [11, 8, 2**62, 7], None)]


def test_the_stream_is_waited_for_where_asked(driver: Driver, launch: Any) -> None:
    assert launch(99, (1, 2), True) == 0
    assert driver.asked[2:] == [("cuStreamSynchronize", 99)]
    driver.codes["cuStreamSynchronize"] = _FAULT
    assert launch(0, (1, 2), True) == -_FAULT


@pytest.mark.parametrize("before", [None, _OTHER])
def test_another_gpu_is_current_again_afterwards(
    driver: Driver, launch: Any, before: int | None
) -> None:
    for code in (0, _FAULT):
        driver.current, driver.asked, driver.codes["cuLaunchKernel"] = before, [], code
        assert launch(0, (1, 2), not code) == code
        waited = [] if code else ["cuStreamSynchronize"]
        assert [name for name, *_ in driver.asked] == [
            *("cuCtxGetCurrent", "cuCtxSetCurrent", "cuLaunchKernel", *waited, "cuCtxSetCurrent")
        ]
        assert driver.asked[1] == ("cuCtxSetCurrent", _OURS)
        assert driver.current == before


@pytest.mark.parametrize("function", ["cuCtxGetCurrent", "cuCtxSetCurrent"])
def test_what_cannot_be_made_current_launches_nothing(
    driver: Driver, launch: Any, function: str
) -> None:
    driver.current, driver.codes[function] = _OTHER, _FAULT
    assert launch(0, (1, 2), True) == _FAULT
    assert driver.asked[-1][0] == function


def test_other_numbers_of_words_are_refused(driver: Driver, launch: Any) -> None:
    for words in ((1,), (1, 2, 3)):
        with pytest.raises((IndexError, ValueError)):
            launch(0, words, False)
    assert not driver.asked
