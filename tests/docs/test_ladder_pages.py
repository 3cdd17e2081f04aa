"""The pages of the course say what the code says, and lead to one another."""

from __future__ import annotations

import doctest
import html
import importlib
import re
from dataclasses import replace

import pytest

import ladder_pages
from listing import listing_as_html
from prose import escaped, paragraph_as_markdown
from warpladder.lab.explain import explain
from warpladder.lab.gutter import choose_columns
from warpladder.lab.questions import ANSWERS
from warpladder.lab.recorded import recording_of
from warpladder.lab.registry import LADDERS, find_rung
from warpladder.lab.text import paragraphs_of, question_of
from warpladder.simulator import SimulatedDevice

LINK = re.compile(r"\]\(([\w-]+)\.md\)")


def page_of(path):
    ladder, rung = find_rung(path)
    return ladder_pages.rung_page(next(iter(ladder_pages.explained(ladder, [rung]))))


def test_a_rung_with_its_text_its_counts_and_its_neighbours():
    page = page_of("primer/strided-access")
    assert "---\n# strided-access\n\n*Rung " in page
    for label in ("Idea", "Below", "Expect", "Source"):
        assert f"**{label}:** " in page
    # 32 sectors a request where 4 would do, at the line that reads.
    ladder, rung = find_rung("primer/strided-access")
    place = ladder.rungs.index(rung)
    below, above = ladder.rungs[place - 1].name, ladder.rungs[place + 1].name
    assert f"Below: [`{below}`]({below}.md) · Above: [`{above}`]({above}.md)" in page
    counter = "{py:attr}`~warpladder.simulator.Counters.global_load_sectors_per_request`"
    assert f"| {counter} == 32 | 256 | 32 | 128 bytes from one thread to the next" in page
    question, answer = page.split("## Question\n")[1].split("{dropdown} Answer\n")
    assert question_of(rung)[:40] in question
    assert " ".join(ANSWERS["primer"]["strided-access"].text.split())[:40] in answer


def test_no_page_teaches_what_does_not_hold(monkeypatch):
    ladder, rung = find_rung("primer/strided-access")
    claim = replace(rung.predicts[0], value=31)
    other = replace(rung, predicts=(claim,))
    (found,) = ladder_pages.explained(replace(ladder, rungs=(other,)), [other])
    assert re.fullmatch(r".* == 31.* fails: .*32", ladder_pages.what_fails(found))
    monkeypatch.setattr(ladder_pages, "explained", lambda *_: [found])
    with pytest.raises(ValueError, match=r"primer/strided-access: .* fails: .*32"):
        ladder_pages.ladder_pages("primer", 0, 40)


def test_no_page_says_that_what_is_right_is_caught():
    ladder, rung = find_rung("primer/early-read")
    (found,) = ladder_pages.explained(ladder, [rung])
    assert not ladder_pages.what_fails(found)
    for wrong in (replace(found.wrong, caught=False), replace(found.wrong, visible={"x": False})):
        told = ladder_pages.what_fails(replace(found, wrong=wrong))
        assert told.startswith("not caught by verification, or not wrong: ")


def test_what_no_check_finds_is_not_said_to_be_stopped_by_one():
    page = page_of("primer/early-read")
    assert "No check of kernels finds it; the comparison with the oracle does:" in page
    assert "With the checks on, **" not in page


def test_the_line_that_reads_has_its_count():
    ladder, rung = find_rung("primer/strided-access")
    explanation = explain(ladder, rung, SimulatedDevice)
    listing = explanation.kernels[0]
    columns = choose_columns([line.counters for line in listing.lines if line.counters], 12)
    shown = listing_as_html(listing, columns, explanation, "a <caption>")
    assert "\n" not in shown
    assert 'aria-label="a &lt;caption&gt;"' in shown
    heads = re.findall(r"<abbr[^>]*>(\w+)</abbr>", shown)
    (row,) = (row for row in shown.split("<tr") if "source" in row and "STRIDE" in row)
    cells = dict(zip(heads, re.findall(r"<td>(.*?)</td>", row), strict=True))
    assert (cells["load"], cells["stor"], cells["thr"]) == ("32", "4", "32")
    assert "roomy" not in shown
    # Where there is little room the rest of the columns stay away, heading and cells.
    narrow = listing_as_html(listing, columns, explanation, "", narrow=columns[1:3])
    hidden = len(columns) - 2
    assert narrow.count('class="roomy"') == hidden * (len(listing.lines) + 1)
    # The code is whole: without tags it is the kernel.
    code = re.findall(r'<td class="code">(.*?)</td>', shown)
    text = [html.unescape(re.sub(r"<[^>]+>", "", line)).rstrip() for line in code]
    assert text == [line.text for line in listing.lines]


def test_a_wrong_rung_says_which_check_stops_it_and_where():
    page = page_of("primer/vector-add-no-guard")
    assert "*A wrong rung of the ladder [Primer](index.md)" in page
    assert "**memcheck** stops it" in page
    assert page.count('<tr class="faulty" title="the fault">') == 1
    assert "Below: [" not in page


def test_a_rung_on_the_cpu_has_its_source_and_no_counters():
    page = page_of("primer/vector-add-cpu")
    assert "## Source\n" in page
    assert "<abbr" not in page
    assert "Below:" not in page.rsplit("## The whole file", 1)[1]


@pytest.mark.parametrize("name", LADDERS)
def test_a_ladder_lists_every_rung_once_in_order(name):
    ladder = ladder_pages.find_ladder(name)
    page = ladder_pages.ladder_page(ladder)
    every = [rung.name for rung in (*ladder.rungs, *(wrong.rung for wrong in ladder.wrong))]
    table = page[page.index("## Rungs") :]
    table = table.replace(table[table.find("## On a GPU") : table.find("## Wrong rungs")], "")
    assert [name for name in LINK.findall(table) if name in every] == every
    assert page.rstrip().endswith("\n".join([*every, "```"]))


def test_every_part_of_a_ladder_is_made_by_one_process(monkeypatch):
    for made_of_one in ("rung_page", "what_fails"):
        monkeypatch.setattr(ladder_pages, made_of_one, lambda _explanation: "")

    class Named:
        def __init__(self, rung):
            self.rung = rung

    monkeypatch.setattr(ladder_pages, "explained", lambda _ladder, rungs: map(Named, rungs))
    whole = list(ladder_pages.ladder_pages("primer"))
    for parts in (1, 2, 5, 100):
        made = [
            path
            for part in range(parts)
            for path in ladder_pages.ladder_pages("primer", part, parts)
        ]
        assert made == whole


def test_what_a_gpu_took_is_told_with_card_and_date():
    ladder, rung = find_rung("shortest-paths/flag-barrier")
    recording = recording_of("shortest-paths")
    time = recording.of(rung)
    shown = "\n".join(ladder_pages._recorded(ladder, ladder.rungs))
    row = f"| [`flag-barrier`](flag-barrier.md) | {time.n:,} | {time.milliseconds:,.0f} |"
    assert row in shown
    assert recording.title in shown
    alone = "\n".join(ladder_pages._recorded(ladder, [rung]))
    assert alone.count("(flag-barrier.md)") == len(recording.all_of("flag-barrier"))
    assert "(one-thread.md)" not in alone
    unheard_of = replace(ladder, name="a ladder that nobody has run")
    assert list(ladder_pages._recorded(unheard_of, ladder.rungs)) == []


def test_the_course_lists_the_ladders_as_the_registry_does():
    page = ladder_pages.course_page("# The course\n", LADDERS)
    assert re.findall(r"^([\w-]+)/index$", page, re.MULTILINE) == list(LADDERS)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Idea: a * b of `c * d`.", r"**Idea:** a \* b of `c * d`."),
        ("Notes: kept as text.", "Notes: kept as text."),
        ("**Ends.** In the middle", "**Ends:** In the middle"),
        ("* one,\n  more;\n* two", "* one,\n  more;\n* two"),
        ("Expect: two things:\n* one\n* two", "**Expect:** two things:\n\n* one\n* two"),
        ("so\n- 1 is no list", "so\n\\- 1 is no list"),
        ("    a  b\n      c", "```text\na  b\n  c\n```"),
    ],
)
def test_prose(text, shown):
    assert paragraph_as_markdown(text) == shown


PATHS = [
    f"{name}/{rung.name}"
    for name in LADDERS
    for ladder in [ladder_pages.find_ladder(name)]
    for rung in (*ladder.rungs, *(wrong.rung for wrong in ladder.wrong))
]


@pytest.mark.parametrize("path", PATHS)
def test_text_is_not_lost(path):
    """Escapes and the mark of a label taken away, it is as before."""
    for paragraph in paragraphs_of(find_rung(path)[1]):
        made = paragraph_as_markdown(paragraph)
        plain = re.sub(r"^\*\*(.+?):\*\* ", r"\1: ", re.sub(r"\\(?=[^a-zA-Z0-9\s])", "", made))
        plain = plain.removeprefix("```text\n").removesuffix("\n```")
        words = re.sub(r"^\*\*(.+?)\.\*\* ", r"\1: ", paragraph).split()
        assert plain.split() == words


def test_escapes_reach_everything_that_markdown_would_take():
    assert escaped("a_b [c](d) <e> $f$ | ~g~ {h}") == (r"a\_b \[c\](d) \<e\> \$f\$ \| \~g\~ \{h\}")


@pytest.mark.parametrize("name", ["counter_pages", "ladder_pages", "prose"])
def test_examples_in_the_extension(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted
    assert not found.failed
