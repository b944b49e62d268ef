"""The contract of an experiment under its former import path; see :mod:`moestat.experiment`."""

from moestat.experiment import Cell, SettingsModel

__all__ = ["Cell", "SettingsModel"]
