"""Draw the README's figure and write its table from the results on disk, none of it by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from report import quiet_axes, replace_between

_RESULTS = Path(__file__).parent / "results"
_README = Path(__file__).parent.parent / "README.md"
_FROM, _TO = "<!-- results from benchmarks/results -->", "<!-- end of results -->"
_JOINS_FROM = "<!-- overlap joins from benchmarks/results -->"
_JOINS_TO = "<!-- end of overlap joins -->"
_HOPS_FROM = "<!-- hop counts from benchmarks/results -->"
_HOPS_TO = "<!-- end of hop counts -->"
_WEIGHTED_FROM = "<!-- weighted paths from benchmarks/results -->"
_WEIGHTED_TO = "<!-- end of weighted paths -->"
_REDUCTIONS_FROM = "<!-- reductions from benchmarks/results -->"
_REDUCTIONS_TO = "<!-- end of reductions -->"
_SLOWEST = 10
_ADVECTION_FROM = "<!-- advection from benchmarks/results -->"
_ADVECTION_TO = "<!-- end of advection -->"
_N_OF_PEERS = 2048
_DOCS = Path(__file__).parent.parent / "docs"
_FIGURE = _DOCS / "shortest_paths_cpu.png"
_ADVECTION_FIGURE = _DOCS / "advection_cpu.png"


def main() -> None:
    """Take the newest results."""
    results = _newest("shortest_paths")
    _draw(results)
    _write_table(results)
    _write_hop_counts(_newest("hop_counts"))
    _write_weighted_paths(_newest("weighted_paths"))
    _write_reductions(_newest("reduction_table"))
    _write_joins(_newest("overlap_join"))
    advection = _newest("advection")
    _write_advection(advection)
    _draw_advection(advection)


def _newest(suite: str) -> dict[str, Any]:
    newest = max(_RESULTS.glob(f"{suite}-*.json"), key=lambda path: path.stat().st_mtime)
    found: dict[str, Any] = json.loads(newest.read_text())
    return found


def _write_hop_counts(results: dict[str, Any]) -> None:
    """Replace the table of hop counts in the README."""
    names = {
        "scipy": "SciPy",
        "rustworkx": "rustworkx",
        "igraph": "igraph",
        "floyd-warshall": "Floyd-Warshall here",
    }
    rows = results["graphs"] + results.get("large", [])
    columns = [name for name in names if any(f"{name}_ms" in row for row in rows)]
    titles = " | ".join(f"{names[column]}, ms" for column in columns)
    lines = [
        f"| graph | vertices | edges | ms | {titles} |",
        f"|---|--:|--:|--:|{'--:|' * len(columns)}",
    ]
    for row in rows:
        times = [row["ms"], *(row.get(f"{column}_ms") for column in columns)]
        cells = ["" if ms is None else f"{ms:,.0f}" if ms >= 100 else f"{ms:.3g}" for ms in times]
        lines.append(
            f"| {row['case']} | {row['vertices']:,} | {row['arcs']:,} | {' | '.join(cells)} |"
        )
    machine = results["machine"]
    lines.append(
        f"\n{machine['cpu']}, {machine['cores']} cores, {machine['vector']['name']}, "
        f"{results['date']}; whole calls on edges, medians of three, in one process with the "
        "peers; edges counted from both ends where they have no direction. SciPy's time for the "
        "last graph is that of 150 sources, scaled up."
    )
    replace_between(_README, _HOPS_FROM, _HOPS_TO, lines)


def _write_weighted_paths(results: dict[str, Any]) -> None:
    """Replace the table of sparse graphs with weights in the README."""
    lines = [
        "| graph | vertices | edges | CPU s | estimated | SciPy | igraph | rustworkx |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in results["graphs"]:
        peers = [row.get(f"{peer}_cpu_s") for peer in ("scipy", "igraph", "rustworkx")]
        times = [f"{peer / row['ours_cpu_s']:.1f} x" if peer else "" for peer in peers]
        lines.append(
            f"| {row['case']} | {row['vertices']:,} | {row['arcs']:,} | {row['ours_cpu_s']:.2g} "
            f"| {row['sampled_s']:.2g} | {' | '.join(times)} |"
        )
    machine = results["machine"]
    lines.append(
        f"\n{machine['cpu']}, {machine['cores']} cores, {machine['vector']['name']}, "
        f"{results['date']}, shared with other work; CPU seconds of all cores together, whole "
        "calls on edges, the least of four or eight in turn in one process with the peers, whose "
        "CPU seconds are given as multiples of ours. Estimated: what `auto` goes by. SciPy and "
        "igraph started from 300 of the vertices, and their times are scaled up."
    )
    replace_between(_README, _WEIGHTED_FROM, _WEIGHTED_TO, lines)


def _write_reductions(results: dict[str, Any]) -> None:
    """Replace the table of reductions beside their best peers in the README, slow cells first."""
    lines = [
        "| `reduce` beside the best peer | cells | as fast | at least 0.9 | slowest | median |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    lines.extend(
        f"| {row['case']} | {row['cells']} | {row['at_least_1.0']} | {row['at_least_0.9']} "
        f"| {row['least_ratio']:.2g} | {row['median_ratio']:.2g} |"
        for row in results["summary"]
    )
    lines += [
        "",
        "| slowest from 2^16 numbers on | us | best peer, us | ratio |",
        "|---|--:|--:|--:|",
    ]
    slowest = [row for row in results["cells"] if not row["is_small"]][:_SLOWEST]
    lines.extend(
        f"| {row['case']} | {row['us']:,.1f} | {row['best_peer_us']:,.1f} ({row['best_peer']}) "
        f"| {row['ratio']:.2f} |"
        for row in slowest
    )
    small = [row for row in results["summary"] if row["case"].startswith("2^10")]
    above = "; ".join(f"{row['case'][6:]} {row['most_us_above']:.1f}" for row in small)
    machine, peers = results["machine"], results["peers"]
    lines.append(
        "\nA cell is an operation on a dtype over an axis of a shape; its ratio is the best peer's "
        "time over ours, the least of calls in turn in one process. Calls on 2^10 numbers take at "
        f"most so many us more than the best peer's: {above}. {machine['cpu']}, "
        f"{machine['cores']} cores, {machine['vector']['name']}, {results['date']}; NumPy "
        f"{peers['numpy']}, bottleneck {peers['bottleneck']}."
    )
    replace_between(_README, _REDUCTIONS_FROM, _REDUCTIONS_TO, lines)


def _write_joins(results: dict[str, Any]) -> None:
    """Replace the table of overlap joins in the README."""
    lines = [
        "| | pairs | s | G updates/s | best peer, s | times faster |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for row in results["sets"]:
        peers = {name: row[f"{name}_s"] for name in ("sparse_dot_topn", "scipy")}
        peer = min((name for name in peers if peers[name] == peers[name]), key=peers.__getitem__)
        lines.append(
            f"| {row['case']}, counted | {row['pairs']:,} | {row['s']:.3g} "
            f"| {row['G_updates_per_s']:.2g} | {peers[peer]:.3g} ({peer}) "
            f"| {row['times_faster']:.0f} |"
        )
    lines.extend(
        f"| {row['case']} | {row['pairs']:,} | {row['s']:.3g} | "
        f"| {row['sparse_dot_topn_s']:.3g} (sparse_dot_topn) | {row['times_faster']:.0f} |"
        for row in results["files"]
    )
    lines.extend(
        f"| {row['case']}, counted | {row['pairs']:,} | {row['s']:.3g} | "
        f"| {row['SetSimilaritySearch_s']:.3g} (SetSimilaritySearch) | {row['times_faster']:.0f} |"
        for row in results["jaccard"]
    )
    lines.extend(
        f"| {row['case']}, T = 2, counted | {row['pairs']:,} | {row['s']:.3g} "
        f"| {row['G_updates_per_s']:.2g} | {row['IM_on_a_GPU_s']:,.1f} (IM, on a GPU) "
        f"| {row['times_faster']:.0f} |"
        for row in results["sources"]
    )
    if "parquet" in results:
        found = results["parquet"]
        lines.append(
            f"\n{found['rows']:,} rows of {found['ids_of_a_row']} ids, drawn from as many, go from "
            f"Parquet to Parquet (T = {found['threshold']}) in {found['s']:.0f} s and "
            f"{found['peak_GB']:.1f} GB; each of the {found['planted']:,} planted pairs is found."
            if not found["planted_missing"]
            else "\nPLANTED PAIRS ARE MISSING"
        )
    machine = results["machine"]
    lines.append(
        f"\n{machine['cpu']}, {machine['cores']} cores, {machine['vector']['name']}, "
        f"{results['date']}; whole calls on a matrix of SciPy's, medians, in one process with the "
        "peers, which find each pair from both of its rows; sparse_dot_topn keeps the 10 best of "
        "each row where pairs are counted. zipf: 20,000 rows x 100 ids of 1,000,000. IM's times "
        "are its 0.66 s per thousand rows squared; its 50,000 rows took 26 minutes."
    )
    replace_between(_README, _JOINS_FROM, _JOINS_TO, lines)


def _write_advection(results: dict[str, Any]) -> None:
    """Replace the table of advection in the README."""
    lines = [
        "| 2^24 cells, Lax-Friedrichs | G cell-steps/s | of registers only | warpladder is |",
        "|---|--:|--:|--:|",
    ]
    for row in results["large"]:
        rate, share = row["G_cell_steps_per_s"], row["percent_of_ceiling"]
        times = row["warpladder_is_times"]
        lines.append(
            f"| {row['case']} | {rate:.3g} | {share:.0f} % "
            f"| {'' if row['case'] in ('warpladder', 'registers only') else f'{times:.1f} x'} |"
        )
    lines += [
        "",
        "| cells | G cell-steps/s | times a compiled loop in one thread |",
        "|--:|--:|--:|",
    ]
    lines.extend(
        f"| {row['cells']:,} | {row['G_cell_steps_per_s']:.3g} | {row['times_one_thread']:.1f} |"
        for row in results["by_size"]
    )
    lines += [
        "",
        "| 2^20 cells | float32, G cell-steps/s | float64, G cell-steps/s |",
        "|---|--:|--:|",
    ]
    rates: dict[str, list[float]] = {}
    for row in results["by_scheme"]:
        rates.setdefault(row["scheme"], []).append(row["G_cell_steps_per_s"])
    lines.extend(f"| {name} | {a:.3g} | {b:.3g} |" for name, (a, b) in rates.items())
    machine = results["machine"]
    lines.append(
        f"\n{machine['cpu']}, {machine['cores']} cores, {machine['vector']['name']}, "
        f"{results['date']}; the engine alone, float32 where nothing else is said, medians, in one "
        'process with the loops. "Registers only" works out the same formula on numbers that '
        "never leave the registers."
    )
    replace_between(_README, _ADVECTION_FROM, _ADVECTION_TO, lines)


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
    quiet_axes(axes, top=300, bottom=0.02)
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


def _draw_advection(results: dict[str, Any]) -> None:
    """Draw rate against the number of cells, with the ceiling and the loops."""
    sizes = results["by_size"]
    cells = [row["cells"] for row in sizes]
    ours = [row["G_cell_steps_per_s"] for row in sizes]
    loop = [row["G_cell_steps_per_s"] / row["times_one_thread"] for row in sizes]
    large = {row["case"]: row["G_cell_steps_per_s"] for row in results["large"]}
    beyond = 1 << 24
    figure, axes = plt.subplots(figsize=(7.6, 4.2), layout="constrained")
    axes.loglog(
        [*cells, beyond], [*ours, large["warpladder"]], "o-", color="#c8553d",
        label="warpladder", base=2,
    )  # fmt: skip
    axes.loglog(
        [*cells, beyond], [*loop, large["Numba, one thread"]], "s-", color="#588b8b",
        label="a compiled loop, one thread", base=2,
    )  # fmt: skip
    for name, colour in (("Numba, all threads", "#7d6b91"), ("JAX", "#b08d57")):
        if name in large:
            axes.plot(beyond, large[name], "D", color=colour, label=name)
    axes.plot(beyond, large["NumPy slices"], "v", color="#444444", label="NumPy slices")
    ceiling = large["registers only"]
    axes.axhline(ceiling, color="#444444", linestyle="--", linewidth=1)
    axes.annotate(
        f"ceiling: numbers in registers only, {ceiling:.0f} G/s", (cells[0], ceiling),
        xytext=(0, 4), textcoords="offset points", fontsize=9,
    )  # fmt: skip
    axes.set_xlabel("cells")
    axes.set_ylabel("cell-steps per second (G)")
    shown = [32, 1 << 10, 1 << 16, 1 << 20, beyond]
    axes.set_xticks(shown, [f"{n:,}" for n in shown])
    ticks = (0.1, 1, 10, 100)
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    quiet_axes(axes, top=2 * ceiling, bottom=0.1)
    machine = results["machine"]
    axes.set_title(
        "Advection, Lax-Friedrichs, float32\n"
        f"{machine['cpu']}, {machine['cores']} cores, {machine['vector']['name']}, "
        f"{results['date']}",
        fontsize=10,
        loc="left",
    )
    axes.legend(frameon=False, loc="lower center", fontsize=9)
    _DOCS.mkdir(exist_ok=True)
    figure.savefig(_ADVECTION_FIGURE, dpi=130)
    print(f"drew {_ADVECTION_FIGURE.name}")


if __name__ == "__main__":
    main()
