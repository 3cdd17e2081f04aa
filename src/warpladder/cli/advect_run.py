"""What `warpladder advect` does once its options are known: the run, and the facts of it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from warpladder.advection.api import advect
from warpladder.advection.api import plan as plan_of
from warpladder.advection.course import MOST_STEPS
from warpladder.advection.exact import whole_cells
from warpladder.advection.intake import as_rows
from warpladder.advection.refinement import as_grids
from warpladder.advection.result import Advection
from warpladder.advection.schemes import SCHEMES
from warpladder.call import naming_memory
from warpladder.cli.options import as_column, options_named
from warpladder.cli.progress import progress_bar
from warpladder.device.host_memory import require_memory
from warpladder.errors import FileFormatError, InputError
from warpladder.formats.atomic import atomic_write, check_writable
from warpladder.formats.pictures import check_picture
from warpladder.formats.values import StoredArray, open_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["SHAPES", "Asked", "resumed", "started"]

_CELLS = 1000
_SUFFIXES = (".npz", ".zarr", ".npy")
_PLAIN_BOUNDARIES = ("neumann", "periodic", "outflow")
# Functions of time, and weights of one's own, which the library takes too, are no words.
_BOUNDARIES = (
    f"use one of {', '.join(_PLAIN_BOUNDARIES)} and dirichlet:VALUE, or two of them for left and "
    "right, as dirichlet:1,outflow"
)
# Of x, and of what a shape makes of it on the way.
_BYTES_PER_CELL = 24
# The library's arguments that are options of another name, or none.
_NAMED = {"t_end": "--until", "out": "-o", "phi": "--initial", "grids": "--convergence"}


def _gaussian(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(-np.square((x - 0.3) / 0.06))


def _square(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return ((x >= 0.2) & (x < 0.4)).astype(np.float64)


def _sine(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.sin(2 * np.pi * x)


SHAPES: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "gaussian": _gaussian,
    "square": _square,
    "sine": _sine,
}


@dataclass(frozen=True, slots=True)
class Asked:
    """How far to go, and what to leave behind."""

    steps: int | None
    until: float | None
    save_every: int | None
    output: Path | None
    plot: Path | None
    device: str

    def check(self) -> None:
        """Refuse now what would be refused after a long run."""
        if self.steps is None and self.until is None:
            raise typer.BadParameter("give --steps, or --until, how far to go")
        if self.steps is not None and self.until is not None:
            raise typer.BadParameter("--steps and --until both say how far to go; give one of them")
        if self.until is not None and not math.isfinite(self.until):
            raise typer.BadParameter(f"--until {self.until} must be finite")
        if self.until is not None and self.until < 0:
            raise typer.BadParameter(
                f"--until {self.until} is before the start, which is at 0; to the left the curve "
                "moves with a --courant below 0"
            )
        if self.save_every is not None and (self.output is None or self.is_end_alone):
            raise typer.BadParameter("--save-every needs a file for snapshots: -o run.npz")
        if self.output is not None:
            # Typer makes "." of an empty text.
            if not self.output.name:
                raise typer.BadParameter("-o needs the name of a file")
            if self.output.suffix.lower() not in _SUFFIXES:
                raise typer.BadParameter(
                    f"-o {str(self.output)!r}: its name must end in one of {', '.join(_SUFFIXES)}"
                )
            if self.is_end_alone:
                check_writable(self.output)
        if self.plot is not None:
            check_picture(self.plot, "--plot")

    @property
    def is_end_alone(self) -> bool:
        """Whether the output is the cells at the end."""
        return self.output is not None and self.output.suffix.lower() == ".npy"

    @property
    def kept(self) -> dict[str, Any]:
        """What the library is to keep."""
        return {
            "save_every": self.save_every,
            "out": None if self.is_end_alone else self.output,
        }


def started(
    asked: Asked,
    *,
    initial: str,
    cells: int | None,
    column: str | None,
    dtype: str | None,
    plan: bool,
    grids: int | None,
    options: dict[str, Any],
) -> dict[str, Any]:
    """Run from a shape or a file."""
    shape = SHAPES.get(initial)
    if shape is None and grids is not None:
        raise typer.BadParameter("--convergence needs a shape, which is known on finer grids, too")
    if shape is not None and column is not None:
        raise typer.BadParameter(f"--column is that of a file; {initial} is a shape")
    if shape:
        phi = _sampled(shape, cells)
    else:
        phi = _read(initial, cells, column)
        with options_named([initial], _NAMED):
            phi = as_rows(phi, "phi").reshape(phi.shape)
    if dtype is not None:
        if dtype not in {"float32", "float64"}:
            raise typer.BadParameter(f"--dtype {dtype!r} must be float32 or float64")
        phi = _as_dtype(phi, dtype, initial)
    if options["scheme"] not in SCHEMES:
        known = ", ".join(SCHEMES)
        raise typer.BadParameter(f"--scheme {options['scheme']!r} is not known; use one of {known}")
    courant, n = options.pop("courant"), phi.shape[-1]
    if not math.isfinite(courant) or not courant:
        raise typer.BadParameter(f"--courant {courant:g} must be a number other than 0")
    if not courant / n:
        raise typer.BadParameter(f"--courant {courant:g} makes steps of no length")
    how = {
        **options,
        "boundary": _as_boundary(options["boundary"]),
        "velocity": math.copysign(1.0, courant),
        "dx": 1 / n,
        **_how_far(asked, abs(courant), n),
        **asked.kept,
        "device": asked.device,
    }
    facts: dict[str, Any] = {"initial": "standard input" if initial == "-" else initial}
    with options_named([initial, *_literals(asked)], _NAMED):
        if plan or grids is not None:
            planned = plan_of(phi, **how)
            if grids is not None:
                as_grids(grids, planned.systems * planned.cells, planned.steps, planned.method)
            if plan:
                return {**facts, "plan": asdict(planned)}
        began = perf_counter()
        with progress_bar("advecting") as progress:
            run = advect(phi, **how, progress=progress)
        seconds = perf_counter() - began
        facts |= _facts(run, asked, shape or phi, 0, seconds)
        if grids is not None and shape is not None:
            table = run.convergence(shape, grids)
            facts["convergence"] = [
                {"cells": size, **errors._asdict()}
                for size, errors in zip(table.cells, table.errors, strict=True)
            ]
            facts["orders"] = [
                {name: float(order) for name, order in orders._asdict().items()}
                for orders in table.orders
            ]
    return facts


def resumed(path: Path, asked: Asked) -> dict[str, Any]:
    """Go on from a file."""
    with options_named([str(path), *_literals(asked)], {**_NAMED, "boundary": "--resume"}):
        before = Advection.load(path, device=asked.device)
        steps = asked.steps if asked.until is None else _steps_until(asked.until, before)
        began = perf_counter()
        with progress_bar("advecting") as progress:
            run = before.resume(steps or 0, **asked.kept, progress=progress)
        seconds = perf_counter() - began
        # Of a file that begins at the start, that is known, too.
        start = None if before.saved[0] else np.asarray(before.snapshots[0])
        return {"initial": str(path)} | _facts(run, asked, start, before.steps, seconds)


def _steps_until(until: float, before: Advection) -> int:
    """Return how many steps lead from the end of a run to a time."""
    end, dt = before.time, before.dt
    found = (until - end) / dt
    if found > MOST_STEPS:
        raise InputError(
            f"t_end={until!r}: from t = {end:.10g} that is {found:.10g} steps of {dt:.10g}, and no "
            f"more than {MOST_STEPS:,} can be told apart; give an earlier one"
        )
    steps = round(max(found, -1.0))
    if steps < 0:
        raise InputError(
            f"t_end={until!r} is before t = {end:.10g}, where the file ends; give a later one"
        )
    if abs(end + steps * dt - until) > 1e-9 * abs(until):
        raise InputError(
            f"t_end={until!r}: from t = {end:.10g} that is no whole number of steps of {dt:.10g}; "
            "give --steps"
        )
    return steps


def _facts(run: Advection, asked: Asked, start: Any, first: int, seconds: float) -> dict[str, Any]:
    """Return what is known of a run, and write what is to be written besides snapshots."""
    setup, phi = run.setup, np.asarray(run.phi)
    courant = setup.course.courant
    facts: dict[str, Any] = {
        **({"systems": setup.systems} if setup.systems > 1 else {}),
        "cells": setup.cells,
        "type": setup.dtype.name,
        "scheme": setup.scheme.name,
        "courant": float(courant[0]) if (courant == courant[0]).all() else courant.tolist(),
        "boundary": setup.boundary.name,
        "steps": run.steps,
        **({"first_step": first} if first else {}),
        "dt": run.dt,
        "time": run.time,
        "why": run.why,
        "seconds": seconds,
        "cell_steps": phi.size * (run.steps - first),
        "least": float(phi.min()),
        "most": float(phi.max()),
        "total_variation": float(np.sum(run.total_variation)),
    }
    if start is not None:
        balance = run.mass_balance(start)
        facts |= {f"mass_{name}": float(np.sum(v)) for name, v in balance._asdict().items()}
        moved = (whole_cells(c, run.steps) for c in courant.tolist())
        if callable(start) or None not in moved:
            norms = run.errors(start)._asdict()
            facts["errors"] = {name: float(np.max(norm)) for name, norm in norms.items()}
    if asked.output is not None:
        facts["output"] = str(asked.output)
        if asked.is_end_alone:
            with atomic_write(asked.output) as file:
                np.save(file, phi, allow_pickle=False)
        else:
            facts["snapshots"] = len(run.saved)
    if asked.plot is not None:
        run.plot(start, path=asked.plot)
        facts["plot"] = str(asked.plot)
    return facts


def _how_far(asked: Asked, courant: float, n: int) -> dict[str, Any]:
    """Return the steps and their length; until a time, they are shortened to end there."""
    if asked.until is None:
        return {"steps": asked.steps, "dt": courant / n}
    return {"t_end": asked.until, "courant": courant}


def _sampled(shape: Callable[[Any], NDArray[np.float64]], cells: int | None) -> NDArray[Any]:
    n = _CELLS if cells is None else cells
    if n < 1:
        raise typer.BadParameter(f"--cells {n} must be at least 1")
    require_memory(_BYTES_PER_CELL * n, f"--cells {n}: the numbers of so many")
    with naming_memory("--cells", "so many"):
        return shape(np.arange(n) * (1 / n))


def _read(initial: str, cells: int | None, column: str | None) -> NDArray[Any]:
    """Return the cells in a file."""
    if cells is not None:
        raise typer.BadParameter(f"--cells is that of a shape; {initial} has as many as it has")
    path = Path(initial)
    if path.suffix.lower() == ".npz":
        if column is not None:
            raise typer.BadParameter(f"--column is that of a table; {initial} has arrays")
        return _of_archive(path)
    if initial != "-" and not path.exists():
        known = ", ".join(SHAPES)
        raise InputError(f"--initial {initial!r} is neither a file nor one of {known}")
    with options_named([initial], {"dtype": "--dtype"}):
        values = open_values(path, column=column if column is None else as_column(column))
        if isinstance(values, StoredArray):
            return values.mapped()
        return np.concatenate([np.empty(0, np.float64), *values])


def _as_dtype(phi: NDArray[Any], dtype: str, initial: str) -> NDArray[Any]:
    with np.errstate(over="ignore"):
        cells = phi.astype(dtype)
    if (np.isinf(cells) & np.isfinite(phi)).any():
        most = float(np.finfo(dtype).max)
        raise InputError(f"--dtype {dtype}: {initial} has numbers beyond {most:.6g}, its largest")
    return cells


def _of_archive(path: Path) -> NDArray[Any]:
    """Return phi of a .npz, its only array, or the last of the snapshots that it has."""
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            # It is a .npy of another name.
            return loaded
        with loaded as arrays:
            if "snapshots" in arrays.files:
                return np.asarray(arrays["snapshots"][-1])
            if "phi" in arrays.files or len(arrays.files) == 1:
                return np.asarray(arrays["phi" if "phi" in arrays.files else arrays.files[0]])
            found = f"arrays named {', '.join(arrays.files) or 'nothing'}"
    except OSError as fault:
        raise InputError(f"cannot read {path}: {fault.strerror or fault}") from fault
    except Exception as fault:
        # What zipfile and NumPy raise of damaged files has no common class.
        raise FileFormatError(path, None, "a whole .npz file of arrays", str(fault)) from fault
    raise FileFormatError(path, None, "one array, or one named phi", found)


def _as_boundary(text: str) -> Any:
    """Return a boundary as the library takes it.

    Examples
    --------
    >>> _as_boundary("dirichlet:1,outflow")
    (('dirichlet', 1.0), 'outflow')
    """
    parts = [_as_side(part.strip()) for part in text.split(",")]
    if len(parts) > 2:
        raise typer.BadParameter(f"--boundary {text!r} has {len(parts)} parts; {_BOUNDARIES}")
    return parts[0] if len(parts) == 1 else tuple(parts)


def _as_side(text: str) -> Any:
    kind, _, value = text.partition(":")
    if text in _PLAIN_BOUNDARIES:
        return text
    if kind != "dirichlet":
        raise typer.BadParameter(f"--boundary {text!r} is not known; {_BOUNDARIES}")
    try:
        return kind, float(value)
    except ValueError:
        raise typer.BadParameter(
            f"--boundary {text!r}: a number is needed behind the colon, as in dirichlet:0"
        ) from None


def _literals(asked: Asked) -> list[str]:
    return [str(path) for path in (asked.output, asked.plot) if path is not None]
