"""What a page is put together from: prose, listings, plots."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html import unescape

import pytest
import reporting

from warpladder.lab.report.prose import blocks_of, spans_of

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from warpladder.lab.report import figures, listings

SVG = "{http://www.w3.org/2000/svg}"


def test_paragraphs_lists_and_lines():
    lead, item, lines = blocks_of(["Idea: so\nand so:\n* `a`\n  and b\n* c", "    1  2\n    3  4"])
    assert (lead.kind, lead.label, lead.items[0][0].text) == ("text", "Idea", "so and so:")
    assert [[span.text for span in one] for one in item.items] == [["a", " and b"], ["c"]]
    assert lines.items[0][0].text == "    1  2\n    3  4"


def test_a_sentence_with_a_colon_has_no_label():
    assert blocks_of(["What stands here has more words: so it is none."])[0].label == ""
    assert spans_of("`a``b` is") == (("a", True), ("b", True), (" is", False))


def test_lines_over_several_of_which_a_string_goes_stay_whole():
    lines = ['x = """<a>', "b & c", '"""', "", "# done"]
    coloured = listings._coloured(lines)
    assert [unescape(re.sub("<.*?>", "", line)) for line in coloured] == lines
    for line in coloured:
        ET.fromstring(f"<p>{line}</p>")  # noqa: S314 - made here


def test_a_listing_of_a_wrong_rung_marks_the_faulty_line():
    explained = reporting.document_of("toy")["ladders"][0]["wrong"][0]["explained"]
    (kernel,) = explained["kernels"]
    line = kernel["lines"][2]["number"]
    explained["faulty_lines"] = [{"file": "toy.py", "line": line}]
    (found,) = listings.listings_of(explained)
    assert [one.number for one in found.lines if one.is_faulty] == [line]
    assert found.launched == "n = 33: 1 launch, grid 2, block 32"
    assert dict(found.totals)["global_load_sectors"] == "4"


def drawn(plot):
    """Return the elements of a drawing; a fault in its XML raises."""
    svg = str(plot.svg)
    return ET.fromstring(svg), svg  # noqa: S314 - made here


def test_the_climb_is_drawn_at_the_size_of_most_rungs():
    times = [("a", 10, 1.0), ("a", 20, 0.004), ("b", 20, 0.0005), ("c", 5, 1.0)]
    plot = figures.climb_plot(times, "a card, on a day", 7)
    root, svg = drawn(plot)
    words = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert {"a", "b"} <= set(words)
    assert "c" not in words
    assert "slowest is a with 4 ms, the fastest b with 0.5 ms" in plot.alt
    assert plot.caption == "Kernels of each rung for n = 20: a card, on a day."
    assert not re.search(r'(id="|href="#|url\(#)(?!d7-)', svg)
    assert "#000000" not in svg
    assert "var(--ink)" in svg
    assert figures.climb_plot(times[-1:], "", 1) is None
    assert figures.climb_plot([], "", 1) is None


def test_a_line_joins_rungs_that_compute_the_same():
    times = [(rung, 20, 0.001 * place) for place, rung in enumerate("abcd", 1)]

    def ends(tasks=None):
        root, _ = drawn(figures.climb_plot(times, "", 1, tasks))
        lines = [group for group in root.iter(f"{SVG}g") if "line2d" in group.get("id", "")]
        paths = [path.get("d", "") for line in lines for path in line.findall(f"{SVG}path")]
        # Those of the axes are straight; in a climb every piece leads elsewhere.
        return sorted(path.count("L") for path in paths if path.count("L") > 1)

    assert ends() == [3]
    assert ends(dict.fromkeys("abcd", "add")) == [3]
    assert ends({"a": "add", "b": "add", "c": "add", "d": "sort"}) == [2]


def test_shares_are_those_that_were_counted():
    rungs = reporting.document_of("toy")["ladders"][0]["rungs"]
    plot = figures.evidence_plot(rungs, 1)
    # 1280 of 320 sectors' bytes, 30 of 32 threads; the least is told.
    assert plot.alt.endswith("strided 12 % (bytes moved); neighbours 94 % (threads of a warp).")
    assert figures.evidence_plot(rungs[:1], 1) is None


def test_a_panel_with_bars_and_one_with_curves():
    series = [{"name": "s", "x": [0, 1], "y": [1.0, None], "model": False}]
    panel = {
        "title": "t", "x_label": "x", "y_label": "y", "series": series, "log_base": None,
        "connected": True, "categories": ["one", "two"],
    }  # fmt: skip
    for categories in (["one", "two"], []):
        plot = figures.panel_plot({**panel, "categories": categories}, 3)
        root, _ = drawn(plot)
        words = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
        assert ("one" in words) == bool(categories)
        assert plot.alt == "t: y against x; s."
