"""Compiled functions are kept where that is possible, and nothing depends on it."""

from __future__ import annotations

import errno
import gc
import importlib
import pickle
import re
import shutil
import warnings
from itertools import count
from pathlib import Path

import numba
import pytest
from numba import cuda
from numba.core import caching
from numba.core.bytecode import FunctionIdentity

import warpladder
from warpladder.cli import app
from warpladder.device import kernel_cache
from warpladder.device.kernel_cache import are_kept, cache_folder, cached
from warpladder.device.native import address_of
from warpladder.errors import KernelCacheWarning

_SOURCE = """
from numba import njit
from warpladder.device.kernel_cache import cached

@cached
@njit
def twice(number):
    return number + number

@cached
@njit
def thrice(number):
    return number + number + number
"""
_ADDING = """
from numba import njit
from warpladder.device.kernel_cache import cached

def adding(more):
    @cached
    @njit
    def add(number):
        return number + more

    return add
"""
# As a pickle has a class of a module that is no longer there.
_GONE = b"cno_such_module\nno_such_class\n."


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch):
    """What was remarked on before counts for nothing."""
    monkeypatch.setattr(kernel_cache, "_said", set())


@pytest.fixture
def load(as_new_processes):
    return as_new_processes(_SOURCE)


@pytest.fixture
def nowhere_to_write(monkeypatch):
    for target in {caching, importlib.import_module(cuda.dispatcher.CacheImpl.__module__)}:
        monkeypatch.setattr(target.CacheImpl, "_locator_classes", [])


def files(tmp_path, kind):
    return sorted((tmp_path / "__pycache__").glob(f"*twice*.{kind}"))


def hits(function):
    return sum(function.stats.cache_hits.values())


def test_what_is_compiled_is_kept(load, tmp_path):
    first, second = load(), load()
    assert (first.twice(21), second.twice(21)) == (42, 42)
    assert (hits(first.twice), hits(second.twice)) == (0, 1)
    assert cache_folder(first.twice) == tmp_path / "__pycache__"
    assert are_kept()


@pytest.mark.parametrize("first", [0, 700, 10**6])
@pytest.mark.parametrize("is_changed", [False, True])
def test_garbage_is_looked_for_less_often_meanwhile(load, monkeypatch, first, is_changed):
    seen, save, before = [], caching.Cache.save_overload, gc.get_threshold()

    def look_and_save(*arguments):
        seen.append(gc.get_threshold())
        if is_changed:
            gc.set_threshold(800, 7, 7)
        save(*arguments)

    monkeypatch.setattr(caching.Cache, "save_overload", look_and_save)
    module = load()
    try:
        gc.set_threshold(first, 9, 8)
        assert module.twice(21) == 42
        seen.append(gc.get_threshold())
        gc.set_threshold(first, 9, 8)
        with pytest.raises(numba.TypingError):
            module.twice(None)
        seen.append(gc.get_threshold())
    finally:
        gc.set_threshold(*before)
    meanwhile = 200_000 if first == 700 else first
    after = (800, 7, 7) if is_changed else (first, 9, 8)
    assert seen == [(meanwhile, 9, 8), after, (first, 9, 8)]


def test_garbage_is_looked_for_as_ever_where_nothing_is_compiled(load, monkeypatch):
    load().twice(21)
    seen, read = [], caching.IndexDataCacheFile.load

    def look_and_read(*arguments):
        seen.append(gc.get_threshold())
        return read(*arguments)

    monkeypatch.setattr(caching.IndexDataCacheFile, "load", look_and_read)
    assert load().twice(21) == 42
    assert set(seen) == {gc.get_threshold()}


def test_nothing_is_made_that_nobody_reads(load, tmp_path):
    """No function that C would call, and no text beside the machine code."""
    first, second = load(), load()
    assert first.twice(21) == second.twice(21) == 42
    (compiled,) = first.twice.overloads.values()
    assert f"cfunc.{compiled.fndesc.mangled_name}" not in compiled.library.get_llvm_str()
    (found,) = second.twice.overloads.values()
    assert found.type_annotation == ""


def test_functions_of_one_text_have_an_address_each(as_new_processes, monkeypatch):
    """Compiled in different processes they had one name, and in a third one of them the address."""
    load = as_new_processes(_ADDING)
    for more in (1, 2):
        monkeypatch.setattr(FunctionIdentity, "_unique_ids", count(10**6))
        assert load().adding(more)(1) == 1 + more
    module = load()
    one, two = module.adding(1), module.adding(2)
    assert (one(1), two(1)) == (2, 3)
    assert (hits(one), hits(two)) == (1, 1)
    assert address_of(one, 1) != address_of(two, 1)


def test_what_an_older_source_left_is_not_taken_for_what_the_index_names(
    as_new_processes, tmp_path
):
    """A process that is ended has written the index, and not yet what it names."""
    source = "more = 1" + _SOURCE.replace("number + number\n", "number + more\n", 1)
    assert as_new_processes(source)().twice(20) == 21
    (file,) = files(tmp_path, "nbc")
    of_old_source = file.read_bytes()
    load = as_new_processes(source.replace("more = 1", "more = 22"))
    assert load().twice(20) == 42
    file.write_bytes(of_old_source)
    module = load()
    assert module.twice(20) == 42
    assert hits(module.twice) == 0


def test_without_a_place_for_it_everything_works_and_that_is_said_once(load, nowhere_to_write):
    module = load()
    assert cache_folder(module.twice) is None
    with pytest.warns(KernelCacheWarning, match="Set NUMBA_CACHE_DIR") as said:
        assert (module.twice(21), module.twice(1.5), module.thrice(1)) == (42, 3.0, 3)
    assert len(said) == 1
    assert not are_kept()


def test_kernels_for_a_gpu_without_a_place(nowhere_to_write):
    kernel = cached(cuda.jit(lambda _numbers: None))
    with pytest.warns(KernelCacheWarning, match="Set NUMBA_CACHE_DIR"):
        assert kernel._cache.load_overload(None, None) is None


def test_kernels_for_a_gpu_are_kept_in_the_same_way():
    from warpladder.shortest_paths.gpu import kernels

    for kernel in (kernels.import_batch, kernels.export_rows):
        assert isinstance(kernel._cache._cache_file, kernel_cache._KernelFiles)


_DAMAGE = {
    "empty": lambda _whole: b"",
    "one byte": lambda whole: whole[:1],
    "half": lambda whole: whole[: len(whole) // 2],
    "all but one byte": lambda whole: whole[:-1],
    "zeros": lambda whole: bytes(len(whole)),
    "names something gone": lambda _whole: _GONE,
}


@pytest.mark.parametrize(
    ("kind", "damage"),
    [
        *[(kind, damage) for kind in ("nbi", "nbc") for damage in _DAMAGE.values()],
        ("nbi", lambda _whole: pickle.dumps(numba.__version__) + _GONE),
    ],
    ids=[*[f"{kind} {name}" for kind in ("nbi", "nbc") for name in _DAMAGE], "nbi gone later"],
)
def test_damaged_files_are_set_aside(load, tmp_path, kind, damage):
    load().twice(21)
    (file,) = files(tmp_path, kind)
    file.write_bytes(damage(file.read_bytes()))
    again = load()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert again.twice(21) == 42
    assert [warning.category for warning in said] == [KernelCacheWarning]
    assert str(file) in str(said[0].message)
    mended = load()
    assert mended.twice(21) == 42
    assert hits(mended.twice) == 1


def test_many_damaged_files_are_said_once(load, tmp_path):
    module = load()
    module.twice(21), module.twice(1.5), module.thrice(1)
    for file in (tmp_path / "__pycache__").glob("*.nb?"):
        file.write_bytes(b"")
    again = load()
    with pytest.warns(KernelCacheWarning) as said:
        assert (again.twice(21), again.twice(1.5), again.thrice(1)) == (42, 3.0, 3)
    assert len(said) == 1


def test_a_file_that_two_processes_numbered_alike_is_not_mistaken(load, tmp_path):
    module = load()
    assert (module.twice(2), module.twice(1.5)) == (4, 3.0)
    of_integers, of_floats = files(tmp_path, "nbc")
    shutil.copy(of_integers, of_floats)
    again = load()
    assert again.twice(1.5) == 3.0
    assert again.twice(2) == 4
    assert sum(again.twice.stats.cache_misses.values()) == 1


def test_a_full_disk_is_remarked(load, monkeypatch):
    def fail(*_arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(caching.IndexDataCacheFile, "_save_data", fail)
    module = load()
    with pytest.warns(KernelCacheWarning, match=r"No space left .* NUMBA_CACHE_DIR") as said:
        assert (module.twice(21), module.thrice(1)) == (42, 3)
    assert len(said) == 1


def test_files_that_may_not_be_read_are_left_alone(load, tmp_path, monkeypatch):
    load().twice(21)
    (index,) = files(tmp_path, "nbi")
    before = index.read_bytes()

    def fail(*_arguments):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(caching.IndexDataCacheFile, "_load_index", fail)
    monkeypatch.setattr(caching.IndexDataCacheFile, "_save_data", fail)
    monkeypatch.setattr(caching.IndexDataCacheFile, "_save_index", fail)
    with pytest.warns(KernelCacheWarning, match="Permission denied"):
        assert load().twice(21) == 42
    assert index.read_bytes() == before


def test_functions_that_are_not_compiled_stay_as_they_are():
    def plain():
        return 1

    assert cached(plain) is plain
    assert cache_folder(plain) is None


def test_all_of_the_package_keeps_its_functions_in_this_way():
    package = Path(warpladder.__file__).parent
    source = {file: file.read_text(encoding="utf-8") for file in package.rglob("*.py")}
    decorated = re.compile(r"^ *@.*\bcache=True", re.MULTILINE)
    assert [file for file, text in source.items() if decorated.search(text)] == []


def test_the_command_line_says_it_in_one_line(capsys):
    app._show_warning("it is so", KernelCacheWarning, "file.py", 3)
    app._show_warning("other", UserWarning, "file.py", 3)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "warpladder: it is so"
    assert "UserWarning: other" in lines[1]
