"""A ladder of one's own to begin with: a copy of the template, under its name."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

from warpladder.errors import InputError
from warpladder.formats.atomic import check_writable
from warpladder.lab.registry import LADDERS

__all__ = ["TEMPLATE", "new_ladder", "write_new"]

#: The template's own name for its ladder.
TEMPLATE = "my_ladder"


def new_ladder(path: Path) -> Path:
    """Write a small ladder that works as it stands; return the file.

    Parameters
    ----------
    path
        ``my_ladder`` or ``folder/my_ladder.py``: the ladder is called as the file is.

    Raises
    ------
    InputError
        There is such a file already, it cannot be written, or it could not be a name.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = new_ladder(Path(folder, "mine"))
    ...     written.name, 'name="mine"' in written.read_text(encoding="utf-8")
    ('mine.py', True)
    """
    file = path if path.suffix == ".py" else path.parent / f"{path.name}.py"
    # Quotes and brackets would have to be kept apart from the program that the name stands in.
    if not (file.stem[:1].isalpha() and file.stem.replace("-", "_").isidentifier()):
        raise InputError(
            f"{file.stem!r} cannot be the name of a ladder: it takes letters, digits, - and _, and "
            "begins with a letter"
        )
    if file.stem in LADDERS:
        raise InputError(f"{file.stem} is a ladder of warpladder's; take another name")
    template = files("warpladder.lab.templates").joinpath("ladder.py").read_text(encoding="utf-8")
    write_new(file, template.replace(f'name="{TEMPLATE}"', f'name="{file.stem}"'))
    return file


def write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet.

    Raises
    ------
    InputError
        It is there, or it cannot be written.
    """
    if os.path.lexists(path):
        raise InputError(f"{path} is there already and is left as it is; take another name")
    check_writable(path)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as fault:
        # It was made just now; what is only half there helps nobody.
        if not isinstance(fault, FileExistsError):
            path.unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {fault.strerror}") from fault
