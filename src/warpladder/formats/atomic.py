"""Write a file whole or not at all."""

from __future__ import annotations

import gzip
import os
import secrets
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from warpladder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "atomic_path",
    "atomic_write",
    "check_folder",
    "check_writable",
    "target_of",
    "temporary_for",
    "told_as_unwritable",
]


@contextmanager
def told_as_unwritable(path: Path) -> Iterator[None]:
    """Tell what the system refuses with the name of the file to write."""
    try:
        yield
    except OSError as error:
        # NumPy tells no more than how much of an array was written.
        reason = error.strerror or f"not all was taken ({error}); is the disk full?"
        raise InputError(f"cannot write {path}: {reason}") from error


def target_of(path: Path) -> Path:
    """Return what is replaced where `path` is written: a link keeps pointing where it points.

    Raises
    ------
    InputError
        It can be no file: links that lead in a circle, or a name that is too long.
    """
    with told_as_unwritable(path):
        target = Path(os.path.realpath(path))
        # Of a folder that is not there its own check tells.
        with suppress(FileNotFoundError, NotADirectoryError):
            target.stat()
    return target


def temporary_for(target: Path, suffix: str = ".tmp") -> Path:
    """Return a name beside `target` that nothing has.

    Systems count the bytes of a name, of which a character has up to four.
    """
    return target.with_name(f".{target.name[:50]}.{secrets.token_hex(8)}{suffix}")


def check_writable(path: Path) -> None:
    """Raise InputError where `path` could not be written; touches nothing."""
    target = target_of(path)
    # Where a pipe leads, as /dev/stdout does, has no name of its own.
    if path.exists() and not path.is_file():
        raise InputError(f"cannot write {path}: it exists and is no regular file")
    check_folder(path, target)


def check_folder(path: Path, target: Path) -> None:
    """Raise InputError where nothing can be made beside the `target` of `path`."""
    folder = target.parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise InputError(f"cannot write {path}: the folder {folder} is not writable")


@contextmanager
def atomic_path(path: Path, suffix: str = ".tmp") -> Iterator[Path]:
    """Give the name of a new file beside `path` that takes its place once the block ends well.

    For what is written by others, who want a name; `atomic_write` is for the rest. Whatever ends
    the block early, the file that stood there stays as it was and the temporary is removed.

    Parameters
    ----------
    path
        The file to write.
    suffix
        What the name ends in, for those who take the format from it.

    Raises
    ------
    InputError
        The file cannot be written, or the block met an OSError.
    """
    check_writable(path)
    target = target_of(path)
    temporary = temporary_for(target, suffix)
    try:
        with told_as_unwritable(path):
            yield temporary
            if target.exists():
                shutil.copymode(target, temporary)
            temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path` that takes its place once the block ends well.

    What `atomic_path` says of it holds here. A name that ends in ``.gz`` is packed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder, "answer.txt")
    ...     with atomic_write(target) as file:
    ...         _ = file.write(b"42")
    ...     target.read_text()
    '42'
    """
    # Opened plainly, not by mkstemp: the umask gives a new file its usual permissions.
    with atomic_path(path) as temporary, temporary.open("xb") as file:
        if path.suffix.lower() == ".gz":
            # No name and no time inside: the same content gives the same bytes.
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
                yield cast("IO[bytes]", packed)
        else:
            yield file
