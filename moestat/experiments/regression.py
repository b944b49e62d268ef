"""The regression experiment under its former import path; see :mod:`moestat.papers.sigmoid_attention.regression`."""

from moestat.papers.sigmoid_attention.regression import DEVICES, Settings, prepare, prerequisites, run, target_of

__all__ = ["DEVICES", "Settings", "prepare", "prerequisites", "run", "target_of"]
