"""What the entries along the own dimensions of results are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moestat.models import coordinates
from studies.demystifying_softmax.parts.softmax_gaussian import MODEL


def own(experiment: str, settings: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return dimension -> names of its entries in a cell of an experiment."""
    return {"coordinate": coordinates.names(MODEL)} if experiment == "softmax_gaussian" else {}
