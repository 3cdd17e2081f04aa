"""How records are laid out in memory: what one warp asks for, member after member.

An array of structures has the members of a record side by side, so that requests for one member
after the other go to the same sectors again. A structure of arrays has each member in a place of
its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpladder.errors import InputError
from warpladder.lab.pictures.lanes import draw_requests
from warpladder.lab.pictures.requests import executions_of
from warpladder.lab.pictures.scene import Scene

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

_MOST_MEMBERS = 4


def draw(scene: Scene) -> Figure:
    """Draw the loads of the first warp from global memory below each other."""
    record = scene.run.records[0]
    loads = [
        request
        for execution in executions_of(record, 0)
        for request in execution.requests
        if request.access.verb == "load" and request.access.array.space == "global"
    ][:_MOST_MEMBERS]
    if not loads:
        raise InputError(f"{scene.path} loads nothing from global memory at n = {scene.n}")
    moved, used = sum(one.cost for one in loads), sum(one.used for one in loads)
    return draw_requests(
        loads,
        f"{scene.path}: the loads of a warp, member after member, n = {scene.n}",
        f"Together {moved:,} bytes move for {used:,} that were asked for.",
    )
