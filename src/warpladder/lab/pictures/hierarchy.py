"""The memory hierarchy: from a thread's registers to the host, and what a run moves there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from warpladder.lab.pictures.queues import Queues
from warpladder.lab.pictures.scene import Scene
from warpladder.lab.pictures.style import (
    BLUE,
    FAINT,
    INK,
    LINE,
    SKY,
    SMALL,
    TEXT,
    bare,
    box,
    canvas,
    caption,
)
from warpladder.simulator.checks.counters import Counters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Level", "draw", "levels_of"]


class Level(NamedTuple):
    """A place where data can be: who shares it, and what the run did there, in words."""

    name: str
    scope: str
    traffic: str
    is_used: bool


def levels_of(counters: Counters, shared_bytes: int, up: int, down: int) -> list[Level]:
    """Return the levels of memory, the nearest first.

    Parameters
    ----------
    counters
        Of the whole run.
    shared_bytes
        The most that a block has.
    up, down
        Bytes copied to the device, and back.
    """
    c = counters
    shared = c.shared_load_requests + c.shared_store_requests
    wavefronts = c.shared_load_wavefronts + c.shared_store_wavefronts
    local = c.local_load_requests + c.local_store_requests
    loaded, stored = 32 * c.global_load_sectors, 32 * c.global_store_sectors
    return [
        Level(
            "registers",
            "of a thread",
            f"{c.thread_instructions:,} operations of threads"
            + (f", {c.shuffles:,} exchanges of warps" if c.shuffles else ""),
            c.thread_instructions > 0,
        ),
        Level(
            "shared memory",
            f"of a block: {shared_bytes:,} bytes here" if shared_bytes else "of a block",
            f"{shared:,} requests in {wavefronts:,} wavefronts of 128 bytes",
            shared_bytes > 0,
        ),
        Level(
            "constant memory",
            "of all, read only",
            f"{c.constant_requests:,} requests for {c.constant_wavefronts:,} addresses",
            c.constant_requests > 0,
        ),
        Level(
            "local memory",
            "of a thread, in global memory",
            f"{local:,} requests, unless the compiler finds registers",
            local > 0,
        ),
        Level(
            "global memory",
            "of all, behind the caches",
            f"{loaded:,} bytes loaded in whole sectors, {stored:,} stored",
            loaded + stored > 0,
        ),
        Level(
            "memory of the host",
            "beyond the bus",
            f"{up:,} bytes copied to the GPU, {down:,} back",
            up + down > 0,
        ),
    ]


def _atomics(counters: Counters) -> str:
    requests, passes = counters.atomic_requests, counters.atomic_passes
    return f" Atomic requests: {requests:,}, in {passes:,} passes." if requests else ""


def draw(scene: Scene) -> Figure:
    """Draw the levels below each other, wider the more they hold."""
    queues = Queues.of(scene)
    shared = max(launch.shared_bytes for launch in queues.launches)
    levels = levels_of(queues.counters, shared, queues.bytes_of("up"), queues.bytes_of("down"))
    figure = canvas(0.5 * len(levels) + 0.55)
    times = len(queues.launches)
    caption(
        figure,
        f"{scene.path}: what is moved at each level of memory, n = {scene.n}",
        f"{'1 launch' if times == 1 else f'{times:,} launches'}, counted by the simulator, before "
        "any cache. The nearer the memory, the smaller and the faster; pale levels are not used."
        + _atomics(queues.counters),
    )
    axes = figure.subplots()
    step = 1.0
    bare(axes, 0, 32, -step * len(levels), 0.1)
    for row, level in enumerate(levels):
        half = 4.2 + 0.42 * row
        y = -step * (row + 1) + 0.14
        fill = (BLUE if row == 0 else SKY) if level.is_used else FAINT
        ink = "white" if row == 0 and level.is_used else INK if level.is_used else LINE
        box(axes, 6.6 - half, y, width=2 * half, height=step - 0.24, fill=fill, edge="none")
        axes.text(6.6, y + 0.51, level.name, ha="center", va="center", fontsize=TEXT, color=ink)
        axes.text(6.6, y + 0.2, level.scope, ha="center", va="center", fontsize=SMALL, color=ink)
        axes.text(
            13.6, y + 0.38, level.traffic if level.is_used else "not used", va="center",
            fontsize=SMALL + 1, color=INK if level.is_used else LINE,
        )  # fmt: skip
    return figure
