"""Draw the climb of each ladder: rate against rung, with the ceiling and the best library as lines.

All of it from the results on disk. Dots, not bars: a logarithmic axis has no foot to stand on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.ticker import LogLocator, NullFormatter

from report import measured_on, newest_results
from warpladder.formats.pictures import save_picture
from warpladder.lab.pictures.style import (
    BLUE,
    FAINT,
    GREY,
    INK,
    LINE,
    ORANGE,
    SMALL,
    canvas,
    caption,
)
from warpladder.lab.text import three_digits

_DOCS = Path(__file__).parent.parent / "docs"
_ROW_INCHES = 0.19
#: So many times from the least to the most rate, and more than powers of ten are marked.
_FEW_DECADES = 200


class Dot(NamedTuple):
    """A measured rate; ``kind`` tells ours (0), ours on other numbers (1), and a source's (2)."""

    name: str
    rate: float
    kind: int = 0


class Mark(NamedTuple):
    """A rate that all are compared with: a ceiling, or a library."""

    name: str
    rate: float
    is_ceiling: bool = False


_LOOKS = (
    {"marker": "o", "color": BLUE},
    {"marker": "D", "color": ORANGE},
    {"marker": "s", "color": LINE},
)


def main() -> None:
    """Draw the four ladders."""
    _draw_reductions(newest_results("gpu_reduction-*", "ladder", "ceilings", "libraries"))
    paths = newest_results("gpu_shortest_paths-*", "ladder", "ceilings")
    _draw_paths(paths, newest_results("shortest_paths-*"))
    _draw_advection(newest_results("gpu_advection-*", "ladder", "ceilings", "peers"))
    _draw_joins(newest_results("gpu_overlap_join-*", "ladder"))


def _measured(results: dict[str, Any]) -> str:
    """Return on what a ladder was timed, and when."""
    return f"{results['gpu']}, {measured_on(results, 'ladder')}"


def _draw_reductions(results: dict[str, Any]) -> None:
    n = 1 << 28
    dots = [
        Dot(row["case"], 4 * n / row["kernel_us"] / 1e6)
        for row in results["ladder"]
        if row["n"] == n
    ]
    reading = results["ceilings"]["read_bytes_per_second"] / 1e12
    libraries = {
        row["by"]: 4 * n / row["us"] / 1e6
        for row in results["libraries"]
        if row["n"] == n and row["by"].startswith(("CUB", "CuPy"))
    }
    best = max(libraries, key=lambda name: libraries[name])
    _draw(
        "reduction_ladder.png",
        "Reduction: the sum of 2^28 int32, rung by rung",
        f"{_measured(results)}, kernels alone, caches cold; the library by cuda-bench, "
        f"{measured_on(results, 'libraries')}. RD has no figures but bars that include the copies.",
        dots,
        [Mark("reading alone", reading, is_ceiling=True), Mark(best, libraries[best])],
        "TB/s",
    )


def _draw_paths(results: dict[str, Any], on_cpu: dict[str, Any]) -> None:
    n = 2048
    work = n**3 / 1e9
    theirs = results["ladder"]["carrega_ferreira_ms"]
    dots = [Dot(f"CF: {name}", work / ms, 2) for name, ms in theirs.items()]
    dots += [
        Dot(
            row["case"],
            row["G_relaxations_per_s"] / 1e3,
            int(row["dtype"] != "int32" or row["case"] == "half-tiles"),
        )
        for row in results["ladder"]["rungs"]
        if row["n"] == n
    ]
    peers = {
        row["case"]: work / row["seconds"] / 1e3
        for row in on_cpu["peers"]
        if row["case"] != "warpladder"
    }
    best = max(peers, key=lambda name: peers[name])
    ceiling = results["ceilings"]["relaxations_per_second"]["int32"] / 1e12
    _draw(
        "shortest_paths_ladder.png",
        "Shortest paths: 2,048 vertices, rung by rung",
        f"{_measured(results)}, kernels alone; orange: other numbers than int32, or half of the "
        f"relaxations. The ceiling: {measured_on(results, 'ceilings')}. Grey: Carrega and "
        "Ferreira's table, a GTX 960 and a Xeon X5670. The library: "
        f"{on_cpu['machine']['cpu']}, {on_cpu['machine']['cores']} cores, float32.",
        dots,
        [
            Mark("registers only, int32", ceiling, is_ceiling=True),
            Mark(f"{best}, on a CPU", peers[best]),
        ],
        "T relaxations/s",
    )


def _draw_advection(results: dict[str, Any]) -> None:
    n = max(row["n"] for row in results["ladder"])
    dots = [Dot(row["case"], row["T_per_second"]) for row in results["ladder"] if row["n"] == n]
    best = max(
        (row for row in results["peers"] if row["n"] == n), key=lambda row: row["T_per_second"]
    )
    ceiling = results["ceilings"]["float32_per_second"] / 1e12
    _draw(
        "advection_ladder.png",
        f"Advection: 2^{n.bit_length() - 1} cells, 200 steps, rung by rung",
        f"{_measured(results)}, kernels alone, Lax-Friedrichs, float32.",
        dots,
        [
            Mark("registers only", ceiling, is_ceiling=True),
            Mark(best["case"], best["T_per_second"]),
        ],
        "T cell-steps/s",
    )


def _draw_joins(results: dict[str, Any]) -> None:
    n = results["ladder"][0]["n"]
    rows = [row for row in results["ladder"] if row["n"] == n]
    pairs = n * (n - 1) / 2 / 1e6
    dots = [
        Dot(f"IM: {row['case']}", 1e3 * pairs / row["IM_ms"], 2) for row in rows if row["IM_ms"]
    ]
    dots += [Dot(row["case"], 1e3 * pairs / row["kernel_ms"]) for row in rows]
    _draw(
        "overlap_join_ladder.png",
        f"Overlap join: {n:,} rows of {n:,} ids, rung by rung",
        f"{_measured(results)}, kernels alone. Grey: IM's times for the steps "
        "that these rungs take, a GTX 1080 Ti. No ceiling and no library was measured for this "
        "problem.",
        dots,
        [],
        "M pairs of rows/s",
    )


def _draw(
    name: str, heading: str, text: str, dots: list[Dot], marks: list[Mark], unit: str
) -> None:
    rows = len(dots) + len(marks)
    figure = canvas(1.25 + _ROW_INCHES * rows)
    caption(figure, heading, text)
    axes = figure.subplots()
    axes.set_xscale("log")
    rates = [*(dot.rate for dot in dots), *(mark.rate for mark in marks)]
    axes.set_xlim(min(rates) / 1.5, 1.5 * max(rates))
    axes.set_ylim(rows - 0.4, -0.6)
    _draw_climb(axes, dots, len(marks))
    for row, mark in enumerate(marks):
        style = (0, (5, 2)) if mark.is_ceiling else (0, (1, 1.5))
        axes.axvline(mark.rate, color=INK, linewidth=1.1, linestyle=style, zorder=1)
        side = -1 if mark.rate > max(dot.rate for dot in dots) / 50 else 1
        axes.annotate(
            f"{mark.name}: {three_digits(mark.rate)}", (mark.rate, row), xytext=(5 * side, 0),
            textcoords="offset points", ha="right" if side < 0 else "left", va="center",
            fontsize=SMALL + 0.5, color=INK,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
        )  # fmt: skip
    axes.set_yticks(range(len(marks), rows), [dot.name for dot in dots])
    axes.tick_params(axis="y", labelsize=SMALL + 0.5, length=0, labelcolor=INK)
    axes.tick_params(axis="x", labelsize=SMALL + 0.5, color=LINE)
    if max(rates) < _FEW_DECADES * min(rates):
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel(unit, fontsize=SMALL + 1, color=INK)
    axes.grid(visible=True, axis="y", color=FAINT, linewidth=0.8)
    axes.grid(visible=True, axis="x", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    for side_name in ("top", "right", "left"):
        axes.spines[side_name].set_visible(False)
    save_picture(figure, _DOCS / name)
    print(f"drew {name}")


def _draw_climb(axes: Any, dots: list[Dot], first_row: int) -> None:
    for kind in (0, 2):
        of_kind = [(dot.rate, first_row + at) for at, dot in enumerate(dots) if dot.kind == kind]
        axes.plot(
            [rate for rate, _ in of_kind], [row for _, row in of_kind], color=GREY, linewidth=1,
            zorder=1.5,
        )  # fmt: skip
    most = max(dot.rate for dot in dots)
    for row, dot in enumerate(dots, first_row):
        # Beside the lines on the right a figure stands on the left.
        side = -1 if dot.rate > most / 4 else 1
        axes.plot(dot.rate, row, markersize=5, linestyle="none", zorder=3, **_LOOKS[dot.kind])
        axes.annotate(
            three_digits(dot.rate), (dot.rate, row),
            xytext=(6 * side, 0), textcoords="offset points",
            ha="right" if side < 0 else "left", va="center", fontsize=SMALL, color=INK, zorder=2,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
        )  # fmt: skip


if __name__ == "__main__":
    main()
