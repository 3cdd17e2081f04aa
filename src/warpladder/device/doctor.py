"""What was found on this machine, and what would be used of it."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from warpladder.device.cuda import CudaReport, probe_cuda
from warpladder.device.select import Choice, choose_device
from warpladder.device.simd import VectorUnit, vector_unit
from warpladder.device.team import barrier, worker_count

__all__ = ["Diagnosis", "doctor"]

_PACKAGES = (
    "warpladder", "numpy", "numba", "llvmlite", "numba-cuda", "scipy", "joblib", "pyarrow",
    "pandas", "networkx", "matplotlib",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What `doctor` found.

    Attributes
    ----------
    cpu
        Name of the processor.
    cores
        Cores this process may use.
    vector
        The vector unit Numba compiles for.
    memory_bytes
        Physical memory, None where the system does not tell.
    system, python
        Operating system and Python version.
    packages
        Version by package; None where it is not installed.
    cuda
        Driver and GPUs.
    jit_cache, jit_cache_bytes
        Where compiled kernels are kept, and how much of it there is.
    auto
        The device ``device="auto"`` takes, and why.
    """

    cpu: str
    cores: int
    vector: VectorUnit
    memory_bytes: int | None
    system: str
    python: str
    packages: dict[str, str | None]
    cuda: CudaReport
    jit_cache: str
    jit_cache_bytes: int
    auto: Choice

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for JSON."""
        document = asdict(self)
        document["auto"] = self.auto._asdict()
        return document


def doctor() -> Diagnosis:
    """Look at this machine: processor, vector unit, CUDA, versions, the cache of compiled kernels.

    Examples
    --------
    >>> import warpladder
    >>> warpladder.doctor().auto.device in {"cpu", "cuda"}
    True
    """
    cache = _jit_cache()
    return Diagnosis(
        cpu=_cpu_name(),
        cores=worker_count(),
        vector=vector_unit(),
        memory_bytes=_memory_bytes(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
        packages={name: _version(name) for name in _PACKAGES},
        cuda=probe_cuda(),
        jit_cache=str(cache),
        jit_cache_bytes=sum(
            file.stat().st_size for kind in ("*.nbi", "*.nbc") for file in cache.rglob(kind)
        ),
        auto=choose_device("auto"),
    )


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _jit_cache() -> Path:
    """Return the folder below which Numba keeps what it compiled for this package."""
    cache = Path(str(barrier.stats.cache_path))
    package = Path(__file__).parent.parent
    return package if cache.is_relative_to(package) else cache.parent
