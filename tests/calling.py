"""The command line in this process: to start another takes a second, for its imports alone."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from subprocess import CompletedProcess
from typing import Any
from unittest.mock import patch

import typer.main

from warpladder.cli import main
from warpladder.device import select

#: Code to stand before a program: Ctrl-C, a moment after the command line listens for it. A suite
#: that runs in the background was started with Ctrl-C ignored, and so was this program.
INTERRUPTION = """
import signal, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)
def interrupt():
    while signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        time.sleep(0.01)
    time.sleep(0.5)
    signal.raise_signal(signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
"""


#: Typer reads the annotations of all commands at each call, in 30 ms.
_commands_once = cache(typer.main.get_command)

#: Of the terminal that commands are shown on.
COLUMNS = 80

#: And in which it takes letters.
ENCODING = "utf-8"


def call(*arguments: Any) -> CompletedProcess[str]:
    """Return how ``warpladder`` ends where there is no GPU, and what it says to ``COLUMNS``.

    What shows only in a process of its own, as do signals, imports and standard input, needs one.
    """
    command = ["warpladder", *map(str, arguments)]
    said = [io.TextIOWrapper(io.BytesIO(), ENCODING, write_through=True) for _ in range(2)]
    handler = signal.getsignal(signal.SIGINT)
    with (
        patch.object(sys, "argv", command),
        patch.dict(os.environ, {"COLUMNS": str(COLUMNS)}),
        patch.object(typer.main, "get_command", _commands_once),
        patch.object(select, "_obstacle", lambda: "none is to be used here"),
        warnings.catch_warnings(),
        redirect_stdout(said[0]),
        redirect_stderr(said[1]),
    ):
        # As for a program: what is an error in tests is a line on standard error, and of what a
        # library deprecates, as its own oldest version's calls, users are not told.
        warnings.simplefilter("default")
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            main()
            status = 0
        except SystemExit as ended:
            status = int(ended.code or 0)
        finally:
            gc.enable()
            signal.signal(signal.SIGINT, handler)
    shown, told = (stream.buffer.getvalue().decode(ENCODING) for stream in said)
    return CompletedProcess(command, status, shown, told)
