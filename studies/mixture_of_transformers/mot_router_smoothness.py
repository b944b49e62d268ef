"""How smooth is noisy top-1 routing when the noise has another width? (mixture-of-transformers, Lemma 9).

Expert m is chosen when h_m + r_m is the largest, r i.i.d. Unif[0, w], of density kappa = 1 / w. For two score vectors
at max-norm distance 0.05 *ratio* is max |p - p'| / max |h - h'|, computed exactly and simulated with 20 000 draws. The
scores are ties, the worst case, of which one is raised and the others are lowered. The lemma does not name its norm on
the left: the max-norm, taken here, is the smallest.

As our copy prints it, the bound (kappa M)^2 ||h - h'|| has the wrong unit: scores and noise can be multiplied by any
factor, which leaves the probabilities alone. What is true is 2 kappa ||h - h'||, whatever M. kappa M^2 has the right
unit and holds; the square over both may be a slip of the print, and for kappa = 1, as in our simulations of
Algorithm 1, the two are the same.
"""

from moestat import Study
from moestat.study.rules import function

LARGEST = "moestat.claims.rules:largest"

study = Study(
    "How much do routing probabilities move when the noise has density kappa?",
    paper="mixture-of-transformers",
    source="MT Lemma 9",
    question="Lemma 9 bounds the change of the routing probabilities by (kappa M)^2 times the change of the "
    "scores, kappa the bound of the noise's density. Does it hold for every kappa?",
    experiment="router_smoothness",
    seed=20260702,
    scale="paper",
    settings=dict(pair="tied", distance=0.05, draws=20_000),
    grid=dict(experts=[2, 4, 8, 16, 32, 64]),
    summaries=["ratio", "share_of_bound", "share_of_bound_simulated", "simulation_error"],
)
study.preset("quick", "20 pairs of scores for each M.", expected="15 s on 2 cores", replicates=20)
study.preset("paper", "200 pairs of scores for each M.", expected="10 s on 2 cores", replicates=200)
study.arm("narrow", "Unif[0, 0.5], κ = 2", width=0.5)
study.arm("unit", "Unif[0, 1], κ = 1", width=1.0)
study.arm("wide", "Unif[0, 8], κ = 1/8", width=8.0)

study.claim(
    "lemma9-wide",
    "Under Unif[0, 8] noise (kappa = 1/8) the probabilities change by at most (kappa M)^2 ||h - h'||, as our "
    "scan prints it, in every pair.",
    function(LARGEST, "share_of_bound", "wide").at_most(1.0, predicted="<= 1"),
    dict(source="MT Lemma 9", group="lemma 9, kappa < 1"),
    because="the copy that was read prints (kappa M)^2; kappa M^2, which has the right unit, may be meant, and "
    "holds (ours, below). For kappa = 1 they are the same",
)
study.ours(
    "kappa-m-squared-wide",
    "The probabilities change by at most kappa M^2 ||h - h'|| for every M, which has the right unit (Unif[0, 8]: 0.5 "
    "||h - h'|| at M = 2).",
    function(LARGEST, "ratio", "wide").at_most(0.5, predicted="<= 0.5"),
    source="ours: control of lemma9-wide, with the bound that may be meant",
)
study.finding(
    {"lemma9-wide": "refuted"},
    "The bound fails for wide noise, if it is (kappa M)^2, as in the copy that was read; kappa M^2 holds.",
)

study.figure(
    kind="lines",
    title="Change of the routing probabilities, by the width of the noise",
    x="experts",
    xlabel="number of experts M",
    panels=[
        dict(title="ratio", variable="ratio", ylabel="max |p - p'| / max |h - h'|"),
        dict(title="share of the bound", variable="share_of_bound", ylabel="ratio / (κM)²"),
    ],
    caption="(a) max |p - p'| / max |h - h'|, computed exactly, for ties. (b) the same over Lemma 9's bound "
    "(kappa M)^2: above 1 the lemma fails.",
)
