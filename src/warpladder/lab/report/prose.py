"""Docstrings of rungs as blocks of a page: paragraphs, lists, and what is set as it stands."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

__all__ = ["Block", "Span", "blocks_of", "spans_of"]

#: What a paragraph is about stands before it: ``Idea: ...``, ``Mended by: ...``.
_LABEL = re.compile(r"([A-Z][a-z]+(?: [a-z]+)?): ")
_CODE = re.compile(r"``(.+?)``|`(.+?)`")


class Span(NamedTuple):
    """A part of a sentence, and whether it is code."""

    text: str
    is_code: bool


class Block(NamedTuple):
    """A paragraph or a list; what stands in ``items`` are its sentences, an item each.

    Attributes
    ----------
    kind
        ``"text"``, ``"list"``, or ``"lines"`` for a table or formula that keeps its lines.
    label
        What it is about: ``"Idea"``; empty where nothing says so.
    items
        One for a text.
    """

    kind: Literal["text", "list", "lines"]
    label: str
    items: tuple[tuple[Span, ...], ...]


def blocks_of(paragraphs: Iterable[str]) -> list[Block]:
    r"""Return the blocks that paragraphs of a docstring make.

    Examples
    --------
    >>> [block] = blocks_of(["Idea: take `a`\nand b."])
    >>> block.label, [span.text for span in block.items[0]]
    ('Idea', ['take ', 'a', ' and b.'])
    >>> [(block.kind, len(block.items)) for block in blocks_of(["  1  2\n  3  4", "* a\n* b"])]
    [('lines', 1), ('list', 2)]
    """
    return [block for paragraph in paragraphs for block in _blocks(paragraph)]


def _blocks(paragraph: str) -> list[Block]:
    if paragraph.startswith(" "):
        return [Block("lines", "", ((Span(paragraph, is_code=True),),))]
    lines = paragraph.splitlines()
    # A list may follow its introduction without an empty line.
    start = next((at for at, line in enumerate(lines) if line.startswith("* ")), len(lines))
    blocks = []
    if start:
        text = " ".join(line.strip() for line in lines[:start])
        labelled = _LABEL.match(text)
        label = labelled[1] if labelled else ""
        rest = text[labelled.end() :] if labelled else text
        blocks.append(Block("text", label, (spans_of(rest),)))
    if start < len(lines):
        items: list[str] = []
        for line in lines[start:]:
            if line.startswith("* "):
                items.append(line.removeprefix("* "))
            else:
                items[-1] += f" {line.strip()}"
        blocks.append(Block("list", "", tuple(map(spans_of, items))))
    return blocks


def spans_of(text: str) -> tuple[Span, ...]:
    """Return the parts of a sentence; code stands in backticks.

    Examples
    --------
    >>> spans_of("as ``x`` is")
    (Span(text='as ', is_code=False), Span(text='x', is_code=True), Span(text=' is', is_code=False))
    """
    spans, at = [], 0
    for code in _CODE.finditer(text):
        spans.append(Span(text[at : code.start()], is_code=False))
        spans.append(Span(code[1] or code[2], is_code=True))
        at = code.end()
    spans.append(Span(text[at:], is_code=False))
    return tuple(span for span in spans if span.text)
