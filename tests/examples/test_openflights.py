from __future__ import annotations

import csv
import importlib.util
import io
import runpy
import subprocess
import sys
from contextlib import redirect_stderr
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from warpladder import read_graph

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "openflights.py"
QUARTER_OF_A_GREAT_CIRCLE = 10_008  # a quarter of 2 pi times 6371.0088 km is 10007.557

AIRPORTS = """\
1,"Null Island","Ocean","Nowhere","AAA","XAAA",0,0,0,0,"U","UTC","airport","made up"
2,"East, with a comma","Ocean","Nowhere","BBB","XBBB",0,90.0,0,0,"U","UTC","airport","made up"
3,"Pole","Ice","Nowhere","CCC",\\N,90,12.5,0,0,"U","UTC","airport","made up"
4,"Moved","Ice","Nowhere","NEW","XDDD",0,-180,0,0,"U","UTC","airport","made up"
5,"Lost","Ice","Nowhere","EEE","XEEE",\\N,\\N,0,0,"U","UTC","airport","made up"
"""
ROUTES = """\
XX,1,AAA,1,BBB,2,,0,320
YY,2,AAA,1,BBB,2,Y,0,738
XX,1,BBB,2,AAA,1,,0,320
XX,1,AAA,1,CCC,3,,0,320
XX,1,DDD,4,AAA,1,,1,320
XX,1,AAA,1,ZZZ,\\N,,0,320
XX,1,AAA,1,EEE,5,,0,320
XX,1,AAA,1,FFF,99,,0,320
XX,1,AAA,1,AAA,1,,0,320
"""


@pytest.fixture
def downloads(tmp_path: Path) -> list[str]:
    files = tmp_path / "routes.dat", tmp_path / "airports.dat"
    for file, text in zip(files, (ROUTES, AIRPORTS), strict=True):
        file.write_text(text, encoding="utf-8")
    return list(map(str, files))


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("openflights", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *options], capture_output=True, text=True, check=False
    )


def run_here(*options: str) -> tuple[int | str | None, str]:
    """Return what the script exits with and its complaints; another process takes a second."""
    with patch.object(sys, "argv", [str(SCRIPT), *options]), redirect_stderr(io.StringIO()) as said:
        try:
            runpy.run_path(str(SCRIPT), run_name="__main__")
        except SystemExit as ended:
            # Python writes what is no number.
            complaint = ended.code if isinstance(ended.code, str) else ""
            return ended.code, said.getvalue() + complaint
    return 0, said.getvalue()


def rows(file: Path) -> list[list[str]]:
    with file.open(newline="") as opened:
        return list(csv.reader(opened))


def test_the_whole_map(downloads: list[str], tmp_path: Path) -> None:
    output = tmp_path / "flights.csv"
    done = run(*downloads, "-o", str(output))
    assert done.returncode == 0, done.stderr
    quarter = str(QUARTER_OF_A_GREAT_CIRCLE)
    assert rows(output) == [
        ["source", "target", "km"],
        ["AAA", "BBB", quarter],
        ["AAA", "CCC", quarter],
        ["BBB", "AAA", quarter],
        ["DDD", "AAA", "20015"],
    ]
    assert done.stderr.splitlines() == [
        "routes left out, an airport is not identified: 1",
        "routes left out, an airport has no coordinates: 2",
        "routes left out, it ends where it begins: 1",
        f"wrote {output}: 4 airports, 4 edges for 5 routes",
    ]
    graph = read_graph(output)
    assert (graph.n, graph.edge_count, graph.directed) == (4, 4, True)
    assert set(graph.labels or ()) == {"AAA", "BBB", "CCC", "DDD"}


def test_only_the_busiest_airports(downloads: list[str], tmp_path: Path) -> None:
    output = tmp_path / "hubs.csv"
    assert run_here(*downloads, "-o", str(output), "--hub-count", "2")[0] == 0
    assert [row[:2] for row in rows(output)[1:]] == [["AAA", "BBB"], ["BBB", "AAA"]]
    assert run_here(*downloads, "-o", str(output), "--hub-count", "1", "--also", "DDD")[0] == 0
    assert [row[:2] for row in rows(output)[1:]] == [["DDD", "AAA"]]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--hub-count", "0"], "--hub-count must be at least 1"),
        (["--also", "DDD"], "--also goes with --hub-count"),
        (["--hub-count", "1", "--also", "QQQ"], "--also: no route begins or ends at QQQ"),
    ],
)
def test_options_that_make_no_sense(
    downloads: list[str], tmp_path: Path, options: list[str], complaint: str
) -> None:
    status, said = run_here(*downloads, "-o", str(tmp_path / "x.csv"), *options)
    assert status not in {0, None}
    assert complaint in said


def test_swapped_files_are_noticed(downloads: list[str], tmp_path: Path) -> None:
    done = run(*reversed(downloads), "-o", str(tmp_path / "x.csv"))
    assert done.returncode == 1
    assert "routes.dat, line 1: expected 12 fields, found 9" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("one", "other", "km"),
    [
        # By the arctangent formula on the same sphere, so not by haversine.
        ((63.985, -22.6056), (51.4706, -0.461941), 1895),
        ((-17.7554, 177.4430), (33.9425, -118.4080), 8892),
        ((10.0, 20.0), (10.0, 20.0), 0),
        ((0.0, 179.5), (0.0, -179.5), 111),
        ((30.0, 10.0), (-30.0, -170.0), 20_015),
    ],
)
def test_great_circles(script: ModuleType, one: Any, other: Any, km: int) -> None:
    places = {"A": one, "B": other}
    assert script.great_circle_km([("A", "B"), ("B", "A")], places).tolist() == [km, km]


def test_no_edges_have_no_lengths(script: ModuleType) -> None:
    assert script.great_circle_km([], {}).tolist() == []


def test_the_route_map_of_make_run_is_sound() -> None:
    table = rows(ROOT / "data" / "flights.csv")
    assert table[0] == ["source", "target", "km"]
    edges = [(source, target) for source, target, _ in table[1:]]
    assert edges == sorted(set(edges))
    assert all(source != target for source, target in edges)
    assert all(0 < int(km) <= 20_015 for _, _, km in table[1:])
    airports = {code for edge in edges for code in edge}
    assert len(airports) == 152
    for home in ("KEF", "NAN"):
        reached, border = {home}, {home}
        while border:
            border = {target for source, target in edges if source in border} - reached
            reached |= border
        assert reached == airports
