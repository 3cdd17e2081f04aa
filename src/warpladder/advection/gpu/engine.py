"""Many steps of many cells on one device, without a visit to memory for each step.

The host launches pass after pass and does not wait for them; now and then it does, so that progress
is told of work that is done and a call that is stopped ends soon. Cells that are on the device
already stay there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.advection.forms import Edge, Problem
from warpladder.advection.gpu_tiles.cells import Form, form_of, numbers_of, shared_by_all
from warpladder.advection.gpu_tiles.passes import Ends, Run, passes
from warpladder.advection.gpu_tiles.plan import Shape, shape_for
from warpladder.device.foreign import is_on_gpu
from warpladder.device.grids import WARP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device

__all__ = ["GpuEngine"]

#: Launches that may wait on the device.
_AHEAD = 32
#: Values of edges on the device at a time, at most.
_MOST_VALUES = 1 << 24


class GpuEngine:
    """Advances cells on one device; see `forms.Engine`.

    Parameters
    ----------
    device
        Where.
    shape
        Strips and depth, for cells that are at least as many as a tile has, and such that the steps
        leave something of a tile; by default as suits the device and the problem.

    Examples
    --------
    >>> from warpladder.advection.forms import Stencil
    >>> from warpladder.simulator import SimulatedDevice
    >>> upwind = Stencil((-1, 0), np.array([[1.0, 0.0]]))
    >>> problem = Problem(upwind, Edge("periodic"), Edge("periodic"))
    >>> engine = GpuEngine(SimulatedDevice())
    >>> engine.advance(problem, np.array([[1.0, 2.0, 3.0]]), 0, 2, lambda steps: None)
    array([[2., 3., 1.]])
    """

    def __init__(self, device: Device, *, shape: Shape | None = None) -> None:
        self._device, self._shape = device, shape

    def advance(
        self,
        problem: Problem,
        phi: NDArray[np.floating],
        first: int,
        steps: int,
        advanced: Callable[[float], None],
    ) -> NDArray[np.floating]:
        """Return the cells after so many steps, as `forms.Engine` says.

        Where ``phi`` is an array of the device, so is what comes back.
        """
        device = self._device
        stays = is_on_gpu(phi)
        cells: Any = phi if stays else device.to_device(phi)
        owned, systems = not stays, phi.shape[0]
        own = numbers_of(problem.rule)
        numbers = shared_by_all(own) or device.to_device(own)
        form = form_of(problem.rule)
        if steps == 0:
            cells = device.to_device(cells, out=device.empty(phi.shape, phi.dtype))
        shape = self._shape_of(form, phi, steps, ring=problem.left.kind == "periodic")
        # Values given at the edges may be more than is to lie on the device.
        most, waiting = max(_MOST_VALUES // systems, 1), 0
        told = done = 0
        while done < steps:
            part = min(most, steps - done)
            run = Run(device, form, numbers, self._ends(problem, phi, first + done, part))
            for target, taken in passes(run, shape, cells, part, owned=owned):
                result = target
                done += taken
                waiting += 1
                if waiting == _AHEAD:
                    device.synchronize()
                    advanced(done - told)
                    told, waiting = done, 0
            cells, owned = result, True
        if stays:
            device.synchronize()
        found: NDArray[np.floating] = cells if stays else device.to_host(cells)
        if done > told:
            advanced(done - told)
        return found

    def _shape_of(self, form: Form, phi: Any, steps: int, *, ring: bool) -> Shape | None:
        """Return the shape of strips, None for systems smaller than a tile."""
        systems, n = phi.shape
        itemsize = phi.dtype.itemsize
        gpu = self._device.properties
        found = shape_for(form, itemsize, n, systems, max(steps, 1), gpu, ring=ring)
        if found is None or self._shape is None or WARP * self._shape.strip > n:
            return found
        return self._shape

    def _ends(self, problem: Problem, phi: Any, first: int, steps: int) -> Ends:
        """Bring the values of some steps to the device."""
        if problem.left.kind == "periodic":
            return Ends(ring=True)
        return Ends(
            *(self._values(edge, phi, first, steps) for edge in (problem.left, problem.right))
        )

    def _values(self, edge: Edge, phi: Any, first: int, steps: int) -> Any:
        if edge.values is None:
            return None
        shape = steps, phi.shape[0]
        values = np.broadcast_to(edge.values[first : first + steps], shape)
        return self._device.to_device(np.ascontiguousarray(values))
