"""Gates, experts and truths: values, derivatives, samplers; ``sample`` is :func:`moestat.models.truths.sample`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moestat.models.truths import sample as sample


def __getattr__(name: str) -> Any:
    if name != "sample":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from moestat.models import truths

    return truths.sample
