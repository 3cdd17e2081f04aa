"""``warpladder doctor``: what is there, and what would be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from warpladder.cli.options import Json

if TYPE_CHECKING:
    from rich.table import Table

    from warpladder.device.capabilities import Capability
    from warpladder.device.doctor import Diagnosis

__all__ = ["doctor"]


def doctor(
    capabilities: Annotated[
        bool,
        typer.Option(
            "--capabilities", help="What GPUs of each compute capability can hold, instead."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Show processor, GPUs, versions and caches, and which engine [bold]auto[/] takes and why."""
    if capabilities:
        _show_capabilities(json=json)
        return
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


def _show_capabilities(*, json: bool) -> None:
    from dataclasses import asdict

    from warpladder.cli.output import print_json, stdout
    from warpladder.device.capabilities import capabilities
    from warpladder.device.cuda import probe_cuda

    known = capabilities()
    gpus = {gpu.compute_capability: gpu.name for gpu in probe_cuda().gpus}
    if json:
        rows = [{**asdict(one), "at_hand": one.compute_capability in gpus} for one in known]
        print_json({"capabilities": rows, "gpus": sorted(gpus)})
        return
    console = stdout()
    console.print(_capabilities_table(known, set(gpus)))
    console.print()
    console.print(_about_capabilities(known, gpus))


def _capabilities_table(known: tuple[Capability, ...], at_hand: set[tuple[int, int]]) -> Table:
    from rich.table import Table

    from warpladder.device.properties import dotted

    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("")
    table.add_column("", no_wrap=True)
    table.add_column("device", no_wrap=True)
    held = ("warps", "threads", "blocks", "registers")
    for heading in (*held, "of a\nthread", "shared\nKiB", "of a\nblock"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in known:
        here = one.compute_capability in at_hand
        block = one.shared_bytes_per_block
        table.add_row(
            "*" if here else "",
            dotted(one.compute_capability),
            one.device,
            str(one.warps_per_multiprocessor),
            str(one.threads_per_multiprocessor),
            str(one.blocks_per_multiprocessor),
            str(one.registers_per_multiprocessor),
            str(one.registers_per_thread),
            ",".join(str(size >> 10) for size in one.shared_bytes_per_multiprocessor),
            "" if block is None else str(block >> 10),
            style="bold" if here else "",
        )
    return table


def _about_capabilities(known: tuple[Capability, ...], gpus: dict[tuple[int, int], str]) -> str:
    """Return what the table means, and where the GPUs of this machine stand in it."""
    (warp,) = {one.threads_per_warp for one in known}
    (block,) = {one.threads_per_block for one in known}
    of_granada = [one for one in known if one.source == "GR"]
    listed = {one.compute_capability for one in known}
    here = [f"{name} ({major}.{minor})" for (major, minor), name in sorted(gpus.items())]
    parts = [
        "What a multiprocessor holds, by compute capability, with a device that has it.",
        f"In every one of them a warp has {warp} threads and a block at most {block}.",
        f"The first {len(of_granada)} are the table of GR, of 2018; CUDA 13 knows none of them.",
    ]
    if not here:
        parts.append(
            "No GPU is at hand; the simulator has the limits of 9.0 unless told otherwise."
        )
    elif gpus.keys() <= listed:
        parts.append(f"* at hand: {', '.join(here)}")
    else:
        parts.append(f"At hand: {', '.join(here)}; `warpladder doctor` shows what is not listed.")
    return "\n".join(parts)
