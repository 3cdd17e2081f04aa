"""The page: sound HTML that says what the document has, and nothing that is not text as text."""

from __future__ import annotations

import re
import sys

import pytest
import reporting

from warpladder.errors import MissingExtraError
from warpladder.lab.report import page as module
from warpladder.lab.report.page import render

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def page():
    return render(reporting.document_of("toy", "broken", "nasty", explored=["curious"]))


@pytest.fixture(scope="module")
def tree(page):
    return reporting.parsed(page)


def section(tree, name):
    return next(one for one in tree.iter() if one.get("id") == name)


def test_the_page_is_sound(tree):
    reporting.assert_sound(tree)


def test_every_rung_is_there_with_text_evidence_and_source(tree):
    strided = section(tree, "toy-strided")
    told = reporting.text_of(strided)
    assert "Twice each number, in every way that is right, and wrong." in told
    assert "Idea: to this belongs a paragraph, which is shown, too." in told
    assert (
        "Holds at n = 33: global_load_sectors_per_request predicted 32, counted 32. It is so."
        in told
    )
    assert "double, n = 33: 1 launch, grid 2, block 32" in told
    row = next(row for row in strided.iter("tr") if "y[...] = x + x" in "".join(row.itertext()))
    cells = ["".join(cell.itertext()) for cell in row.iter("td")]
    headings = [reporting.text_of(cell) for cell in strided.iter("th")]
    assert headings == ["req", "load", "used", "thr", "line", "source"]
    assert cells[:4] == ["10", "32", "12.5", "30"]
    assert cells[-1] == "    y[...] = x + x"
    compared = reporting.text_of(section(tree, "toy-neighbours"))
    assert "predicted 1/8 x strided's, counted 1/8 x. It is so." in compared


def test_a_picture_and_a_question_are_there():
    document = reporting.document_of("toy")
    rung = document["ladders"][0]["rungs"][1]
    rung["picture"] = {"kind": "lanes", "shows": "which lane goes where", "png": "iVBORw0KGgo="}
    rung["explained"]["question"] = "Why `that`?"
    strided = section(reporting.parsed(render(document)), "toy-strided")
    (picture,) = (one for one in strided.iter("img"))
    assert picture.get("src") == "data:image/png;base64,iVBORw0KGgo="
    assert (
        picture.get("alt") == "strided, drawn from a run on the simulator: which lane goes where."
    )
    assert "Question: Why that?" in reporting.text_of(strided)


def test_what_is_wrong_is_said(tree):
    race = reporting.text_of(section(tree, "toy-race"))
    assert race.startswith("race race [as the title] (wrong by intent)")
    assert "Wrong by intent; racecheck must catch it. It does:" in race
    assert "under the schedule warps-reverse is wrong" in race
    liar = reporting.text_of(section(tree, "broken-liar"))
    assert "Fails at n = 33: warp_instructions predicted 1,234,567, counted 20." in liar
    off = reporting.text_of(section(tree, "broken-off"))
    assert "Wrong: off is wrong at n = 1, 2, 33" in off
    harmless = reporting.text_of(section(tree, "broken-harmless"))
    assert "memcheck must catch it. It does not." in harmless
    assert "Something is not as it must be" in reporting.text_of(section(tree, "machine"))


def test_recorded_times_are_marked_with_card_and_date(tree):
    toys = reporting.text_of(section(tree, "toy"))
    assert "Recorded on NVIDIA H200, 2026-11-20" in toys
    assert "not measured here" in toys
    row = next(
        row for row in section(tree, "toy").iter("tr") if reporting.text_of(row)[:7] == "strided"
    )
    assert [reporting.text_of(cell) for cell in row.iter("td")][:2] == ["right", "4"]
    assert "recorded, msn = 512" in toys
    assert "Recorded" not in reporting.text_of(section(tree, "broken"))


def test_measured_times_take_the_place_of_recorded_ones():
    tree = reporting.parsed(render(reporting.document_of("toy", gpu=True)))
    reporting.assert_sound(tree)
    told = reporting.text_of(section(tree, "toy"))
    assert "measured for this report" in told
    assert "Recorded" not in told
    row = next(
        row for row in section(tree, "toy").iter("tr") if reporting.text_of(row)[:7] == "strided"
    )
    cells = [reporting.text_of(cell) for cell in row.iter("td")]
    assert cells[:3] == ["right", "1,000", "2"]
    assert cells[4] == "25 %"


def test_text_is_no_markup(page, tree):
    assert reporting.HOSTILE not in page
    assert reporting.HOSTILE in reporting.text_of(section(tree, "nasty-title"))
    assert len(list(tree.iter("script"))) == 1


def test_nothing_is_fetched(page, tree):
    policy = next(one for one in tree.iter("meta") if one.get("http-equiv"))
    assert policy.get("content").startswith("default-src 'none'")
    # Names of XML's spaces are no addresses.
    rest = re.sub(r'xmlns(:\w+)?="[^"]*"', "", page)
    assert not re.search(r"https?://|//\w+\.\w|@import|url\((?!#)", rest)


def test_an_exploration_has_its_answer_table_and_plot(tree):
    curious = section(tree, "explore-curious")
    told = reporting.text_of(curious)
    assert "Is it <so>?" in told
    assert "It is: n is 4." in told
    assert "Times are not measured: the report was made on the simulator." in told
    rows = [[reporting.text_of(cell) for cell in row] for row in curious.iter("tr")]
    assert rows == [["n", "time", "x"], ["4", "2.5 ms", "--"], ["7", "--", "2.5"]]
    assert curious.find(".//caption").text == "what came out"
    picture = next(one for one in curious.iter("div") if one.get("role") == "img")
    assert picture.get("aria-label") == "how it went: share against n; counted."


def test_the_five_sources_stand_at_the_end(tree):
    assert [one.get("id") for one in section(tree, "sources").iter("div")] == [
        f"source-{key}" for key in ("CF", "GR", "HB", "IM", "RD")
    ]


@pytest.mark.parametrize("package", ["jinja2", "matplotlib", "pygments"])
def test_a_missing_package_is_named_with_what_to_install(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"needs {package}.*warpladder\[report\]"):
        module.require_packages()


# ---- colours ---------------------------------------------------------------------------------


def colours():
    """Return the colours by name, in the light and in the dark."""
    style = module._text("style.css")
    light, dark = re.findall(r":root \{(.*?)\}", style, re.DOTALL)[:2]
    named = [dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", text)) for text in (light, dark)]
    assert named[0].keys() == named[1].keys() > {"ground", "ink"}
    return named


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_letters_stand_out_from_what_is_behind_them(scheme):
    """WCAG 2.2, level AA: 4.5 to 1."""
    named = colours()[scheme]
    grounds = {"ground", "panel", "fault"}
    for letters in named.keys() - grounds - {"line"}:
        for ground in grounds:
            light, dark = sorted((luminance(named[letters]), luminance(named[ground])))[::-1]
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (letters, ground)
