"""Snapshots of a file, read back: the run that they are of, and they without reading them all."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.advection.about import FORMAT, boundary_of, course_of, scheme_of
from warpladder.advection.boundaries import as_boundary
from warpladder.advection.intake import TAKEN
from warpladder.advection.prepared import METHODS
from warpladder.advection.schemes import as_scheme
from warpladder.advection.setup import Setup
from warpladder.advection.snapshots import zarr_module
from warpladder.call import check_option
from warpladder.errors import FileFormatError, InputError

__all__ = ["open_run", "open_snapshots"]

_WANTED = "snapshots that warpladder.advect has written"
# Of a file in an archive, before its name: where the lengths of that and of what follows stand.
_LOCAL_HEADER, _LENGTHS = 30, slice(26, 30)


def open_run(path: Path, boundary: Any) -> tuple[Setup, NDArray[np.int64], NDArray[Any]]:
    """Return the setup of a run, the steps of its snapshots, and the last of these.

    Parameters
    ----------
    path
        A ``.npz`` or a Zarr group.
    boundary
        The one in the file again, with its functions of time; None where it has none of these.

    Raises
    ------
    FileFormatError
        It is no file of ours, or damaged.
    InputError
        It cannot be read; or the boundary is another, or is missing and has a function of time,
        which a file cannot keep.
    """
    try:
        about, steps, x, snapshots = _parts(path)
        document = json.loads(about)
        if document["format"] != FORMAT:
            raise FileFormatError(path, None, _WANTED, f"format {document['format']!r} of them")
        _check_parts(path, steps, x, snapshots)
        kind = snapshots.dtype.newbyteorder("=")
        last = np.array(snapshots[len(steps) - 1], kind)
        *several, n = snapshots.shape[1:]
        systems = several[0] if several else 1
        scheme = as_scheme(scheme_of(document))
        known = boundary_of(document, systems)
        course = course_of(document, systems)
        method = document["method"]
        check_option("method", method, METHODS)
    except OSError as fault:
        raise InputError(f"cannot read {path}: {fault.strerror or fault}") from fault
    except (KeyError, TypeError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile) as fault:
        # RuntimeError is what Zarr raises of what it cannot unpack.
        if isinstance(fault, FileFormatError):
            raise
        raise FileFormatError(path, None, _WANTED, "something else, or a damaged file") from fault
    if boundary is not None:
        given = as_boundary(boundary, systems)
        if not given.is_like(known):
            raise InputError(
                f"boundary={boundary!r} is not that of {path}, which is {known.name}; leave it out "
                "unless it has a function of time"
            )
        known = given
    elif "function" in {known.left.kind, known.right.kind}:
        raise InputError(
            f"boundary=None: {path} is of a run with a function of time, which a file cannot keep; "
            "give the boundary again"
        )
    return Setup(scheme, known, course, method, systems, n, kind, not several), steps, last


def open_snapshots(path: Path) -> Any:
    """Return the snapshots of a file: mapped into memory, or an array of Zarr.

    Raises
    ------
    InputError
        It is not there any more, or cannot be read.
    """
    try:
        return _snapshots(path)
    except OSError as fault:
        raise InputError(f"cannot read {path}: {fault.strerror or fault}") from fault


def _snapshots(path: Path) -> Any:
    if path.suffix.lower() == ".zarr":
        return zarr_module("reading snapshots").open_group(str(path), mode="r")["snapshots"]
    with zipfile.ZipFile(path) as archive:
        member = archive.getinfo("snapshots.npy")
    if member.compress_type != zipfile.ZIP_STORED:
        # Not as we write it.
        with np.load(path, allow_pickle=False) as arrays:
            return arrays["snapshots"]
    with path.open("rb") as file:
        file.seek(member.header_offset)
        lengths = np.frombuffer(file.read(_LOCAL_HEADER)[_LENGTHS], "<u2")
        file.seek(member.header_offset + _LOCAL_HEADER + int(lengths.sum()))
        np.lib.format.read_magic(file)
        shape, is_turned, dtype = np.lib.format.read_array_header_1_0(file)
        return np.memmap(path, dtype, "r", file.tell(), shape, "F" if is_turned else "C")


def _check_parts(path: Path, steps: NDArray[Any], x: NDArray[Any], snapshots: Any) -> None:
    """Refuse arrays that are of no run, since others may have written some of them anew."""
    shape = snapshots.shape
    if len(shape) not in {2, 3} or 0 in shape or (*shape[:1], *shape[-1:]) != steps.shape + x.shape:
        raise FileFormatError(path, None, _WANTED, "arrays that do not fit each other")
    if snapshots.dtype.newbyteorder("=") not in TAKEN:
        raise FileFormatError(path, None, _WANTED, f"snapshots of {snapshots.dtype}")
    if steps.dtype != np.int64 or steps[0] < 0 or (np.diff(steps) <= 0).any():
        raise FileFormatError(path, None, _WANTED, "steps that do not ascend from 0 or later")


def _parts(path: Path) -> tuple[str, NDArray[np.int64], Any, Any]:
    """Return what is in a file: ``about``, the steps, x and the snapshots."""
    snapshots = _snapshots(path)
    if path.suffix.lower() == ".zarr":
        group = zarr_module("reading snapshots").open_group(str(path), mode="r")
        return str(group.attrs["about"]), np.asarray(group["steps"][:]), group["x"][:], snapshots
    with np.load(path, allow_pickle=False) as arrays:
        return str(arrays["about"]), arrays["steps"], arrays["x"], snapshots
