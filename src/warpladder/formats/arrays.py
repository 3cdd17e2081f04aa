"""NumPy files: a matrix of weights in ``.npy`` or ``.npz``, or a ``scipy.sparse`` ``.npz``."""

from __future__ import annotations

import warnings
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.errors import FileFormatError, InputError, InputTypeError, MissingExtraError
from warpladder.formats.edges import DenseTable, EdgeTable
from warpladder.formats.files import is_gzip, open_binary, read_head, told_as_broken
from warpladder.formats.text import quoted

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import DTypeLike, NDArray

    from warpladder.formats.files import InputFile

__all__ = [
    "NPY_MAGIC",
    "check_weights",
    "known_dtype",
    "labels_of",
    "load_arrays",
    "read_arrays",
    "sparse_as",
]

NPY_MAGIC = b"\x93NUMPY"
_ZIP_MAGIC = b"PK"
_MATRIX_NAMES = ("dist_matrix", "matrix", "arr_0")
# Other sparse layouts fill their blocks and diagonals with zeros that mean nothing.
_SPARSE_LAYOUTS = ("csr", "csc", "coo")


def read_arrays(file: InputFile) -> EdgeTable | DenseTable:
    """Read a square matrix, dense or sparse; nothing in the file is ever unpickled."""
    path = file.path
    arrays = load_arrays(file)
    if "format" in arrays:
        return _read_sparse(file)
    names = [name for name in arrays if name != "labels"]
    known = [name for name in _MATRIX_NAMES if name in names]
    if not known and len(names) != 1:
        expected = f"one array, or one named {' or '.join(_MATRIX_NAMES)}"
        raise FileFormatError(path, None, expected, f"arrays named {', '.join(names) or 'nothing'}")
    matrix = np.array(arrays[(known or names)[0]])
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise FileFormatError(path, None, "a square matrix", f"shape {matrix.shape}")
    check_weights(path, matrix)
    return DenseTable(matrix, labels_of(path, arrays.get("labels"), len(matrix)))


def check_weights(path: Path, weights: NDArray[Any]) -> None:
    """Raise FileFormatError where an array of weights is not real numbers or holds NaN or -inf."""
    if weights.dtype.kind not in "biuf" or weights.dtype.itemsize > 8:
        raise FileFormatError(
            path, None, "real numbers of up to 64 bits as weights", f"dtype {weights.dtype}"
        )
    if weights.dtype.kind == "f":
        # Only NaN and -inf are not above it.
        refused = ~(weights > -np.inf)
        if refused.any():
            where = tuple(int(i) for i in np.argwhere(refused)[0])
            found = f"{weights[where]} at {where[0] if len(where) == 1 else where}"
            raise FileFormatError(
                path, None, "numbers or inf as weights", f"{found}, counted from 0"
            )


def load_arrays(file: InputFile) -> dict[str, NDArray[Any]]:
    """Return the arrays of a .npy or .npz file by name; that of .npy is called matrix."""
    is_mapped = not is_gzip(file) and read_head(file, len(NPY_MAGIC)) == NPY_MAGIC
    with (
        told_as_broken(file.path, "a whole NumPy file of arrays without objects"),
        warnings.catch_warnings(),
    ):
        # Of headers as Python 2 wrote them, and of those that damage makes look like one.
        warnings.simplefilter("ignore")
        if is_mapped:
            # Mapping checks the size the header states before memory is taken for it.
            return {"matrix": np.load(file.place, mmap_mode="r", allow_pickle=False)}
        # np.load leaves a broken archive open that it has opened itself.
        with open_binary(file) as opened:
            if not opened.read(len(NPY_MAGIC)).startswith((NPY_MAGIC, _ZIP_MAGIC)):
                # NumPy would take it for pickled objects, and tell how to read such.
                found = "another beginning, or nothing at all"
                raise FileFormatError(file.path, None, "a NumPy file", found)
            opened.seek(0)
            loaded = np.load(opened, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return {"matrix": loaded}
            with loaded:
                members = {name: loaded[name] for name in loaded.files}
    if members and all(isinstance(member, bytes) for member in members.values()):
        found = f"{quoted(next(iter(members)))} in it; unpack it first"
        raise FileFormatError(file.path, None, "an archive of NumPy arrays", found)
    return {name: np.asarray(member) for name, member in members.items()}


def labels_of(path: Path, labels: NDArray[Any] | None, n: int) -> list[Any] | None:
    """Return the labels stored beside a matrix of n rows, None where there are none."""
    if labels is None:
        return None
    if labels.shape != (n,) or labels.dtype.kind not in "iuU":
        found = f"shape {labels.shape}, dtype {labels.dtype}"
        raise FileFormatError(path, None, f"{n} labels, integers or text", found)
    values: list[Any] = labels.tolist()
    return values


def _read_sparse(file: InputFile) -> EdgeTable:
    path = file.path
    try:
        import scipy.sparse
    except ImportError as error:
        raise MissingExtraError("reading a scipy.sparse file", "scipy", "sparse") from error
    with told_as_broken(path, "a whole scipy.sparse file"), open_binary(file) as opened:
        matrix = scipy.sparse.load_npz(opened)
        layout = matrix.format
        if layout in {"csr", "csc"}:
            matrix.check_format(full_check=True)
    if layout not in _SPARSE_LAYOUTS:
        expected = f"a sparse matrix stored as {' or '.join(_SPARSE_LAYOUTS)}"
        raise FileFormatError(path, None, expected, f"{layout} (convert it with .tocsr())")
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise FileFormatError(path, None, "a square matrix", f"shape {matrix.shape}")
    entries = matrix.tocoo()
    check_weights(path, entries.data)
    sources, targets = (ends.astype(np.int64) for ends in (entries.row, entries.col))
    return EdgeTable(sources, targets, entries.data, matrix.shape[0], None, directed=True)


def sparse_as(layout: str, matrix: Any, argument: str) -> Any:
    """Return a caller's sparse matrix in another layout, without a change to it.

    SciPy follows index arrays that lead out of each other, as some that were put together by hand
    do, into memory of others.

    Raises
    ------
    InputError
        The arrays of the matrix do not fit each other or its shape.

    Examples
    --------
    >>> import scipy.sparse
    >>> sparse_as("coo", scipy.sparse.csr_array([[0, 4], [0, 0]]), "graph").col.tolist()
    [1]
    """
    try:
        if matrix.format == "coo":
            # It has no check of its own but where one is made.
            checked = type(matrix)((matrix.data, matrix.coords), shape=matrix.shape)
        else:
            # What is checked loses what stands behind the last entry.
            checked = copy(matrix)
            if hasattr(checked, "check_format"):
                checked.check_format(full_check=True)
        return checked.asformat(layout)
    except ValueError as fault:
        raise InputError(
            f"{argument}: the arrays of this {type(matrix).__name__} do not fit each other: {fault}"
        ) from None


def known_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """Return a dtype that somebody has asked for.

    Raises
    ------
    InputTypeError
        There is none like that.
    """
    try:
        return np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError) as fault:
        # What has commas or brackets NumPy reads as Python would.
        raise InputTypeError(f"dtype={dtype!r} is not known: {fault}") from None
