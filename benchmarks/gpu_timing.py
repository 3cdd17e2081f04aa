"""How kernels on a GPU are timed with a cold cache."""

from __future__ import annotations

import argparse
import contextlib
import json
import platform
import statistics
import subprocess
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numba import cuda

from warpladder.device.cuda_device import CudaDevice
from warpladder.lab.gpu_timing import event_times_ms

__all__ = [
    "Timer",
    "described",
    "least_ms",
    "nothing",
    "parser_of_parts",
    "record_parts",
    "write_record",
]

_RECORDS = Path(__file__).resolve().parent / "results"
_FLUSH_BYTES = 1 << 30


class Timer:
    """Times what runs on a GPU whose second-level cache holds nothing of use.

    Parameters
    ----------
    device
        A GPU that times its kernels.
    """

    def __init__(self, device: CudaDevice) -> None:
        self._device = device
        self._buffer = device.empty(_FLUSH_BYTES, np.uint8)

    def flush(self, times: int) -> None:
        """Write a buffer much larger than the cache; the GPU is busy for 0.25 ms each time."""
        from cuda.bindings import driver

        for value in range(times):
            driver.cuMemsetD8(self._buffer.address, value % 256, _FLUSH_BYTES)

    def event_ms(
        self,
        work: Callable[[], object],
        repetitions: int = 15,
        of: Callable[[list[float]], float] = statistics.median,
    ) -> float:
        """Return the median time of what ``work`` puts on the GPU, or what else ``of`` takes."""
        return of(event_times_ms(self._device, work, repetitions, before=lambda: self.flush(1)))

    def kernel_ms(self, work: Callable[[], object], repetitions: int = 5) -> float:
        """Return the median time of the kernels that ``work`` launches through the device."""
        work()
        taken = []
        for _ in range(repetitions):
            self._device.synchronize()
            self._device.reset_kernel_ms()
            self.flush(8)
            work()
            self._device.synchronize()
            taken.append(self._device.kernel_ms)
        return statistics.median(taken)


def least_ms(work: Callable[[], object], repetitions: int = 5) -> float:
    """Return the least time of calls, after one that does not count."""
    taken = []
    for _ in range(repetitions + 1):
        began = perf_counter()
        work()
        taken.append(1000 * (perf_counter() - began))
    return min(taken[1:])


def described() -> dict[str, str]:
    """Return the driver, the clocks as they are now, and the versions of what takes part."""
    asked = ("driver_version", "clocks.sm", "clocks.mem", "clocks.max.sm", "clocks.max.mem")
    told = subprocess.run(  # noqa: S603 - nothing of it comes from outside
        ["nvidia-smi", f"--query-gpu={','.join(asked)}", "--format=csv,noheader"],  # noqa: S607 - where it lies differs
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    found = dict(zip(asked, told.stdout.splitlines()[0].split(", "), strict=True))
    for package in ("numba", "numba-cuda", "numpy", "cuda-cccl", "cuda-bench", "cupy-cuda13x"):
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return {"python": platform.python_version(), **found}


def parser_of_parts(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser of where the record of a benchmark goes, and of which parts are measured."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0] if doc else None)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="PART",
        help="measure these parts; of the others the committed record is kept, with its dates",
    )  # fmt: skip
    return parser


def record_parts(
    name: str,
    device: CudaDevice,
    parts: Mapping[str, Callable[[dict[str, Any]], Any]],
    given: argparse.Namespace,
) -> None:
    """Measure the parts of a benchmark that were asked for, and write its record as JSON.

    Parameters
    ----------
    name
        The benchmark's.
    device
        The GPU.
    parts
        By name, what measures a part; it is given the record so far.
    given
        What `parser_of_parts` returned has parsed.
    """
    if unknown := set(given.only) - set(parts):
        raise SystemExit(f"--only {' '.join(sorted(unknown))}: there are {', '.join(parts)}")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    gpu = device.properties.name
    known = _RECORDS / record_name(name, gpu)
    goes_on = bool(given.only) and known.exists()
    record: dict[str, Any] = json.loads(known.read_text()) if goes_on else {"date": now}
    # Of the parts that are kept, some used packages that need not be here now.
    record |= {"machine": record.get("machine", {}) | described(), "gpu": gpu}
    measured = record.setdefault("measured", {})
    for part in given.only or parts:
        try:
            record[part] = parts[part](record)
        except KeyError as missing:
            if missing.args[0] not in parts:
                raise
            # There is no record of this card to go on from.
            raise SystemExit(f"--only {part}: it needs the part {missing} beside it") from None
        measured[part] = now
        # Written part by part, so that what was measured stays if the machine goes.
        write_record(given.out, name, record)
    print(f"wrote {known.name}")


def record_name(name: str, gpu: str) -> str:
    """Return the name of the file with what a benchmark measured on a GPU."""
    return f"{name}-{gpu.lower().replace(' ', '-')}.json"


def write_record(folder: Path, name: str, record: Mapping[str, Any]) -> None:
    """Write what a benchmark measured on a GPU, which the record names."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / record_name(name, record["gpu"])
    path.write_text(json.dumps(record, indent=1) + "\n")


@cuda.jit
def nothing() -> None:
    """Do nothing."""
