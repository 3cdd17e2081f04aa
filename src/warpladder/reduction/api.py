"""The library call: `reduce`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from warpladder.call import Progress, check_option, check_progress
from warpladder.device.foreign import adopted, device_of, is_on_gpu, to_numpy
from warpladder.errors import InputError, InputTypeError
from warpladder.formats.values import StoredArray
from warpladder.reduction.answers import (
    are_names,
    as_keepdims,
    as_outs,
    check_outs,
    check_some,
    may_take,
    named,
    put_into,
    shape_left,
    shaped,
)
from warpladder.reduction.chunks import Chunks
from warpladder.reduction.cpu.engine import accumulate
from warpladder.reduction.intake import (
    StoredRow,
    as_axes,
    as_ddof,
    as_dtype,
    as_mask,
    as_source,
    check_axes_of_indices,
    check_dtype,
)
from warpladder.reduction.memory.halves import HALF
from warpladder.reduction.memory.layout import NO_MASK
from warpladder.reduction.ops import Operation, parse_ops
from warpladder.reduction.passes import engine_for, reduce_array, reduce_rows
from warpladder.reduction.plain_lists import of_plain_list
from warpladder.reduction.plan import ACCURACIES, Plan, check_mask_leaves_some, make_plan
from warpladder.reduction.prepare import preparable, prepare
from warpladder.reduction.ready import is_plain, key_of, ready_call
from warpladder.reduction.shortcuts.afterwards import asked_before
from warpladder.reduction.shortcuts.beside_masks import answer_beside_mask
from warpladder.reduction.shortcuts.few import answer, answer_of_few, known_ways
from warpladder.reduction.shortcuts.in_bytes import in_bytes, settled_by_first
from warpladder.reduction.shortcuts.in_floats import go_in_floats, in_floats
from warpladder.reduction.shortcuts.views import answer_of_view
from warpladder.reduction.shortcuts.ways import Asked, asked_into

if TYPE_CHECKING:
    from warpladder.device.base import Device

__all__ = ["reduce"]

_ARRAY = np.ndarray
# To see that an argument was not given takes 0.01 us, to look at its type and value 0.03 to 0.04.
_FAST: Any = "fast"
_TRUTH = np.dtype(np.bool_)
_NO_DDOF: Any = 0
_AUTO: Any = "auto"


@preparable(prepare)
def reduce(
    values: Any,
    op: Operation | Sequence[Operation] = "sum",
    *,
    axis: int | tuple[int, ...] | None = None,
    where: Any = None,
    dtype: DTypeLike | None = None,
    accuracy: Literal["fast", "pairwise", "compensated", "reproducible"] = "fast",
    ddof: float = 0,
    keepdims: bool = False,
    initial: Any = None,
    out: Any = None,
    device: Literal["auto", "cpu", "cuda"] | Device = "auto",
    progress: Progress | None = None,
) -> Any:
    """Reduce numbers to one: a sum, an extremum, a mean, or several of these in one pass.

    Parameters
    ----------
    values
        An array or what NumPy makes one of, any shape and strides: bool, integers, float16, float32
        or float64. Or a file (a path, or what `warpladder.open_values` returns), or what yields
        arrays, as a generator or ``iter`` of a list of them, which are reduced as if they were one;
        both may be larger than memory.
    op
        ``sum``, ``prod``, ``min``, ``max``, ``ptp`` (greatest minus least), ``argmin``, ``argmax``,
        ``mean``, ``var``, ``std``, ``any``, ``all``, ``count_nonzero``, ``logsumexp``, ``l1`` (sum
        of absolute values), ``l2`` (root of the sum of squares); all but three also with ``nan``
        before the name, to skip NaNs; a NumPy ufunc that means one of these, as ``numpy.add``; an
        `AssociativeOp` of your own; or a tuple of these, answered in one pass.
    axis
        Axis or axes to reduce over, all by default. For ``argmin`` and ``argmax`` one or all.
        Chunks are joined along axis 0 where it is given.
    where
        Mask of the elements that count; broadcast to the shape of ``values``. Where it leaves none,
        what is refused for no elements is refused, with ``nan`` before the name too.
    dtype
        In which sums, products, means, variances, norms, ``logsumexp`` and ``ptp`` are made and
        returned. By default that of ``values``; sums and products of smaller integers are int64 or
        uint64, as in NumPy, and means, variances, norms and ``logsumexp`` of integers float64.
    accuracy
        Of ``sum``, ``mean``, ``var``, ``std``, ``l1`` and ``l2``, see Notes. Integers are summed
        exactly, modulo 2^64 as in NumPy.
    ddof
        Of ``var`` and ``std``: the divisor is the count minus this; where that is not above 0, the
        result is infinite or NaN.
    keepdims
        Whether axes that are reduced over stay, with one element each.
    initial
        Of ``sum``, ``prod``, ``min``, ``max`` and an `AssociativeOp`: a number that counts as if it
        came before the elements of each result, so that there is one for no elements. It has to fit
        the result's dtype.
    out
        Array for the result, which is returned; of just its shape and dtype; on the GPU, and
        contiguous, where ``values`` are on one. For several operations a tuple of arrays.
    device
        ``"cpu"``; ``"cuda"``, the first GPU; ``"auto"``, the GPU that ``values`` are on, and the
        CPU for all others; or a `warpladder.device.base.Device`: ``CudaDevice(1)`` for another GPU,
        a `SimulatedDevice` to watch the engine at work. See Notes.
    progress
        Called now and then, in the calling thread, with the fraction done, where that is known;
        what it raises passes through.

    Returns
    -------
    numpy scalar or ndarray
        Of the axes that are left; an array of the caller's library on the GPU where ``values`` are
        such an array. For several operations a named tuple with a field for each, called by our
        name for a ufunc.

    Raises
    ------
    InputError
        An option is not known or does not apply; an operation is not defined for no elements; files
        that do not follow their format (`FileFormatError`).
    InputTypeError
        ``values`` are complex, objects, text or the like, or some are missing; or an argument is
        of a kind that is not taken.
    TooLargeError
        The results do not fit the memory at hand.
    DeviceError
        The device is not there, or NUMBA_DISABLE_JIT is set.

    Notes
    -----
    Cost: one pass over memory, on all cores from 16 MB on (from 2 MB where rows are short). Of
    calls that follow one another within a millisecond, those on 0.8 MB and more (1.3 MB where rows
    lie across) have up to 8 cores, on which threads stand by for a millisecond after each;
    ``NUMBA_NUM_THREADS=1`` in the environment forgoes all that. The result has the same bits for
    any number of cores. On a CPU whose vectors are of another width last bits of floats differ, but
    not under ``"reproducible"``.

    Raw binary and ``.npy`` files are mapped into memory, which takes half the time of reading them.
    A file that is cut short meanwhile is refused where that is seen in time; where another program
    takes away what is being read at that moment, the system ends the process (SIGBUS), as with any
    mapped file. Where files may shrink, give ``numpy.fromfile(path)`` or chunks that are read.

    An array on a GPU is reduced where it is, without a copy, on the stream that its library works
    on. Results that have axes are made there and not waited for, but for operations that may be
    refused when the numbers are seen. A call like one before, on arrays laid out alike, finds its
    kernel again; `reduce.prepare` makes one that can be part of a CUDA graph. An array of the host
    would have to cross a bus that is slower than the CPU reads memory, so ``"auto"`` leaves it to
    the CPU; ``"cuda"`` sends it through page-locked memory in tiles, and it may be larger than the
    memory of the GPU. The order in which a GPU adds depends on shape and strides, not on the GPU;
    it is not the CPU's, so that sums of floats differ within the bounds below.

    With u half a unit in the last place of 1 (2^-24 for float32, 2^-53 for float64) and S the sum
    of absolute values, the error of a sum is at most

    * ``"fast"``: ``(4096 + log2 n) u S``, mostly some ``u S``: vectors add up blocks of 4096
      elements, float64 the blocks, in pairs;
    * ``"pairwise"``: ``(512 + log2 n) u S``, mostly about ``u S``;
    * ``"compensated"``: ``u |sum| + 2^-90 S`` for float64 (``u |sum| + 2^-43 S`` for float32 and
      float16, added up in float64), whatever n is;
    * ``"reproducible"``: ``u |sum|``, the exact sum rounded to float64 and then to ``dtype``. So
      the same bits come out for any order of the elements, any chunks, any CPU or GPU. Variances
      and norms are made of exact sums as well. A mean is right also where the sum does not fit
      float64; with other accuracies it is infinite then, and that of float32 where partial sums do
      not fit float32, as in NumPy.

    Integers beyond 2^53 are rounded to float64 before they go into a float sum, norm or
    ``logsumexp``, but not under ``"reproducible"``; means and variances are of the integers
    themselves. Norms and standard deviations are right also where the squares they are made of do
    not fit float64. The exponentials of ``logsumexp`` are float64, on a GPU those of float32 are
    float32.

    Products of floats are as if partial products had no limits: finite numbers with a zero among
    them give 0, others overflow or vanish only where the whole product does, whatever the order.
    With a NaN, or an infinity and a zero, among the elements the product is NaN. (NumPy multiplies
    in order, so 1e200 * 1e200 * 0 is NaN there.) Digits are lost where a partial product is
    subnormal.

    NaN among the elements makes a float result NaN, as in NumPy, and ``argmin`` and ``argmax`` give
    the first NaN. ``nan`` variants skip it; where there are elements but all are NaN, ``nanmin``
    and ``nanmax`` give NaN and ``nanargmin`` and ``nanargmax`` are refused, as in NumPy. The mean
    of nothing is NaN, its sum 0, its ``logsumexp`` -inf; extrema of nothing are refused, be the
    array empty or the mask. No warnings are given. Results beyond a float dtype are infinite. Of
    zeros of both signs, which are equal, an extremum is any.

    ``numpy.logical_and`` and ``logical_or`` are ``all`` and ``any``, and so are ``bitwise_and`` and
    ``bitwise_or`` of booleans; of integers these are ``AssociativeOp(numpy.bitwise_or, 0)``.

    Beyond that, what differs from NumPy: floats are not summed into integers, nor anything into
    bool. A ``ptp`` that its dtype cannot hold is refused, where NumPy's wraps; ``dtype`` takes a
    wider one, as uint8 for int8. So is an ``initial`` that NumPy would round to an integer, and an
    ``out`` of another dtype. A sum of negative zeros is 0.0 after an ``initial`` of -0.0, too. Of
    masked arrays only what is not masked counts, and results are plain arrays, as those of matrices
    and of pandas objects are; NaNs in a Series count. Missing values, as nulls of Arrow and Polars
    and NA of pandas, are refused, and so are integers of which NumPy would make floats, in tables,
    and in lists that no integer dtype holds, as 2^63 beside -1. A number has no axis 0. Chunks are
    of one dtype, in any byte order; empty ones do not count, and of no others the result is that of
    an empty array of ``dtype``. They have no ``where``. Sparse matrices are refused: only you know
    whether their zeros count. Booleans on a GPU have to be bytes of 0 and 1.

    References
    ----------
    .. [1] Ogita, Rump, Oishi, "Accurate sum and dot product", 2005.
    .. [2] Neal, "Fast exact summation using small and large superaccumulators", 2015.

    Examples
    --------
    >>> import numpy as np, warpladder as wl
    >>> wl.reduce(np.arange(10))
    np.int64(45)
    >>> wl.reduce([[1.0, 5.0], [2.0, np.nan]], ("nansum", "argmax"), axis=1)
    Reductions(nansum=array([6., 2.]), argmax=array([1, 1]))
    >>> wl.reduce([[1, 5], [2, 8]], np.maximum, axis=1, initial=6, keepdims=True)
    array([[6],
           [8]])
    >>> wl.reduce((np.full((2, 3), i) for i in range(4)), axis=0)
    array([12, 12, 12])
    >>> wl.reduce((np.full(1000, 0.1) for _ in range(1000)), accuracy="reproducible")
    np.float64(100000.0)
    """
    if type(values) is list:
        values = of_plain_list(values)
    elif type(values) is np.memmap:
        values = values.view(_ARRAY)
    if (
        type(values) is _ARRAY
        and out is None
        and progress is None
        # Looked at one by one, types take as long as to add some thousand numbers.
        and (keepdims is False or keepdims is True)
        and (type(op) is str or type(op) is np.ufunc or are_names(op))
        and (accuracy is _FAST or type(accuracy) is str)
        and (ddof is _NO_DDOF or (type(ddof) is int and 0 <= ddof <= 1))
        and (device is _AUTO or (type(device) is str and device in {"auto", "cpu"}))
    ):
        array, found, after = values, None, None
        asked: Asked | None = op if dtype is None else asked_into(op, dtype)
        axis = int(axis) if isinstance(axis, np.integer) else axis
        if initial is not None or asked is None:
            known = asked_before(op, values, dtype, accuracy, initial, masked=where is not None)
            asked, after = known or (None, None)
        elif values.dtype is _TRUTH and dtype is None:
            if axis is None and where is None and keepdims is False and accuracy is _FAST:
                found = settled_by_first(values, op)
                if found is not None:
                    return found
            array, asked, after = in_bytes(values, asked, masked=where is not None)
        if axis is not None and array.dtype is HALF and where is None and asked is not None:
            array, asked, after = in_floats(values, asked, axis, after)
        if asked is not None:
            if axis is None and where is None and keepdims is False:
                way = known_ways.get((asked, id(array.dtype))) if accuracy is _FAST else None
                way = way or answer(asked, array.dtype, accuracy, False)
                found = way(array, NO_MASK, ddof)
            if where is not None:
                options: Any = accuracy, ddof, keepdims, initial is not None
                found = answer_beside_mask(array, asked, axis, where, *options)
            elif found is None and array.flags.carray:
                found = answer_of_few(array, asked, axis, NO_MASK, accuracy, ddof, keepdims)
            if found is None and where is None:
                found = answer_of_view(array, asked, axis, accuracy, ddof, keepdims)
        if found is not None:
            return found if after is None else after(found)
    if out is not None and type(values) is _ARRAY and progress is None and may_take(out, values):
        options = {"accuracy": accuracy, "ddof": ddof, "keepdims": keepdims, "device": device}
        # To suppress errors takes half a microsecond.
        try:
            found = reduce(
                values, op, axis=axis, where=where, dtype=dtype, initial=initial, **options
            )
            found = put_into(out, found)
        except (InputError, InputTypeError):
            found = None
        if found is not None:
            return found
    key = None
    if progress is None:
        others = None
        if where is not None or dtype is not None or initial is not None or out is not None:
            others = where, dtype, initial, out
        key = key_of(values, op, axis, accuracy, ddof, keepdims, device, others)
        if key is not None:
            call = ready_call(key)
            found = None if call is None else call(values, key[1], where, out)
            if found is not None:
                return found
            key = key if is_plain(key) else None
    given = op, axis, where, dtype, accuracy, ddof, keepdims, initial, out, device, progress
    return _reduce_new(values, *given, key)


def _reduce_new(
    values: Any,
    op: Any,
    axis: Any,
    where: Any,
    dtype: Any,
    accuracy: Any,
    ddof: Any,
    keepdims: Any,
    initial: Any,
    out: Any,
    device: Any,
    progress: Progress | None,
    key: Any,
) -> Any:
    """Return what `reduce` does for a call of which nothing is known; ``key`` is that of `ready`.

    It is a function of its own as what its own functions share takes 0.15 us to be made.
    """
    requests = parse_ops(op)
    ddof, keepdims = as_ddof(ddof), as_keepdims(keepdims)
    outs = as_outs(out, op, len(requests))
    check_progress(progress)
    check_option("accuracy", accuracy, ACCURACIES)
    asked = None if dtype is None else as_dtype(dtype)

    def plan_for(elements: np.dtype[Any], *, masked: bool = False) -> Plan:
        plan = make_plan(requests, elements.newbyteorder("="), asked, accuracy, masked)
        return plan if initial is None else plan.starting_at(initial)

    given, values, where = (values, where), adopted(values), adopted(where)
    if values is not given[0] or where is not given[1]:
        # What is kept is for arrays of the kind of these.
        key = None
    if is_on_gpu(values):
        from warpladder.reduction.gpu.resident import reduce_there

        there = device_of(values, device, "values")
        found = reduce_there(there, values, plan_for, axis, where, ddof, keepdims, outs, key)
        return named(requests, found, op)
    where = to_numpy(where) if is_on_gpu(where) else where
    run = engine_for(device)
    source = as_source(values)
    if isinstance(source, StoredArray):
        check_dtype(source.dtype, f"{source.path}")
        plan = plan_for(source.dtype)
        if axis is None and where is None and not (source.fortran_order and plan.ordered):
            shape = (1,) * len(source.shape) if keepdims else ()
            check_outs(outs, plan, shape)
            results = reduce_rows(run, plan, StoredRow(source), ddof, progress)
            return named(requests, shaped(results, shape, outs), op)
        source = source.mapped()
    if not isinstance(source, np.ndarray):
        if where is not None:
            raise InputError("where: it has no meaning for chunks; reduce an array")
        chunks = Chunks(source, run, plan_for, asked, ddof, progress)
        if axis is None and not keepdims:
            plan, results = chunks.flat()
            shape = ()
        else:
            plan, results, shape = chunks.joined(axis, keepdims=keepdims)
        check_outs(outs, plan, shape)
        return named(requests, shaped(results, shape, outs), op)
    mask = as_mask(where, source)
    array = np.asarray(source)
    axes = as_axes(axis, array.ndim)
    check_axes_of_indices(requests, axes, array.ndim)
    plan = plan_for(array.dtype, masked=mask is not None)
    shape = shape_left(array.shape, axes, keepdims=keepdims)
    check_outs(outs, plan, shape)
    check_some(plan, array.shape, axes)
    if mask is None and run is accumulate and go_in_floats(array, axes, at_once=len(requests)):
        plan = replace(plan, parts=plan_for(np.dtype(np.float32)).parts)
    results = reduce_array(run, plan, array, axes, mask, ddof, progress)
    if mask is not None:
        check_mask_leaves_some(plan, results, lambda: mask, axes)
    return named(requests, shaped(results, shape, outs), op)
