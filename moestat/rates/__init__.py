"""Rates: log-log fits with honest intervals, paired slope differences, rate laws, and the size of a study."""

from typing import TYPE_CHECKING, Any

from moestat.rates.design import Design, chance, deciding, paired_seeds, plan, power
from moestat.rates.difference import Difference, difference
from moestat.rates.estimate import Cases, Estimate, mean_interval, replicate_slopes
from moestat.rates.laws import Law, LawComparison, compare_laws
from moestat.rates.loglog import RateFit, fit
from moestat.rates.verdict import Verdict

if TYPE_CHECKING:
    from moestat.rates.tables import Table, table

__all__ = [
    "Cases",
    "Design",
    "Difference",
    "Estimate",
    "Law",
    "LawComparison",
    "RateFit",
    "Table",
    "Verdict",
    "chance",
    "compare_laws",
    "deciding",
    "difference",
    "fit",
    "mean_interval",
    "paired_seeds",
    "plan",
    "power",
    "replicate_slopes",
    "table",
]


def __getattr__(name: str) -> Any:
    """Import tables, and with them pandas, when they are first used."""
    if name in ("Table", "table"):
        from moestat.rates import tables

        return getattr(tables, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
