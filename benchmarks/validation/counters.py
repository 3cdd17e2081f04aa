"""The counters on both sides: which are compared, how, and which are known not to agree, and why.

The simulator's sums are put under the names of Nsight Compute's metrics, so that every comparison
is one formula of metrics applied twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import TypeVar

from validation.common import Entry
from warpladder.simulator import Counters

__all__ = ["COMPARISONS", "METRICS", "UNIFORM", "compare_counters", "metrics_of"]

Metrics = Mapping[str, float]
T = TypeVar("T")

_GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"
_SHARED = "smsp__inst_executed_op_shared_{}.sum"
_THREADS = "smsp__thread_inst_executed_per_inst_executed.ratio"

#: This one needs instrumented code, which takes long: for control flow only.
UNIFORM = "smsp__sass_average_branch_targets_threads_uniform.pct"

_OPERATIONS = (("ld", "load"), ("st", "store"))


def _conflicts(verb: str) -> Callable[[Counters], float]:
    passes = attrgetter(f"shared_{verb}_wavefronts")
    ideal = attrgetter(f"shared_{verb}_ideal_wavefronts")
    return lambda counters: passes(counters) - ideal(counters)


#: What Nsight Compute is asked for, and what the simulator counts of it.
METRICS: dict[str, Callable[[Counters], float]] = {
    _GLOBAL.format("requests", "red"): attrgetter("atomic_requests"),
    _GLOBAL.format("requests", "atom"): lambda _: 0,
    _SHARED.format("atom"): lambda _: 0,
    _THREADS: attrgetter("threads_per_instruction"),
    UNIFORM: attrgetter("branch_uniformity"),
}
for _op, _verb in _OPERATIONS:
    METRICS |= {
        _GLOBAL.format("requests", _op): attrgetter(f"global_{_verb}_requests"),
        _GLOBAL.format("sectors", _op): attrgetter(f"global_{_verb}_sectors"),
        _SHARED.format(_op): attrgetter(f"shared_{_verb}_requests"),
        _WAVEFRONTS.format(_op): attrgetter(f"shared_{_verb}_wavefronts"),
        _CONFLICTS.format(_op): _conflicts(_verb),
    }


def metrics_of(counters: Counters) -> dict[str, float]:
    """Return the simulator's sums under the names of Nsight Compute's metrics."""
    found = {name: value(counters) for name, value in METRICS.items()}
    if not counters.branches:
        del found[UNIFORM]
    return found


@dataclass(frozen=True)
class Comparison:
    """A sum of metrics, or its ratio to another one; ``information`` says why it only informs."""

    name: str
    parts: tuple[str, ...]
    whole: str | None = None
    information: str = ""

    @property
    def definition(self) -> str:
        """The formula, in the metrics' names."""
        return " + ".join(self.parts) + (f" / {self.whole}" if self.whole else "")

    def of(self, metrics: Metrics) -> float | None:
        """Return the value, None where there is nothing to compare."""
        found = [metrics[part] for part in self.parts if part in metrics]
        if not found or (self.whole and not metrics.get(self.whole)):
            return None
        return sum(found) / metrics[self.whole] if self.whole else sum(found)


_PREDICATION = (
    "the simulator counts operations of Numba's IR, the hardware machine instructions, in which "
    "predicates take the place of many branches"
)

#: The deciding ratios first: these are written of every launch.
_RATIOS = (
    *(
        Comparison(
            f"global_{verb}_sectors_per_request",
            (_GLOBAL.format("sectors", op),),
            _GLOBAL.format("requests", op),
        )
        for op, verb in _OPERATIONS
    ),
    *(
        Comparison(
            f"shared_{verb}_wavefronts_per_request", (_WAVEFRONTS.format(op),), _SHARED.format(op)
        )
        for op, verb in _OPERATIONS
    ),
)
COMPARISONS = (
    *_RATIOS,
    *(
        Comparison(
            f"shared_{verb}_conflicts_per_request", (_CONFLICTS.format(op),), _SHARED.format(op)
        )
        for op, verb in _OPERATIONS
    ),
    *(
        Comparison(f"global_{verb}_requests", (_GLOBAL.format("requests", op),))
        for op, verb in _OPERATIONS
    ),
    *(Comparison(f"shared_{verb}_requests", (_SHARED.format(op),)) for op, verb in _OPERATIONS),
    Comparison(
        "atomic_requests",
        (*(_GLOBAL.format("requests", op) for op in ("red", "atom")), _SHARED.format("atom")),
    ),
    Comparison("threads_per_instruction", (_THREADS,), information=_PREDICATION),
    Comparison("branch_uniformity", (UNIFORM,), information=_PREDICATION),
)

#: Launches and counters, as patterns, that are known to disagree, and why.
_EXPECTED = (
    ("complex", "global|shared", "Numba accesses the two parts of a complex number one by one"),
    (
        r"atomic/(float\d+ kinds|uint64 bits)",
        "global|atomic",
        "min and max of floats, and inc and dec of 64 bits, are compare-and-swap loops in Numba",
    ),
    ("grid.stride", "global", "an unrolled loop splits the requests of part-filled warps"),
)

_RELATIVE = 0.005
_MOST = 40


def _agree(ours: float, theirs: float) -> bool:
    return abs(ours - theirs) <= _RELATIVE * max(1.0, abs(ours))


def compare_counters(simulated: Mapping[str, Metrics], hardware: Mapping[str, Metrics]) -> Entry:
    """Return per counter how many launches agree and which do not, and the ratios of each launch.

    Both are metrics by key of the launch; ``#k`` ends the key of a step's k-th launch.
    """
    both = {key: (simulated[key], hardware[key]) for key in hardware if key in simulated}
    return {
        "tolerance": f"{_RELATIVE:.1%} of the simulator's number, and at least {_RELATIVE}",
        "launches": len(both),
        "counters": {one.name: _compare(one, both) for one in COMPARISONS},
        "table": _table(both),
    }


def _pair(comparison: Comparison, both: tuple[Metrics, Metrics]) -> tuple[float, float] | None:
    ours, theirs = (comparison.of(metrics) for metrics in both)
    return None if ours is None or theirs is None or ours == theirs == 0 else (ours, theirs)


def _compare(comparison: Comparison, both: Mapping[str, tuple[Metrics, Metrics]]) -> Entry:
    pairs = {key: pair for key, metrics in both.items() if (pair := _pair(comparison, metrics))}
    unlike = [(key, pair) for key, pair in pairs.items() if not _agree(*pair)]
    reasons = {key: _reason(key, comparison.name) for key, _ in unlike}
    # What was not expected comes first, where there are too many to list.
    unlike.sort(key=lambda item: bool(reasons[item[0]]))
    expected = sum(map(bool, reasons.values()))
    records = []
    for case, (ours, theirs), keys in _together(unlike):
        reason = reasons[keys[0]]
        records.append(
            {"case": case, "simulator": _short(ours), "hardware": _short(theirs)}
            | ({"expected": reason} if reason else {})
        )
    found: Entry = {
        "definition": comparison.definition,
        "agree": len(pairs) - len(unlike),
        "of": len(pairs),
    }
    if comparison.information:
        found["expected"] = comparison.information
    elif expected:
        found["disagreements_expected"] = expected
    return found | {"disagreements": records[:_MOST]}


def _reason(case: str, counter: str) -> str:
    for cases, counters, reason in _EXPECTED:
        if re.search(cases, case) and re.match(counters, counter):
            return reason
    return ""


def _short(value: float) -> float:
    rounded = float(f"{value:.4g}")
    return int(rounded) if rounded.is_integer() else rounded


def _together(items: Iterable[tuple[str, T]]) -> list[tuple[str, T, list[str]]]:
    """Return runs of launches of one step that are alike as one: ``step #1-8``."""
    runs = []
    for (step, value), run in groupby(items, lambda item: (item[0].partition(" #")[0], item[1])):
        keys = [key for key, _ in run]
        first, last = (key.partition(" #")[2] for key in (keys[0], keys[-1]))
        name = f"{step} #{first}" if first else step
        runs.append((f"{name}-{last}" if last != first else name, value, keys))
    return runs


def _table(both: Mapping[str, tuple[Metrics, Metrics]]) -> Entry:
    """Return the deciding ratios of every launch, the hardware's only where it is another one."""
    rows = [(key, [_cell(one, metrics) for one in _RATIOS]) for key, metrics in both.items()]
    return {
        "cells": "the ratio where both sides agree, [simulator, hardware] where they do not",
        "columns": ["case", *(one.name for one in _RATIOS)],
        "rows": [[case, *cells] for case, cells, _ in _together(rows)],
    }


def _cell(comparison: Comparison, both: tuple[Metrics, Metrics]) -> float | list[float] | None:
    pair = _pair(comparison, both)
    if pair is None:
        return None
    return _short(pair[0]) if _agree(*pair) else [_short(value) for value in pair]
