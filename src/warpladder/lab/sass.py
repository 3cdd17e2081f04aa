"""Where a kernel spends its instructions: the loops of its machine code, and what they issue.

A warp scheduler issues one instruction per clock, so each instruction of a loop costs a slot, and
the share of slots that do the work proper bounds how fast the loop can be. What is counted is the
code as it stands: every instruction once, also one that a branch passes over.

nvdisasm prints instructions, and labels where branches lead. Between labels and branches lie basic
blocks. A branch back to a block that is on every way to it closes a loop; the loop is all that lies
on the ways from there to the branch.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

__all__ = ["CLASSES", "Instruction", "Loop", "instruction_mix"]

#: What instructions do, by how their names begin; the first that fits.
_PREFIXES = {
    "global loads": ("LDG", "LD"),
    "global stores": ("STG", "ST"),
    "shared loads": ("LDS", "LDSM"),
    "shared stores": ("STS", "LDGSTS", "STAS"),
    "local loads": ("LDL",),
    "local stores": ("STL",),
    "atomics": ("ATOM", "ATOMG", "ATOMS", "RED", "REDG", "CCTL"),
    "control": (
        *("BRA", "BRX", "BREAK", "BSSY", "BSYNC", "BMOV", "CALL", "RET", "EXIT", "JMP", "UBRA"),
        *("WARPSYNC", "BAR", "BARRIER", "UCGABAR", "DEPBAR", "LDGDEPBAR", "MEMBAR", "ERRBAR"),
        *(
            "NOP",
            "YIELD",
            "NANOSLEEP",
            "BPT",
            "KILL",
            "FENCE",
            "SYNCS",
            "ACQBULK",
            "LEPC",
            "PREEXIT",
        ),
    ),
    "moves, constants": (
        *("MOV", "UMOV", "LDC", "LDCU", "ULDC", "S2R", "S2UR", "CS2R", "R2UR", "R2P", "P2R"),
        *("UP2UR", "UR2UP", "I2F", "F2I", "F2F", "I2I", "I2FP", "F2FP", "FRND", "I2IP", "CS2UR"),
        *("SHFL", "PRMT", "UPRMT", "SEL", "USEL"),
    ),
    "integers, addresses": (
        *("IADD", "IADD3", "UIADD3", "IADD64", "IMAD", "UIMAD", "LEA", "ULEA", "VIADD", "IABS"),
        *("SHF", "USHF", "SHL", "SHR", "LOP3", "ULOP3", "LOP", "BFE", "BFI", "SGXT", "USGXT"),
        *("ISETP", "UISETP", "PLOP3", "UPLOP3", "ISCADD", "XMAD", "POPC", "FLO", "UFLO", "BREV"),
        *("VOTE", "VOTEU", "MATCH", "BMSK", "UBMSK", "REDUX", "ELECT", "ICMP"),
    ),
}
_CLASS_OF = {name: kind for kind, names in _PREFIXES.items() for name in names}
#: What is none of these is arithmetic: floating-point numbers, minima, matrices.
_ARITHMETIC = "arithmetic"
#: In the order in which they are shown.
CLASSES = (_ARITHMETIC, *_PREFIXES)
#: Classes that are no work of the kernel, but what it takes to get there.
_OVERHEAD = ("control", "moves, constants", "integers, addresses")
_WIDTHS = {"U8": "8", "S8": "8", "U16": "16", "S16": "16", "64": "64", "128": "128", "256": "256"}
_WITH_WIDTH = tuple(kind for kind in _PREFIXES if kind.endswith(("loads", "stores")))

_SECTION = re.compile(r"\s*\.section\s+\.text\.(\S+?),")
_ENTRY = re.compile(r"\s*\.other\s+(\S+?),.*STO_CUDA_ENTRY")
_LABEL = re.compile(r"\s*([.$\w]+):\s*$")
_INSTRUCTION = re.compile(
    r"\s*/\*(?P<address>[0-9a-f]{4,})\*/\s+(?:@(?P<guard>!?U?P\w+)\s+)?"
    r"(?P<opcode>[A-Z][\w.]*)\s*(?P<operands>.*?)\s*;"
)
_TARGET = re.compile(r"`\(([.$\w]+)\)")
#: A branch on a predicate that stands among its operands.
_PREDICATE = re.compile(r"\bU?P\d")
_ZERO_TIMES_ZERO = re.compile(r", -?RZ, -?RZ, ")
_LEAVES = ("EXIT", "RET", "KILL")
_BRANCHES = ("BRA", "BRX", "JMP", "JMX", "UBRA")


class Instruction(NamedTuple):
    """One instruction.

    Attributes
    ----------
    address
        In bytes from the start of the function.
    opcode
        With all its modifiers: ``LDG.E.128``.
    operands
        As printed.
    guard
        Predicate under which it is executed, or empty.
    """

    address: int
    opcode: str
    operands: str
    guard: str = ""

    @property
    def base(self) -> str:
        """The opcode without modifiers.

        Examples
        --------
        >>> Instruction(0, "FSETP.GT.AND", "P0, PT, R0, R1, PT").base
        'FSETP'
        """
        return self.opcode.partition(".")[0]

    @property
    def kind(self) -> str:
        """Which of `CLASSES` it is of.

        Examples
        --------
        >>> Instruction(0, "IMAD.MOV.U32", "R1, RZ, RZ, R2").kind
        'moves, constants'
        >>> Instruction(0, "VIADDMNMX", "R1, R2, R3, R1, PT").kind
        'arithmetic'
        """
        # What adds to a product of zeros is a move, for a unit that would otherwise idle.
        if self.base in {"IMAD", "HFMA2"} and _ZERO_TIMES_ZERO.search(self.operands):
            return "moves, constants"
        return _CLASS_OF.get(self.base, _ARITHMETIC)

    @property
    def name(self) -> str:
        """The base; for loads and stores with the bits that each thread moves.

        Examples
        --------
        >>> Instruction(0, "LDG.E.128", "R4, [R2]").name
        'LDG.128'
        >>> Instruction(0, "STS", "[R2], R4").name
        'STS.32'
        """
        if self.kind not in _WITH_WIDTH:
            return self.base
        widths = (_WIDTHS[part] for part in self.opcode.split(".")[1:] if part in _WIDTHS)
        return f"{self.base}.{next(widths, '32')}"


@dataclass(frozen=True)
class Loop:
    """The instructions of a loop, those of loops inside it too.

    Attributes
    ----------
    instructions
        In the order in which they stand.
    depth
        1 for a loop in no other; 0 for all of a kernel that has no loop.
    innermost
        Whether there is no loop inside it.
    """

    instructions: tuple[Instruction, ...]
    depth: int
    innermost: bool = True

    @cached_property
    def names(self) -> Counter[str]:
        """How many instructions there are by `Instruction.name`."""
        return Counter(one.name for one in self.instructions)

    @cached_property
    def classes(self) -> dict[str, Counter[str]]:
        """The same by class, in the order of `CLASSES`; classes without instructions are left out.

        Examples
        --------
        >>> loop = Loop((Instruction(0, "FADD", ""), Instruction(16, "LDS.64", "")), depth=1)
        >>> loop.classes
        {'arithmetic': Counter({'FADD': 1}), 'shared loads': Counter({'LDS.64': 1})}
        """
        found: dict[str, Counter[str]] = {}
        for one in self.instructions:
            found.setdefault(one.kind, Counter())[one.name] += 1
        return {kind: found[kind] for kind in CLASSES if kind in found}

    @property
    def work(self) -> int:
        """How many instructions compute or move data; the others get the loop there."""
        overhead = sum(self.classes[kind].total() for kind in _OVERHEAD if kind in self.classes)
        return len(self.instructions) - overhead

    def share(self, bases: Collection[str]) -> float:
        """Return the fraction of issue slots that go to instructions of these bases.

        Examples
        --------
        >>> loop = Loop((Instruction(0, "FADD", ""), Instruction(16, "LDS.64", "")), depth=1)
        >>> loop.share({"FADD", "FMNMX"})
        0.5
        """
        matching = sum(one.base in bases for one in self.instructions)
        return matching / len(self.instructions) if self.instructions else 0.0


def instruction_mix(sass: str) -> list[Loop]:
    """Return the loops of a kernel, the hottest first.

    The hottest is taken to be the innermost loop with the most work in it: what the kernel is
    written for is unrolled. A kernel without loops counts as one, of depth 0.

    Parameters
    ----------
    sass
        A kernel as ``nvdisasm -c`` prints it.

    Examples
    --------
    >>> loops = instruction_mix('''
    ...     /*0000*/      MOV R0, RZ ;
    ... .L_x_0:
    ...     /*0010*/      FADD R1, R1, R2 ;
    ...     /*0020*/      IADD3 R0, R0, 0x1, RZ ;
    ...     /*0030*/  @P0 BRA `(.L_x_0) ;
    ...     /*0040*/      EXIT ;
    ... ''')
    >>> [(loop.depth, loop.work, len(loop.instructions)) for loop in loops]
    [(1, 1, 3)]
    """
    blocks = _blocks(sass)
    bodies = _natural_loops(blocks)
    if not bodies:
        return [Loop(_instructions(blocks, range(len(blocks))), depth=0)]
    loops = [
        Loop(
            _instructions(blocks, sorted(body)),
            depth=sum(body <= other for other in bodies),
            innermost=not any(other < body for other in bodies),
        )
        for body in bodies
    ]
    return sorted(loops, key=lambda loop: (not loop.innermost, -loop.work, -len(loop.instructions)))


@dataclass(slots=True)
class _Block:
    """Instructions that are entered at the first and left after the last."""

    labels: set[str] = field(default_factory=set)
    instructions: list[Instruction] = field(default_factory=list)
    #: Whether a thread can come from the block before.
    follows: bool = False
    #: Whether it begins a kernel.
    entry: bool = False
    successors: set[int] = field(default_factory=set)


def _instructions(blocks: list[_Block], chosen: Iterable[int]) -> tuple[Instruction, ...]:
    return tuple(one for number in chosen for one in blocks[number].instructions)


def _blocks(sass: str) -> list[_Block]:
    """Return the basic blocks that a thread can come to, with what follows each."""
    blocks = [_Block(entry=True)]
    entries: set[str] = set()

    def start(*, follows: bool) -> None:
        if blocks[-1].instructions:
            blocks.append(_Block(follows=follows))

    for line in sass.splitlines():
        if found := _SECTION.match(line):
            start(follows=False)
            blocks[-1].entry = False
            blocks[-1].labels.add(found[1])
        elif found := _ENTRY.match(line):
            entries.add(found[1])
        elif found := _LABEL.match(line):
            start(follows=True)
            blocks[-1].labels.add(found[1])
        elif found := _INSTRUCTION.match(line):
            one = Instruction(
                int(found["address"], 16), found["opcode"], found["operands"], found["guard"] or ""
            )
            blocks[-1].instructions.append(one)
            if one.base in (*_LEAVES, *_BRANCHES, "CALL"):
                start(follows=not _always_leaves(one))
    for block in blocks:
        block.entry = block.entry or bool(block.labels & entries)
    return _connected(blocks)


def _always_leaves(one: Instruction) -> bool:
    """Whether no thread goes on behind this branch or exit."""
    if one.guard or one.base == "CALL":
        return False
    # BRA.DIV and BRA.CONV branch if threads have gone separate ways, BRA.U and others on a
    # predicate among the operands.
    divergent = any(part in one.opcode.split(".") for part in ("DIV", "CONV"))
    return not (divergent or _PREDICATE.search(one.operands.partition("`")[0]))


def _connected(blocks: list[_Block]) -> list[_Block]:
    place = {label: number for number, block in enumerate(blocks) for label in block.labels}
    for number, block in enumerate(blocks):
        for label in _TARGET.findall(block.instructions[-1].operands if block.instructions else ""):
            last = block.instructions[-1].base
            if label in place and last in (*_BRANCHES, "CALL"):
                block.successors.add(place[label])
        if number + 1 < len(blocks) and blocks[number + 1].follows:
            block.successors.add(number + 1)
    reached: set[int] = set()
    waiting = [number for number, block in enumerate(blocks) if block.entry]
    while waiting:
        number = waiting.pop()
        if number not in reached:
            reached.add(number)
            waiting.extend(blocks[number].successors)
    renumbered = {old: new for new, old in enumerate(sorted(reached))}
    kept = [blocks[old] for old in renumbered]
    for block in kept:
        block.successors = {renumbered[old] for old in block.successors}
    return kept


def _natural_loops(blocks: list[_Block]) -> list[frozenset[int]]:
    """Return the blocks of each loop; branches back to the same block are one loop."""
    before: list[set[int]] = [set() for _ in blocks]
    for number, block in enumerate(blocks):
        for other in block.successors:
            before[other].add(number)
    dominators = _dominators(blocks, before)
    bodies: dict[int, set[int]] = {}
    for number, block in enumerate(blocks):
        for head in block.successors & dominators[number]:
            body = bodies.setdefault(head, {head})
            waiting = [number]
            while waiting:
                inside = waiting.pop()
                if inside not in body:
                    body.add(inside)
                    waiting.extend(before[inside])
    return [frozenset(body) for body in bodies.values()]


def _dominators(blocks: list[_Block], before: list[set[int]]) -> list[set[int]]:
    """Return for each block those that are on every way to it, itself among them."""
    everything = set(range(len(blocks)))
    found = [{n} if block.entry else set(everything) for n, block in enumerate(blocks)]
    changed = True
    while changed:
        changed = False
        for number, block in enumerate(blocks):
            if block.entry:
                continue
            ways = [found[other] for other in before[number]]
            new = {number} | set.intersection(*ways)
            if new != found[number]:
                found[number], changed = new, True
    return found
