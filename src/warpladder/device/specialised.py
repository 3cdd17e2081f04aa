"""A function inside another loses the branches that variables of the outer one rule out.

One text serves all sets of operations: what a set does not have stands under an ``if`` whose test
is a bool of the scope around the compiled function. Numba leaves such branches out of the machine
code too, but only after its front end has gone through them several times, and most of a text is
of no use to most sets.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import cache
from types import CodeType, FunctionType
from typing import Any, TypeVar

__all__ = ["specialised"]

_Function = TypeVar("_Function")


def specialised(function: _Function) -> _Function:
    """Return a function without the branches that bools of the scope around it rule out.

    Stands below the decorator that compiles. It goes by ``if`` and conditional expressions of which
    such variables decide the test, also with ``not``, ``and`` and ``or``; nothing else is touched.
    Lines keep their numbers, and the function its variables, by whose values Numba finds again what
    it keeps on disk. A function without source stays as it is.

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
    whole: Any = function
    cells = dict(zip(whole.__code__.co_freevars, whole.__closure__ or (), strict=True))
    known = {name: cell.cell_contents for name, cell in cells.items()}
    known = {name: value for name, value in known.items() if isinstance(value, bool)}
    source = _source(whole.__code__)
    if not known or not source:
        return function
    (definition,) = ast.parse(source).body
    code = _compiled(_Pruner(known).visit(definition), whole.__code__)
    closure = tuple(cells[name] for name in code.co_freevars)
    left: Any = FunctionType(code, whole.__globals__, closure=closure)
    left.__defaults__, left.__kwdefaults__ = whole.__defaults__, whole.__kwdefaults__
    return left  # type: ignore[no-any-return]


@cache
def _source(code: CodeType) -> str:
    """Return the lines of a function, empty where there are none to be read."""
    try:
        return textwrap.dedent(inspect.getsource(code))
    except OSError:
        return ""


def _compiled(definition: Any, whole: CodeType) -> CodeType:
    """Return the code of a function that takes the place of another."""
    names = ", ".join(whole.co_freevars)
    # Becomes no instruction, but all that it names stays a variable of the function.
    (never,) = ast.parse(f"if False: ({names})").body
    definition.body.append(ast.copy_location(never, definition.body[-1]))
    module = ast.parse(f"def scope({names}): pass")
    scope: Any = module.body[0]
    scope.body = [definition]
    ast.increment_lineno(module, whole.co_firstlineno - 1)
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
