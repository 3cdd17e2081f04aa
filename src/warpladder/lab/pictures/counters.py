"""Signatures and counters of the join: what one row adds to the counters of the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import InputError
from warpladder.lab.pictures.scene import Scene
from warpladder.lab.pictures.style import (
    BLUE,
    FAINT,
    GREY,
    INK,
    LINE,
    ORANGE,
    SMALL,
    bare,
    box,
    canvas,
    caption,
)
from warpladder.simulator.checks.recorder import Access, Barrier, LaunchRecord

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Tally", "draw", "tallies_of"]

#: Counters have 8 bits, four of them to a word.
_BITS, _IN_WORD = 8, 4


@dataclass(slots=True)
class Tally:
    """What a block counts for one row.

    Attributes
    ----------
    row
        Which.
    additions
        To the counter of each other row, in the end.
    signature
        The row's own, one word; None where there are none.
    common
        By other row: how many bits its signature has in common with this row's.
    """

    row: int
    additions: NDArray[np.int64]
    signature: int | None
    common: dict[int, int]


def tallies_of(record: LaunchRecord) -> list[Tally]:
    """Return what the first block counts, row after row.

    Which row a block takes it reads from where that row begins; a barrier ends its additions, and
    another one the scan, in which signatures are compared.
    """
    size = record.geometry.threads_per_block
    found: list[Tally] = []
    pending: list[tuple[int, int]] = []
    taken = -1
    for event in record.events:
        part = event.of(0, size) if isinstance(event, Access) else None
        if part is not None and part.values is not None:
            name = part.array.name
            if name == "starts" and part.verb == "load":
                row = int(part.indices()[0][0])
                # Where a row ends is where the next one begins.
                if row != taken + 1 or taken < 0:
                    found.append(Tally(row, np.zeros(0, dtype=np.int64), None, {}))
                    taken = row
            elif part.verb == "atomic" and name == "counters":
                words = part.indices()[0].tolist()
                pending += zip(words, part.values.tolist(), strict=True)
            elif name == "signatures":
                found[-1].signature = int(part.values[0])
            elif name == "right_signatures":
                own = found[-1].signature or 0
                others = part.indices()[-1].tolist()
                for other, word in zip(others, part.values.tolist(), strict=True):
                    if other != found[-1].row:
                        found[-1].common[other] = (own & int(word)).bit_count()
        elif isinstance(event, Barrier) and event.threads[0] < size:
            taken = -1
            if pending:
                found[-1].additions = _summed(pending)
                pending = []
    return [tally for tally in found if len(tally.additions)]


def _summed(additions: list[tuple[int, int]]) -> NDArray[np.int64]:
    """Return what the counters hold, from words and what was added to them.

    What a row has added to its own counter is taken off in the end: an addition modulo 2**32.
    """
    words = np.zeros(max(word for word, _ in additions) + 1, dtype=np.uint32)
    places, amounts = zip(*additions, strict=True)
    np.add.at(words, list(places), np.array(amounts, dtype=np.uint32))
    shifts = _BITS * np.arange(_IN_WORD, dtype=np.uint32)
    return ((words[:, None] >> shifts) & 0xFF).astype(np.int64).reshape(-1)


def draw(scene: Scene) -> Figure:
    """Draw the counters of the row, of those recorded, that adds most."""
    # The last kernel of the rung counts; those before it make the index.
    run = scene.recorded(blocks=1)
    tallies = [tally for record in run.records for tally in tallies_of(record)]
    if not tallies:
        raise InputError(f"{scene.path} adds to no counters in shared memory at n = {scene.n}")
    tally = max(tallies, key=lambda tally: int(tally.additions.sum()))
    has_words = tally.signature is not None
    figure = canvas(3.6 + 0.6 * has_words)
    threshold = scene.rung.task.make(scene.n, 0).threshold
    caption(
        figure,
        f"{scene.path}: what row {tally.row} counts, n = {scene.n}",
        f"{int(tally.additions.sum()):,} atomic additions to counters in shared memory, one for "
        "each id shared with another row (blue)"
        + (f"; {sum(tally.common.values()):,} bits that signatures have in common (orange)."
           if has_words else "."),
    )  # fmt: skip
    panels = figure.subplots(
        1 + has_words, 1, squeeze=False,
        gridspec_kw={"height_ratios": [0.16, 1] if has_words else [1]},
    )[:, 0]  # fmt: skip
    if tally.signature is not None:
        _draw_signature(panels[0], tally.signature)
    _draw_counters(panels[-1], tally, scene.n, threshold)
    return figure


def _draw_signature(axes: Axes, signature: int) -> None:
    bare(axes, -0.2, 32.2, -0.2, 2.2)
    for bit in range(32):
        is_set = bool(signature >> bit & 1)
        box(
            axes, bit, 0, str(bit), height=1, fill=ORANGE if is_set else FAINT,
            ink=INK if is_set else GREY, edge="white",
        )  # fmt: skip
    axes.text(
        0, 1.6, "its signature: a bit for each of the 32 commonest ids", fontsize=SMALL, color=INK,
        va="center",
    )  # fmt: skip


def _draw_counters(axes: Axes, tally: Tally, rows: int, threshold: int) -> None:
    from matplotlib.ticker import MaxNLocator

    counts = np.zeros(max(rows, len(tally.additions)), dtype=np.int64)
    counts[: len(tally.additions)] = tally.additions
    common = np.array([tally.common.get(row, 0) for row in range(len(counts))])
    places = np.arange(len(counts))
    axes.bar(places, counts, 0.8, color=BLUE)
    axes.bar(places, common, 0.8, bottom=counts, color=ORANGE)
    axes.axhline(threshold, color=INK, linewidth=1, linestyle="--")
    axes.text(
        1.01, threshold, f"{threshold} are\nasked for", fontsize=SMALL, color=INK, va="center",
        transform=axes.get_yaxis_transform(),
    )  # fmt: skip
    axes.set_xlim(-0.6, len(counts) - 0.4)
    axes.set_xlabel("counter of row", fontsize=SMALL, color=LINE)
    axes.set_ylabel("ids in common", fontsize=SMALL, color=LINE)
    axes.tick_params(labelsize=SMALL, length=2)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
