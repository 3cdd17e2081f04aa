"""Subroutines: Numba still knows what they leave out, and leaves it out."""

from __future__ import annotations

import numpy as np
import pytest
from numba import config, literally, njit
from numba.core.codegen import JITCodeLibrary

from warpladder.device.subroutines import constants_as_numbers, entry_for, subroutine

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")


def after_zeros(data, at):
    while at < len(data) and data[at] == 0:
        at += 1
    return at


def ask(scanner):
    """Return what asks a scanner for places, some of them constants, as compiled code does."""

    @njit
    def places(data, at):
        return scanner(data, 0), scanner(data, 3), scanner(data, at), scanner(data, at=at)

    return places


@pytest.fixture
def data():
    return np.array([0, 0, 7, 0], np.uint8)


@pytest.mark.parametrize("counted", [True, False])
def test_compiled_code_calls_it(data, counted):
    assert ask(subroutine(after_zeros, counted=counted))(data, 1) == (2, 4, 2, 2)


def test_constants_make_no_version_of_their_own(data):
    versions = {}
    for name, compiled in (
        ("subroutine", subroutine(after_zeros)),
        ("shared", constants_as_numbers(njit(after_zeros))),
        ("plain", njit(after_zeros)),
    ):
        ask(compiled)(data, 1)
        versions[name] = len(compiled.overloads)
    assert versions["subroutine"] == versions["shared"] == 1
    # Else there is nothing to do any more.
    assert versions["plain"] == 3


def test_what_must_know_a_constant_is_told():
    @subroutine
    def fetch(pair, which):
        return pair[literally(which)]

    @njit
    def both(pair):
        return fetch(pair, 0), fetch(pair, 1)

    assert both((1, 2.5)) == (1, 2.5)
    assert len(fetch.overloads) == 2


def test_nothing_is_made_for_python_and_c(data):
    for make, has_them in ((njit, True), (subroutine, False)):
        function = make(after_zeros)
        ask(function)(data, 1)
        for one in function.overloads.values():
            code = one.library.get_llvm_str()
            assert (one.fndesc.llvm_cpython_wrapper_name in code) is has_them
            assert (one.fndesc.llvm_cfunc_wrapper_name in code) is has_them


def test_no_machine_code_is_made(data, monkeypatch):
    """But of what calls it."""
    made = []
    finalize = JITCodeLibrary._finalize_specific
    monkeypatch.setattr(
        JITCodeLibrary, "_finalize_specific", lambda code: made.append(code) or finalize(code)
    )
    for make, versions in ((njit, 3), (subroutine, 0)):
        made.clear()
        assert ask(make(after_zeros))(data, 1) == (2, 4, 2, 2)
        assert len(made) == versions + 1


@pytest.mark.parametrize("is_compiled", [False, True])
def test_from_python_it_is_refused(data, is_compiled):
    scanner = subroutine(after_zeros)
    if is_compiled:
        ask(scanner)(data, 1)
    with pytest.raises(TypeError, match=r"after_zeros is compiled .* call its \.py_func"):
        scanner(data, 1)
    assert scanner.py_func(data, 1) == 2


def test_no_reference_is_counted(data):
    calls = {}
    for counted in (True, False):
        scanner = subroutine(after_zeros, counted=counted)
        ask(scanner)(data, 1)
        (code,) = scanner.inspect_llvm().values()
        calls[counted] = code.count("call void @NRT_")
    assert calls[False] == 0


def test_an_entry_serves_what_has_the_types_it_was_asked_for(data):
    counted = njit(after_zeros)
    entry = entry_for(counted, data[:0], 0)
    assert [entry(data, at) for at in range(4)] == [counted(data, at) for at in range(4)]
    assert len(counted.signatures) == 1
