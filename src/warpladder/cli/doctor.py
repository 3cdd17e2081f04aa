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
    table.add_row("vector unit", f"{found.vector.name}, {8 * found.vector.bytes} bits")
    if found.memory_bytes is not None:
        table.add_row("memory", f"{found.memory_bytes / 2**30:.1f} GiB")
    table.add_row("system", f"{found.system}, Python {found.python}")
    table.add_row("CUDA driver", found.cuda.driver or f"none: {found.cuda.why_not}")
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
    installed = [f"{name} {number}" for name, number in found.packages.items() if number]
    missing = [name for name, number in found.packages.items() if not number]
    table.add_row("packages", ", ".join(installed))
    if missing:
        table.add_row("not installed", ", ".join(missing))
    table.add_row("JIT cache", f"{found.jit_cache} ({found.jit_cache_bytes / 2**20:.1f} MiB)")
    table.add_row("auto takes", f"{found.auto.device}: {found.auto.why}")
    return table
