"""The gates and experts that have a name, as functions of atoms: for models whose other half is a function."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from moestat.models import experts, gates
from moestat.models.gates import Score


@dataclass(frozen=True)
class NamedGate:
    """One of the gates with a name, as a function of atoms."""

    name: str
    score: Score

    def __call__(self, x: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Return the weights (n, N)."""
        return np.asarray(gates.gate_values(self.name, parameters @ gates.score_features(x, self.score)).T)

    def __str__(self) -> str:
        return f"'{self.name}'"


@dataclass(frozen=True)
class NamedExpert:
    """One of the experts with a name, as a function of atoms."""

    name: str
    power: int

    def __call__(self, x: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Return the outputs (n, N)."""
        h = x @ parameters[:, :-1].T + parameters[:, -1]
        return np.asarray(experts.activation(self.name, h, power=self.power)[0])

    def derivative(self, x: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Return the derivatives (n, N, e) of the outputs in their own parameters."""
        h = x @ parameters[:, :-1].T + parameters[:, -1]
        slope = experts.activation(self.name, h, power=self.power, order=1)[1]
        features = np.concatenate([x, np.ones((len(x), 1))], axis=1)
        return np.asarray(slope[:, :, None] * features[:, None, :])

    def __str__(self) -> str:
        return f"'{self.name}'"
