"""The table of limits against the figures of the tuning guides."""

from __future__ import annotations

from typing import Any

import pytest

from warpladder.device.properties import DeviceProperties, known_capabilities, properties_of
from warpladder.errors import InputError

KIB = 1024

# Threads, blocks and KiB of shared memory per multiprocessor, KiB of shared memory per block.
PUBLISHED = {
    (5, 0): (2048, 32, 64, 48),  # Maxwell: 64 KiB, "each thread block limited to 48 KB"
    (5, 2): (2048, 32, 96, 48),  # Maxwell: GM204 has 96 KiB
    (6, 0): (2048, 32, 64, 48),  # Pascal: GP100 64 KiB
    (6, 1): (2048, 32, 96, 48),  # Pascal: GP104 96 KiB
    (7, 0): (2048, 32, 96, 96),  # Volta: 64 warps, 32 blocks, up to 96 KiB
    (7, 5): (1024, 16, 64, 64),  # Turing: 32 warps, 16 blocks, 64 KiB
    (8, 0): (2048, 32, 164, 163),  # Ampere: 64 warps, 32 blocks, 164 KiB, 163 KiB
    (8, 6): (1536, 16, 100, 99),  # Ampere: 48 warps, 16 blocks, 100 KiB, 99 KiB
    (8, 9): (1536, 24, 100, 99),  # Ada: 48 warps, 24 blocks, 100 KiB, 99 KiB
    (9, 0): (2048, 32, 228, 227),  # Hopper: 64 warps, 32 blocks, 228 KiB, 227 KiB
    (10, 0): (2048, 32, 228, 227),  # Blackwell: 64 warps, 32 blocks, 228 KiB, 227 KiB
    (12, 0): (1536, 24, 100, 99),  # Blackwell: 48 warps, 99 KiB; blocks: see the table
}


@pytest.mark.parametrize("capability", PUBLISHED)
def test_published_limits(capability: tuple[int, int]) -> None:
    properties = properties_of(capability)
    assert PUBLISHED[capability] == (
        properties.max_threads_per_multiprocessor,
        properties.max_blocks_per_multiprocessor,
        properties.shared_bytes_per_multiprocessor // KIB,
        properties.shared_bytes_per_block_optin // KIB,
    )


def every_device() -> list[DeviceProperties]:
    return [properties_of(capability) for capability in known_capabilities()]


@pytest.mark.parametrize("device", every_device(), ids=lambda device: device.name)
def test_what_holds_for_all(device: DeviceProperties) -> None:
    assert device.max_threads_per_block == 1024
    assert device.max_block_dim == (1024, 1024, 64)
    assert device.max_grid_dim == (2147483647, 65535, 65535)
    assert device.registers_per_multiprocessor == 65536
    assert device.max_registers_per_thread == 255
    assert device.shared_bytes_per_block == 49152
    assert device.warp_size == 32
    assert device.multiprocessors >= 1
    # What the driver keeps back in each block is what one block cannot have of the whole.
    if device.compute_capability >= (7, 0):
        assert (
            device.shared_bytes_per_block_optin + device.shared_bytes_reserved_per_block
            == device.shared_bytes_per_multiprocessor
        )


def test_only_the_small_chips_of_two_generations_have_half_the_registers_per_block() -> None:
    halved = {d.compute_capability for d in every_device() if d.registers_per_block == 32768}
    assert halved == {(5, 3), (6, 2)}
    assert all(d.registers_per_block in {32768, 65536} for d in every_device())


@pytest.mark.parametrize(
    ("capability", "reserved", "shared_unit", "partitions"),
    [
        ((6, 0), 0, 256, 2),
        ((6, 1), 0, 256, 4),
        ((7, 5), 0, 256, 4),
        ((8, 0), 1024, 128, 4),
        ((12, 1), 1024, 128, 4),
    ],
)
def test_allocation(
    capability: tuple[int, int], reserved: int, shared_unit: int, partitions: int
) -> None:
    properties = properties_of(capability)
    assert properties.shared_bytes_reserved_per_block == reserved
    assert properties.shared_allocation_unit == shared_unit
    assert properties.register_allocation_unit == 256
    assert properties.partitions_per_multiprocessor == partitions


@pytest.mark.parametrize(
    ("capability", "multiprocessors"),
    [((7, 5), 40), ((8, 0), 108), ((8, 6), 82), ((8, 9), 128), ((9, 0), 132), ((10, 0), 148)],
)
def test_typical_devices(capability: tuple[int, int], multiprocessors: int) -> None:
    assert properties_of(capability).multiprocessors == multiprocessors


def test_size_and_name_can_be_chosen() -> None:
    small = properties_of((8, 6), multiprocessors=2, name="two")
    assert (small.multiprocessors, small.name) == (2, "two")
    assert properties_of((8, 6)).name == "simulated sm_86 (RTX 3090-sized)"


def test_unknown_capability_names_the_known() -> None:
    with pytest.raises(InputError, match=r"compute_capability=4\.2 .* 5\.0, .* 12\.1$"):
        properties_of((4, 2))


@pytest.mark.parametrize("given", ["9.0", 9.0, [9, 0], None])
def test_a_capability_is_a_pair(given: Any) -> None:
    with pytest.raises(InputError, match=r"is no pair of .* write \(9, 0\)"):
        properties_of(given)


@pytest.mark.parametrize("multiprocessors", [0, -1])
def test_no_multiprocessor(multiprocessors: int) -> None:
    with pytest.raises(InputError, match=f"multiprocessors={multiprocessors}"):
        properties_of((9, 0), multiprocessors=multiprocessors)
