"""Write the README's GPU tables and draw the climb, from the results on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from report import replace_between

_RESULTS = Path(__file__).parent / "results"
_ROOT = Path(__file__).parent.parent
_FIGURE = _ROOT / "docs" / "shortest_paths_ladder.png"
_CALLS = ("from and to the host", "on the GPU before and after")


def main() -> None:
    """Take the newest results."""
    newest = max(_RESULTS.glob("gpu_shortest_paths-*.json"), key=lambda path: path.stat().st_mtime)
    results = json.loads(newest.read_text())
    _draw_climb(results)
    replace_between(
        _ROOT / "README.md",
        "<!-- GPU results from benchmarks/results -->",
        "<!-- end of GPU results -->",
        _engine_table(results),
    )


def _engine_table(results: dict[str, Any]) -> list[str]:
    calls = {row["case"]: row["ms"] for row in results["calls"]}
    lines = [
        "| vertices | kernels, ms | T relaxations/s | of ceiling | whole call, ms | GPU only, ms |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for row in results["engine"]:
        whole = (calls.get(f"{row['case']}, {what}") for what in _CALLS)
        cells = [
            row["case"],
            _three(row["ms"]),
            _three(row["T_relaxations_per_s"]),
            f"{row['percent_of_registers_only']:.0f} %",
            *("" if ms is None else _three(ms) for ms in whole),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    ceiling = results["ceilings"]["relaxations_per_second"]["int32"] / 1e12
    lines.append(
        f"\n{results['gpu']}, {results['date'][:10]}, least of a few runs. The ceiling is the rate "
        f"of the same relaxation with all operands in registers, measured in the same run: "
        f"{ceiling:.1f} T/s for int32. A first call takes "
        f"{results['cold_start_seconds']:.0f} s where nothing is compiled yet."
    )
    return lines


def _three(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _draw_climb(results: dict[str, Any]) -> None:
    """Draw the time of each rung at the size of CF's table, theirs beside ours."""
    theirs = results["ladder"]["carrega_ferreira_ms"]
    rungs = [row for row in results["ladder"]["rungs"] if row["n"] == 2048]
    names = [f"CF: {name}" for name in theirs] + [f"{row['case']}" for row in rungs]
    values = [*theirs.values(), *(row["kernel_ms"] for row in rungs)]
    colors = ["#b9b0a2"] * len(theirs) + [
        "#c8553d" if row["dtype"] == "int32" else "#7d6b91" for row in rungs
    ]
    figure, axes = plt.subplots(figsize=(7.6, 6.4), layout="constrained")
    axes.barh(range(len(names)), values, color=colors, log=True)
    for place, value in enumerate(values):
        axes.annotate(
            f"{_three(value)} ms", (value, place), xytext=(4, 0),
            textcoords="offset points", va="center", fontsize=8,
        )  # fmt: skip
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(1, 4 * max(values))
    axes.set_xlabel("milliseconds, kernels alone (CF: as published)")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.set_title(
        f"2,048 vertices: the ladder on an {results['gpu']}, {results['date'][:10]}\n"
        "red: int32; violet: other dtypes; grey: Carrega & Ferreira on a GTX 960 and a Xeon X5670",
        fontsize=9,
        loc="left",
    )
    _FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(_FIGURE, dpi=130)
    print(f"drew {_FIGURE.name}")


if __name__ == "__main__":
    main()
