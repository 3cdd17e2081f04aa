"""The cells of the table of reductions: what is asked for, of which numbers, and of whom."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import warpladder as wl

_OPERATIONS = (
    *("sum", "prod", "min", "max", "ptp", "argmax", "mean", "var", "any", "all"),
    *("count_nonzero", "l1", "l2", "nansum", "nanmax"),
)
_MASKED_OPERATIONS = ("sum", "max", "mean", "var", "any", "l2")
_DTYPES = ("int8", "int32", "int64", "float32", "float64")
_SMALL, _IN_CACHE, _MIDDLE = 1 << 10, 1 << 16, 1 << 20
_SHAPES: dict[tuple[int, ...], tuple[int | tuple[int, ...] | None, ...]] = {
    (_SMALL,): (None,),
    (32, 32): (0, 1),
    (_IN_CACHE,): (None,),
    (_MIDDLE,): (None,),
    (4096, 4096): (0, 1),
    (64, 1000, 64): (0, 1, 2),
    (8, 2_000_000): (0, 1),
    (1 << 18, 3): (0, 1),
    # Many short rows.
    (1 << 15, 10): (1,),
    (1 << 12, 30): (1,),
    # Many small panels.
    (30_000, 3, 3): (1,),
    (4096, 16, 4): (1,),
    (3, 1 << 17): (0, 1),
    # Of each channel of images; of rows of a cube.
    (32, 64, 28, 28): ((0, 2, 3),),
    (8, 3, 256, 256): ((0, 2, 3),),
    (100, 100, 100): ((0, 2),),
}
# Arrays that lie otherwise than their shape says, with shapes and axes.
_LAYOUTS: dict[tuple[str, ...], dict[tuple[int, ...], tuple[int | None, ...]]] = {
    ("a column of 8", "every second"): {
        (_SMALL,): (None,),
        (_IN_CACHE,): (None,),
        (_MIDDLE,): (None,),
    },
    ("in Fortran order", "edges cut off"): {
        (32, 32): (None, 0, 1),
        (1024, 1024): (None, 0, 1),
    },
    ("columns of 8",): {(50_000, 3): (0, 1)},
    # Rows, and panels of rows, that make no matrix.
    ("edges cut off", "every second"): {(64, 64, 128): (None, 1, 2), (64, 128, 20): (1, 2)},
}
_OPERATIONS_OF_LAYOUTS = ("sum", "max", "argmax", "mean")
_OPERATIONS_ON_TRUTHS = ("sum", "mean", "any", "all", "max", "argmax")
_SHAPES_OF_TRUTHS: dict[tuple[int, ...], tuple[int | None, ...]] = {
    (_SMALL,): (None,),
    (32, 32): (0, 1),
    (1024, 1024): (None, 0, 1),
    (1 << 15, 10): (0, 1),
}
# What else may be asked for, and of which operations. What comes first is a number that counts.
_BOTH = ("min and max", "mean and std")
_OPTIONS: dict[str, tuple[str, ...]] = {
    "": _BOTH,
    "from 1": ("sum", "max"),
    "into": ("sum",),
    "out": ("sum", "max", "min and max"),
    "masked": ("sum", "mean"),
    "masked from 1": ("sum", "max"),
    # Of a column that it leaves out there is no mean.
    "masked by a row": ("sum",),
}
_SQUARES = ((32, 32), (256, 256), (1024, 1024))
# What NumPy has not over several axes.
_OF_ONE_AXIS = ("argmax", "l1", "l2")
_OF_BOTTLENECK = {
    **dict.fromkeys(("sum", "nansum"), "nansum"),
    **dict.fromkeys(("max", "nanmax"), "nanmax"),
    "min": "nanmin",
    "argmax": "nanargmax",
    "mean": "nanmean",
    "var": "nanvar",
}

Task = Callable[[], Any]


class Cell(NamedTuple):
    """An operation on numbers of a dtype, over axes, perhaps with one more option."""

    operation: str
    dtype: str
    shape: tuple[int, ...]
    axis: int | tuple[int, ...] | None
    option: str = ""
    layout: str = ""

    @property
    def name(self) -> str:
        """All of it in words."""
        sides = " x ".join(map(str, self.shape))
        if len(self.shape) == 1 and self.shape[0].bit_count() == 1:
            sides = f"2^{self.shape[0].bit_length() - 1}"
        if self.axis is not None:
            sides += f" axis {' '.join(map(str, np.atleast_1d(self.axis)))}"
        option = f" {self.option}" if self.option else ""
        option += f", {self.layout}" if self.layout else ""
        return f"{self.operation} {self.dtype} {sides}{option}"

    @property
    def is_small(self) -> bool:
        """Whether it is the time above NumPy's that counts, not the ratio."""
        return math.prod(self.shape) == _SMALL

    @property
    def is_of_blas(self) -> bool:
        """Whether a peer calls BLAS, which has threads of its own."""
        return self.operation == "l2" and self.axis is None

    @property
    def group(self) -> str:
        """To which group of cells it belongs."""
        # Of 2^16 numbers and more it is BLAS that makes an l2.
        kind = "l2" if self.operation == "l2" and not self.is_small else self._kind
        return f"{'2^10' if self.is_small else 'from 2^16 on'}, {kind}"

    @property
    def _kind(self) -> str:
        if self.option in {"a list", "keepdims"}:
            return {"a list": "lists", "keepdims": "with an axis, kept"}[self.option]
        if self.option == "masked" and self.axis is None:
            return "masked"
        if len(self.of_both) > 1:
            return "two operations"
        if self.option:
            return "options"
        return "views" if self.layout else "flat" if self.axis is None else "with an axis"

    @property
    def of_both(self) -> list[str]:
        """The operations."""
        return self.operation.split(" and ")


def cells() -> Iterator[Cell]:
    """Yield all cells."""
    for shape, axes in _SHAPES.items():
        for axis in axes:
            for dtype in _DTYPES:
                for operation in _OPERATIONS:
                    if isinstance(axis, tuple) and operation in _OF_ONE_AXIS:
                        continue
                    # What is no float has no NaN to skip.
                    if dtype.startswith("float") or not operation.startswith("nan"):
                        yield Cell(operation, dtype, shape, axis)
    for size in (_SMALL, _IN_CACHE, _MIDDLE):
        for dtype in ("int32", "float32", "float64"):
            for operation in _MASKED_OPERATIONS:
                yield Cell(operation, dtype, (size,), None, "masked")
    for dtype in ("int32", "float32", "float64"):
        for operation in _OPERATIONS:
            if dtype.startswith("float") or not operation.startswith("nan"):
                yield Cell(operation, dtype, (32, 32), 1, "keepdims")
    for layouts, shapes in _LAYOUTS.items():
        for layout, (shape, axes) in product(layouts, shapes.items()):
            for axis, dtype, operation in product(
                axes, ("float32", "float64"), _OPERATIONS_OF_LAYOUTS
            ):
                yield Cell(operation, dtype, shape, axis, layout=layout)
    for shape, of_truths in _SHAPES_OF_TRUTHS.items():
        for axis, operation in product(of_truths, _OPERATIONS_ON_TRUTHS):
            yield Cell(operation, "bool", shape, axis)
    yield from _cells_of_options()


def _cells_of_options() -> Iterator[Cell]:
    for (option, operations), dtype in product(_OPTIONS.items(), ("int32", "float32")):
        for operation, square in product(operations, _SQUARES):
            flat = (math.prod(square),)
            if option != "out" and "mask" not in option:
                yield Cell(operation, dtype, flat, None, option)
            yield from (Cell(operation, dtype, square, axis, option) for axis in (0, 1))
    for shape, dtype in product(((_SMALL,), (_IN_CACHE,), (32, 32)), ("int64", "float64")):
        for operation in ("sum", "max"):
            yield Cell(operation, dtype, shape, 0 if len(shape) > 1 else None, "a list")
    for operation, square, axis in product(_BOTH, (_SQUARES[0], _SQUARES[-1]), (None, 0, 1)):
        yield Cell(operation, "float32", square, axis, layout="edges cut off")


def drawn(count: int, seed: int) -> Iterator[Cell]:
    """Yield cells that nobody chose: 2^11 to 2^22 numbers of one to four sides, laid anyhow."""
    rng = np.random.default_rng(seed)
    operations = [one for one in _OPERATIONS if not one.startswith(("nan", "l"))]
    layouts = ("", "", "", "in Fortran order", "edges cut off", "every second")
    for _ in range(count):
        shares = rng.random(rng.integers(1, 5))
        sides = 2 ** (shares / shares.sum() * rng.uniform(11, 22))
        shape = tuple(max(round(side), 1) for side in sides.tolist())
        operation = str(rng.choice(operations))
        most = min(2 if operation != "argmax" else 1, len(shape) - 1)
        axes = rng.choice(len(shape), rng.integers(0, most + 1), replace=False).tolist()
        axis = tuple(sorted(axes)) if len(axes) > 1 else axes[0] if axes else None
        yield Cell(
            operation, str(rng.choice(_DTYPES)), shape, axis, layout=str(rng.choice(layouts))
        )


@cache
def bottleneck() -> Any:
    """Return the library, None where it is not installed."""
    try:
        return importlib.import_module("bottleneck")
    except ImportError:
        return None


@cache
def _drawn(dtype: str, size: int) -> NDArray[Any]:
    """Return integers of both signs, or floats of one: the peers' sums of others are rough."""
    rng = np.random.default_rng(4)
    if dtype == "bool":
        return rng.random(size) < 0.5
    if dtype.startswith("float"):
        return (1 + rng.random(size, np.float32)).astype(dtype)
    return rng.integers(-100, 100, size, dtype)


def _numbers(cell: Cell) -> NDArray[Any]:
    values = _drawn(cell.dtype, math.prod(cell.shape)).reshape(cell.shape)
    # A truth is settled by the first element that decides; a product is not to overflow.
    if cell.operation in {"any", "all", "prod"}:
        return np.full_like(values, cell.operation != "any")
    if cell.operation == "ptp" and cell.dtype == "int8":
        # A range that int8 cannot hold is refused.
        return values // 2
    if cell.operation.startswith("nan"):
        values = values.copy()
        # No side is a multiple of 11: no row has only NaNs.
        values.reshape(-1)[::11] = np.nan
    return values


def _laid(values: NDArray[Any], layout: str) -> NDArray[Any]:
    """Return the same numbers as they lie in a part of a larger array, or in another order."""
    if layout == "in Fortran order":
        return np.asfortranarray(values)
    shape, dtype = values.shape, values.dtype
    if layout == "a column of 8":
        laid = np.empty((*shape, 8), dtype)[..., 3]
    elif layout.startswith("columns of "):
        columns = int(layout.removeprefix("columns of "))
        laid = np.empty((*shape[:-1], columns), dtype)[..., 2 : 2 + shape[-1]]
    elif layout == "every second":
        laid = np.empty((*shape[:-1], 2 * shape[-1]), dtype)[..., ::2]
    else:
        whole = np.empty([n + 2 for n in shape], dtype)
        laid = whole[(slice(1, -1),) * len(shape)]
    laid[...] = values
    return laid


def tasks(cell: Cell) -> dict[str, Task]:
    """Return our call, under "ours", and those of its peers."""
    values = _numbers(cell)
    values = _laid(values, cell.layout) if cell.layout else values
    mask = _mask(cell)
    return {"ours": _ours(cell, values, mask), **_peers(cell, values, mask)}


def _ours(cell: Cell, values: NDArray[Any], mask: NDArray[np.bool_] | None) -> Task:
    """Return our call of a cell."""
    operations = cell.of_both
    asked = operations[0] if len(operations) == 1 else tuple(operations)
    options = _options(cell, mask)
    if cell.option == "out":
        outs = _outs(cell, values)
        options["out"] = outs[0] if len(outs) == 1 else tuple(outs)
    given = values.tolist() if cell.option == "a list" else values
    return partial(wl.reduce, given, asked, axis=cell.axis, **options)


def _options(cell: Cell, mask: NDArray[np.bool_] | None) -> dict[str, Any]:
    """Return the options that ours and NumPy's functions call alike."""
    options: dict[str, Any] = {} if mask is None else {"where": mask}
    if cell.option == "keepdims":
        options["keepdims"] = True
    if cell.option == "into":
        options["dtype"] = "int32" if cell.dtype == "int32" else "float64"
    if cell.option.endswith("from 1"):
        options["initial"] = 1
    return options


def _outs(cell: Cell, values: NDArray[Any]) -> list[NDArray[Any]]:
    """Return an array for the results of each operation."""
    return [np.empty_like(getattr(np, one)(values, axis=cell.axis)) for one in cell.of_both]


def _mask(cell: Cell) -> NDArray[np.bool_] | None:
    if "masked" not in cell.option:
        return None
    shape = cell.shape[1:] if cell.option == "masked by a row" else cell.shape
    return np.random.default_rng(6).random(shape) < 0.5


def _peers(cell: Cell, values: NDArray[Any], mask: NDArray[np.bool_] | None) -> dict[str, Task]:
    operation, axis = cell.operation, cell.axis
    norms = {"l1": partial(np.linalg.norm, ord=1), "l2": np.linalg.norm}
    functions: list[Any] = [norms.get(one) or getattr(np, one) for one in cell.of_both]
    function, options = functions[0], _options(cell, mask)
    if cell.option == "masked":
        peers: dict[str, Task] = {}
        if axis is None:
            peers["values[mask]"] = lambda: function(values[mask])
            if operation == "max":
                options["initial"] = values[mask].min()
        if operation != "l2":
            peers["where="] = partial(function, values, axis=axis, **options)
        return peers
    if cell.option == "out" or len(functions) > 1:
        outs = _outs(cell, values) if cell.option == "out" else [None] * len(functions)
        pairs = list(zip(functions, outs, strict=True))
        return {"numpy": lambda: [each(values, axis=axis, out=out) for each, out in pairs]}
    given = values.tolist() if cell.option == "a list" else values
    peers = {"numpy": partial(function, given, axis=axis, **options)}
    if (
        bottleneck() is not None
        and not (cell.option or isinstance(axis, tuple))
        and operation in _OF_BOTTLENECK
        and cell.dtype not in {"int8", "bool"}
    ):
        name = _OF_BOTTLENECK[operation]
        peers["bottleneck"] = partial(getattr(bottleneck(), name), values, axis=axis)
    return peers
