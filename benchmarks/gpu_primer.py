"""Check and time every rung of the primer on a GPU: kernels alone with a cold cache, whole calls.

    python benchmarks/gpu_primer.py --out DIR

Each rung is verified at small sizes first; what it answers at the size that is timed is not looked
at. Of pipelines, which the bus bounds, the time is from the first copy to the last.
"""

from __future__ import annotations

from statistics import median
from typing import Any

from gpu_timing import parser_of_parts, record_parts
from report import print_table
from warpladder.device.cuda_device import CudaDevice
from warpladder.lab.bench import cold_cache, time_rung
from warpladder.lab.registry import find_ladder
from warpladder.lab.verify import verify

_VERIFIED_AT = (0, 1, 33, 1000)


def main() -> None:
    """Check, time, print and write."""
    given = parser_of_parts(__doc__).parse_args()
    device = CudaDevice()
    record_parts("gpu_primer", device, {"ladder": lambda _: _time_ladder(device)}, given)


def _time_ladder(device: CudaDevice) -> list[dict[str, Any]]:
    cache = cold_cache(device)
    rows: list[dict[str, Any]] = []
    problems: dict[tuple[str, int], Any] = {}
    for rung in find_ladder("primer").rungs:
        if rung.on != "device":
            continue
        n = min(rung.task.default_n, rung.max_n or rung.task.default_n)
        verdicts = verify(rung, device, sorted({min(size, n) for size in _VERIFIED_AT}))
        faults = [verdict.fault for verdict in verdicts if verdict.fault]
        key = (rung.task.name, n)
        if key not in problems:
            # One at a time: the largest takes a GiB.
            problems = {key: rung.task.make(n, 0)}
        timing, _ = time_rung(rung, device, cache, problems[key])
        rows.append(
            {
                "case": rung.name,
                "n": n,
                "kernel_ms": 1000 * median(timing.kernels),
                "whole_ms": 1000 * timing.total_seconds,
                "faults": faults,
            }
        )
    print_table("the primer", rows)
    return rows


if __name__ == "__main__":
    main()
