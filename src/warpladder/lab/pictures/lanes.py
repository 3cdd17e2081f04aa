"""Which lane of a warp touches which sector of global memory, or which bank of shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from warpladder.lab.pictures.requests import Request, busiest
from warpladder.lab.pictures.scene import Scene, text_of
from warpladder.lab.pictures.style import (
    BLUE,
    FAINT,
    INK,
    LINE,
    ORANGE,
    SKY,
    SMALL,
    bare,
    box,
    canvas,
    caption,
    lane_row,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw", "draw_requests"]

_MOST_REQUESTS = 3
_SECTOR, _LINE = 32, 128
_LEGENDS = {
    "global": (
        "Below is memory: boxes are sectors of 32 bytes, blue is what is asked for; a stroke "
        "begins a line of 128."
    ),
    "shared": (
        "Below are the 32 banks of shared memory, with the words of 4 bytes that each has to give."
    ),
}
#: Heights, in lanes: from the lanes down to memory, and of what stands below it.
_DROP, _LABELS = 3.0, 1.3
_UNIT_INCHES = 0.175
#: What does not fit into the width of a lane.
_FOUR_DIGITS = 1000
#: In lanes: nearer elements are not both named.
_LEAST_BETWEEN_LABELS = 9.0


def draw(scene: Scene) -> Figure:
    """Draw the requests of one warp in one line of a kernel."""
    execution = busiest(scene, scene.run)
    file = Path(execution.site.filename).name
    heading = f"{scene.path}, {file} line {execution.site.line}:\n{text_of(execution.site)}"
    shown = execution.requests
    if len(shown) > _MOST_REQUESTS:
        dearest = sorted(range(len(shown)), key=lambda at: -shown[at].cost)[:_MOST_REQUESTS]
        shown = tuple(shown[at] for at in sorted(dearest))
    left_out = len(execution.requests) - len(shown)
    text = f"{execution.where.capitalize()}, n = {scene.n}." + (
        f" The {len(shown)} dearest of {len(execution.requests)} requests." if left_out else ""
    )
    return draw_requests(shown, heading, text)


def draw_requests(requests: Sequence[Request], heading: str, text: str) -> Figure:
    """Draw requests of one warp below each other."""
    heights = [_height(request) for request in requests]
    figure = canvas(_UNIT_INCHES * sum(heights) + 0.7)
    spaces = {request.access.array.space for request in requests}
    caption(figure, heading, " ".join([text, *(_LEGENDS[space] for space in sorted(spaces))]))
    panels = figure.subplots(
        len(requests), 1, squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    for request, height, axes in zip(requests, heights, panels[:, 0], strict=True):
        bare(axes, -0.3, 32.3, -(height - 2.2), 2.2)
        lane_row(axes, 0, set(request.lanes.tolist()))
        is_shared = request.access.array.space == "shared"
        (_draw_banks if is_shared else _draw_sectors)(axes, request)
    return figure


def told(request: Request) -> str:
    """Say what a request costs."""
    access, lanes = request.access, len(request.lanes)
    who = "1 lane asks" if lanes == 1 else f"{lanes} lanes ask"
    verb = {"load": "load from", "store": "store to", "atomic": "atomic update of"}[access.verb]
    what = f"{verb} {access.array.name}: {who} for"
    size = access.array.itemsize
    if access.array.space == "shared":
        passes, ideal = request.wavefronts
        count = "1 wavefront" if passes == 1 else f"{passes} wavefronts"
        return f"{what} {size} bytes each, in {count}" + (
            f" where {ideal} would do" if passes > ideal else ", without a bank conflict"
        )
    sectors, used = request.sectors, request.used
    moved = _SECTOR * sectors
    return (
        f"{what} {used:,} bytes in {sectors} sector{'s' * (sectors > 1)} of 32 bytes: "
        f"{100 * used / moved:.3g} % of {moved:,} bytes used"
    )


def _height(request: Request) -> float:
    if request.access.array.space == "shared":
        return 2.2 + _DROP + _deepest(request) * 0.9 + _LABELS
    return 2.2 + _DROP + 1.2 + _LABELS


def _words(request: Request) -> dict[int, list[int]]:
    """Return, by bank, the distinct words of 4 bytes that it has to give, ascending."""
    size = request.access.array.itemsize
    words: set[int] = set()
    for address in request.access.addresses.tolist():
        words.update(range(address // 4, (address + max(size, 1) - 1) // 4 + 1))
    banks: dict[int, list[int]] = {}
    for word in sorted(words):
        banks.setdefault(word % 32, []).append(word)
    return banks


def _deepest(request: Request) -> int:
    return max(map(len, _words(request).values()))


def _heading(axes: Axes, request: Request) -> None:
    axes.text(0, 1.45, told(request), fontsize=SMALL + 1, color=INK, va="center")


# ---- shared memory ---------------------------------------------------------------------------


def _draw_banks(axes: Axes, request: Request) -> None:
    _heading(axes, request)
    banks, high = _words(request), 0.9
    top = -_DROP
    for bank in range(32):
        words = banks.get(bank, [])
        if not words:
            box(axes, bank, top - high, height=high, fill=FAINT, edge="white")
        for depth, word in enumerate(words):
            first = depth == 0
            box(
                axes, bank, top - (depth + 1) * high, str(word) if word < _FOUR_DIGITS else "",
                height=high, fill=SKY if first else ORANGE, edge="white", size=SMALL - 0.5,
            )  # fmt: skip
    for lane, address in zip(request.lanes, request.access.addresses, strict=True):
        word = int(address) // 4
        depth = banks[word % 32].index(word)
        _thread(axes, float(lane) + 0.5, word % 32 + 0.5, top - depth * high, bends=depth > 0)
    bottom = top - high * max(map(len, banks.values()))
    for bank in range(32):
        axes.text(
            bank + 0.5, bottom - 0.45, str(bank), ha="center", va="center", fontsize=SMALL - 1,
            color=LINE,
        )  # fmt: skip


def _thread(axes: Axes, lane: float, x: float, y: float, *, bends: bool = False) -> None:
    """Draw the line from a lane to what it touches."""
    colour = LINE if bends else INK
    axes.plot([lane, x], [-0.05, y + 0.0], color=colour, linewidth=0.6, zorder=0.5)


# ---- global memory ---------------------------------------------------------------------------


def _draw_sectors(axes: Axes, request: Request) -> None:
    _heading(axes, request)
    access = request.access
    size = access.array.itemsize
    numbers = np.unique(
        np.concatenate([access.addresses // _SECTOR, (access.addresses + size - 1) // _SECTOR])
    )
    gaps = int(np.count_nonzero(np.diff(numbers) > 1))
    gap = 0.5 if len(numbers) < 24 else 0.22
    width = min(8.0, (32 - gap * gaps) / len(numbers))
    left: dict[int, float] = {}
    # Centred, so that few sectors stand below the lanes.
    begin = (32 - width * len(numbers) - gap * gaps) / 2
    for number in numbers.tolist():
        if left and number - 1 not in left:
            begin += gap
        left[number] = begin
        begin += width
    top, high = -_DROP, 1.2
    touched = {
        byte for address in access.addresses.tolist() for byte in range(address, address + size)
    }
    cell = max(size if size <= _SECTOR and _SECTOR % size == 0 else 4, 1)
    for number, begin in left.items():
        box(axes, begin, top - high, width=width, height=high, fill=FAINT, edge=INK)
        for part in range(0, _SECTOR, cell):
            if number * _SECTOR + part in touched:
                # Inside the outline, so that the edges of sectors stay to be seen.
                box(
                    axes, begin + width * part / _SECTOR, top - 0.94 * high,
                    width=width * cell / _SECTOR, height=0.88 * high,
                    fill=SKY if width > 2 else BLUE, edge="white" if width > 2 else BLUE,
                    linewidth=0.4, zorder=1.2,
                )  # fmt: skip
        if width > 2:
            box(
                axes, begin, top - high, width=width, height=high, fill="none", edge=INK,
                zorder=1.3,
            )  # fmt: skip
        if number * _SECTOR % _LINE == 0:
            axes.plot([begin, begin], [top - high - 0.4, top - high], color=INK, linewidth=1.6)
    per = width / _SECTOR
    for lane, address in zip(request.lanes, access.addresses, strict=True):
        at = left[int(address) // _SECTOR] + per * (int(address) % _SECTOR + size / 2)
        _thread(axes, float(lane) + 0.5, at, top)
    _label_sectors(axes, request, left, width, top - high)


def _label_sectors(
    axes: Axes, request: Request, left: dict[int, float], width: float, bottom: float
) -> None:
    access = request.access
    per = width / _SECTOR

    def centre(at: int) -> float:
        address = int(access.addresses[at])
        return left[address // _SECTOR] + per * (address % _SECTOR + access.array.itemsize / 2)

    ends = [int(access.addresses.argmin()), int(access.addresses.argmax())]
    is_wide = centre(ends[1]) - centre(ends[0]) > _LEAST_BETWEEN_LABELS
    for at, aligned in zip(ends if is_wide else ends[:1], ("left", "right"), strict=False):
        index = ", ".join(str(int(part[at])) for part in access.indices())
        axes.text(
            centre(at), bottom - 0.85, f"{access.array.name}[{index}]" if index else "",
            fontsize=SMALL, color=INK, va="center", ha=aligned if is_wide else "center",
        )  # fmt: skip
