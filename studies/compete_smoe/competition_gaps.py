"""Three places where the proofs for competition routing and the simulation part (compete-smoe, App. B.1.2 and B.2).

(1) Both proofs keep the winners of a region of inputs for all parameters near by, and set regions where a winner and a
loser can tie aside as null sets (Case 2). Adjacent regions touch, so that every region with a neighbour is one of
those. `misrouted` is the share of inputs whose winners change. (2) The cover of Lemma B.2 (a) then bounds the change
of the density at every input; `density_change` is the largest. (3) D -> 0 is read as convergence of every expert; but
D sums over Voronoi cells, and an empty one costs nothing.

A replicate is a random direction of norm 1 in the weights of a design of `competition_mle`, followed from epsilon =
0.1 to 0.001, and an expert that moves to the place of another one: at t = 1 it is a copy. Nothing is fitted. E h^2 is
of order epsilon at most, which is all that a cover in the Hellinger distance needs near a truth without ties: Lemma
B.2 itself is not refuted. A step that is said of every truth fails with one design, so that each has one claim.
"""

from moestat import Study
from moestat.study.rules import function, slope
from studies.compete_smoe.parts.shared import DESIGNS

study = Study(
    "Competition routing: three places where proof and simulation part",
    paper="compete-smoe",
    source="CS App. B.1.2 (proof of Lemma B.2), App. B.2; (9), (10), Theorem 4.2",
    question="Are the inputs routed alike by all mixtures near the truth? Is the density continuous in the "
    "parameters? Is D a distance?",
    experiment="competition_gaps",
    seed=20260803,
    scale="paper",
    settings=dict(evaluation_points=2048),
    summaries=["copied_D", "copied_matched", "copied_hellinger"],
)

study.preset(
    "quick",
    "10 directions, 2^20 inputs.",
    expected="20 to 60 s on 2 cores, idle to busy",
    replicates=10,
    settings=dict(pool_log2=20),
    block=5,
)
study.preset(
    "paper",
    "40 directions, 2^21 inputs.",
    expected="estimated at 2 minutes on 2 cores",
    replicates=40,
    settings=dict(pool_log2=21),
    block=5,
)

for design, (label, _) in DESIGNS.items():
    study.arm(design, label, design=design)

JUMPS = ["variance", "sign", "mean"]
study.rate("misrouted", over="epsilon", bound=1)
study.rate("hellinger_squared", over="epsilon", arms=["continuous"], bound=2)
study.rate("hellinger_squared", over="epsilon", arms=JUMPS, window=[0.0009, 0.011], predicted=dict(mean=1))
study.rate("density_change", over="epsilon", bound=1)
study.rate("hellinger_per_D", over="epsilon", bound=0)

# --- claims of the paper ---
study.claim(
    "largest-continuous",
    "Without a jump at the boundaries, the largest change of the density over all inputs is at most of the order of "
    "epsilon.",
    slope("density_change", "continuous", over="epsilon").at_least(0.9, predicted=1.0),
    source="CS App. B.1.2, end of part (a): |p_G - p_G'| is at most of the order of G - G' at every x",
)
for design, (_, case) in DESIGNS.items():
    study.claim(  # neutral: random directions of all weights are a weaker test than those of competition_bound
        f"bound-{design}",
        f"{case}, E_X h is at least a positive multiple of D: their ratio does not go to 0 along random directions of "
        "all weights.",
        slope("hellinger_per_D", design, over="epsilon").at_most(0.05, predicted=0.0),
        dict(source="CS (10)", bearing="neutral"),
        because="By (10) E h / D is at least one positive constant, on the way to the truth too.",
    )
    study.claim(
        f"copy-{design}",
        f"{case}, D of a mixture with a copied expert is 0 by definition.",
        function("moestat.claims.rules:largest", "copied_D", design, options=dict(over=[])).within(
            -1e-12, 1e-12, predicted=0
        ),
        dict(source="CS (8), (9): an identity", bearing="neutral"),
        because="Every fitted expert sits on a true one, and in (9) a cell without a fitted expert adds nothing, so "
        "that one expert can be lost and another one be there twice.",
    )

# --- the steps of the proofs, in the design in which all of them are to be seen ---
CASE = DESIGNS["mean"][1]
for claim, statement, rule, keys, source in [
    (
        "misrouted-mean",
        "the share of misrouted inputs is linear in epsilon; it is not 0 for small epsilon.",
        slope("misrouted", "mean", over="epsilon").within(0.9, 1.1, predicted=1.0),
        dict(bearing="against"),
        "the proofs of CS Lemma B.2 and (10): App. B.1.2, Case 2, by which a region with c_tau = 0 has measure zero, "
        "so that the others stay inside their counterparts",
    ),
    (
        "largest-mean",
        "the largest change of the density over all inputs stays where it is as epsilon falls (its exponent is "
        "within 0.1 of 0): there is no cover in the supremum norm.",
        slope("density_change", "mean", over="epsilon").within(-0.1, 0.1, predicted="1 (proof), 0"),
        dict(bearing="against"),
        "largest-continuous: CS App. B.1.2, end of part (a), by which |p_G - p_G'| is at most of the order of G - G' "
        "at every x",
    ),
    (
        "cells-mean",
        "an expert on its way to the place of another one, by which D goes to 0 and all k* experts are different, "
        "leaves a cell empty (at t = 0.95, for every pair that was drawn).",
        function(
            "moestat.claims.rules:smallest", "copy_empty_cells", "mean", at=dict(t=0.95), options=dict(over=[])
        ).within(0.5, 4.5, predicted="0 (proof), 1"),
        dict(bearing="against"),
        "the proof of CS (10): App. B.2, local part: each Voronoi cell has only one element, and D -> 0 moves every "
        "expert to its true one",
    ),
    (
        "copy-density-mean",
        "the density with a copied expert is another one: E h is at least 0.02.",
        function("moestat.claims.rules:smallest", "copied_hellinger", "mean", options=dict(over=[])).at_least(
            0.02, predicted="> 0"
        ),
        {},
        "copy-mean: what D does not see, the density does (CS Theorem 4.2)",
    ),
]:
    study.ours(claim, f"{CASE}, {statement}", rule, keys, source=f"ours: control of {source}")

study.figure(
    kind="lines",
    title="A change of the weights by epsilon",
    x="epsilon",
    xlabel="epsilon, norm of the change",
    columns=3,
    panels=[
        dict(title="misrouted inputs", variable="misrouted", ylabel="P(other winners)"),
        dict(title="mean of h^2", variable="hellinger_squared", ylabel="E h^2"),
        dict(title="largest change", variable="density_change", ylabel="max |p - p*|"),
    ],
    caption="(a) The first place: adjacent regions touch, so that inputs near the boundary may change their winners. "
    "(b) What that does to the density on average. (c) The second place: the largest change of the density at any "
    "input.",
)
study.figure(
    "copy",
    kind="lines",
    title="An expert moves to the place of another one",
    x="t",
    xlabel="t (at 1 it is a copy)",
    logx=False,
    logy=False,
    columns=3,
    panels=[
        dict(title="D", variable="copy_D", ylabel="D"),
        dict(title="one-to-one distance", variable="copy_matched", ylabel="matched"),
        dict(title="density", variable="copy_hellinger", ylabel="E h"),
    ],
    caption="The third place. Once the expert falls into the other one's cell, its own is empty and adds nothing to "
    "D; the one-to-one distance pairs experts.",
)
