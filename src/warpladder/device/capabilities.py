"""What GPUs of each compute capability can hold: GR's table of 2018, and what came after it.

GR lists Fermi and Kepler. NVIDIA's compilers know neither any more, and nothing here runs on them;
their limits stand beside today's to show what has grown and what has not.
"""

from __future__ import annotations

from dataclasses import dataclass

from warpladder.device.properties import known_capabilities, properties_of, representative

__all__ = ["Capability", "capabilities"]


@dataclass(frozen=True, slots=True)
class Capability:
    """The limits of one compute capability.

    Attributes
    ----------
    compute_capability
        Major and minor version.
    device
        A device, or a family of chips, that has it.
    source
        ``"GR"`` for the table of the slides, ``"NVIDIA"`` for the programming guide.
    threads_per_warp, threads_per_block
        As launched.
    warps_per_multiprocessor, threads_per_multiprocessor, blocks_per_multiprocessor
        What one multiprocessor holds at a time.
    registers_per_multiprocessor, registers_per_thread
        32-bit registers.
    shared_bytes_per_multiprocessor
        Shared memory; several figures where the split between it and the cache can be chosen and
        the source lists the choices.
    shared_bytes_per_block
        The most that a block can have of it; None where the source does not tell.
    """

    compute_capability: tuple[int, int]
    device: str
    source: str
    threads_per_warp: int
    threads_per_block: int
    warps_per_multiprocessor: int
    threads_per_multiprocessor: int
    blocks_per_multiprocessor: int
    registers_per_multiprocessor: int
    registers_per_thread: int
    shared_bytes_per_multiprocessor: tuple[int, ...]
    shared_bytes_per_block: int | None


def _of_granada(
    capability: tuple[int, int],
    device: str,
    warps: int,
    blocks: int,
    registers: int,
    registers_per_thread: int,
    shared_kib: tuple[int, ...],
) -> Capability:
    return Capability(
        compute_capability=capability,
        device=device,
        source="GR",
        threads_per_warp=32,
        threads_per_block=1024,
        warps_per_multiprocessor=warps,
        threads_per_multiprocessor=32 * warps,
        blocks_per_multiprocessor=blocks,
        registers_per_multiprocessor=registers,
        registers_per_thread=registers_per_thread,
        shared_bytes_per_multiprocessor=tuple(kib << 10 for kib in shared_kib),
        shared_bytes_per_block=None,
    )


_GRANADA = (
    _of_granada((2, 0), "Fermi GF100", 48, 8, 32768, 63, (16, 48)),
    _of_granada((2, 1), "Fermi GF104", 48, 8, 32768, 63, (16, 48)),
    _of_granada((3, 0), "Kepler GK104", 64, 16, 65536, 63, (16, 32, 48)),
    _of_granada((3, 5), "Kepler GK110", 64, 16, 65536, 255, (16, 32, 48)),
)


def capabilities() -> tuple[Capability, ...]:
    """Return the limits of all known compute capabilities, the oldest first.

    Examples
    --------
    >>> [one.warps_per_multiprocessor for one in capabilities() if one.source == "GR"]
    [48, 48, 64, 64]
    """
    return _GRANADA + tuple(_of_today(capability) for capability in known_capabilities())


def _of_today(capability: tuple[int, int]) -> Capability:
    limits = properties_of(capability)
    return Capability(
        compute_capability=capability,
        device=representative(capability),
        source="NVIDIA",
        threads_per_warp=limits.warp_size,
        threads_per_block=limits.max_threads_per_block,
        warps_per_multiprocessor=limits.max_threads_per_multiprocessor // limits.warp_size,
        threads_per_multiprocessor=limits.max_threads_per_multiprocessor,
        blocks_per_multiprocessor=limits.max_blocks_per_multiprocessor,
        registers_per_multiprocessor=limits.registers_per_multiprocessor,
        registers_per_thread=limits.max_registers_per_thread,
        shared_bytes_per_multiprocessor=(limits.shared_bytes_per_multiprocessor,),
        shared_bytes_per_block=limits.shared_bytes_per_block_optin,
    )
