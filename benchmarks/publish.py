"""Draw the README's figure and write its table from the results on disk, none of it by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from report import (
    all_results,
    draw_ceiling,
    markdown_table,
    newest_results,
    quiet_axes,
    replace_results,
)
from warpladder.lab.text import three_digits

_SLOWEST = 10
_N_OF_PEERS = 2048
_CALLS_IN_A_ROW = "sum float32", "l2 float64", "sum float32 axis 0"
_KILOBYTES = 512, 1024, 4096, 16384
_DOCS = Path(__file__).parent.parent / "docs"
_FIGURE = _DOCS / "shortest_paths_cpu.png"
_ADVECTION_FIGURE = _DOCS / "advection_cpu.png"


def main() -> None:
    """Take the newest results."""
    results = newest_results("shortest_paths-*")
    _draw(results)
    _write_table(results, all_results("shortest_paths-*"))
    _write_hop_counts(newest_results("hop_counts-*"))
    _write_whole_lengths(newest_results("whole_lengths-*"))
    _write_weighted_paths(newest_results("weighted_paths-*"))
    kinds = ("amd-*avx2", "amd-*avx-512", "intel-*")
    _write_reductions(
        [newest_results(f"reduction_table-{kind}") for kind in kinds],
        all_results("reduction_drawn-*"),
    )
    _write_calls_in_a_row(newest_results("standby-amd-*"), newest_results("standby-intel-*"))
    _write_cold_session(newest_results("cold_session-*"))
    _write_joins(newest_results("overlap_join-*"))
    advection = newest_results("advection-*")
    _write_advection(advection)
    _draw_advection(advection)


def _machine(results: dict[str, Any]) -> str:
    """Return on what something was measured, and when."""
    machine = results["machine"]
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['vector']['name']}, "
        f"{results['date']}"
    )


def _short(results: dict[str, Any]) -> str:
    """Return what tells a machine from others in a table."""
    machine = results["machine"]
    return f"{machine['cpu'].split()[0].split('(')[0]}, {machine['vector']['name']}"


def _write_hop_counts(results: dict[str, Any]) -> None:
    """Replace the table of hop counts in the README."""
    names = {
        "scipy": "SciPy",
        "rustworkx": "rustworkx",
        "igraph": "igraph",
        "floyd-warshall": "Floyd-Warshall here",
    }
    graphs = results["graphs"] + results.get("large", [])
    columns = [name for name in names if any(f"{name}_ms" in row for row in graphs)]
    heads = ["graph", "vertices", "edges", "ms", *(f"{names[column]}, ms" for column in columns)]
    rows = []
    for row in graphs:
        times = [row["ms"], *(row.get(f"{column}_ms") for column in columns)]
        cells = ["" if ms is None else three_digits(ms) for ms in times]
        rows.append([row["case"], f"{row['vertices']:,}", f"{row['arcs']:,}", *cells])
    lines = markdown_table(heads, rows)
    first = ", ".join(f"{row['first_call_ms']:.2g}" for row in graphs if "first_call_ms" in row)
    lines.append(
        f"\n{_machine(results)}; whole calls on edges, medians of three, in one process with the "
        "peers; up to 1,000 vertices of nine times 10 ms of calls that follow one another (ours "
        f"alone between calls of others: {first} ms). Edges are counted from both ends where they "
        "have no direction. SciPy's time for the last graph is that of 150 sources, scaled up."
    )
    replace_results("hop counts", lines)


def _write_whole_lengths(results: dict[str, Any]) -> None:
    """Replace the table of graphs whose edges are a few whole steps long in the README."""
    heads = "graph", "vertices", "edges", "steps", "CPU s", "by levels", "Dijkstra", "SciPy"
    tasks = "ours", "by_levels", "dijkstra", "scipy"
    rows = [
        [
            *(row["case"], f"{row['vertices']:,}", f"{row['arcs']:,}", f"1 to {row['longest']}"),
            *(three_digits(row[f"{task}_cpu_s"]) for task in tasks),
        ]
        for row in results["graphs"]
    ]
    lines = markdown_table(heads, rows)
    lines.append(
        f"\n{_machine(results)}; CPU seconds of all cores together, whole calls on edges, the "
        "least of four in turn in one process: what `auto` chooses, each of both ways, and SciPy's "
        "Dijkstra, which started from 300 of the vertices and is scaled up."
    )
    replace_results("whole lengths", lines)


def _write_weighted_paths(results: dict[str, Any]) -> None:
    """Replace the table of sparse graphs with weights in the README."""
    heads = "graph", "vertices", "edges", "CPU s", "estimated", "SciPy", "igraph", "rustworkx"
    rows = []
    for row in results["graphs"]:
        peers = [row.get(f"{peer}_cpu_s") for peer in ("scipy", "igraph", "rustworkx")]
        times = [f"{peer / row['ours_cpu_s']:.1f} x" if peer else "" for peer in peers]
        ours = f"{row['ours_cpu_s']:.2g}", f"{row['sampled_s']:.2g}"
        rows.append([row["case"], f"{row['vertices']:,}", f"{row['arcs']:,}", *ours, *times])
    lines = markdown_table(heads, rows)
    lines.append(
        f"\n{_machine(results)}; CPU seconds of all cores together, whole calls on edges, the "
        "least of four or eight in turn in one process with the peers, whose CPU seconds are given "
        "as multiples of ours. Estimated: what `auto` goes by. SciPy and igraph started from 300 "
        "of the vertices, and their times are scaled up."
    )
    replace_results("weighted paths", lines)


def _write_reductions(machines: list[dict[str, Any]], drawn: list[dict[str, Any]]) -> None:
    """Replace the tables of reductions beside their best peers in the README, slow cells first."""
    heads, slow = ["`reduce` beside the best peer", "cells"], []
    latest = max(machines, key=lambda results: len(results["cells"]))
    rows = [[row["case"], row["cells"]] for row in latest["summary"]]
    for results in machines:
        name = _short(results)
        heads += [f"{name}: as fast", "slowest"]
        found = {(row["case"], row["cells"]): row for row in results["summary"]}
        for row in rows:
            # Timed before there were such cells, or more of them.
            of_case = found.get((row[0], row[1]))
            least = of_case and f"{of_case['least_ratio']:.2g}"
            row.extend([of_case["at_least_1.0"], least] if of_case else ["", ""])
        slow += [(cell, name) for cell in results["cells"] if not cell["is_small"]]
    slow.sort(key=lambda found: found[0]["ratio"])
    lines = markdown_table(heads, rows)
    lines += [
        "",
        *markdown_table(
            ["slowest from 2^16 numbers on", "", "us", "best peer, us", "ratio"],
            (
                [
                    cell["case"],
                    name,
                    f"{cell['us']:,.1f}",
                    f"{cell['best_peer_us']:,.1f} ({cell['best_peer']})",
                    f"{cell['ratio']:.2f}",
                ]
                for cell, name in slow[:_SLOWEST]
            ),
        ),
    ]
    series = max(results["most_series"] for results in machines)
    lines.append(
        "\nA cell is an operation on a dtype over an axis of a shape; its ratio is the best peer's "
        "time over ours, the least of turns of 10 ms in one process, of cells below 1 of up to "
        f"{series} series. Empty: a machine was timed before there were such cells."
    )
    for results in machines:
        small = [row for row in results["summary"] if row["case"].startswith("2^10")]
        above = "; ".join(f"{row['case'][6:]} {row['most_us_above']:.1f}" for row in small)
        peers = results["peers"]
        lines.append(
            f"\n{_machine(results)}: NumPy {peers['numpy']}, bottleneck {peers['bottleneck']}; "
            f"calls on 2^10 numbers take at most so many us more than {results['above']}'s: "
            f"{above}."
        )
    lines += ["", *_table_of_drawn(drawn)]
    replace_results("reductions", lines)


def _table_of_drawn(machines: list[dict[str, Any]]) -> list[str]:
    """Return what each machine made of the cells that nobody chose, and its slowest."""
    heads = "cells that nobody chose", "cells", "as fast", "below 0.8", "below 0.5", "slowest"
    rows = []
    for results in machines:
        cells = results["cells"]
        slowest = min(cells, key=lambda cell: float(cell["ratio"]))
        rows.append(
            [
                _short(results),
                len(cells),
                len(cells) - results["below_1"],
                results["below_0.8"],
                results["below_0.5"],
                f"{slowest['ratio']:.2g}",
                slowest["case"],
                f"{slowest['us']:,.1f}",
                f"{slowest['best_peer_us']:,.1f} ({slowest['best_peer']})",
            ]
        )
    lines = markdown_table([*heads, "which", "us", "best peer, us"], rows)
    lines.append(
        "\nShape, axes and layout are drawn (`--drawn`), for all machines alike, on 2^11 to 2^22 "
        "numbers. All machines that were timed: "
        f"{'; '.join(_machine(results) for results in machines)}."
    )
    return lines


def _write_calls_in_a_row(of_few_cores: dict[str, Any], of_more: dict[str, Any]) -> None:
    """Replace the table of calls that threads which stand by take part in."""
    machines = (of_few_cores, 2), (of_more, 8)
    heads = ["calls that follow one another, us", "MB"]
    for results, cores in machines:
        heads += [f"{results['machine']['cpu'].split()[0]}, {cores} cores", "one thread", "NumPy"]
    rows = []
    for case in _CALLS_IN_A_ROW:
        for kilobytes in _KILOBYTES:
            row = [case, f"{kilobytes / 1024:g}"]
            for results, cores in machines:
                (call,) = (
                    each
                    for each in results["calls"]
                    if (each["case"], each["cores"], each["kB"]) == (case, cores, kilobytes)
                )
                times = (call[name] for name in ("us", "us_of_one_thread", "us_of_numpy"))
                row += [three_digits(us) for us in times]
            rows.append(row)
    lines = markdown_table(heads, rows)
    told = "; ".join(_machine(results) for results, _ in machines)
    lines.append(
        f"\nMedians of turns of 10 ms after a rest (`benchmarks/standby.py`); BLAS, of which "
        f"NumPy's l2 is, has threads of its own. {told}; the latter used by others, too."
    )
    replace_results("calls in a row", lines)


def _write_cold_session(results: dict[str, Any]) -> None:
    """Replace what a first session of reductions costs in the README."""
    cold, warm = results["sessions"]
    dtypes, operations, axes = (len(results[name]) for name in ("dtypes", "operations", "axes"))
    told = (
        f"A session of {cold['calls']} calls of `reduce` on the CPU, of {dtypes} dtypes, "
        f"{operations} operations and {axes} axes, compiles {cold['kernels']} kernels in its first "
        f"process and takes {cold['cpu_s']:.0f} CPU seconds; in the next one it takes "
        f"{warm['cpu_s']:.1f}, imports included ({_machine(results)})."
    )
    replace_results("cold session", [told])


def _write_joins(results: dict[str, Any]) -> None:
    """Replace the table of overlap joins in the README."""
    rows = []
    for row in results["sets"]:
        peers = {name: row[f"{name}_s"] for name in ("sparse_dot_topn", "scipy")}
        peer = min((name for name in peers if peers[name] == peers[name]), key=peers.__getitem__)
        rows.append((row, ", counted", f"{peers[peer]:.3g} ({peer})"))
    for kind, ending, peer in (
        ("files", "", "sparse_dot_topn"),
        ("jaccard", ", counted", "SetSimilaritySearch"),
    ):
        rows += [(row, ending, f"{row[f'{peer}_s']:.3g} ({peer})") for row in results[kind]]
    rows += [
        (row, ", T = 2, counted", f"{row['IM_on_a_GPU_s']:,.1f} (IM, on a GPU)")
        for row in results["sources"]
    ]
    lines = markdown_table(
        ["", "pairs", "s", "G updates/s", "best peer, s", "times faster"],
        (
            [
                row["case"] + ending,
                f"{row['pairs']:,}",
                f"{row['s']:.3g}",
                f"{row['G_updates_per_s']:.2g}" if "G_updates_per_s" in row else "",
                peer,
                f"{row['times_faster']:.0f}",
            ]
            for row, ending, peer in rows
        ),
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
    lines.append(
        f"\n{_machine(results)}; whole calls on a matrix of SciPy's, medians, in one process "
        "with the peers, which find each pair from both of its rows; sparse_dot_topn keeps the 10 "
        "best of each row where pairs are counted. zipf: 20,000 rows x 100 ids of 1,000,000. IM's "
        "times are its 0.66 s per thousand rows squared; its 50,000 rows took 26 minutes."
    )
    replace_results("overlap joins", lines)


def _write_advection(results: dict[str, Any]) -> None:
    """Replace the table of advection in the README."""
    lines = markdown_table(
        ["2^24 cells, Lax-Friedrichs", "G cell-steps/s", "of registers only", "warpladder is"],
        (
            [
                row["case"],
                f"{row['G_cell_steps_per_s']:.3g}",
                f"{row['percent_of_ceiling']:.0f} %",
                ""
                if row["case"] in ("warpladder", "registers only")
                else f"{row['warpladder_is_times']:.1f} x",
            ]
            for row in results["large"]
        ),
    )
    rates: dict[str, list[str]] = {}
    for row in results["by_scheme"]:
        rates.setdefault(row["scheme"], []).append(f"{row['G_cell_steps_per_s']:.3g}")
    lines += [
        "",
        *markdown_table(
            ["cells", "G cell-steps/s", "times a compiled loop in one thread"],
            (
                [
                    f"{row['cells']:,}",
                    f"{row['G_cell_steps_per_s']:.3g}",
                    f"{row['times_one_thread']:.1f}",
                ]
                for row in results["by_size"]
            ),
            words=0,
        ),
        "",
        *markdown_table(
            ["2^20 cells", "float32, G cell-steps/s", "float64, G cell-steps/s"],
            ([name, *both] for name, both in rates.items()),
        ),
    ]
    if "pyclaw" in results:
        heads = "2^20 cells, float64", "G cell-steps/s", "PyClaw, G cell-steps/s", "warpladder is"
        lines += [
            "",
            *markdown_table(
                heads,
                (
                    [
                        row["case"],
                        f"{row['G_cell_steps_per_s']:.3g}",
                        f"{row['PyClaw_G_cell_steps_per_s']:.3g}",
                        f"{row['times_PyClaw']:.0f} x",
                    ]
                    for row in results["pyclaw"]
                ),
            ),
        ]
    lines.append(
        f"\n{_machine(results)}; the engine alone, float32 where nothing else is said, medians, in "
        'one process with the loops. "Registers only" works out the same formula on numbers that '
        "never leave the registers."
    )
    replace_results("advection", lines)


def _write_table(results: dict[str, Any], all_machines: list[dict[str, Any]]) -> None:
    """Replace what stands between the marks in the README."""
    rows = [
        [
            row["case"],
            f"{row['ms']:.0f}",
            f"{row['G_relaxations_per_s']:.0f}",
            f"{row['percent_of_ceiling']:.0f} %",
            f"{row['next_hops_factor']:.1f} x",
        ]
        for row in results["by_dtype"]
    ]
    rows += [
        [
            row["case"],
            f"{1e3 * row['s']:,.0f}",
            f"{row['G_relaxations_per_s']:.0f}",
            f"{row['percent_of_ceiling']:.0f} %",
            "",
        ]
        for row in results["large"]
    ]
    rows += [
        [
            f"{row['case']}, float32, n = {_N_OF_PEERS}",
            f"{1e3 * row['seconds']:,.0f}",
            f"{_N_OF_PEERS**3 / row['seconds'] / 1e9:.1f}",
            f"{row['times_ours']:.0f} x our time",
            "",
        ]
        for row in results["peers"][1:]
    ]
    columns = "whole call, dense", "ms", "G relaxations/s", "of the ceiling", "with next hops"
    lines = markdown_table(columns, rows)
    lines.append(f"\n{_machine(results)}; medians, in one process. {_shares(all_machines)}")
    halves = (
        [
            row["case"],
            f"{row['whole_ms']:,.0f}",
            f"{row['half_ms']:,.0f}",
            f"{row['times_as_fast']:.2f} x",
        ]
        for row in results["undirected"]
    )
    heads = "undirected, whole call", "all tiles, ms", "half of them, ms", "as fast"
    lines += ["", *markdown_table(heads, halves)]
    lines.append("\nThe same machine and day; the same bits.")
    replace_results("results", lines)


def _shares(all_machines: list[dict[str, Any]]) -> str:
    """Return the share of the ceiling that float32 reaches on each machine that was timed."""
    reached = []
    for results in all_machines:
        of_float32 = results["by_dtype"][0], results["large"][0]
        shares = " and ".join(f"{row['percent_of_ceiling']:.0f} %" for row in of_float32)
        reached.append(f"{_machine(results)}: {shares}")
    return f"float32 reaches of the ceiling, at 2,048 and 8,192 vertices: {'; '.join(reached)}."


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
    text = f"ceiling: operands in registers only, {ceiling:.0f} G/s"
    draw_ceiling(axes, ours[0][0], ceiling, text)
    axes.set_xlabel("vertices")
    axes.set_ylabel("relaxations per second (G)")
    axes.set_xticks([row["n"] for row in sizes], [f"{row['n']:,}" for row in sizes])
    ticks = (0.01, 0.1, 1, 10, 100)
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    quiet_axes(axes, top=300, bottom=0.02)
    title = "All-pairs shortest paths, dense float32, whole call"
    axes.set_title(f"{title}\n{_machine(results)}", fontsize=10, loc="left")
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
    text = f"ceiling: numbers in registers only, {ceiling:.0f} G/s"
    draw_ceiling(axes, cells[0], ceiling, text)
    axes.set_xlabel("cells")
    axes.set_ylabel("cell-steps per second (G)")
    shown = [32, 1 << 10, 1 << 16, 1 << 20, beyond]
    axes.set_xticks(shown, [f"{n:,}" for n in shown])
    ticks = (0.1, 1, 10, 100)
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    quiet_axes(axes, top=2 * ceiling, bottom=0.1)
    title = "Advection, Lax-Friedrichs, float32"
    axes.set_title(f"{title}\n{_machine(results)}", fontsize=10, loc="left")
    axes.legend(frameon=False, loc="lower center", fontsize=9)
    _DOCS.mkdir(exist_ok=True)
    figure.savefig(_ADVECTION_FIGURE, dpi=130)
    print(f"drew {_ADVECTION_FIGURE.name}")


if __name__ == "__main__":
    main()
