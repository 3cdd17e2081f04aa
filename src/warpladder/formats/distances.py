"""Distance matrices to files, and with the next hops back again."""

from __future__ import annotations

import csv
import io
import re
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warpladder.errors import FileFormatError, InputError, InputTypeError
from warpladder.formats.arrays import labels_of, load_arrays
from warpladder.formats.atomic import atomic_write, check_writable
from warpladder.formats.columns import LABEL_COLUMN
from warpladder.formats.files import InputFile, as_path, plain_suffix
from warpladder.formats.labels import as_text
from warpladder.formats.parquet import import_pyarrow

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "DISTANCE_FORMATS",
    "StoredDistances",
    "check_target",
    "holds_next_hops",
    "read_distances",
    "write_distances",
]

#: What can be written, by extension, with a one-line description.
DISTANCE_FORMATS: dict[str, str] = {
    ".npy": "NumPy array, without labels",
    ".npz": "NumPy archive of dist_matrix, next_hops and labels",
    ".csv": "table with labels in the first row and column",
    ".parquet": "table with a column of labels and one column per vertex (extra: parquet)",
}
_PACKABLE = {".npy", ".csv"}
_SURROGATE = re.compile("[\ud800-\udfff]")


class StoredDistances(NamedTuple):
    """What `read_distances` finds: next hops and labels are None where there are none."""

    dist_matrix: NDArray[Any]
    next_hops: NDArray[np.int32] | None
    labels: list[Any] | None


def holds_next_hops(path: str | os.PathLike[str]) -> bool:
    """Return whether the format of a file has a place for next hops.

    Examples
    --------
    >>> holds_next_hops("answer.npz"), holds_next_hops("answer.csv")
    (True, False)
    """
    return plain_suffix(as_path(path)) == ".npz"


def check_target(path: str | os.PathLike[str], *, next_hops: bool = False) -> None:
    """Raise now what `write_distances` would raise about `path` after a long computation.

    Parameters
    ----------
    path
        Where the distances will be written.
    next_hops
        Whether next hops will be written too.

    Raises
    ------
    InputError
        The extension is not known or its format has no place for next hops, or the folder is not
        there or not writable.
    MissingExtraError
        The extension needs a package that is not installed.

    Examples
    --------
    >>> check_target("answer.xls")
    Traceback (most recent call last):
    warpladder.errors.InputError: cannot write answer.xls: use one of .npy, .npz, .csv, .parquet ...
    """
    path = as_path(path)
    suffix = plain_suffix(path)
    if suffix not in _WRITERS:
        known = ", ".join(DISTANCE_FORMATS)
        raise InputError(
            f"cannot write {path}: use one of {known} as extension, or .npy.gz or .csv.gz"
        )
    if path.suffix.lower() == ".gz" and suffix not in _PACKABLE:
        raise InputError(f"cannot write {path}: {suffix} is an archive already; drop the .gz")
    if next_hops and not holds_next_hops(path):
        raise InputError(
            f"next_hops: {path} has a place for distances alone; write .npz, which takes both, or "
            "leave the next hops out"
        )
    if suffix == ".parquet":
        import_pyarrow("writing Parquet")
    check_writable(path)


def write_distances(
    path: str | os.PathLike[str],
    matrix: ArrayLike,
    labels: Sequence[Any] | None,
    *,
    no_path: float | None = None,
    next_hops: ArrayLike | None = None,
) -> None:
    """Write a distance matrix, whole or not at all, in the format the extension says.

    Parameters
    ----------
    path
        The file, one of `DISTANCE_FORMATS`; one that is there is replaced.
    matrix
        Shape (n, n), distances from the row's vertex to the column's.
    labels
        One label per vertex, None to number them from 0.
    no_path
        The value that stands for "no path" in `matrix`; ``.csv`` and ``.parquet`` leave it empty.
        None writes every value as it is.
    next_hops
        Shape (n, n), the vertex after the row's on the way to the column's, -1 where there is none;
        in ``.npz`` only. Its arrays are then called ``dist_matrix``, ``next_hops`` (int32) and,
        where there are any, ``labels``.

    Raises
    ------
    InputError
        As `check_target`; or the matrix is not square, labels or next hops do not fit it, or the
        format would not tell the labels apart, which it holds as text.
    MissingExtraError
        As `check_target`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "answer.csv")
    ...     write_distances(file, [[0.0, 1.5], [np.inf, 0.0]], ["a", "b"], no_path=np.inf)
    ...     print(file.read_text(), end="")
    ,a,b
    a,0.0,1.5
    b,,0.0
    """
    check_target(path, next_hops=next_hops is not None)
    path = as_path(path)
    distances = np.asarray(matrix)
    if distances.ndim != 2 or distances.shape[0] != distances.shape[1]:
        raise InputError(f"matrix must be square, not of shape {distances.shape}")
    if distances.dtype.kind not in "biuf":
        raise InputTypeError(f"matrix must hold real numbers, not dtype {distances.dtype}")
    if labels is not None and len(labels) != len(distances):
        raise InputError(f"labels has {len(labels)} items for a matrix of {len(distances)} rows")
    links = None if next_hops is None else np.asarray(next_hops)
    if links is not None and (links.shape != distances.shape or links.dtype.kind != "i"):
        raise InputError(
            f"next_hops has shape {links.shape} and dtype {links.dtype}; integers of shape "
            f"{distances.shape} are needed"
        )
    if labels is not None:
        _check_labels(plain_suffix(path), list(map(as_text, labels)))
    with atomic_write(path) as file:
        if links is None:
            _WRITERS[plain_suffix(path)](file, distances, labels, no_path)
        else:
            _write_npz(file, distances, labels, no_path, links)


def read_distances(path: str | os.PathLike[str]) -> StoredDistances:
    """Read back what `write_distances` has written as ``.npz``.

    Raises
    ------
    FileFormatError
        The file is not whole, or its arrays are not distances and next hops between n vertices.
    InputError
        The file cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "answer.npz")
    ...     write_distances(file, [[0, 5], [7, 0]], ["a", "b"], next_hops=[[0, 1], [0, 1]])
    ...     read_distances(file).next_hops.tolist()
    [[0, 1], [0, 1]]
    """
    source = InputFile(path)
    path, arrays = source.path, load_arrays(source)
    if "dist_matrix" not in arrays:
        found = f"arrays named {', '.join(arrays) or 'nothing'}"
        raise FileFormatError(path, None, "an array named dist_matrix", found)
    dist, hops = arrays["dist_matrix"], arrays.get("next_hops")
    n = len(dist) if dist.ndim else 0
    if dist.shape != (n, n) or dist.dtype.kind not in "if":
        found = f"shape {dist.shape}, dtype {dist.dtype}"
        raise FileFormatError(path, None, "a square matrix of distances", found)
    if hops is not None:
        if hops.shape != (n, n) or hops.dtype.kind != "i":
            found = f"shape {hops.shape}, dtype {hops.dtype}"
            raise FileFormatError(path, None, f"next_hops of shape {(n, n)}, integers", found)
        if n and not -1 <= hops.min() <= hops.max() < n:
            found = f"{hops.min()} and {hops.max()} among them"
            raise FileFormatError(path, None, f"next_hops from -1 to {n - 1}", found)
        hops = hops.astype(np.int32)
    # Another machine's byte order is none that compiled code takes.
    dist = dist.astype(dist.dtype.newbyteorder("="), copy=False)
    return StoredDistances(dist, hops, labels_of(path, arrays.get("labels"), n))


def _check_labels(suffix: str, names: list[str]) -> None:
    """Refuse labels, given as text, that the file would not give back or not tell apart."""
    if suffix == ".npy":
        return
    reserved = {LABEL_COLUMN} if suffix == ".parquet" else set()
    known: set[str] = set()
    for name in names:
        reason = None
        if name in known:
            reason = "is the text of two of them"
        elif name in reserved:
            reason = "is the name of the column of labels"
        elif suffix == ".npz" and name.endswith("\0"):
            reason = "ends with a NUL character, which NumPy drops"
        elif suffix != ".npz" and _SURROGATE.search(name):
            reason = "holds a character that UTF-8 has no bytes for"
        if reason is not None:
            raise InputError(
                f"labels: {name!r} {reason}, so {suffix} cannot hold them; rename the vertex"
            )
        known.add(name)


def _write_npy(
    file: IO[bytes], distances: NDArray[Any], _labels: Sequence[Any] | None, _no_path: float | None
) -> None:
    np.lib.format.write_array(file, distances, allow_pickle=False)


def _write_npz(
    file: IO[bytes],
    distances: NDArray[Any],
    labels: Sequence[Any] | None,
    _no_path: float | None,
    next_hops: NDArray[Any] | None = None,
) -> None:
    arrays = {"dist_matrix": distances}
    if next_hops is not None:
        arrays["next_hops"] = next_hops.astype(np.int32, copy=False)
    if labels is not None:
        arrays["labels"] = _label_array(labels)
    np.savez(file, allow_pickle=False, **arrays)


def _label_array(labels: Sequence[Any]) -> NDArray[Any]:
    """Return integers as integers and anything else as text, so that nothing is pickled."""
    if all(isinstance(label, (int, np.integer)) for label in labels):
        integers = np.array(labels)
        if integers.dtype.kind in "iu":
            return integers
    return np.array(list(map(as_text, labels)), dtype=np.str_)


def _write_csv(
    file: IO[bytes], distances: NDArray[Any], labels: Sequence[Any] | None, no_path: float | None
) -> None:
    names = _names(labels, len(distances))
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    # Readers end a line at a CR, too, but it is no reason for quotes to the writer.
    has_cr = any("\r" in name for name in names)
    writer = csv.writer(
        text, quoting=csv.QUOTE_ALL if has_cr else csv.QUOTE_MINIMAL, lineterminator="\n"
    )
    writer.writerow(["", *names])
    rows = (_cells(row, no_path) for row in distances)
    writer.writerows([name, *row] for name, row in zip(names, rows, strict=True))
    # The file itself is not this function's to close.
    text.detach()


def _cells(row: NDArray[Any], no_path: float | None) -> Iterator[Any]:
    # A narrow float has a shorter text than the same value as a Python float.
    is_narrow = row.dtype.kind == "f" and row.dtype.itemsize < 8
    cells: list[Any] = (row.astype(np.str_) if is_narrow else row).tolist()
    if no_path is not None:
        for i in np.flatnonzero(_is_no_path(row, no_path)):
            cells[i] = ""
    return iter(cells)


def _write_parquet(
    file: IO[bytes], distances: NDArray[Any], labels: Sequence[Any] | None, no_path: float | None
) -> None:
    pa = import_pyarrow("writing Parquet")
    names = _names(labels, len(distances))
    columns = {
        LABEL_COLUMN: pa.array(_label_array(range(len(names)) if labels is None else labels))
    }
    for name, column in zip(names, distances.T, strict=True):
        mask = None if no_path is None else _is_no_path(column, no_path)
        columns[name] = pa.array(np.ascontiguousarray(column), mask=mask)
    pa.parquet.write_table(pa.table(columns), file)


def _names(labels: Sequence[Any] | None, n: int) -> list[str]:
    return list(map(as_text, range(n) if labels is None else labels))


def _is_no_path(values: NDArray[Any], no_path: float) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.isnan(values) if np.isnan(no_path) else values == no_path
    return found


_WRITERS: dict[
    str, Callable[[IO[bytes], NDArray[Any], Sequence[Any] | None, float | None], None]
] = {".npy": _write_npy, ".npz": _write_npz, ".csv": _write_csv, ".parquet": _write_parquet}
