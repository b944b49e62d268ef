"""Rates: log-log fits with honest intervals, paired slope differences, rate laws, and the size of a study."""

from moestat.rates.design import Design, chance, deciding, power
from moestat.rates.difference import Difference, difference
from moestat.rates.estimate import Cases, Estimate, mean_interval, replicate_slopes
from moestat.rates.laws import LawComparison, compare_laws
from moestat.rates.loglog import RateFit, fit
from moestat.rates.paired_design import PairedDesign, paired_seeds, plan_pairs

__all__ = [
    "Cases",
    "Design",
    "Difference",
    "Estimate",
    "LawComparison",
    "PairedDesign",
    "RateFit",
    "chance",
    "compare_laws",
    "deciding",
    "difference",
    "fit",
    "mean_interval",
    "paired_seeds",
    "plan_pairs",
    "power",
    "replicate_slopes",
]
