"""What is kept for the next call on a device."""

from __future__ import annotations

import gc
import weakref
from contextlib import suppress

from warpladder.device.staging import Kept
from warpladder.simulator import SimulatedDevice


def test_what_is_kept_is_lent_again_and_goes_with_its_device():
    # As arrays and streams of a GPU do, each knows its device.
    kept = Kept(lambda device: [device])
    device = SimulatedDevice()
    with kept.lent(device) as first, kept.lent(device) as second:
        assert first is not second
    with kept.lent(device) as again:
        assert again is second or again is first
    with suppress(ValueError), kept.lent(device) as spoilt:
        raise ValueError
    with kept.lent(device) as one, kept.lent(device) as other:
        assert spoilt is not one
        assert spoilt is not other
    gone = weakref.ref(device)
    del device, first, second, again, spoilt, one, other
    gc.collect()
    assert gone() is None
