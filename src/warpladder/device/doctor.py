"""What was found on this machine, and what would be used of it."""

from __future__ import annotations

import os
import platform
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpladder.device.cuda import CudaReport, probe_cuda
from warpladder.device.environment import require_compiler, worker_count
from warpladder.device.host_memory import HostMemory, host_memory
from warpladder.device.select import Choice, choose_device
from warpladder.device.simd import VectorUnit, vector_unit
from warpladder.version import __version__

if TYPE_CHECKING:
    from warpladder.device.numba_target import FrontEnd

__all__ = ["Diagnosis", "doctor"]

_PACKAGES = (
    "warpladder", "numpy", "numba", "llvmlite", "numba-cuda", "cuda-core", "scipy",
    "pyarrow", "pandas", "networkx", "matplotlib",
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
        The vector unit Numba compiles for, None where Numba cannot be imported.
    memory
        The narrowest limit on memory and what is left of it, None where the system does not tell.
    system, python
        Operating system and Python version.
    packages
        Version by package; None where it is not installed.
    cuda
        Driver and GPUs.
    front_end
        Whose CUDA target types the kernels that the simulator runs, None where none can be
        imported.
    jit_cache, jit_cache_writable, jit_cache_bytes
        Where compiled kernels are kept, None where no folder for them can be written; and how much
        of them there is.
    auto
        The device ``device="auto"`` takes, and why.
    problems
        What keeps warpladder from its work here, and what to do.
    """

    cpu: str
    cores: int
    vector: VectorUnit | None
    memory: HostMemory | None
    system: str
    python: str
    packages: dict[str, str | None]
    cuda: CudaReport
    front_end: FrontEnd | None
    jit_cache: str | None
    jit_cache_writable: bool
    jit_cache_bytes: int
    auto: Choice
    problems: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for JSON."""
        document = asdict(self)
        document["memory"] = self.memory and self.memory._asdict()
        document["auto"] = self.auto._asdict()
        document["front_end"] = self.front_end and {
            "package": self.front_end.package,
            "version": self.front_end.version,
            "why": self.front_end.why,
        }
        return document


def doctor() -> Diagnosis:
    """Look at this machine: processor, vector unit, CUDA, versions, the cache of compiled kernels.

    Never raises: what is broken stands in `Diagnosis.problems`, and all else is told.

    Examples
    --------
    >>> import warpladder
    >>> warpladder.doctor().auto.device in {"cpu", "cuda"}
    True
    """
    problems: list[str] = []
    told = partial(_told, problems)
    works = told("Numba cannot be imported", _numba_is_there, otherwise=False)
    if works:
        told("engines", require_compiler, otherwise=None)
    cache = told("JIT cache", _jit_cache, otherwise=None) if works else None
    return Diagnosis(
        cpu=told("processor", _cpu_name, otherwise="unknown"),
        cores=told("threads", worker_count, otherwise=os.cpu_count() or 1),
        vector=told("vector unit", vector_unit, otherwise=None) if works else None,
        memory=told("memory", host_memory, otherwise=None),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
        packages={name: _version(name) for name in _PACKAGES},
        cuda=probe_cuda(),
        front_end=told("simulator", _front_end, otherwise=None) if works else None,
        jit_cache=cache and str(cache),
        jit_cache_writable=cache is not None,
        jit_cache_bytes=0 if cache is None else _bytes_below(cache),
        auto=choose_device("auto"),
        problems=tuple(problems),
    )


def _told(problems: list[str], what: str, look: Callable[[], Any], *, otherwise: Any) -> Any:
    """Return what is found; where looking fails note why, and return the other."""
    try:
        return look()
    except Exception as fault:  # noqa: BLE001 - whatever is broken, the rest is told
        problems.append(f"{what}: {fault}")
        return otherwise


def _numba_is_there() -> bool:
    with warnings.catch_warnings():
        # Of variables that it cannot read, which are told as problems.
        warnings.simplefilter("ignore")
        import_module("numba")
    return True


def _front_end() -> FrontEnd:
    from warpladder.device.numba_target import FRONT_END

    return FRONT_END


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    if package == "warpladder":
        # It need not be installed: its folder may be on the path.
        return __version__
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _jit_cache() -> Path | None:
    """Return the folder below which Numba keeps what it compiled for this package."""
    from warpladder.device.kernel_cache import cache_folder
    from warpladder.device.team import next_task

    folder = cache_folder(next_task)
    package = Path(__file__).parent.parent
    if folder is None or folder.is_relative_to(package):
        return folder and package
    return folder.parent


def _bytes_below(folder: Path) -> int:
    count = 0
    for kind in ("*.nbi", "*.nbc"):
        for file in folder.rglob(kind):
            # Another process may have replaced it since.
            with suppress(OSError):
                count += file.stat().st_size
    return count
