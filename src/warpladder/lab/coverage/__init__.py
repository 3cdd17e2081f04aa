"""Every listing, table, figure, exercise and exploration of the five sources, and what runs it.

One file for each source has its items in the source's order. What stands in them by hand is what no
record can say; rungs and explorations are found by the places that they name (`holding`).
"""

from __future__ import annotations

from collections.abc import Iterator

from warpladder.lab.coverage import cf, gr, hb, im, rd
from warpladder.lab.coverage.item import Item
from warpladder.lab.explore.registry import explorations
from warpladder.lab.registry import LADDERS, find_ladder

__all__ = ["ITEMS", "Item", "holding", "places_named"]

#: In the order of the bibliography, then in each source's own.
ITEMS: tuple[Item, ...] = (*cf.ITEMS, *gr.ITEMS, *hb.ITEMS, *im.ITEMS, *rd.ITEMS)


def places_named() -> Iterator[tuple[str, str]]:
    """Yield each place that a rung or an exploration names, and what to run for it.

    Examples
    --------
    >>> found = dict(places_named())
    >>> found["HB exploration 8"], found["RD 13"]
    ('explore next-hops', 'reduction/cub-library')
    """
    # Those of other packages are no part of the map, and may be broken.
    for ladder in map(find_ladder, LADDERS):
        for rung in (*ladder.rungs, *(wrong.rung for wrong in ladder.wrong)):
            for place in rung.source.split("; "):
                if place != "beyond":
                    yield place, f"{ladder.name}/{rung.name}"
    for one in explorations():
        for place in one.source.split("; "):
            yield place, f"explore {one.name}"


def holding(items: tuple[Item, ...] = ITEMS) -> dict[Item, tuple[str, ...]]:
    """Return for each item all that runs it, what is listed by hand last.

    Examples
    --------
    >>> [what for item, what in holding().items() if "HB exploration 4" in item.places]
    [('shortest-paths/column-blocks', 'explore columns')]
    """
    named: dict[str, list[str]] = {}
    for place, what in places_named():
        named.setdefault(place, []).append(what)
    return {
        item: tuple(
            dict.fromkeys(
                (*(what for place in item.places for what in named.get(place, ())), *item.by)
            )
        )
        for item in items
    }
