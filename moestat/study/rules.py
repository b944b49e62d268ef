"""What a claim is judged by: an estimate from the results, and the region in which it supports the claim.

>>> slope("L3", "sigmoid-relu").within(-0.6, -0.4, predicted=-0.5)
{'kind': 'slope', 'variable': 'L3', 'arm': 'sigmoid-relu', 'within': [-0.6, -0.4], 'predicted': -0.5}
"""

from __future__ import annotations

from typing import Any


class Rule(dict[str, Any]):
    """The keys of a claim that say how it is judged; see :class:`moestat.study.spec.Claim`."""

    def within(self, low: float, high: float, *, predicted: str | float = "") -> Rule:
        """Supported in [low, high]; ``predicted`` is what the paper says, as printed in the table."""
        return self._with(predicted, within=[low, high])

    def equivalent(self, limit: float, *, predicted: str | float = "") -> Rule:
        """Supported by a difference of at most ``limit``, either way."""
        return self._with(predicted, equivalent=limit)

    def at_most(self, limit: float, *, predicted: str | float = "") -> Rule:
        """Supported up to ``limit``."""
        return self._with(predicted, at_most=limit)

    def at_least(self, limit: float, *, predicted: str | float = "") -> Rule:
        """Supported from ``limit``."""
        return self._with(predicted, at_least=limit)

    def _with(self, predicted: str | float, **region: Any) -> Rule:
        return Rule(self, **region, **({"predicted": predicted} if predicted != "" else {}))


def slope(variable: str, arm: str, **where: Any) -> Rule:
    """Estimate the slope of a loss on log axes; with ``versus``, its difference to that of another arm or variable.

    ``where`` are ``over`` (the axis, n by default), ``window``, ``at`` and ``versus``, ``versus_variable``,
    ``versus_at``.
    """
    kind = "slope_difference" if any(key.startswith("versus") for key in where) else "slope"
    return Rule(kind=kind, variable=variable, arm=arm, **where)


def mean(variable: str, arm: str, **where: Any) -> Rule:
    """Estimate a mean over the replicates, ``at`` coordinates."""
    return Rule(kind="mean", variable=variable, arm=arm, **where)


def difference(variable: str, arm: str, **where: Any) -> Rule:
    """Estimate the difference of two means, paired by replicate: to ``versus``, ``versus_variable``, ``versus_at``."""
    return Rule(kind="difference", variable=variable, arm=arm, **where)


def log_ratio(variable: str, arm: str, **where: Any) -> Rule:
    """Estimate the logarithm of the ratio of two means, as :func:`difference` their difference."""
    return Rule(kind="log_ratio", variable=variable, arm=arm, **where)


def function(path: str, variable: str = "", arm: str = "", **where: Any) -> Rule:
    """Estimate by a function, ``"package.module:callable"``; its own keyword arguments are ``options=dict(...)``."""
    named = {key: value for key, value in (("variable", variable), ("arm", arm)) if value}
    return Rule(kind="function", function=path, **named, **where)


def other_draws_gave(verdict: str) -> str:
    """Return what had been seen, as ``hindsight`` tells it, of a rule that got new draws after it was written."""
    return f"The rule was written after a run on other draws, in which it gave: {verdict}."
