"""What an answer to a rung's question is: text, and the counts that show it."""

from __future__ import annotations

from typing import NamedTuple

from warpladder.rung import Prediction

__all__ = ["Answer"]


class Answer(NamedTuple):
    """The answer to the question with which a rung's text ends.

    Attributes
    ----------
    text
        A paragraph; how it is cut into lines does not matter.
    counted
        What of it the rung's counters show, as claims about the rung itself.
    """

    text: str
    counted: tuple[Prediction, ...] = ()
