"""The Sphinx extension of the site: it writes the pages that are made from the code.

They are written before Sphinx looks for pages, into folders that git ignores: the ladders, the page
of counters, and copies of the notebooks, which stand beside ``docs`` where a reader looks for them.
"""

from __future__ import annotations

import os
import re
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.errors import ExtensionError

from counter_pages import counters_page
from ladder_pages import course_page, ladder_pages
from warpladder.lab.registry import LADDERS

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["refuse_what_is_fetched", "setup", "write_pages"]

#: What a browser loads without being asked; links are followed by people.
_FETCHED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=\"(?:https?:)?//[^\"]*\"")


def write_pages(app: Sphinx) -> None:
    """Write every page that is made from the code; those that say the same are left alone."""
    folder = Path(app.srcdir)
    introduction = (folder / "_templates" / "course.md").read_text(encoding="utf-8")
    wanted = {
        folder / "counters.md": counters_page(),
        folder / "ladders" / "index.md": course_page(introduction, app.config.warpladder_ladders),
    }
    for notebook in (folder.parent / "notebooks").glob("*.ipynb"):
        text = notebook.read_text(encoding="utf-8")
        wanted[folder / "notebooks" / notebook.name] = linked_here(text)
    cores = os.cpu_count() or 1
    # Shortest paths take as long as all others together, so a ladder is shared by the cores.
    shares = [
        (name, part, cores) for name in app.config.warpladder_ladders for part in range(cores)
    ]
    with ProcessPoolExecutor(cores) as pool:
        for pages in pool.map(ladder_pages, *zip(*shares, strict=True)):
            wanted |= {folder / "ladders" / path: text for path, text in pages.items()}
    for path, text in wanted.items():
        _write(path, text)
    for path in (*folder.glob("ladders/*/*.md"), *folder.glob("notebooks/*.ipynb")):
        if path not in wanted:
            path.unlink()


def linked_here(notebook: str) -> str:
    """Return a notebook of the repository with links to the pages that the site has of its files.

    Examples
    --------
    >>> linked_here("[primer](../src/warpladder/primer/ladder.py), [join](../docs/tour/overlap.md)")
    '[primer](../ladders/primer/index.md), [join](../tour/overlap.md)'
    """
    text = re.sub(r"\(\.\./src/warpladder/(\w+)/ladder\.py\)", _ladder_page, notebook)
    return text.replace("](../docs/", "](../")


def _ladder_page(link: re.Match[str]) -> str:
    return f"(../ladders/{link[1].replace('_', '-')}/index.md)"


def _write(path: Path, text: str) -> None:
    """Write a file unless it has this text already: Sphinx reads anew what is newer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def refuse_what_is_fetched(app: Sphinx, fault: Exception | None) -> None:
    """End the build where a page would load something from elsewhere: the site is read offline.

    Raises
    ------
    ExtensionError
        It names the first such page.
    """
    for page in sorted(Path(app.outdir).rglob("*.html") if fault is None else ()):
        for found in _FETCHED.finditer(page.read_text(encoding="utf-8")):
            raise ExtensionError(f"{page}: {found[0]}> is fetched from elsewhere")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_config_value("warpladder_ladders", list(LADDERS), "env", types=frozenset({list}))
    app.connect("builder-inited", write_pages)
    app.connect("build-finished", refuse_what_is_fetched)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
