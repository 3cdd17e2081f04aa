"""Write a file whole or not at all."""

from __future__ import annotations

import gzip
import os
import secrets
import shutil
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, cast

from warpladder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["atomic_path", "atomic_write", "check_writable"]


def check_writable(path: Path) -> None:
    """Raise InputError where `path` could not be written; touches nothing."""
    if path.exists() and not path.is_file():
        raise InputError(f"cannot write {path}: it exists and is no regular file")
    folder = path.parent
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
    # A link keeps pointing where it points: its target is what gets replaced.
    target = path.resolve()
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}{suffix}")
    try:
        yield temporary
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
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
