"""Snapshots of a run: kept in memory, or written as they come, so that memory is bounded.

A file is a ``.npz`` that `numpy.load` opens, or a Zarr group (extra ``fields``): ``snapshots`` of
shape (times, cells) or (times, systems, cells), ``times``, ``steps`` and ``x``, and in ``about``,
as JSON, all that a run needs to go on from the last of them. It appears under its name when it is
whole. What stands in a ``.npz`` is not packed, so that it can be read by mapping it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from warpladder.advection.about import as_document
from warpladder.advection.setup import Setup, cells_at, times_of
from warpladder.device.foreign import is_on_gpu, like, to_numpy
from warpladder.device.host_memory import in_words, require_memory
from warpladder.errors import InputError, InputTypeError, MissingExtraError, TooLargeError
from warpladder.formats.atomic import (
    atomic_write,
    check_folder,
    check_writable,
    target_of,
    temporary_for,
)

if TYPE_CHECKING:
    from warpladder.device.base import Device

__all__ = ["as_path", "check_room", "check_target", "keeper", "saved_count", "saved_steps"]

_SUFFIXES = (".npz", ".zarr")
# Cells in a chunk of Zarr.
_CHUNK = 1 << 20


class Keeper(Protocol):
    """What takes snapshots in the order of their times."""

    def add(self, state: Any) -> None:
        """Take the next one, (systems, cells), of the host or of the device."""

    def result(self, given: Any) -> Any:
        """Return what was kept, of the kind of ``given``; the path, where it was written."""


def saved_steps(steps: int, save_every: int | None, *, is_written: bool) -> NDArray[np.int64]:
    """Return the steps after which there is a snapshot, the first and the last among them.

    Examples
    --------
    >>> saved_steps(10, 4, is_written=False)
    array([ 0,  4,  8, 10])
    """
    if save_every is None:
        if not is_written:
            return np.empty(0, np.int64)
        save_every = max(steps, 1)
    return np.unique(np.append(np.arange(0, steps, save_every, dtype=np.int64), steps))


def saved_count(steps: int, save_every: int | None, *, is_written: bool) -> int:
    """Return how many steps `saved_steps` would return.

    Examples
    --------
    >>> saved_count(10, 4, is_written=False), saved_count(0, None, is_written=True)
    (4, 1)
    """
    if save_every is None:
        return min(steps, 1) + 1 if is_written else 0
    return -(-steps // save_every) + 1


def check_room(setup: Setup, count: int, device: Device | None) -> None:
    """Refuse more snapshots than memory holds: listing their steps alone can take minutes.

    Raises
    ------
    TooLargeError
        The memory of the host, or of the device that the cells are on, does not hold them.
    """
    needed = count * setup.systems * setup.cells * setup.dtype.itemsize
    what = f"save_every: {count:,} snapshots (out=... writes them to a file instead)"
    if device is None:
        require_memory(needed, what)
        return
    free = device.free_bytes()
    if needed > free:
        raise TooLargeError(
            f"{what} take {in_words(needed)}; {device.properties.name} has {in_words(free)} free"
        )


def as_path(name: str, given: Any) -> Path:
    """Return what callers give for the path of a file.

    Raises
    ------
    InputTypeError
        It is none.
    """
    try:
        return Path(given)
    except TypeError:
        raise InputTypeError(f"{name}={given!r} must be the path of a file") from None


def check_target(out: Any) -> Path | None:
    """Return where snapshots go; raise now what would be raised after the run.

    Raises
    ------
    InputError
        The name tells no format, or cannot be written.
    MissingExtraError
        Zarr is not installed.
    """
    if out is None:
        return None
    path = as_path("out", out)
    if path.suffix.lower() not in _SUFFIXES:
        raise InputError(f"out={str(out)!r}: its name must end in {' or '.join(_SUFFIXES)}")
    if path.suffix.lower() == ".npz":
        check_writable(path)
    else:
        zarr_module("out")
        target = target_of(path)
        if target.exists() and not (target.is_dir() and (target / "zarr.json").is_file()):
            raise InputError(f"cannot write {path}: it exists and is no Zarr group")
        check_folder(path, target)
    return path


def zarr_module(purpose: str) -> Any:
    """Return the package zarr."""
    try:
        import zarr
    except ImportError as fault:
        raise MissingExtraError(f"{purpose} in Zarr", "zarr", "fields") from fault
    return zarr


@contextmanager
def keeper(
    setup: Setup, steps: NDArray[np.int64], out: Path | None, device: Device | None
) -> Iterator[Keeper]:
    """Open what takes the snapshots of some steps; what is written stays if the block ends well."""
    if out is None:
        yield _Kept(setup, len(steps), device)
    elif out.suffix.lower() == ".npz":
        with _npz(setup, steps, out) as written:
            yield written
    else:
        with _zarr(setup, steps, out) as written:
            yield written


class _Kept:
    """Snapshots in memory: of the host, or of the GPU that the cells are on."""

    def __init__(self, setup: Setup, count: int, device: Device | None) -> None:
        self._setup, self._device, self._count = setup, device, 0
        shape = (count, setup.systems, setup.cells)
        self._all: Any = None
        if count and device is None:
            self._all = np.empty(shape, setup.dtype)
        elif count and device is not None:
            self._all = device.empty(shape, setup.dtype)

    def add(self, state: Any) -> None:
        if self._device is None:
            self._all[self._count] = state
        else:
            self._device.to_device(state, out=self._all[self._count])
        self._count += 1

    def result(self, given: Any) -> Any:
        if self._all is None:
            return None
        found = self._all.reshape((self._count, *self._setup.shape))
        if self._device is None:
            return found
        return like(found, given) if is_on_gpu(given) else self._device.to_host(found)


class _Written:
    """Snapshots on their way to a file."""

    def __init__(self, path: Path, write: Any) -> None:
        self._path, self._write = path, write

    def add(self, state: Any) -> None:
        self._write(to_numpy(state) if is_on_gpu(state) else state)

    def result(self, given: Any) -> Any:  # noqa: ARG002 - the protocol's; a file has no kind
        # Wherever this process goes meanwhile.
        return self._path.absolute()


@contextmanager
def _npz(setup: Setup, steps: NDArray[np.int64], path: Path) -> Iterator[_Written]:
    with atomic_write(path) as file, ZipFile(file, "w", ZIP_STORED) as archive:
        for name, values in _small(setup, steps).items():
            # ZipInfo has no time of its own: the same run gives the same bytes.
            with archive.open(ZipInfo(f"{name}.npy"), "w") as member:
                np.lib.format.write_array(member, values, allow_pickle=False)
        with archive.open(ZipInfo("snapshots.npy"), "w", force_zip64=True) as member:
            header = {
                "descr": np.lib.format.dtype_to_descr(setup.dtype),
                "fortran_order": False,
                "shape": (len(steps), *setup.shape),
            }
            np.lib.format.write_array_header_1_0(member, header)
            yield _Written(path, lambda state: member.write(np.ascontiguousarray(state).data))


@contextmanager
def _zarr(setup: Setup, steps: NDArray[np.int64], path: Path) -> Iterator[_Written]:
    zarr = zarr_module("out")
    target = target_of(path)
    temporary, old = (temporary_for(target, suffix) for suffix in (".tmp", ".old"))
    try:
        group = zarr.open_group(str(temporary), mode="w")
        small = _small(setup, steps)
        group.attrs["about"] = small.pop("about").item()
        for name, values in small.items():
            group.create_array(name, data=values)
        rows = max(_CHUNK // setup.cells, 1)
        chunk = (1, min(setup.systems, rows), min(setup.cells, _CHUNK))
        array = group.create_array(
            "snapshots",
            shape=(len(steps), *setup.shape),
            chunks=chunk[:1] + chunk[2:] if setup.is_single else chunk,
            dtype=setup.dtype,
            # What is lost of the folder is read as this: zeros would pass for cells.
            fill_value=np.nan,
        )
        numbers = iter(range(len(steps)))

        def write(state: Any) -> None:
            array[next(numbers)] = state.reshape(setup.shape)

        yield _Written(path, write)
        # A folder cannot take the place of another in one step.
        if target.exists():
            target.rename(old)
        temporary.rename(target)
    except OSError as fault:
        raise InputError(f"cannot write {path}: {fault.strerror or fault}") from fault
    finally:
        if old.exists() and not target.exists():
            old.rename(target)
        for leftover in (temporary, old):
            shutil.rmtree(leftover, ignore_errors=True)


def _small(setup: Setup, steps: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Return all but the snapshots themselves."""
    return {
        "times": times_of(setup, steps),
        "steps": steps,
        "x": cells_at(setup),
        "about": np.array(json.dumps(as_document(setup))),
    }
