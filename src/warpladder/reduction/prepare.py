"""A reduction prepared once for arrays laid out alike: `reduce.prepare`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypeVar, cast

from warpladder.call import check_option
from warpladder.device.foreign import adopted, numpy_dtype
from warpladder.device.libraries import library_of
from warpladder.errors import InputError, InputTypeError
from warpladder.reduction.answers import as_keepdims, as_outs, check_outs, naming, shape_left
from warpladder.reduction.intake import (
    as_axes,
    as_ddof,
    as_dtype,
    check_axes_of_indices,
    check_dtype,
)
from warpladder.reduction.ops import Operation, parse_ops
from warpladder.reduction.plan import ACCURACIES, make_plan

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from warpladder.reduction.gpu.prepared import Bound
    from warpladder.reduction.plan import Plan

__all__ = ["PreparedReduction", "preparable", "prepare"]

P = ParamSpec("P")
Q = ParamSpec("Q")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")


class PreparedReduction:
    """A reduction of arrays laid out alike on a GPU; made by `reduce.prepare`.

    Calling it does no more than launch one kernel: it finds no plan, compiles nothing, waits for
    nothing and never touches the host. So it may be called while a CUDA graph is captured. What it
    needs beside its results it has already; calls that may run at the same time, on several
    streams, need a preparation each. It has to live as long as a captured graph does, and until its
    kernels are done on streams that do not wait for the default stream, as PyTorch's own.

    Attributes
    ----------
    shape
        Of each result.
    dtypes
        Of the results.
    """

    def __init__(
        self, like: Any, bound: Bound, plan: Plan, op: Any, shape: tuple[int, ...]
    ) -> None:
        library = library_of(like)
        assert library is not None  # noqa: S101 - `like` is on a GPU
        looks = library.look(like)
        assert looks is not None  # noqa: S101 - `like` was looked at
        self._library = library
        _, self._layout = looks
        self._told = f"a {type(like).__name__} of {like.dtype}, shape {tuple(like.shape)}"
        self._bound = bound
        self._plan = plan
        self._op = op
        self.shape = shape
        self.dtypes = plan.dtypes
        self._answer = naming(plan.requests, op)
        self._call = bound.for_arrays(library, shape, self._answer)

    def __call__(self, values: Any, out: Any = None, *, stream: Any = None) -> Any:
        """Put the reduction of an array on a stream.

        Parameters
        ----------
        values
            Of the type, dtype, shape, strides and GPU that this was prepared for.
        out
            As for `reduce`; not in the memory of ``values``.
        stream
            On which the kernel goes, by default that on which the library of ``values`` works now.
            What has ``__cuda_stream__``, as streams of cuda.core and PyTorch, or the driver's
            handle. On another than the library's own, that ``values``, ``out`` and the results live
            until the kernel is done is up to the caller.

        Returns
        -------
        array
            Of the library of ``values`` on the GPU, of no dimensions where no axis is left. For
            several operations a named tuple of such.

        Raises
        ------
        InputError
            ``values`` are laid out otherwise, or are no such array; ``out`` as for `reduce`.
        """
        library = self._library
        looks = library.look(values) if library_of(values) is library else None
        if looks is None or looks[1] != self._layout:
            raise InputError(
                f"values: this was prepared for {self._told}, laid out as the array that was given "
                "then and on its GPU; call reduce.prepare for others"
            )
        if stream is None:
            handle = looks[0]
        else:
            from warpladder.device.cuda_streams import handle_of

            handle = handle_of(stream)
        outs = None if out is None else as_outs(out, self._op, len(self._plan.requests))
        if outs is None:
            return self._call(values, handle)
        check_outs(outs, self._plan, self.shape, self._bound.device)
        places = [self._place(each) for each in outs]
        self._bound.into(self._bound.memory(library, values), places, handle)
        return self._answer(list(outs))

    def _place(self, out: Any) -> Any:
        """Return the memory of an array for a result."""
        from warpladder.reduction.gpu.prepared import memory_of

        library = library_of(out)
        if library is not None:
            # Without a wait for its stream, which would end the capture of a graph.
            return library.memory(out)
        return memory_of(self._bound.device.to_device(adopted(out)))


class _Preparable(Protocol[P, R_co, Q, S]):
    """A function that has another beside it, which prepares its calls."""

    prepare: Callable[Q, S]

    def __call__(self, *args: P.args, **options: P.kwargs) -> R_co:
        """Call the function."""


def preparable(
    prepare: Callable[Q, S],
) -> Callable[[Callable[P, R_co]], _Preparable[P, R_co, Q, S]]:
    """Give a function the attribute ``prepare``."""

    def decorate(function: Callable[P, R_co]) -> _Preparable[P, R_co, Q, S]:
        with_preparation = cast(_Preparable[P, R_co, Q, S], function)
        with_preparation.prepare = prepare
        return with_preparation

    return decorate


def prepare(
    like: Any,
    op: Operation | Sequence[Operation] = "sum",
    *,
    axis: int | tuple[int, ...] | None = None,
    dtype: DTypeLike | None = None,
    accuracy: Literal["fast", "pairwise", "compensated", "reproducible"] = "fast",
    ddof: float = 0,
    keepdims: bool = False,
) -> PreparedReduction:
    """Prepare the reduction of arrays on a GPU that are laid out alike.

    Parameters
    ----------
    like
        An array on a GPU, not empty: what is prepared is for arrays of its type, dtype, shape,
        strides and GPU. It is not read.
    op, axis, dtype, accuracy, ddof, keepdims
        As for `reduce`.

    Returns
    -------
    PreparedReduction
        To be called with arrays; the results stay on the GPU, that of a whole array too.

    Raises
    ------
    InputError, InputTypeError
        ``like`` is not on a GPU or is empty; an operation needs the host: an `AssociativeOp` beside
        others, under ``"reproducible"`` all but sums and means, or ``l1`` alone, of all elements,
        and means of float64, and what may be refused when the numbers are seen, ``nanargmin``,
        ``nanargmax`` and a ``ptp`` of integers that its dtype may not hold; or what `reduce`
        refuses.
    UnsupportedKernelError
        Numba cannot compile the kernel, which is done here.

    Notes
    -----
    Cost: compiling where that was not done before, and memory of the GPU for what pieces of long
    rows leave, at most some megabytes; of exact sums half a kilobyte for each long row.

    Examples
    --------
    ::

        mean_of_rows = warpladder.reduce.prepare(batch, "mean", axis=1)
        for batch in batches:
            means = mean_of_rows(batch)
    """
    from warpladder.reduction.gpu.finish import finished_there, refuses_when_seen
    from warpladder.reduction.gpu.layout import matrix_of
    from warpladder.reduction.gpu.prepared import Bound

    requests = parse_ops(op)
    ddof, keepdims = as_ddof(ddof), as_keepdims(keepdims)
    check_option("accuracy", accuracy, ACCURACIES)
    asked = None if dtype is None else as_dtype(dtype)
    like = adopted(like)
    library = library_of(like)
    if library is None or library.look(like) is None:
        raise InputTypeError(
            f"like: an array on a GPU is needed, not {type(like).__name__}; call reduce for others"
        )
    elements, whole = numpy_dtype(like), tuple(like.shape)
    check_dtype(elements, "like")
    axes = as_axes(axis, len(whole))
    check_axes_of_indices(requests, axes, len(whole))
    plan = make_plan(requests, elements, asked, accuracy, False)
    if not finished_there(plan) or refuses_when_seen(plan):
        names = ", ".join(request.name for request in requests)
        raise InputError(
            f"op: {names} of {elements} under accuracy={accuracy!r} is finished on the host, or "
            "may be refused there; call reduce for it"
        )
    if not prod(whole):
        raise InputError(f"like: its shape {whole} has no elements; call reduce for such")
    device = library.device(like)
    matrix = matrix_of(device, like, axes, None, ordered=plan.ordered)
    bound = Bound(device, plan, matrix, ddof)
    # What it needs is made on the default stream, for which not every stream waits.
    device.synchronize()
    return PreparedReduction(like, bound, plan, op, shape_left(whole, axes, keepdims=keepdims))
