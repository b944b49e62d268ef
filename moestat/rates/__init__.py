"""Rates: log-log fits with honest intervals, paired slope differences, rate laws, and the size of a study."""

from moestat.rates.design import Design, chance, deciding, paired_seeds, plan, power
from moestat.rates.difference import Difference, difference
from moestat.rates.estimate import Cases, Estimate, mean_interval, replicate_slopes
from moestat.rates.laws import Law, LawComparison, compare_laws
from moestat.rates.loglog import RateFit, fit
from moestat.rates.table import Table, table
from moestat.rates.verdict import Verdict

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
