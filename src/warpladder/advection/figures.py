"""Pictures of runs, by matplotlib (extra ``plot``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import InputError, MissingExtraError
from warpladder.formats.atomic import atomic_write, check_writable

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.figure import Figure

__all__ = ["animated", "check_picture", "drawn", "save_animation", "save_figure"]

_KINDS = (".png", ".svg", ".pdf")
_LOOKS: dict[str, dict[str, Any]] = {
    "initial": {"color": "#999999", "linewidth": 1.1},
    "exact": {"color": "#444444", "linewidth": 1.1, "linestyle": "--", "zorder": 3},
    "computed": {"color": "#c8553d", "linewidth": 1.6},
}
# More points than a picture has columns; of each bin the lowest and the highest are drawn.
_BINS = 2048
_MILLISECONDS = 60


def check_picture(path: Path) -> None:
    """Raise now what `save_figure` would raise after a run.

    Raises
    ------
    InputError
        The name does not end in ``.png``, ``.svg`` or ``.pdf``, or the file cannot be written.
    MissingExtraError
        matplotlib is not installed.
    """
    if path.suffix.lower() not in _KINDS:
        raise InputError(f"cannot draw {path}: its name must end in one of {', '.join(_KINDS)}")
    check_writable(path)
    _figure()


def drawn(x: NDArray[np.float64], curves: Mapping[str, NDArray[Any]], title: str) -> Figure:
    """Return a figure of curves over x, by the names ``initial``, ``exact`` and ``computed``."""
    figure: Figure = _figure()(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for name, values in curves.items():
        axes.plot(*_thinned(x, values), label=name, **_LOOKS[name])
    axes.set(xlabel="x", ylabel="phi")
    axes.set_title(title, fontsize=10)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure, whole or not at all."""
    check_picture(path)
    with atomic_write(path) as file:
        figure.savefig(file, format=path.suffix.lower().lstrip("."), dpi=130)


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
    low = min(float(np.nanmin(one)) for one in snapshots)
    high = max(float(np.nanmax(one)) for one in snapshots)
    slack = 0.05 * (high - low) or 0.5
    axes.set_ylim(low - slack, high + slack)

    def show(number: int) -> list[Any]:
        line.set_data(*_thinned(x, np.asarray(snapshots[number])))
        axes.set_title(f"{title}, t = {times[number]:.4g}", fontsize=10)
        return [line]

    return FuncAnimation(figure, show, len(times), interval=_MILLISECONDS)


def save_animation(animation: FuncAnimation, path: Path) -> None:
    """Write an animation: ``.gif`` by Pillow, any other as matplotlib finds a writer for it."""
    check_writable(path)
    writer = "pillow" if path.suffix.lower() == ".gif" else None
    try:
        animation.save(str(path), writer=writer)
    except (OSError, ValueError) as fault:
        raise InputError(f"cannot write {path}: {fault}; .gif needs no other program") from fault


def _thinned(x: NDArray[np.float64], values: NDArray[Any]) -> tuple[Any, Any]:
    """Return so few points that a picture of them is the same."""
    per_bin = len(x) // _BINS
    if per_bin < 4:
        return x, values
    end = len(x) // per_bin * per_bin
    bins = values[:end].reshape(-1, per_bin)
    both = np.stack((bins.argmin(axis=1), bins.argmax(axis=1)), axis=1)
    places = (np.sort(both, axis=1) + np.arange(0, end, per_bin)[:, None]).ravel()
    return x[places], values[places]


def _figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as fault:
        raise MissingExtraError("a plot", "matplotlib", "plot") from fault
    return Figure
