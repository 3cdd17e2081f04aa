"""The contract of an item: something a source has, and what runs it here."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Item"]


@dataclass(frozen=True, slots=True)
class Item:
    """A listing, table, figure, exercise or exploration of a source.

    Attributes
    ----------
    places
        Its names, each with the key of its source: ``"HB exploration 4"``. Rungs and explorations
        whose source field has one of them belong to it without being listed here.
    what
        What it is, in a few words.
    by
        What else runs or shows it: ``LADDER/RUNG``, ``explore NAME``, a command, or a file of the
        repository, with ``::`` and the name of a test where one is meant.
    not_done
        Why nothing of it is run, or what of it is not.
    """

    places: tuple[str, ...]
    what: str
    by: tuple[str, ...] = ()
    not_done: str = ""

    @property
    def key(self) -> str:
        """The key of the source.

        Examples
        --------
        >>> Item(("HB figure 1.1",), "a graph without cycles").key
        'HB'
        """
        return self.places[0][:2]
