"""The text of rungs as Markdown: the same paragraphs that ``explain`` prints, set for a page."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["escaped", "paragraph_as_markdown"]

#: What a paragraph is about, where it says so: by one of the words of all rungs, or in bold.
_LABEL = re.compile(r"(Idea|Below|Expect|Found|Fault|Mended by|Source): |\*\*([^*]+)[.:]\*\* ")
_CODE = re.compile(r"(``.+?``|`[^`]+`)", re.DOTALL)
# A dash, a plus or a number would begin a list; `#`, `>` and `=` a heading or a quotation.
_BEGINS_A_BLOCK = re.compile(r"^(\s*\d*)([-+#>=.)])(?=\s|$)", re.MULTILINE)


def escaped(text: str) -> str:
    r"""Return text that Markdown shows as it stands; what is in backticks stays code.

    Examples
    --------
    >>> print(escaped("2 * n of `a * b` in x[i], not <c>"))
    2 \* n of `a * b` in x\[i\], not \<c\>
    """
    parts = _CODE.split(text)
    parts[::2] = [re.sub(r"([\\*_\[\]<>$|{}~])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def paragraph_as_markdown(paragraph: str, linked: Callable[[str], str] = escaped) -> str:
    r"""Return a paragraph of a rung's docstring as Markdown.

    Parameters
    ----------
    paragraph
        As `warpladder.lab.text.paragraphs_of` gives it. One whose first line is indented is a table
        and keeps its lines.
    linked
        Makes Markdown of running text; by default text without links.

    Examples
    --------
    >>> print(paragraph_as_markdown("Idea: n * n threads."))
    **Idea:** n \* n threads.
    >>> print(paragraph_as_markdown("    stride   1   2"))
    ```text
    stride   1   2
    ```
    """
    lines = paragraph.splitlines()
    if lines[0].startswith(" "):
        indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
        return "\n".join(["```text", *(line[indent:] for line in lines), "```"])
    label, text = _label_of(paragraph)
    head = f"**{label}:** " if label else ""
    items = re.split(r"^\* ", text, flags=re.MULTILINE)
    shown = [_BEGINS_A_BLOCK.sub(r"\1\\\2", linked(item.strip())) for item in items]
    if len(shown) > 1:
        # A list stands apart from what leads to it.
        shown[0] += "\n"
    return (head + "\n* ".join(shown)).lstrip("\n")


def _label_of(paragraph: str) -> tuple[str, str]:
    found = _LABEL.match(paragraph)
    return (found[1] or found[2], paragraph[found.end() :]) if found else ("", paragraph)
