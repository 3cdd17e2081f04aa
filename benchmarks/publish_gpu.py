"""Write the README's GPU tables and the package's times, draw the climbs, from the results."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from ladder_plots import main as draw_ladders
from record_times import write_recorded_times
from report import (
    draw_ceiling,
    markdown_table,
    measured_on,
    newest_results,
    quiet_axes,
    replace_results,
)
from validation.sanitizer_report import sentence
from warpladder.lab.text import three_digits

_ROOT = Path(__file__).parent.parent
_FIGURES = _ROOT / "docs"
_FOUND = "benchmarks/results/sanitizer_nvidia-h200.md"
_RED, _VIOLET = "#c8553d", "#7d6b91"
#: Rows at which all rungs of the join were timed.
_JOINED = 1000
_CALLS = ("from and to the host", "on the GPU before and after")


def main() -> None:
    """Take the newest results."""
    write_recorded_times()
    draw_ladders()
    advection = _newest("gpu_advection", "engine", "ladder")
    _draw_advection(advection)
    replace_results(
        "GPU results",
        _engine_table(_newest("gpu_shortest_paths", "engine", "calls", "cold_start_seconds")),
    )
    replace_results("GPU hop counts", _hop_counts_table(_newest("gpu_hop_counts", "graphs")))
    replace_results(
        "GPU reductions",
        [
            *_calls_table(_newest("gpu_calls", "rows"), _newest("gpu_calls_drawn", "rows")),
            "",
            *_reductions_table(_newest("gpu_reduction", "calls")),
            "",
            *_libraries_table(_newest("gpu_reduction", "libraries", "ladder")),
        ],
    )
    replace_results("GPU joins", _joins_table(_newest("gpu_overlap_join", "shapes", "ladder")))
    replace_results("GPU advection", _advection_table(advection))
    sanitized = textwrap.wrap(
        sentence(_newest("sanitizer", "sanitizer")), 100, break_on_hyphens=False
    )
    found = f"Rung by rung: [{_FOUND}]({_FOUND})."
    replace_results("compute-sanitizer", [*sanitized, found])


def _newest(name: str, *parts: str) -> dict[str, Any]:
    return newest_results(f"{name}[-_]nvidia*", *parts)


def _measured(results: dict[str, Any], part: str) -> str:
    """Return on what a part of a record was measured, and when."""
    return f"{results['gpu']}, {measured_on(results, part)}"


def _engine_table(results: dict[str, Any]) -> list[str]:
    calls = {row["case"]: row["ms"] for row in results["calls"]}
    heads = "vertices", "kernels, ms", "T relaxations/s", "of ceiling", "whole call, ms"
    rows = []
    for row in results["engine"]:
        whole = (calls.get(f"{row['case']}, {what}") for what in _CALLS)
        cells = [
            row["case"],
            three_digits(row["ms"]),
            three_digits(row["T_relaxations_per_s"]),
            f"{row['percent_of_registers_only']:.0f} %",
            *("" if ms is None else three_digits(ms) for ms in whole),
        ]
        rows.append(cells)
    lines = markdown_table([*heads, "GPU only, ms"], rows)
    ceiling = results["ceilings"]["relaxations_per_second"]["int32"] / 1e12
    lines.append(
        f"\n{_measured(results, 'engine')}, least of a few runs. The ceiling is the rate "
        f"of the same relaxation with all operands in registers, measured in the same run: "
        f"{ceiling:.1f} T/s for int32. A first call takes "
        f"{results['cold_start_seconds']:.0f} s where nothing is compiled yet."
    )
    if "tagged" in results:
        lines += ["", *_tagged_table(results)]
    if "undirected" in results:
        lines += ["", *_undirected_table(results)]
    return lines


def _tagged_table(results: dict[str, Any]) -> list[str]:
    """Return what next hops take where distances leave room for tags, and where they do not."""
    rows = [
        [
            row["case"],
            f"{row['heaviest']:,}",
            three_digits(row["ms"]),
            three_digits(row["small_tiles_ms"]),
        ]
        for row in results["tagged"]
    ]
    heads = "with next hops, vertices", "heaviest edge", "kernels, ms", "without tags, ms"
    lines = markdown_table(heads, rows)
    lines.append(
        f"\n{_measured(results, 'tagged')}, kernels alone. Next hops are found in the lowest bits "
        "of int32 distances that are surely below 4,194,303, whatever the edges weigh; where they "
        "are not, as without tags, and to look for that is included."
    )
    return lines


def _undirected_table(results: dict[str, Any]) -> list[str]:
    """Return what half of the relaxations takes beside all of them."""
    rows = [
        [
            row["case"],
            three_digits(row["whole_ms"]),
            three_digits(row["half_ms"]),
            f"{row['times_as_fast']:.2f} x",
        ]
        for row in results["undirected"]["rows"]
    ]
    heads = "undirected, vertices", "all tiles, ms", "half of them, ms", "as fast"
    lines = markdown_table(heads, rows)
    lines.append(
        f"\n{_measured(results, 'undirected')}, kernels alone, both in the same run, of the same "
        "weights."
    )
    return lines


def _hop_counts_table(results: dict[str, Any]) -> list[str]:
    kernels = "begin_searches_ms", "search_levels_ms", "write_distances_ms"
    lines = markdown_table(
        [
            *("graph", "vertices", "edges", "searches, ms", "with next hops, ms"),
            *("left there, ms", "whole call, ms", "CPU, ms", "Floyd-Warshall there, ms"),
        ],
        (
            [
                row["case"],
                f"{row['n']:,}",
                f"{row['arcs']:,}",
                three_digits(searched := sum(row[name] for name in kernels)),
                three_digits(searched + row["write_next_hops_ms"]),
                *(three_digits(row[f"{what}_ms"]) for what in ("left", "call", "cpu")),
                three_digits(row["closed_ms"]) if "closed_ms" in row else "",
            ]
            for row in results["graphs"]
        ),
    )
    lines.append(
        f"\n{_measured(results, 'graphs')}: kernels alone; from edges of the host to distances "
        "that stay on the GPU; to those on the host; and the CPU engine on the cores of that host. "
        "All answers are the CPU engine's, bit for bit, next hops included."
    )
    return lines


def _calls_table(results: dict[str, Any], drawn: dict[str, Any]) -> list[str]:
    """Return whole calls beside PyTorch's: how many are as fast, and the slowest.

    Of cases that were chosen, and of ``drawn`` ones.
    """
    every = [row for row in results["rows"] if "ratio" in row]
    exact = [row for row in every if row.get("option") == "exact"]
    asked = [row for row in every if row.get("option") and row not in exact]
    timed = [row for row in every if row not in exact]
    apart = [
        row for row in timed
        if row not in asked and (row.get("layout") or isinstance(row["axis"], list))
    ]  # fmt: skip
    plain = [row for row in timed if row not in asked and row not in apart]
    arrays = [row for row in plain if row["axis"] is not None]
    groups = {
        "a number, of 2^10 to 2^24": [row for row in plain if row["axis"] is None],
        "an array, over an axis": [row for row in arrays if "torch_steps" not in row],
        "an array, by several functions there": [row for row in arrays if "torch_steps" in row],
        "over several axes, or laid otherwise": apart,
        "with a mask, `dtype`, `out`, `initial`, an own operation": asked,
        "exact sums, beside those in float64": exact,
        "cases that nobody chose": [row for row in drawn["rows"] if "ratio" in row],
    }
    compared: list[list[object]] = []
    for name, rows in groups.items():
        ratios = sorted(row["ratio"] for row in rows)
        if not ratios:
            continue
        fast, near = (sum(ratio <= most for ratio in ratios) for most in (1, 1.3))
        middle = ratios[len(ratios) // 2]
        compared.append([name, len(ratios), fast, near, f"{ratios[-1]:.2f}", f"{middle:.2f}"])
    heads = "`reduce` beside PyTorch, whole calls", "cases", "as fast", "to 1.3 times", "most"
    times = "ours_us", "torch_us", "cupy_us", "queued_us", "torch_queued_us"
    slowest = (
        [row["case"], *(three_digits(row[time]) if time in row else "" for time in times)]
        for row in timed[:10]
    )
    lines = [
        *markdown_table([*heads, "median"], compared),
        "",
        *markdown_table(
            ["slowest beside PyTorch", "us", "PyTorch", "CuPy", "among many, us", "PyTorch"],
            slowest,
        ),
    ]
    left, without = results["cases_left_out"], len(results["rows"]) - len(every)
    twice = "the lesser of two where one missed what is asked for"
    lines.append(
        f"\n{_measured(results, 'rows')}, PyTorch {results['torch']}, CuPy "
        f"{results['cupy']}: {_operations_timed(results['rows'])}; from call until the GPU is "
        f"done, medians of calls in turn, {twice}. Among many: a call of a hundred that nobody "
        f"waits for, prepared.{f' {left} cases were left out.' if left else ''}"
        f"{f' {without} are without PyTorch, which refused them.' if without else ''} "
        "Cases that nobody chose: shape, axes, dtype, layout and options are drawn (`--drawn`), on "
        "2^8 to 2^24 numbers."
    )
    steps = {f"{row['op']} ({row['torch_steps']})": None for row in timed if "torch_steps" in row}
    if steps:
        lines.append(f"\nBy several functions of PyTorch: {'; '.join(sorted(steps))}.")
    return lines


def _operations_timed(rows: list[dict[str, Any]]) -> str:
    """Return how many operations were timed, and which of them on which other dtypes."""
    most = len({row["op"] for row in rows if row["dtype"] == "float32"})
    others: dict[tuple[str, ...], set[str]] = {}
    for op in {row["op"] for row in rows}:
        dtypes = sorted({row["dtype"] for row in rows if row["op"] == op} - {"float32"})
        if dtypes:
            others.setdefault(tuple(dtypes), set()).add(op)
    told = [f"{', '.join(sorted(others[key]))} of {', '.join(key)}" for key in sorted(others)]
    return "; ".join([f"{most} operations on float32", *told])


def _reductions_table(results: dict[str, Any]) -> list[str]:
    lines = markdown_table(
        [
            "`reduce` of 2^28 numbers there",
            "kernels, ms",
            "TB/s",
            "of reading",
            "of reading the same",
            "whole call, ms",
        ],
        (
            [
                row["case"],
                three_digits(row["kernel_ms"]),
                three_digits(row["TB_per_s"]),
                f"{row['percent_of_read']:.0f} %",
                f"{row['percent_of_same']:.0f} %",
                three_digits(row["call_ms"]),
            ]
            for row in results["calls"]
            if "kernel_ms" in row
        ),
    )
    # That of the same run: the ceilings may have been measured once more since.
    first = results["calls"][0]
    reading = 100 * first["TB_per_s"] / first["percent_of_read"]
    lines.append(
        f"\n{_measured(results, 'calls')}, caches cold. Reading 4 GiB alone, measured in the "
        f"same run: {reading:.2f} TB/s. Reading alone no more than what is reduced, timed alike: "
        "the fewer bytes, the more of the time is starting, ending, and emptying the cache."
    )
    return lines


def _joins_table(results: dict[str, Any]) -> list[str]:
    """Return the source's problem at growing size, and the ladder beside the source's times."""
    lines = markdown_table(
        ["rows x ids", "pairs", "s", "T updates/s"],
        (
            [
                row["case"],
                f"{row['pairs']:,}",
                three_digits(row["s"]),
                three_digits(row["T_updates_per_s"]),
            ]
            for row in results["shapes"]
        ),
    )
    parquet = results["parquet"]
    lines.append(
        f"\n{_measured(results, 'shapes')}: rows whose ids are drawn out of as many as "
        "there are rows, made and coded on the GPU; pairs of 5 ids and more, counted, with the "
        "making of the index. 14,000,000 rows are counted once, of the others the least of several "
        "runs stands here. IM took 26 minutes for 50,000 rows, and by its equation four years for "
        "14,000,000. "
        f"From Parquet to Parquet ({measured_on(results, 'parquet')}) {parquet['case']}: "
        f"{three_digits(parquet['s'])} s, of which {three_digits(parquet['read_s'])} are for "
        "reading."
    )
    theirs, ours = results["peers"]
    lines.append(
        "\nThe ceiling: additions to counters anywhere in shared memory, nothing beside, run at "
        f"{three_digits(results['ceilings']['additions_per_second'] / 1e12)} T/s. Beside CuPy's "
        "sparse product (cuSPARSE), 20,000 x 100 of Zipf(0.7), T = 2, counted, from rows of the "
        f"host whose ids are small integers: CuPy {three_digits(1e3 * theirs['s'])} ms, warpladder "
        f"{three_digits(1e3 * ours['s'])} ms, which takes any ids and codes them on the host."
    )
    rungs = (
        [
            f"`{row['case']}`",
            three_digits(row["kernel_ms"]),
            "" if row["IM_ms"] is None else three_digits(row["IM_ms"]),
        ]
        for row in results["ladder"]
        if row["n"] == _JOINED
    )
    heads = f"{_JOINED:,} rows x 1,000 ids", "kernels, ms", "IM, ms"
    lines += ["", *markdown_table(heads, rungs)]
    lines.append(
        f"\n{_measured(results, 'ladder')}; IM's times are of a GTX 1080 Ti, for the step that a "
        "rung takes."
    )
    return lines


def _advection_table(results: dict[str, Any]) -> list[str]:
    """Return the engine's rates by scheme, and the ladder's."""
    rates: dict[str, list[dict[str, Any]]] = {}
    for row in results["engine"]:
        rates.setdefault(row["case"], []).append(row)
    sizes = [f"2^{row['n'].bit_length() - 1} cells" for row in next(iter(rates.values()))]
    lines = markdown_table(
        ["T cell-steps/s, of registers only", *sizes],
        (
            [
                case,
                *(
                    f"{three_digits(r['T_per_second'])} ({r['percent_of_registers']:.0f} %)"
                    for r in rows
                ),
            ]
            for case, rows in rates.items()
        ),
    )
    ceilings = results["ceilings"]
    peers = [f"{row['case']}: {three_digits(row['T_per_second'])} T/s." for row in results["peers"]]
    lines.append(
        f"\n{_measured(results, 'engine')}: whole calls of 1,000 steps on cells of the "
        "GPU. Registers only: the same formula on numbers that never leave them, "
        f"{three_digits(ceilings['float32_per_second'] / 1e12)} T/s for float32 and two points; "
        "with the weights in registers, too, of which a multiprocessor reads two a clock, "
        f"{three_digits(ceilings['float32_weights_in_registers_per_second'] / 1e12)}. "
        "Others, at 2^26: "
        + " ".join(peers)
        + " ConvStencil by its own clock; its kernel reads past its shared memory, where this card "
        "stops it, and was given eight numbers more."
    )
    most = max(row["n"] for row in results["ladder"])
    ladder = [row for row in results["ladder"] if row["n"] == most]
    heads = f"2^{most.bit_length() - 1} cells, {ladder[0]['steps']} steps", "kernels, ms"
    rungs = ([f"`{row['case']}`", three_digits(row["kernel_ms"])] for row in ladder)
    return [*lines, "", *markdown_table(heads, rungs)]


def _libraries_table(results: dict[str, Any]) -> list[str]:
    """Return the ladder's top beside the libraries, a line for each size."""
    rows = [row for row in results["libraries"] if row["n"]]
    names = list(dict.fromkeys(row["by"] for row in rows))
    us = {(row["n"], row["by"]): row["us"] for row in rows}
    lines = markdown_table(
        ["sum of int32, us", *names],
        (
            [f"2^{n.bit_length() - 1}", *(three_digits(us[n, name]) for name in names)]
            for n in dict.fromkeys(row["n"] for row in rows)
        ),
    )
    (nothing,) = (row["us"] for row in results["libraries"] if not row["n"])
    versions = results["machine"]
    lines.append(
        f"\n{_measured(results, 'libraries')}: kernels alone, caches cold, medians of cuda-bench "
        f"{versions['cuda-bench']}, in which an empty kernel takes {nothing:.1f} us. CUB by "
        f"cuda-cccl {versions['cuda-cccl']}: its default, whose additions have a fixed order, and "
        "its sum in any order."
    )
    lines.extend(_disagreements(results, us))
    return lines


def _disagreements(results: dict[str, Any], us: dict[tuple[int, str], float]) -> list[str]:
    """Return where the benchmark of the ladder, which times otherwise, has other figures."""
    far = [
        f"{row['kernel_us']:,.0f} us for {row['case']} at 2^{row['n'].bit_length() - 1}"
        for row in results["ladder"]
        if row["n"] >= 1 << 20 and (row["n"], row["case"]) in us
        and abs(row["kernel_us"] / us[row["n"], row["case"]] - 1) > 0.05
    ]  # fmt: skip
    if not far:
        return []
    return [
        (
            "\nThe benchmark of the ladder, in the same file, takes the least of three runs "
            f"between events, on another copy of the numbers, and has {', '.join(far)}; its other "
            "figures of these rungs from 2^20 on are within 5 % of those above. Why one is not is "
            "not known."
        )
    ]


def _draw_advection(results: dict[str, Any]) -> None:
    """Draw rate against the number of cells: as the engine chooses, and the best of each strip."""
    rows = results["shapes"]
    cells = sorted({row["n"] for row in rows})
    figure, axes = plt.subplots(figsize=(7.6, 4.4), layout="constrained")
    strips = list(dict.fromkeys(row["case"] for row in rows))
    for strip, shade in zip(strips, np.linspace(0.75, 0.25, len(strips)), strict=True):
        best = {
            row["n"]: max(value for key, value in row.items() if key.isdigit() and value != "")
            for row in rows
            if row["case"] == strip
        }
        axes.loglog(best.keys(), best.values(), color=str(shade), linewidth=1, label=strip, base=2)
    chosen = {row["n"]: row["chosen"] for row in rows}
    axes.loglog(
        cells, [chosen[n] for n in cells], "o-", color=_RED, label="as the engine chooses", base=2
    )
    for peer, colour in zip(results["peers"], ("#588b8b", _VIOLET), strict=False):
        axes.plot(peer["n"], peer["T_per_second"], "D", color=colour, label=peer["case"])
    ceiling = results["ceilings"]["float32_per_second"] / 1e12
    plain = results["ceilings"]["copy_bytes_per_second"] / 8 / 1e12
    for rate, text in (
        (ceiling, f"ceiling: numbers in registers only, {three_digits(ceiling)} T/s"),
        (plain, f"a step that reads and writes each cell, at most {three_digits(plain)} T/s"),
    ):
        draw_ceiling(axes, cells[1], rate, text)
    axes.set_xlabel("cells")
    axes.set_ylabel("cell-steps per second (T)")
    axes.set_xticks(cells, [f"2^{n.bit_length() - 1}" for n in cells])
    ticks = (0.2, 0.5, 1, 2, 5, 10, 20)
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    quiet_axes(axes, top=1.6 * ceiling, bottom=0.15)
    axes.legend(
        fontsize=8, loc="center right", bbox_to_anchor=(0.8, 0.46), ncols=2,
        frameon=False,
    )  # fmt: skip
    axes.set_title(
        f"Advection on an {_measured(results, 'shapes')}: Lax-Friedrichs, float32, 1,000 "
        "steps\neach length of strips at its best depth",
        fontsize=9, loc="left",
    )  # fmt: skip
    figure.savefig(_FIGURES / "advection_gpu.png", dpi=130)
    print("drew advection_gpu.png")


if __name__ == "__main__":
    main()
