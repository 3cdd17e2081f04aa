"""Numba's reasons for not compiling something, in one line that says where and what to do.

Numba tells the stage, the reason, the source and all that it would have taken instead, in 5 to 100
lines; some reasons come with no place at all. Then it is read off the compiler's stack, as it stood
when the error was raised.
"""

from __future__ import annotations

import ast
import difflib
import linecache
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from warpladder.errors import UnsupportedKernelError, WarpladderError

__all__ = ["compile_error", "compile_reason", "defined_at", "keep_place"]

# What makes a terminal show text in colours: Numba puts it in where colorama is installed.
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")

_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "and_": "&", "or_": "|",
    "xor": "^", "lshift": "<<", "rshift": ">>", "iadd": "+=", "isub": "-=", "imul": "*=",
    "itruediv": "/=",
}  # fmt: skip

_OPCODES = {
    "IMPORT_NAME": "import",
    "LOAD_ASSERTION_ERROR": "assert (but `if not ...: raise AssertionError`)",
    "LOAD_BUILD_CLASS": "class",
    "STORE_GLOBAL": "assignment to a global variable",
    "UNPACK_EX": "unpacking with a star",
}

_OTHER_NUMBER = ("too many positional arguments", "missing a required argument")

#: Other words for Numba's reasons, and what to do: a pattern, and what takes its place.
_WORDS = (
    (r"NameError: (name '\w+' is not defined)", r"\1"),
    (
        r"The compiler failed to analyze the bytecode\. Variable '(\w+)' is not defined\.",
        r"variable '\1' is read where it has no value yet",
    ),
    (
        r"Cannot bind .* to signature '(.*)' due to \"TypeError: (.*)\"\.?",
        r"the call does not fit the parameters \1: \2",
    ),
    (
        r"Cannot unify (.+) and (.+) for '(\w+)[.\d]*', defined at .*",
        r"variable '\3' is \1 on one path and \2 on another; give it one type",
    ),
    (
        r"Can't unify return type from the following types: (.*)",
        r"it returns now one of these types, now another: \1; give them one type",
    ),
    (
        r"Untyped global name '(literal_\w+)': Cannot determine Numba type of <class 'function'>",
        r"Numba compiles no \1 for GPUs; write the turns of the loop out",
    ),
    (
        r"Untyped global name '(\w+)': Cannot determine Numba type of <class 'function'>",
        r"\1 is a plain Python function; decorate it with DECORATOR",
    ),
    (
        r"Untyped global name '(\w+)': Cannot determine Numba type of <class 'type'>",
        r"kernels cannot use \1, a class",
    ),
    (
        r"(?:not enough|too many) values to unpack \(expected (\d+).*",
        r"the call takes \1 arguments",
    ),
    (
        r"Unknown attribute '(\w+)' of type Module\(<module '([\w.]+)'.*",
        r"kernels cannot use \2.\1; a function of one's own is decorated with DECORATOR",
    ),
    (
        r"^AssertionError$",
        "an assertion within Numba fails, mostly since an argument has its name; leave that out",
    ),
    (
        r"Untyped global name '(\w+)': Cannot determine Numba type of (.*)",
        r"kernels cannot use \1, which is of type \2",
    ),
    (
        r"Type of variable '\$.*' cannot be determined, operation: .*",
        "Numba finds no type for a value here; one that `:=` assigns takes a line of its own",
    ),
    (
        r"module '[\w.]+' has no attribute 'terminator_types'",
        "Numba compiles no with block in a kernel",
    ),
    (
        r"Unknown attribute '\w+' of type list\(.*",
        "kernels have no lists; use a tuple or cuda.local.array",
    ),
    (
        r"<numba\.\S*OverloadSelector object at 0x\w+>, \((List|Set)\(.*",
        "a list or set from outside of it cannot be read; use a tuple or an array",
    ),
    (
        r"The use of a reflected (list|set)\(.* type, assigned to variable '(\w+)' in globals.*",
        r"\2, a \1 from outside of it, cannot be read; use a tuple or an array",
    ),
    (
        r"Invalid use of getiter with parameters \((.*)\)",
        r"\1 cannot be iterated over; a loop over numbers is written with range()",
    ),
    (r"^<ufunc '(\w+)'>", r"np.\1 is compiled for no GPU; use math or an operator"),
    (
        r"NRT required but not enabled",
        "kernels allocate no memory, as for an array put into another; assign elements in a loop",
    ),
    (
        r"'\w+' object has no attribute 'return_dynamic_user_exc'",
        "an exception with a value that is not constant; raise it with text alone",
    ),
    (
        r"No definition for lowering <built-in function (\w+)>\((.*)\) -> .*",
        r"Numba has no \1 of \2 on a GPU",
    ),
)


#: Where Numba says that something stands.
_TOLD = re.compile(
    r"(?:\bat|\bfrom) (?P<at>\S.*?) \((\d+)\)$|^File \"(?P<file>.+?)\", line (\d+):", re.MULTILINE
)

#: Of Python's own functions, those that kernels use.
_BUILTINS = (
    "abs", "bool", "complex", "enumerate", "float", "int", "len", "max", "min", "pow", "print",
    "range", "round", "tuple", "zip",
)  # fmt: skip


class _Place(NamedTuple):
    filename: str
    line: int

    def of(self, name: str) -> str:
        """Return ``name (file.py, line 12)``."""
        return f"{name} ({Path(self.filename).name}, line {self.line})"


def compile_error(function: Any, fault: Exception) -> UnsupportedKernelError | None:
    """Return an error of Numba's compiler as one of ours, of one line; None if it is another.

    ``function`` is the kernel, as a Python function.
    """
    if isinstance(fault, WarpladderError) or not _is_of_compiler(fault):
        return None
    return UnsupportedKernelError(_sentence(function, fault))


def _is_of_compiler(fault: BaseException) -> bool:
    """Whether Numba raised it, or had it raised, while it compiled something."""
    # Numba's CUDA target has error classes of its own, and some errors come without a stack.
    by_numba = any(kind.__name__ == "NumbaError" for kind in type(fault).__mro__)
    return by_numba or any("internal_state" in frame.f_locals for frame in _frames(fault))


def compile_reason(fault: BaseException, decorator: str = "@cuda.jit(device=True)") -> str:
    r"""Return why Numba cannot compile something, in one line.

    ``decorator`` is what functions need that it calls.

    Examples
    --------
    >>> compile_reason(ValueError("Failed in nopython mode\nUnknown attribute 'x'\nDuring: ..."))
    "Unknown attribute 'x'"
    """
    text = _COLOURS.sub("", str(fault))
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("Failed in ")]
    called = next((line.removeprefix(">>> ") for line in lines if line.startswith(">>> ")), "")
    reason = lines[0] if lines else type(fault).__name__
    if reason.startswith("No implementation of function") and called:
        detail = _detail(lines)
        if not detail and ("shared.array" in reason or "local.array" in reason):
            detail = "; its shape and type must be constants"
        reason = f"Numba has no {_call(reason, called)}{detail}"
    found = re.match(r"Use of unsupported opcode \((\w+)\)", reason)
    if opcode := found[1] if found else _unfinished(fault):
        reason = f"Numba compiles no {_OPCODES.get(opcode, opcode)} in a kernel"
    for pattern, words in _WORDS:
        reason = re.sub(pattern, words.replace("DECORATOR", decorator), reason)
    return _plain(re.sub(r"\.+ Raised from .*", "", reason)).removesuffix(".")


def _unfinished(fault: BaseException) -> str:
    """Return the opcode of which Numba says no more than that it is not implemented."""
    if not isinstance(fault, NotImplementedError) or str(fault):
        return ""
    at = [frame.f_locals["inst"] for frame in _frames(fault) if "inst" in frame.f_locals]
    opcode = str(getattr(at[-1], "opname", "")) if at else ""
    # numba-cuda 0.30 knows the assertions of Python 3.14, but looks for an instance.
    return "LOAD_ASSERTION_ERROR" if opcode == "LOAD_COMMON_CONSTANT" and not at[-1].arg else opcode


def _call(reason: str, called: str) -> str:
    """Return a call that Numba has not, as one would write it: ``float64 + 'a'``."""
    name, _, rest = called.partition("(")
    if name == "<unknown function>":
        name = (re.search(r"Function\((.*?)\) found", reason) or ["", "this"])[1]
    arguments = _split(rest.removesuffix(")"))
    if name == "setitem" and len(arguments) == 3:
        return f"{arguments[0]}[{arguments[1]}] = {arguments[2]}"
    if name == "getitem" and len(arguments) == 2:
        return f"{arguments[0]}[{arguments[1]}]"
    if name in _OPERATORS and len(arguments) == 2:
        return f"{arguments[0]} {_OPERATORS[name]} {arguments[1]}"
    return f"{name}({', '.join(arguments)})"


def _split(arguments: str) -> list[str]:
    """Split at the commas that stand in no brackets."""
    parts, depth = [""], 0
    for letter in arguments:
        depth += (letter in "([<{") - (letter in ")]>}")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _detail(lines: list[str]) -> str:
    """Return what one candidate says of its refusal, if that is of the call itself."""
    candidates = sum(line.startswith("- Of which ") for line in lines)
    for line in lines:
        if found := re.match(r"\w*Error: (.*)", line):
            useless = found[1].startswith(("Failed in", "No implementation"))
            # That one takes another number of arguments is no reason where there are others.
            useless |= candidates > 1 and found[1].startswith(_OTHER_NUMBER)
            return "" if useless else f": {found[1]}"
    return ""


def _plain(reason: str) -> str:
    """Return types of constants as the constants themselves."""
    reason = re.sub(r"Literal\[str\]\((.*?)\)", r"'\1'", reason)
    return re.sub(r"Literal\[\w+\]\((.*?)\)", r"\1", reason)


# ---- where, and what else could be meant -----------------------------------------------------


def defined_at(function: Any) -> str:
    """Return ``name (file.py, line 12)`` of a Python function."""
    lines, first = (
        linecache.getlines(function.__code__.co_filename),
        function.__code__.co_firstlineno,
    )
    behind = (k for k, line in enumerate(lines[first - 1 :]) if line.lstrip().startswith("def "))
    place = _Place(function.__code__.co_filename, first + next(behind, 0))
    return place.of(function.__name__)


def _sentence(function: Any, fault: BaseException) -> str:
    place = _told_place(fault) or _place_on_stack(fault) or _own_place(fault)
    reason = compile_reason(fault)
    place = place or _place_in_source(function, reason)
    guess = _guess(reason, function, fault)
    if place is None:
        return f"{defined_at(function)}: {reason}{guess}"
    name = _enclosing(place) or function.__name__
    source = linecache.getline(place.filename, place.line).strip()
    return f"{place.of(name)}: {f'in `{source}`: ' if source else ''}{reason}{guess}"


def keep_place(fault: BaseException) -> None:
    """Have an error of Numba tell where it was raised: of that of a callee it makes a new one."""
    place = None if _told_place(fault) else _place_on_stack(fault)
    if place is not None and hasattr(fault, "add_context"):
        fault.add_context(f"compiling the line at {place.filename} ({place.line})")


def _told_place(fault: BaseException) -> _Place | None:
    """Return the first place outside Numba in the message: the innermost."""
    for at, line, file, its_line in _TOLD.findall(_COLOURS.sub("", str(fault))):
        filename = at or str(Path(file).resolve())
        number = int(line or its_line)
        # Of a line 0 Numba says that it knows none.
        if number and not _of_numba(filename):
            return _Place(filename, number)
    return None


def _place_on_stack(fault: BaseException) -> _Place | None:
    """Return the innermost place outside Numba that the compiler was at."""
    ours = None
    for frame in _frames(fault):
        known = frame.f_locals
        for holder in (known.get("inst"), known.get("self")):
            ours = _place_of(holder) or ours
    return ours


def _own_place(fault: BaseException) -> _Place | None:
    """Return the place that an error of Numba carries."""
    while fault.__cause__ is not None:
        fault = fault.__cause__
    return _place_of(fault)


def _place_in_source(function: Any, reason: str) -> _Place | None:
    """Return where a construct is first in a function, of those of which Numba tells no place."""
    code = function.__code__
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except SyntaxError:
        return None
    for own in ast.walk(tree):
        if isinstance(own, ast.FunctionDef) and own.name == function.__name__:
            begin = min([own.lineno, *(each.lineno for each in own.decorator_list)])
            found = [
                node.lineno
                for node in ast.walk(own)
                if (isinstance(node, ast.With) and "no with block" in reason)
                or (isinstance(node, ast.NamedExpr) and "`:=`" in reason)
            ]
            if begin == code.co_firstlineno and found:
                return _Place(code.co_filename, min(found))
    return None


def _place_of(holder: Any) -> _Place | None:
    loc = getattr(holder, "loc", None)
    line, filename = getattr(loc, "line", None), getattr(loc, "filename", None)
    if isinstance(line, int) and isinstance(filename, str) and not _of_numba(filename):
        return _Place(filename, line)
    return None


def _frames(fault: BaseException | None) -> Iterator[FrameType]:
    """Yield the stack of an error, outermost first, then of the one that it was made of."""
    while fault is not None:
        step = fault.__traceback__
        while step is not None:
            yield step.tb_frame
            step = step.tb_next
        fault = fault.__cause__ or fault.__context__


def _of_numba(filename: str) -> bool:
    roots = (sys.modules[name].__path__ for name in ("numba", "numba.cuda") if name in sys.modules)
    return any(filename.startswith(str(root)) for paths in roots for root in paths)


def _enclosing(place: _Place) -> str:
    """Return the name of the innermost function around a line of a file."""
    try:
        tree = ast.parse("".join(linecache.getlines(place.filename)))
    except SyntaxError:
        return ""
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.lineno <= place.line <= (node.end_lineno or 0)
    ]
    return max(around, key=lambda node: node.lineno).name if around else ""


def _guess(reason: str, function: Any, fault: BaseException) -> str:
    """Return ``; did you mean ...?`` where a name looks like one that there is."""
    if found := re.search(r"kernels cannot use (\w+), a class", reason):
        known = dir(sys.modules["numba.cuda"])
        return f"; what numba.cuda has is written cuda.{found[1]}" if found[1] in known else ""
    if found := re.search(r"name '(\w+)' is not defined", reason):
        known = [*function.__code__.co_varnames, *function.__globals__, *_BUILTINS]
    elif found := re.search(r"Unknown attribute '(\w+)' of type array", reason):
        known = dir(np.ndarray)
    elif found := re.search(r"has no attribute '(\w+)'", reason):
        known = dir(getattr(fault, "obj", None))
    else:
        return ""
    close = difflib.get_close_matches(found[1], known, n=1, cutoff=0.7)
    # What an array has in NumPy it may lack in a kernel.
    return "" if found[1] in close else f"; did you mean {close[0]}?" if close else ""
