"""Functions by which the threads of a warp exchange values: shuffles, votes, matches, masks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda

from warpladder.device.numba_target import types
from warpladder.simulator.intrinsics.call import Call, Handlers
from warpladder.simulator.machine.builder import Builder, Operand
from warpladder.simulator.machine.lanes import WARP_SIZE, Lanes
from warpladder.simulator.machine.program import WARP
from warpladder.simulator.machine.values import scalar_dtype

__all__ = ["HANDLERS"]

_FULL = 0xFFFFFFFF


def _emit(t: Builder, call: Call, function: Any, wanted: list[Any]) -> None:
    slots = [
        t.converted(argument, kind) for argument, kind in zip(call.arguments, wanted, strict=True)
    ]
    if slots:
        t.barrier(WARP, mask=slots[0], join=True)
    raw, done = t.into(call.scope, call.target, call.signature.return_type)
    site = t.site

    def run(frame: Any) -> None:
        v = frame.variables
        v[raw] = function(frame, site, *[v[slot] for slot in slots])

    t.emit(run, slots, (raw,))
    done()


def _require_words(t: Builder, *operands: Operand) -> None:
    """Refuse masks and lanes that are narrower than the words of the instruction."""
    for operand in operands:
        plain = types.unliteral(operand.type)
        if not isinstance(plain, types.Integer) or plain.bitwidth < 32:
            t.refuse_uncompiled(f"a mask or lane of type {plain}", "take int32 or int64")


def _members(frame: Any, site: Any, mask: Any, sources: Any = None) -> Any:
    """Return each thread's mask, checked: everyone in it is here."""
    mask = frame.spread(mask).astype(np.int64) & _FULL
    launch = frame.launch
    if launch.monitor is not None:
        launch.monitor.exchange(frame, site, sources)
    if launch.checks.sync:
        launch.faults.absent_lanes(frame.lanes, site, mask, frame.batch.alive_lanes())
    return mask


def _shuffle(source_of: Callable[[Any, Any], Any]) -> Any:
    def handler(t: Builder, call: Call) -> None:
        def run(frame: Any, site: Any, mask: Any, value: Any, where: Any) -> Any:
            lanes = frame.lanes
            source = source_of(lanes.lane, frame.spread(where).astype(np.int64))
            members = _members(frame, site, mask, source)
            own = frame.spread(value)
            row = np.zeros(frame.batch.places, dtype=own.dtype)
            here = np.zeros(len(row), dtype=bool)
            row[lanes.place] = own
            here[lanes.place] = True
            inside = (source >= 0) & (source < WARP_SIZE)
            source = np.where(inside, source, lanes.lane)
            place = lanes.warp * WARP_SIZE + source
            if frame.launch.checks.sync:
                frame.launch.faults.shuffle_from_nobody(lanes, site, members, source, here[place])
            # What an absent lane would give is undefined; a thread then keeps its own.
            return np.where(here[place], row[place], own)

        mask, _, where = call.arguments
        _require_words(t, mask, where)
        # Numba's own target widens narrow numbers to the type of the result.
        wanted = [types.int64, call.signature.return_type, types.int64]
        _emit(t, call, run, wanted)

    return handler


def _ballots(lanes: Lanes, chosen: Any = slice(None)) -> Any:
    """Return, for each thread, the mask of its warp's active threads, or of those ``chosen``."""
    return lanes.ballot(chosen)[lanes.warp]


def _vote(decide: Callable[[Any, Any], Any]) -> Any:
    """``decide(ballot, members)``: of the threads in the mask, who said yes and who is there."""

    def handler(t: Builder, call: Call) -> None:
        def run(frame: Any, site: Any, mask: Any, predicate: Any) -> Any:
            members = _members(frame, site, mask)
            yes = _ballots(frame.lanes, frame.spread(predicate)) & members
            there = _ballots(frame.lanes) & members
            decided = decide(yes, there)
            return decided if decided.dtype == bool else _as(call, decided)

        _require_words(t, call.arguments[0])
        _emit(t, call, run, [types.int64, types.boolean])

    return handler


def _matching(frame: Any, site: Any, mask: Any, value: Any) -> tuple[Any, Any]:
    """Return for each thread the mask of members with its value, and the members that are there."""
    members = _members(frame, site, mask)
    lanes = frame.lanes
    there = _ballots(lanes) & members
    own = np.ascontiguousarray(frame.spread(value))
    bits = own.view(f"u{own.dtype.itemsize}")
    row = np.zeros(frame.batch.places, dtype=bits.dtype)
    row[lanes.place] = bits
    table = row.reshape(-1, WARP_SIZE)[lanes.warp]
    same = (table == bits[:, None]) @ (np.int64(1) << np.arange(WARP_SIZE, dtype=np.int64))
    return same & there, there


def _match_any(t: Builder, call: Call) -> None:
    def run(frame: Any, site: Any, mask: Any, value: Any) -> Any:
        return _matching(frame, site, mask, value)[0].astype(np.uint32).astype(np.int32)

    _emit(t, call, run, [types.int64, call.signature.args[1]])


def _match_all(t: Builder, call: Call) -> None:
    def run(frame: Any, site: Any, mask: Any, value: Any) -> Any:
        same, there = _matching(frame, site, mask, value)
        agreed = same == there
        return np.where(agreed, there, 0).astype(np.uint32).astype(np.int32), agreed

    _emit(t, call, run, [types.int64, call.signature.args[1]])


def _activemask(t: Builder, call: Call) -> None:
    def run(frame: Any, _: Any) -> Any:
        return _as(call, _ballots(frame.lanes))

    _emit(t, call, run, [])


def _lanemask_lt(t: Builder, call: Call) -> None:
    def run(frame: Any, _: Any) -> Any:
        return _as(call, (np.int64(1) << frame.lanes.lane) - 1)

    _emit(t, call, run, [])


def _as(call: Call, mask: Any) -> Any:
    return mask.astype(np.uint32).astype(scalar_dtype(call.signature.return_type))


HANDLERS: Handlers = {
    cuda.shfl_sync: _shuffle(lambda lane, source: (source & 31) + 0 * lane),
    cuda.shfl_up_sync: _shuffle(lambda lane, delta: lane - (delta & 31)),
    cuda.shfl_down_sync: _shuffle(lambda lane, delta: lane + (delta & 31)),
    cuda.shfl_xor_sync: _shuffle(lambda lane, mask: lane ^ (mask & 31)),
    cuda.all_sync: _vote(lambda yes, there: yes == there),
    cuda.any_sync: _vote(lambda yes, _: yes != 0),
    cuda.eq_sync: _vote(lambda yes, there: (yes == there) | (yes == 0)),
    cuda.ballot_sync: _vote(lambda yes, _: yes),
    cuda.match_any_sync: _match_any,
    cuda.match_all_sync: _match_all,
    cuda.activemask: _activemask,
    cuda.lanemask_lt: _lanemask_lt,
}
