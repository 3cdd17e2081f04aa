"""Write the README's GPU tables and the package's times, draw the climbs, from the results."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from record_times import write_recorded_times
from report import quiet_axes, replace_between
from validation.sanitizer_report import sentence

_RESULTS = Path(__file__).parent / "results"
_ROOT = Path(__file__).parent.parent
_FIGURES = _ROOT / "docs"
_FOUND = "benchmarks/results/sanitizer_nvidia-h200.md"
_RED, _VIOLET, _GREY = "#c8553d", "#7d6b91", "#b9b0a2"
_CALLS = ("from and to the host", "on the GPU before and after")


def main() -> None:
    """Take the newest results."""
    write_recorded_times()
    paths, reductions = (_newest(name) for name in ("gpu_shortest_paths", "gpu_reduction"))
    _draw_paths(paths)
    _draw_reductions(reductions)
    advection = _newest("gpu_advection")
    _draw_advection(advection)
    replace_between(
        _ROOT / "README.md",
        "<!-- GPU results from benchmarks/results -->",
        "<!-- end of GPU results -->",
        _engine_table(paths),
    )
    replace_between(
        _ROOT / "README.md",
        "<!-- GPU reductions from benchmarks/results -->",
        "<!-- end of GPU reductions -->",
        [
            *_calls_table(_newest("gpu_calls")),
            "",
            *_reductions_table(reductions),
            "",
            *_libraries_table(reductions),
        ],
    )
    replace_between(
        _ROOT / "README.md",
        "<!-- GPU joins from benchmarks/results -->",
        "<!-- end of GPU joins -->",
        _joins_table(_newest("gpu_overlap_join")),
    )
    replace_between(
        _ROOT / "README.md",
        "<!-- GPU advection from benchmarks/results -->",
        "<!-- end of GPU advection -->",
        _advection_table(advection),
    )
    sanitized = textwrap.wrap(sentence(_newest("sanitizer")), 100, break_on_hyphens=False)
    replace_between(
        _ROOT / "README.md",
        "<!-- compute-sanitizer from benchmarks/results -->",
        "<!-- end of compute-sanitizer -->",
        [*sanitized, f"Rung by rung: [{_FOUND}]({_FOUND})."],
    )


def _newest(name: str) -> dict[str, Any]:
    path = max(_RESULTS.glob(f"{name}[-_]nvidia*.json"), key=lambda path: path.stat().st_mtime)
    results: dict[str, Any] = json.loads(path.read_text())
    return results


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


def _calls_table(results: dict[str, Any]) -> list[str]:
    """Return whole calls beside PyTorch's: how many are as fast, and the slowest."""
    groups = {
        "a number, of 2^10 to 2^24": [r for r in results["rows"] if r["axis"] is None],
        "an array, over an axis": [r for r in results["rows"] if r["axis"] is not None],
    }
    lines = [
        "| `reduce` beside PyTorch, whole calls | cases | as fast | to 1.3 times | most | median |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, rows in groups.items():
        ratios = sorted(row["ratio"] for row in rows)
        fast, near = (sum(ratio <= most for ratio in ratios) for most in (1, 1.3))
        lines.append(
            f"| {name} | {len(ratios)} | {fast} | {near} | {ratios[-1]:.2f} "
            f"| {ratios[len(ratios) // 2]:.2f} |"
        )
    lines += [
        "",
        "| slowest beside PyTorch | us | PyTorch | CuPy | among many, us | PyTorch |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for row in results["rows"][:10]:
        cupy = _three(row["cupy_us"]) if "cupy_us" in row else ""
        lines.append(
            f"| {row['case']} | {_three(row['ours_us'])} | {_three(row['torch_us'])} | {cupy} "
            f"| {_three(row['queued_us'])} | {_three(row['torch_queued_us'])} |"
        )
    left = results["cases_left_out"]
    lines.append(
        f"\n{results['gpu']}, {results['date'][:10]}, PyTorch {results['torch']}, CuPy "
        f"{results['cupy']}: ten operations on float32, sums of other dtypes; from call until the "
        "GPU is done, medians of calls in turn. Among many: a call of a hundred that nobody waits "
        f"for, prepared.{f' {left} cases were left out for time.' if left else ''}"
    )
    return lines


def _reductions_table(results: dict[str, Any]) -> list[str]:
    lines = [
        "| `reduce` of 2^28 numbers there | kernels, ms | TB/s | of reading | whole call, ms |",
        "|---|--:|--:|--:|--:|",
    ]
    lines.extend(
        f"| {row['case']} | {_three(row['kernel_ms'])} | {_three(row['TB_per_s'])} "
        f"| {row['percent_of_read']:.0f} % | {_three(row['call_ms'])} |"
        for row in results["calls"]
        if "kernel_ms" in row
    )
    reading = results["ceilings"]["read_bytes_per_second"] / 1e12
    lines.append(
        f"\n{results['gpu']}, {results['date'][:10]}, caches cold. Reading alone, measured in the "
        f"same run: {reading:.2f} TB/s."
    )
    return lines


def _joins_table(results: dict[str, Any]) -> list[str]:
    """Return the source's problem at growing size, and the ladder beside the source's times."""
    lines = ["| rows x ids | pairs | s | T updates/s |", "|---|--:|--:|--:|"]
    lines.extend(
        f"| {row['case']} | {row['pairs']:,} | {_three(row['s'])} "
        f"| {_three(row['T_updates_per_s'])} |"
        for row in results["shapes"]
    )
    parquet = results["parquet"]
    lines.append(
        f"\n{results['gpu']}, {results['date'][:10]}: rows whose ids are drawn out of as many as "
        "there are rows, made and coded on the GPU; pairs of 5 ids and more, counted, index and "
        "all. IM took 26 minutes for 50,000 rows, and by its equation four years for 14,000,000. "
        f"From Parquet to Parquet {parquet['case']}: {_three(parquet['s'])} s, of which "
        f"{_three(parquet['read_s'])} are for reading."
    )
    theirs, ours = results["peers"]
    lines.append(
        "\nThe ceiling: additions to counters anywhere in shared memory, nothing beside, run at "
        f"{_three(results['ceilings']['additions_per_second'] / 1e12)} T/s. Beside CuPy's sparse "
        "product (cuSPARSE), 20,000 x 100 of Zipf(0.7), T = 2, counted, from rows of the host "
        f"whose ids are small integers: CuPy {_three(1e3 * theirs['s'])} ms, warpladder "
        f"{_three(1e3 * ours['s'])} ms, which takes any ids and codes them on the host."
    )
    lines += ["", "| 1,000 rows x 1,000 ids | kernels, ms | IM, ms |", "|---|--:|--:|"]
    lines.extend(
        f"| `{row['case']}` | {_three(row['kernel_ms'])} "
        f"| {'' if row['IM_ms'] is None else _three(row['IM_ms'])} |"
        for row in results["ladder"]
    )
    lines.append("\nIM's times are of a GTX 1080 Ti, for the step that a rung takes.")
    return lines


def _advection_table(results: dict[str, Any]) -> list[str]:
    """Return the engine's rates by scheme, and the ladder's."""
    rates: dict[str, list[dict[str, Any]]] = {}
    for row in results["engine"]:
        rates.setdefault(row["case"], []).append(row)
    sizes = [f"2^{row['n'].bit_length() - 1} cells" for row in next(iter(rates.values()))]
    lines = [
        f"| T cell-steps/s, of registers only | {' | '.join(sizes)} |",
        f"|---|{'--:|' * len(sizes)}",
    ]
    for case, rows in rates.items():
        cells = [
            f"{_three(row['T_per_second'])} ({row['percent_of_registers']:.0f} %)" for row in rows
        ]
        lines.append(f"| {case} | {' | '.join(cells)} |")
    ceilings = results["ceilings"]
    peers = [f"{row['case']}: {_three(row['T_per_second'])} T/s." for row in results["peers"]]
    lines.append(
        f"\n{results['gpu']}, {results['date'][:10]}: whole calls of 1,000 steps on cells of the "
        "GPU. Registers only: the same formula on numbers that never leave them, "
        f"{_three(ceilings['float32_per_second'] / 1e12)} T/s for float32 and two points; with the "
        "weights in registers, too, of which a multiprocessor reads two a clock, "
        f"{_three(ceilings['float32_weights_in_registers_per_second'] / 1e12)}. Others, at 2^26: "
        + " ".join(peers)
        + " ConvStencil by its own clock; its kernel reads past its shared memory, where this card "
        "stops it, and was given eight numbers more."
    )
    most = max(row["n"] for row in results["ladder"])
    ladder = [row for row in results["ladder"] if row["n"] == most]
    lines += ["", f"| 2^{most.bit_length() - 1} cells, {ladder[0]['steps']} steps | kernels, ms |",
              "|---|--:|"]  # fmt: skip
    lines.extend(f"| `{row['case']}` | {_three(row['kernel_ms'])} |" for row in ladder)
    return lines


def _libraries_table(results: dict[str, Any]) -> list[str]:
    """Return the ladder's top beside the libraries, a line for each size."""
    rows = [row for row in results["libraries"] if row["n"]]
    names = list(dict.fromkeys(row["by"] for row in rows))
    us = {(row["n"], row["by"]): row["us"] for row in rows}
    lines = [
        f"| sum of int32, us | {' | '.join(names)} |",
        f"|---|{'--:|' * len(names)}",
    ]
    for n in dict.fromkeys(row["n"] for row in rows):
        cells = [_three(us[n, name]) for name in names]
        lines.append(f"| 2^{n.bit_length() - 1} | {' | '.join(cells)} |")
    (nothing,) = (row["us"] for row in results["libraries"] if not row["n"])
    versions = results["machine"]
    lines.append(
        f"\nKernels alone, caches cold, medians of cuda-bench {versions['cuda-bench']}, in which "
        f"an empty kernel takes {nothing:.1f} us. CUB by cuda-cccl {versions['cuda-cccl']}: its "
        "default, whose additions have a fixed order, and its sum in any order."
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


def _draw_paths(results: dict[str, Any]) -> None:
    """Draw the time of each rung at the size of CF's table, theirs beside ours."""
    theirs = results["ladder"]["carrega_ferreira_ms"]
    rungs = [row for row in results["ladder"]["rungs"] if row["n"] == 2048]
    colors = [_RED if row["dtype"] == "int32" else _VIOLET for row in rungs]
    _draw(
        "shortest_paths_ladder.png",
        [f"CF: {name}" for name in theirs] + [row["case"] for row in rungs],
        [*theirs.values(), *(row["kernel_ms"] for row in rungs)],
        [_GREY] * len(theirs) + colors,
        "ms",
        f"2,048 vertices: the ladder on an {results['gpu']}, {results['date'][:10]}, kernels\n"
        "red: int32; violet: other dtypes; grey: Carrega & Ferreira on a GTX 960 and a Xeon X5670",
    )


def _draw_reductions(results: dict[str, Any]) -> None:
    """Draw the time of each rung for 2^28 numbers."""
    rungs = [row for row in results["ladder"] if row["n"] == 1 << 28]
    ceiling = 4 * (1 << 28) / results["ceilings"]["read_bytes_per_second"] * 1e6
    _draw(
        "reduction_ladder.png",
        [row["case"] for row in rungs] + ["reading alone"],
        [row["kernel_us"] for row in rungs] + [ceiling],
        [_RED] * len(rungs) + [_GREY],
        "us",
        f"sum of 2^28 int32: the ladder on an {results['gpu']}, {results['date'][:10]}\n"
        "kernels alone, caches cold",
    )


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
        (ceiling, f"ceiling: numbers in registers only, {_three(ceiling)} T/s"),
        (plain, f"a step that reads and writes each cell, at most {_three(plain)} T/s"),
    ):
        axes.axhline(rate, color="#444444", linestyle="--", linewidth=1)
        axes.annotate(text, (cells[1], rate), xytext=(0, 4), textcoords="offset points", fontsize=9)
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
        f"Advection on an {results['gpu']}, {results['date'][:10]}: Lax-Friedrichs, float32, 1,000 "
        "steps\neach length of strips at its best depth",
        fontsize=9, loc="left",
    )  # fmt: skip
    figure.savefig(_FIGURES / "advection_gpu.png", dpi=130)
    print("drew advection_gpu.png")


def _draw(
    name: str, labels: list[str], values: list[float], colors: list[str], unit: str, title: str
) -> None:
    figure, axes = plt.subplots(figsize=(7.6, 1.2 + 0.23 * len(labels)), layout="constrained")
    axes.barh(range(len(labels)), values, color=colors, log=True)
    for place, value in enumerate(values):
        axes.annotate(
            f"{_three(value)} {unit}", (value, place), xytext=(4, 0),
            textcoords="offset points", va="center", fontsize=8,
        )  # fmt: skip
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(min(values) / 2, 4 * max(values))
    axes.set_xlabel(unit)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.set_title(title, fontsize=9, loc="left")
    _FIGURES.mkdir(exist_ok=True)
    figure.savefig(_FIGURES / name, dpi=130)
    print(f"drew {name}")


if __name__ == "__main__":
    main()
