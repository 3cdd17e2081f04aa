"""What a GPU would do, counted: the sums, and the ratios that Nsight Compute forms from them.

Every sum is kept per source line; a kernel's counters are the sum over its lines, a device's over
its launches. Nsight Compute's metric stands beside each; `NSIGHT_COMPUTE` has those that count the
same, for people who compare.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["NSIGHT_COMPUTE", "Counters"]

#: What Nsight Compute calls the same, for the counters that were compared with it on a GPU
#: (``benchmarks/validation``). The last two are ratios of Numba's operations here and of machine
#: instructions there: alike in meaning, not to the digit.
NSIGHT_COMPUTE: dict[str, str] = {
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors_per_request": (
        "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"
    ),
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "global_store_sectors_per_request": (
        "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"
    ),
    "shared_load_requests": "smsp__inst_executed_op_shared_ld.sum",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_store_requests": "smsp__inst_executed_op_shared_st.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared_bank_conflicts": (
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum + "
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"
    ),
    "atomic_requests": (
        "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum + "
        "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum + "
        "smsp__inst_executed_op_shared_atom.sum"
    ),
    "threads_per_instruction": "smsp__thread_inst_executed_per_inst_executed.ratio",
    "branch_uniformity": "smsp__sass_average_branch_targets_threads_uniform.pct",
}


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


@dataclass(slots=True)
class Counters:
    """Sums of events, and the ratios formed from them.

    A *request* is one memory instruction of one warp; a *sector* 32 bytes and a *line* 128 bytes of
    global memory, aligned to their size; a *wavefront* one pass through shared memory, which serves
    one 4-byte word from each of 32 banks.

    Attributes
    ----------
    launches
        Kernels started.
    warp_instructions, thread_instructions
        Instructions issued to warps, and the threads active in them, summed
        (``smsp__inst_executed.sum``, ``smsp__thread_inst_executed.sum``). What is counted is the
        operations of Numba's typed IR, not machine instructions: the ratio compares with the
        hardware's, the sums do not.
    branches, uniform_branches
        Conditional branches executed by warps, and those that all active threads took the same way
        (``smsp__sass_branch_targets.sum``, ``smsp__sass_branch_targets_threads_uniform.sum``).
    global_load_requests, global_load_sectors, global_load_lines, global_load_bytes
        Loads from global memory: ``l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum``,
        ``l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum``, 128-byte lines, and distinct bytes that
        the warp asked for.
    global_store_requests, global_store_sectors, global_store_lines, global_store_bytes
        The same of stores (``..._op_st.sum``).
    shared_load_requests, shared_load_wavefronts, shared_load_ideal_wavefronts
        Loads from shared memory: ``smsp__inst_executed_op_shared_ld.sum``,
        ``l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum``, and the passes the same requests
        would take without bank conflicts.
    shared_store_requests, shared_store_wavefronts, shared_store_ideal_wavefronts
        The same of stores (``..._op_st.sum``).
    local_load_requests, local_store_requests
        Accesses to local arrays (``smsp__inst_executed_op_local_ld.sum``, ``..._st.sum``), as if
        none of them were kept in registers.
    constant_requests, constant_wavefronts
        Reads of constant arrays, and the distinct addresses among them that are served one after
        the other.
    atomic_requests, atomic_threads, atomic_passes
        Atomic instructions of warps on global and shared memory, the threads active in them, and
        the most threads that meet at one address, summed: the passes a warp needs.
    barriers
        Block barriers that warps passed (``smsp__inst_executed_op_barrier``-like: one per warp).
    warp_syncs
        ``syncwarp`` executed by warps.
    shuffles
        Shuffles, votes and matches executed by warps.
    """

    launches: int = 0
    warp_instructions: int = 0
    thread_instructions: int = 0
    branches: int = 0
    uniform_branches: int = 0
    global_load_requests: int = 0
    global_load_sectors: int = 0
    global_load_lines: int = 0
    global_load_bytes: int = 0
    global_store_requests: int = 0
    global_store_sectors: int = 0
    global_store_lines: int = 0
    global_store_bytes: int = 0
    shared_load_requests: int = 0
    shared_load_wavefronts: int = 0
    shared_load_ideal_wavefronts: int = 0
    shared_store_requests: int = 0
    shared_store_wavefronts: int = 0
    shared_store_ideal_wavefronts: int = 0
    local_load_requests: int = 0
    local_store_requests: int = 0
    constant_requests: int = 0
    constant_wavefronts: int = 0
    atomic_requests: int = 0
    atomic_threads: int = 0
    atomic_passes: int = 0
    barriers: int = 0
    warp_syncs: int = 0
    shuffles: int = 0

    def count(self, event: str, **amounts: int) -> None:
        """Add to the sums of an event: to ``event_requests``, say, what is named ``requests``."""
        for name, amount in amounts.items():
            field = f"{event}_{name}"
            setattr(self, field, getattr(self, field) + amount)

    def add(self, other: Counters) -> None:
        """Add the sums of ``other`` to these."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    @property
    def threads_per_instruction(self) -> float:
        """Active threads per warp instruction, at most 32.

        ``smsp__thread_inst_executed_per_inst_executed.ratio``.
        """
        return _ratio(self.thread_instructions, self.warp_instructions)

    @property
    def branch_uniformity(self) -> float:
        """Percent of branches that all active threads of the warp took the same way.

        ``smsp__sass_average_branch_targets_threads_uniform.pct``.
        """
        return 100 * _ratio(self.uniform_branches, self.branches)

    @property
    def global_load_sectors_per_request(self) -> float:
        """32-byte sectors per load request: 4 when 32 threads read 32 neighbouring 4-byte words.

        ``l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio``.
        """
        return _ratio(self.global_load_sectors, self.global_load_requests)

    @property
    def global_store_sectors_per_request(self) -> float:
        """32-byte sectors per store request (``..._op_st.ratio``)."""
        return _ratio(self.global_store_sectors, self.global_store_requests)

    @property
    def global_load_lines_per_request(self) -> float:
        """128-byte lines per load request."""
        return _ratio(self.global_load_lines, self.global_load_requests)

    @property
    def global_store_lines_per_request(self) -> float:
        """128-byte lines per store request."""
        return _ratio(self.global_store_lines, self.global_store_requests)

    @property
    def load_utilisation_32(self) -> float:
        """Percent of the loaded 32-byte sectors' bytes that threads asked for."""
        return 100 * _ratio(self.global_load_bytes, 32 * self.global_load_sectors)

    @property
    def load_utilisation_128(self) -> float:
        """Percent of the loaded 128-byte lines' bytes that threads asked for."""
        return 100 * _ratio(self.global_load_bytes, 128 * self.global_load_lines)

    @property
    def store_utilisation_32(self) -> float:
        """Percent of the stored 32-byte sectors' bytes that threads wrote."""
        return 100 * _ratio(self.global_store_bytes, 32 * self.global_store_sectors)

    @property
    def store_utilisation_128(self) -> float:
        """Percent of the stored 128-byte lines' bytes that threads wrote."""
        return 100 * _ratio(self.global_store_bytes, 128 * self.global_store_lines)

    @property
    def global_bytes_moved(self) -> int:
        """Bytes of all sectors loaded and stored: traffic before any cache."""
        return 32 * (self.global_load_sectors + self.global_store_sectors)

    @property
    def shared_bank_conflicts(self) -> int:
        """Wavefronts beyond those that the same requests need without conflicts.

        ``l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum``, and ``..._op_st.sum``.
        """
        return (
            self.shared_load_wavefronts
            - self.shared_load_ideal_wavefronts
            + self.shared_store_wavefronts
            - self.shared_store_ideal_wavefronts
        )

    @property
    def shared_load_conflict_degree(self) -> float:
        """Wavefronts per ideal wavefront of shared loads: 1 without conflicts, at most 32."""
        return _ratio(self.shared_load_wavefronts, self.shared_load_ideal_wavefronts)

    @property
    def shared_store_conflict_degree(self) -> float:
        """Wavefronts per ideal wavefront of shared stores: 1 without conflicts, at most 32."""
        return _ratio(self.shared_store_wavefronts, self.shared_store_ideal_wavefronts)

    @property
    def atomic_serialisation(self) -> float:
        """Passes per atomic request: 1 when all threads meet different addresses, at most 32."""
        return _ratio(self.atomic_passes, self.atomic_requests)
