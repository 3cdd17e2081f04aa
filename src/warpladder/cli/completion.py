"""Names that a shell completes: of ladders, rungs, exercises and explorations.

To import a ladder takes a second, for its kernels are compiled code, and a shell asks at every
press of a key. A rung is called as its file is, so the folders of a ladder are read instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer

__all__ = [
    "complete_exercise",
    "complete_exploration",
    "complete_ladder",
    "complete_other_rung",
    "complete_rung",
    "complete_rung_name",
]


def rung_names(ladder: str) -> list[str]:
    """Return the names of a ladder's rungs, right and wrong; none for one of another package.

    Examples
    --------
    >>> [name for name in rung_names("primer") if name.startswith("vector-add-g")]
    ['vector-add-grid', 'vector-add-grid-stride']
    """
    package, _, rest = _places().get(ladder, "").partition(".")
    if package != "warpladder":
        return []
    folder = Path(__file__).parents[1].joinpath(*rest.split(":")[0].split(".")[:-1])
    files = (*folder.glob("rungs/*.py"), *folder.glob("wrong/*.py"))
    return sorted(file.stem.replace("_", "-") for file in files if not file.stem.startswith("_"))


def complete_ladder(incomplete: str) -> list[str]:
    """Return the ladders that begin so."""
    return _beginning(incomplete, _places())


def complete_rung(incomplete: str) -> list[str]:
    """Return every ``LADDER/RUNG`` that begins so."""
    paths = (f"{ladder}/{name}" for ladder in _places() for name in rung_names(ladder))
    return _beginning(incomplete, paths)


def complete_rung_name(context: typer.Context, incomplete: str) -> list[str]:
    """Return the rungs that begin so, of the ladder that stands before."""
    return _beginning(incomplete, rung_names(_argument(context, "name")))


def complete_other_rung(context: typer.Context, incomplete: str) -> list[str]:
    """Return the rungs that begin so, of the ladder of the rung that stands before or of all."""
    if "/" in incomplete:
        return complete_rung(incomplete)
    ladder, _, itself = _argument(context, "rung").partition("/")
    names = _beginning(incomplete, (name for name in rung_names(ladder) if name != itself))
    return names or complete_rung(incomplete)


def complete_exercise(incomplete: str) -> list[str]:
    """Return the exercises that begin so."""
    from warpladder.lab.exercises.registry import EXERCISES

    return _beginning(incomplete, (exercise.rung for exercise in EXERCISES))


def complete_exploration(incomplete: str) -> list[str]:
    """Return the explorations that begin so."""
    from warpladder.lab.explore.registry import EXPLORATIONS

    return _beginning(incomplete, EXPLORATIONS)


def _places() -> dict[str, str]:
    # It takes 40 ms, and every command's help would wait for it.
    from warpladder.lab.registry import LADDERS

    return LADDERS


def _argument(context: typer.Context, name: str) -> str:
    """Return the argument; behind an option that has no value yet, nothing is given its name."""
    return str(context.params.get(name) or next(iter(context.args), ""))


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
