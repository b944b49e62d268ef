"""One folder per paper: its own models, experiments, rules of claims and figures. No paper imports another."""
