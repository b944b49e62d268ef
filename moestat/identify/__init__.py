"""A numerical check of the identifiability of an expert, and the differential equations that break it."""

from moestat.identify.check import identify
from moestat.identify.relations import Family, Identification, Relation
from moestat.identify.table import table

__all__ = ["Family", "Identification", "Relation", "identify", "table"]
