"""Counters stand beside the lines where they were counted."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import toy
from fakes import FakeKernel, FakeSimulator
from hypothesis import given
from hypothesis import strategies as st

from warpladder.errors import InputError, KernelFaultError
from warpladder.lab.compare import poison
from warpladder.lab.documents import explanation_document
from warpladder.lab.explain import explain
from warpladder.lab.gutter import WIDTH, choose_columns, columns_beside, pieces, short
from warpladder.lab.registry import find_rung
from warpladder.simulator import SimulatedDevice
from warpladder.simulator.checks.counters import Counters


def test_lines_counters_launches_and_predictions():
    found = explain(toy.LADDER, toy.NEIGHBOURS, FakeSimulator)
    assert found.n == 33
    assert found.text == (
        "Twice each number, in every way that is right, and wrong.",
        "Idea: to this belongs a paragraph,\nwhich is shown, too.",
    )
    assert Path(found.file).name == "toy.py"
    (kernel,) = found.kernels
    assert kernel.name == "double"
    first = toy.double.__code__.co_firstlineno
    assert [line.number for line in kernel.lines] == [first, first + 1, first + 2]
    assert [line.counters is None for line in kernel.lines] == [True, True, False]
    assert kernel.lines[2].text == "    y[...] = x + x"
    assert kernel.lines[2].counters.global_load_sectors == 40
    assert kernel.counters.global_load_sectors == 40
    assert (kernel.launches[0].grid, kernel.launches[0].block) == ((2, 1, 1), (32, 1, 1))
    assert [result.ok for result in found.predictions] == [True, True]
    assert found.elsewhere == ()
    assert found.wrong is None


def test_launches_of_a_kernel_are_summed():
    def twice(device, problem):
        toy.running(toy.NEAR)(device, problem)
        return toy.running(toy.NEAR)(device, problem)

    (kernel,) = explain(
        toy.LADDER, toy.rung("twice", twice, kernels=(toy.NEAR,)), FakeSimulator, n=5
    ).kernels
    assert len(kernel.launches) == kernel.counters.launches == 2
    assert kernel.counters.global_load_sectors == kernel.lines[2].counters.global_load_sectors == 80


def test_launches_belong_to_their_kernel():
    def halve(y, x):
        y[...] = x / 2

    other = FakeKernel(halve, {1: Counters(shuffles=3)})

    def both(device, problem):
        toy.running(toy.NEAR)(device, problem)
        return toy.running(other)(device, problem)

    rung = toy.rung("both", both, kernels=(toy.NEAR, other))
    near, half = explain(toy.LADDER, rung, FakeSimulator).kernels
    assert (len(near.launches), near.counters.shuffles) == (1, 0)
    assert (len(half.launches), half.counters.shuffles) == (1, 3)


def test_a_kernel_that_was_made_of_text_has_no_lines():
    names = {}
    exec("def halve(y, x):\n    y[...] = x / 2", names)  # noqa: S102 - as `cuda.vectorize` does
    kernel = FakeKernel(names["halve"], {1: Counters(shuffles=3)})
    rung = toy.rung("text", toy.running(kernel), kernels=(kernel,))
    (half,) = explain(toy.LADDER, rung, FakeSimulator).kernels
    assert (half.name, half.lines, half.counters.shuffles) == ("halve", (), 3)


def test_lines_of_functions_elsewhere_come_after():
    class CallsElsewhere(FakeSimulator):
        def launch(self, kernel, *args, **options):
            super().launch(kernel, *args, **options)
            key = (poison.__code__.co_filename, poison.__code__.co_firstlineno)
            self.line_counters[key] = Counters(warp_instructions=7)

    (other,) = explain(toy.LADDER, toy.STRIDED, CallsElsewhere).elsewhere
    assert other.name == "compare.py"
    assert [line.counters.warp_instructions for line in other.lines] == [7]
    assert other.lines[0].text.startswith("def poison(")


def test_a_wrong_rung_is_counted_with_the_checks_off_and_caught_with_them_on():
    ladder = dataclasses.replace(toy.LADDER, wrong=(dataclasses.replace(toy.RACE, n=70),))
    found = explain(ladder, toy.RACE.rung, FakeSimulator)
    assert found.n == 70
    assert found.kernels[0].counters.global_load_sectors == 4
    assert found.wrong.ok


@pytest.mark.parametrize(
    ("path", "n"), [("primer/vector-add-no-guard", 1000), ("reduction/powers-of-two-only", 33)]
)
def test_a_wrong_rung_that_memcheck_stops_is_counted_up_to_its_fault(path, n):
    found = explain(*find_rung(path), SimulatedDevice)
    assert found.n == n
    assert found.stopped.startswith("memcheck:")
    assert found.wrong.ok
    ((file, line),) = found.faulty_lines
    (kernel,) = found.kernels
    assert Path(kernel.file).name == file
    there = next(shown for shown in kernel.lines if shown.number == line)
    # Warps that came before read what is theirs; the one that is stopped does not get there.
    assert there.counters.global_load_requests > 0
    assert kernel.counters.launches == 1
    assert json.loads(json.dumps(explanation_document(found)))["faulty_lines"] == [
        {"file": file, "line": line}
    ]


def test_warps_before_the_fault_are_counted_in_full():
    found = explain(*find_rung("primer/vector-add-no-guard"), SimulatedDevice)
    # 1000 = 31 x 32 + 8: 31 warps load twice and store once before the next one is stopped.
    counters = found.kernels[0].counters
    assert (counters.global_load_requests, counters.global_store_requests) == (62, 31)


def test_a_fault_of_a_right_rung_is_no_explanation():
    faulty = FakeKernel(toy.double, fault="memcheck")
    with pytest.raises(KernelFaultError, match="memcheck"):
        explain(toy.LADDER, toy.rung("out", toy.running(faulty), kernels=(faulty,)), FakeSimulator)


def test_a_rung_on_the_cpu_shows_its_host_function():
    found = explain(toy.LADDER, toy.PLAIN, FakeSimulator)
    assert "problem.x + problem.x" in found.kernels[0].lines[0].text
    assert found.kernels[0].launches == ()


def test_a_size_that_a_rung_does_not_take_is_no_fault_of_its_kernel():
    limited = dataclasses.replace(toy.PLAIN, max_n=64, limits="a tile holds no more")
    with pytest.raises(InputError, match=r"^n=65: plain takes up to 64: a tile holds no more$"):
        explain(toy.LADDER, limited, FakeSimulator, 65)


@pytest.mark.parametrize("lines", [True, False])
def test_the_document_is_json(lines):
    found = explain(toy.LADDER, toy.RACE.rung, FakeSimulator)
    document = json.loads(json.dumps(explanation_document(found, lines=lines), allow_nan=False))
    (kernel,) = document["kernels"]
    assert ("lines" in kernel) == lines
    assert kernel["counters"]["global_load_sectors_per_request"] == 4
    assert document["wrong"]["caught"] is True


def test_columns_are_chosen_by_what_they_tell():
    busy = Counters(**dict.fromkeys(Counters.__dataclass_fields__, 1))
    # No bank conflict, nothing that meets at one address: those columns go first.
    assert [column.heading for column in choose_columns([busy], 3)] == ["load", "stor", "thr"]
    conflict = Counters(shared_load_wavefronts=8, shared_load_ideal_wavefronts=4)
    told = choose_columns([busy, conflict], 3)
    assert [column.heading for column in told] == ["load", "stor", "bank"]
    everything = choose_columns([Counters(), busy], 99)
    assert len(everything) == 12
    assert all(len(column.heading) <= 4 for column in everything)
    assert choose_columns([Counters()], 99) == []


@pytest.mark.parametrize("width", [80, 100, 120, 160])
def test_the_code_has_the_width_that_it_needs_or_most_of_the_terminal(width):
    busy = Counters(**dict.fromkeys(Counters.__dataclass_fields__, 1))
    for code in (20, 56, 70, 95):
        left = width - WIDTH * len(columns_beside(code, width, [busy]))
        assert left >= min(code, max(56, width // 2))
    assert len(columns_beside(20, width, [busy])) >= min(12, (width - 56) // WIDTH)


CODE = st.text(st.sampled_from("ab_ ,.([])"), max_size=200).map(str.rstrip)


@given(st.integers(0, 30), CODE, st.integers(12, 80))
def test_a_broken_line_loses_nothing_but_blanks(indent, code, width):
    line = (" " * indent + code.lstrip()).rstrip()
    found = pieces(line, width)
    assert max(map(len, found)) <= width
    assert "".join(found).replace(" ", "") == line.replace(" ", "")
    assert found == [line] or len(line) > width
    # Each piece stands in the line as it is.
    assert all(piece.strip() in line for piece in found)


def test_the_worse_of_loads_and_stores_is_the_bank_conflict_of_a_line():
    line = Counters(
        shared_load_wavefronts=8,
        shared_load_ideal_wavefronts=4,
        shared_store_wavefronts=4,
        shared_store_ideal_wavefronts=4,
    )
    (bank,) = choose_columns([line], 99)
    assert bank.value(line) == 2


@pytest.mark.parametrize("value", [10.0**power * part for power in range(14) for part in (1, 9.99)])
def test_short_numbers_are_short(value):
    assert len(short(value)) <= 4
