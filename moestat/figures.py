"""Figures from a dataset, in a notebook say: log-log rates, lines over any axis, heat maps.

>>> import moestat.figures
>>> ds = moestat.load("sigmoid_vs_softmax")  # doctest: +SKIP
>>> moestat.figures.rates(ds, "L3", reference="fisher_L3")  # doctest: +SKIP
"""

from moestat.report.figures import FigureError, heatmap, lines, rates
from moestat.report.style import look, save

__all__ = ["FigureError", "heatmap", "lines", "look", "rates", "save"]
