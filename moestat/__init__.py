"""Simulation studies of convergence rates in mixture-of-experts models.

Importing the package is cheap: it loads neither torch nor CuPy, and what computes only when it is used.

>>> import moestat
>>> results = moestat.run("sigmoid_vs_softmax")  # doctest: +SKIP
>>> results = moestat.load("sigmoid_vs_softmax", preset="paper")  # doctest: +SKIP
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moestat import figures, fit, identify, losses, models, own, rates
    from moestat.api import load, run
    from moestat.models.general import Model
    from moestat.report.tables import tidy
    from moestat.study.builder import Study
    from moestat.study.rates import rate_study

__version__ = "0.1.0"
FUNCTIONS = {
    "Model": "moestat.models.general",
    "load": "moestat.api",
    "rate_study": "moestat.study.rates",
    "run": "moestat.api",
    "Study": "moestat.study.builder",
    "tidy": "moestat.report.tables",
}
MODULES = ("figures", "fit", "identify", "losses", "models", "own", "rates")
__all__ = [
    "Model",
    "Study",
    "__version__",
    "figures",
    "fit",
    "identify",
    "load",
    "losses",
    "models",
    "own",
    "rate_study",
    "rates",
    "run",
    "tidy",
]


def __getattr__(name: str) -> Any:
    """Import a function or a module of the library when it is first used."""
    import importlib

    if name in FUNCTIONS:
        return getattr(importlib.import_module(FUNCTIONS[name]), name)
    if name in MODULES:
        return importlib.import_module(f"moestat.{name}")
    raise AttributeError(f"module 'moestat' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__doc__", "__file__", "__name__", "__path__"])
