"""The command line: one thin file per command, all work done by the library."""

import sys

__all__ = ["main"]

_INTERRUPTED_STATUS = 130


def main() -> None:
    """Run the command line; see `warpladder.cli.app`."""
    try:
        # Takes a while from a disk that is asleep, and whoever waits may have changed their mind.
        from warpladder.cli import app
    except KeyboardInterrupt:
        sys.stderr.write("warpladder: interrupted; no file was changed\n")
        sys.exit(_INTERRUPTED_STATUS)
    app.main()
