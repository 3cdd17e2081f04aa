"""Hold the simulator against a GPU: the same kernels on both, results and counters side by side.

    PYTHONPATH=src python benchmarks/validate_simulator.py --out DIR

It runs every rung of every ladder and the kernels of `micro_kernels` on the simulated GPU
and on a real one and compares the results; reads the hardware's counters of the same launches with
Nsight Compute, where there is one; compares occupancy and limits with what the driver says; and
times the pipelines of the primer. All of it goes to ``validation_<gpu>.json``, as it comes in.

Then compute-sanitizer's four tools look at every rung and every wrong rung on the GPU. What they
find goes beside what the simulator's checks say to ``sanitizer_<gpu>.json``, and as a table to
``sanitizer_<gpu>.md``. By itself, in 95 seconds with 16 cores:

    PYTHONPATH=src python benchmarks/validate_simulator.py --only sanitizer --out DIR

Every part is a process of its own with a time limit: what fails or does not fit is recorded, and
the rest goes on. Needs NumPy, Numba and numba-cuda.

``--dry`` takes a second simulated device for the GPU, for Nsight Compute a file of the same form
with the simulator's numbers, and for compute-sanitizer the simulator's checks: it exercises
everything but the hardware.

Exit status: 0 where all results are the same or differ for a reason on record, nothing is found in
a right rung and every wrong one is caught; 1 where any is not or could not be compared, 2 where
there is no GPU. Steps skipped for want of time, and counters that disagree, are listed and do not
count.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path
from time import monotonic

# A part is started by path, from whatever folder.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from validation.common import Entry, Request, write_whole
from validation.launches import profile_child
from validation.parts import GROUPS, PARTS, run_group, run_part
from validation.report import compose, layout, print_report, succeeded
from validation.sanitizer import sanitized_child
from validation.sanitizer_report import table


def main(arguments: list[str] | None = None) -> int:
    """Validate; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path())
    parser.add_argument("--dry", action="store_true", help="no GPU: two simulated devices")
    parser.add_argument(
        "--only", nargs="*", choices=PARTS, help="these parts, beside that of the machine"
    )
    parser.add_argument("--seconds", type=float, default=480, help="stop after this time")
    for internal in ("--part", "--profile-child"):
        parser.add_argument(internal, help=argparse.SUPPRESS)
    parser.add_argument("--sanitized-child", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--state", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    request = Request(given.out.resolve(), given.dry)
    if given.profile_child:
        profile_child(given.profile_child, given.state, request)
        return 0
    if given.sanitized_child:
        tool, *paths = given.sanitized_child
        sanitized_child(tool, paths, given.state, request)
        return 0
    if given.part:
        return run_part(given.part, given.state, request)
    return _validate(request, set(given.only or PARTS) | {"machine"}, given.seconds)


def _validate(request: Request, parts: set[str], seconds: float) -> int:
    request.out.mkdir(parents=True, exist_ok=True)
    found: dict[str, Entry] = {}
    began = monotonic()
    with tempfile.TemporaryDirectory(prefix="validate-") as folder:
        for group in GROUPS:
            chosen = [part for part in group if part in parts]
            if not chosen:
                continue
            print(f"--- {', '.join(chosen)} ({monotonic() - began:.0f} s)", flush=True)
            found |= run_group(chosen, Path(folder), request, began + seconds)
            document = compose(found, dry=request.dry, seconds=monotonic() - began)
            gpu = document["machine"].get("gpu", {}).get("name", "")
            if not gpu:
                _write(request.out, "validation", "unknown", document)
                print("no GPU to validate against")
                return 2
            name = re.sub(r"[^a-z0-9]+", "-", gpu.lower()).strip("-")
            # Documents of their own: each is of use without the other, and is made anew without it.
            whole, sanitized = _parted(document)
            if parts - {"machine", "sanitizer"}:
                _write(request.out, "validation", name, whole)
            if "sanitizer" in sanitized:
                _write(request.out, "sanitizer", name, sanitized)
                path = request.out / f"sanitizer_{name}.md"
                write_whole(path, "\n".join(table(sanitized)) + "\n")
    print_report(document)
    return int(not succeeded(document, parts))


def _parted(document: Entry) -> tuple[Entry, Entry]:
    """Return what goes to the file of the validation, and what to that of compute-sanitizer."""
    whole = {key: value for key, value in document.items() if key != "sanitizer"}
    common = {"dry", "seconds", "machine", "sanitizer"}
    return whole, {key: value for key, value in document.items() if key in common}


def _write(folder: Path, what: str, name: str, document: Entry) -> None:
    path = folder / f"{what}_{name}.json"
    write_whole(path, layout(document) + "\n")
    print(f"wrote {path} ({path.stat().st_size / 1024:.0f} KiB) after {document['seconds']} s")


if __name__ == "__main__":
    sys.exit(main())
