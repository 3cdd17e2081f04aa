"""The library call: `advect`, and its plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, cast

from warpladder.advection.plan import Plan
from warpladder.advection.prepared import prepare
from warpladder.advection.result import Advection
from warpladder.advection.running import run
from warpladder.call import Progress, check_progress, naming_memory

if TYPE_CHECKING:
    import os

    from warpladder.device.base import Device

__all__ = ["advect", "plan"]

P = ParamSpec("P")


class _Planned(Protocol[P]):
    """A function with its plan, for type checkers."""

    plan: Callable[..., Plan]

    def __call__(self, *args: P.args, **options: P.kwargs) -> Advection:
        """Call the function."""


def _planned(function: Callable[P, Advection]) -> _Planned[P]:
    return cast(_Planned[P], function)


@_planned
def advect(
    phi: Any,
    *,
    courant: Any = None,
    velocity: Any = None,
    dx: float | None = None,
    dt: float | None = None,
    steps: int | None = None,
    t_end: float | None = None,
    scheme: str | Mapping[int, Any] = "lax-friedrichs",
    boundary: Any = "neumann",
    save_every: int | None = None,
    out: str | os.PathLike[str] | None = None,
    method: Literal["steps", "jump"] = "steps",
    allow_unstable: bool = False,
    device: Literal["auto", "cpu", "cuda"] | Device = "auto",
    progress: Progress | None = None,
) -> Advection:
    """Solve phi_t + u phi_x = 0 by an explicit scheme, many steps per pass over memory.

    Parameters
    ----------
    phi
        The cells at the start, shape (n,), or (b, n) for b systems that know nothing of each other:
        float32 or float64, in which all is computed; other real numbers become float64. An array
        on a GPU (CuPy, PyTorch, Numba) is advanced there.
    courant
        The Courant number c = velocity dt / dx, one or one for each system; negative where the
        solution moves left. Alone it stands for ``dx=1, dt=1``. Beside a velocity it is the one to
        be reached by the fastest system, and makes dt.
    velocity
        u, one or one for each system.
    dx, dt
        From cell to cell, and from step to step.
    steps
        How many steps to take.
    t_end
        Or until when. Where ``courant`` makes dt, that is shortened so that whole steps end there;
        a ``dt`` that was given has to fit. With ``steps``, too, it makes dt.
    scheme
        ``"lax-friedrichs"``, ``"upwind"`` (first order); ``"lax-wendroff"``, ``"beam-warming"``,
        ``"fromm"`` (second); ``"minmod"``, ``"superbee"``, ``"van-leer"``, ``"mc"`` (second order
        with a limiter, which makes no new extrema); or 2 to 5 offsets within -4 to 4 with weights
        of your own, as ``{-1: 0.75, 1: 0.25}``, numbers or functions of the Courant number.
    boundary
        ``"neumann"`` (ghosts are copies of the cell at the end); ``"outflow"``, the same;
        ``"periodic"``; ``("dirichlet", value)``; ``("inflow", function of time)`` where the
        solution comes in, with an outflow at the other end; or a pair for the left and the right
        end. Values, and what the function returns, are one or one for each system.
    save_every
        Keep a snapshot every so many steps, the start and the end among them.
    out
        Write the snapshots to this file instead of keeping them, ``.npz`` or ``.zarr`` (extra
        ``fields``), in bounded memory; without ``save_every`` the start and the end.
    method
        ``"jump"`` takes all steps of a linear scheme at once, on the CPU, see Notes.
    allow_unstable
        Compute also what is refused because errors would grow without bound, or because weights of
        your own do not solve this equation.
    device
        ``"cpu"``; ``"cuda"``, the first GPU; ``"auto"``, the GPU that ``phi`` is on, or one where
        there is one and work enough; or a `warpladder.device.base.Device`.
    progress
        Called now and then, in the calling thread, with the fraction done; what it raises passes
        through.

    Returns
    -------
    Advection
        The cells at the end in `Advection.phi`, an array of NumPy, or of the caller's library on
        the GPU where ``phi`` is there; snapshots; and what can be asked of them: `exact`, `errors`,
        `resume` and others.

    Raises
    ------
    InputError
        An argument has a value that cannot be used, is missing or does not go with the others; the
        scheme is not stable with this Courant number: the message states it, and the largest
        stable dt.
    InputTypeError
        An argument is of a kind that is not taken.
    TooLargeError
        The result does not fit the memory at hand; ``out`` takes snapshots.
    DeviceError
        The device is not there, or NUMBA_DISABLE_JIT is set.
    MissingExtraError
        Zarr is not installed.

    Notes
    -----
    Cell i is at x = i dx. A step of a linear scheme is a sum over neighbours at ascending offsets,
    one product and then one fused multiply-add for each further neighbour; whatever computes it,
    on however many cores or on a GPU, gives the same bits as the plain loop. So does a run that
    goes on from a snapshot. Weights are rounded so that they sum to exactly 1, and NaN and
    infinities in ``phi`` spread as the scheme carries them. A Courant number that only rounding
    keeps from a whole one is taken for it.

    All ghosts beyond an end have one value in a step, that of the place dx away. So with an inflow
    that changes in time the schemes that look two cells upwind, Beam-Warming, Fromm and those with
    a limiter, are of first order in what has come in; Lax-Wendroff stays of second.

    ``method="jump"`` multiplies each wave by a power of the scheme's symbol, in float64: equal to
    the steps up to rounding, not to the bit. With p neighbours, W the largest sum of absolute
    weights, u half a unit in the last place of 1 and M steps, the norm of the difference is at most
    ``(M p W u + 2^-50 (M + log2 n))`` times that of ``phi``, where it has ends with the constant
    cells beyond them as far as M steps look. More than 2^40 steps at once are refused, but not
    shifts of a ring by whole cells, which are exact. It needs a linear scheme, and a boundary that
    is periodic; other constant ones where the scheme does not look at what the cells next to an end
    do, or where these are equal as far as M steps can carry.

    Cost: b n steps cell-steps, and memory for two states beside what is kept.

    References
    ----------
    .. [1] LeVeque, "Finite Volume Methods for Hyperbolic Problems", 2002.
    .. [2] Sweby, "High resolution schemes using flux limiters for hyperbolic conservation laws",
       1984.

    Examples
    --------
    >>> import numpy as np, warpladder as wl
    >>> phi = np.array([0.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    >>> wl.advect(phi, courant=1, steps=2, scheme="upwind", boundary="periodic").phi
    array([0., 0., 0., 1., 1., 0.])
    >>> wl.advect(phi, courant=0.5, steps=1).phi
    array([0.25, 0.25, 0.75, 0.75, 0.  , 0.  ])
    >>> wl.advect(phi, velocity=2, dx=0.1, courant=0.8, t_end=1, scheme="mc")
    Advection(25 steps of 6 cells, mc, c = 0.8, neumann, float64)
    """
    check_progress(progress)
    prepared = prepare(
        phi, courant=courant, velocity=velocity, dx=dx, dt=dt, steps=steps, t_end=t_end,
        scheme=scheme, boundary=boundary, save_every=save_every, out=out, method=method,
        allow_unstable=allow_unstable, device=device,
    )  # fmt: skip
    setup, engines = prepared.setup, prepared.engines
    with naming_memory("phi", "the cells and what is kept of them"):
        ran = run(
            setup, engines, prepared.cells, 0, prepared.steps, prepared.save_every, prepared.out,
            progress,
        )  # fmt: skip
    return Advection(ran.phi, setup, prepared.steps, ran.steps, ran.snapshots, device, engines.why)


def plan(
    phi: Any,
    *,
    courant: Any = None,
    velocity: Any = None,
    dx: float | None = None,
    dt: float | None = None,
    steps: int | None = None,
    t_end: float | None = None,
    scheme: str | Mapping[int, Any] = "lax-friedrichs",
    boundary: Any = "neumann",
    save_every: int | None = None,
    out: str | os.PathLike[str] | None = None,
    method: Literal["steps", "jump"] = "steps",
    allow_unstable: bool = False,
    device: Literal["auto", "cpu", "cuda"] | Device = "auto",
) -> Plan:
    """Say what `advect` would do for the same arguments, and what it takes.

    Examples
    --------
    >>> import numpy as np, warpladder as wl
    >>> wl.advect.plan(np.zeros(1000), velocity=3, dx=0.01, courant=0.9, t_end=1).steps
    334
    """
    return prepare(
        phi, courant=courant, velocity=velocity, dx=dx, dt=dt, steps=steps, t_end=t_end,
        scheme=scheme, boundary=boundary, save_every=save_every, out=out, method=method,
        allow_unstable=allow_unstable, device=device, is_refused=False,
    ).plan  # fmt: skip


advect.plan = plan
