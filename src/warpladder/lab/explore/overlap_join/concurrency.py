"""Copies and kernels at the same time, and kernels beside kernels.

IM describes three ways to bring data in, work on them and bring them out: all of it one after the
other; in chunks, with each download beside the next kernel; and in chunks of which the uploads
overlap, too. They need streams other than the default one and page-locked memory. Two kernels
overlap only where the first has so few blocks that there are places left. The ways are the rungs of
the primer; the model beside them knows three engines, for uploads, kernels and downloads, each of
which takes its chunks in order.

Expect, where the three take equally long: in c chunks two ways take (2 + 1 / c) / 3 of the time of
one, three ways (1 + 2 / c) / 3. Where the kernel takes ten times as long as a copy there is little
to hide: 11/12 and 10/12 at the best, which is how IM can say that concurrency is there and not
seen. On the default stream chunks gain nothing, and from pageable memory little, since the driver
copies such memory by itself first. Two kernels of b blocks take one wave together where 2 * b
blocks have places, and two where they have not. Places are the least that it takes: where the first
kernel leaves multiprocessors idle the second one is for nothing, and where both keep the same ones
busy each slows the other down.

Source: IM concurrency
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.device.occupancy import occupancy
from warpladder.device.properties import properties_of
from warpladder.errors import DeviceError
from warpladder.lab.explore.exploration import (
    Column,
    Exploration,
    Findings,
    Panel,
    Series,
    Setting,
    Table,
)
from warpladder.lab.explore.measure import Spread, in_turn, unsteady, wall_seconds
from warpladder.lab.gpu_timing import CopyWatch
from warpladder.lab.registry import find_rung
from warpladder.lab.verify import count, run
from warpladder.primer.launching import THREADS
from warpladder.primer.scramble import scrambled
from warpladder.primer.tasks import SCRAMBLE

__all__ = ["EXPLORATION", "modelled"]

_ONE_WAY, _TWO_WAY, _THREE_WAY = _WAYS = (
    "pipeline-serial",
    "pipeline-two-way",
    "pipeline-three-way",
)
_PAGEABLE, _DEFAULT_STREAM = f"{_THREE_WAY}, pageable", f"{_THREE_WAY}, default stream"
_CHUNKS = (1, 2, 4, 8, 16, 32)
#: Times of upload, kernel and download, by what is told of them.
_SLOW_KERNEL = "kernel 10 times a copy"
_BALANCES = {"equal": (1.0, 1.0, 1.0), _SLOW_KERNEL: (1.0, 10.0, 1.0)}
#: Blocks of each of two kernels, as parts of the places that the GPU has for them.
_PARTS_OF_PLACES = (1 / 16, 1 / 4, 1 / 2, 1.0, 2.0, 8.0)
#: How often each of two kernels repeats its work, so that launching them takes no time beside it.
_REPEATS = 1024


def modelled(way: int, chunks: int, upload: float, kernel: float, download: float) -> float:
    """Return how long a pipeline takes whose engines each do their chunks in order.

    Parameters
    ----------
    way
        1: one after the other; 2: downloads beside kernels; 3: uploads too.
    chunks
        Into how many equal ones the data are cut.
    upload, kernel, download
        Times for all of the data.

    Examples
    --------
    >>> [modelled(way, 4, 1.0, 1.0, 1.0) for way in (1, 2, 3)]
    [3.0, 2.25, 1.5]
    """
    if way == 1:
        return upload + kernel + download
    arrived = computed = home = 0.0
    for _ in range(chunks):
        arrived = upload if way == 2 else arrived + upload / chunks
        computed = max(arrived, computed) + kernel / chunks
        home = max(computed, home) + download / chunks
    return home


def _run(setting: Setting) -> Findings:
    ways = tuple(
        _counted(name, n)
        for name, n in setting.watch(
            [(name, n) for n in setting.sizes for name in _WAYS],
            lambda job: f"counting {job[0]}, n = {job[1]}",
            lambda job: job[1],
        )
    )
    places = _places(setting)
    blocks = [max(1, int(part * places)) for part in _PARTS_OF_PLACES]
    model = tuple(
        {
            "balance": balance,
            "chunks": chunks,
            **{str(way): modelled(way, chunks, *times) / sum(times) for way in (1, 2, 3)},
        }
        for balance, times in _BALANCES.items()
        for chunks in _CHUNKS
    )
    waves = tuple(_waves(number, places) for number in blocks)
    copies = {n: _time_ways(setting.gpu, n) for n in setting.gpu_sizes} if setting.gpu else {}
    beside = {number: _time_kernels(setting.gpu, number) for number in blocks if setting.gpu}
    return Findings(
        (
            Table(
                "the three ways, counted",
                (
                    Column("way", "way", "text"),
                    Column("n", "n", "count"),
                    Column("launches", "launches", "count"),
                    Column("sectors", "sectors loaded", "count"),
                ),
                ways,
            ),
            Table(
                "the three ways, modelled: time as part of the first way's",
                (
                    Column("balance", "upload, kernel, download", "text"),
                    Column("chunks", "chunks", "count"),
                    *(Column(str(way), f"{way}-way") for way in (1, 2, 3)),
                ),
                model,
            ),
            Table(
                f"waves of two kernels of so many blocks, on places for {places:,}",
                (
                    Column("blocks", "blocks each", "count"),
                    Column("behind", "one behind the other", "count"),
                    Column("beside", "side by side", "count"),
                ),
                waves,
            ),
            *_time_tables(copies, beside),
        ),
        _answer(waves, copies, beside),
        (_panel(model),),
        _remarks(setting, copies, beside),
    )


# ---- counted and modelled --------------------------------------------------------------------


def _counted(name: str, n: int) -> dict[str, Any]:
    from warpladder.simulator import SimulatedDevice

    counters = count(find_rung(f"primer/{name}")[1], SimulatedDevice(checks=False), n)
    return {
        "way": name,
        "n": n,
        "launches": counters.launches,
        "sectors": counters.global_load_sectors,
    }


def _places(setting: Setting) -> int:
    """Return how many blocks the GPU, or one like an H200, has places for at a time."""
    gpu = properties_of((9, 0)) if setting.gpu is None else setting.gpu.properties
    return gpu.multiprocessors * occupancy(gpu, THREADS).blocks_per_multiprocessor


def _waves(blocks: int, places: int) -> dict[str, Any]:
    return {
        "blocks": blocks,
        "behind": 2 * blocks_for(blocks, places),
        "beside": blocks_for(2 * blocks, places),
    }


# ---- timed -----------------------------------------------------------------------------------


class _Without:
    """Hands everything on to a GPU, but for streams or page-locked memory."""

    def __init__(self, gpu: Any, *, streams: bool = True, pinned: bool = True) -> None:
        self._gpu, self._streams, self._pinned = gpu, streams, pinned

    def __getattr__(self, name: str) -> Any:
        return getattr(self._gpu, name)

    def pinned(self, shape: Any, dtype: Any) -> Any:
        if self._pinned:
            return self._gpu.pinned(shape, dtype)
        # Touched, so that no copy has to wait for pages.
        return np.full(shape, 1, dtype)

    def to_device(self, *args: Any, stream: Any = None) -> Any:
        return self._gpu.to_device(*args, stream=self._kept(stream))

    def to_host(self, *args: Any, stream: Any = None, **options: Any) -> Any:
        return self._gpu.to_host(*args, stream=self._kept(stream), **options)

    def launch(self, *args: Any, stream: Any = None, **options: Any) -> None:
        self._gpu.launch(*args, stream=self._kept(stream), **options)

    def _kept(self, stream: Any) -> Any:
        return stream if self._streams else None


def _time_ways(gpu: Any, n: int) -> dict[str, Spread]:
    """Time each way from the first copy to the last, and three ways without what they need.

    Raises
    ------
    DeviceError
        A way leaves other words, so that its time means nothing.
    """
    problem = SCRAMBLE.make(n, 0)
    devices = {name: (name, gpu) for name in _WAYS}
    devices[_PAGEABLE] = (_THREE_WAY, _Without(gpu, pinned=False))
    devices[_DEFAULT_STREAM] = (_THREE_WAY, _Without(gpu, streams=False))
    rungs = {name: find_rung(f"primer/{rung}")[1] for name, (rung, _) in devices.items()}
    answers = {name: run(rungs[name], devices[name][1], problem) for name in devices}
    for name, words in answers.items():
        if not np.array_equal(words, answers[_ONE_WAY]):
            raise DeviceError(f"{name} and {_ONE_WAY} leave other words at n = {n}")

    def seconds(name: str) -> float:
        watch = CopyWatch(devices[name][1])
        run(rungs[name], watch, problem)
        return watch.seconds()

    return in_turn({name: partial(seconds, name) for name in devices})


@cuda.jit
def scramble_often(words: Any, repeats: int) -> None:
    """Scramble one word so often."""
    i = cuda.grid(1)
    word = words[i]
    for _ in range(repeats):
        word = scrambled(word)
    words[i] = word


def _time_kernels(gpu: Any, blocks: int) -> dict[str, Spread]:
    """Time two kernels on one stream and on two."""
    streams = gpu.stream(), gpu.stream()
    words = [gpu.full(blocks * THREADS, 1, np.uint32) for _ in streams]

    def both(chosen: tuple[Any, Any]) -> None:
        for array, stream in zip(words, chosen, strict=True):
            gpu.launch(scramble_often, blocks, THREADS, array, _REPEATS, stream=stream)
        gpu.synchronize()

    both(streams)  # compiles
    return in_turn(
        {
            "behind": partial(wall_seconds, partial(both, (streams[0], streams[0]))),
            "beside": partial(wall_seconds, partial(both, streams)),
        }
    )


# ---- told ------------------------------------------------------------------------------------


def _time_tables(
    copies: dict[int, dict[str, Spread]], beside: dict[int, dict[str, Spread]]
) -> tuple[Table, ...]:
    if not copies:
        return ()
    ways = Table(
        "from the first copy to the last on the GPU, medians",
        (Column("way", "way", "text"), *(Column(str(n), f"n = {n}", "seconds") for n in copies)),
        tuple(
            {"way": name, **{str(n): copies[n][name].median for n in copies}}
            for name in next(iter(copies.values()))
        ),
    )
    kernels = Table(
        "two kernels on the GPU, medians",
        (
            Column("blocks", "blocks each", "count"),
            Column("behind", "on one stream", "seconds"),
            Column("beside", "on two", "seconds"),
        ),
        tuple(
            {"blocks": blocks, **{name: spread.median for name, spread in spreads.items()}}
            for blocks, spreads in beside.items()
        ),
    )
    return ways, kernels


def _answer(
    waves: tuple[dict[str, Any], ...],
    copies: dict[int, dict[str, Spread]],
    beside: dict[int, dict[str, Spread]],
) -> tuple[str, ...]:
    two, three = (modelled(way, 8, *_BALANCES["equal"]) / 3 for way in (2, 3))
    slow = _BALANCES[_SLOW_KERNEL]
    hidden = modelled(3, 8, *slow) / sum(slow)
    few = max(row["blocks"] for row in waves if row["beside"] == 1)
    chunks = (
        f"By the model, 8 chunks leave {100 * two:.0f} % of the time in two ways and "
        f"{100 * three:.0f} % in three, if copies and kernels take equally long; with a kernel "
        f"that takes 10 times as long as a copy, three ways leave {100 * hidden:.0f} %. The work "
        "itself stays what it is: as many sectors, in 8 launches."
    )
    kernels = (
        f"Two kernels of up to {few:,} blocks each have places side by side; with more, the second "
        "waits for the first, stream or no stream."
    )
    said = [chunks, kernels]
    for n, spreads in copies.items():
        one = spreads[_ONE_WAY].median
        parts = ", ".join(
            f"{name} {spread.median / one:.2f}"
            for name, spread in spreads.items()
            if name != _ONE_WAY
        )
        said.append(f"On this GPU, at n = {n}, as part of the time of {_ONE_WAY}: {parts}.")
    if beside:
        parts = ", ".join(
            f"{spreads['beside'].median / spreads['behind'].median:.2f} with {blocks:,} blocks"
            for blocks, spreads in beside.items()
        )
        said.append(f"Two kernels on two streams, as part of their time on one: {parts}.")
    return tuple(said)


def _panel(model: tuple[dict[str, Any], ...]) -> Panel:
    return Panel(
        "Time in chunks, modelled",
        "chunks",
        "part of the time of one way",
        tuple(
            Series(
                f"{way}-way, {balance}",
                tuple(map(float, _CHUNKS)),
                tuple(row[str(way)] for row in model if row["balance"] == balance),
            )
            for balance in _BALANCES
            for way in (2, 3)
        ),
    )


def _remarks(
    setting: Setting,
    copies: dict[int, dict[str, Spread]],
    beside: dict[int, dict[str, Spread]],
) -> tuple[str, ...]:
    if setting.gpu is None:
        return (f"Copies and kernels are not timed: {setting.why_no_gpu}.",)
    ways = {f"{name} at n = {n}": one for n, found in copies.items() for name, one in found.items()}
    kernels = {
        f"two kernels of {blocks} blocks, one {name} the other": one
        for blocks, found in beside.items()
        for name, one in found.items()
    }
    return unsteady(ways | kernels)


EXPLORATION = Exploration(
    name="concurrency",
    question="When do copies and kernels, or two kernels, run side by side?",
    source="IM concurrency",
    run=_run,
    sizes=(2048,),
    largest=1 << 16,
    why_largest="the simulator does 128 steps to a number",
    rung=f"primer/{_THREE_WAY}",
    gpu_sizes=(1 << 24, 1 << 26),
)
