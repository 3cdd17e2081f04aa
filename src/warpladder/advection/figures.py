"""Pictures of runs, by matplotlib (extra ``plot``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import InputError
from warpladder.formats.atomic import atomic_path
from warpladder.formats.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.figure import Figure

__all__ = ["animated", "drawn", "save_animation"]

_LOOKS: dict[str, dict[str, Any]] = {
    "initial": {"color": "#999999", "linewidth": 1.1},
    "exact": {"color": "#444444", "linewidth": 1.1, "linestyle": "--", "zorder": 3},
    "computed": {"color": "#c8553d", "linewidth": 1.6},
}
# More points than a picture has columns; of each bin the lowest and the highest are drawn.
_BINS = 2048
_MILLISECONDS = 60


def drawn(x: NDArray[np.float64], curves: Mapping[str, NDArray[Any]], title: str) -> Figure:
    """Return a figure of curves over x, by the names ``initial``, ``exact`` and ``computed``."""
    figure = new_figure(7.2, 4.2)
    axes = figure.add_subplot()
    for name, values in curves.items():
        axes.plot(*_thinned(x, values), label=name, **_LOOKS[name])
    axes.set(xlabel="x", ylabel="phi")
    axes.set_title(title, fontsize=10)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def animated(
    x: NDArray[np.float64], snapshots: Any, times: Sequence[float], title: str
) -> FuncAnimation:
    """Return an animation of snapshots, (times, cells)."""
    figure = drawn(x, {"computed": np.asarray(snapshots[0])}, title)
    from matplotlib.animation import FuncAnimation
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    (axes,) = figure.axes
    (line,) = axes.lines
    finite = (one[np.isfinite(one)] for one in map(np.asarray, snapshots))
    extremes = [(float(one.min()), float(one.max())) for one in finite if one.size] or [(0.0, 0.0)]
    low, high = min(extremes)[0], max(high for _, high in extremes)
    slack = 0.05 * (high - low) or 0.5
    axes.set_ylim(low - slack, high + slack)

    def show(number: int) -> list[Any]:
        line.set_data(*_thinned(x, np.asarray(snapshots[number])))
        axes.set_title(f"{title}, t = {times[number]:.4g}", fontsize=10)
        return [line]

    return FuncAnimation(figure, show, len(times), interval=_MILLISECONDS)


def save_animation(animation: FuncAnimation, path: Path) -> None:
    """Write an animation: ``.gif`` by Pillow, any other as matplotlib finds a writer for it."""
    writer = "pillow" if path.suffix.lower() == ".gif" else None
    with atomic_path(path, path.suffix) as temporary:
        try:
            animation.save(str(temporary), writer=writer)
        except (OSError, ValueError) as fault:
            raise InputError(
                f"cannot write {path}: {fault}; .gif needs no other program"
            ) from fault


def _thinned(x: NDArray[np.float64], values: NDArray[Any]) -> tuple[Any, Any]:
    """Return so few points that a picture of them is the same."""
    per_bin = len(x) // _BINS
    if per_bin < 4:
        return x, values
    end = len(x) // per_bin * per_bin
    bins = values[:end].reshape(-1, per_bin)
    both = np.stack((bins.argmin(axis=1), bins.argmax(axis=1)), axis=1)
    places = (np.sort(both, axis=1) + np.arange(0, end, per_bin)[:, None]).ravel()
    if end < len(x):
        last = values[end:]
        places = np.append(places, end + np.sort((last.argmin(), last.argmax())))
    return x[places], values[places]
