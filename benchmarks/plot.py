"""Draw the README's figure from the results on disk: nothing in it is typed in by hand."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

_RESULTS = Path(__file__).parent / "results"
_FIGURE = Path(__file__).parent.parent / "docs" / "shortest_paths_cpu.png"


def main() -> None:
    """Draw rate against size, with the ceiling and the peers."""
    newest = max(_RESULTS.glob("shortest_paths-*.json"), key=lambda path: path.stat().st_mtime)
    results = json.loads(newest.read_text())
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
    n = 2048
    axes.plot(
        n, n**3 / rustworkx["seconds"] / 1e9, "D", color="#7d6b91", label="rustworkx (parallel)"
    )
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
