r"""Make a graph of the world's airline routes: an edge list with distances in kilometres.

Get ``routes.dat`` and ``airports.dat`` from OpenFlights (openflights.org; Open Database License),
then::

    python examples/openflights.py routes.dat airports.dat -o flights.csv
    warpladder paths flights.csv --from KEF --to NAN

A route is an edge from one airport to another, weighted with their great-circle distance; routes
that several airlines fly are one edge. Left out, and counted, are routes with an end that
OpenFlights could not identify (``\N``) or that ``airports.dat`` has no coordinates for, and routes
that end where they begin.

``--hub-count`` keeps the airports with most routes, and the routes among them. This is how
``data/flights.csv`` came to be::

    python examples/openflights.py routes.dat airports.dat -o data/flights.csv \
        --hub-count 150 --also KEF NAN
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

MEAN_EARTH_RADIUS_KM = 6371.0088
UNKNOWN = r"\N"

# Columns of the two files; OpenFlights gives them no header.
AIRPORT_ID, LATITUDE, LONGITUDE = 0, 6, 7
SOURCE_CODE, SOURCE_ID, TARGET_CODE, TARGET_ID = 2, 3, 4, 5
# Airports had two more columns added at the end over the years.
AIRPORT_FIELDS, ROUTE_FIELDS = 12, 9

Coordinates = tuple[float, float]


class RouteMap(NamedTuple):
    """Routes that can be drawn, and how many could not.

    Attributes
    ----------
    routes
        Codes of both ends, once for every airline that flies there.
    places
        Latitude and longitude in degrees by airport code.
    skipped
        How many routes were left out, by reason.
    """

    routes: list[tuple[str, str]]
    places: dict[str, Coordinates]
    skipped: Counter[str]


def main() -> None:
    """Read both files, write the edge list, and say on standard error what became of the routes."""
    options = parse_arguments()
    coordinates = read_coordinates(options.airports)
    routes, places, skipped = read_route_map(options.routes, coordinates)
    for reason, count in skipped.items():
        print(f"routes left out, {reason}: {count:,}", file=sys.stderr)

    if options.hub_count is not None:
        missing = sorted(set(options.also) - places.keys())
        if missing:
            sys.exit(f"--also: no route begins or ends at {', '.join(missing)}")
        kept = busiest(routes, options.hub_count) | set(options.also)
        routes = [
            (source, target) for source, target in routes if source in kept and target in kept
        ]

    edges = sorted(set(routes))
    write_edges(options.output, edges, great_circle_km(edges, places))
    airports = {code for edge in edges for code in edge}
    print(
        f"wrote {options.output}: {len(airports):,} airports, {len(edges):,} edges "
        f"for {len(routes):,} routes",
        file=sys.stderr,
    )


def parse_arguments() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description="Airline routes of OpenFlights as an edge list.")
    parser.add_argument("routes", type=Path, help="routes.dat")
    parser.add_argument("airports", type=Path, help="airports.dat")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the edge list to write")
    parser.add_argument(
        "--hub-count", type=int, metavar="N", help="keep the N airports with most routes only"
    )
    parser.add_argument(
        "--also", nargs="+", default=[], metavar="CODE", help="airports to keep beside the hubs"
    )
    options = parser.parse_args()
    if options.hub_count is None and options.also:
        parser.error("--also goes with --hub-count; without it all airports are kept")
    if options.hub_count is not None and options.hub_count < 1:
        parser.error("--hub-count must be at least 1")
    return options


def read_rows(path: Path, least_fields: int) -> Iterator[list[str]]:
    """Yield the rows of one of OpenFlights' files; end the script where it is another file."""
    with path.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.reader(file), 1):
            if len(row) < least_fields:
                sys.exit(
                    f"{path}, line {number}: expected {least_fields} fields, found {len(row)}; "
                    "give routes.dat first, then airports.dat"
                )
            yield row


def read_coordinates(airports: Path) -> dict[str, Coordinates]:
    """Return latitude and longitude in degrees by OpenFlights' number of the airport."""
    return {
        row[AIRPORT_ID]: (float(row[LATITUDE]), float(row[LONGITUDE]))
        for row in read_rows(airports, AIRPORT_FIELDS)
        if UNKNOWN not in (row[LATITUDE], row[LONGITUDE])
    }


def read_route_map(routes: Path, coordinates: dict[str, Coordinates]) -> RouteMap:
    """Return the routes whose both ends have a place on the map."""
    drawn = RouteMap([], {}, Counter())
    for row in read_rows(routes, ROUTE_FIELDS):
        # Codes are those of the routes: an airport that has moved since has passed its code on, and
        # only the number still leads to the old place.
        ends = {row[SOURCE_CODE]: row[SOURCE_ID], row[TARGET_CODE]: row[TARGET_ID]}
        if UNKNOWN in ends.values():
            drawn.skipped["an airport is not identified"] += 1
        elif not coordinates.keys() >= set(ends.values()):
            drawn.skipped["an airport has no coordinates"] += 1
        elif len(ends) == 1:
            drawn.skipped["it ends where it begins"] += 1
        else:
            drawn.routes.append((row[SOURCE_CODE], row[TARGET_CODE]))
            drawn.places.update({code: coordinates[number] for code, number in ends.items()})
    return drawn


def busiest(routes: Iterable[tuple[str, str]], count: int) -> set[str]:
    """Return the airports where most routes begin or end, among equals the first by their code."""
    uses = Counter(code for route in routes for code in route)
    return set(sorted(uses, key=lambda code: (-uses[code], code))[:count])


def great_circle_km(
    edges: list[tuple[str, str]], places: dict[str, Coordinates]
) -> NDArray[np.int64]:
    """Return the length of each edge on a sphere by the haversine formula, in whole kilometres."""
    ends = np.radians([[places[source], places[target]] for source, target in edges])
    latitudes, longitudes = np.moveaxis(ends.reshape(-1, 2, 2), 2, 0)
    north, east = np.diff(latitudes)[:, 0], np.diff(longitudes)[:, 0]
    squared_half_chord = (
        np.sin(north / 2) ** 2 + np.cos(latitudes).prod(axis=1) * np.sin(east / 2) ** 2
    )
    # Between antipodes rounding may take it past 1.
    angles = 2 * np.arcsin(np.sqrt(np.minimum(squared_half_chord, 1)))
    lengths: NDArray[np.int64] = np.rint(MEAN_EARTH_RADIUS_KM * angles).astype(np.int64)
    return lengths


def write_edges(path: Path, edges: list[tuple[str, str]], lengths: NDArray[np.int64]) -> None:
    """Write a table with a header that ``warpladder.read_graph`` understands."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["source", "target", "km"])
        writer.writerows((*edge, km) for edge, km in zip(edges, lengths.tolist(), strict=True))


if __name__ == "__main__":
    main()
