"""``python -m warpladder``: the command line."""

from warpladder.cli import main

if __name__ == "__main__":
    main()
