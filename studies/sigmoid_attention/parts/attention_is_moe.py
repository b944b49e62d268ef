"""Attention and its reading as a mixture of experts, compared in units in the last place.

A replicate is a random layer and a random sequence. Every row of the layer's output is computed twice: as attention,
and by the mixture of ``attention`` from the atoms (A, b, c, a, beta) alone. The unit is that of the
sum of the absolute terms, sum_j g_j (1 + |s|_j) |h|_j, |s| and |h| with every factor's absolute value: what rounding
of one operation can do to the result, whatever cancels.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pydantic import Field, model_validator

from moestat.experiment import SettingsModel
from moestat.models.gates import Gate, gate_values
from moestat.replicates import Row, Streams, each
from studies.sigmoid_attention.parts.attention import AttentionLayer

VERSION = 1


class Settings(SettingsModel):
    """Settings of a cell."""

    gate: Gate = "sigmoid"
    """What weights the tokens."""
    heads: int = Field(1, ge=1, le=8, description="attention heads")
    biases: bool = Field(False, description="whether queries, keys, values and the output have biases")
    causal: bool = Field(False, description="whether a token sees only itself and earlier ones")
    language_model: bool = Field(False, description="adds -log(number of tokens) to the scores, SA eq. (85)")
    most_tokens: int = Field(12, ge=2, le=64, description="the length is uniform on 2 .. this")
    most_width: int = Field(8, ge=2, le=32, description="d and d_k are uniform on 2 .. this")

    @model_validator(mode="after")
    def _possible(self) -> Settings:
        if self.language_model and self.gate != "sigmoid":
            raise ValueError("language_model goes with gate 'sigmoid'; a softmax does not see a common shift")
        return self


def _layer(s: Settings, rng: np.random.Generator) -> tuple[AttentionLayer, np.ndarray, np.ndarray]:
    """Draw a layer, a sequence (n, d) and what is added to the scores (n, n)."""
    n, d, size = int(rng.integers(2, s.most_tokens + 1)), *(int(k) for k in rng.integers(2, s.most_width + 1, 2))
    h = s.heads
    query, key, value = (rng.standard_normal((h, d, size)) / np.sqrt(d) for _ in range(3))
    output = rng.standard_normal((h, size, d)) / np.sqrt(size * h)
    on = 1.0 if s.biases else 0.0
    bq, bk, bv = (on * rng.standard_normal((h, size)) for _ in range(3))
    end = on * rng.standard_normal(d)
    layer = AttentionLayer(query, key, value, output, bq, bk, bv, end, s.gate, 1.0 / float(np.sqrt(size)))
    mask = np.where(np.tri(n, dtype=bool), 0.0, -np.inf) if s.causal else np.zeros((n, n))
    visible = np.sum(mask > -np.inf, axis=1, keepdims=True)
    return layer, rng.standard_normal((n, d)), mask - (np.log(visible) if s.language_model else 0.0)


def magnitude(layer: AttentionLayer, tokens: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return the sums of absolute terms of all rows and coordinates, (n, d_o)."""
    weights = ("query", "key", "value", "output", "query_bias", "key_bias", "value_bias", "output_bias")
    loud = replace(layer, **{name: np.abs(getattr(layer, name)) for name in weights})
    size = np.abs(tokens)
    seen = np.where(np.isfinite(mask), mask, 0.0)
    scores, absolute = _scores(layer, tokens) + mask, _scores(loud, size) + np.abs(seen)
    weight = np.swapaxes(gate_values(layer.gate, np.swapaxes(scores, 1, 2)), 1, 2)
    if layer.gate == "softmax":  # an error of one score moves every weight
        absolute = np.max(np.where(np.isfinite(mask), absolute, 0.0), axis=2, keepdims=True)
    values = (size @ loud.value + loud.value_bias[:, None, :]) @ loud.output
    return np.sum((weight * (1.0 + absolute)) @ values, axis=0) + loud.output_bias


def _scores(layer: AttentionLayer, tokens: np.ndarray) -> np.ndarray:
    """Return the scores (H, n, n)."""
    q, k = tokens @ layer.query + layer.query_bias[:, None, :], tokens @ layer.key + layer.key_bias[:, None, :]
    return layer.scale * (q @ np.swapaxes(k, 1, 2))


@each(finished="Attention and mixture were compared.")
def run(s: Settings, streams: Streams) -> Row:
    """Compare attention with its mixture on one random layer and sequence per replicate.

    Per replicate ``tokens``, ``width``, ``size`` (d_k), ``length``: number D + 2 d_k + d + H n of terms in the longest
    chain of sums; ``ulps``: largest deviation over rows and coordinates; ``share``: that over ``length``; ``relative``:
    the largest absolute deviation over the largest output; ``model_ulps``: the deviation of :meth:`Model.predict` on
    the isometric storage of the symmetric parts; ``rank`` of the symmetric part of A over 2 d (at most 1), ``slope``:
    largest |b|.
    """
    return _compare(*_layer(s, streams("layer", heads=s.heads, gate=s.gate)))


def _compare(layer: AttentionLayer, tokens: np.ndarray, mask: np.ndarray) -> dict[str, float]:
    n, d = tokens.shape
    expected = layer(tokens, mask)
    flat = tokens.reshape(1, -1)
    units = np.spacing(magnitude(layer, tokens, mask))
    deviations, in_model, rank, slope = [], [], 0, 0.0
    for i in range(n):
        atoms = layer.atoms(n, i, mask)
        deviations.append(np.abs(atoms(flat)[0] - expected[i]))
        coordinate = i % d
        mixed = float(np.sum(atoms.model.predict(atoms.theta(coordinate), flat))) + atoms.offset[coordinate]
        in_model.append(abs(mixed - expected[i, coordinate]) / units[i, coordinate])
        both = atoms.a_matrix + np.swapaxes(atoms.a_matrix, 2, 3)
        rank = max(rank, int(np.max(np.linalg.matrix_rank(both))))
        slope = max(slope, float(np.max(np.abs(atoms.b))))
    deviation = np.array(deviations)
    length = n * d + 2 * layer.query.shape[2] + d + len(layer.query) * n
    ulps = float(np.max(deviation / units))
    return {
        "tokens": n,
        "width": d,
        "size": layer.query.shape[2],
        "length": length,
        "ulps": ulps,
        "share": ulps / length,
        "relative": float(np.max(deviation) / np.max(np.abs(expected))),
        "model_ulps": float(np.max(in_model)),
        "rank": rank / (2 * d),
        "slope": slope,
    }
