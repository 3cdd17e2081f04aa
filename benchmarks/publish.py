"""Draw the README's figure and write its table from the results on disk, none of it by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from report import replace_between

_RESULTS = Path(__file__).parent / "results"
_README = Path(__file__).parent.parent / "README.md"
_FROM, _TO = "<!-- results from benchmarks/results -->", "<!-- end of results -->"
_N_OF_PEERS = 2048
_FIGURE = Path(__file__).parent.parent / "docs" / "shortest_paths_cpu.png"


def main() -> None:
    """Take the newest results."""
    newest = max(_RESULTS.glob("shortest_paths-*.json"), key=lambda path: path.stat().st_mtime)
    results = json.loads(newest.read_text())
    _draw(results)
    _write_table(results)


def _write_table(results: dict[str, Any]) -> None:
    """Replace what stands between the marks in the README."""
    lines = [
        "| whole call, dense | ms | G relaxations/s | of the ceiling | with next hops |",
        "|---|--:|--:|--:|--:|",
    ]
    lines.extend(
        f"| {row['case']} | {row['ms']:.0f} | {row['G_relaxations_per_s']:.0f} "
        f"| {row['percent_of_ceiling']:.0f} % | {row['next_hops_factor']:.1f} x |"
        for row in results["by_dtype"]
    )
    lines.extend(
        f"| {row['case']} | {1e3 * row['s']:,.0f} | {row['G_relaxations_per_s']:.0f} "
        f"| {row['percent_of_ceiling']:.0f} % | |"
        for row in results["large"]
    )
    for row in results["peers"][1:]:
        rate = _N_OF_PEERS**3 / row["seconds"] / 1e9
        lines.append(
            f"| {row['case']}, float32, n = {_N_OF_PEERS} | {1e3 * row['seconds']:,.0f} "
            f"| {rate:.1f} | {row['times_ours']:.0f} x our time | |"
        )
    machine = results["machine"]
    lines.append(
        f"\n{machine['cpu']}, {machine['cores']} cores, {machine['vector']['name']}, "
        f"{results['date']}; medians, in one process."
    )
    replace_between(_README, _FROM, _TO, lines)


def _draw(results: dict[str, Any]) -> None:
    """Draw rate against size, with the ceiling and the peers."""
    sizes = results["by_size"]
    figure, axes = plt.subplots(figsize=(7.6, 4.2), layout="constrained")
    ours = [(row["n"], row["ours_G_relaxations_per_s"]) for row in sizes]
    scipy = [
        (row["n"], row["scipy_G_relaxations_per_s"])
        for row in sizes
        if "scipy_G_relaxations_per_s" in row
    ]
    float32 = results["by_dtype"][0]
    ceiling = float32["ceiling_G_per_s"]
    axes.loglog(*zip(*ours, strict=True), "o-", color="#c8553d", label="warpladder", base=2)
    axes.loglog(*zip(*scipy, strict=True), "s-", color="#588b8b", label="SciPy", base=2)
    rustworkx = next(row for row in results["peers"] if "rustworkx" in row["case"])
    rate = _N_OF_PEERS**3 / rustworkx["seconds"] / 1e9
    axes.plot(_N_OF_PEERS, rate, "D", color="#7d6b91", label="rustworkx (parallel)")
    axes.axhline(ceiling, color="#444444", linestyle="--", linewidth=1)
    axes.annotate(
        f"ceiling: operands in registers only, {ceiling:.0f} G/s",
        (ours[0][0], ceiling),
        xytext=(0, 4),
        textcoords="offset points",
        fontsize=9,
    )
    axes.set_xlabel("vertices")
    axes.set_ylabel("relaxations per second (G)")
    axes.set_xticks([row["n"] for row in sizes], [f"{row['n']:,}" for row in sizes])
    ticks = (0.01, 0.1, 1, 10, 100)
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(bottom=0.02, top=300)
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    machine = results["machine"]
    axes.set_title(
        "All-pairs shortest paths, dense float32, whole call\n"
        f"{machine['cpu']}, {machine['cores']} cores, {machine['vector']['name']}, "
        f"{results['date']}",
        fontsize=10,
        loc="left",
    )
    axes.legend(frameon=False, loc="lower right")
    _FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(_FIGURE, dpi=130)
    print(f"drew {_FIGURE.name}")


if __name__ == "__main__":
    main()
