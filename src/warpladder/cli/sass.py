"""``warpladder sass``: a rung's kernels as a compiler makes them, and what their loops issue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from warpladder.cli.completion import complete_rung
from warpladder.cli.options import Json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.table import Table

    from warpladder.device.occupancy import Occupancy
    from warpladder.device.properties import DeviceProperties
    from warpladder.lab.compile import Compiled
    from warpladder.lab.launches import Variant
    from warpladder.lab.sass import Loop
    from warpladder.rung import Rung

__all__ = ["sass"]


def sass(
    rung: Annotated[
        str,
        typer.Argument(
            metavar="LADDER/RUNG",
            help="As `warpladder ladders` lists them; FILE.py/RUNG; or FILE.py alone, a program.",
            autocompletion=complete_rung,
        ),
    ],
    compute_capability: Annotated[
        str, typer.Option(metavar="X.Y", help="Of the GPU to compile for; from 7.5 on.")
    ] = "9.0",
    full: Annotated[bool, typer.Option("--full", help="Print the machine code too.")] = False,
    json: Json = False,
) -> None:
    """Compile a rung's kernels and count what their hot loops issue; no GPU is needed.

    [bold]registers[/]: of a thread. The more it has, the fewer threads fit on a
    multiprocessor, whose [bold]occupancy[/] is the share of its places for warps that
    are taken; beside it stands what runs out first.

    [bold]spilled[/]: bytes moved to local memory and back because registers did not
    suffice. [bold]local[/]: bytes of arrays that are indexed by what is not known when
    compiling, and of spilled registers. Both cost loads and stores: 0 is good.

    [bold]hot loop[/]: the innermost loop with the most work. Each instruction takes one
    issue slot of a warp, so the share of slots that do the arithmetic asked for
    is the most of its peak rate that the loop can reach.

    NVVM and ptxas, which compile Numba's code, come with the extra `compile`.

    [bold]warpladder sass shortest-paths/register-tiles[/]

    [bold]warpladder sass primer/registers --compute-capability 7.5 --full[/]

    [bold]warpladder sass my_program.py[/]     kernels as a program launches them
    """
    from warpladder.cli.output import print_json, stdout
    from warpladder.lab.registry import find_rung

    version = _version(compute_capability)
    ladder, found = find_rung(rung, programs=True)
    if found.on != "device":
        where = "on the CPU" if found.on == "cpu" else "a library's kernels"
        raise typer.BadParameter(
            f"{rung} runs {where}: there is no kernel to compile", param_hint="LADDER/RUNG"
        )
    title = f"{ladder.name}/{found.name}"
    if json:
        kernels = [_document(*one, full=full) for one in _compiled(found, version)]
        print_json({"rung": title, "compute_capability": compute_capability, "kernels": kernels})
        return
    console = stdout()
    for number, (variant, compiled, fits, loop) in enumerate(_compiled(found, version)):
        if not number:
            console.print(f"{title}: {found.title}", markup=False)
        _show(console, variant, compiled, fits, loop)
        if full:
            typer.echo(f"\n{compiled.sass}")


def _version(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    if not (major.isdecimal() and minor.isdecimal()):
        raise typer.BadParameter(
            f"{text!r} is not two numbers as in 9.0", param_hint="--compute-capability"
        )
    return int(major), int(minor)


def _compiled(
    rung: Rung, version: tuple[int, int]
) -> Iterator[tuple[Variant, Compiled, Occupancy | None, Loop]]:
    from warpladder.cli.output import aside
    from warpladder.device.properties import properties_of
    from warpladder.lab.compile import compile_kernel
    from warpladder.lab.launches import launched_variants
    from warpladder.lab.sass import instruction_mix

    with aside():
        variants = launched_variants(rung)
    for variant in variants:
        compiled = compile_kernel(variant.kernel, variant.arguments, version)
        fits = _occupancy(properties_of(version), variant, compiled)
        yield variant, compiled, fits, instruction_mix(compiled.sass)[0]


def _occupancy(
    properties: DeviceProperties, variant: Variant, compiled: Compiled
) -> Occupancy | None:
    """Return how full a multiprocessor gets, or None where not one block fits."""
    from warpladder.device.occupancy import occupancy
    from warpladder.errors import LaunchError

    try:
        return occupancy(
            properties,
            variant.threads,
            registers_per_thread=compiled.registers,
            shared_bytes=compiled.shared_bytes + variant.shared_bytes,
        )
    except LaunchError:
        return None


def _show(
    console: Console, variant: Variant, compiled: Compiled, fits: Occupancy | None, loop: Loop
) -> None:
    from rich.text import Text

    from warpladder.device.properties import dotted

    version = dotted(compiled.compute_capability)
    heading = Text.assemble(
        (variant.name, "bold"),
        f"({', '.join(map(str, variant.arguments))}), compiled for {version}",
    )
    console.print("", heading, sep="\n")
    console.print(_resources(variant, compiled, fits))
    where = f"hot loop, {loop.depth} deep" if loop.depth else "no loop: the whole kernel"
    console.print(f"\n  {where}: {len(loop.instructions)} instructions")
    console.print(_mix(loop))


def _resources(variant: Variant, compiled: Compiled, fits: Occupancy | None) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 2), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("registers", str(compiled.registers))
    table.add_row("spilled, local", f"{compiled.spill_bytes} bytes, {compiled.stack_bytes} bytes")
    dynamic = f" + {variant.shared_bytes}" if variant.shared_bytes else ""
    table.add_row("shared memory", f"{compiled.shared_bytes}{dynamic} bytes of a block")
    if fits is None:
        full = f"none: not one block of {variant.threads} threads fits"
    else:
        count = fits.blocks_per_multiprocessor
        blocks = f"{count} block{'s' * (count != 1)} of {variant.threads} threads"
        full = f"{fits.fraction:.0%}: {blocks}; the limit is {fits.limiter}"
    table.add_row("occupancy", full)
    return table


def _mix(loop: Loop) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 2), header_style="bold")
    table.add_column("issue slots", no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("most of them", overflow="fold")
    for kind, names in loop.classes.items():
        count = names.total()
        shown = [f"{times} {name}" for name, times in names.most_common(4)]
        more = ", ..." if len(names) > len(shown) else ""
        share = f"{count / len(loop.instructions):.1%}"
        table.add_row(kind, str(count), share, ", ".join(shown) + more)
    return table


def _document(
    variant: Variant, compiled: Compiled, fits: Occupancy | None, loop: Loop, *, full: bool
) -> dict[str, Any]:
    from dataclasses import asdict

    document = {
        "name": variant.name,
        "arguments": [str(kind) for kind in variant.arguments],
        "threads_per_block": variant.threads,
        "registers": compiled.registers,
        "spill_bytes": compiled.spill_bytes,
        "local_bytes": compiled.stack_bytes,
        "static_shared_bytes": compiled.shared_bytes,
        "dynamic_shared_bytes": variant.shared_bytes,
        "occupancy": fits and asdict(fits),
        "hot_loop": {
            "depth": loop.depth,
            "instructions": len(loop.instructions),
            "classes": {kind: dict(names) for kind, names in loop.classes.items()},
        },
    }
    return {**document, "sass": compiled.sass} if full else document
