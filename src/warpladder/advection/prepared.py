"""A run made ready: what the arguments of `advect` mean together, and what will compute it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.advection.boundaries import as_boundary
from warpladder.advection.course import MOST_STEPS, as_course, check_stable
from warpladder.advection.intake import Cells, as_cells, as_whole
from warpladder.advection.plan import Plan
from warpladder.advection.running import Engines
from warpladder.advection.schemes import as_scheme
from warpladder.advection.setup import Setup
from warpladder.advection.snapshots import check_target, saved_count
from warpladder.call import Target, check_option, joined, target_for
from warpladder.device.environment import require_compiler, worker_count
from warpladder.device.foreign import device_of, numpy_dtype
from warpladder.device.host_memory import require_memory
from warpladder.errors import InputError
from warpladder.flags import as_flag

if TYPE_CHECKING:
    from pathlib import Path

    from warpladder.advection.forms import Engine

__all__ = ["METHODS", "Prepared", "as_save_every", "engines_for", "prepare"]

METHODS = ("steps", "jump")
# Cells times steps, of which a GPU does not take longer than a copy to it and back.
_GPU_FROM = 1 << 30


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A run that is ready to start.

    Attributes
    ----------
    setup, cells, steps
        What to compute, from what, and how far.
    engines
        By what.
    save_every, out
        What to keep on the way.
    plan
        What it will take.
    """

    setup: Setup
    cells: Cells
    steps: int
    engines: Engines
    save_every: int | None
    out: Path | None
    plan: Plan


def prepare(
    phi: Any,
    *,
    courant: Any,
    velocity: Any,
    dx: Any,
    dt: Any,
    steps: Any,
    t_end: Any,
    scheme: Any,
    boundary: Any,
    save_every: Any,
    out: Any,
    method: Any,
    allow_unstable: Any,
    device: Any,
    is_refused: bool = True,
) -> Prepared:
    """Make a run ready, from arguments as `warpladder.advect` has them.

    Parameters
    ----------
    is_refused
        Whether one that memory does not hold is.
    """
    check_option("method", method, METHODS)
    as_flag("allow_unstable", allow_unstable)
    cells = as_cells(phi)
    *several, n = cells.values.shape
    systems = several[0] if several else 1
    known = as_scheme(scheme)
    course, count = as_course(
        systems, courant=courant, velocity=velocity, dx=dx, dt=dt, steps=steps, t_end=t_end
    )
    if not allow_unstable:
        check_stable(known, course)
    setup = Setup(
        known,
        as_boundary(boundary, systems),
        course,
        method,
        systems,
        n,
        numpy_dtype(cells.values),
        cells.is_single,
    )
    every, path = as_save_every(save_every), check_target(out)
    engines = engines_for(setup, cells, device, count)
    waves = _waves(setup, count, every)
    plan = _plan(setup, cells, engines, count, every, path, waves)
    if is_refused and engines.device is None:
        # A jump asks for its waves itself, where there is a sound way.
        require_memory(plan.memory - waves, "phi: the cells and what is kept of them")
    return Prepared(setup, cells, count, engines, every, path, plan)


def engines_for(setup: Setup, cells: Cells, device: Any, steps: int) -> Engines:
    """Return what computes a run, and where.

    Raises
    ------
    InputError
        The device is not known, or cannot do it.
    DeviceError
        The device is not there, or NUMBA_DISABLE_JIT is set.
    """
    if setup.method == "jump":
        return _jumping(cells, device)
    require_compiler()
    if cells.is_on_gpu:
        there = device_of(cells.given, device, "phi")
        target = Target(there, "phi is there", is_asked=device != "auto")
    else:
        work = setup.systems * setup.cells * steps
        few = f"{work:,} cell-steps are too few for a GPU" if work < _GPU_FROM else ""
        target = target_for(device, too_small=few)
    if target.device is None:
        engine, name = _cpu_engine()
        return Engines(engine, None, joined(name, target.remark))
    from warpladder.advection.gpu.engine import GpuEngine

    name = target.device.properties.name
    return Engines(GpuEngine(target.device), target.device, joined(name, target.remark))


def as_save_every(given: Any) -> int | None:
    """Return the number of steps between two snapshots."""
    if given is None:
        return None
    every = as_whole("save_every", given)
    if every < 1:
        raise InputError(f"save_every={every} must be at least 1")
    if every > MOST_STEPS:
        raise InputError(f"save_every: there are more than {MOST_STEPS:,}, which no run has")
    return every


def _cpu_engine() -> tuple[Engine, str]:
    """Return the engine on the CPU, and what it is called."""
    from warpladder.advection.cpu import CpuEngine
    from warpladder.device.simd import vector_unit

    workers = worker_count()
    return CpuEngine(), f"{workers} CPU core{'s' if workers > 1 else ''} ({vector_unit().name})"


def _jumping(cells: Cells, device: Any) -> Engines:
    from warpladder.advection.jump import JumpEngine

    if cells.is_on_gpu:
        raise InputError(
            'method="jump": it runs on the CPU, and phi is on a GPU; copy it to the host, or use '
            'method="steps"'
        )
    if target_for(device, too_small="a jump runs on the CPU").device is not None:
        raise InputError('method="jump": it runs on the CPU; use device="cpu"')
    return Engines(JumpEngine(), None, "all steps at once, by powers of the symbol, on the CPU")


def _waves(setup: Setup, steps: int, every: int | None) -> int:
    """Return the bytes that jumps take beside the cells."""
    if setup.method != "jump":
        return 0
    from warpladder.advection.jump import bytes_of_jump

    at_once = min(steps, every or steps)
    is_ring = setup.boundary.is_periodic
    return bytes_of_jump(setup.scheme.offsets, setup.cells, at_once, is_ring=is_ring)


def _plan(
    setup: Setup,
    cells: Cells,
    engines: Engines,
    steps: int,
    every: int | None,
    out: Path | None,
    waves: int,
) -> Plan:
    state = setup.systems * setup.cells * setup.dtype.itemsize
    snapshots = saved_count(steps, every, is_written=out is not None)
    result = state * (1 + (snapshots if out is None else 0))
    # An engine makes a new state of the one before, with one more beside it on the way; the first
    # is the caller's, or a copy of it.
    is_callers = not cells.is_on_gpu and np.may_share_memory(cells.values, np.asarray(cells.given))
    copies = 0 if is_callers or cells.is_on_gpu else 1
    between = 1 if snapshots > 2 else 0
    return Plan(
        systems=setup.systems,
        cells=setup.cells,
        steps=steps,
        cell_steps=setup.systems * setup.cells * steps,
        dt=setup.course.dt,
        courant=float(np.abs(setup.course.courant).max()),
        snapshots=snapshots,
        # A number for each snapshot, too: which step it is of.
        memory=result + state * (copies + between + 1) + 8 * snapshots + waves,
        result_memory=result,
        engine="cpu" if engines.device is None else engines.device.properties.name,
        method=setup.method,
        why=engines.why,
    )
