"""What Figure 1 prints, and the start that gives it with full batches: for studies, rules, figures and pages."""

from __future__ import annotations

LEGENDS = {
    "softmax-relu": (1.003, -0.24),
    "sigmoid-relu": (1.011, -0.51),
    "softmax-linear": (1.005, -0.07),
    "sigmoid-linear": (1.012, -0.46),
}
"""Factor and power of n in its legends, by gate and experts."""
REGIONS = {curve: [round(power - 0.1, 2), min(round(power + 0.1, 2), 0.0)] for curve, (_, power) in LEGENDS.items()}
"""Slopes within 0.1 of the printed ones, and none of losses that grow."""
SOFTMAX, SIGMOID = ({k: r for k, r in REGIONS.items() if k.startswith(gate)} for gate in ("softmax", "sigmoid"))
PLAIN = dict(radius=0.00158, exponent=-0.5)
"""Where the map of starts has 0.05 n^(-1/2)."""


def named(curve: str) -> str:
    """Return the name of a curve beside its panels, over several lines."""
    words = dict(relu="ReLU", softmax="softmax gate", sigmoid="sigmoid gate")
    return ",\n".join(words.get(word, word) for word in curve.split("-"))


MAP = {curve: [f"{named(curve)}\n{power}", *REGIONS[curve]] for curve, (_, power) in LEGENDS.items()}
"""The curves as the map of starts takes them: title, and the ends of the region."""
