"""The architecture, asserted from the code's imports: one direction, no circles, short files."""

from __future__ import annotations

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "warpladder"
MOST_LINES = 400

# From the ground up. What stands on one line may not import each other, but for `BETWEEN`.
FLOORS = (
    ("errors", "version", "rung", "flags"),
    ("device", "formats"),
    ("simulator",),
    ("call",),
    ("advection", "overlap_join", "primer", "reduction", "shortest_paths"),
    ("lab",),
    ("cli",),
    # The face of the package: it names the verbs, which are imported when they are asked for.
    ("__init__",),
    ("__main__",),
)
# `primer` is a ladder without a call; `call` says where a call runs, which a simulated device may.
# Compiled code that reads files is kept like any other (`device.kernel_cache`).
BETWEEN = {("errors", "version"), ("flags", "errors"), ("formats", "device")}


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


MODULES = {module_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imported_by(path: Path) -> set[str]:
    """Return the modules of the package that a file imports, wherever in it the import stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            found |= _named(name)
    return found


def _named(name: str) -> set[str]:
    """Return the module that a dotted name stands for, or the one that it is a name of."""
    if name.partition(".")[0] != "warpladder":
        return set()
    inner = name.removeprefix("warpladder").removeprefix(".")
    for candidate in (inner, inner.rpartition(".")[0]):
        if candidate in MODULES:
            return {candidate}
    return {"__init__"}


@cache
def imports() -> dict[str, set[str]]:
    """Return what each module imports; not found out by every process that collects the tests."""
    return {module: imported_by(path) - {module} for module, path in MODULES.items()}


def floor_of(module: str) -> int:
    room = module.partition(".")[0]
    return next(number for number, rooms in enumerate(FLOORS) if room in rooms)


def test_every_file_has_a_floor():
    for module in MODULES:
        assert floor_of(module) >= 0


def test_no_file_imports_from_a_higher_floor_or_a_neighbour():
    wrong = []
    for module, others in imports().items():
        room, floor = module.partition(".")[0], floor_of(module)
        for other in sorted(others):
            other_room = other.partition(".")[0]
            is_below = other_room == room or floor_of(other) < floor
            if not is_below and (room, other_room) not in BETWEEN:
                wrong.append(f"{module} imports {other}")
    assert not wrong


def test_no_circle_between_files():
    try:
        TopologicalSorter(imports()).prepare()
    except CycleError as fault:
        pytest.fail(" -> ".join(fault.args[1]))


def test_files_fit_in_one_sitting():
    lines = {
        module: len(path.read_text(encoding="utf-8").splitlines())
        for module, path in MODULES.items()
    }
    assert {module: count for module, count in lines.items() if count > MOST_LINES} == {}
