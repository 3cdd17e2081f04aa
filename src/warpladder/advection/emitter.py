"""The arithmetic of a step as LLVM's: for numbers, or for vectors of them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from llvmlite import ir

from warpladder.advection.forms import LIMITERS
from warpladder.device.llvm import LANE, call_outside, everywhere, vector_at

__all__ = ["Emitter"]


class Emitter:
    """Emits a step for numbers, or for vectors of them."""

    def __init__(self, context: Any, builder: Any, dtype: Any, lanes: int | None) -> None:
        self.builder = builder
        self.element = context.get_value_type(dtype)
        self.lanes = lanes
        self.kind = self.element if lanes is None else ir.VectorType(self.element, lanes)
        self.align = dtype.bitwidth // 8
        self.suffix = f"f{dtype.bitwidth}" if lanes is None else f"v{lanes}f{dtype.bitwidth}"

    @property
    def zero(self) -> Any:
        """Zero, in every lane."""
        return self.constant(0.0)

    def constant(self, value: float) -> Any:
        """Return a number, in every lane."""
        if self.lanes is None:
            return ir.Constant(self.kind, value)
        return ir.Constant(self.kind, [value] * self.lanes)

    def all(self, value: Any) -> Any:
        """Return a vector of one value in every lane."""
        return everywhere(self.builder, value, self.kind.count)

    def load(self, data: Any, index: Any) -> Any:
        """Return what an array has from an element on."""
        return self.builder.load(vector_at(self.builder, data, index, self.kind), align=self.align)

    def store(self, value: Any, data: Any, index: Any) -> None:
        """Put it there."""
        place = vector_at(self.builder, data, index, self.kind)
        self.builder.store(value, place, align=self.align)

    def call(self, name: str, *args: Any) -> Any:
        """Return what a function of LLVM's own makes of vectors of this kind."""
        return call_outside(self.builder, f"llvm.{name}.{self.suffix}", self.kind, *args)

    def traded(self, vectors: list[Any], apart: int) -> list[Any]:
        """Return vectors of which those so far apart have traded the lanes that are, too."""
        count = len(vectors)
        stay = [k if not k & apart else count + k - apart for k in range(count)]
        move = [k + apart if not k & apart else count + k for k in range(count)]
        kind = ir.VectorType(LANE, count)
        new = list(vectors)
        for k in range(count):
            if not k & apart:
                pair = vectors[k], vectors[k + apart]
                new[k] = self.builder.shuffle_vector(*pair, ir.Constant(kind, stay))
                new[k + apart] = self.builder.shuffle_vector(*pair, ir.Constant(kind, move))
        return new

    def combined(self, weights: list[Any], window: list[Any]) -> Any:
        """Return the sum of `forms`: one product, then a fused multiply-add a neighbour."""
        value = self.builder.fmul(weights[0], window[0])
        for weight, cell in zip(weights[1:], window[1:], strict=True):
            value = self.call("fma", weight, cell, value)
        return value

    def stencil(
        self, places: list[int], weights: list[Any], known: list[Any], cell: Any
    ) -> tuple[list[Any], Any]:
        """Return what is kept, and what comes out, when one more vector of cells goes in."""
        window = [*known, cell]
        return window[1:], self.combined(weights, [window[place] for place in places])

    def limited(
        self, limiter: str, weights: list[Any], known: list[Any], cell: Any
    ) -> tuple[list[Any], Any]:
        """Return the same for a scheme with a limiter; each slope is worked out once."""
        here, difference, slope = known
        ahead = self.builder.fsub(cell, here)
        next_slope = self.slope(limiter, difference, ahead)
        value = self.moved(weights, here, difference, slope, next_slope)
        return [cell, ahead, next_slope], value

    def limited_cell(self, limiter: str, weights: list[Any], read: list[Any]) -> Any:
        """Return a new value from the cell and its neighbours."""
        differences = [self.builder.fsub(b, a) for a, b in pairwise(read)]
        slopes = [self.slope(limiter, a, b) for a, b in pairwise(differences)]
        return self.moved(weights, read[-2], differences[1], *slopes)

    def moved(self, weights: list[Any], here: Any, upwind: Any, before: Any, behind: Any) -> Any:
        """Return what becomes of a cell, from its upwind difference and the slopes around it."""
        courant, correction = (self.builder.fneg(weight) for weight in weights)
        value = self.call("fma", courant, upwind, here)
        return self.call("fma", correction, self.builder.fsub(behind, before), value)

    def slope(self, limiter: str, a: Any, b: Any) -> Any:
        """Return what a limiter makes of two differences, as `limiters` says."""
        limiters = self.minmod, self.superbee, self.van_leer, self.mc
        return limiters[LIMITERS.index(limiter)](a, b)

    def minmod(self, a: Any, b: Any) -> Any:
        """Return the nearer to zero, or zero where signs differ."""
        builder = self.builder
        above, below = self._signs(a, b)
        low = builder.select(builder.fcmp_ordered("<", a, b), a, b)
        high = builder.select(builder.fcmp_ordered(">", a, b), a, b)
        return builder.select(above, low, builder.select(below, high, self.zero))

    def superbee(self, a: Any, b: Any) -> Any:
        """Return the farther from zero of two minmods, each with one difference doubled."""
        builder = self.builder
        one = self.minmod(builder.fadd(a, a), b)
        other = self.minmod(a, builder.fadd(b, b))
        larger = builder.fcmp_ordered(">", self.call("fabs", one), self.call("fabs", other))
        return builder.select(larger, one, other)

    def van_leer(self, a: Any, b: Any) -> Any:
        """Return the harmonic mean, or zero where signs differ."""
        builder = self.builder
        above, below = self._signs(a, b)
        share = builder.fdiv(b, builder.fadd(a, b))
        value = builder.fmul(builder.fadd(a, a), share)
        return builder.select(builder.or_(above, below), value, self.zero)

    def mc(self, a: Any, b: Any) -> Any:
        """Return the mean, or a doubled difference that is nearer to zero."""
        builder = self.builder
        steep = self.minmod(builder.fadd(a, a), builder.fadd(b, b))
        return self.minmod(steep, builder.fmul(builder.fadd(a, b), self.constant(0.5)))

    def _signs(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Return where both are above zero, and where both are below."""
        builder = self.builder
        return tuple(
            builder.and_(*(builder.fcmp_ordered(sign, one, self.zero) for one in (a, b)))
            for sign in "><"
        )
