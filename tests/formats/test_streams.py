"""Pipes and standard input, which can be read once only, give what a file of their bytes gives."""

from __future__ import annotations

import gc
import gzip
import io
import os
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse

import warpladder as wl
from warpladder.errors import FileFormatError, InputError
from warpladder.formats import files
from warpladder.formats.values import StoredArray

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EDGES = [(i % 60, (7 * i + 1) % 60, i) for i in range(3000)]
TNTP = "<NUMBER OF NODES> 60\n<END OF METADATA>\n~ init_node term_node free_flow_time ;\n"
TEXTS = {
    "edges": "source,target,weight\n" + "".join(f"{u},{v},{w}\n" for u, v, w in EDGES),
    "hochberg": "".join(f"{u} {v} {w}\n" for u, v, w in EDGES) + "--END--\n",
    "dimacs": "p sp 60 3000\n" + "".join(f"a {u + 1} {v + 1} {w}\n" for u, v, w in EDGES),
    "matrix-market": "%%MatrixMarket matrix coordinate integer general\n60 60 3000\n"
    + "".join(f"{u + 1} {v + 1} {w}\n" for u, v, w in EDGES),
    "tntp": TNTP + "".join(f"{u + 1} {v + 1} {w};\n" for u, v, w in EDGES),
}
needs_fifo = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")


@pytest.fixture
def piped(tmp_path: Path) -> Iterator[Callable[[bytes], Path]]:
    """A function that makes a named pipe through which bytes come once."""
    writers = []

    def make(content: bytes) -> Path:
        path = tmp_path / f"pipe{len(writers)}"
        os.mkfifo(path)

        def write() -> None:
            # Who reads may stop before the end.
            with suppress(BrokenPipeError):
                path.write_bytes(content)

        writers.append(threading.Thread(target=write, daemon=True))
        writers[-1].start()
        return path

    yield make
    for writer in writers:
        writer.join(timeout=60)
        assert not writer.is_alive()


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing may stay in the folder of temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    if any(folder.iterdir()):
        # An error holds what was read by its traceback, in a ring that only the collector undoes.
        gc.collect()
    assert list(folder.iterdir()) == []


def saved(save: Callable[..., None], *arguments: Any) -> bytes:
    file = io.BytesIO()
    save(file, *arguments)
    return file.getvalue()


def binary_files() -> dict[str, bytes]:
    matrix = np.arange(3600.0).reshape(60, 60)
    sources, targets, weights = np.array(EDGES).T
    sparse = scipy.sparse.coo_array((weights, (sources, targets)), shape=(60, 60))
    table = pa.table({"source": sources, "target": targets, "weight": weights})
    return {
        "npy": saved(np.save, matrix),
        "npz": saved(np.savez_compressed, matrix),
        "sparse": saved(scipy.sparse.save_npz, sparse.tocsr()),
        "parquet": saved(lambda file: pq.write_table(table, file)),
    }


CONTENTS = {name: text.encode() for name, text in TEXTS.items()} | binary_files()


def plain(graph: wl.Graph) -> tuple[Any, ...]:
    weights = graph.weights if graph.matrix is None else graph.matrix
    assert weights is not None
    return graph.n, graph.sources.tolist(), graph.targets.tolist(), weights.tolist()


@needs_fifo
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", CONTENTS)
def test_a_graph_through_a_pipe(
    tmp_path: Path, piped: Callable[[bytes], Path], name: str, packed: bool
) -> None:
    content = CONTENTS[name]
    file = tmp_path / "file"
    file.write_bytes(content)
    came = wl.read_graph(piped(gzip.compress(content) if packed else content))
    assert plain(came) == plain(wl.read_graph(file))
    # A matrix has all edges but the loops, among the 3,000 there are none.
    assert came.edge_count == (60 * 59 if name in {"npy", "npz"} else 3000) or name == "sparse"


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", CONTENTS)
def test_a_graph_through_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, packed: bool
) -> None:
    content = CONTENTS[name]
    file = tmp_path / "file"
    file.write_bytes(content)
    stream = io.BytesIO(gzip.compress(content) if packed else content)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
    assert plain(wl.read_graph("-")) == plain(wl.read_graph(file))


def numbers(path: str | Path, **options: Any) -> list[Any]:
    source = wl.open_values(path, **options)
    if isinstance(source, StoredArray):
        return source.mapped().ravel().tolist()
    # Twice: what is read may be read again.
    first, again = ([x for chunk in source for x in chunk.tolist()] for _ in range(2))
    assert first == again
    return first


@needs_fifo
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("edges", {"column": "weight"}),
        ("parquet", {"column": "weight"}),
        ("npy", {}),
        ("npy", {"dtype": "u1"}),
    ],
)
def test_numbers_through_a_pipe(
    piped: Callable[[bytes], Path],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    options: dict[str, Any],
    packed: bool,
) -> None:
    content = CONTENTS[name]
    expected: list[Any] = [w for _, _, w in EDGES]
    if name == "npy":
        expected = list(range(3600))
    if "dtype" in options:
        content = content[-1000:]
        expected = list(content)
    came = gzip.compress(content) if packed else content
    assert numbers(piped(came), **options) == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(came)))
    assert numbers("-", **options) == expected


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="this system has no /dev/fd")
def test_process_substitution(tmp_path: Path) -> None:
    """The shell passes ``<(cat file)`` as /dev/fd/63; so it may with a file that is open."""
    path = tmp_path / "file"
    path.write_text(TEXTS["edges"])
    with path.open("rb") as file:
        assert wl.read_graph(f"/dev/fd/{file.fileno()}").edge_count == 3000


@needs_fifo
def test_a_pipe_that_closes_early(piped: Callable[[bytes], Path]) -> None:
    with pytest.raises(
        FileFormatError, match=r"pipe0: .*an empty file.*a guess; else give format=NAME"
    ):
        wl.read_graph(piped(b""))
    with pytest.raises(FileFormatError, match="pipe1, line 2: expected 3 fields"):
        wl.read_graph(piped(TEXTS["edges"].encode()[:23]))
    with pytest.raises(FileFormatError, match="pipe2: expected a whole gzip file"):
        wl.read_graph(piped(gzip.compress(TEXTS["edges"].encode())[:200]))
    with pytest.raises(FileFormatError, match=r"pipe3: expected numbers, .*an empty file"):
        wl.open_values(piped(b""))
    for number, name in enumerate(("npy", "npz", "parquet"), 4):
        with pytest.raises(FileFormatError, match=f"pipe{number}: expected a whole"):
            wl.read_graph(piped(CONTENTS[name][:-100]))


def test_a_format_that_does_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """A METIS graph may look like an edge list, so one has to say which it is."""

    def read(text: str, **options: str) -> wl.Graph:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return wl.read_graph("-", **options)

    square = "4 4\n2 4\n1 3\n2 4\n1 3\n"
    with pytest.raises(InputError, match=r"standard input may be a METIS .* say format=metis or"):
        read(square)
    assert read(square, format="metis").edge_count == 4
    assert read(square, format="edges").edge_count == 5
    # By its lines this is no METIS graph, and neither is it an edge list.
    with pytest.raises(FileFormatError, match=r"standard input, line 2.*read as edges, a guess"):
        read("3 2\n2\n1 3\n")
    assert read("4 4\n2 4\n1 3\n").edge_count == 3


def test_standard_input_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO())
    stream.close()
    for closed in (None, stream, io.StringIO()):
        monkeypatch.setattr(sys, "stdin", closed)
        with pytest.raises(InputError, match="standard input"):
            wl.read_graph("-")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no /dev/zero")
def test_a_device_is_refused() -> None:
    """One that never ends would fill the disk."""
    for read in (wl.read_graph, wl.open_values):
        with pytest.raises(InputError, match="cannot read /dev/zero: it is a device"):
            read("/dev/zero")


@needs_fifo
def test_a_disk_without_room(
    piped: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = piped(b"1\n")
    monkeypatch.setattr(files.shutil, "copyfileobj", fill)
    with pytest.raises(InputError, match=r"pipe0 to a temporary file: No space left .*TMPDIR"):
        wl.open_values(path)
