"""Ladders of one's own: in a file, in a module, in a package that is installed.

A file is run as Python runs a program, under a name of its own, and is to leave a ``LADDER``, or a
single ``RUNG`` or ``WRONG``. Whatever is wrong with it is one line that says where and what to do:
people write such files to learn, and the first ones have mistakes.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import linecache
import re
import shlex
import sys
import traceback
import zlib
from contextlib import redirect_stdout
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

from warpladder.errors import InputError, WarpladderError
from warpladder.lab.records import first_fault
from warpladder.rung import Ladder, Rung, WrongRung

__all__ = [
    "GROUP",
    "NAMES",
    "adopt",
    "installed",
    "is_ladder_file",
    "is_reference",
    "load",
    "load_installed",
    "mistake_in",
    "module_of_file",
    "read_source",
    "split",
]

#: Under which packages that are installed announce their ladders, as entry points.
GROUP = "warpladder.ladders"

#: What a file leaves, and what each must be.
NAMES: dict[str, type] = {"LADDER": Ladder, "RUNG": Rung, "WRONG": WrongRung}

_FILE = re.compile(r"(?P<place>.*\.py)(?:[/\\](?P<rung>.*))?", re.DOTALL)
_MODULE = re.compile(r"(?P<place>[\w.]+:\w+)(?:/(?P<rung>.*))?", re.DOTALL)

# The files that were run or imported here: their mistakes are those of whoever wrote them.
_files: set[str] = set()
# By place, with the time and size of the file: it is not run twice, but once more after a change.
_modules: dict[Path, tuple[tuple[int, int], ModuleType]] = {}


def is_reference(text: str) -> bool:
    """Whether a text says where a ladder is, rather than what it is called.

    Examples
    --------
    >>> [is_reference(text) for text in ("my.py", "my.py/one", "package.module:LADDER", "primer")]
    [True, True, True, False]
    """
    return _match(text) is not None


def _match(text: str) -> re.Match[str] | None:
    return _FILE.fullmatch(text) or _MODULE.fullmatch(text)


def split(reference: str) -> tuple[str, str | None]:
    """Return where a ladder is, and which of its rungs is meant, if one is.

    Examples
    --------
    >>> split("mine/my.py/one"), split("package.module:LADDER")
    (('mine/my.py', 'one'), ('package.module:LADDER', None))
    """
    found = _match(reference)
    return (reference, None) if found is None else (found["place"], found["rung"])


def load(reference: str) -> Ladder:
    """Return the ladder at ``FILE.py`` or ``MODULE:NAME``; a single rung is a ladder of one.

    Raises
    ------
    InputError
        There is no such file or module, Python cannot run it, or what it leaves is no ladder.
    """
    # Before a file says `from numba import cuda`, see there.
    import warpladder.device.numba_target  # noqa: F401

    place, rung = split(reference)
    if rung is not None:
        raise InputError(f"{reference!r} is a rung; its ladder is {place}")
    if place.endswith(".py"):
        module = module_of_file(Path(place))
        name = next((name for name in NAMES if hasattr(module, name)), None)
        if name is None:
            raise InputError(
                f"{place} leaves no LADDER and no RUNG; `warpladder new` writes a file that does. "
                f"For a program that launches kernels itself there is `warpladder check "
                f"{shlex.quote(place)}`"
            )
        return _as_ladder(getattr(module, name), name, place, Path(place).stem, module)
    module_name, _, name = place.partition(":")
    module = _imported(module_name)
    if not hasattr(module, name):
        raise InputError(f"{place}: the module {module_name} has no {name}")
    return _as_ladder(getattr(module, name), name, place, module_name, module)


def _as_ladder(left: object, name: str, told: str, title: str, module: ModuleType) -> Ladder:
    """Return what a module leaves under a name as a ladder, once it is seen to be one."""
    place = getattr(module, "__file__", None)
    if not isinstance(left, Ladder | Rung | WrongRung):
        wanted = NAMES.get(name, Ladder).__name__
        raise InputError(
            f"{told}{_line(place, name)}: {name} is of type {type(left).__name__}; it must be a "
            f"warpladder.rung.{wanted}"
        )
    if fault := first_fault(left):
        raise InputError(f"{told}{_line(place, name, fault.record)}: {fault}")
    if isinstance(left, Ladder):
        found = left
    elif isinstance(left, Rung):
        found = Ladder(title, left.title, (left,))
    else:
        found = Ladder(title, left.rung.title, (), (left,))
    every = [rung.name for rung in (*found.rungs, *(wrong.rung for wrong in found.wrong))]
    if not every:
        raise InputError(f"{told}{_line(place, name)}: {name} has no rungs")
    twice = [rung for number, rung in enumerate(every) if rung in every[:number]]
    if twice:
        raise InputError(
            f"{told}{_line(place, name, twice[0])}: two rungs are called {twice[0]!r}; each needs "
            "a name of its own"
        )
    return found


# ---- files and modules -------------------------------------------------------------------------


def read_source(path: Path) -> tuple[str, ast.Module]:
    """Return the text of a Python file, and how Python reads it.

    Raises
    ------
    InputError
        The file is not there, or Python cannot read it.
    """
    if not path.is_file():
        raise InputError(
            f"there is no file {path}; `warpladder new {shlex.quote(str(path))}` would write one"
        )
    data = path.read_bytes()
    try:
        tree = ast.parse(data, str(path))
        return importlib.util.decode_source(data), tree
    except SyntaxError as fault:
        line = f", line {fault.lineno}" if fault.lineno else ""
        code = f" in `{fault.text.strip()}`" if fault.text and fault.text.strip() else ""
        raise InputError(f"{path}{line}: Python cannot read it: {fault.msg}{code}") from fault
    except ValueError as fault:
        raise InputError(f"{path}: Python cannot read it: {fault}") from fault


def is_ladder_file(path: Path) -> bool:
    """Return whether a file gives a value to one of the names that hold ladders and rungs."""
    _, tree = read_source(path)
    return any(_line_of_value(tree, name) for name in NAMES)


def module_of_file(path: Path) -> ModuleType:
    """Return what a Python file leaves when it is run; the folder it is in may be imported from.

    Raises
    ------
    InputError
        Python cannot run it.
    """
    _, tree = read_source(path)
    place = path.resolve()
    state = place.stat()
    stamp = state.st_mtime_ns, state.st_size
    if place in _modules and _modules[place][0] == stamp:
        return _modules[place][1]
    adopt(place)
    # Behind all others: a file called as one of Python's own modules is must not take its place.
    if str(place.parent) not in sys.path:
        sys.path.append(str(place.parent))
    name = f"{place.stem}_{zlib.crc32(bytes(place)):08x}"
    spec = importlib.util.spec_from_file_location(name, place)
    if spec is None:
        raise InputError(f"{path}: Python cannot import from it")
    module = importlib.util.module_from_spec(spec)
    # Texts of rungs are looked up here.
    sys.modules[name] = module
    try:
        # Not by the spec's loader: that would keep compiled code beside the file. And what it
        # prints must not mix with results.
        with redirect_stdout(sys.stderr):
            code = compile(tree, str(place), "exec", dont_inherit=True)
            exec(code, vars(module))  # noqa: S102 - the user's program
    except (Exception, SystemExit) as fault:
        del sys.modules[name]
        told = mistake_in(fault) or f"{path}: {_described(fault)}"
        # Most likely no ladder at all, but a program that found no GPU.
        if not any(_line_of_value(tree, left) for left in NAMES):
            told = (
                f"{told.rstrip(' .:')}; it names no LADDER and no RUNG: for a program that "
                f"launches kernels itself there is `warpladder check "
                f"{shlex.quote(str(path))}`"
            )
        raise InputError(told) from fault
    _modules[place] = stamp, module
    return module


def adopt(path: Path) -> None:
    """Let mistakes in a file be told as its author's from now on."""
    place = str(path.resolve())
    _files.add(place)
    # The line is shown as it is now.
    linecache.checkcache(place)


def _imported(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        # What it prints must not mix with results.
        with redirect_stdout(sys.stderr):
            module = importlib.import_module(name)
    except SyntaxError as fault:
        raise InputError(
            f"{fault.filename}, line {fault.lineno}: Python cannot read it: {fault.msg}"
        ) from fault
    except ModuleNotFoundError as fault:
        if fault.name is not None and (name == fault.name or name.startswith(f"{fault.name}.")):
            raise InputError(
                f"there is no module {name!r}, neither installed nor in this folder; a file is "
                "given by its path, my_ladder.py"
            ) from fault
        raise InputError(f"module {name!r}: {_described(fault)}") from fault
    except (Exception, SystemExit) as fault:
        raise InputError(f"module {name!r}{_innermost(fault)}: {_described(fault)}") from fault
    if module.__file__:
        adopt(Path(module.__file__))
    return module


def _innermost(fault: BaseException) -> str:
    frames = traceback.extract_tb(fault.__traceback__)
    return f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""


def _line(place: str | None, name: str, record: str = "") -> str:
    """Return in which line a record stands, or a name gets its value; nothing if it is not seen."""
    if place is None or not Path(place).is_file():
        return ""
    _, tree = read_source(Path(place))
    found = _line_of_record(tree, record) or _line_of_value(tree, name)
    return f", line {found}" if found else ""


def _line_of_record(tree: ast.Module, record: str) -> int | None:
    """Return the last line in which something is called with this for its name."""
    lines = [
        call.lineno
        for call in ast.walk(tree)
        if record and isinstance(call, ast.Call)
        for value in (*call.args[:1], *(kw.value for kw in call.keywords if kw.arg == "name"))
        if isinstance(value, ast.Constant) and value.value == record
    ]
    return max(lines, default=None)


def _line_of_value(tree: ast.Module, name: str) -> int | None:
    """Return the last line in which a name is given a value; None where it never is."""
    lines = [
        node.lineno
        for node in ast.walk(tree)
        if (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name)
        or (isinstance(node, ast.alias) and name == (node.asname or node.name))
    ]
    return max(lines, default=None)


# ---- packages that are installed -----------------------------------------------------------------


def installed() -> dict[str, list[EntryPoint]]:
    """Return the entry points of other packages for ladders, by name; two may claim one name."""
    found: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        found.setdefault(point.name, []).append(point)
    return found


def load_installed(name: str, points: list[EntryPoint]) -> Ladder:
    """Return the ladder that another package announces under a name.

    Raises
    ------
    InputError
        Two packages announce it, or what is announced cannot be imported or is no ladder.
    """
    if len(points) > 1:
        points = sorted(points, key=_package)
        places = " and ".join(f"{_package(point)} ({point.value})" for point in points)
        raise InputError(
            f"the ladder {name!r} is announced twice, by {places}; write {points[0].value} for "
            f"{name}, or uninstall one of them"
        )
    (point,) = points
    told = f"the ladder {name!r} of the package {_package(point)} ({point.value})"
    try:
        ladder = load(point.value)
    except InputError as fault:
        raise InputError(f"{told} cannot be used: {fault}; update or uninstall it") from fault
    if ladder.name != name:
        raise InputError(
            f"{told} calls itself {ladder.name!r}; its entry point must have the same name"
        )
    return ladder


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else "an unknown package"


# ---- mistakes ----------------------------------------------------------------------------------


def mistake_in(fault: BaseException) -> str:
    """Return what went wrong where in a file of the user's, in one line; nothing if in none.

    Examples
    --------
    >>> mistake_in(ValueError("not in a file that was loaded from here"))
    ''
    """
    frames = traceback.extract_tb(fault.__traceback__)
    own = [frame for frame in frames if str(Path(frame.filename).resolve()) in _files]
    if not own:
        return ""
    last = own[-1]
    code = f"in `{' '.join(last.line.split())}`: " if last.line else ""
    return f"{_from_here(last.filename)}, line {last.lineno}: {code}{_described(fault)}"


def _described(fault: BaseException) -> str:
    text = " ".join(str(fault).split())
    if isinstance(fault, WarpladderError):
        return text
    if isinstance(fault, SystemExit):
        return "it ends the program; leave that out"
    remedy = ""
    if isinstance(fault, ModuleNotFoundError):
        remedy = "; install it, or put it beside the file"
    return f"{type(fault).__name__}{f': {text}' if text else ''}{remedy}"


def _from_here(filename: str) -> str:
    path, here = Path(filename).resolve(), Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
