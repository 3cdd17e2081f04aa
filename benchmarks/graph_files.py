"""Reading graphs of 700,000 edges from text."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from report import Target, interleave, print_table, print_targets, write_results
from warpladder.formats.edges import EdgeTable
from warpladder.formats.graphs import read, write

_EDGES = 700_000
_VERTICES = 20_000


def main() -> None:
    """Write each format once, read it several times, print, write the results."""
    rng = np.random.default_rng(0)
    sources, targets = rng.integers(0, _VERTICES, (2, _EDGES))
    sources[:_VERTICES] = np.arange(_VERTICES)
    weights = rng.integers(1, 1000, _EDGES)
    named = [f"v{index}" for index in range(_VERTICES)]
    cases: dict[str, tuple[str, Any]] = {
        "HB, names": ("graph.txt", named),
        "CSV, names": ("graph.csv", named),
        "edge list, integer ids": ("graph.tsv", None),
        "DIMACS": ("graph.gr", None),
        "MatrixMarket": ("graph.mtx", None),
    }
    rows: list[dict[str, Any]] = []
    checks: list[Target] = []
    with tempfile.TemporaryDirectory() as folder:
        for case, (name, labels) in cases.items():
            path = Path(folder) / name
            table = EdgeTable(sources, targets, weights, _VERTICES, labels, directed=True)
            write(path, table, format="hochberg" if case.startswith("HB") else "auto")
            seconds = statistics.median(interleave({"read": lambda p=path: read(p)}, 5)["read"])  # type: ignore[misc]
            rows.append({"case": case, "s": seconds, "M_edges_per_s": _EDGES / seconds / 1e6})
            checks.append(Target(f"{case}: {_EDGES:,} edges, s", seconds, 1, at_most=True))
    print_table(f"reading {_EDGES:,} edges", rows)
    print_targets(checks)
    print(f"wrote {write_results('graph_files', {'reading': rows, 'targets': checks}).name}")


if __name__ == "__main__":
    main()
