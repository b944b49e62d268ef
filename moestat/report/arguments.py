"""A verdict by argument for the terminal: what is proved, from what, how, and what its check computes."""

from __future__ import annotations

from rich.console import RenderableType

from moestat.report import grid
from moestat.rounding import number
from moestat.study.arguments import Argument
from moestat.study.contents import Paper


def card(paper: Paper, argument: Argument) -> RenderableType:
    """Return all that there is of an argument; its check is computed for it."""
    found = argument.computed()
    told = [
        ("it shows", argument.says),
        *(("premise", f'"{one.words}" ({one.where})') for one in argument.premises),
        *(("since" if at == 0 else "", line) for at, line in enumerate(argument.derivation)),
        ("unless", argument.reading),
        ("so", f"{paper.name}, {argument.item} ({argument.cell}): {argument.wording}"),
        *(
            ("check" if at == 0 else "", f"{name}: {number(found[name], 3)}, within [{number(low)}, {number(high)}]")
            for at, (name, (low, high)) in enumerate(argument.shows.items())
        ),
        ("", argument.check if argument.holds(found) else f"{argument.check}: OUTSIDE, the argument is broken"),
    ]
    return grid.card(f"{argument.id}  ({paper.name})", told)
