"""Verdicts of several experts side by side, by score and regime, with what breaks them and the rates they give."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from moestat.identify.check import identify
from moestat.identify.relations import Identification

BLOCKS = {"full": ("A", "b", "c", "eta"), "partial": ("A", "c", "eta"), "linear": ("b", "c", "eta")}
"""The blocks of an atom by score; eta are the expert's parameters."""

DEFINITIONS = {"full": (2, 1), "partial": (4, 3), "linear": (2, 1)}
"""Numbers of the weak and the strong definition in "sigmoid-attention", by score."""

NONE = "none"  #: What stands for an exponent where the theorems give no rate.


def table(
    experts: str | Callable[..., object] | Sequence[str | Callable[..., object]],
    *,
    scores: Sequence[str] = ("full", "partial"),
    d: int = 2,
    atoms: int = 2,
    seed: int = 0,
) -> pd.DataFrame:
    """Check several experts under several scores, and tabulate what each definition says.

    Arguments are those of :func:`moestat.identify.identify`; ``"polynomial 2"`` is a polynomial of degree 2. There is
    one row per expert, score and regime: the ``definition`` that the regime's theorem needs, whether the expert
    ``holds`` it ("yes", "no", "undecided"), the shortest relation between derivatives that breaks it (``broken by``,
    with whom it holds for if not for this expert alone), and the exponent of n that follows for each block, "none"
    where no rate follows and "" for a block that the score does not have. ``print(table.to_string())`` shows all of it.

    Examples
    --------
    >>> table(["linear"], scores=["full"], d=1, atoms=1)[["regime", "holds", "broken by", "b"]]
                       regime holds       broken by     b
    0                   dense   yes                  -0.5 1  sparse, exactly fitted    no  F_{a a}(0) = 0  none 2
    sparse, over-specified    no  F_{a a}(0) = 0  none
    """
    rows = []
    several = [experts] if isinstance(experts, str) or callable(experts) else experts
    for expert in several:
        for score in scores:
            options: dict[str, int] = {"d": d, "atoms": atoms, "seed": seed}
            name = expert
            if isinstance(expert, str) and expert.startswith("polynomial "):
                name, options["power"] = "polynomial", int(expert.split()[1])
            rows += rows_of(identify(name, score=score, **options))  # type: ignore[arg-type]
    return pd.DataFrame(rows).fillna("")


def rows_of(result: Identification) -> list[dict[str, str]]:
    """Return the rows of one check: the dense regime, and the two kinds of atoms of the sparse one."""
    weak, strong = DEFINITIONS[result.score]
    undecided = result.verdict == "undecided"
    holds = {weak: result.verdict in ("weak", "strong"), strong: result.verdict == "strong"}
    families = {weak: result.first, strong: result.strong}
    rows = []
    for regime, key, definition in (
        ("dense", "dense", weak),
        ("sparse, exactly fitted", "sparse exact", strong),
        ("sparse, over-specified", "sparse over", strong),
    ):
        relations = families[definition].relations
        if definition == strong and holds[weak]:
            relations = tuple(relation for relation in relations if relation.harmful) or relations
        # the shortest one, the expert's own before those of every expert
        order = sorted(relations, key=lambda r: (len(r.terms), r.holds_for == "every expert", str(r)))
        broken = ""
        if order and not (undecided or holds[definition]):
            broken = str(order[0]) + (f" [{order[0].holds_for}]" if order[0].holds_for != "this expert" else "")
        exponent = result.exponents[key]
        shown = NONE if exponent is None else f"{exponent:g}"
        rows.append(
            {
                "expert": result.expert,
                "score": result.score,
                "regime": regime,
                "definition": f"{definition}",
                "holds": "undecided" if undecided else "yes" if holds[definition] else "no",
                "broken by": broken,
                **dict.fromkeys(BLOCKS[result.score], shown),
            }
        )
    return rows
