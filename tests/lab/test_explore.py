"""What all explorations share: the list, the contract, times, launches, pictures."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from choosing import only
from warpladder.errors import InputError
from warpladder.lab.explore import measure
from warpladder.lab.explore.exploration import Findings, Panel, Series, Setting, paragraph
from warpladder.lab.explore.measure import Spread, in_turn, unsteady
from warpladder.lab.explore.plot import draw
from warpladder.lab.explore.registry import EXPLORATIONS, explorations, find_exploration
from warpladder.lab.launches import launched


def test_every_exploration_has_one_file_and_is_listed():
    folder = Path(measure.__file__).parent
    files = {
        file.stem for file in folder.glob("*/*.py") if "EXPLORATION = " in file.read_text("utf-8")
    }
    assert files == {name.replace("-", "_") for name in EXPLORATIONS}
    assert [one.name for one in explorations()] == list(EXPLORATIONS)


@pytest.mark.parametrize("name", EXPLORATIONS)
def test_what_an_exploration_says_of_itself(name):
    one = find_exploration(name)
    assert one.question.endswith("?")
    assert len(one.question) <= 67  # a line of the listing at 80 columns
    assert one.source.startswith(("CF", "GR", "HB", "IM", "RD"))
    assert list(one.sizes) == sorted(set(one.sizes))
    assert 1 <= one.sizes[0] <= one.sizes[-1] <= one.largest
    assert list(one.gpu_sizes) == sorted(set(one.gpu_sizes))
    text = sys.modules[one.run.__module__].__doc__
    assert paragraph(text, "Expect")
    assert paragraph(text, "Source: ") == one.source


@pytest.mark.parametrize(
    ("name", "said"),
    [("growht", "did you mean growth?"), ("", "no exploration ''; `warpladder explore` lists")],
)
def test_a_name_that_is_none(name, said):
    with pytest.raises(InputError) as fault:
        find_exploration(name)
    assert said in str(fault.value)


def test_watch_tells_before_each_job_and_survives_costs_of_nothing():
    told = []
    setting = Setting((), progress=lambda done, comes: told.append((done, comes)))
    assert list(setting.watch([1, 2, 5], str, float)) == [1, 2, 5]
    assert told == [(0, "1"), (1 / 8, "2"), (3 / 8, "5")]
    assert list(setting.watch([0], str, float)) == [0]
    assert list(setting.watch([], str, float)) == []


def test_tasks_are_timed_in_turn_and_quartiles_are_those_of_numpy(monkeypatch):
    import numpy as np

    monkeypatch.setattr(measure, "_SECONDS_EACH", 0)
    order, given = [], iter([0.5, 0.1, 0.9, 0.4, 0.2])

    def first():
        order.append("first")
        return next(given)

    def second():
        order.append("second")
        return 0.25

    spreads = in_turn({"first": first, "second": second})
    assert order == ["first", "second"] * 5
    quartiles = np.quantile([0.5, 0.1, 0.9, 0.4, 0.2], [0.25, 0.5, 0.75])
    assert spreads["first"][:3] == pytest.approx(tuple(quartiles))
    assert spreads["second"] == Spread(0.25, 0.25, 0.25, 5)


def test_short_tasks_are_repeated_until_they_have_taken_a_while():
    spreads = in_turn({"short": lambda: 0.01, "long": lambda: 0.03})
    assert spreads["short"].rounds == 10  # 0.4 seconds for the two


def test_unsteady_times_are_named():
    steady, shaky = Spread(1.0, 1.2, 1.4, 5), Spread(1.0, 1.2, 1.6, 5)
    assert unsteady({"a": steady}) == ()
    (said,) = unsteady({"a": steady, "b": shaky, "c": shaky})
    assert ": b, c. " in said


@pytest.mark.parametrize(("n", "blocks"), [(1, 1), (2, 2), (255, 255), (256, 256), (257, 514)])
def test_launches_are_noted_without_being_run(n, blocks):
    found = launched("shortest-paths/row-blocks", n)
    assert len(found) == n
    assert {launch.blocks for launch in found} == {blocks}
    assert {launch.warps for launch in found} == {8 * blocks}


CURVES = Panel(
    "curves",
    "x",
    "y",
    (
        Series("a", (1, 2, 4), (0.1, None, 3.0)),
        Series("b", (1, 2), (0.2, 0.3)),
        Series("fit", (1, 4), (0.1, 2.0), model=True),
    ),
    log_base=10,
)
POINTS = Panel("points", "x", "y", (Series("a", (1, 2), (3, 4)),), connected=False)
BARS = Panel(
    "bars",
    "x",
    "y",
    (Series("a", (0, 1), (1.0, None)), Series("b", (0, 1), (2.0, 3.0))),
    categories=("left", "right"),
)
MAGIC = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.mark.parametrize("kind", only(lambda kind: kind in {".svg", ".PNG"}, [*MAGIC, ".PNG"]))
def test_panels_are_drawn(tmp_path, kind):
    pytest.importorskip("matplotlib")
    path = tmp_path / f"picture{kind}"
    draw((CURVES, POINTS, BARS), path, "three panels")
    assert path.read_bytes().startswith(MAGIC[kind.lower()])
    assert list(tmp_path.iterdir()) == [path]


def test_findings_as_plain_values_leave_the_drawing_out():
    found = Findings((), ("Yes.",), (CURVES,), ("No GPU.",)).as_dict()
    assert found == {"tables": [], "answer": ["Yes."], "remarks": ["No GPU."]}
