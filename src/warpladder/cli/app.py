"""The commands put together, and how errors end them."""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType
from typing import Annotated

import typer

from warpladder.cli.climb import climb
from warpladder.cli.doctor import doctor
from warpladder.cli.explain import explain
from warpladder.cli.explore import explore
from warpladder.cli.ladders import ladders
from warpladder.cli.make_graph import make_graph
from warpladder.cli.paths import paths
from warpladder.cli.reduce import reduce
from warpladder.cli.sass import sass
from warpladder.errors import InputError, WarpladderError

__all__ = ["app", "main"]

app = typer.Typer(
    name="warpladder",
    help="Classic computations at the limit of the hardware, and the ladder that leads there.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
app.command("paths")(paths)
app.command("reduce")(reduce)
app.add_typer(make_graph, name="make-graph")
app.command("ladders")(ladders)
app.command("climb")(climb)
app.command("explain")(explain)
app.command("sass")(sass)
app.command("explore")(explore)
app.command("doctor")(doctor)

# The exit status of a program that SIGINT ended, as shells count it.
_INTERRUPTED_STATUS = 130


class _Interrupted(BaseException):
    """Ctrl-C, under a name that typer does not take for its own to answer."""


def _interrupt(signal_number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a signal handler's arguments
    raise _Interrupted


def _print_version(asked: bool) -> None:
    if asked:
        from warpladder import __version__

        typer.echo(f"warpladder {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and leave.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Take the options that stand before a command."""


def _check_threads(asked: str) -> None:
    """Refuse what Numba would refuse with a traceback when it is first imported."""
    if not (asked.isdecimal() and int(asked) > 0):
        raise InputError(f"NUMBA_NUM_THREADS={asked!r} must be a whole number above 0")


def main() -> None:
    """Run the command line; an error of ours is one line on standard error and status 1."""
    # A command makes many objects that live to its end; not searching them for garbage saves 10 %
    # of a small run.
    gc.disable()
    signal.signal(signal.SIGINT, _interrupt)
    try:
        _check_threads(os.environ.get("NUMBA_NUM_THREADS", "1"))
        app()
    except (WarpladderError, OSError, MemoryError, UnicodeError) as fault:
        from warpladder.cli.output import printable

        lines = (str(fault) or type(fault).__name__).split("\n")
        reason = "\n".join(map(printable, lines))
        typer.echo(f"warpladder: {reason}", err=True)
        sys.exit(1)
    except _Interrupted:
        typer.echo("warpladder: interrupted; no file was changed", err=True)
        sys.exit(_INTERRUPTED_STATUS)
