"""TNTP road networks (Transportation Networks for Research): links with their travel times.

Below ``<FIRST THRU NODE>`` nodes are zones, in which trips begin and end and through which none
goes. Edges alone do not say so: distances are those of all paths, and `remark` tells.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.errors import InputError
from warpladder.formats.columns import column_number
from warpladder.formats.edges import EdgeTable
from warpladder.formats.fields import Field, Layout, is_integer, parse_rows
from warpladder.formats.text import TextFile, shortened

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FIRST_TAG", "read_tntp"]

FIRST_TAG = "<NUMBER OF"
_FIRST_THROUGH = "FIRST THRU NODE"
_END_TAG = "END OF METADATA"
_TAG = re.compile(r"\s*<([^>]*)>(.*)")
_USUAL_WEIGHT = "free_flow_time"
_STANDARD_COLUMNS = (
    *("init_node", "term_node", "capacity", "length", _USUAL_WEIGHT),
    *("b", "power", "speed", "toll", "link_type"),
)


def read_tntp(file: TextFile, *, weight: str | int | None = None) -> EdgeTable:
    """Read the links; `weight` is a column's name or number, by default ``free_flow_time``."""
    counts, start = _read_metadata(file)
    names = _column_names(file, start)
    column = _weight_column(file, names, weight)
    n, _ = counts["NUMBER OF NODES"]

    fields = [Field("ignored", name) for name in names]
    fields[0] = Field("vertex", "init node")
    fields[1] = Field("vertex", "term node")
    fields[column] = Field("weight", names[column] or f"column {column}")
    # Published networks have rows without the semicolon; inside a row it is a field too many.
    ended = TextFile(file.path, list(map(_without_end, file.lines)))
    shape = f"{len(names)} fields, then ';' or the end of the line"
    columns = parse_rows(ended, Layout(tuple(fields), shape, comments="~", n=n), start)
    sources, targets, weights = columns[0], columns[1], columns[column]
    if "NUMBER OF LINKS" in counts:
        m, m_line = counts["NUMBER OF LINKS"]
        if len(sources) != m:
            found = f"{len(sources)} links in the file"
            raise file.error(m_line, f"{m} links, as this line says", found)
    return EdgeTable(
        *(sources - 1, targets - 1, weights, n, range(1, n + 1)),
        directed=True,
        weight_column=names[column] or column,
        remark=_remark_on_zones(counts, sources, targets),
    )


def _remark_on_zones(
    counts: dict[str, tuple[int, int]], sources: NDArray[Any], targets: NDArray[Any]
) -> str:
    """Return that paths go through zones, where the file says that none may and some can."""
    first, _ = counts.get(_FIRST_THROUGH, (1, 0))
    entered = np.intersect1d(sources, targets)
    if not (entered < first).any():
        return ""
    return (
        f"paths go through nodes below {first} as well, which the file has as zones that none may"
    )


def _without_end(row: str) -> str:
    return row.rstrip().removesuffix(";").replace(";", " ; ")


def _read_metadata(file: TextFile) -> tuple[dict[str, tuple[int, int]], int]:
    """Return the numbers by tag, each with the index of its line, and where the metadata ends."""
    counts: dict[str, tuple[int, int]] = {}
    for index, line in enumerate(file.lines):
        tag = _TAG.match(line)
        if tag is None:
            if line.strip() and not line.lstrip().startswith("~"):
                raise file.error(index, f"metadata '<NAME> value' up to '<{_END_TAG}>'")
            continue
        name, value = tag[1].strip().upper(), tag[2].strip()
        if name == _END_TAG:
            if "NUMBER OF NODES" not in counts:
                raise file.error(index, "'<NUMBER OF NODES>' before the end of the metadata")
            return counts, index + 1
        if name in {"NUMBER OF NODES", "NUMBER OF LINKS", _FIRST_THROUGH}:
            if not is_integer(value) or int(value) < 0:
                kind = "a node" if name == _FIRST_THROUGH else "a count"
                raise file.error(index, f"{kind} after '<{name}>'")
            counts[name] = int(value), index
    raise file.ended(f"'<{_END_TAG}>'")


def _column_names(file: TextFile, start: int) -> list[str]:
    """Return the names in the last ``~`` line before the links, else the standard ones."""
    first_link = file.first_content("~", start)
    marked = [line for line in file.lines[start:first_link] if "~" in line]
    if not marked:
        return list(_STANDARD_COLUMNS)
    text = marked[-1].lstrip().lstrip("~")
    if text.rstrip().endswith(";"):
        text = text.rstrip()[:-1].rstrip(" ").removesuffix("\t")
    # With tabs between them, names may hold blanks.
    words = text.split("\t") if "\t" in text else text.split()
    names = [_plain(word) for word in words if word.strip()]
    if len(names) <= 2:
        return list(_STANDARD_COLUMNS)
    # A last column may have no name.
    fields = 0 if first_link is None else len(_without_end(file.lines[first_link]).split())
    if len(names) < fields and not words[-1].strip():
        names.append("")
    return names


def _plain(name: str) -> str:
    return "_".join(name.lower().split())


def _weight_column(file: TextFile, names: list[str], weight: str | int | None) -> int:
    wanted = _USUAL_WEIGHT if weight is None else weight
    column = column_number(wanted)
    if column is None and isinstance(wanted, str) and _plain(wanted) in names:
        column = names.index(_plain(wanted))
    if column is None or not 2 <= column < len(names):
        choice = shortened(", ".join(names[2:]), 160)
        if weight is None:
            raise InputError(
                f"{file.path}: there is no column {_USUAL_WEIGHT!r}, which is taken for the weight "
                f"unless weight=NAME says otherwise; choose from {choice}"
            )
        raise InputError(
            f"{file.path}: weight={weight!r} is no column of weights; choose from {choice}"
        )
    return column
