"""``warpladder advect``: carry a curve along, by the scheme that is asked for, and look at it."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from warpladder.cli.options import Json

__all__ = ["advect"]


def advect(
    initial: Annotated[
        str,
        typer.Option(
            help="The start: gaussian, square or sine on 0 <= x < 1; or a file: .npy, .npz, or a "
            "column of CSV or other text, - for standard input.",
            metavar="SHAPE|FILE",
        ),
    ] = "gaussian",
    cells: Annotated[
        int | None,
        typer.Option(help="How many cells a shape has, 1000 by default.", metavar="N"),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="How many steps to take.", metavar="M")] = None,
    until: Annotated[
        float | None,
        typer.Option(
            help="Or until when; at time 1 all has moved by the whole length.", metavar="T"
        ),
    ] = None,
    courant: Annotated[
        float | None,
        typer.Option(
            help="Courant number, 0.5 by default: by how many cells a step moves the curve; below "
            "0 to the left. With --until at most that, so that whole steps end there.",
            metavar="C",
        ),
    ] = None,
    scheme: Annotated[
        str | None,
        typer.Option(
            help="First order: lax-friedrichs (the default), upwind; second: lax-wendroff, "
            "beam-warming, fromm; with a limiter: minmod, superbee, van-leer, mc."
        ),
    ] = None,
    boundary: Annotated[
        str | None,
        typer.Option(
            help="neumann (the default), periodic, outflow or dirichlet:VALUE; or two of them for "
            "left and right, as dirichlet:1,outflow."
        ),
    ] = None,
    save_every: Annotated[
        int | None, typer.Option(help="A snapshot every K steps; needs -o.", metavar="K")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Write snapshots, as .npz or .zarr; without --save-every the start and the end. "
            ".npy: the end alone.",
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            help="Go on from the last snapshot in a file of -o, with the same bits as one run.",
            metavar="FILE",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the initial, the computed and the exact curve: .png, .svg, .pdf."),
    ] = None,
    convergence: Annotated[
        int | None,
        typer.Option(
            help="Repeat a shape on GRIDS grids, each twice as fine, and show the order.",
            metavar="GRIDS",
        ),
    ] = None,
    dtype: Annotated[
        str | None,
        typer.Option(help="float32 or float64, in which to compute; else float64, or the file's."),
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="Column of a table, by name or number from 0.")
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="steps; or jump: all steps at once by Fourier transforms (linear schemes)."
        ),
    ] = "steps",
    allow_unstable: Annotated[
        bool,
        typer.Option("--allow-unstable", help="Compute also what will grow without bound."),
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Say what there is to do; do nothing.")
    ] = False,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    json: Json = False,
) -> None:
    """Carry a curve along: solve phi_t + u phi_x = 0 by an explicit scheme.

    The length is 1 and the velocity 1 to the right, or to the left for a Courant
    number below 0. Prints how the curve fared: mass, extrema, errors.

    [bold]warpladder advect --steps 400 --plot hill.png[/]  the hill gets flatter: why?

    [bold]warpladder advect --initial square --scheme superbee --boundary periodic --until 1[/]

    [bold]warpladder advect --initial sine --boundary periodic --until 1 --convergence 4[/]

    [bold]warpladder advect --steps 1000000 --save-every 1000 -o run.npz[/]

    [bold]warpladder advect --resume run.npz --steps 1000 -o more.npz[/]
    """
    from warpladder.cli.advect_run import SHAPES, Asked, resumed, started
    from warpladder.cli.advect_view import show
    from warpladder.cli.output import print_json
    from warpladder.cli.targets import check_no_input

    asked = Asked(
        steps=steps, until=until, save_every=save_every, output=output, plot=plot, device=device
    )
    asked.check()
    read = (resume, None if initial in SHAPES else Path(initial))
    check_no_input("-o", output, read)
    check_no_input("--plot", plot, read)
    began = perf_counter()
    if resume is not None:
        given = {
            "--initial": initial if initial != "gaussian" else None, "--cells": cells,
            "--courant": courant, "--scheme": scheme, "--boundary": boundary, "--dtype": dtype,
            "--column": column, "--convergence": convergence, "--plan": plan or None,
            "--method": method if method != "steps" else None,
            "--allow-unstable": allow_unstable or None,
        }  # fmt: skip
        for name, value in given.items():
            if value is not None:
                raise typer.BadParameter(
                    f"{name} has no meaning beside --resume, whose file has it"
                )
        facts = resumed(resume, asked)
    else:
        facts = started(
            asked, initial=initial, cells=cells, column=column, dtype=dtype, plan=plan,
            grids=convergence,
            options={
                "courant": 0.5 if courant is None else courant,
                "scheme": "lax-friedrichs" if scheme is None else scheme,
                "boundary": "neumann" if boundary is None else boundary,
                "method": method,
                "allow_unstable": allow_unstable,
            },
        )  # fmt: skip
    facts["whole_seconds"] = perf_counter() - began
    (print_json if json else show)(facts)
    for path in (output, plot):
        if path is not None and not (json or plan):
            typer.echo(f"wrote {path}", err=True)
