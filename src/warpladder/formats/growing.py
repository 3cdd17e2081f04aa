"""A file that grows by pieces and outlives a kill.

Pieces go into ``NAME.partial`` beside the file to be, and one line for each into ``NAME.journal``:
how long the partial file is with it, a checksum of it, and a note of whoever wrote it. The journal
is behind: a line is written only when the piece is on the disk. So after a kill, at whatever
moment, the lines that are whole say which pieces are; what lies behind these is cut off, and the
writer goes on from the last note. Once complete, the partial file takes the name of the file.

Waiting for the disk after every piece would hold up the work, so it is done every few seconds: so
much is done again after a kill.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from contextlib import suppress
from itertools import takewhile
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Self

from warpladder.errors import InputError
from warpladder.formats.atomic import check_writable, target_of, told_as_unwritable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path
    from types import TracebackType

__all__ = ["GrowingFile"]

SYNC_SECONDS = 2.0
"""How much work a kill may cost."""

_CHECKED_BYTES = 1 << 22


class _Record(NamedTuple):
    """A line of the journal: the length of the partial file, the piece's checksum, and a note."""

    length: int
    checksum: int
    note: Any


class GrowingFile:
    """A file made piece by piece; used as a context manager.

    Leaving it without `finish` keeps what is there for the next time, where there is any; the error
    gets a note that says so. What stood under the name before stays until `finish`.

    Parameters
    ----------
    path
        The file to be.
    identity
        Of what it is made, in words and numbers that JSON knows. Only what was begun with the same
        identity is gone on with.
    resume
        Whether to go on with what an earlier run has left; where it left nothing, a run begins
        anew.

    Attributes
    ----------
    notes
        Of the pieces that are there.
    length
        Bytes that are there.

    Raises
    ------
    InputError
        The file cannot be written; an earlier run left some of it and ``resume`` was not asked for;
        it left something else; it is still at it; or other files have the names.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any], *, resume: bool = False) -> None:
        check_writable(path)
        self._path = path
        self._target = target_of(path)
        self._partial = self._target.with_name(f"{self._target.name}.partial")
        self._journal = self._target.with_name(f"{self._target.name}.journal")
        self._waiting: list[_Record] = []
        self._kept = 0
        self._is_finished = False
        self.notes: list[Any] = []
        self.length = 0
        with told_as_unwritable(path):
            self._lines = self._journal.open("a+b")
            try:
                _lock(self._lines, self._journal, path)
                self._data = self._begun(json.loads(json.dumps(identity)), resume)
            except BaseException:
                self._lines.close()
                raise
        self._synced = monotonic()

    def append(self, piece: bytes, note: Any) -> None:
        """Add a piece, with a note that JSON can hold."""
        with told_as_unwritable(self._path):
            self._data.write(piece)
            self.length += len(piece)
            self.notes.append(note)
            self._waiting.append(_Record(self.length, zlib.crc32(piece), note))
            if monotonic() - self._synced >= SYNC_SECONDS:
                self._sync()

    def finish(self, piece: bytes) -> None:
        """Add the last piece and give the file its name."""
        with told_as_unwritable(self._path):
            self._sync()
            self._data.write(piece)
            _to_disk(self._data)
            self._data.close()
            if self._target.exists():
                shutil.copymode(self._target, self._partial)
            self._partial.replace(self._target)
            self._is_finished = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._is_finished:
            # On a full disk, of which has been told already, either fails.
            with suppress(OSError):
                self._sync()
            with suppress(OSError):
                self._data.close()
        if os.name == "nt":
            # There nobody can remove a file that is open, and the journal is no lock.
            self._lines.close()
        is_over = self._is_finished or not self._kept
        if is_over:
            # Still locked: what a run has that begins behind the lock stays.
            self._partial.unlink(missing_ok=True)
            self._journal.unlink(missing_ok=True)
        self._lines.close()
        if not is_over and fault is not None:
            fault.add_note(
                f"what is finished is kept in {self._partial}; resume=True goes on from there"
            )

    def _begun(self, identity: Any, resume: bool) -> IO[bytes]:
        """Take over what an earlier run has left, or begin anew; return the partial file."""
        found, records, good = self._left()
        if not (records or resume):
            self._refuse_others()
        if not records:
            self._lines.truncate(0)
            self._lines.write(_line(identity))
            _to_disk(self._lines)
            return self._partial.open("w+b")
        if not resume:
            raise InputError(
                f"{self._path}: an earlier run that did not end has left {self._partial}; "
                "resume=True goes on with it, or delete that file to begin anew"
            )
        if found != identity:
            told = "; ".join(
                f"{name} {found.get(name)}, not {identity.get(name)}"
                for name in {**identity, **found}
                if found.get(name) != identity.get(name)
            )
            raise InputError(
                f"resume=True: {self._partial} was begun with {told}; ask for the same, or delete "
                "that file to begin anew"
            )
        self._kept = len(records)
        self.notes = [record.note for record in records]
        self.length = records[-1].length
        self._lines.truncate(good)
        data = self._partial.open("r+b")
        data.truncate(self.length)
        data.seek(self.length)
        return data

    def _refuse_others(self) -> None:
        """Refuse to write over files that have the names by chance."""
        self._lines.seek(0)
        first = self._lines.readline()
        # No run has begun the partial file before the identity was on the disk.
        if _content(first) is not None or not (first or self._partial.exists()):
            return
        other = self._journal if first else self._partial
        if not first:
            self._journal.unlink()
        raise InputError(
            f"{self._path}: {other} would be written over, which no earlier run has left; give it "
            "another name, or delete it"
        )

    def _left(self) -> tuple[Any, list[_Record], int]:
        """Return the identity and the pieces of an earlier run, and where the journal of them ends.

        What cannot be read, and all behind it, does not count.
        """
        self._lines.seek(0)
        lines = list(self._lines)
        contents = list(takewhile(lambda content: content is not None, map(_content, lines)))
        if not contents or not self._partial.is_file():
            return None, [], 0
        identity, *others = contents
        with self._partial.open("rb") as data:
            records = list(_whole(data, (_Record(*content) for content in others)))
        return identity, records, sum(map(len, lines[: 1 + len(records)]))

    def _sync(self) -> None:
        """Let the journal catch up."""
        _to_disk(self._data)
        self._lines.write(b"".join(map(_line, self._waiting)))
        _to_disk(self._lines)
        self._kept += len(self._waiting)
        self._waiting.clear()
        self._synced = monotonic()


def _lock(file: IO[bytes], journal: Path, path: Path) -> None:
    """Keep a second run away from what this one is at; the system forgets it with the run."""
    try:
        import fcntl
    except ImportError:
        # Windows lets nobody replace or remove files that another process has open.
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Another run may have ended, and removed the journal, since this one opened it.
        is_there = os.path.samestat(os.fstat(file.fileno()), journal.stat())
    except (BlockingIOError, FileNotFoundError):
        is_there = False
    if not is_there:
        raise InputError(f"{path}: another run is writing it; wait until it ends")


def _whole(data: IO[bytes], records: Iterable[_Record]) -> Iterator[_Record]:
    """Yield the records of pieces that are as they were written, up to the first that is not."""
    for record in records:
        left = record.length - data.tell()
        checksum = 0
        while left > 0 and (read := data.read(min(left, _CHECKED_BYTES))):
            checksum = zlib.crc32(read, checksum)
            left -= len(read)
        if left or checksum != record.checksum:
            return
        yield record


def _line(content: Any) -> bytes:
    text = json.dumps(content).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _content(line: bytes) -> Any:
    """Return what stands in a line, None where it is not whole."""
    checksum, _, text = line.partition(b" ")
    is_whole = line.endswith(b"\n") and checksum == b"%08x" % zlib.crc32(text[:-1])
    return json.loads(text) if is_whole else None


def _to_disk(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
