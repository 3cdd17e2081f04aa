"""The ladders by name: the one place that lists them, each imported when it is asked for.

Those of this package stand below; other packages announce theirs (`own.installed`), and a ladder in
a file or a module needs no name: it is asked for by its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from warpladder.errors import InputError
from warpladder.lab import own
from warpladder.lab.program import program_rung
from warpladder.rung import Ladder, Rung

__all__ = ["LADDERS", "find_ladder", "find_rung", "ladder_names", "ladders", "look_up", "unknown"]

#: Where each ladder stands, as ``module:attribute``, in the order in which to learn them.
LADDERS: dict[str, str] = {
    "primer": "warpladder.primer.ladder:LADDER",
    "reduction": "warpladder.reduction.ladder:LADDER",
    "advection": "warpladder.advection.ladder:LADDER",
    "overlap-join": "warpladder.overlap_join.ladder:LADDER",
    "shortest-paths": "warpladder.shortest_paths.ladder:LADDER",
}


def ladder_names() -> list[str]:
    """Return the name of every ladder, in the order in which to learn them; imports none of them.

    Where another package claims a name of ours, ours it stays.
    """
    return list(dict.fromkeys((*LADDERS, *own.installed())))


def ladders(left_out: Callable[[str], None] | None = None) -> list[Ladder]:
    """Return every ladder, in the order in which to learn them; those of other packages last.

    Parameters
    ----------
    left_out
        Is told of each ladder of another package that cannot be used; without it that is an error.
    """
    found = []
    for name in ladder_names():
        try:
            found.append(find_ladder(name))
        except InputError as fault:
            if left_out is None or name in LADDERS:
                raise
            left_out(str(fault))
    return found


def find_ladder(name: str) -> Ladder:
    """Return the ladder of this name, or at this place: ``my_ladder.py``, ``package:LADDER``.

    Raises
    ------
    InputError
        There is none of this name; the message has the nearest. Or what is there is none.

    Examples
    --------
    >>> find_ladder("prime")
    Traceback (most recent call last):
    ...
    warpladder.errors.InputError: no ladder 'prime'; did you mean primer? `warpladder ...
    """
    if own.is_reference(name):
        return _loaded(name)
    if name not in LADDERS:
        if points := own.installed().get(name):
            return own.load_installed(name, points)
        if _is(Path.is_file, f"{name}.py"):
            raise InputError(f"no ladder {name!r}; the file of that name is {name}.py")
        _refuse_folder(name)
        ladder, _, rung = name.partition("/")
        if rung and ladder in LADDERS:
            raise InputError(f"{name!r} is a rung; its ladder is {ladder}")
        raise InputError(unknown("ladder", name, ladder_names(), "ladders"))
    return cast("Ladder", look_up("ladder", name, LADDERS, "ladders"))


def find_rung(path: str, *, programs: bool = False) -> tuple[Ladder, Rung]:
    """Return the rung called ``ladder/rung``, a wrong one too, and its ladder.

    The ladder may be given by its place, ``my_ladder.py/rung``, and a file with one rung by itself.
    With ``programs`` a file may also have none, and be a program that launches kernels.

    Raises
    ------
    InputError
        There is no such ladder or rung, or the path is not of this form.

    Examples
    --------
    >>> find_rung("primer")
    Traceback (most recent call last):
    ...
    warpladder.errors.InputError: 'primer' must be LADDER/RUNG; ...
    """
    if own.is_reference(path):
        place, name = own.split(path)
        if programs and name is None and place.endswith(".py"):
            file = Path(place)
            if not own.is_ladder_file(file):
                return program_rung(file)
        ladder = _loaded(place)
        if name is None:
            return ladder, _only_rung(path, ladder)
        ladder_name = place
    else:
        ladder_name, slash, name = path.partition("/")
        if ladder_name not in LADDERS and ladder_name not in own.installed():
            _refuse_folder(path)
        if not slash:
            raise InputError(
                f"{path!r} must be LADDER/RUNG; `warpladder ladders` lists the rungs of every "
                "ladder"
            )
        ladder = find_ladder(ladder_name)
    rung = ladder.find(name)
    if rung is None:
        raise InputError(unknown("rung", name, _names(ladder), f"ladders {ladder_name}"))
    return ladder, rung


def _refuse_folder(path: str) -> None:
    if path and _is(Path.is_dir, path):
        raise InputError(f"{path} is a folder; name a file in it, as in {Path(path) / 'FILE.py'}")


def _is(kind: Callable[[Path], bool], path: str) -> bool:
    try:
        return kind(Path(path))
    except OSError:
        # Longer than names of files can be.
        return False


def _loaded(place: str) -> Ladder:
    """Return the ladder at a place; what is known of ladders is kept by their names."""
    ladder = own.load(place)
    if ladder.name in LADDERS and ladder is not find_ladder(ladder.name):
        raise InputError(
            f"{place}: its ladder is called {ladder.name!r}, as one of warpladder's is; give it a "
            "name of its own"
        )
    return ladder


def _only_rung(path: str, ladder: Ladder) -> Rung:
    first, *others = _names(ladder)
    rung = ladder.find(first)
    if others or rung is None:
        raise InputError(
            f"{path} has several rungs, so say which: {path}/{first}. The rungs: "
            f"{', '.join((first, *others))}"
        )
    return rung


def _names(ladder: Ladder) -> list[str]:
    return [rung.name for rung in (*ladder.rungs, *(wrong.rung for wrong in ladder.wrong))]


def look_up(kind: str, name: str, places: Mapping[str, str], command: str) -> Any:
    """Return what stands at the place listed for a name, as ``module:attribute``.

    Raises
    ------
    InputError
        Nothing is listed for it; the message has the nearest name, and the command that lists all.
    """
    if name not in places:
        raise InputError(unknown(kind, name, places, command))
    module, attribute = places[name].split(":")
    return getattr(import_module(module), attribute)


def unknown(kind: str, name: str, known: Iterable[str], command: str) -> str:
    """Return that there is nothing of this name, what may be meant, and what lists all there is.

    Examples
    --------
    >>> unknown("rung", "vector-add", ["vector-add-cpu", "registers", "vector-add-grid"], "ladders")
    "no rung 'vector-add'; did you mean vector-add-cpu or vector-add-grid? `warpladder ladders` ..."
    """
    close = get_close_matches(name, list(known), n=2)
    guess = f"did you mean {' or '.join(close)}? " if close else ""
    return f"no {kind} {name!r}; {guess}`warpladder {command}` lists what there is"
