"""How smooth is noisy top-1 routing? (expert-count, Lemma 1).

Expert m is chosen when h_m + r_m is the largest, r i.i.d. Unif[0, 1]. For two score vectors at max-norm distance 0.05
the probabilities are simulated with 20 000 draws of the noise, and computed exactly by quadrature. Scores are random,
of standard deviation 0.5 or 0.05, and moved in a random direction; or they are tied, the worst case, and one expert is
raised while the others are lowered.

The factor is 2 whatever M is, by the argument in :mod:`studies.expert_count.parts.router_smoothness`, and may take the
place of M^2 where the proofs use the lemma (Lemmas 11, 17, 21, 25). The upper end of the range of M comes from Lemma 14
and stays.
"""

from moestat import Study
from moestat.study.rules import function

LARGEST = "moestat.claims.rules:largest"

study = Study(
    "How much do routing probabilities move when the scores move?",
    paper="expert-count",
    source="EC Lemma 1",
    question="Lemma 1 bounds the change of the routing probabilities by M^2 times the change of the scores. "
    "Does the bound hold, and does the change grow like M^2?",
    experiment="router_smoothness",
    seed=20260603,
    scale="paper",
    settings=dict(distance=0.05, draws=20_000),
    grid=dict(experts=[2, 4, 8, 16, 32, 64, 128]),
    summaries=["ratio", "ratio_simulated", "share_of_bound", "simulation_error"],
)

study.preset("quick", "20 pairs of scores for each M.", expected="about 20 s on 2 cores", replicates=20)
study.preset("paper", "200 pairs of scores for each M.", expected="about 30 s on 2 cores", replicates=200)

study.arm("wide", "random scores, sd 0.5", pair="random", scale=0.5)
study.arm("close", "random scores, sd 0.05", pair="random", scale=0.05)
study.arm("tied", "ties (worst case)", pair="tied")

study.rate("ratio", over="experts", bound=2.0)

for arm, scores in [("wide", "random scores (sd 0.5)"), ("close", "close scores (sd 0.05)"), ("tied", "tied scores")]:
    study.claim(
        f"bound-{arm}",
        f"For {scores} the simulated probabilities change by at most M^2 ||h - h'|| in every pair.",
        function(LARGEST, "share_of_bound_simulated", arm).at_most(1.0, predicted="<= 1"),
        source="EC Lemma 1",
    )
study.ours(
    "factor-2",
    "The probabilities change by at most 2 ||h - h'||, whatever M (exact probabilities, ties).",
    function(LARGEST, "ratio", "tied").at_most(2.0000001, predicted="<= 2"),
    source="ours: control of EC Lemma 1, whose M^2 is 2 by argument",
)

study.figure(
    kind="lines",
    title="Change of the routing probabilities over the change of the scores",
    x="experts",
    xlabel="number of experts M",
    panels=[
        dict(title="ratio", variable="ratio", ylabel="max |p - p'| / max |h - h'|"),
        dict(title="share of the bound", variable="share_of_bound", ylabel="ratio / M^2"),
    ],
    caption="Left: max |p - p'| / max |h - h'|, computed exactly. Right: the same over the bound M^2.",
)
