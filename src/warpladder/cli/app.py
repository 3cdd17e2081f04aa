"""The commands put together, and how errors end them."""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from types import FrameType
from typing import Annotated, Any, TextIO

import typer

from warpladder.cli.advect import advect
from warpladder.cli.check import check
from warpladder.cli.climb import climb
from warpladder.cli.doctor import doctor
from warpladder.cli.explain import explain
from warpladder.cli.explore import explore
from warpladder.cli.jobs import jobs
from warpladder.cli.ladders import ladders
from warpladder.cli.make_graph import make_graph
from warpladder.cli.new import new
from warpladder.cli.options import Command, Computing
from warpladder.cli.overlap import overlap
from warpladder.cli.paths import paths
from warpladder.cli.picture import picture
from warpladder.cli.reduce import reduce
from warpladder.cli.report import report
from warpladder.cli.sass import sass
from warpladder.cli.sources import sources
from warpladder.cli.submit import submit
from warpladder.cli.try_ import try_
from warpladder.device.environment import asked_threads
from warpladder.errors import KernelCacheWarning, WarpladderError
from warpladder.lab.sources import SOURCES

__all__ = ["app", "main"]

_BIBLIOGRAPHY = "\n\n".join(
    ("Sources, by the keys that rungs name:", *(f"{key}: {text}" for key, text in SOURCES.items()))
)

_NAME = "warpladder"

app = typer.Typer(
    name=_NAME,
    help="Classic computations at the limit of the hardware, and the ladder that leads there.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
app.command("paths", cls=Computing)(paths)
app.command("reduce", cls=Computing)(reduce)
app.command("overlap", cls=Computing)(overlap)
app.command("advect", cls=Computing)(advect)
app.add_typer(make_graph, name="make-graph")
app.command("ladders", cls=Command, epilog=_BIBLIOGRAPHY)(ladders)
app.command("climb", cls=Command, epilog=_BIBLIOGRAPHY)(climb)
app.command("explain", cls=Command, epilog=_BIBLIOGRAPHY)(explain)
app.command("picture", cls=Command)(picture)
app.command("sass", cls=Command)(sass)
app.command("try", cls=Command)(try_)
app.command("new", cls=Command)(new)
app.command("check", cls=Command)(check)
app.command("explore", cls=Command, epilog=_BIBLIOGRAPHY)(explore)
app.command("report", cls=Command)(report)
# What stands behind the command to submit is that command's own.
app.command("submit", cls=Command, context_settings={"allow_interspersed_args": False})(submit)
app.command("jobs", cls=Command)(jobs)
app.command("sources", cls=Command)(sources)
app.command("doctor", cls=Command)(doctor)

# Signals that ask a program to end, as far as the system has them, and how that is told.
_ENDING = {
    name: told
    for name, told in (("SIGINT", "interrupted"), ("SIGTERM", "terminated"), ("SIGHUP", "hung up"))
    if hasattr(signal, name)
}
# Shells count the exit status of a program that a signal ended from here.
_SIGNALLED_STATUS = 128
# Errors of writing, which come without the name of a file.
_NOT_WRITTEN = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
_AGAIN_AFTER_SECONDS = 0.01


class _Signalled(BaseException):
    """Ctrl-C and the like, under a name that typer does not take for its own to answer.

    Python handles signals wherever it is, also where whatever is raised goes no further: in a
    destructor, in a callback, in what a library only tries, as ``numpy.random`` does while it is
    imported. One that goes out of existence while signals are still handled has not come to `main`,
    and is sent again.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)

    def __del__(self) -> None:
        if signal.getsignal(self.number) is _end:
            again = threading.Timer(_AGAIN_AFTER_SECONDS, _send_again, (self.number,))
            again.daemon = True
            again.start()


def _end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a signal handler's arguments
    raise _Signalled(number)


def _send_again(number: int) -> None:
    if signal.getsignal(number) is _end:
        signal.raise_signal(number)


@contextmanager
def _signals_untold() -> Iterator[None]:
    """Print nothing of a signal that a destructor or a callback has dropped: it comes again."""
    before = sys.unraisablehook

    def hook(lost: sys.UnraisableHookArgs, /) -> None:
        if not isinstance(lost.exc_value, _Signalled):
            before(lost)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextmanager
def _signals_raised() -> Iterator[None]:
    """Let signals that ask to end raise, so that files half written are removed on the way out.

    What whoever started this program has set to be ignored, as ``nohup`` does, stays ignored.
    """
    before: dict[int, Any] = {}
    # Python lets only the main thread handle signals.
    if threading.current_thread() is threading.main_thread():
        for name in _ENDING:
            number = getattr(signal, name)
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, _end)
    try:
        with _signals_untold():
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _print_version(asked: bool) -> None:
    if asked:
        from warpladder.version import __version__

        typer.echo(f"warpladder {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - typer hands it to its callback
        bool,
        typer.Option(
            "--version", help="Show the version and leave.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Take the options that stand before a command."""
    if context.invoked_subcommand != "doctor" and "--help" not in sys.argv:
        # Numba's import would refuse it with a traceback.
        asked_threads()


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning of ours as one line, all others as Python does."""
    if issubclass(category, KernelCacheWarning):
        typer.echo(f"warpladder: {message}", err=True)
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line)
        (file or sys.stderr).write(text)


def _drop_unwritten() -> None:
    """Give up output that cannot be written, on a full disk for instance.

    Python would try once more when it ends, say so, and set a status of its own.
    """
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell_notes(fault: BaseException) -> None:
    """Print what was remarked on an error on its way up, as where to go on from."""
    from warpladder.cli.output import printable

    for note in getattr(fault, "__notes__", ()):
        typer.echo(f"warpladder: {printable(note)}", err=True)


def main() -> None:
    """Run the command line; an error of ours is one line on standard error and status 1."""
    # A command makes many objects that live to its end; not searching them for garbage saves 10 %
    # of a small run.
    gc.disable()
    Computing.owns_process = True
    warnings.showwarning = _show_warning
    if os.environ.get("COLUMNS") == "0":
        # So many has a terminal that does not know how many. Rich would print nothing.
        del os.environ["COLUMNS"]
    if sys.stdout is None:
        # The first file that a command opens would be in its place, and be printed into.
        told = "standard output is closed; direct it to a file, or to /dev/null"
        typer.echo(f"warpladder: {told}", err=True)
        sys.exit(1)
    if isinstance(sys.stdout, TextIOWrapper) and not sys.stdout.encoding.lower().startswith("utf"):
        # As standard error does: an accent that it lacks would end help texts and tables half way.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with _signals_raised():
            # Else a shell would be told to complete `python -m warpladder`, which it cannot.
            app(prog_name=_NAME)
    except (WarpladderError, OSError, MemoryError, UnicodeError) as fault:
        from warpladder.cli.output import printable

        wordless = "memory does not suffice" if isinstance(fault, MemoryError) else None
        told = str(fault) or wordless or type(fault).__name__
        if isinstance(fault, OSError) and fault.filename is None and fault.errno in _NOT_WRITTEN:
            told = f"cannot write: {fault.strerror}"
        lines = told.split("\n")
        reason = "\n".join(map(printable, lines))
        typer.echo(f"warpladder: {reason}", err=True)
        _tell_notes(fault)
        _drop_unwritten()
        sys.exit(1)
    except (Exception, SystemExit) as fault:
        # A file of the user's may do anything; whatever else raises is a mistake of ours. Every
        # command ends by SystemExit, most of them without having loaded such a file.
        own = sys.modules.get("warpladder.lab.own")
        if not (mistake := own and own.mistake_in(fault)):
            raise
        from warpladder.cli.output import printable

        typer.echo(f"warpladder: {printable(mistake)}", err=True)
        sys.exit(1)
    except _Signalled as ended:
        told = _ENDING[signal.Signals(ended.number).name]
        # Whoever hung up may have taken the terminal away.
        with suppress(OSError):
            # Who has begun something that stays has noted what.
            kept = "" if getattr(ended, "__notes__", ()) else "; no file was changed"
            typer.echo(f"warpladder: {told}{kept}", err=True)
            _tell_notes(ended)
        sys.exit(_SIGNALLED_STATUS + ended.number)
