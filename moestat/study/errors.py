"""What users catch, under its former import path; see :mod:`moestat.errors`."""

from moestat.errors import InputError, StaleError, UserError

__all__ = ["InputError", "StaleError", "UserError"]
