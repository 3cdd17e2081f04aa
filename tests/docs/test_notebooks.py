"""The notebooks hold no results, and run from top to bottom."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
pytestmark = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells_of(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def test_no_results_are_kept(path):
    for cell in cells_of(path):
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None


def test_it_begins_with_a_title_and_ends_with_questions(path):
    first, *_, last = ("".join(cell["source"]) for cell in cells_of(path))
    assert first.startswith("# ")
    assert "## Now you" in last


def test_the_site_has_it(path):
    index = (ROOT / "docs" / "notebooks" / "index.md").read_text(encoding="utf-8")
    assert f"]({path.name})" in index
    assert f"\n{path.stem}\n" in index


def test_its_links_lead_somewhere_from_where_it_stands(path):
    told = [cell for cell in cells_of(path) if cell["cell_type"] == "markdown"]
    text = "".join(line for cell in told for line in cell["source"])
    links = re.findall(r"\]\(([^)#]+)", text)
    assert all(link.startswith("http") or (path.parent / link).exists() for link in links)


@pytest.mark.large
def test_it_runs(path):
    nbclient = pytest.importorskip("nbclient", reason="needs the extra docs")
    nbformat = pytest.importorskip("nbformat", reason="needs the extra docs")
    notebook = nbformat.read(path, as_version=4)
    # A cell that raises ends it here.
    nbclient.NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(path.parent)}}
    ).execute()
    printed = "".join(
        output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", ())
    )
    assert printed
    assert "Traceback" not in printed
