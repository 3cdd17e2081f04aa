"""A report of toys, and a page looked at as browsers look at it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
import toy
from fakes import FakeGpu, FakeSimulator

from warpladder.lab import ceilings, registry
from warpladder.lab.explore import registry as explorations
from warpladder.lab.explore.exploration import Column, Exploration, Findings, Panel, Series, Table
from warpladder.lab.recorded import Recording
from warpladder.lab.report import examine, gather
from warpladder.rung import Ladder

HOSTILE = "</script><script>alert(1)</script> & <b>"
NASTY = Ladder(
    "nasty",
    HOSTILE,
    (replace(toy.STRIDED, name="hostile", title=HOSTILE, predicts=(toy.claim(32),)),),
)
SERIES = Series("counted", (1, 2, 4), (1.0, None, 0.25))
CURIOUS = Exploration(
    name="curious",
    question="Is it <so>?",
    source="beyond",
    run=lambda setting: Findings(
        (
            Table(
                "what came out",
                (Column("n", "n", "count"), Column("t", "time", "seconds"), Column("x", "x")),
                ({"n": max(setting.sizes), "t": 0.0025, "x": None}, {"n": 7, "t": None, "x": 2.5}),
            ),
        ),
        ("It is: `n` is 4.",),
        (Panel("how it went", "n", "share", (SERIES,), log_base=10),),
        (f"Times are not measured: {setting.why_no_gpu}.",),
    ),
    sizes=(9,),
    largest=9,
    why_largest="it is a toy",
    rung="toy/strided",
)
RECORD = Recording(
    "NVIDIA H200",
    "2026-11-20",
    "gpu_toy-nvidia-h200.json",
    {"strided": {64: 0.001, 512: 4.0}, "neighbours": {512: 0.5}},
)


def document_of(*names, gpu=False, explored=()):
    """Return the document of toys, made in this process."""
    ladders = {"toy": "toy:LADDER", "broken": "toy:BROKEN", "nasty": "reporting:NASTY"}
    where = FakeGpu() if gpu else FakeSimulator()
    with pytest.MonkeyPatch.context() as put:
        put.setattr(registry, "LADDERS", ladders)
        put.setattr(explorations, "EXPLORATIONS", {"curious": "reporting:CURIOUS"})
        put.setitem(examine.EXPLORED, "curious", (2, 4))
        put.setattr(ceilings, "copy_bytes_per_second", lambda _device: 8000 / 5e-4)
        put.setattr(ceilings, "best_read", lambda _device: 1.0)
        put.setattr(gather, "recording_of", lambda name: RECORD if name == "toy" else None)
        known = ceilings.Ceilings(where) if gpu else None
        return gather.gather(names, explored, examine.Examiner(where, FakeSimulator, known))


def parsed(page):
    """Return the tree of a page that holds to the letter of HTML; a fault raises."""
    html5lib = pytest.importorskip("html5lib")
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    return parser.parse(page)


def text_of(element):
    return " ".join("".join(element.itertext()).split())


def assert_sound(tree):
    """Names are given once, links lead somewhere here, headings step down one by one."""
    ids = [one.get("id") for one in tree.iter() if one.get("id")]
    assert len(ids) == len(set(ids))
    for one in tree.iter():
        if not isinstance(one.tag, str):
            continue
        for name in ("href", "src"):
            target = one.get(name, "#")
            assert target.startswith("data:") or target == "#" or target[1:] in ids, target
        assert one.get("aria-labelledby") in {None, *ids}
    headings = [int(one.tag[1]) for one in tree.iter() if one.tag in {"h1", "h2", "h3", "h4"}]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(below - above <= 1 for above, below in pairwise(headings))
    for table in tree.iter("table"):
        assert table.findall(".//th")
        assert all(cell.get("scope") in {"row", "col"} for cell in table.iter("th"))
    for drawing in tree.iter("{http://www.w3.org/2000/svg}svg"):
        assert drawing.get("aria-hidden") == "true"
    pictures = [one for one in tree.iter("div") if one.get("role") == "img"]
    assert all(len(one.get("aria-label")) > 20 for one in pictures)
    for landmark in ("header", "nav", "main", "footer"):
        assert len(list(tree.iter(landmark))) == 1
