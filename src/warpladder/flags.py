"""Arguments of every public call and reader: True or False, and what is told the progress."""

from __future__ import annotations

import numpy as np

from warpladder.errors import InputTypeError

__all__ = ["as_flag", "check_progress"]


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


def check_progress(progress: object) -> None:
    """Refuse what cannot be called with the fraction done.

    Examples
    --------
    >>> check_progress(3)
    Traceback (most recent call last):
    ...
    warpladder.errors.InputTypeError: progress=3 cannot be called; progress must be a function ...
    """
    if not (progress is None or callable(progress)):
        raise InputTypeError(
            f"progress={progress!r} cannot be called; progress must be a function of the fraction "
            "done, or None"
        )
