"""Errors of the library in the words of the command line.

Messages of the library begin with an argument's name or have it after a blank, with ``=`` and a
value or with a colon: ``negative_cycle="mark" gives -inf``. At the command line the same thing is
called ``--negative-cycle mark``. Every command is a `Command`, which does that for its own options;
where a command calls an option by another name than the library its argument, it uses
`options_named` itself.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from warpladder.errors import WarpladderError

__all__ = ["Command", "Computing", "Json", "as_column", "options_named"]

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")]
"""Of commands that print one where they are asked to."""


def as_column(text: str) -> str | int:
    """Return a column as the library takes it: its number, or else its name.

    Examples
    --------
    >>> as_column("2"), as_column("km")
    (2, 'km')
    """
    from warpladder.formats.columns import column_number

    number = column_number(text)
    return text if number is None else number


class Command(TyperCommand):
    """A command whose errors name its options."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        given = [(parameter, ctx.params.get(parameter.name)) for parameter in self.params]
        files = [str(value) for parameter, value in given if _is_path(parameter, value)]
        options: dict[str, str] = {}
        for parameter in self.params:
            if parameter.param_type_name == "option" and parameter.name:
                name, spellings = parameter.name, parameter.opts
                options[name] = options[f"{name}=True"] = max(spellings, key=len)
                options.update((f"{name}=False", other) for other in parameter.secondary_opts)
        with options_named(files, options):
            return super().invoke(ctx)


class Computing(Command):
    """A command that computes, and runs no code of the user's.

    Attributes
    ----------
    owns_process
        Whether nobody else has to do with this process.
    """

    owns_process = False

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        if self.owns_process:
            _load_without_blas()
        return super().invoke(ctx)


def _load_without_blas() -> None:
    """Load what Numba has for arrays as if there were no BLAS.

    Where SciPy is installed Numba looks for its BLAS before it compiles or loads a first function.
    That takes 0.14 s of the 1.07 of a small run, and no function of ours calls it.
    """
    blas, arrays = "scipy.linalg.cython_blas", "numba.np.arraymath"
    if blas in sys.modules or arrays in sys.modules:
        return
    # What is None there cannot be imported.
    sys.modules[blas] = None  # type: ignore[assignment]
    try:
        importlib.import_module(arrays)
    finally:
        del sys.modules[blas]


def _is_path(parameter: Any, value: Any) -> bool:
    # Older typers make a path of the text only when they call the command.
    kind = getattr(getattr(parameter, "type", None), "name", None)
    if isinstance(value, Path) or (kind == "path" and value is not None):
        return True
    # Of what can be no name of a file a `Path` would raise an error.
    return isinstance(value, str) and os.path.isfile(value)  # noqa: PTH113 - see above


@contextmanager
def options_named(
    literals: Iterable[str],
    options: Mapping[str, str],
    errors: type[WarpladderError] = WarpladderError,
) -> Iterator[None]:
    """Let errors that name arguments of the library name options of the command instead.

    Parameters
    ----------
    literals
        Parts of messages to leave as they are: names of files. What stands in quotes is left too,
        it was read somewhere.
    options
        For an argument's name, or its name with a value (``directed=False``), what to call it.
    errors
        Which errors; notes are spelled of all.

    Examples
    --------
    >>> from warpladder.errors import InputError
    >>> with options_named(["dtype=1.csv"], {"dtype": "--dtype"}):
    ...     raise InputError("dtype=1.csv: dtype='x' is not known")
    Traceback (most recent call last):
        ...
    warpladder.errors.InputError: dtype=1.csv: --dtype 'x' is not known
    >>> with options_named(["d"], {"dtype": "--dtype"}):
    ...     raise InputError("d: dtype='x' is not known")
    Traceback (most recent call last):
        ...
    warpladder.errors.InputError: d: --dtype 'x' is not known
    >>> with options_named(["dtype"], {"dtype": "--dtype"}):
    ...     raise InputError("dtype: dtype='x' is not known")
    Traceback (most recent call last):
        ...
    warpladder.errors.InputError: dtype: --dtype 'x' is not known
    """
    try:
        yield
    except BaseException as fault:
        if isinstance(fault, errors):
            fault.args = (_spelled(str(fault), literals, options),)
        # Remarks on what was kept, for instance, which Ctrl-C gets, too.
        notes = getattr(fault, "__notes__", [])
        notes[:] = [_spelled(note, literals, options) for note in notes]
        raise


def _spelled(message: str, literals: Iterable[str], options: Mapping[str, str]) -> str:
    # Whole words, a file may be called d; and no argument with its value, as one may be called.
    files = [rf"(?<!\w){re.escape(literal)}(?![\w=])" for literal in filter(None, literals)]
    kept = f"(?P<kept>{'|'.join([*files, '(?!)'])})"
    whole = "|".join(rf"{re.escape(name)}\b" for name in options if "=" in name)
    names = "|".join(map(re.escape, options))
    # A value in double quotes is an advice of ours, one in single quotes what the user gave.
    # An argument before a colon is what all that follows is about; within a sentence it is a word.
    pattern = re.compile(
        rf"""{kept}|(?<![^ (])(?:{whole or "(?!)"}|(?P<name>{names})(?:="(?P<word>\w+)"|=)"""
        rf"""|(?:(?<![^(])|(?<=[:;] ))(?P<about>{names}):"""
        r"""|'[^']*'|"[^"]*")"""
    )

    def spelled(found: re.Match[str]) -> str:
        name = found["name"]
        if found["kept"] is not None:
            return found[0]
        if found["about"]:
            return f"{options[found['about']]}:"
        if name is None:
            return options.get(found[0], found[0])
        if found["word"]:
            return f"{options[name]} {found['word']}"
        # "weight= does not apply" has a blank already.
        return options[name] if message.startswith(" ", found.end()) else f"{options[name]} "

    return pattern.sub(spelled, message)
