"""Arguments that are True or False, in every public call and reader."""

from __future__ import annotations

import numpy as np

from warpladder.errors import InputTypeError

__all__ = ["as_flag"]


def as_flag(name: str, value: object) -> bool:
    """Return an argument that is True or False; a text such as "no" would count as true.

    Examples
    --------
    >>> as_flag("directed", "no")
    Traceback (most recent call last):
    ...
    warpladder.errors.InputTypeError: directed='no' must be True or False
    """
    if not isinstance(value, (bool, np.bool_)):
        raise InputTypeError(f"{name}={value!r} must be True or False")
    return bool(value)
