"""Simulation studies of convergence rates in mixture-of-experts models.

Importing the package is cheap: it loads neither torch nor CuPy, and what computes only when it is used.

>>> import moestat
>>> results = moestat.run("sigmoid_vs_softmax")  # doctest: +SKIP
>>> results = moestat.load("sigmoid_vs_softmax", preset="paper")  # doctest: +SKIP
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moestat.api import load, run

__version__ = "0.1.0"
__all__ = ["__version__", "load", "run"]


def __getattr__(name: str) -> Any:
    """Import ``run`` and ``load`` when they are first used."""
    if name in ("load", "run"):
        from moestat import api

        return getattr(api, name)
    raise AttributeError(f"module 'moestat' has no attribute {name!r}")
