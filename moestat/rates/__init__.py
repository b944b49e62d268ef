"""Rates: log-log fits with honest intervals, paired slope differences, rate laws, and the size of a study."""

from moestat.rates.design import Design, chance, deciding, paired_seeds, power
from moestat.rates.difference import Difference, difference
from moestat.rates.estimate import Cases, Estimate, mean_interval, replicate_slopes
from moestat.rates.laws import LawComparison, compare_laws
from moestat.rates.loglog import RateFit, fit

__all__ = [
    "Cases",
    "Design",
    "Difference",
    "Estimate",
    "LawComparison",
    "RateFit",
    "chance",
    "compare_laws",
    "deciding",
    "difference",
    "fit",
    "mean_interval",
    "paired_seeds",
    "power",
    "replicate_slopes",
]
