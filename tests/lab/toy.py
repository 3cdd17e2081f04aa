"""Twice each number, in every way that is right, and wrong.

Idea: to this belongs a paragraph,
which is shown, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from fakes import FakeKernel
from numpy.typing import NDArray

from warpladder.rung import Bound, Ladder, Prediction, Ratio, Rung, Task, Work, WrongRung
from warpladder.simulator.checks.counters import Counters


@dataclass(frozen=True, slots=True)
class Numbers:
    x: NDArray
    n: int


def make(n, seed):
    return Numbers(np.random.default_rng(seed).random(n, dtype=np.float32) + 1, n)


TASK = Task(
    name="twice each number",
    make=make,
    oracle=lambda problem: problem.x * np.float32(2),
    work=lambda problem: Work(problem.n, 8 * problem.n),
    unit="additions",
    default_n=1000,
    sizes=(0, 1, 2, 33),
)


def double(y, x):
    # A line on which nothing is counted, long enough to be wider than what a narrow terminal has.
    y[...] = x + x


def loads(requests, sectors):
    return Counters(
        warp_instructions=2 * requests,
        thread_instructions=60 * requests,
        global_load_requests=requests,
        global_load_sectors=sectors,
        global_load_bytes=128 * requests,
    )


NEAR = FakeKernel(double, {2: loads(10, 40)})
FAR = FakeKernel(double, {2: loads(10, 320)})
RACY = FakeKernel(double, {2: loads(1, 4)}, fault="racecheck", wrong_under=("warps-reverse",))


def running(kernel):
    def run(device, problem):
        x = device.to_device(problem.x)
        y = device.empty(x.shape, x.dtype)
        device.launch(kernel, 1 + problem.n // 32, 32, y, x)
        return device.to_host(y)

    return run


def rung(name, run, **facts):
    defaults = {
        "title": f"{name} [as the title]",
        "source": "beyond",
        "task": TASK,
        "bound": Bound("dram", "8 n bytes"),
    }
    return Rung(name=name, run=run, **{**defaults, **facts})


def claim(value, relation="==", counter="global_load_sectors_per_request", **facts):
    return Prediction(counter, relation, value, n=33, why="It is so.", **facts)


PLAIN = rung("plain", lambda _device, problem: problem.x + problem.x, on="cpu")
STRIDED = rung("strided", running(FAR), kernels=(FAR,), predicts=(claim(32),))
NEIGHBOURS = rung(
    "neighbours",
    running(NEAR),
    kernels=(NEAR,),
    predicts=(claim(Ratio(1, 8), than="strided"), claim(4, "<=")),
    source="CF B",
    max_n=2000,
    limits="one block",
)
RACE = WrongRung(
    rung("race", running(RACY), kernels=(RACY,)),
    "racecheck",
    n=33,
    visible_under=("warps-reverse",),
)
LADDER = Ladder("toy", "Doubling [step by step]", (PLAIN, STRIDED, NEIGHBOURS), (RACE,))
BROKEN = Ladder(
    "broken",
    "Rungs that break their word",
    (
        rung(
            "liar",
            running(NEAR),
            kernels=(NEAR,),
            predicts=(claim(4), claim(1_234_567, counter="warp_instructions")),
        ),
        rung("off", running(FakeKernel(lambda y, x: np.copyto(y, x + x + np.float32(1e-6))))),
    ),
    (WrongRung(rung("harmless", running(NEAR), kernels=(NEAR,)), "memcheck", 33, ("warps",)),),
)


def install(gpu=False, put=setattr):
    """Put the toys in the place of the real ladders and devices."""
    from fakes import FakeGpu, FakeSimulator

    import warpladder.simulator
    from warpladder.lab import ceilings, devices, registry

    put(registry, "LADDERS", {"toy": "toy:LADDER", "broken": "toy:BROKEN"})
    put(warpladder.simulator, "SimulatedDevice", FakeSimulator)
    # 8000 bytes in a quarter of the 2 ms that a kernel takes.
    put(ceilings, "copy_bytes_per_second", lambda _device: 8000 / 5e-4)
    put(ceilings, "best_read", lambda _device: 1.0)
    real = devices.open_device

    def open_device(kind):
        if kind in {"cuda", "auto"}:
            return FakeGpu() if gpu else FakeSimulator()
        return real(kind)

    put(devices, "open_device", open_device)
