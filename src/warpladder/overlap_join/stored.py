"""From an engine to a file: whatever the size of the answer, in parts, and going on after a kill.

What the engine finds is cut into blocks, each written and then forgotten; `GrowingFile` keeps what
is finished. Where a block ends depends on the rows and the pairs alone, not on how the engine deals
them out nor on where a run began. So a run that was killed and gone on with writes the same file,
byte for byte, as one that was not.

A block ends with the left row that makes it large enough; and, where pairs are rare, after some
share of the work, so that there is always something to go on from.

The grouped form wants each pair of rows joined with themselves from both of its rows, and its lines
in order: no bounded memory holds what an early row has with all later ones until those come. So the
engine is asked to find such pairs twice (`Join.both_ways`), which doubles the work.
"""

from __future__ import annotations

import zlib
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warpladder.formats.files import as_path
from warpladder.formats.growing import GrowingFile
from warpladder.formats.pair_blocks import PairBlock
from warpladder.formats.pairs import Packed, is_packed, pair_encoder, pair_format, write_pairs
from warpladder.overlap_join.gathered import values
from warpladder.overlap_join.result import PAIRS_OF_A_BLOCK
from warpladder.overlap_join.work import as_fraction, part_of_rows, row_work, shares_of_work
from warpladder.version import __version__

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from warpladder.call import Progress
    from warpladder.formats.pair_blocks import PairEncoder
    from warpladder.overlap_join.forms import Engine, Found, Join, Rows

__all__ = [
    "Stored",
    "stream_overlaps",
    "with_values",
    "write_overlaps",
]

# A killed run has lost at most so much of its work, however few pairs it finds.
_STRETCHES = 256
# So many rows are joined faster than a block is written.
_FEWEST_ROWS = 1024


class Stored(NamedTuple):
    """What was written.

    Attributes
    ----------
    pairs
        How many pairs there are.
    first, last
        The left rows whose pairs they are.
    resumed_at
        The left row from which this run went on; ``first`` where it did all.
    """

    pairs: int
    first: int
    last: int
    resumed_at: int


def write_overlaps(
    engine: Engine,
    join: Join,
    path: str | os.PathLike[str],
    *,
    ids: tuple[Any, Any] = (None, None),
    format: str | None = None,  # noqa: A002 - as users call it
    part: tuple[int, int] = (1, 1),
    resume: bool = False,
    identity: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Stored:
    """Write the pairs of a join to a file, whole or not at all.

    Parameters
    ----------
    engine
        Made for the join.
    join
        What is joined.
    path
        The file; one that is there is replaced once the new one is complete.
    ids
        The ids of the left and of the right rows: int64, objects that are strings, or None for
        positions; the same object twice where rows are joined with themselves.
    format
        As in `warpladder.formats.pairs.PAIR_FORMATS`; by default that of the extension. ``grouped``
        of rows joined with themselves needs a join ``both_ways``.
    part
        Which of how many parts to write, counted from 1: the pairs of consecutive left rows. The
        tables of all parts, one behind the other, are the whole answer.
    resume
        Whether to go on with what a run that did not end has left. Without it that is refused; an
        error or Ctrl-C leaves what is finished, and a note on the error says so.
    identity
        What else the answer depends on, by name: options that the join does not tell.
    progress
        Called with the fraction of the work done.

    Raises
    ------
    InputError
        The format is not known or cannot hold an id; the file cannot be written; there is no such
        part; an earlier run has left something, and ``resume`` was not asked for, or it was asked
        for and that is something else.
    MissingExtraError
        The format needs a package that is not installed.
    """
    path = as_path(path)
    name = pair_format(path, format)
    encoder = _encoder(join, name, ids)
    if is_packed(path):
        encoder = Packed(encoder)
    work = row_work(join)
    first, last = part_of_rows(work, part)
    known = _identity(join, ids, name, part, identity or {})
    with GrowingFile(path, known, resume=resume) as file:
        begin, head = (file.notes[-1][0], b"") if file.notes else (first, encoder.head())
        for block in _found_blocks(engine, join, work, (first, begin, last), progress):
            data, note = encoder.body(block, file.length + len(head))
            end = block.first + len(block.counts)
            file.append(head + data, [end, len(block.right), note])
            head = b""
        file.finish(head + encoder.tail([note for *_, note in file.notes], file.length + len(head)))
    return Stored(sum(pairs for _, pairs, _ in file.notes), first, last, begin)


def stream_overlaps(
    engine: Engine,
    join: Join,
    file: IO[bytes],
    format: str,  # noqa: A002 - as above
    *,
    ids: tuple[Any, Any] = (None, None),
    part: tuple[int, int] = (1, 1),
    progress: Progress | None = None,
) -> Stored:
    """Write the pairs of a join to what cannot be gone on with: a pipe, say.

    The arguments are those of `write_overlaps`, and so is what is raised about them.
    """
    encoder = _encoder(join, format, ids)
    work = row_work(join)
    first, last = part_of_rows(work, part)
    blocks = _found_blocks(engine, join, work, (first, first, last), progress)
    return Stored(write_pairs(file, encoder, blocks), first, last, first)


def _encoder(join: Join, name: str, ids: tuple[Any, Any]) -> PairEncoder:
    return pair_encoder(name, *ids, with_value=join.rule.name != "count")


def _found_blocks(
    engine: Engine,
    join: Join,
    work: NDArray[np.float64],
    rows: tuple[int, int, int],
    progress: Progress | None,
) -> Iterator[PairBlock]:
    """Yield the pairs of some left rows, as they are found.

    Parameters
    ----------
    engine, join, progress
        As in `write_overlaps`.
    work
        Of each left row.
    rows
        The first left row, the one to begin with, where others did those before it, and the end.
    """
    first, begin, last = rows
    if begin == last:
        return
    stretches = min(_STRETCHES, -(-(last - first) // _FEWEST_ROWS))
    ends = shares_of_work(work, first, last, np.arange(stretches + 1), stretches)
    found = engine.found(begin, last, as_fraction(progress, work, rows))
    for block in _blocks(found, begin, ends):
        yield block if join.rule.name == "count" else with_values(block, join)


def _blocks(pieces: Iterable[Found], first: int, ends: NDArray[np.int64]) -> Iterator[PairBlock]:
    """Cut what an engine finds into blocks.

    Parameters
    ----------
    pieces
        The pairs of the left rows from ``first`` on, in order, cut anyhow.
    first
        Where a block begins.
    ends
        Rows before which a block ends, whatever is in it; the last is the end of all.
    """
    parts: list[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]] = []
    size = 0
    for row, counts, right, shared in pieces:
        assert row == first + sum(len(part[0]) for part in parts), "a row was skipped"  # noqa: S101
        sums = np.concatenate(([0], np.cumsum(counts)))
        begin, rows = 0, len(counts)
        while begin < rows:
            # The first row with which the block is large enough, or the last before an end.
            enough = int(np.searchsorted(sums, sums[begin] + PAIRS_OF_A_BLOCK - size, side="left"))
            end = int(ends[np.searchsorted(ends, row + begin, side="right")]) - row
            is_full = min(enough, end) <= rows
            stop = min(enough, end, rows)
            pairs = slice(sums[begin], sums[stop])
            parts.append((counts[begin:stop], right[pairs], shared[pairs]))
            size += int(sums[stop] - sums[begin])
            begin = stop
            if is_full:
                block = PairBlock(first, *map(np.concatenate, zip(*parts, strict=True)))
                yield block
                first += len(block.counts)
                parts, size = [], 0
    # What is found of a row that nobody writes would be missing without a word.
    assert not parts, "the last rows are missing"  # noqa: S101


def with_values(block: PairBlock, join: Join) -> PairBlock:
    """Return a block with how alike its pairs are."""
    first, counts, right, shared, _ = block
    found = values(join.rule, first, counts, right, shared, join.left.starts, join.right.starts)
    return block._replace(value=found)


def _identity(
    join: Join, ids: tuple[Any, Any], name: str, part: tuple[int, int], others: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the bytes of the file depend on."""
    sides = [join.left] if join.is_self else [join.left, join.right]
    content = [_rows_checksum(rows) for rows in sides]
    content += [_ids_checksum(one) for one in ids[: len(sides)]]
    return {
        "warpladder": __version__,
        "measure": join.rule.name,
        "threshold": join.rule.threshold,
        "format": name,
        "part": "/".join(map(str, part)),
        **others,
        "a checksum of the rows": "-".join(f"{checksum:08x}" for checksum in content),
    }


def _rows_checksum(rows: Rows) -> int:
    return zlib.crc32(rows.items.data, zlib.crc32(rows.starts.data))


def _ids_checksum(ids: NDArray[Any] | None) -> int:
    if ids is None:
        return 0
    if ids.dtype != object:
        return zlib.crc32(np.ascontiguousarray(ids).data)
    checksum = 0
    for text in ids:
        checksum = zlib.crc32(text.encode("utf-8", "surrogatepass") + b"\0", checksum)
    return checksum
