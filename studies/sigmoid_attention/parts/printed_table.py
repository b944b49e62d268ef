"""Printed differences and their errors: Table 2 of "sigmoid-attention" by arithmetic alone.

A cell is a pair of printed numbers. For accuracies the error is that of two shares of right answers among as many
questions as the public test set has, asked independently; the two models answered the same questions, so the error of
their difference is smaller if their answers go together, by how much the paper does not say. For the throughput it is
the root of the summed squares of the two printed errors.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field, model_validator
from scipy import stats

from moestat.experiment import SettingsModel
from moestat.replicates import Row, Streams, each

VERSION = 1

MOST_RUNS = 10_000  # beyond that many runs nobody would go


class Settings(SettingsModel):
    """Settings of a cell."""

    softmax: float = Field(description="as printed")
    sigmoid: float = Field(description="as printed")
    questions: list[int] = Field(
        [], description="of the test set; further numbers are other test sets that the column may belong to"
    )
    softmax_error: float = Field(0.0, ge=0, description="as printed, where it is")
    sigmoid_error: float = Field(0.0, ge=0, description="as printed, where it is")

    @model_validator(mode="after")
    def _one_error(self) -> Settings:
        if bool(self.questions) == bool(self.softmax_error and self.sigmoid_error):
            raise ValueError("give either questions, for accuracies in per cent, or both printed errors")
        return self


@each(finished="The arithmetic was done.", iterations=1)
def run(s: Settings, streams: Streams) -> Row:
    """Return a printed difference, its error and their ratio; every replicate is the same.

    Per replicate ``difference`` (sigmoid less softmax), ``error``, ``ratio``, the size of their quotient,
    ``ratio_elsewhere``, the largest with the sizes of all test sets that are given, and ``runs``, how many runs of each
    model would make the difference significant at 5 % if the printed errors are standard deviations over runs (NaN for
    accuracies).
    """
    difference, shares = s.sigmoid - s.softmax, (s.softmax, s.sigmoid)  # in per cent where there are questions
    errors = [float(np.sqrt(sum(p * (100.0 - p) for p in shares) / n)) for n in s.questions]
    errors = errors or [float(np.hypot(s.softmax_error, s.sigmoid_error))]
    return {
        "difference": difference,
        "error": errors[0],
        "ratio": abs(difference) / errors[0],
        "ratio_elsewhere": abs(difference) / min(errors),
        "runs": np.nan if s.questions else runs_needed(difference, s.softmax_error, s.sigmoid_error),
    }


def runs_needed(difference: float, first: float, second: float) -> float:
    """Return the least number of runs of each that makes Welch's two-sided test significant at 5 %."""
    for runs in range(2, MOST_RUNS):
        error = np.hypot(first, second) / np.sqrt(runs)
        freedom = (runs - 1) * (first**2 + second**2) ** 2 / (first**4 + second**4)
        if abs(difference) / error > stats.t.ppf(0.975, freedom):
            return float(runs)
    return float("inf")
