"""The answer: cells at the end of a run, snapshots on the way, and what can be asked of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warpladder.advection.course import as_steps
from warpladder.advection.dataset import as_dataset
from warpladder.advection.exact import Errors, errors_of, exact_solution, plain, whole_cells
from warpladder.advection.intake import Cells, as_cells, as_rows
from warpladder.advection.prepared import as_save_every, engines_for
from warpladder.advection.refinement import Convergence, converged, sampled
from warpladder.advection.running import run
from warpladder.advection.setup import Setup, as_system, cells_at, times_of
from warpladder.advection.snapshots import as_path, check_target
from warpladder.advection.stored import open_run, open_snapshots
from warpladder.call import Progress, check_progress, naming_memory
from warpladder.device.foreign import is_on_gpu, to_numpy
from warpladder.device.host_memory import require_memory
from warpladder.errors import InputError

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.figure import Figure

__all__ = ["Advection", "MassBalance"]

Initial = Callable[[Any], Any]


class MassBalance(NamedTuple):
    """dx times the sum of all cells, a number or one for each system.

    Attributes
    ----------
    before, after
        At the start, and at the end.
    change
        The difference: what came in less what went out, and of a periodic run what rounding did.
    """

    before: Any
    after: Any
    change: Any


@dataclass(frozen=True, eq=False, repr=False)
class Advection:
    """Cells after so many steps.

    Attributes
    ----------
    phi
        The cells at the end: an array of NumPy, or on the GPU of the library of those at the start.
    setup
        What was computed.
    steps
        The number of the last step, counted from the start of the first run.
    saved
        The steps of the snapshots.
    kept
        The snapshots, or the path of the file that has them; None where none were asked for.
    device
        As it was asked for, for runs that go on from here.
    why
        Which engine, and why, for people.

    Examples
    --------
    >>> import numpy as np, warpladder as wl
    >>> hill = lambda x: np.exp(-((x - 0.3) / 0.05) ** 2)
    >>> run = wl.advect(hill(np.arange(400) / 400), velocity=1, dx=1 / 400, courant=0.8, t_end=0.25,
    ...                 scheme="fromm", boundary="periodic", save_every=50)
    >>> run
    Advection(125 steps of 400 cells, fromm, c = 0.8, periodic, float64)
    >>> run.times
    array([0.   , 0.1  , 0.2  , 0.25])
    >>> bool(run.errors(hill).l1 < 3e-4)
    True
    >>> bool((run.resume(75).phi == run.resume(25).resume(50).phi).all())
    True
    """

    phi: Any
    setup: Setup
    steps: int
    saved: NDArray[np.int64]
    kept: Any
    device: Any
    why: str

    def __repr__(self) -> str:
        setup = self.setup
        systems = "" if setup.is_single else f"{setup.systems:,} systems of "
        c = setup.course.courant
        courant = f"{c[0]:.6g}" if (c == c[0]).all() else f"{c.min():.6g} to {c.max():.6g}"
        return (
            f"Advection({self.steps:,} steps of {systems}{setup.cells:,} cells, "
            f"{setup.scheme.name}, c = {courant}, {setup.boundary.name}, {setup.dtype.name})"
        )

    @property
    def dx(self) -> float:
        """From cell to cell."""
        return self.setup.course.dx

    @property
    def dt(self) -> float:
        """From step to step."""
        return self.setup.course.dt

    @property
    def courant(self) -> Any:
        """The Courant number, one for each system where there is an axis of them: a copy."""
        return self._each(self.setup.course.courant)

    @property
    def velocity(self) -> Any:
        """The velocity, likewise."""
        return self._each(self.setup.course.velocity)

    @property
    def time(self) -> float:
        """The time at the end, the start being at 0."""
        return self.steps * self.dt

    @property
    def x(self) -> NDArray[np.float64]:
        """Where the cells are."""
        return cells_at(self.setup)

    @property
    def times(self) -> NDArray[np.float64]:
        """Of the snapshots."""
        return times_of(self.setup, self.saved)

    @cached_property
    def snapshots(self) -> Any:
        """The snapshots, (times, n) or (times, b, n), those of a file without reading them all."""
        return open_snapshots(self.kept) if isinstance(self.kept, Path) else self.kept

    def resume(
        self,
        steps: int,
        *,
        save_every: int | None = None,
        out: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Advection:
        """Go on for so many steps, with the same bits as a run that had not paused.

        Parameters are those of `warpladder.advect`.
        """
        check_progress(progress)
        count, every, path = as_steps(steps), as_save_every(save_every), check_target(out)
        as_steps(self.steps + count)
        if path and isinstance(self.kept, Path) and path.resolve() == self.kept.resolve():
            raise InputError(f"out={str(path)!r} is the file that this run goes on from")
        cells = as_cells(self.phi)
        engines = engines_for(self.setup, cells, self.device, count)
        if engines.device is None:
            # The new cells, and others on the way to them.
            require_memory(2 * cells.values.nbytes, "phi: the cells that come of it")
        with naming_memory("phi", "the cells and what is kept of them"):
            ran = run(self.setup, engines, cells, self.steps, count, every, path, progress)
        return replace(
            self,
            phi=ran.phi, steps=self.steps + count, saved=ran.steps, kept=ran.snapshots,
            why=engines.why,
        )  # fmt: skip

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, boundary: Any = None, device: Any = "auto"
    ) -> Advection:
        """Read snapshots that a run has written by ``out``: `resume` goes on from the last.

        Parameters
        ----------
        path
            The ``.npz`` or ``.zarr``.
        boundary
            Of a run with a function of time, the boundary again: a file cannot keep functions. It
            cannot be another than that of the run.
        device
            As for `warpladder.advect`.

        Raises
        ------
        FileFormatError
            It is no such file.
        InputError
            It cannot be read, or the boundary is missing or another.
        """
        place = as_path("path", path)
        setup, saved, last = open_run(place, boundary)
        return cls(last, setup, int(saved[-1]), saved, place.absolute(), device, "read from a file")

    def exact(self, initial: Any = None) -> NDArray[np.float64]:
        """Return the exact solution at the end, in float64, on the host.

        Parameters
        ----------
        initial
            The start: a function of x, which knows the solution anywhere; or cells, from which it
            is known where they have moved by whole cells. By default the first snapshot.

        Raises
        ------
        InputError
            The start is not known, or what is between its cells.
        InputTypeError
            The function returns something else than a number for each x.
        """
        found = exact_solution(self.setup, self._initial(initial), self.steps)
        return found.reshape(self.setup.shape)

    def errors(self, initial: Any = None) -> Errors:
        """Return how far the cells are from `exact`, in three norms."""
        return errors_of(self.setup, self._on_host(self.phi), self.exact(initial))

    @property
    def mass(self) -> Any:
        """Dx times the sum of all cells, in float64: a number, or one for each system."""
        return self._mass(self._on_host(self.phi))

    def mass_balance(self, initial: Any = None) -> MassBalance:
        """Return the mass at the start and at the end; ``initial`` is as for `exact`."""
        start = self._initial(initial)
        rows = sampled(self.setup, start) if callable(start) else start
        before, after = self._mass(rows.reshape(self.setup.shape)), self.mass
        with np.errstate(invalid="ignore"):
            return MassBalance(before, after, after - before)

    @property
    def total_variation(self) -> Any:
        """The sum of absolute differences of neighbours, around the ring if periodic."""
        phi = self._on_host(self.phi).astype(np.float64)
        if self.setup.boundary.is_periodic:
            phi = np.concatenate((phi, phi[..., :1]), axis=-1)
        with np.errstate(invalid="ignore", over="ignore"):
            return plain(np.abs(np.diff(phi, axis=-1)).sum(axis=-1))

    def convergence(self, initial: Initial, grids: int = 4) -> Convergence:
        """Run the same problem on finer grids, and return errors and the orders they show.

        Parameters
        ----------
        initial
            The start, as a function of x.
        grids
            How many, 2 or more, each with twice the cells and the steps of the one before: four
            times the work. What would take more than about an hour is refused.

        Examples
        --------
        >>> import numpy as np, warpladder as wl
        >>> wave = lambda x: np.sin(2 * np.pi * x)
        >>> run = wl.advect(wave(np.arange(64) / 64), velocity=1, dx=1 / 64, courant=0.8, t_end=0.5,
        ...                 scheme="fromm", boundary="periodic")
        >>> print(run.convergence(wave, 3))
                 fromm         L1  order         L2  order       Linf  order
                    64   0.000196      -   0.000217      -   0.000307      -
                   128   4.84e-05   2.02   5.37e-05   2.02    7.6e-05   2.02
                   256   1.21e-05   2.00   1.34e-05   2.00   1.89e-05   2.00
        """
        start = np.zeros(self.setup.shape, self.setup.dtype)
        on_host = Cells(start, start, self.setup.is_single)
        engines = engines_for(self.setup, on_host, "cpu", self.steps)
        return converged(self.setup, engines, initial, self.steps, grids)

    def plot(
        self, initial: Any = None, *, system: int = 0, path: str | os.PathLike[str] | None = None
    ) -> Figure:
        """Draw one system at the end, with the initial and the exact curve where they are known.

        Parameters
        ----------
        initial
            As for `exact`.
        system
            Which, of several.
        path
            Where to write the picture, too: ``.png``, ``.svg`` or ``.pdf``.

        Raises
        ------
        InputError, InputTypeError
            There is no such system, or the start is not one.
        MissingExtraError
            matplotlib is not installed.
        """
        from warpladder.advection.figures import drawn
        from warpladder.formats.pictures import save_picture

        system = as_system(system, self.setup)
        curves: dict[str, NDArray[Any]] = {}
        if initial is not None or (len(self.saved) and not self.saved[0]):
            start = self._initial(initial)
            rows = sampled(self.setup, start) if callable(start) else start
            curves["initial"] = rows[system]
            courant = float(self.setup.course.courant[system])
            if callable(start) or whole_cells(courant, self.steps) is not None:
                [curves["exact"]] = exact_solution(self.setup, start, self.steps, system)
        curves["computed"] = self._rows(self._on_host(self.phi))[system]
        figure = drawn(self.x, curves, self._title(system))
        if path is not None:
            save_picture(figure, as_path("path", path))
        return figure

    def animate(
        self, *, system: int = 0, path: str | os.PathLike[str] | None = None
    ) -> FuncAnimation | None:
        """Return an animation of the snapshots of one system; with a path, write it instead.

        ``.gif`` is written without other programs.

        Raises
        ------
        InputError, InputTypeError
            There are no snapshots, or no such system.
        MissingExtraError
            matplotlib is not installed.
        """
        from warpladder.advection.figures import animated, save_animation

        system = as_system(system, self.setup)
        if self.snapshots is None:
            raise InputError("animate: there are no snapshots; run with save_every")
        target = None if path is None else as_path("path", path)
        shots = self.snapshots if self.setup.is_single else self.snapshots[:, system]
        shots = to_numpy(shots) if is_on_gpu(shots) else shots
        found = animated(self.x, shots, self.times.tolist(), self._title(system, at_end=False))
        if target is None:
            return found
        save_animation(found, target)
        return None

    def to_xarray(self) -> Any:
        """Return a ``xarray.Dataset`` of the snapshots, or of the end where there are none.

        ``phi`` over ``time``, ``system`` where there is an axis of them, and ``x``.

        Raises
        ------
        MissingExtraError
            xarray is not installed.
        """
        if self.snapshots is None:
            return as_dataset(self.setup, np.array([self.steps]), self._on_host(self.phi)[None])
        return as_dataset(self.setup, self.saved, self._on_host(self.snapshots))

    def _initial(self, initial: Any) -> Any:
        """Return the start: a function, or cells as (systems, cells)."""
        if callable(initial):
            return initial
        if initial is None:
            if not len(self.saved) or self.saved[0]:
                raise InputError(
                    "initial=None: the start was not kept; give it, as cells or as a function of x "
                    "(or keep it by save_every)"
                )
            return self._rows(self._on_host(self.snapshots[0]))
        rows = as_rows(to_numpy(initial) if is_on_gpu(initial) else initial, "initial")
        if rows.shape != (self.setup.systems, self.setup.cells):
            raise InputError(
                f"initial: {rows.shape[0]} systems of {rows.shape[1]} cells, where the run has "
                f"{self.setup.systems} of {self.setup.cells}"
            )
        return rows

    def _title(self, system: int, *, at_end: bool = True) -> str:
        setup = self.setup
        whose = "" if setup.is_single else f"system {system}, "
        told = f"{whose}{setup.scheme.name}, c = {setup.course.courant[system]:.4g}"
        if not at_end:
            return f"{told}, {setup.cells:,} cells"
        return f"{told}, {setup.cells:,} cells after {self.steps:,} steps"

    def _rows(self, cells: NDArray[Any]) -> NDArray[Any]:
        return cells.reshape(self.setup.systems, self.setup.cells)

    def _mass(self, cells: NDArray[Any]) -> Any:
        with np.errstate(invalid="ignore", over="ignore"):
            return plain(self.dx * cells.sum(axis=-1, dtype=np.float64))

    def _each(self, numbers: NDArray[np.float64]) -> Any:
        return float(numbers[0]) if self.setup.is_single else numbers.copy()

    @staticmethod
    def _on_host(array: Any) -> NDArray[Any]:
        return to_numpy(array) if is_on_gpu(array) else np.asarray(array)
