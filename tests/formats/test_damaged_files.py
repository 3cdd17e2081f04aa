"""Whatever is wrong with a file: an answer, or one line that names the file."""

from __future__ import annotations

import gzip
import io
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from warpladder import open_values, read_graph
from warpladder.errors import WarpladderError
from warpladder.formats.values import StoredArray

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LONGEST_MESSAGE = 300
# Of long files not every place is tried.
MOST_PLACES = 300
EDGES = pa.table({"source": [7, 3, 9], "target": [3, 9, 7], "km": [1.5, 2.5, 4.0]})
NAMED = pa.table({"source": ["a", "b"], "target": ["b", "c"]})
TNTP = """<NUMBER OF NODES> 3
<NUMBER OF LINKS> 2
<END OF METADATA>
~\tinit_node\tterm_node\tfree_flow_time\t;
\t1\t2\t4.5\t;
\t2\t3\t7\t;
"""


class Reader(NamedTuple):
    """A good file, and how it is read."""

    name: str
    content: bytes
    read: Callable[[Path], Any]


def saved(save: Callable[..., None], *arguments: Any) -> bytes:
    file = io.BytesIO()
    save(file, *arguments)
    return file.getvalue()


def parquet(table: Any, *, checksum: bool = True) -> bytes:
    return saved(lambda file: pq.write_table(table, file, write_page_checksum=checksum))


def as_graph(path: Path) -> Any:
    graph = read_graph(path)
    edges = (graph.sources.tolist(), graph.targets.tolist())
    given = graph.weights if graph.matrix is None else graph.matrix
    return graph.n, *edges, None if given is None else given.tolist()


def as_numbers(path: Path, **options: Any) -> list[Any]:
    source = open_values(path, **options)
    if isinstance(source, StoredArray):
        return source.mapped().tolist()
    return [value for chunk in source for value in chunk.tolist()]


def as_raw(path: Path) -> list[Any]:
    return as_numbers(path, dtype="f4")


def as_column(path: Path) -> list[Any]:
    return as_numbers(path, column="km")


MATRIX = np.array([[0, 1.5], [np.inf, 0]])
READERS = {
    "hochberg": Reader("g.hb", b"a b 5\nb c 2.5\n--END--\n", as_graph),
    "dimacs": Reader("g.gr", b"c x\np sp 3 2\na 1 2 5\na 2 3 7\n", as_graph),
    "matrix-market": Reader(
        "g.mtx", b"%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 5\n3 1 .5\n", as_graph
    ),
    "metis": Reader("g.graph", b"3 2 1\n2 5\n1 5 3 7\n2 7\n", as_graph),
    "csv": Reader("g.csv", b'from,to,km\n"a b",c,5\nc,d,6\n', as_graph),
    "plain edges": Reader("g.txt", b"# Undirected graph\n0\t1\t5\n1\t2\t6\n", as_graph),
    "tntp": Reader("g.tntp", TNTP.encode(), as_graph),
    "packed": Reader("g.gr.gz", gzip.compress(b"p sp 2 1\na 1 2 5\n", mtime=0), as_graph),
    "npy": Reader("g.npy", saved(np.save, MATRIX), as_graph),
    "npz": Reader(
        "g.npz", saved(lambda f: np.savez(f, matrix=MATRIX, labels=["a", "b"])), as_graph
    ),
    "packed npz": Reader("g.npz", saved(lambda f: np.savez_compressed(f, a=MATRIX)), as_graph),
    "sparse npz": Reader(
        "g.npz", saved(scipy.sparse.save_npz, scipy.sparse.csr_array([[0, 2], [3, 0]])), as_graph
    ),
    "parquet": Reader("g.parquet", parquet(EDGES), as_graph),
    "parquet without checksums": Reader("g.parquet", parquet(NAMED, checksum=False), as_graph),
    "values of npy": Reader("v.npy", saved(np.save, MATRIX), as_numbers),
    "values of raw binary": Reader("v.bin", b"\0" * 16, as_raw),
    "values of csv": Reader("v.csv", b'n,km\n1,2.5\n"2",3\n', as_column),
    "values of packed csv": Reader("v.csv.gz", gzip.compress(b"1\n2\n3\n", mtime=0), as_numbers),
    "values of parquet": Reader("v.parquet", parquet(EDGES), as_column),
}
#: Of these, every beginning lacks something.
WHOLE_ONLY = {name for name in READERS if "np" in name or "packed" in name or "parquet" in name}
every_reader = pytest.mark.parametrize("reader", READERS.values(), ids=READERS.keys())


def answer(reader: Reader, path: Path, content: bytes) -> Any:
    """What is read, None for a refusal of ours that is as it should be."""
    path.write_bytes(content)
    try:
        return reader.read(path)
    except WarpladderError as error:
        message = str(error)
        assert str(path) in message
        assert len(message.splitlines()) == 1
        assert len(message) <= LONGEST_MESSAGE + len(str(path))
        return None


def places(reader: Reader) -> range:
    return range(0, len(reader.content), 1 + len(reader.content) // MOST_PLACES)


@every_reader
def test_a_file_cut_anywhere(tmp_path: Path, reader: Reader) -> None:
    path = tmp_path / reader.name
    name = next(name for name, known in READERS.items() if known is reader)
    assert answer(reader, path, reader.content) is not None
    for length in places(reader):
        read = answer(reader, path, reader.content[:length])
        assert read is None or name not in WHOLE_ONLY, length


#: They take a second each; of either kind of archive and of parquet there is another one.
SLOW = {"sparse npz", "parquet", "values of parquet"}


@pytest.mark.parametrize(
    "reader",
    [
        pytest.param(reader, id=name, marks=pytest.mark.large if name in SLOW else ())
        for name, reader in READERS.items()
    ],
)
def test_a_file_with_any_byte_changed(tmp_path: Path, reader: Reader) -> None:
    path = tmp_path / reader.name
    for position in places(reader):
        for change in (0x01, 0x80):
            content = bytearray(reader.content)
            content[position] ^= change
            answer(reader, path, bytes(content))


DAMAGE = st.lists(
    st.tuples(
        st.floats(0, 1), st.integers(0, 9), st.one_of(st.binary(max_size=8), st.text("0-9 \t,;(<"))
    ),
    min_size=1,
    max_size=4,
)


@every_reader
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=DAMAGE)
def test_a_file_damaged_in_several_places(
    tmp_path: Path, reader: Reader, damage: list[tuple[float, int, bytes | str]]
) -> None:
    content = reader.content
    for where, removed, inserted in damage:
        begin = int(where * len(content))
        junk = inserted.encode() if isinstance(inserted, str) else inserted
        content = content[:begin] + junk + content[begin + removed :]
    answer(reader, tmp_path / reader.name, content)
