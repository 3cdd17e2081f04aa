"""Options of Numba that are compared by what is set must be equal where Numba's are."""

from __future__ import annotations

from itertools import product

import pytest
from numba import njit, types
from numba.core.compiler import Flags
from numba.core.targetconfig import ConfigStack
from numba.extending import intrinsic

from warpladder.device.compiler_flags import _QuickFlags
from warpladder.device.kernel_cache import cached
from warpladder.device.subroutines import subroutine

_SETTINGS = (
    {},
    {"nrt": False},  # its default
    {"nrt": True},
    {"error_model": "numpy"},
    {"error_model": "numpy", "nrt": False},
    {"error_model": "numpy", "nrt": True},
    {"fastmath": {"nsz"}},
    {"fastmath": {"nsz", "contract"}, "release_gil": True},
)


def _flags(kind, settings):
    flags = kind()
    for name, value in settings.items():
        setattr(flags, name, value)
    return flags


@pytest.mark.parametrize(("mine", "others"), list(product(_SETTINGS, repeat=2)))
def test_equal_where_numbas_are(mine, others):
    expected = _flags(Flags, mine) == _flags(Flags, others)
    quick = _flags(_QuickFlags, mine)
    for kind in (Flags, _QuickFlags):
        other = _flags(kind, others)
        assert (quick == other) is expected
        assert (other == quick) is expected
        assert ({quick: 1}.get(other) == 1) is expected
        assert ({other: 1}.get(quick) == 1) is expected


def test_a_copy_is_one_too():
    flags = _flags(_QuickFlags, {"nrt": True})
    assert type(flags.copy()) is _QuickFlags
    assert flags.copy() == flags
    assert flags != "flags"


def test_functions_are_compiled_with_them():
    """Where a new Numba asks for its options elsewhere, this fails first."""
    seen = []

    def looker():
        @intrinsic
        def look(typingctx):
            seen.append(type(ConfigStack.top_or_none()))
            return types.void(), lambda context, *_: context.get_dummy_value()

        return look

    # What is found out about a call is kept for others with equal options, so one for each.
    look, look_inside = looker(), looker()

    @subroutine
    def inner():
        look_inside()

    @cached
    @njit
    def outer():
        look()
        inner()

    outer()
    assert seen == [_QuickFlags, _QuickFlags]
