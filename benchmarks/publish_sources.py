"""Write `docs/sources.md`: what runs each thing of the five sources, and their figures beside ours.

    python benchmarks/publish_sources.py

Which rung stands for what is known to `warpladder.lab.coverage`; our figures are those of
`benchmarks/results`, and what is not in them is said to be not yet measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import fmean, median
from typing import Any

from report import measured_on, newest_results
from warpladder.lab.coverage import ITEMS, holding
from warpladder.lab.explore.shortest_paths.versions import TABLE_II
from warpladder.lab.registry import find_ladder
from warpladder.lab.sources import SOURCES

_ROOT = Path(__file__).parent.parent
_RESULTS = Path(__file__).parent / "results"
PAGE = _ROOT / "docs" / "sources.md"
_NOT_YET = "not yet measured"

_HEAD = """\
# The sources, and what runs them

Five texts stand behind the ladders. This page maps everything in them that can be run, looked at or
worked out (listings, tables, figures, exercises, explorations) to what does so here, and puts their
figures beside ours. `warpladder sources` prints the map; a rung is read by `warpladder explain` and
run by `warpladder climb`.

What is not run has its reason in the last column. Sentences and code of the sources are not copied.
"""

#: IM: its experiments, the rung that stands for each, rows, and seconds; of 50,000 rows, minutes.
_IM = (
    ("one row, a thread for each other row", "row-against-chunk", 50, 6.65),
    ("the same", "row-against-chunk", 1000, 315.0),
    ("a block for each pair, a thread for each id", "id-per-thread", 1000, 3.6),
    ("the same", "id-per-thread", 2000, 14.0),
    ("each pair once, the loop unrolled", "unrolled", 1000, 1.7),
    ("the same", "unrolled", 4000, 25.0),
    ("flags in shared memory, or atomics", "shared-flags", 1000, 1.5),
    ("the same", "shared-flags", 4000, 24.0),
    ("rows in one array, atomics (ours: rows apart)", "atomics", 1000, 0.87),
    ("rows in one array, flags in shared memory", "flat-rows", 1000, 0.66),
    ("the same, a result in two dimensions", "flat-rows", 50_000, 26 * 60.0),
)
#: Of these, what is too large to be run: n * n numbers are 10 GB.
_NOT_RUN = {("flat-rows", 50_000)}
#: GR: what a warp's loads use of what moves, by transactions of 128 and of 32 bytes.
_GR = (
    ("aligned, in order", "access-aligned", 100, 100),
    ("aligned, permuted", "access-permuted", 100, 100),
    ("misaligned, in order", "access-misaligned", 50, 80),
    ("misaligned and scattered", "access-scattered", 33, 66),
)
#: HB: the cards of its study.
_HB = (
    ("GeForce GT 9600M", "1.1", 4, 8),
    ("GeForce GT 330M", "1.2", 6, 8),
    ("Tesla C1060", "1.3", 30, 8),
    ("Tesla M2070", "2.0", 14, 32),
)


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(_ROOT)}")


def page() -> str:
    """Return the page as Markdown."""
    parts = [_HEAD, *_map(), "## Their figures beside ours\n"]
    parts += [*_versions(), *_reductions(), *_block_sizes(), *_joins(), *_accesses(), *_cards()]
    return "\n".join(parts)


# ---- the map ---------------------------------------------------------------------------------


def _map() -> Iterator[str]:
    known = holding()
    for key, source in SOURCES.items():
        yield f"## {key}\n\n{source}.\n"
        yield _table(
            ("place", "what", "what runs it", "not run"),
            (
                (
                    ", ".join(place.removeprefix(f"{key} ") for place in item.places),
                    item.what,
                    ", ".join(map(_shown, known[item])),
                    item.not_done,
                )
                for item in ITEMS
                if item.key == key
            ),
        )


def _shown(what: str) -> str:
    if what.startswith("docs/"):
        return "below"
    return f"`warpladder {what}`" if what.startswith("explore ") else f"`{what}`"


# ---- figures ---------------------------------------------------------------------------------


def _versions() -> Iterator[str]:
    record = _record("gpu_shortest_paths")
    ours = {row["case"]: row["kernel_ms"] for row in record["ladder"]["rungs"] if row["n"] == 2048}
    ours |= {"sequential-cpu": _sequential_ms("shortest-paths", 2048)}
    yield (
        "### CF's table II and figures 2 and 3: 2,048 vertices\n\n"
        "Theirs: a GTX 960 and one core of a Xeon X5670 (table I), medians and means of ten runs; "
        "figures 2 and 3 draw these. No unit is named: taken for ms, a step of the loop on that "
        f"core is 4.7 ns. Ours: {_card(record, 'ladder')}, kernels alone; the loop on "
        f"one core of {_core()}.\n"
    )
    yield _table(
        ("version", "rung", "CF, median ms", "CF, mean ms", "ours, ms"),
        (
            (
                name,
                f"`{rung}`",
                f"{median(taken):,.1f}",
                f"{fmean(taken):,.1f}",
                _ms(ours.get(rung)),
            )
            for (rung, taken), name in zip(
                TABLE_II.items(),
                ("sequential CPU", "parallel GPU", "one launch, flags", "D[i,k] in a register"),
                strict=True,
            )
        ),
        right=3,
    )
    yield (
        "`warpladder explore versions` counts all five versions and times them on a GPU. Beyond "
        "the paper, `pivot-in-register` keeps the same entry in warps that walk along whole rows: "
        f"{_ms(ours.get('pivot-in-register'))} ms.\n"
    )


def _reductions() -> Iterator[str]:
    record = _record("gpu_reduction")
    times = {(row["case"], row["n"]): row for row in record["ladder"]}
    libraries = {row["n"]: row["us"] for row in record["libraries"] if row["by"] == "CUB"}
    with_copies = {row["n"]: row["end_to_end_ms"] for row in record.get("library_with_copies", ())}
    sizes = (1 << 10, 1 << 20, 1 << 30)
    yield (
        "### RD's three sizes, without and with copies\n\n"
        f"The sum of int32, {_card(record, 'ladder')}: kernels alone, in us, then from an array of "
        "the host to the sum on the host, ordinary memory, allocations and copies included, in ms. "
        "RD shows bars without figures, with copies throughout. CUB stands for RD's library; its "
        f"kernels are timed by cuda-bench, {measured_on(record, 'libraries')}. The loop is on one "
        f"core of {_core()}, and has nothing to copy.\n"
    )
    heads = [head for n in sizes for head in (f"2^{n.bit_length() - 1}, us", "with copies, ms")]
    rows = []
    ladder = find_ladder("reduction")
    for rung in ladder.rungs:
        if rung.task is not ladder.rungs[0].task:
            continue
        cells = []
        for n in sizes:
            row = times.get((rung.name, n), {})
            if rung.name == "cub-library":
                cells += [_ms(libraries[n]), _ms(with_copies.get(n))]
            elif rung.on == "cpu":
                cells += [_ms(1000 * _sequential_ms("reduction", n)), ""]
            else:
                cells += [_ms(row["kernel_us"]), _ms(row["end_to_end_ms"])]
        rows.append((f"`{rung.name}`", rung.source, *cells))
    yield _table(("rung", "source", *heads), rows, right=6)


def _block_sizes() -> Iterator[str]:
    record = _record("gpu_reduction")
    threads = [key for key in record["block_sizes"][0] if key.endswith("_us")]
    yield (
        "### Block sizes of reductions\n\n"
        f"Kernels alone, in us, {_card(record, 'block_sizes')}. `warpladder explore block-size` "
        "counts and, on a GPU, times all rungs whose blocks have a choice.\n"
    )
    yield _table(
        ("rung", "n", *(key.removesuffix("_us") for key in threads)),
        (
            (
                f"`{row['case']}`",
                f"2^{row['n'].bit_length() - 1}",
                *(_ms(row[key]) for key in threads),
            )
            for row in record["block_sizes"]
        ),
        right=1 + len(threads),
    )


def _joins() -> Iterator[str]:
    record = _record("gpu_overlap_join")
    ours = {(row["case"], row["n"]): row["kernel_ms"] for row in record["ladder"]}
    yield (
        "### IM's experiments\n\n"
        "Rows of 1,000 ids. Theirs: a GTX 1080 Ti, in seconds. Ours: the rung that stands for the "
        f"experiment, {_card(record, 'ladder')}, kernels alone. A wrong rung is not timed: its "
        "counts are not to be trusted. Nor is a result of n * n numbers for 50,000 rows: it takes "
        "10 GB, and by the square of the rows minutes. IM takes the time to grow with the square "
        "of the rows, 3.6 s and later 0.66 s for each thousand squared.\n"
    )
    yield _table(
        ("experiment", "rung", "rows", "IM, s", "ours, s"),
        (
            (
                what,
                f"`{rung}`",
                f"{n:,}",
                f"{seconds:g}",
                _joined(rung, n, ours.get((rung, n))),
            )
            for what, rung, n, seconds in _IM
        ),
        right=3,
    )
    whole = next(row for row in record["shapes"] if row["case"] == "50,000 x 1,000")
    yield (
        f"The library's call joins 50,000 rows of 1,000 ids in {whole['s']:.3f} s there: it keeps "
        "pairs that share enough, not n * n numbers. Case 1 and case 2 of IM's synchronisation are "
        "run, right and wrong, by `warpladder explore updates`.\n"
    )


def _joined(rung: str, n: int, milliseconds: float | None) -> str:
    ladder = find_ladder("overlap-join")
    if rung in {wrong.rung.name for wrong in ladder.wrong}:
        return "wrong"
    if milliseconds is None:
        return "not run" if (rung, n) in _NOT_RUN else _NOT_YET
    return f"{milliseconds / 1e3:.3g}"


def _accesses() -> Iterator[str]:
    yield (
        "### GR's access patterns\n\n"
        "What a warp uses of what moves, in percent, by transactions of 128 and of 32 bytes. Ours "
        "are the counters `load_utilisation_128` and `load_utilisation_32` of the simulator, as "
        "the rungs predict them and tests assert.\n"
    )
    ladder = find_ladder("primer")
    rows = []
    for what, name, wide, narrow in _GR:
        rung = ladder.find(name)
        claims = {} if rung is None else {one.counter: one.value for one in rung.predicts}
        found = [claims.get(f"load_utilisation_{size}") for size in (128, 32)]
        rows.append(
            (what, f"`{name}`", str(wide), str(narrow), *(f"{value:.1f}" for value in found))
        )
    yield _table(("pattern", "rung", "GR, 128", "GR, 32", "ours, 128", "ours, 32"), rows, right=4)


def _cards() -> Iterator[str]:
    yield (
        "### HB's cards\n\n"
        "The four that its study of scalability ran on. `warpladder explore cycles` repeats the "
        "study on the devices that are there; `--sizes 10:1800:10` takes HB's own sizes.\n"
    )
    yield _table(
        ("card", "compute capability", "multiprocessors", "cores in each", "cores"),
        (
            (card, capability, str(count), str(cores), str(count * cores))
            for card, capability, count, cores in _HB
        ),
        right=4,
    )


# ---- Markdown --------------------------------------------------------------------------------


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]], right: int = 0) -> str:
    """Return a table whose last columns, so many, are set to the right."""
    left = len(heads) - right
    lines = [heads, ("---",) * left + ("--:",) * right, *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _ms(value: float | None) -> str:
    if value is None:
        return _NOT_YET
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _sequential() -> dict[str, Any]:
    return newest_results("sequential-*")


def _sequential_ms(ladder: str, n: int) -> float:
    """Return what the loop on one core took."""
    path = f"{ladder}/sequential-cpu"
    rows = {(row["case"], row["n"]): row["ms"] for row in _sequential()["rungs"]}
    return float(rows[path, n])


def _core() -> str:
    record = _sequential()
    return f"an {record['machine']['cpu']}, {record['date']}"


def _card(record: dict[str, Any], part: str) -> str:
    return f"{record['gpu']}, {measured_on(record, part)}"


def _record(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((_RESULTS / f"{name}-nvidia-h200.json").read_text())
    return document


if __name__ == "__main__":
    main()
