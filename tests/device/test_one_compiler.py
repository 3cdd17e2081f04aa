"""Of several processes one compiles a function; the others wait for it, but not for ever."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest

from warpladder.device import kernel_cache, one_compiler

fcntl = pytest.importorskip("fcntl", reason="Windows has no locks of this kind")

_SOURCE = """
from numba import njit
from warpladder.device.kernel_cache import cached

@cached
@njit
def ends(number):
    return number

@cached
@njit
def goes_on(number):
    return ends(number) + 1
"""


@pytest.fixture
def load(as_new_processes):
    return as_new_processes(_SOURCE)


def locks_of(function):
    folder = function._cache.cache_path
    return list(Path(folder).glob(f"*{function.py_func.__name__}*.lock"))


def lock_of(function):
    (lock,) = locks_of(function)
    return lock


@contextmanager
def held(lock):
    """Hold a lock as another process would."""
    with lock.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def test_who_waited_compiles_nothing(load, tmp_path):
    first = load().goes_on
    assert first(1) == 2
    lock = lock_of(first)
    folder, aside = lock.parent, tmp_path / "aside"
    aside.mkdir()
    for file in folder.glob("*goes_on*.nb?"):
        shutil.move(file, aside)
    second = load().goes_on
    answers = []
    with held(lock):
        waiting = threading.Thread(target=lambda: answers.append(second(1)))
        waiting.start()
        waiting.join(0.2)
        assert not answers
        for file in aside.iterdir():
            shutil.move(file, folder)
    waiting.join(30)
    assert answers == [2]
    assert sum(second.stats.cache_hits.values()) == 1


def test_nobody_waits_for_ever(load, monkeypatch):
    monkeypatch.setattr(one_compiler, "_PATIENCE", 0.05)
    monkeypatch.setattr(one_compiler, "_gave_up", threading.Event())
    first = load().ends
    first(1)
    lock = lock_of(first)
    # The number that stands for the types of arguments is left to chance: whatever comes is held.
    monkeypatch.setattr(
        kernel_cache, "sha256", lambda _: SimpleNamespace(hexdigest=lambda: "0" * 64)
    )
    with held(lock.with_name(lock.name.rsplit(".", 2)[0] + ".00.lock")):
        assert first(1.5) == 1.5
        monkeypatch.setattr(one_compiler, "_PATIENCE", 1000)
        assert first(2j) == 2j


def test_what_is_on_disk_is_not_waited_for(load, monkeypatch):
    first = load().ends
    first(1)
    second = load().ends
    monkeypatch.setattr(one_compiler, "_wait_for", lambda *_: pytest.fail("nothing to wait for"))
    with held(lock_of(first)):
        assert second(1) == 1
    assert sum(second.stats.cache_hits.values()) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system forks no processes")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_who_is_forked_meanwhile_keeps_no_lock(tmp_path):
    lock = tmp_path / "a.lock"
    with one_compiler.alone(lock):
        child = os.fork()
        if not child:
            signal.pause()
    try:
        with held(lock):
            pass
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.mark.parametrize("wrong", [None, "text"])
def test_the_lock_is_let_go_of(load, wrong):
    function = load().goes_on
    function(1)
    if wrong is not None:
        with pytest.raises(numba.TypingError):
            function(wrong)
    assert locks_of(function)
    for lock in locks_of(function):
        with held(lock):
            pass


def test_a_function_that_needs_itself_does_not_wait_for_itself(tmp_path):
    lock = tmp_path / "a.lock"
    with one_compiler.alone(lock):
        with one_compiler.alone(lock):
            pass
        with pytest.raises(BlockingIOError), held(lock):
            pass


def test_where_no_file_can_be_opened_nothing_is_held(tmp_path):
    with one_compiler.alone(tmp_path / "no_such_folder" / "a.lock"):
        pass
