"""Bytes from a file, unpacked where it is gzip, with every failure told in the file's name."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import stat
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from warpladder.errors import (
    FileFormatError,
    InputError,
    InputTypeError,
    TooLargeError,
    WarpladderError,
)

__all__ = [
    "InputFile",
    "as_path",
    "is_gzip",
    "open_binary",
    "packed_by",
    "plain_suffix",
    "read_bytes",
    "read_head",
    "told_as_broken",
    "told_as_gzip",
]

_GZIP_MAGIC = b"\x1f\x8b"
# What files begin with that others than gzip have packed, or what it has packed within itself.
_PACKERS = {
    _GZIP_MAGIC: "gzip, once more,",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\3\4": "zip",
}
_COPIED_BYTES = 1 << 20
_STANDARD_INPUT = "-"
_DESCRIPTORS = (Path("/dev"), Path("/dev/fd"))


class InputFile:
    """A file to read: what it is called, and where its bytes can be read any number of times.

    A pipe gives its bytes once, and every probe of its format would swallow some; so they are
    copied to a temporary file, which is removed together with this object.

    Parameters
    ----------
    path
        A file, a pipe, or ``"-"`` for standard input.

    Attributes
    ----------
    path
        What errors call it.
    place
        Where its bytes are.

    Raises
    ------
    InputError, InputTypeError
        It can be no file's name, is a device, or its bytes cannot be copied.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = as_path(path)
        self.place = self.path
        if str(self.path) == _STANDARD_INPUT:
            self.path = Path("standard input")
            # A program without a console has none, and a notebook's has no bytes.
            stream = getattr(sys.stdin, "buffer", None)
            if stream is None:
                raise InputError("cannot read standard input: there is none")
            self._keep(stream)
        elif _is_stream(self.path):
            with _open(self) as stream:
                self._keep(stream)

    def _keep(self, stream: IO[bytes]) -> None:
        """Copy what a stream gives; packed bytes, which cannot be read from anywhere, unpacked."""
        self.place = self._copied(stream)
        if is_gzip(self):
            packed = self.place
            with told_as_gzip(self.path), gzip.open(packed) as unpacked:
                self.place = self._copied(unpacked)
            _remove(packed)

    def _copied(self, stream: IO[bytes] | gzip.GzipFile) -> Path:
        try:
            descriptor, name = tempfile.mkstemp(prefix="warpladder-")
            weakref.finalize(self, _remove, Path(name))
            with os.fdopen(descriptor, "wb") as copy:
                shutil.copyfileobj(stream, copy, _COPIED_BYTES)
        except gzip.BadGzipFile:
            raise
        except (OSError, ValueError) as error:
            why = str(getattr(error, "strerror", None) or error)
            raise InputError(
                f"cannot copy {self.path} to a temporary file: {why} (TMPDIR names the folder)"
            ) from error
        return Path(name)


def as_path(path: str | os.PathLike[str]) -> Path:
    """Return `path` as a Path, or raise InputError or InputTypeError."""
    name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else path
    if not isinstance(name, str):
        raise InputTypeError(f"path must be a str or a Path, not {type(name).__name__}")
    if not name or "\0" in name:
        raise InputError(f"path={name!r} can be no file's name")
    return Path(name)


def plain_suffix(path: Path) -> str:
    """Return the extension in lower case, the one before ``.gz`` where there is one.

    Examples
    --------
    >>> plain_suffix(Path("Roads.GR.gz"))
    '.gr'
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def is_gzip(file: InputFile) -> bool:
    """Tell by its first bytes, whatever its name, whether a file is gzip."""
    return _read(file, len(_GZIP_MAGIC)) == _GZIP_MAGIC


def packed_by(head: bytes) -> str | None:
    """Return what has packed a file that begins so, where that is not unpacked here.

    Examples
    --------
    >>> packed_by(b"BZh91AY&SY"), packed_by(b"id,related_ids")
    ('bzip2', None)
    """
    return next((packer for magic, packer in _PACKERS.items() if head.startswith(magic)), None)


def read_head(file: InputFile, count: int) -> bytes:
    """Return the first `count` bytes, unpacked."""
    return _unpack(file, count) if is_gzip(file) else _read(file, count)


def read_bytes(file: InputFile) -> bytes:
    """Return the whole content, unpacked."""
    return _unpack(file, -1) if is_gzip(file) else _read(file, -1)


def open_binary(file: InputFile) -> IO[bytes]:
    """Open a file for reading anywhere in it; one that is gzip is unpacked in memory."""
    return io.BytesIO(read_bytes(file)) if is_gzip(file) else _open(file)


@contextmanager
def told_as_gzip(path: Path) -> Iterator[None]:
    """Turn what unpacking raises over a broken file into an error with the file's name."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FileFormatError(path, None, "a whole gzip file", f"a broken one ({error})") from error


@contextmanager
def told_as_broken(path: Path, expected: str) -> Iterator[None]:
    """Turn whatever a library raises over a file's content into an error with the file's name.

    A damaged file may lead a library's reader to raise anything at all.

    Examples
    --------
    >>> with told_as_broken(Path("a.npy"), "a whole NumPy file"):
    ...     raise IndexError("list index out of range")
    Traceback (most recent call last):
        ...
    warpladder.errors.FileFormatError: a.npy: expected a whole NumPy file, found a broken one ...
    """
    try:
        yield
    except WarpladderError:
        raise
    except MemoryError as error:
        raise TooLargeError(f"{path} does not fit this machine's memory: {error}") from error
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise InputError(f"cannot read {path}: {error.strerror or error}") from error
        why = str(error).strip().partition("\n")[0] or type(error).__name__
        raise FileFormatError(path, None, expected, f"a broken one ({why})") from error


def _is_stream(path: Path) -> bool:
    """Tell whether a path leads to a pipe; where it leads nowhere, opening it will say so."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        # Some never end, such as /dev/zero.
        raise InputError(f"cannot read {path}: it is a device; - stands for standard input")
    # On some systems a file opened as /dev/stdin goes on where the last reader stopped.
    return path.parent in _DESCRIPTORS or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _remove(place: Path) -> None:
    # Windows keeps a file that is still mapped into memory.
    with suppress(OSError):
        place.unlink()


def _open(file: InputFile) -> IO[bytes]:
    try:
        return file.place.open("rb")
    except OSError as error:
        raise InputError(f"cannot read {file.path}: {error.strerror or error}") from error


def _read(file: InputFile, count: int) -> bytes:
    try:
        with _open(file) as opened:
            return opened.read(count)
    except OSError as error:
        raise InputError(f"cannot read {file.path}: {error.strerror or error}") from error


def _unpack(file: InputFile, count: int) -> bytes:
    with told_as_gzip(file.path), _open(file) as packed, gzip.open(packed) as opened:
        return opened.read(count)
