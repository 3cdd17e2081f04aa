"""Two rungs on one problem: their kernels, and the counters in which they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from difflib import SequenceMatcher
from math import inf

from warpladder.lab.devices import Simulated
from warpladder.lab.explain import Counted, Listing, count_lines, size_to_explain
from warpladder.lab.verify import PredictionResult, refuse_beyond
from warpladder.rung import Ladder, Rung
from warpladder.simulator.checks.counters import Counters

__all__ = ["Change", "Difference", "KernelDifference", "Side", "compare"]


@dataclass(frozen=True, slots=True)
class Change:
    """A counter that two rungs, or two of their kernels, do not have alike."""

    counter: str
    before: float
    after: float

    @property
    def ratio(self) -> float | None:
        """How many times the first value the second one is; None of nothing."""
        return self.after / self.before if self.before else None


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two rungs, with its ladder and with what was counted."""

    ladder: Ladder
    rung: Rung
    counted: Counted

    @property
    def listings(self) -> tuple[Listing, ...]:
        """Its kernels, and the lines elsewhere that they executed."""
        return (*self.counted.kernels, *self.counted.elsewhere)

    @property
    def path(self) -> str:
        """``LADDER/RUNG``."""
        return f"{self.ladder.name}/{self.rung.name}"


@dataclass(frozen=True, slots=True)
class KernelDifference:
    """A kernel of each rung that do the same part of the work, or one that has no counterpart."""

    before: Listing | None
    after: Listing | None

    @property
    def changes(self) -> list[Change]:
        """The counters that differ; none where there is nothing to compare with."""
        if self.before is None or self.after is None:
            return []
        return changes(self.before.counters, self.after.counters)


@dataclass(frozen=True, slots=True)
class Difference:
    """What one rung does otherwise than another.

    Attributes
    ----------
    n
        The size of the problem that both solved.
    before, after
        The other rung, and the one that is looked at.
    kernels
        Theirs, as far as they correspond.
    claims
        What the second rung predicts of itself and the first at this size.
    """

    n: int
    before: Side
    after: Side
    kernels: tuple[KernelDifference, ...]
    claims: tuple[PredictionResult, ...]

    @property
    def changes(self) -> list[Change]:
        """The counters of all launches that differ."""
        return changes(self.before.counted.total, self.after.counted.total)

    @property
    def unlike_lines(self) -> tuple[set[tuple[str, int]], set[tuple[str, int]]]:
        """The lines of each that the other does not have: by file and number."""
        sides = [
            [
                (listing.file, line.number, line.text.strip())
                for listing in side.listings
                for line in listing.lines
            ]
            for side in (self.before, self.after)
        ]
        old, new = ([text for *_, text in side] for side in sides)
        matcher = SequenceMatcher(None, old, new, autojunk=False)
        alike: tuple[set[int], set[int]] = (set(), set())
        for first, second, length in matcher.get_matching_blocks():
            alike[0].update(range(first, first + length))
            alike[1].update(range(second, second + length))
        before, after = (
            {
                (file, number)
                for place, (file, number, text) in enumerate(side)
                if text and place not in same
            }
            for side, same in zip(sides, alike, strict=True)
        )
        return before, after


def changes(before: Counters, after: Counters) -> list[Change]:
    """Return the sums and the ratios that differ, the sums first.

    Examples
    --------
    >>> changes(Counters(barriers=4, launches=1), Counters(barriers=2, launches=1))
    [Change(counter='barriers', before=4, after=2)]
    """
    names = [field.name for field in fields(Counters)]
    names += [name for name, kind in vars(Counters).items() if isinstance(kind, property)]
    every = [Change(name, getattr(before, name), getattr(after, name)) for name in names]
    return [change for change in every if change.before != change.after]


def compare(
    after: tuple[Ladder, Rung],
    before: tuple[Ladder, Rung],
    device_factory: Callable[..., Simulated],
    n: int | None = None,
) -> Difference:
    """Run two rungs on a problem of one size and return in what they differ.

    Parameters
    ----------
    after, before
        The rung that is looked at, and the one that it is compared with; each with its ladder.
    device_factory
        Makes simulated devices; takes the keywords ``schedule`` and ``checks``.
    n
        Problem size; by default that at which the first rung predicts how it compares with the
        second, or else at which `explain` shows it, and at most what both can take.

    Raises
    ------
    InputError
        ``n`` is more than one of them takes.
    """
    most = min(inf if rung.max_n is None else rung.max_n for _, rung in (after, before))
    if n is not None:
        for _, rung in (after, before):
            refuse_beyond(rung, n)
    size = int(min(_size(after, before), most)) if n is None else n
    first, second = (Side(*one, count_lines(*one, device_factory, size)) for one in (before, after))
    kernels = tuple(_pairs(first.counted.kernels, second.counted.kernels))
    return Difference(size, first, second, kernels, tuple(_claims(first, second, size)))


def _size(after: tuple[Ladder, Rung], before: tuple[Ladder, Rung]) -> int:
    names = _names_of(before, after[0])
    claims = [claim for claim in after[1].predicts if claim.than in names]
    return claims[0].n if claims else size_to_explain(*after)


def _names_of(rung: tuple[Ladder, Rung], ladder: Ladder) -> set[str]:
    """Return what predictions of rungs of ``ladder`` call a rung; its own ladder may be another."""
    short = {rung[1].name} if rung[0].name == ladder.name else set()
    return {f"{rung[0].name}/{rung[1].name}", *short}


def _pairs(before: tuple[Listing, ...], after: tuple[Listing, ...]) -> Iterable[KernelDifference]:
    """Yield kernels of the same name together; the others too, where as many are left of each."""
    named = {kernel.name: kernel for kernel in before}
    common = [kernel.name for kernel in after if kernel.name in named]
    left = [kernel for kernel in before if kernel.name not in common]
    right = [kernel for kernel in after if kernel.name not in common]
    partners: dict[str, Listing] = {name: named[name] for name in common}
    if len(left) == len(right):
        partners |= {new.name: old for new, old in zip(right, left, strict=True)}
    else:
        yield from (KernelDifference(kernel, None) for kernel in left)
    for kernel in after:
        yield KernelDifference(partners.get(kernel.name), kernel)


def _claims(before: Side, after: Side, n: int) -> Iterable[PredictionResult]:
    names = _names_of((before.ladder, before.rung), after.ladder)
    for claim in after.rung.predicts:
        if claim.than in names and claim.n == n:
            counted, base = (
                float(getattr(side.counted.total, claim.counter)) for side in (after, before)
            )
            yield PredictionResult(claim, counted, base)
