"""The options of `cuda.jit` in programs: what Numba refuses is refused."""

from __future__ import annotations

from typing import Any

from warpladder.errors import InputError, InputTypeError

__all__ = ["target_options"]

#: What kernels are compiled by; with others Numba ends in an error.
_OPTIONS = frozenset(
    {
        "cache", "debug", "extensions", "fastmath", "forceinline", "inline", "launch_bounds",
        "lineinfo", "link", "lto", "max_registers", "opt", "shared_memory_carveout",
    }
)  # fmt: skip


_CARVEOUTS = ("default", "maxl1", "maxshared")


def _check_values(options: dict[str, Any]) -> None:
    """Refuse values of options that Numba does."""
    bounds, carveout = options.get("launch_bounds"), options.get("shared_memory_carveout")
    if isinstance(bounds, tuple | list) and not 1 <= len(bounds) <= 3:
        raise InputError(
            f"cuda.jit: launch_bounds={bounds!r} takes the threads of a block, and may have the "
            "least blocks of a multiprocessor and the most of a cluster"
        )
    known = carveout is None or (
        -1 <= carveout <= 100 if isinstance(carveout, int) else str(carveout).lower() in _CARVEOUTS
    )
    if not known:
        raise InputError(
            f"cuda.jit: shared_memory_carveout={carveout!r} is none of {', '.join(_CARVEOUTS)} and "
            "no whole number from -1 to 100"
        )


def target_options(options: dict[str, Any], device: bool) -> dict[str, Any]:
    """Return the options of a kernel as Numba's dispatcher has them."""
    unknown = set() if device else options.keys() - _OPTIONS
    if unknown:
        raise InputTypeError(
            f"cuda.jit: {', '.join(sorted(unknown))} is no option of kernels; there are "
            f"{', '.join(sorted(_OPTIONS))}"
        )
    _check_values(options)
    kept = {"debug": False, "opt": True, "device": device, "link": (), "extensions": []}
    kept.update(options)
    if isinstance(kept.get("inline"), bool):
        # What older programs write; numba-cuda, too, takes it for these.
        kept["inline"] = "always" if kept["inline"] else "never"
    return kept
