"""Tests of what is around an engine run the plain loop, of which little is compiled."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from warpladder.advection import prepared
from warpladder.advection.plain import PlainEngine


@pytest.fixture(scope="module")
def plain_engine() -> Iterator[None]:
    """Let runs on the CPU take the plain loop, to which the engine's bits are equal."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepared, "_cpu_engine", lambda: (PlainEngine(), "the plain loop"))
        yield
