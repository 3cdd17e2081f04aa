"""Print for pip the oldest versions of what the tests need that pyproject.toml allows.

    python .ci/oldest.py > constraints.txt

Of a version such as 2.1 the newest correction counts, 2.1.3, since nobody is better off without it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
LOWEST = re.compile(r"(?P<name>[\w.-]+)(\[[\w,-]+\])?>=(?P<version>[\d.]+)")


def needed(extra: str) -> Iterator[str]:
    """Yield the requirements of an extra of ours, and of those that it names."""
    for requirement in PROJECT["optional-dependencies"][extra]:
        own = re.fullmatch(rf"{PROJECT['name']}\[(?P<extras>[\w,-]+)\]", requirement)
        if own is None:
            yield requirement
            continue
        for other in own["extras"].split(","):
            yield from needed(other)


def main() -> None:
    """Print one line for each package."""
    for requirement in (*PROJECT["dependencies"], *needed("test")):
        lowest = LOWEST.match(requirement)
        if lowest is None:
            raise SystemExit(f"pyproject.toml: {requirement!r} has no oldest version")
        parts = lowest["version"].split(".")
        version = ".".join([*parts, "0"][:2]) + ".*" if len(parts) < 3 else lowest["version"]
        print(f"{lowest['name']}=={version}")


if __name__ == "__main__":
    main()
