"""What `warpladder overlap` does once its options are known: the run, and the facts of it."""

from __future__ import annotations

import re
import sys
from dataclasses import asdict
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from warpladder.cli.options import options_named
from warpladder.cli.progress import progress_bar
from warpladder.formats.pair_blocks import PairBlock, ids_of
from warpladder.formats.set_files import read_sets
from warpladder.overlap_join.stored import stream_overlaps, with_values, write_overlaps
from warpladder.overlap_join.work import as_fraction, part_of_rows, row_work

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from warpladder.call import Progress
    from warpladder.formats.sets import Sets
    from warpladder.overlap_join.forms import Engine

__all__ = ["Run", "as_part", "read_rows"]

_SHOWN = 10


def as_part(text: str | None) -> tuple[int, int]:
    """Return which of how many parts is asked for: ``"2/8"``.

    Examples
    --------
    >>> as_part("2/8"), as_part(None)
    ((2, 8), (1, 1))
    """
    if text is None:
        return 1, 1
    found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text)
    if found is None:
        raise typer.BadParameter(f"--part {text!r} is no part; the second of eight is 2/8")
    return int(found[1]), int(found[2])


def read_rows(file: Path, options: dict[str, Any]) -> tuple[str, Sets]:
    """Return what errors and summaries call a file, and its rows."""
    with (
        # The library calls two things format, which are two options here.
        options_named([str(file)], {"format": "--input-format"}),
        progress_bar("reading") as progress,
    ):
        return str(file), read_sets(file, **options, progress=progress)


class Run:
    """A join that is asked for, and the facts that are known of it.

    Parameters
    ----------
    sides
        The name and the rows of one file, or of two.
    asked
        Threshold, measure and other options of the answer.
    part
        Which of how many parts to do.
    device, most_bytes
        Where to run, and how much memory it may take.
    form
        The format of the output, where there is one.
    """

    def __init__(
        self,
        sides: list[tuple[str, Sets]],
        asked: dict[str, Any],
        *,
        part: tuple[int, int],
        device: str,
        most_bytes: int | None,
        form: str | None,
    ) -> None:
        from warpladder.overlap_join.prepared import prepare

        rows = [sets for _, sets in sides]
        other = rows[1] if len(rows) > 1 else None
        self._asked, self._part, self._form = asked, part, form
        # Lines of rows need the pairs of each row together; see `stored`.
        self._prepared = prepare(
            rows[0],
            other=other,
            **asked,
            both_ways=form == "grouped" and other is None,
            device=device,
            memory=most_bytes,
        )
        self._join = self._prepared.join
        self._ids = (rows[0].ids, rows[-1].ids)
        self._work = row_work(self._join)
        self._rows = part_of_rows(self._work, part)
        self._began = 0.0
        self.facts: dict[str, Any] = {
            "file": sides[0][0],
            "rows": len(rows[0]),
            **({} if other is None else {"other": sides[1][0], "other_rows": len(other)}),
            "ids": self._prepared.plan.ids,
            "different_ids": self._prepared.plan.universe,
            **{name: value for name, value in asked.items() if value is not None},
            **({"part": "{}/{}".format(*part)} if part != (1, 1) else {}),
            "why": self._prepared.plan.why,
        }

    def planned(self) -> dict[str, Any]:
        """Return what there is to do."""
        return {**self.facts, "plan": asdict(self._prepared.plan)}

    def counted(self) -> dict[str, Any]:
        """Count the pairs."""
        with progress_bar("counting") as progress:
            counted = self._engine().counted(*self._rows, self._advanced(progress))
        degrees = counted.of_left
        if self._join.is_self and not self._join.both_ways:
            degrees = degrees + counted.of_right
        self._add(counted.pairs)
        self.facts["rows_in_pairs"] = int(np.count_nonzero(degrees))
        if counted.pairs:
            most = int(np.argmax(degrees))
            (row,) = self._named(0, np.array([most]))
            self.facts["most_pairs_of_a_row"] = {"row": row, "pairs": int(degrees[most])}
        return self.facts

    def looked_at(self) -> dict[str, Any]:
        """Find all pairs, and keep the first of them."""
        pairs = 0
        first: list[dict[str, Any]] = []
        with progress_bar("joining") as progress:
            for piece in self._engine().found(*self._rows, self._advanced(progress)):
                if len(first) < _SHOWN:
                    first += self._shown(PairBlock(*piece), _SHOWN - len(first))
                pairs += len(piece.right)
        self._add(pairs)
        self.facts["first_pairs"] = first
        return self.facts

    def written(self, path: Path, *, resume: bool) -> dict[str, Any]:
        """Write the pairs to a file."""
        with progress_bar("joining") as progress:
            stored = write_overlaps(
                self._engine(),
                self._join,
                path,
                ids=self._ids,
                format=self._form,
                part=self._part,
                resume=resume,
                identity=self._asked,
                progress=progress,
            )
        self._add(stored.pairs)
        self.facts |= {"output": str(path), "format": self._form}
        if stored.resumed_at > stored.first:
            self.facts["resumed_at_row"] = stored.resumed_at
        return self.facts

    def piped(self) -> None:
        """Write the pairs to standard output."""
        with progress_bar("joining") as progress:
            stream_overlaps(
                self._engine(),
                self._join,
                sys.stdout.buffer,
                self._form or "",
                ids=self._ids,
                part=self._part,
                progress=progress,
            )
        sys.stdout.buffer.flush()

    def _engine(self) -> Engine:
        self._began = perf_counter()
        return self._prepared.engine()

    def _advanced(self, progress: Progress) -> Callable[[int], None]:
        first, last = self._rows
        return as_fraction(progress, self._work, (first, first, last))

    def _add(self, pairs: int) -> None:
        self.facts |= {
            "pairs": pairs,
            # Of the best of each row, those of one row are not those of the other.
            "both_ways": self._join.both_ways and "top_k" not in self.facts,
            "seconds": perf_counter() - self._began,
        }

    def _shown(self, block: PairBlock, most: int) -> list[dict[str, Any]]:
        """Return the first pairs of a block, as JSON has them."""
        columns = {
            "left": self._named(0, block.left[:most]),
            "right": self._named(1, block.right[:most]),
            "shared": block.shared[:most].tolist(),
        }
        if self._join.rule.name != "count":
            found = with_values(block, self._join).value
            assert found is not None  # noqa: S101 - it was just made
            columns["value"] = found[:most].tolist()
        return [
            dict(zip(columns, pair, strict=True)) for pair in zip(*columns.values(), strict=True)
        ]

    def _named(self, side: int, positions: NDArray[Any]) -> list[Any]:
        names: list[Any] = ids_of(self._ids[side], positions).tolist()
        return names
