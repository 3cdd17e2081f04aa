"""What a run will take, known before any of it is done."""

from __future__ import annotations

from dataclasses import dataclass

from warpladder.device.host_memory import in_words

__all__ = ["Plan"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run will take.

    Attributes
    ----------
    systems, cells
        How many systems there are, and the cells of each.
    steps
        How many steps are taken.
    cell_steps
        The product of these: how often a cell is computed.
    dt
        The length of a step.
    courant
        The largest absolute Courant number.
    snapshots
        How many are kept or written.
    memory
        Bytes at most, of the host or of the GPU, without the cells as they were given; the result
        included.
    result_memory
        Bytes of the result, snapshots included unless they are written.
    engine
        ``"cpu"`` or the name of the GPU.
    method
        ``"steps"`` or ``"jump"``.
    why
        Why this engine.
    """

    systems: int
    cells: int
    steps: int
    cell_steps: int
    dt: float
    courant: float
    snapshots: int
    memory: int
    result_memory: int
    engine: str
    method: str
    why: str

    def __str__(self) -> str:
        """Return it in a few lines, for people."""
        systems = f"{self.systems:,} systems of " if self.systems > 1 else ""
        return "\n".join(
            (
                f"cells      {systems}{self.cells:,}",
                f"steps      {self.steps:,} of {self.dt:.6g}, Courant number {self.courant:.6g}",
                f"work       {self.cell_steps:,} cell-steps",
                f"snapshots  {self.snapshots:,}",
                f"memory     {in_words(self.memory)}",
                f"engine     {self.engine}, {self.method}: {self.why}",
            )
        )
