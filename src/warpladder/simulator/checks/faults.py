"""What the checks report: which kernel, source line, block, thread, array and index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import KernelFaultError
from warpladder.simulator.machine.lanes import WARP_SIZE, Geometry, Lanes
from warpladder.simulator.machine.memory import View
from warpladder.simulator.machine.program import Exit, Site, Sync

__all__ = ["Faults"]


class Faults:
    """Raises `KernelFaultError` for a launch, with the place in words."""

    def __init__(self, kernel: str, geometry: Geometry) -> None:
        self.kernel = kernel
        self.geometry = geometry

    # ---- words -------------------------------------------------------------------------------

    def indices_of(self, ident: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return blockIdx and threadIdx of a thread given by its linear index in the grid."""
        block, rank = divmod(int(ident), self.geometry.threads_per_block)
        return _unravel(block, self.geometry.grid), _unravel(rank, self.geometry.block)

    def who(self, ident: int) -> str:
        """Return ``block (0,0,0), thread (5,0,0)``."""
        block, thread = self.indices_of(ident)
        return f"block {_triple(block)}, thread {_triple(thread)}"

    def _who_of(self, idents: NDArray[np.int64]) -> str:
        """Return the first of some threads, and how many more there are."""
        more = len(idents) - 1
        others = f" and {more} more thread{'s' * (more > 1)}" if more else ""
        return f"{self.who(int(idents[0]))}{others}"

    def at(self, site: Site) -> str:
        """Return ``kernel, file.py line 12``."""
        return f"{self.kernel} ({Path(site.filename).name}, line {site.line})"

    # ---- memory ------------------------------------------------------------------------------

    def out_of_bounds(
        self,
        lanes: Lanes,
        view: View,
        indices: tuple[Any, ...],
        axis: int,
        outside: NDArray[np.bool_],
        site: Site,
        verb: str,
    ) -> NoReturn:
        """Report an index beyond its axis."""
        first = int(np.flatnonzero(outside)[0])
        index = ", ".join(str(int(_one(part, first))) for part in indices)
        shape = tuple(int(_one(extent, first)) for extent in view.shape)
        ident = int(lanes.ident[first])
        others = int(np.count_nonzero(outside)) - 1
        more = f", and {others} more threads" if others else ""
        raise KernelFaultError(
            "memcheck",
            f"{self.at(site)}: {verb} of {self._named(view)}[{index}] is out of bounds of axis "
            f"{axis} (shape {shape}), by {self.who(ident)}{more}",
        )

    def _named(self, view: View) -> str:
        space = getattr(view.buffer, "space", "global")
        is_nameless = view.name.startswith("a ")
        return view.name if space == "global" or is_nameless else f"{space} array {view.name}"

    def misaligned(self, lanes: Lanes, view: View, first: int, site: Site, verb: str) -> NoReturn:
        """Report an access to an address that is no multiple of the element's size."""
        ident = int(lanes.ident[first])
        raise KernelFaultError(
            "memcheck",
            f"{self.at(site)}: {verb} of {self._named(view)} at an address that is no multiple of "
            f"{view.dtype.itemsize} bytes, by {self.who(ident)}",
        )

    def reshape(self, lanes: Lanes, view: View, wanted: list[int], site: Site) -> NoReturn:
        """Report a reshape to another number of elements."""
        raise KernelFaultError(
            "memcheck",
            f"{self.at(site)}: {self._named(view)} of {int(view.size)} elements reshaped to "
            f"{tuple(wanted)}, by {self.who(int(lanes.ident[0]))}",
        )

    def uninitialised(self, view: View, element: str, ident: int, site: Site) -> NoReturn:
        """Report a read of memory that nobody has written."""
        raise KernelFaultError(
            "initcheck",
            f"{self.at(site)}: {self._named(view)}{element} is read before anyone has written it, "
            f"by {self.who(ident)}",
        )

    def race(
        self,
        view: View,
        element: str,
        later: tuple[str, Site, int],
        earlier: tuple[str, Site, int],
        remark: str = "",
    ) -> NoReturn:
        """Report two accesses that nothing keeps apart, one of them a write."""
        verb, site, ident = later
        verb_before, site_before, ident_before = earlier
        raise KernelFaultError(
            "racecheck",
            f"{self.kernel}: {self._named(view)}{element}: {verb} at "
            f"{_short(site)} by {self.who(ident)} and {verb_before} at {_short(site_before)} by "
            f"{self.who(ident_before)}, with no barrier between them{remark}",
        )

    def user_exception(self, ident: int, ending: Exit) -> Exception:
        """Return what a kernel raised in debug mode, worded as Numba words it: with z first."""
        block, thread = self.indices_of(ident)
        kind, arguments = ending.raises
        place = (
            f"In function {self.kernel.rpartition('.')[2]!r}, file "
            f"{ending.site.filename}, line {ending.site.line}, "
            f"tid={list(thread[::-1])} ctaid={list(block[::-1])}"
        )
        if not arguments:
            exception: Exception = kind(place)
        else:
            exception = kind(f"{place}: {arguments[0]}", *arguments[1:])
        return exception

    # ---- barriers ----------------------------------------------------------------------------

    def barrier_after_exit(self, lanes: Lanes, site: Site, exited: NDArray[np.int64]) -> None:
        """Report a block barrier of a block some of whose threads have exited."""
        slots = np.unique(lanes.slot)
        gone = slots[exited[slots] > 0]
        if not len(gone):
            return
        slot = int(gone[0])
        block = _triple(_unravel(lanes.first_block + slot, self.geometry.grid))
        raise KernelFaultError(
            "synccheck",
            f"{self.at(site)}: {_returned(int(exited[slot]), block)} before this barrier: every "
            "thread of a block must reach it",
        )

    def divergent_barrier(
        self,
        lanes: Lanes,
        free: NDArray[np.bool_],
        orders: NDArray[Any],
        barrier_before: Callable[[int], Sync],
        exited: NDArray[np.int64],
    ) -> None:
        """Report threads of one block that wait at different barriers, or have exited."""
        for slot in np.unique(lanes.slot[free]):
            here = np.flatnonzero(free & (lanes.slot == slot))
            barriers = [barrier_before(int(order)) for order in np.unique(orders[here])]
            block = _triple(_unravel(lanes.first_block + int(slot), self.geometry.grid))
            if len(barriers) > 1:
                lines = " and ".join(_of_calls(barriers))
                raise KernelFaultError(
                    "synccheck",
                    f"{self.kernel}: threads of block {block} wait at different "
                    f"barriers: {lines}; a branch around a barrier must be taken by all threads "
                    "of the block or by none",
                )
            if exited[slot]:
                raise KernelFaultError(
                    "synccheck",
                    f"{self.at(barriers[0].site)}: {_returned(int(exited[slot]), block)} before "
                    "this barrier: every thread of a block must reach it",
                )

    def own_lane_in_mask(self, site: Site, lanes: Lanes, mask: NDArray[np.int64]) -> None:
        """Report a thread that calls a warp function whose mask leaves it out."""
        out = (mask >> lanes.lane) & 1 == 0
        if not np.any(out):
            return
        first = int(np.flatnonzero(out)[0])
        raise KernelFaultError(
            "synccheck",
            f"{self.at(site)}: mask {int(mask[first]):#010x} does not name the calling lane "
            f"{int(lanes.lane[first])}, of {self.who(int(lanes.ident[first]))}",
        )

    def different_masks(
        self, lanes: Lanes, mask: NDArray[np.int64], site_of: Callable[[int], Site]
    ) -> None:
        """Report a thread whose mask names one that meets it with another mask."""
        if (mask == mask[0]).all():
            return
        given = np.zeros(lanes.warps * WARP_SIZE, dtype=np.int64)
        given[lanes.place] = mask
        others = given.reshape(-1, WARP_SIZE)[lanes.warp]
        named = (mask[:, None] >> np.arange(WARP_SIZE)) & 1 != 0
        differs = named & (others != 0) & (others != mask[:, None])
        if not differs.any():
            return
        first, lane = (int(part[0]) for part in np.nonzero(differs))
        raise KernelFaultError(
            "synccheck",
            f"{self.at(site_of(first))}: mask {int(mask[first]):#010x} of "
            f"{self.who(int(lanes.ident[first]))} names lane {lane}, which meets it with mask "
            f"{int(others[first, lane]):#010x}: all lanes of a mask must give the same one",
        )

    def shuffle_from_nobody(
        self, lanes: Lanes, site: Site, mask: NDArray[np.int64], source: NDArray[np.int64],
        here: NDArray[np.bool_],
    ) -> None:  # fmt: skip
        """Report a shuffle from a lane outside of the mask, or from one that is not there."""
        left_out = (mask >> source) & 1 == 0
        bad = np.flatnonzero(left_out | ~here)
        if not len(bad):
            return
        first = int(bad[0])
        why = (
            f"which mask {int(mask[first]):#010x} does not name"
            if left_out[first]
            else "which has returned or never was"
        )
        raise KernelFaultError(
            "synccheck",
            f"{self.at(site)}: lane {int(lanes.lane[first])} reads lane {int(source[first])}, "
            f"{why}: what it gets is undefined, for {self.who(int(lanes.ident[first]))}",
        )

    def absent_lanes(
        self, lanes: Lanes, site: Site, mask: NDArray[np.int64], alive: NDArray[np.int64]
    ) -> None:
        """Report a warp function whose mask names lanes that do not take part."""
        absent = mask & ~lanes.ballot()[lanes.warp] & alive[lanes.warp]
        if not absent.any():
            return
        first = int(np.flatnonzero(absent)[0])
        lane = int(absent[first]).bit_length() - 1
        raise KernelFaultError(
            "synccheck",
            f"{self.at(site)}: mask {int(mask[first]):#010x} names lane {lane}, which is not there "
            f"when {self.who(int(lanes.ident[first]))} calls: it has taken another branch",
        )

    def grid_barrier(self, there: int) -> None:
        """Report a grid barrier that some threads of the grid will never reach."""
        threads = self.geometry.blocks * self.geometry.threads_per_block
        if there != threads:
            raise KernelFaultError(
                "synccheck",
                f"{self.kernel}: {there} of the grid's {threads} threads wait at a "
                "grid barrier; the others have returned",
            )

    def deadlock(self, sites: list[Site], idents: NDArray[np.int64]) -> NoReturn:
        """Report threads that wait for one another for ever."""
        raise KernelFaultError(
            "synccheck",
            f"{self.kernel}: threads wait for one another at different barriers and none can go "
            f"on, near {_lines(sites)}: {self._who_of(idents)}",
        )

    def endless_loop(self, sites: list[Site], idents: NDArray[np.int64]) -> NoReturn:
        """Report threads that go round in a loop without end, whatever others do."""
        raise KernelFaultError(
            "livelock",
            f"{self.kernel}: threads go round in a loop without end, near {_lines(sites)}: nothing "
            f"changes there that decides whether it ends, for {self._who_of(idents)}",
        )

    def livelock(
        self, sites: list[Site], idents: NDArray[np.int64], resident: int | None, device: str
    ) -> NoReturn:
        """Report threads that repeat the same steps for ever."""
        text = (
            f"{self.kernel}: threads repeat the same steps without end, near {_lines(sites)}: "
            f"what {self._who_of(idents)} wait for is written by nobody"
        )
        if resident is not None:
            text += (
                f" that runs beside them: {resident} of the grid's {self.geometry.blocks} "
                f"blocks are resident, all that {device} holds at a time"
            )
        raise KernelFaultError("livelock", text)


def _lines(sites: list[Site]) -> str:
    return ", ".join(_short(site) for site in sites[:6])


def _one(value: Any, position: int) -> Any:
    return value[position] if isinstance(value, np.ndarray) else value


def _unravel(number: int, extents: tuple[int, int, int]) -> tuple[int, int, int]:
    x, y, _ = extents
    return number % x, number // x % y, number // (x * y)


def _triple(indices: tuple[int, ...]) -> str:
    return "(" + ",".join(map(str, indices)) + ")"


def _returned(count: int, block: str) -> str:
    if count == 1:
        return f"1 thread of block {block} has returned"
    return f"{count} threads of block {block} have returned"


def _of_calls(barriers: Sequence[Sync]) -> list[str]:
    """Return where barriers stand; of one line, where the function was called in which it does."""
    alike = {barrier.site for barrier in barriers}
    if len(alike) == len(barriers):
        return [_short(barrier.site) for barrier in barriers]
    return [
        ", called from ".join(map(_short, (barrier.site, *reversed(barrier.calls))))
        for barrier in barriers
    ]


def _short(site: Site) -> str:
    return f"{Path(site.filename).name} line {site.line}"
