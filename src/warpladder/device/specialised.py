"""A function inside another loses the branches that variables of the outer one rule out.

One text serves all sets of operations: what a set does not have stands under an ``if`` whose test
is a bool of the scope around the compiled function. Numba leaves such branches out of the machine
code too, but only after its front end has gone through them several times, and most of a text is
of no use to most sets.
"""

from __future__ import annotations

import ast
import inspect
import os
from functools import cache
from threading import Lock
from tokenize import TokenError
from types import CellType, CodeType, FunctionType
from typing import Any, TypeVar

__all__ = ["specialised"]

_Function = TypeVar("_Function")

_SCOPES = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip

_ONE_AT_A_TIME = Lock()
if hasattr(os, "register_at_fork"):
    # Held over a fork by nobody else, who would not be there to release it in the forked process.
    os.register_at_fork(
        before=_ONE_AT_A_TIME.acquire,
        after_in_parent=_ONE_AT_A_TIME.release,
        after_in_child=_ONE_AT_A_TIME.release,
    )


def specialised(function: _Function) -> _Function:
    """Return a function without the branches that bools of the scope around it rule out.

    Stands below the decorator that compiles. It goes by ``if`` and conditional expressions of which
    such variables decide the test, also with ``not``, ``and`` and ``or``; nothing else is touched,
    nor is a function or comprehension inside. Variables have the values of now, as Numba takes
    them; one that the function itself rebinds tells nothing. Lines keep their numbers, and the
    function its variables, by whose values Numba finds again what it keeps on disk. A function
    without source, or whose file has changed since, stays as it is, and so does a lambda.

    Examples
    --------
    >>> def adder(*, doubles):
    ...     @specialised
    ...     def add(a, b):
    ...         if doubles:
    ...             a = 2 * a
    ...         return a + b
    ...
    ...     return add
    >>> adder(doubles=True)(1, 2), adder(doubles=False)(1, 2)
    (4, 3)
    """
    # Python 3.11 counts how deep it is in a text for all threads together, and gives up where two
    # make trees at once: "AST constructor recursion depth mismatch".
    with _ONE_AT_A_TIME:
        return _specialised(function)


def _specialised(function: _Function) -> _Function:
    whole: Any = function
    cells = dict(zip(whole.__code__.co_freevars, whole.__closure__ or (), strict=True))
    known = {name: cell.cell_contents for name, cell in cells.items() if _is_bool(cell)}
    source = _source(whole.__code__)
    if not known or not source:
        return function
    definition = _definition(source)
    for node in ast.walk(definition):
        for name in node.names if isinstance(node, ast.Nonlocal) else ():
            known.pop(name, None)
    pruned: Any = _Pruner(known).generic_visit(definition)
    # Does nothing, but all that it names stays a variable of the function.
    (never,) = ast.parse(f"if False: ({', '.join(cells)})").body
    pruned.body.append(ast.copy_location(never, pruned.body[-1]))
    code = _compiled(pruned, whole.__code__)
    closure = tuple(cells[name] for name in code.co_freevars)
    left: Any = FunctionType(code, whole.__globals__, closure=closure)
    left.__defaults__, left.__kwdefaults__ = whole.__defaults__, whole.__kwdefaults__
    return left  # type: ignore[no-any-return]


def _is_bool(cell: CellType) -> bool:
    try:
        return isinstance(cell.cell_contents, bool)
    except ValueError:
        # Nothing yet, as the function's own name while it is defined.
        return False


@cache
def _source(code: CodeType) -> str:
    """Return the lines of a function: empty where none can be read, or others stand there now."""
    try:
        source = inspect.getsource(code)
        same = _compiled(_definition(source), code)
    except (OSError, SyntaxError, TokenError, TypeError, ValueError):
        return ""
    return source if _essence(same) == _essence(code) else ""


def _essence(code: CodeType) -> list[Any]:
    """Return by what functions are told apart: calls of modules have other instructions here."""
    constants = [each for each in code.co_consts if not isinstance(each, CodeType)]
    return [code.co_names, code.co_varnames, code.co_freevars, repr(constants)]


def _definition(source: str) -> ast.FunctionDef:
    # Below a line of its own it may stay indented: columns are told too, and strings have lines.
    (outer,) = ast.parse(f"if True:\n{source}").body
    (definition,) = outer.body  # type: ignore[attr-defined]
    if not isinstance(definition, ast.FunctionDef):
        raise TypeError("a lambda, or another text than it was")
    return definition


def _compiled(definition: Any, whole: CodeType) -> CodeType:
    """Return the code of a function that takes the place of another."""
    names = ", ".join(whole.co_freevars)
    module = ast.parse(f"def scope({names}): pass")
    scope: Any = module.body[0]
    scope.body = [definition]
    # The definition stood on line 2.
    ast.increment_lineno(module, whole.co_firstlineno - 2)
    code = compile(module, whole.co_filename, "exec", dont_inherit=True)
    for name in (scope.name, whole.co_name):
        (code,) = (
            one for one in code.co_consts if isinstance(one, CodeType) and one.co_name == name
        )
    return code.replace(co_qualname=whole.co_qualname)


class _Pruner(ast.NodeTransformer):
    """Takes of a branch what is known to be taken."""

    def __init__(self, known: dict[str, bool]) -> None:
        self._known = known

    def visit(self, node: ast.AST) -> Any:
        """Leave alone what may have variables of the same names."""
        return node if isinstance(node, _SCOPES) else super().visit(node)

    def visit_If(self, node: ast.If) -> Any:
        test = self._tested(node.test)
        if not isinstance(test, bool):
            node.test = test
            return self.generic_visit(node)
        taken = [self.visit(each) for each in (node.body if test else node.orelse)]
        flat = [one for each in taken for one in (each if isinstance(each, list) else [each])]
        # A body needs a statement.
        return flat or ast.copy_location(ast.Pass(), node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        test = self._tested(node.test)
        if not isinstance(test, bool):
            node.test = test
            return self.generic_visit(node)
        return self.visit(node.body if test else node.orelse)

    def _tested(self, test: ast.expr) -> bool | ast.expr:
        """Return what a test always is, or what is left of it."""
        match test:
            case ast.Name(name) if name in self._known:
                return self._known[name]
            case ast.UnaryOp(ast.Not(), operand):
                known = self._tested(operand)
                if isinstance(known, bool):
                    return not known
                test.operand = known
            case ast.BoolOp(op, values):
                settles = isinstance(op, ast.Or)
                left = []
                for value in values:
                    known = self._tested(value)
                    if not isinstance(known, bool):
                        left.append(known)
                    elif known is settles and not left:
                        return settles
                    elif known is settles:
                        left.append(value)
                        break
                if len(left) < 2:
                    return left[0] if left else not settles
                test.values = left
        return test
