"""What several studies of the paper share."""

from __future__ import annotations

THEORY = dict(classes=8, experts=64, samples=224, test_samples=500, start_scale=0.3, expert_slots=64) | dict(
    specialise_rate=0.02, router_rate=0.02, attention_rate=0.1, attention_steps=146
)
THEORY |= dict(tuning_steps=1000, tuning_rate=1.0, records_per_decade=4)
"""Settings with the orders that the theory assumes, every constant 1."""

ROUTING = [
    {
        "arms": ["mot", "mot-joint", "no-attention"],
        "variable": "routing",
        "ylabel": "share of the class's samples",
        "at": {"replicate": run},
        "note": f"run {run}: {{experts_used:.1f}} in use, {{mutual_information:.2f}} bits",
    }
    for run in (0, 1)
]
"""Panels of the heat maps of routing: two runs as examples."""
