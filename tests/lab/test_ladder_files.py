"""What holds for the list of every ladder: its files, the order of comparisons, the records."""

from __future__ import annotations

import pkgutil
import re
from importlib import import_module

import pytest

from warpladder.lab.registry import LADDERS, find_ladder

each_ladder = pytest.mark.parametrize("name", LADDERS)


def files_of(name, folder):
    """Return the modules in a folder of a ladder by their names, but for what they share.

    The primer's share theirs elsewhere.
    """
    package = import_module(f"{LADDERS[name].rpartition('.ladder:')[0]}.{folder}")
    return {
        module.name: import_module(f"{package.__name__}.{module.name}")
        for module in pkgutil.iter_modules(package.__path__)
        if not (module.name.startswith("_") and name != "primer")
    }


def every(ladder):
    return (*ladder.rungs, *(broken.rung for broken in ladder.wrong))


@each_ladder
def test_every_file_is_in_the_ladder_once_under_its_own_name(name):
    ladder = find_ladder(name)
    right = {file: module.RUNG for file, module in files_of(name, "rungs").items()}
    wrong = {file: module.WRONG.rung for file, module in files_of(name, "wrong").items()}
    for files, listed in ((right, ladder.rungs), (wrong, [one.rung for one in ladder.wrong])):
        assert files
        assert {file: rung.name for file, rung in files.items()} == {
            file: file.replace("_", "-") for file in files
        }
        assert sorted(rung.name for rung in listed) == sorted(rung.name for rung in files.values())


@each_ladder
def test_names_are_unique_and_kebab_case(name):
    names = [rung.name for rung in every(find_ladder(name))]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", one) for one in names)


@each_ladder
def test_comparisons_are_with_rungs_further_down(name):
    seen = set()
    for rung in find_ladder(name).rungs:
        assert {prediction.than for prediction in rung.predicts} - {None} <= seen
        seen.add(rung.name)


@each_ladder
def test_a_rung_on_the_device_has_kernels_and_predicts(name):
    ladder = find_ladder(name)
    for rung in every(ladder):
        assert bool(rung.kernels) == (rung.on == "device")
        # Libraries of a GPU stand beside one ladder only.
        assert rung.on != "gpu" or name == "reduction"
    for rung in ladder.rungs:
        assert bool(rung.predicts) == (rung.on == "device")


@each_ladder
def test_a_largest_size_and_a_gpu_alone_have_their_reason(name):
    for rung in every(find_ladder(name)):
        assert bool(rung.limits) == (rung.max_n is not None or rung.on == "gpu")
