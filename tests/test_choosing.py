"""Which combinations are chosen: what is left out without anybody's noticing is not tested."""

from __future__ import annotations

from itertools import combinations, product

from choosing import by_pairs, first_and_last, meeting, only

FACTORS = ((1, 2, 3), ("a", "b"), (None, True, 7.0, "x"), (0, 1))


def is_large(one):
    return bool(getattr(one, "marks", ()))


def test_any_two_values_of_two_parameters_meet():
    chosen = meeting(*FACTORS)
    for (i, one), (j, other) in combinations(enumerate(FACTORS), 2):
        assert {(c[i], c[j]) for c in chosen} == set(product(one, other))
    assert len(chosen) < len(list(product(*FACTORS))) / 2


def test_what_is_not_chosen_is_large():
    every = by_pairs(*FACTORS)
    assert [one.values for one in every] == list(product(*FACTORS))
    assert {one.values for one in every if not is_large(one)} == set(meeting(*FACTORS))
    some = only(lambda n, _: n == 2, [1, 2, 3], "ab", where=lambda n, name: (n, name) != (3, "b"))
    assert [one.values for one in some if not is_large(one)] == [(2, "a"), (2, "b")]
    assert [one.values for one in some if is_large(one)] == [(1, "a"), (1, "b"), (3, "a")]


def test_of_each_test_the_first_and_the_last():
    kernels = [
        *("tests/simulator/test_x.py::test_c[1]", "tests/simulator/test_x.py::test_c[2]"),
        *(f"tests/reduction/test_reduction_ladder.py::test_d[{n}]" for n in (1, 2, 3)),
    ]
    assert first_and_last(
        ["t.py::test_a[1]", "t.py::test_a[2[x]]", "t.py::test_a[3]", "t.py::test_b", *kernels]
    ) == ["t.py::test_a[1]", "t.py::test_a[3]", "t.py::test_b", *kernels]
