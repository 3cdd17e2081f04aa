"""Helpers without references to count: Numba still knows the option, and it still does that."""

from __future__ import annotations

import numpy as np
import pytest
from numba import config, njit

from warpladder.device.uncounted import uncounted


def after_zeros(data, at):
    while at < len(data) and data[at] == 0:
        at += 1
    return at


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
def test_no_reference_is_counted():
    data = np.array([0, 0, 7, 0], np.uint8)
    helpers = uncounted(after_zeros), njit(after_zeros)
    for helper in helpers:
        assert [helper(data, at) for at in range(5)] == [2, 2, 2, 4, 4]
    calls = [
        code.count("call void @NRT_")
        for helper in helpers
        for code in helper.inspect_llvm().values()
    ]
    assert calls[0] == 0
