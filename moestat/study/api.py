"""``moestat.run`` and ``moestat.load`` under their former import path; see :mod:`moestat.api`."""

from moestat.api import load, run

__all__ = ["load", "run"]
