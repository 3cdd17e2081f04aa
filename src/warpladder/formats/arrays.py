"""NumPy files: a matrix of weights in ``.npy`` or ``.npz``, or a ``scipy.sparse`` ``.npz``."""

from __future__ import annotations

import zipfile
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.errors import FileFormatError, MissingExtraError
from warpladder.formats.edges import DenseTable, EdgeTable
from warpladder.formats.files import is_gzip, open_binary, read_head

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["NPY_MAGIC", "check_weights", "read_arrays"]

NPY_MAGIC = b"\x93NUMPY"
_MATRIX_NAMES = ("dist_matrix", "matrix", "arr_0")
# Other sparse layouts fill their blocks and diagonals with zeros that mean nothing.
_SPARSE_LAYOUTS = ("csr", "csc", "coo")
# What NumPy, SciPy and zipfile raise for a file that is not what it should be.
_BROKEN = (
    *(ValueError, TypeError, LookupError, EOFError, OSError, NotImplementedError, SyntaxError),
    *(zipfile.BadZipFile, zlib.error),
)


def read_arrays(path: Path) -> EdgeTable | DenseTable:
    """Read a square matrix, dense or sparse; nothing in the file is ever unpickled."""
    arrays = _load(path)
    if "format" in arrays:
        return _read_sparse(path)
    names = [name for name in arrays if name != "labels"]
    known = [name for name in _MATRIX_NAMES if name in names]
    if not known and len(names) != 1:
        expected = f"one array, or one named {' or '.join(_MATRIX_NAMES)}"
        raise FileFormatError(path, None, expected, f"arrays named {', '.join(names) or 'nothing'}")
    matrix = np.array(arrays[(known or names)[0]])
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise FileFormatError(path, None, "a square matrix", f"shape {matrix.shape}")
    check_weights(path, matrix)
    return DenseTable(matrix, _labels(path, arrays.get("labels"), len(matrix)))


def check_weights(path: Path, weights: NDArray[Any]) -> None:
    """Raise FileFormatError where an array of weights is not real numbers or holds NaN or -inf."""
    if weights.dtype.kind not in "biuf":
        raise FileFormatError(path, None, "real numbers as weights", f"dtype {weights.dtype}")
    if weights.dtype.kind == "f":
        # Only NaN and -inf are not above it.
        refused = ~(weights > -np.inf)
        if refused.any():
            where = tuple(int(i) for i in np.argwhere(refused)[0])
            found = f"{weights[where]} at {where[0] if len(where) == 1 else where}"
            raise FileFormatError(
                path, None, "numbers or inf as weights", f"{found}, counted from 0"
            )


def _load(path: Path) -> dict[str, NDArray[Any]]:
    is_mapped = not is_gzip(path) and read_head(path, len(NPY_MAGIC)) == NPY_MAGIC
    try:
        if is_mapped:
            # Mapping checks the size the header states before memory is taken for it.
            return {"matrix": np.load(path, mmap_mode="r", allow_pickle=False)}
        # np.load leaves a broken archive open that it has opened itself.
        with open_binary(path) as file:
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return {"matrix": loaded}
            with loaded:
                return {name: np.asarray(loaded[name]) for name in loaded.files}
    except _BROKEN as error:
        expected = "a whole NumPy file of arrays without objects"
        raise FileFormatError(path, None, expected, f"a broken one ({error})") from error


def _labels(path: Path, labels: NDArray[Any] | None, n: int) -> list[Any] | None:
    if labels is None:
        return None
    if labels.shape != (n,) or labels.dtype.kind not in "iuU":
        found = f"shape {labels.shape}, dtype {labels.dtype}"
        raise FileFormatError(path, None, f"{n} labels, integers or text", found)
    values: list[Any] = labels.tolist()
    return values


def _read_sparse(path: Path) -> EdgeTable:
    try:
        import scipy.sparse
    except ImportError as error:
        raise MissingExtraError("reading a scipy.sparse file", "scipy", "sparse") from error
    try:
        with open_binary(path) as file:
            matrix = scipy.sparse.load_npz(file)
        layout = matrix.format
        if layout in {"csr", "csc"}:
            matrix.check_format(full_check=True)
    except _BROKEN as error:
        found = f"a broken one ({error})"
        raise FileFormatError(path, None, "a whole scipy.sparse file", found) from error
    if layout not in _SPARSE_LAYOUTS:
        expected = f"a sparse matrix stored as {' or '.join(_SPARSE_LAYOUTS)}"
        raise FileFormatError(path, None, expected, f"{layout} (convert it with .tocsr())")
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise FileFormatError(path, None, "a square matrix", f"shape {matrix.shape}")
    entries = matrix.tocoo()
    check_weights(path, entries.data)
    sources, targets = (ends.astype(np.int64) for ends in (entries.row, entries.col))
    return EdgeTable(sources, targets, entries.data, matrix.shape[0], None, directed=True)
