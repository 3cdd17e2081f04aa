"""Pairs of rows to files: which formats there are, and the writer of each."""

from __future__ import annotations

import gzip
from typing import IO, TYPE_CHECKING, NamedTuple

from warpladder.errors import InputError
from warpladder.formats.atomic import check_writable
from warpladder.formats.files import as_path, plain_suffix
from warpladder.formats.parquet import import_pyarrow

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from warpladder.formats.pair_blocks import PairBlock, PairEncoder, RowIds

__all__ = [
    "PAIR_FORMATS",
    "Packed",
    "PairFormat",
    "check_pair_target",
    "is_packed",
    "pair_encoder",
    "pair_format",
    "write_pairs",
]


class PairFormat(NamedTuple):
    """A format: what it is, the extensions that ask for it, and whether it may be packed."""

    told: str
    suffixes: tuple[str, ...]
    is_text: bool = True


PAIR_FORMATS: dict[str, PairFormat] = {
    "grouped": PairFormat("a line a row, with the rows it is paired with: 1 {2, 3}", (".txt",)),
    "pairs": PairFormat("a line a pair, parted by blanks, without a heading", (".pairs",)),
    "csv": PairFormat("a table of left, right and shared", (".csv",)),
    "tsv": PairFormat("the same, parted by tabs", (".tsv",)),
    "jsonl": PairFormat("a JSON object a pair", (".jsonl", ".ndjson")),
    "parquet": PairFormat("Parquet (extra: parquet)", (".parquet", ".pq"), is_text=False),
    "arrow": PairFormat("Arrow's streaming format (extra: parquet)", (".arrows",), is_text=False),
}
"""What pairs can be written as. All but ``grouped`` have the value, too, of another measure than
the count."""

# Of a pack of pairs, level 6 makes a tenth less, at a fifth of the pace.
_GZIP_LEVEL = 1


def pair_format(path: str | os.PathLike[str], format: str | None = None) -> str:  # noqa: A002 - as users call it
    """Return the name of the format to write: the one asked for, or that of the extension.

    Raises
    ------
    InputError
        There is no such format, the extension is not known, or what it is cannot be packed.

    Examples
    --------
    >>> pair_format("pairs.csv.gz"), pair_format("pairs.out", "grouped")
    ('csv', 'grouped')
    """
    path = as_path(path)
    if format is not None and format not in PAIR_FORMATS:
        raise InputError(f"format={format!r} is not known; use one of {', '.join(PAIR_FORMATS)}")
    suffix = plain_suffix(path)
    named = next((name for name, one in PAIR_FORMATS.items() if suffix in one.suffixes), None)
    chosen = format or named
    if chosen is None:
        known = ", ".join(one.suffixes[0] for one in PAIR_FORMATS.values())
        raise InputError(
            f"cannot write {path}: use one of {known} as extension, text also with .gz behind "
            'it, or name the format, as format="csv"'
        )
    if is_packed(path) and not PAIR_FORMATS[chosen].is_text:
        raise InputError(f"cannot write {path}: {chosen} is packed already; drop the .gz")
    return chosen


def is_packed(path: Path) -> bool:
    """Return whether a file is to be gzip."""
    return path.suffix.lower() == ".gz"


def check_pair_target(path: str | os.PathLike[str], format: str | None = None) -> None:  # noqa: A002
    """Raise now what writing pairs to a file would raise after a long computation.

    Raises
    ------
    InputError
        As `pair_format`; or the folder is not there or not writable.
    MissingExtraError
        The format needs a package that is not installed.
    """
    if not PAIR_FORMATS[pair_format(path, format)].is_text:
        import_pyarrow("writing Parquet or Arrow")
    check_writable(as_path(path))


def pair_encoder(
    format: str,  # noqa: A002 - as users call it
    left: RowIds,
    right: RowIds,
    *,
    with_value: bool,
) -> PairEncoder:
    """Return the writer of a format.

    Parameters
    ----------
    format
        One of `PAIR_FORMATS`.
    left, right
        The ids of the rows of either side; the same object where rows are joined with themselves.
    with_value
        Whether blocks have values.

    Raises
    ------
    InputError
        The format cannot hold an id.
    MissingExtraError
        It needs a package that is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from warpladder.formats.pair_blocks import PairBlock
    >>> block = PairBlock(0, np.array([2, 1]), np.array([1, 2, 2]), np.array([3, 2, 2]))
    >>> ids = np.array([7, 8, 9])
    >>> print(pair_encoder("grouped", ids, ids, with_value=False).body(block, 0)[0].decode())
    7 {8, 9}
    8 {9}
    """
    if not PAIR_FORMATS[format].is_text:
        from warpladder.formats.pair_tables import ArrowStream, ParquetPairs

        return (ParquetPairs if format == "parquet" else ArrowStream)(left, right, with_value)
    from warpladder.formats.pair_text import csv_text, json_lines, plain_text

    if format in {"csv", "tsv"}:
        return csv_text(left, right, with_value, "," if format == "csv" else "\t")
    if format == "jsonl":
        return json_lines(left, right)
    return plain_text(left, right, grouped=format == "grouped")


def write_pairs(file: IO[bytes], encoder: PairEncoder, blocks: Iterable[PairBlock]) -> int:
    """Write blocks to an open file, one after another; return how many pairs they have."""
    head = encoder.head()
    file.write(head)
    length, pairs, notes = len(head), 0, []
    for block in blocks:
        data, note = encoder.body(block, length)
        file.write(data)
        length += len(data)
        pairs += len(block.right)
        notes.append(note)
    file.write(encoder.tail(notes, length))
    return pairs


class Packed:
    """A writer whose bytes are gzip: each block is packed alone, as the format allows."""

    def __init__(self, encoder: PairEncoder) -> None:
        self._encoder = encoder

    def head(self) -> bytes:
        """Return what a file begins with; a packed file is never empty."""
        return _packed(self._encoder.head())

    def body(self, block: PairBlock, offset: int) -> tuple[bytes, str]:
        """Return the bytes of a block."""
        text, note = self._encoder.body(block, offset)
        return _packed(text) if text else text, note

    def tail(self, notes: Sequence[str], offset: int) -> bytes:
        """Return what a file ends with."""
        text = self._encoder.tail(notes, offset)
        return _packed(text) if text else text


def _packed(text: bytes) -> bytes:
    # No time inside: the same content gives the same bytes.
    return gzip.compress(text, _GZIP_LEVEL, mtime=0)
