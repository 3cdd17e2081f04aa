"""Bytes from a file, unpacked where it is gzip, with every failure told in the file's name."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from pathlib import Path
from typing import IO

from warpladder.errors import FileFormatError, InputError, InputTypeError

__all__ = ["as_path", "is_gzip", "open_binary", "plain_suffix", "read_bytes", "read_head"]

_GZIP_MAGIC = b"\x1f\x8b"


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


def is_gzip(path: Path) -> bool:
    """Tell by its first bytes, whatever its name, whether a file is gzip."""
    return _read(path, len(_GZIP_MAGIC)) == _GZIP_MAGIC


def read_head(path: Path, count: int) -> bytes:
    """Return the first `count` bytes, unpacked."""
    return _unpack(path, count) if is_gzip(path) else _read(path, count)


def read_bytes(path: Path) -> bytes:
    """Return the whole content, unpacked."""
    return _unpack(path, -1) if is_gzip(path) else _read(path, -1)


def open_binary(path: Path) -> IO[bytes]:
    """Open a file for reading anywhere in it; one that is gzip is unpacked in memory."""
    if is_gzip(path):
        return io.BytesIO(read_bytes(path))
    return path.open("rb")


def _read(path: Path, count: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(count)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def _unpack(path: Path, count: int) -> bytes:
    try:
        with gzip.open(path) as file:
            return file.read(count)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FileFormatError(path, None, "a whole gzip file", f"a broken one ({error})") from error
