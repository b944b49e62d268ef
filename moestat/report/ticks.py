"""Ticks of logarithmic axes: powers of ten, or plain numbers between them where an axis shows fewer than two."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axis import Axis
from matplotlib.ticker import Formatter, Locator, LogLocator, MaxNLocator, NullFormatter

from moestat.rounding import number

PER_INCH, DECADES = 17, 6
"""Characters of a tick's size on an inch; labelled powers of ten on an axis, at most."""


class Places(Locator):
    """Powers of ten if there are two, else 1, 2 and 5 times these if that makes three, else any round numbers."""

    def __call__(self) -> Any:
        """Return the ticks of the axis as it is now."""
        return self.tick_values(*self.axis.get_view_interval())  # type: ignore[union-attr]

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the ticks between two ends.

        >>> Places().tick_values(30.0, 2e4).tolist(), Places().tick_values(300.0, 4200.0).tolist()
        ([100.0, 1000.0, 10000.0], [500.0, 1000.0, 2000.0])
        """
        low, high = sorted((max(vmin, 1e-300), max(vmax, 1e-300)))
        powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
        for digits in ((1,), (1, 2, 5)):
            ticks = np.array([digit * 10.0**power for power in powers for digit in digits])
            inside = ticks[(ticks >= low * (1 - 1e-9)) & (ticks <= high * (1 + 1e-9))]
            if len(inside) > len(digits) // 2 + 1:
                return inside[:: -(-len(inside) // DECADES)]
        ticks = np.asarray(MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(low, high))
        return ticks[(ticks >= low) & (ticks <= high)]


class Labels(Formatter):
    """Powers of ten as such, if there are no other ticks; else plain numbers, as far as they are short."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of one tick."""
        return self.format_ticks([x])[0]

    def format_ticks(self, values: Any) -> list[str]:
        """Return the labels of all ticks."""
        values = np.asarray(values, dtype=float)
        powers = np.floor(np.log10(values) + 1e-9)
        if np.allclose(values, 10.0**powers, rtol=1e-6):
            return [f"$10^{{{power:.0f}}}$".replace("-", "\N{MINUS SIGN}") for power in powers]
        if values.min() >= 1e-3 and values.max() < 1e6:
            return [number(value) for value in values]
        heads = map(number, values / 10.0**powers)
        texts = [f"${head} \\times 10^{{{power:.0f}}}$" for head, power in zip(heads, powers, strict=True)]
        return [text.replace("-", "\N{MINUS SIGN}") for text in texts]


def logarithmic(axis: Axis, places: Any = ()) -> None:
    """Set the ticks of a logarithmic axis.

    ``places`` are the values along it: where they span less than two decades and their names fit, they are the ticks.
    """
    axes, at = axis.axes, np.array(sorted(places), dtype=float)
    low, high = axis.get_view_interval()
    if 1 < len(at) <= 8 and at[0] > 0 and at[-1] < 100 * at[0] and 0 < low < high:
        width = axes.get_window_extent().width / axes.get_figure(root=True).dpi * PER_INCH  # type: ignore[union-attr]
        names = [number(place) for place in at]
        apart = np.diff(np.log(at)) / np.log(high / low) * width
        if all(gap > (len(a) + len(b)) / 2 + 1 for gap, a, b in zip(apart, names, names[1:], strict=False)):
            axis.set_ticks(at, names)
            axis.set_ticks([], minor=True)
            return
    axis.set_major_locator(Places())
    axis.set_major_formatter(Labels())
    axis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
    axis.set_minor_formatter(NullFormatter())
