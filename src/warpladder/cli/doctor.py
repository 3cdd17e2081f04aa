"""``warpladder doctor``: what is there, and what would be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from warpladder.device.doctor import Diagnosis

__all__ = ["doctor"]


def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")] = False,
) -> None:
    """Show processor, GPUs, versions and caches, and which engine [bold]auto[/] takes and why."""
    from warpladder.cli.output import print_json, stdout
    from warpladder.device.doctor import doctor as diagnose

    diagnosis = diagnose()
    if json:
        print_json(diagnosis.as_dict())
    else:
        stdout().print(_table(diagnosis))


def _table(found: Diagnosis) -> Table:
    from rich.table import Table

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("processor", f"{found.cpu}, {found.cores} cores")
    if found.vector is not None:
        table.add_row("vector unit", f"{found.vector.name}, {8 * found.vector.bytes} bits")
    if found.memory is not None:
        table.add_row("memory", str(found.memory))
    table.add_row("system", f"{found.system}, Python {found.python}")
    unused = f": {found.cuda.why_not}" if found.cuda.why_not else ""
    table.add_row("CUDA driver", f"{found.cuda.driver or 'none'}{unused}")
    for gpu in found.cuda.gpus:
        major, minor = gpu.compute_capability
        table.add_row(
            "GPU",
            f"{gpu.name}, compute capability {major}.{minor}, {gpu.multiprocessors} SMs, "
            f"{gpu.memory_bytes / 2**30:.0f} GiB; "
            f"a block: {gpu.threads_per_block} threads, "
            f"{gpu.shared_bytes_per_block / 2**10:.0f} KiB shared; "
            f"an SM: {gpu.threads_per_multiprocessor} threads, "
            f"{gpu.registers_per_multiprocessor} registers",
        )
    if (kernels := found.front_end) is not None:
        used = f"front end of {kernels.package} {kernels.version}: {kernels.why}"
        table.add_row("simulator", used)
    installed = [f"{name} {number}" for name, number in found.packages.items() if number]
    missing = [name for name, number in found.packages.items() if not number]
    table.add_row("packages", ", ".join(installed))
    if missing:
        table.add_row("not installed", ", ".join(missing))
    table.add_row("JIT cache", _cache(found))
    table.add_row("auto takes", f"{found.auto.device}: {found.auto.why}")
    for problem in found.problems:
        table.add_row("problem", problem)
    return table


def _cache(found: Diagnosis) -> str:
    if found.jit_cache is None and found.problems:
        return "not in use"
    if found.jit_cache is None:
        return "none that can be written; NUMBA_CACHE_DIR names a folder for compiled kernels"
    return f"{found.jit_cache} ({found.jit_cache_bytes / 2**20:.1f} MiB), can be written"
