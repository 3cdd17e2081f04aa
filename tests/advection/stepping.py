"""An independent oracle: every step in exact fractions, rounded where the formula says so."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite

import numpy as np

WEIGHTS = {
    "lax-friedrichs": lambda c: {-1: (1 + c) / 2, 1: (1 - c) / 2},
    "upwind": lambda c: {-1: c, 0: 1 - c},
    "lax-wendroff": lambda c: {-1: c * (c + 1) / 2, 0: 1 - c**2, 1: c * (c - 1) / 2},
    "beam-warming": lambda c: {-2: c * (c - 1) / 2, -1: c * (2 - c), 0: 1 + c * (c - 3) / 2},
    "fromm": lambda c: {
        -2: c * (c - 1) / 4,
        -1: c * (5 - c) / 4,
        0: 1 - c * (c + 3) / 4,
        1: c * (c - 1) / 4,
    },
}
ONE_SIDED = ("upwind", "beam-warming", "fromm")


def rounded(exact, kind):
    """Return the float of a type that is nearest to a fraction, of two the even one."""
    near = kind(float(exact))
    if not isfinite(near):
        return near
    candidates = (np.nextafter(near, kind(-np.inf)), near, np.nextafter(near, kind(np.inf)))

    def distance(one):
        bits = int(np.array(one).view(f"u{np.dtype(kind).itemsize}"))
        return abs(Fraction(float(one)) - exact), bits & 1

    return min((one for one in candidates if isfinite(one)), key=distance)


def fma(a, b, c, kind):
    return rounded(Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c)), kind)


def minmod(a, b):
    return (min(abs(a), abs(b)) if a > 0 else -min(abs(a), abs(b))) if a * b > 0 else type(a)(0)


def maxmod(a, b):
    return a if abs(a) > abs(b) else b


SLOPES = {
    "minmod": minmod,
    "superbee": lambda a, b: maxmod(minmod(2 * a, b), minmod(a, 2 * b)),
    "van-leer": lambda a, b: 2 * a * (b / (a + b)) if a * b > 0 else type(a)(0),
    "mc": lambda a, b: minmod(minmod(2 * a, 2 * b), (a + b) / 2),
}


def ghost(phi, i, left, right):
    """Return what stands at a place; a side is "copy", "periodic" or a number."""
    n = len(phi)
    if 0 <= i < n:
        return phi[i]
    if left == "periodic":
        return phi[i % n]
    side, end = (left, 0) if i < 0 else (right, -1)
    return phi[end] if side == "copy" else phi.dtype.type(side)


def step(phi, c, scheme, left, right):
    """Return one system a step later; ``c`` is a fraction whose weights are floats exactly."""
    kind = phi.dtype.type
    mirrored = c < 0 and (scheme in ONE_SIDED or scheme in SLOPES)
    speed = abs(c) if mirrored else c
    new = np.empty_like(phi)
    for i in range(len(phi)):

        def at(offset, i=i):
            return ghost(phi, i - offset if mirrored else i + offset, left, right)

        if scheme in SLOPES:
            slope = SLOPES[scheme]
            far, near, here, then = (at(offset) for offset in (-2, -1, 0, 1))
            d0, d1, d2 = near - far, here - near, then - here
            carried = fma(-kind(float(speed)), d1, here, kind)
            k = kind(float(speed * (1 - speed) / 2))
            new[i] = fma(-k, slope(d1, d2) - slope(d0, d1), carried, kind)
            continue
        weights = WEIGHTS[scheme](Fraction(speed))
        terms = sorted((-o if mirrored else o, o) for o in weights)
        value = None
        for _, offset in terms:
            weight = kind(float(weights[offset]))
            assert Fraction(float(weight)) == weights[offset]
            value = (
                rounded(Fraction(float(weight)) * Fraction(float(at(offset))), kind)
                if value is None
                else fma(weight, at(offset), value, kind)
            )
        new[i] = value
    return new


def steps(phi, c, scheme, left, right, count):
    for _ in range(count):
        phi = step(phi, c, scheme, left, right)
    return phi
