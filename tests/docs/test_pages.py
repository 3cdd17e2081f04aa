"""What the pages of the site show behind a prompt is what happens, in Python and in a shell."""

from __future__ import annotations

import doctest
import io
import re
import runpy
import shlex
import shutil
from contextlib import redirect_stdout
from pathlib import Path
from types import SimpleNamespace

import pytest

from calling import call
from warpladder.simulator.checks.options import CHECKS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MADE = ("ladders", "notebooks", "_build", "_templates")
PAGES = [
    path.relative_to(DOCS)
    for path in sorted(DOCS.rglob("*.md"))
    if path.relative_to(DOCS).parts[0] not in MADE
]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
FENCE = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    found = FENCE.findall((DOCS / page).read_text(encoding="utf-8"))
    return [text for kind, text in found if kind == language]


def sessions(page: Path) -> list[tuple[str, str]]:
    """Return the commands of a page, each with what it prints."""
    found = []
    for text in blocks(page, "console"):
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            found.append((command, shown))
    return found


def differences(wanted: str, seen: str) -> str:
    """Return what differs, as doctest words it; nothing where all is as wanted."""
    if doctest.OutputChecker().check_output(wanted, seen, FLAGS):
        return ""
    example = SimpleNamespace(want=wanted)
    return doctest.OutputChecker().output_difference(example, seen, FLAGS)


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder with what a reader has who stands in the repository, but for what is written."""
    for name in ("data", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=str)
def test_python(page):
    # One after the other: what a page has defined is known below.
    session = "\n".join(blocks(page, "python"))
    assert ">>>" in session
    test = doctest.DocTestParser().get_doctest(session, {}, str(page), str(page), 0)
    told: list[str] = []
    failed = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.append).failed
    assert not failed, "".join(told)


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize("page", [page for page in PAGES if sessions(page)], ids=str)
def test_commands(page):
    for command, wanted in sessions(page):
        program, *arguments = shlex.split(command)
        if program == "warpladder":
            done = call(*arguments)
            assert done.returncode == 0, done.stderr
            seen = done.stdout
        else:
            assert program == "python", f"{page}: nobody tries {command}"
            # In this process: another takes seconds for its imports alone.
            with redirect_stdout(io.StringIO()) as shown:
                runpy.run_path(*arguments, run_name="__main__")
            seen = shown.getvalue()
        assert not differences(wanted, seen), f"{page}: {command}"


def test_a_page_that_says_something_else_is_noticed():
    assert differences("total 1\n", "total 2\n")
    assert not differences("total ...\nend\n", "total 2\nend\n")


def test_every_check_that_has_a_name_is_told():
    told = (DOCS / "simulator.md").read_text(encoding="utf-8")
    assert [name for name in CHECKS if not re.search(rf"^{name}\n: ", told, re.MULTILINE)] == []


def test_every_python_block_has_a_prompt_or_comes_from_a_file():
    for page in PAGES:
        for text in blocks(page, "python"):
            assert text.startswith(">>> "), f"{page}: {text}"
