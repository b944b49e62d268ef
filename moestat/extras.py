"""How the optional libraries are installed, in the words of the README."""

from __future__ import annotations

from pathlib import Path

EXTRA_OF = {"torch": "neural", "sklearn": "neural", "cupy": "cuda13", "distributed": "cluster", "dask": "cluster"}
EXTRA_OF |= {"pooch": "data"}
"""Library -> the extra that brings it."""


def command(extra: str) -> str:
    """Return the command that installs an extra: from the checkout where moestat runs from one, else by name."""
    if (Path(__file__).resolve().parents[1] / "constraints.txt").is_file():
        return f'python -m pip install -c constraints.txt -e ".[{extra}]"'
    return f'python -m pip install "moestat[{extra}]"'
