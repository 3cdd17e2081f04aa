"""What a call means to Numba: its arguments in order, and the Python code behind an overload."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from warpladder.device.numba_target import (
    CUDADispatcher,
    cuda_target,
    fold_arguments,
    target_override,
    types,
)
from warpladder.simulator.frontend.inference import typing_only

__all__ = ["fold_call", "overload_attribute", "overload_dispatcher"]


def fold_call(
    signature: Any, arguments: list[Any], keywords: dict[str, Any], default: Callable[[Any], Any]
) -> list[Any]:
    """Return a call's arguments in the order of the function's parameters.

    ``default(value)`` makes an argument of a parameter's default.
    """
    if signature.pysig is None:
        return [*arguments, *keywords.values()]
    folded = fold_arguments(
        signature.pysig,
        arguments,
        keywords,
        lambda _index, _parameter, value: value,
        lambda _index, parameter, _value: default(parameter.default),
        lambda _index, _parameter, values: list(values),
    )
    return list(folded)


def overload_dispatcher(
    function: Any, signature: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Return the dispatcher of the Python code behind an overloaded function, or None.

    Such are functions and methods that numba-cuda (or a user) gives by ``@overload``. Their author
    chooses the code by the types of the call as it is written: ``arguments`` and ``keywords``, with
    no ``*arguments`` packed and no default filled in, as they are in the ``signature``.
    """
    with typing_only(), target_override():
        context = cuda_target.typing_context
        if isinstance(function, types.BoundFunction):
            written = getattr(function.template, "_overload_func", None)
            if written is None:
                return None
            arguments = (function.this, *arguments)
            function = context.resolve_value_type(written)
            signature = function.get_call_type(context, arguments, keywords)
        else:
            # Resolved anew: since it was typed, a GPU may have compiled it and left its own key.
            with contextlib.suppress(AttributeError):
                function.get_call_type(context, arguments, keywords)
        try:
            implementation = function.get_impl_key(signature)
        except (KeyError, AttributeError):
            return None
        if isinstance(implementation, CUDADispatcher):
            return implementation
        return _inlined(context, function, signature, arguments, keywords)


def _inlined(
    context: Any,
    function: Any,
    signature: Any,
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
) -> Any:
    """Return the dispatcher of an overload that Numba puts into the caller by itself, or None."""
    for template in getattr(function, "templates", ()):
        if signature.args in getattr(template, "_inline_overloads", {}):
            dispatcher, _ = template(context)._get_impl(arguments, keywords)
            return dispatcher
    return None


def overload_attribute(kind: Any, name: str) -> tuple[Any, Any] | None:
    """Return dispatcher and signature of an attribute given by ``@overload_attribute``, or None."""
    with typing_only(), target_override():
        context = cuda_target.typing_context
        for template in context._get_attribute_templates(kind):
            if getattr(template, "_attr", None) != name:
                continue
            function = template._get_function_type(context, kind)
            signature = template._get_signature(context, function, (kind,), {})
            implementation = function.get_impl_key(signature)
            if not isinstance(implementation, CUDADispatcher):
                implementation = _inlined(context, function, signature, (kind,), {})
            if implementation is not None:
                return implementation, signature
    return None
