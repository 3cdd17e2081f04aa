"""What every part of the validation needs: the form of its steps, the devices, and the machine."""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from warpladder.device.cuda_device import CudaDevice
from warpladder.device.properties import known_capabilities
from warpladder.simulator import SimulatedDevice

__all__ = [
    "Entry", "Request", "Steps", "describe", "find_ncu", "machine_steps", "nearest_capability",
    "open_gpu", "simulator_like", "write_whole",
]  # fmt: skip

#: What a step finds, ready for JSON: ``differences`` where there are any.
Entry = dict[str, Any]

#: The steps of a part by name, in the order to take them.
Steps = Iterator[tuple[str, Callable[[], Entry]]]


@dataclass(frozen=True)
class Request:
    """What was asked for: files go to ``out``; ``dry`` takes a second simulator for the GPU."""

    out: Path
    dry: bool = False


def describe(fault: BaseException) -> str:
    """Return a fault in one short line."""
    return f"{type(fault).__name__}: {fault}"[:300]


def open_gpu(request: Request) -> Any:
    """Return the GPU, or what stands for it."""
    return SimulatedDevice(checks=False, counters=False) if request.dry else CudaDevice()


def nearest_capability(capability: tuple[int, int]) -> tuple[int, int]:
    """Return the newest compute capability that the tables know and the GPU has."""
    return max(known for known in known_capabilities() if known <= capability)


def simulator_like(gpu: Any, *, checks: bool = False, counters: bool = False) -> SimulatedDevice:
    """Return a simulated device of the GPU's compute capability and size."""
    return SimulatedDevice(
        nearest_capability(gpu.properties.compute_capability),
        checks=checks,
        counters=counters,
        multiprocessors=gpu.properties.multiprocessors,
    )


def machine_steps(request: Request) -> Steps:
    """Ask once what everything runs on."""
    yield "system", _system
    yield "gpu", lambda: asdict(open_gpu(request).properties)


def _system() -> Entry:
    packages = ("numpy", "numba", "llvmlite", "numba-cuda", "cuda-bindings", "cuda-core")
    ask_gpu = partial(_ask, "nvidia-smi", "--format=csv,noheader")
    ncu = find_ncu()
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _ask("git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"),
        "python": platform.python_version(),
        "system": platform.platform(),
        "packages": {name: _version(name) for name in packages},
        "driver": ask_gpu("--query-gpu=driver_version"),
        "clocks": ask_gpu("--query-gpu=clocks.sm,clocks.mem"),
        "pcie": ask_gpu("--query-gpu=pcie.link.gen.max,pcie.link.width.max"),
        "ecc": ask_gpu("--query-gpu=ecc.mode.current"),
        "ncu": (_ask(ncu, "--version") or "").splitlines()[-1:] if ncu else None,
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _ask(*command: str) -> str | None:
    """Return what a program prints, None where it is not there or fails."""
    try:
        done = subprocess.run(  # noqa: S603 - our own commands
            command, capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def find_ncu() -> str | None:
    """Return where Nsight Compute's command is, None where it is not."""
    candidates = [
        shutil.which("ncu"),
        "/usr/local/cuda/bin/ncu",
        *map(str, sorted(Path("/opt/nvidia/nsight-compute").glob("*/ncu"), reverse=True)),
        *map(str, sorted(Path("/usr/local").glob("cuda*/bin/ncu"), reverse=True)),
    ]
    return next((path for path in candidates if path and Path(path).exists()), None)


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    partial.replace(path)
