"""Rates: log-log fits with honest intervals, paired slope differences, rate laws, and the size of a study."""

from moestat.rates.design import Design, power
from moestat.rates.laws import LawComparison, compare_laws
from moestat.rates.loglog import Difference, Estimate, RateFit, difference, fit, mean_interval, replicate_slopes

__all__ = [
    "Design",
    "Difference",
    "Estimate",
    "LawComparison",
    "RateFit",
    "compare_laws",
    "difference",
    "fit",
    "mean_interval",
    "power",
    "replicate_slopes",
]
