"""Numba's reasons in one line: what is wrong, where it stands, what to do about it."""

from __future__ import annotations

import inspect
import re
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from numba import cuda, float32, literal_unroll
from numba.core.errors import TypingError
from numba.cuda import threadIdx

from warpladder.device.compile_errors import compile_error, compile_reason
from warpladder.device.cuda_faults import Extents, launch_fault
from warpladder.errors import InputTypeError, UnsupportedKernelError
from warpladder.simulator import simulate, simulated_cuda
from warpladder.simulator.frontend.inference import typed_function
from warpladder.simulator.frontend.signatures import argument_type


def misspelt(x):
    value = x[0]
    x[1] = valeu + value  # noqa: F821 - here


def misspelt_function(x):
    i = cuda.gird(1)  # here
    x[i] = 1


def misspelt_attribute(x):
    x[0] = x.szie  # here


def lists(x):
    numbers = [k for k in range(3)]  # noqa: C416 - here
    x[0] = numbers[0]


def read_before_it_is_set(x):
    x[0] = later  # noqa: F821 - here
    later = 1
    x[1] = later


def too_many_indices(x):
    x[0, 1] = 1  # here


def adds_text(x):
    x[0] = x[1] + "a"  # here


def varying_shape(x):
    tile = cuda.shared.array(x.size, float32)  # here
    x[0] = tile[0]


def iterates_over_a_number(x):
    for i in x.size:  # here
        x[i] = 1


def imports(x):
    import math  # here

    x[0] = math.sqrt(2)


class Holder:
    """No function, and none of Numba's."""


def plain(a):
    return a + 1


def calls_a_plain_function(x):
    x[0] = plain(x[0])  # here


def writes_a_name_of_its_own(x):
    x[threadIdx.x] = 1  # here


def uses_a_class_of_its_own(x):
    x[0] = Holder()  # here


def adds_without_an_index(x):
    cuda.atomic.add(x, 1)  # here


def asks_for_what_numba_lacks(x):
    x[0] = x.tolist()  # here


@cuda.jit(device=True)
def two(a, b):
    return a + b


def calls_with_one_argument(x):
    x[0] = two(x[0])  # here


def shuffles_with_two_arguments(x):
    x[0] = cuda.shfl_sync(0xFFFFFFFF, 1)  # here


@cuda.jit(device=True)
def faulty(a):
    return a + unknown_thing  # noqa: F821 - inside


def calls_a_faulty_function(x):
    x[0] = faulty(x[0])


@cuda.jit(device=True)
def of_two_types(a):
    if a > 1:
        return 1
    return (1, 2)


def calls_one_of_two_types(x):
    x[0] = of_two_types(x[0])


def two_types(x):
    if x[0] > 1:  # noqa: SIM108 - two paths
        chosen = 1
    else:
        chosen = (1, 2)
    again = chosen
    x[0] = 1
    return again


SETTINGS = ModuleType("settings")
SETTINGS.plain = plain


def calls_a_function_of_a_module(x):
    x[0] = SETTINGS.plain(x[0])  # here


def names_an_argument(x):
    for i, value in enumerate(x, start=1):  # here
        x[i] = value


def unrolls(x):
    for one in literal_unroll((1, 2.0)):  # here
        x[0] += one


MISTAKES = [
    (calls_a_function_of_a_module, "kernels cannot use settings.plain; a function of one's own is"),
    (names_an_argument, "since an argument has its name; leave that out"),
    (misspelt, "name 'valeu' is not defined; did you mean value?"),
    (misspelt_function, "has no attribute 'gird'; did you mean grid?"),
    (misspelt_attribute, "Unknown attribute 'szie' of type array(float64, 1d, C); did you mean"),
    (lists, "kernels have no lists"),
    (read_before_it_is_set, "variable 'later' is read where it has no value yet"),
    (too_many_indices, "cannot index array(float64, 1d, C) with 2 indices"),
    (adds_text, "Numba has no float64 + 'a'"),
    (varying_shape, "its shape and type must be constants"),
    (iterates_over_a_number, "int64 cannot be iterated over"),
    (imports, "Numba compiles no import in a kernel"),
    (unrolls, "Numba compiles no literal_unroll for GPUs; write the turns of the loop out"),
    (calls_a_plain_function, "decorate it with @cuda.jit(device=True)"),
    (writes_a_name_of_its_own, "threadIdx, a class; what numba.cuda has is written cuda.threadIdx"),
    (adds_without_an_index, "the call takes 3 arguments"),
    (calls_with_one_argument, "does not fit the parameters (a, b): missing a required argument"),
    (shuffles_with_two_arguments, "argument: 'src_lane'"),
]


@pytest.mark.parametrize(("function", "words"), MISTAKES, ids=lambda value: str(value)[:20])
def test_a_mistake_is_one_line_with_its_place(function, words):
    with pytest.raises(UnsupportedKernelError) as caught:
        simulate(cuda.jit(function))[1, 1](np.zeros(4))
    lines, first = inspect.getsourcelines(function)
    (position,) = (k for k, line in enumerate(lines) if "here" in line)
    message = str(caught.value)
    place = f"{function.__name__} (test_compile_errors.py, line {first + position})"
    assert message.startswith(f"{place}: in `{lines[position].strip()}`: ")
    assert words in message
    assert "\n" not in message
    assert caught.value.__cause__ is not None


@pytest.mark.numba_cuda
def test_the_number_of_arguments_is_no_reason_where_it_is_right():
    @cuda.jit
    def kernel(x):
        x[0] = min(x[0], x[0] > 1)

    with pytest.raises(UnsupportedKernelError, match=r"Numba has no min\(float64, bool\)$"):
        simulate(kernel)[1, 1](np.zeros(4))


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (uses_a_class_of_its_own, "kernels cannot use Holder, a class"),
        (asks_for_what_numba_lacks, "Unknown attribute 'tolist' of type array(float64, 1d, C)"),
    ],
)
def test_what_is_not_there_is_not_suggested(function, words):
    with pytest.raises(UnsupportedKernelError) as caught:
        simulate(cuda.jit(function))[1, 1](np.zeros(4))
    assert str(caught.value).endswith(words)


@pytest.mark.parametrize(
    ("function", "callee", "words"),
    [
        (calls_a_faulty_function, faulty, "name 'unknown_thing' is not defined"),
        (calls_one_of_two_types, of_two_types, "give them one type"),
    ],
)
def test_a_mistake_in_a_device_function_is_found_there(function, callee, words):
    with pytest.raises(UnsupportedKernelError, match=words) as caught:
        simulate(cuda.jit(function))[1, 1](np.zeros(4))
    lines, first = inspect.getsourcelines(callee.py_func)
    name, line = callee.py_func.__name__, str(caught.value).partition("line ")[2].partition(")")[0]
    assert str(caught.value).startswith(f"{name} (test_compile_errors.py, line ")
    assert first <= int(line) < first + len(lines)


def test_an_opcode_that_is_not_implemented_is_named():
    """As numba-cuda 0.30 ends on an assertion with Python 3.14."""

    def asserts(x):
        assert x[0] > 0

    class Runner:
        def dispatch(self, inst, internal_state):
            raise NotImplementedError

    inst = SimpleNamespace(opname="LOAD_COMMON_CONSTANT", arg=0)
    with pytest.raises(NotImplementedError) as caught:
        Runner().dispatch(inst, None)
    refusal = str(compile_error(asserts, caught.value))
    assert refusal.endswith(
        ": Numba compiles no assert (but `if not ...: raise AssertionError`) in a kernel"
    )
    inst.arg = 2
    with pytest.raises(NotImplementedError) as caught:
        Runner().dispatch(inst, None)
    assert "compiles no LOAD_COMMON_CONSTANT" in str(compile_error(asserts, caught.value))


def test_a_variable_of_two_types():
    with pytest.raises(UnsupportedKernelError, match=r"variable 'chosen' is .* one type$"):
        simulate(cuda.jit(two_types))[1, 1](np.zeros(4))


def test_numbas_own_words_are_the_cause():
    with pytest.raises(UnsupportedKernelError) as caught:
        simulate(cuda.jit(misspelt_attribute))[1, 1](np.zeros(4))
    assert "NumbaError" in [kind.__name__ for kind in type(caught.value.__cause__).__mro__]
    assert len(str(caught.value.__cause__).splitlines()) > 5


def test_programs_within_the_substitutes_get_numbas_own_errors():
    with simulated_cuda(), pytest.raises(Exception, match="szie") as caught:
        cuda.jit(misspelt_attribute)[1, 1](np.zeros(4))
    assert "NumbaError" in [kind.__name__ for kind in type(caught.value).__mro__]


def test_the_wrong_number_of_arguments():
    line = inspect.getsourcelines(misspelt)[1]
    with pytest.raises(InputTypeError) as caught:
        simulate(cuda.jit(misspelt))[1, 1](1, 2)
    assert str(caught.value) == (
        f"misspelt (test_compile_errors.py, line {line}) takes 1 arguments (x), 2 were given"
    )


def test_a_launch_on_a_gpu_says_the_same():
    kernel = cuda.jit(misspelt)
    with pytest.raises(Exception, match="valeu") as caught:
        typed_function(kernel, (argument_type(np.zeros(4)),))
    extents = Extents((1, 1, 1), (1, 1, 1), 0)
    told = launch_fault(caught.value, kernel, extents)
    assert isinstance(told, UnsupportedKernelError)
    assert re.match(r"misspelt \(.*did you mean value\?$", str(told))
    assert launch_fault(ZeroDivisionError(), kernel, extents) is None


# What Numba says of `if 0 <= (k := x[0]) < 2:` under Python 3.11.
NO_TYPE = """Failed in nopython mode pipeline (step: nopython frontend)
Type of variable '$10binary_subscr.3' cannot be determined, operation: \
unknown operation, location: unknown location (0:0)

File "unknown location", line 0:
<source missing, REPL/exec in use?>
"""


def test_a_place_that_numba_does_not_know_is_that_of_the_function():
    refusal = compile_error(plain, TypingError(NO_TYPE))
    line = inspect.getsourcelines(plain)[1]
    assert str(refusal).startswith(f"plain (test_compile_errors.py, line {line}): Numba finds no")
    assert "`:=`" in str(refusal)


def test_a_with_block_is_named():
    # numba-cuda 0.30 looks where its kinds of statements stood once.
    fault = AttributeError("module 'numba.cuda.core.ir' has no attribute 'terminator_types'")
    assert compile_reason(fault) == "Numba compiles no with block in a kernel"


def named_twice(x):
    x[0] = 1
    if 0 <= (k := x[0]) < 2:
        x[1] = k


def test_a_construct_that_numba_does_not_place_is_found_in_the_source():
    refusal = compile_error(named_twice, TypingError(NO_TYPE))
    line = inspect.getsourcelines(named_twice)[1] + 2
    place = f"named_twice (test_compile_errors.py, line {line}): in `if 0 <= (k := x[0]) < 2:`: "
    assert str(refusal).startswith(place)


def test_colours_are_left_out():
    coloured = ValueError("\x1b[1mFailed in nopython mode\x1b[0m\n\x1b[1mUnknown 'x'\x1b[0m.")
    assert compile_reason(coloured) == "Unknown 'x'"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (KeyError(np.exp), "np.exp is compiled for no GPU; use math or an operator"),
        (RuntimeError("NRT required but not enabled"), "assign elements in a loop"),
        (
            AttributeError("'CUDACallConv' object has no attribute 'return_dynamic_user_exc'"),
            "an exception with a value that is not constant; raise it with text alone",
        ),
        (
            NotImplementedError(
                "No definition for lowering <built-in function lt>(complex64, complex64) -> bool"
            ),
            "Numba has no lt of complex64, complex64 on a GPU",
        ),
    ],
)
def test_what_is_typed_and_not_compiled(fault, words):
    assert compile_reason(fault).endswith(words)
