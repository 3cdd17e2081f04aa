"""Footers of Parquet files put together, so that a file can be written in pieces.

pyarrow writes a file at a stretch: whoever is interrupted would have to begin again, or to read and
write all of it once more at the end. So each piece is written as a file of its own, whose footer is
then told where the piece stands in the whole. That pyarrow cannot do (tried with 26.0): it joins
footers (``FileMetaData.append_row_groups``), but what they point at can only be read; a writer
takes offsets from where its sink stands, which for a file in Python is 0 at the beginning whatever
its ``tell`` says; and it refuses files that are opened to append.

A footer is a struct in Thrift's compact protocol: fields with an identifier and a type; integers
with seven bits a byte, the lowest first, zigzag-coded where they have a sign; lists with their
length in front. What the fields are is in Parquet's own ``parquet.thrift``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["joined_footers"]

# Thrift's types: the value of a boolean is its type; integers have 16 to 64 bits.
_TRUE, _FALSE, _BINARY, _LIST, _STRUCT = 1, 2, 8, 9, 12
_INTEGERS = (4, 5, 6)
# Shorter lists have their length beside the type of their elements.
_LONG_LIST = 15

# Fields of FileMetaData, of RowGroup, of ColumnChunk and of ColumnMetaData.
_ROWS, _GROUPS = 3, 4
_CHUNKS, _GROUP_OFFSET, _GROUP_ORDINAL = 1, 5, 7
_CHUNK_OFFSETS, _CHUNK_METADATA = (2, 4, 6), 3
_PAGE_OFFSETS = (9, 10, 11, 14)


class _Field(NamedTuple):
    """A value and its type: a struct is a dict of fields, a list the elements' type and they."""

    kind: int
    value: Any

    def __add__(self, number: Any) -> _Field:
        return _Field(self.kind, self.value + number)


_Struct = dict[int, _Field]


def joined_footers(footers: Iterable[bytes], displacements: Iterable[int]) -> bytes:
    """Return one footer for pieces of a file.

    Parameters
    ----------
    footers
        Of each piece, all of one schema; at least one.
    displacements
        How many bytes further on each piece stands than its footer says.
    """
    first, *others = map(_moved, footers, displacements)
    groups = first[_GROUPS].value[1]
    for other in others:
        first[_ROWS] += other[_ROWS].value
        groups += other[_GROUPS].value[1]
    for ordinal, group in enumerate(groups):
        if _GROUP_ORDINAL in group:
            group[_GROUP_ORDINAL] += ordinal
    return bytes(_struct_bytes(first))


def _moved(footer: bytes, by: int) -> _Struct:
    struct = _Reader(footer).struct()
    for group in struct[_GROUPS].value[1]:
        _move(group, (_GROUP_OFFSET,), by)
        for chunk in group[_CHUNKS].value[1]:
            _move(chunk, _CHUNK_OFFSETS, by)
            _move(chunk[_CHUNK_METADATA].value, _PAGE_OFFSETS, by)
    return struct


def _move(struct: _Struct, offsets: Sequence[int], by: int) -> None:
    for name in offsets:
        # An offset of 0 stands for none.
        if name in struct and struct[name].value:
            struct[name] += by


class _Reader:
    """Reads values one after another."""

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, 0

    def struct(self) -> _Struct:
        fields: _Struct = {}
        name = 0
        while head := self._take(1)[0]:
            step, kind = head >> 4, head & 15
            name = name + step if step else self._signed()
            fields[name] = _Field(kind, self._value(kind))
        return fields

    def _value(self, kind: int) -> Any:
        if kind in {_TRUE, _FALSE}:
            return None
        if kind in _INTEGERS:
            return self._signed()
        if kind == _BINARY:
            return self._take(self._number())
        if kind == _STRUCT:
            return self.struct()
        assert kind == _LIST, f"footers have no type {kind}"  # noqa: S101 - pyarrow writes none
        head = self._take(1)[0]
        size, inner = head >> 4, head & 15
        if size == _LONG_LIST:
            size = self._number()
        return inner, [self._value(inner) for _ in range(size)]

    def _take(self, count: int) -> bytes:
        self._place += count
        return self._data[self._place - count : self._place]

    def _number(self) -> int:
        number = shift = 0
        while True:
            byte = self._take(1)[0]
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def _signed(self) -> int:
        number = self._number()
        return (number >> 1) ^ -(number & 1)


def _struct_bytes(fields: _Struct) -> bytearray:
    data = bytearray()
    before = 0
    for name, (kind, value) in fields.items():
        step = name - before
        data += bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + _signed_bytes(name)
        data += _value_bytes(kind, value)
        before = name
    return data + b"\0"


def _value_bytes(kind: int, value: Any) -> bytes | bytearray:
    if kind in {_TRUE, _FALSE}:
        return b""
    if kind in _INTEGERS:
        return _signed_bytes(value)
    if kind == _BINARY:
        return _number_bytes(len(value)) + bytes(value)
    if kind == _STRUCT:
        return _struct_bytes(value)
    inner, elements = value
    size = len(elements)
    data = bytearray([min(size, _LONG_LIST) << 4 | inner])
    if size >= _LONG_LIST:
        data += _number_bytes(size)
    for element in elements:
        data += _value_bytes(inner, element)
    return data


def _number_bytes(number: int) -> bytes:
    data = bytearray()
    while number > 127:
        data.append(number & 127 | 128)
        number >>= 7
    data.append(number)
    return bytes(data)


def _signed_bytes(number: int) -> bytes:
    return _number_bytes(number << 1 if number >= 0 else (-number << 1) - 1)
