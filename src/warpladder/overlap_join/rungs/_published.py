"""IM's measured table: the times that stand beside ours, per rung.

All on a GTX 1080 Ti, with rows of 1,000 ids. The source gives them beside its experiments; which
rung of the ladder takes the same step, the names here say. Two figures are for several of them:
the upper triangle and the unrolled loop were timed together, atomics and flags were found alike.

IM's equation for n thousand rows is n**2 times the time for one thousand. What follows from it only
is marked: 58 s for 4,000 rows of the increment; 26 minutes for 50,000 were measured, where its best
time would have made 27.5.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CARD", "PUBLISHED", "Published"]

#: On which IM measured.
CARD = "GTX 1080 Ti"


class Published(NamedTuple):
    """One time of IM's table.

    Attributes
    ----------
    rungs
        Names of rungs, wrong ones too, that take the same step.
    rows
        Of 1,000 ids each, unless the note says otherwise.
    seconds
        As printed.
    measured
        Or else worked out by IM from another time.
    note
        What else the source says of it.
    """

    rungs: tuple[str, ...]
    rows: int
    seconds: float
    measured: bool = True
    note: str = ""


#: In the order of the source.
PUBLISHED = (
    Published(("row-against-chunk",), 50, 6.65, note="a launch and the file read for every row"),
    Published(("row-against-chunk",), 1000, 315, note="a launch and the file read for every row"),
    Published(("id-per-thread",), 1000, 3.6, note="counts vary from launch to launch"),
    Published(("id-per-thread",), 2000, 14, note="counts vary from launch to launch"),
    Published(("id-per-thread",), 4000, 58, measured=False, note="counts vary, too"),
    Published(("upper-triangle", "unrolled"), 1000, 1.7, note="counts still vary"),
    Published(("upper-triangle", "unrolled"), 4000, 25, note="counts still vary"),
    Published(("shared-flags", "atomics"), 1000, 1.5),
    Published(("shared-flags", "atomics"), 4000, 24),
    Published(("flat-rows",), 1000, 0.66, note="flags"),
    Published(("flat-rows",), 1000, 0.87, note="atomics in place of flags"),
    Published(("flat-rows",), 50_000, 1560, note="26 minutes; the result in rows by themselves"),
)
