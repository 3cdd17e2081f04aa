"""The command line: one thin file per command, all work done by the library."""

from warpladder.cli.app import main

__all__ = ["main"]
