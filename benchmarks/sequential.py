"""Time the sequential rungs, one loop on one core, at the sizes that their sources have.

    python benchmarks/sequential.py

What the other rungs of a ladder are compared with; the tables of docs/sources.md show it.
"""

from __future__ import annotations

from report import print_table, write_results
from warpladder.lab.bench import time_rung
from warpladder.lab.registry import find_rung
from warpladder.lab.verify import verify

#: RD's three sizes, and CF's.
_SIZES = {
    "reduction/sequential-cpu": (1 << 10, 1 << 20, 1 << 30),
    "shortest-paths/sequential-cpu": (2048,),
}
_VERIFIED_AT = (0, 1, 33, 130)


def main() -> None:
    """Check, time, print, write."""
    rows = []
    for path, sizes in _SIZES.items():
        _, rung = find_rung(path)
        if faults := [one.fault for one in verify(rung, None, _VERIFIED_AT) if one.fault]:
            raise SystemExit(f"{path}: {faults[0]}")
        for n in sizes:
            timing, _ = time_rung(rung, None, None, rung.task.make(n, 0))
            rows.append({"case": path, "n": n, "ms": 1000 * timing.total_seconds})
    print_table("sequential rungs, one core", rows)
    print(f"wrote {write_results('sequential', {'rungs': rows}).name}")


if __name__ == "__main__":
    main()
