"""What the entries along the own dimensions of results are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moestat.models import coordinates
from studies.sigmoid_attention.parts.regression_problem import Settings


def own(experiment: str, settings: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return dimension -> names of its entries in a cell of an experiment."""
    if experiment != "regression":
        return {}
    return {"coordinate": coordinates.names(Settings(**settings).problem.fitted)}
