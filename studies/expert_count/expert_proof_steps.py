"""The steps of the proof of Theorem 1, one by one (expert-count, Lemmas 10 to 15 and 18 to 24, Proposition 3)."""

from functools import partial

from moestat import Study
from moestat.study.rules import function, mean

WHOSE_PROOF_RESTS = "ours, on EC Lemma 18, whose proof rests on Lemma 15"
EXPONENT = "moestat.claims.orders:exponent"
LARGEST = "moestat.claims.rules:largest"

study = Study(
    "Does the training do what the lemmas behind Theorem 1 say?",
    paper="expert-count",
    source="EC Lemmas 10 to 15 and 18 to 24, Proposition 3",
    question="The proof follows weights, outputs, gradients and the router through two stages. Are they of the "
    "orders in sigma_0 that its lemmas give?",
    experiment="proof_steps",
    seed=20261126,
    scale="reduced",
    settings=dict(clusters=4, patches=4, neurons=8, dimension=1000, n=2000, expert_rate=0.01),
    grid=dict(start_scale=[0.1, 0.3]),
    summaries=[
        "projection",
        "output",
        "score",
        "uneven",
        "gradient_ratio",
        "other_signal",
        "centre_signal",
        "noise_signal",
        "aligned",
        "growth",
        "own_signal",
        "off_signals",
        "off_centres",
        "router_on_signals",
        "least_probability",
        "uneven_scores",
        "gate_ratio",
        "router_gradient",
        "router_leads",
        "over_threshold",
        "under_threshold",
        "aligned_most",
    ],
)

study.preset(
    "quick",
    "n = 2000, M = 8 and 1, 4 seeds.",
    expected="about 45 s on 2 cores",
    replicates=4,
    block=1,
    arms=["eight", "one"],
)

study.preset(
    "paper",
    "n = 8000, M = 8, 16 and 1, 20 seeds.",
    expected="about 27 minutes on 2 cores",
    replicates=20,
    block=1,
    settings=dict(n=8000),
)

study.arm("eight", "M = 8", experts=8)
study.arm("sixteen", "M = 16", experts=16)
study.arm("one", "M = 1", experts=1)

claim = partial(
    study.claim,
    because="what is O~(sigma_0^a) falls like a power a at least; a fifth is left for logarithms and spread",
)
# --- claims: the verdict says which rules were edited or added after the run ---
# A log ratio of 0.8 a log 3 passed until it was said that an exponent of 0.85 in the place of 1 does, too: within
# that fifth nothing is decided now
claim(
    "l10-outputs",
    "In the exploration stage the largest output of an expert goes at least like sigma_0^1.5: its log ratio "
    "between 0.3 and 0.1 comes to 1.5 log 3 (within the fifth that is left for logarithms it is open).",
    function(
        EXPONENT,
        "output",
        "eight",
        at=dict(stage="exploration", start_scale=0.3),
        versus_at=dict(stage="exploration", start_scale=0.1),
        options=dict(target=1.648),
    ).at_least(1.318, predicted=1.648),
    source="EC Lemma 10",
)
claim(
    "l10-scores",
    "In the exploration stage the largest score of the router goes at least like sigma_0^1.5: its log ratio "
    "between 0.3 and 0.1 comes to 1.5 log 3 (within the fifth that is left for logarithms it is open).",
    function(
        EXPONENT,
        "score",
        "eight",
        at=dict(stage="exploration", start_scale=0.3),
        versus_at=dict(stage="exploration", start_scale=0.1),
        options=dict(target=1.648),
    ).at_least(1.318, predicted=1.648),
    source="EC Lemma 10",
)
claim(
    "l11-uneven",
    "In the exploration stage the largest distance of a routing probability from 1/M, over 200 of the samples, "
    "goes at least like sigma_0^1.5: its log ratio between 0.3 and 0.1 comes to 1.5 log 3 (within the fifth "
    "that is left for logarithms it is open).",
    function(
        EXPONENT,
        "uneven",
        "eight",
        at=dict(stage="exploration", start_scale=0.3),
        versus_at=dict(stage="exploration", start_scale=0.1),
        options=dict(target=1.648),
    ).at_least(1.318, predicted=1.648),
    source="EC Lemma 11",
)
claim(
    "l13-other",
    "In the exploration stage the largest product with a signal beside the own one goes at least like "
    "sigma_0^1: its log ratio between 0.3 and 0.1 comes to 1 log 3 (within the fifth that is left for "
    "logarithms it is open).",
    function(
        EXPONENT,
        "other_signal",
        "eight",
        at=dict(stage="exploration", start_scale=0.3),
        versus_at=dict(stage="exploration", start_scale=0.1),
        options=dict(target=1.0986),
    ).at_least(0.879, predicted=1.0986),
    source="EC Lemma 13",
)
claim(
    "p3-outputs",
    "In the router stage what centre and noise add to an output goes at least like sigma_0^3: its log ratio "
    "between 0.3 and 0.1 comes to 3 log 3 (within the fifth that is left for logarithms it is open).",
    function(
        EXPONENT,
        "off_signals",
        "eight",
        at=dict(stage="router", start_scale=0.3),
        versus_at=dict(stage="router", start_scale=0.1),
        options=dict(target=3.296),
    ).at_least(2.637, predicted=3.296),
    source="EC Proposition 3, Lemma 19",
)
claim(
    "p3-scores",
    "In the router stage what patches beside the centre add to a score goes at least like sigma_0^2.5: its log "
    "ratio between 0.3 and 0.1 comes to 2.5 log 3 (within the fifth that is left for logarithms it is open).",
    function(
        EXPONENT,
        "off_centres",
        "eight",
        at=dict(stage="router", start_scale=0.3),
        versus_at=dict(stage="router", start_scale=0.1),
        options=dict(target=2.747),
    ).at_least(2.197, predicted=2.747),
    source="EC Proposition 3, Lemma 20",
)
claim(
    "l20-router",
    "In the router stage the largest product of the router with a signal goes at least like sigma_0^2.5: its "
    "log ratio between 0.3 and 0.1 comes to 2.5 log 3 (within the fifth that is left for logarithms it is open).",
    function(
        EXPONENT,
        "router_on_signals",
        "eight",
        at=dict(stage="router", start_scale=0.3),
        versus_at=dict(stage="router", start_scale=0.1),
        options=dict(target=2.747),
    ).at_least(2.197, predicted=2.747),
    source="EC Lemma 20",
)
claim(
    "l22-uneven",
    "In the router stage the largest difference of scores between experts of a cluster goes at least like "
    "sigma_0^1.5: its log ratio between 0.3 and 0.1 comes to 1.5 log 3 (within the fifth that is left for "
    "logarithms it is open).",
    function(
        EXPONENT,
        "uneven_scores",
        "eight",
        at=dict(stage="router", start_scale=0.3),
        versus_at=dict(stage="router", start_scale=0.1),
        options=dict(target=1.648),
    ).at_least(1.318, predicted=1.648),
    source="EC Lemma 22",
)
# These three were the paper's until it was seen that a mixture passes before its first step: the start is of the
# order sigma_0
study.ours(
    "l10-weights",
    "In the exploration stage the largest product of a weight with a signal, a centre or a noise patch goes at "
    "least like sigma_0^0.5: its log ratio between 0.3 and 0.1 comes to 0.5 log 3 (before the first step it is "
    "log 3).",
    function(
        EXPONENT,
        "projection",
        "eight",
        at=dict(stage="exploration", start_scale=0.3),
        versus_at=dict(stage="exploration", start_scale=0.1),
        options=dict(target=0.549),
    ).at_least(0.439, predicted=0.549),
    source="ours, on EC Lemma 10: what is there before the first step",
)
study.ours(
    "l13-centre",
    "In the exploration stage the largest product with a centre goes at least like sigma_0^1: its log ratio "
    "between 0.3 and 0.1 comes to 1 log 3 (before the first step it is log 3).",
    function(
        EXPONENT,
        "centre_signal",
        "eight",
        at=dict(stage="exploration", start_scale=0.3),
        versus_at=dict(stage="exploration", start_scale=0.1),
        options=dict(target=1.0986),
    ).at_least(0.879, predicted=1.0986),
    source="ours, on EC Lemma 13: what is there before the first step",
)
study.ours(
    "l15-noise",
    "In the exploration stage the largest product with a noise patch goes at least like sigma_0^1: its log "
    "ratio between 0.3 and 0.1 comes to 1 log 3 (before the first step it is log 3).",
    function(
        EXPONENT,
        "noise_signal",
        "eight",
        at=dict(stage="exploration", start_scale=0.3),
        versus_at=dict(stage="exploration", start_scale=0.1),
        options=dict(target=1.0986),
    ).at_least(0.879, predicted=1.0986),
    source="ours, on EC Lemma 15: what is there before the first step",
)

# The last two lines of Lemma 18, with the rule of those above: added after the runs, whose numbers had been seen.
# They were the paper's while its other line was ours; the three rest on Lemma 15 alike
for id_, case, variable in [
    ("l18-centre", "In the router stage the largest product with a centre", "centre_signal"),
    ("l18-noise", "In the router stage the largest product with a noise patch", "noise_signal"),
]:
    study.ours(
        id_,
        f"{case} goes at least like sigma_0^1: its log ratio between 0.3 and 0.1 comes to log 3 (within the "
        "fifth that is left for logarithms it is open).",
        function(
            EXPONENT,
            variable,
            "eight",
            at=dict(stage="router", start_scale=0.3),
            versus_at=dict(stage="router", start_scale=0.1),
            options=dict(target=1.0986),
        ).at_least(0.879, predicted=1.0986),
        source=WHOSE_PROOF_RESTS,
    )

# with the rule of those above; the paper's until it was seen that what the proof rests on, Lemma 15, asks for t >
# T^(m)
study.ours(
    "l18-other",
    "In the router stage the largest product with a signal beside the own one goes at least like sigma_0^1: its "
    "log ratio between 0.3 and 0.1 comes to log 3 (within the fifth that is left for logarithms it is open).",
    function(
        EXPONENT,
        "other_signal",
        "eight",
        at=dict(stage="router", start_scale=0.3),
        versus_at=dict(stage="router", start_scale=0.1),
        options=dict(target=1.0986),
    ).at_least(0.879, predicted=1.0986),
    source=WHOSE_PROOF_RESTS,
)
# the paper's until it was seen that the lemma also adds O~(sigma_0^2.5), ten times the leading term here; and the
# ratio is one of sums over experts and patches, where the statement had been of each expert
study.ours(
    "l12-gradient",
    "At the end of the exploration stage the experts' gradients along their own signals add up to those of the "
    "leading term -3 E[alpha^3] <w, v>^2 / (2 K M^2 P), up to a fifth (sigma_0 = 0.1).",
    mean("gradient_ratio", "eight", at=dict(stage="exploration", start_scale=0.1)).within(0.8, 1.2, predicted=1),
    source="ours, on EC Lemma 12, without its remainder O~(sigma_0^2.5), summed over experts and patches",
)
# "by every sample" until after the runs: routing probabilities are computed for 200 of the n the paper's at the
# smaller start and ours at the larger until the constant was said to be ours at both
# added after the runs, whose numbers had been seen
# the paper's until it was seen that it rests on Lemma 15 as well, and that half of it is there before the first step.
# The growth in its place was added after the runs, whose numbers had been seen
# the paper's until it was seen that what the lemma subtracts, O~(sigma_0^1.5), is the larger part at any sigma_0
# here: 0.03 at 0.1, where eta^3 t^3 / (K M^3) is 5e-4 at T_2
study.ours(
    "l14-aligned",
    "At T_1 the gradient along the own signal is at least (1 - sigma_0^0.2) times an expert's gradient norm, in "
    "every patch (sigma_0 = 0.1: 0.369).",
    mean("aligned", "eight", at=dict(stage="exploration", start_scale=0.1)).at_least(0.369, predicted=">= 0.369"),
    source="ours, on EC Lemma 14, without its condition t > T^(m)",
)
study.ours(
    "l15-growth",
    "In the second half of the exploration stage the product with the own signal grows by at least (1 - "
    "sigma_0^0.2) eta per step, in every patch (sigma_0 = 0.1: 0.369 eta).",
    mean("growth", "eight", at=dict(stage="exploration", start_scale=0.1)).at_least(0.369, predicted=">= 0.369"),
    source="ours, on EC Lemma 15, without its condition t > T^(m)",
)
study.ours(
    "p3-probability",
    "In the router stage an expert is picked with probability at least 1 / (e M) by each sample of its cluster "
    "among the 200 that are looked at (sigma_0 = 0.1).",
    mean("least_probability", "eight", at=dict(stage="router", start_scale=0.1)).at_least(0.368, predicted=">= 0.368"),
    source="ours, on EC Proposition 3 (17): with the constant 1/e of Lemma 16",
)
study.ours(
    "p3-probability-wide",
    "In the router stage an expert is picked with probability at least 1 / (e M) by each sample of its cluster "
    "among the 200 that are looked at (sigma_0 = 0.3).",
    mean("least_probability", "eight", at=dict(stage="router", start_scale=0.3)).at_least(0.368, predicted=">= 0.368"),
    source="ours, on EC Proposition 3 (17): with the constant 1/e of Lemma 16, at the larger start",
)
study.ours(
    "l18-growth",
    "In the second half of the router stage the product with the own signal grows by at least (1 - sigma_0^0.1) "
    "eta per step, in every patch (sigma_0 = 0.1: 0.206 eta).",
    mean("growth", "eight", at=dict(stage="router", start_scale=0.1)).at_least(0.206, predicted=">= 0.206"),
    source=WHOSE_PROOF_RESTS,
)
study.ours(
    "l18-own",
    "At T_2 = 1 / eta the product with the own signal is at least (1 - sigma_0^0.1) eta t, in every patch "
    "(sigma_0 = 0.1: 0.206).",
    mean("own_signal", "eight", at=dict(stage="router", start_scale=0.1)).at_least(0.206, predicted=">= 0.206"),
    source=WHOSE_PROOF_RESTS,
)
study.ours(
    "l23-turns",
    "At T_2 the router turns away from experts of other clusters: its mean gradient along a centre is positive "
    "for them (sigma_0 = 0.1).",
    mean("router_gradient", "eight", at=dict(stage="router", start_scale=0.1)).at_least(0.0, predicted="> 0"),
    source="ours, on EC Lemma 23, without its remainder O~(sigma_0^1.5)",
)
# Added with the arm of one expert, before its run; what three seeds of other code gave had been seen. M = 1 is the
# only M at this sigma_0 for which the lemmas' T^(m) comes before T_1
study.claim(
    "l14-aligned-one",
    "With M = 1, at T_1, after T^(m), the gradient along the own signal is at least (1 - sigma_0^0.2) times the "
    "expert's gradient norm, in every patch (sigma_0 = 0.1: 0.369).",
    mean("aligned", "one", at=dict(stage="exploration", start_scale=0.1)).at_least(0.369, predicted=">= 0.369"),
    source="EC Lemma 14",
    because="M = 1 is below sigma_0^(-0.075) = 1.2, and T^(m) is before T_1 in every run",
)
study.ours(
    "l15-growth-one",
    "With M = 1, after T^(m), the product with the own signal grows by at least (1 - sigma_0^0.2) eta per step, "
    "in every patch (sigma_0 = 0.1, second half of the exploration stage: 0.369 eta).",
    mean("growth", "one", at=dict(stage="exploration", start_scale=0.1)).at_least(0.369, predicted=">= 0.369"),
    source="ours, on the proof of EC Lemma 15",
)
study.claim(
    "l15-level-one",
    "With M = 1 the product with the own signal is at least (1 - sigma_0^0.2) eta (t - T^(m)) at T_1, in every "
    "patch (sigma_0 = 0.1: 0.118, where the start alone has 0.2).",
    mean("own_signal", "one", at=dict(stage="exploration", start_scale=0.1)).at_least(0.118, predicted=">= 0.118"),
    dict(source="EC Lemma 15", because="M = 1 is below sigma_0^(-0.075) = 1.2; T^(m) = 0 makes the level largest"),
)
study.ours(
    "threshold-one",
    "With M = 1 and sigma_0 = 0.1 the expert's gradient is above M^2 sigma_0^1.8 at every look of the "
    "exploration stage, so that T^(m) is before T_1.",
    function(
        "moestat.claims.rules:smallest", "under_threshold", "one", at=dict(stage="exploration", start_scale=0.1)
    ).at_least(1.0, predicted="> 1"),
    source="ours, on EC Lemma 14",
)

for arm, experts in [("eight", 8), ("one", 1)]:
    study.ours(
        f"l14-most-{arm}",
        "In the patch where it is least, no expert's gradient along its own signal is above P^(-1/2) = 0.5 "
        f"times its norm, at any look, M = {experts}: for sigma_0 below 1/32 the lemma asks for more.",
        function(LARGEST, "aligned_most", arm, options=dict(over=["stage", "start_scale"])).at_most(
            0.5, predicted="<= 0.5"
        ),
        source="ours, on EC Lemma 14: by Cauchy and Schwarz no gradient can do better",
    )

# added after the runs, whose numbers had been seen
study.ours(
    "l15-growth-root",
    "In the second half of the exploration stage the product with the own signal grows by at least (1 - "
    "sigma_0^0.2) eta / sqrt(P) per step, in every patch (sigma_0 = 0.1: 0.184 eta).",
    mean("growth", "eight", at=dict(stage="exploration", start_scale=0.1)).at_least(0.184, predicted=">= 0.184"),
    source="ours, on EC Lemma 15: with the factor P^(-1/2) by which its argument goes through",
)
study.ours(
    "l18-growth-root",
    "In the second half of the router stage the product with the own signal grows by at least (1 - sigma_0^0.1) "
    "eta / sqrt(P) per step, in every patch (sigma_0 = 0.1: 0.103 eta).",
    mean("growth", "eight", at=dict(stage="router", start_scale=0.1)).at_least(0.103, predicted=">= 0.103"),
    source="ours, on EC Lemma 18: with the factor P^(-1/2) by which its argument goes through",
)
# the lemma needs an expert for every cluster, as M >= K log(K / delta) gives: with M = 8 one in three starts lacks
# one. The claim was made for M = 8 alone at first, where what it counts is the clusters without an expert
study.claim(
    "l24-leads",
    "At T_2 the router prefers an expert of the cluster in at least 95 % of centres and patches (sigma_0 = 0.1, "
    "M = 16).",
    mean("router_leads", "sixteen", at=dict(stage="router", start_scale=0.1)).at_least(0.95, predicted="1"),
    source="EC Lemma 24",
    because="the lead of Omega(1 / (P K M^9)) is positive for every centre and patch; 0.95 for all",
    presets=["paper"],
)
study.ours(
    "l24-leads-eight",
    "At T_2 the router prefers an expert of the cluster in at least 95 % of centres and patches (sigma_0 = 0.1, "
    "M = 8).",
    mean("router_leads", "eight", at=dict(stage="router", start_scale=0.1)).at_least(0.95, predicted="1"),
    source="ours, on EC Lemma 24: M = 8 leaves clusters without an expert",
)
study.claim(
    "l21-gates",
    "Gates of experts of one cluster differ by at most twice the difference of their scores, at every step that "
    "is looked at.",
    function(LARGEST, "gate_ratio", "eight", options=dict(over=["stage", "start_scale"])).at_most(
        1.0, predicted="<= 1"
    ),
    source="EC Lemma 21",
)
study.ours(
    "threshold",
    "No expert's gradient comes to M^2 sigma_0^1.8 in the exploration stage, so that T^(m) is after T_1.",
    function(
        LARGEST, "over_threshold", "eight", at=dict(stage="exploration"), options=dict(over=["start_scale"])
    ).at_most(1.0, predicted="< 1"),
    source="ours, on EC Lemma 14",
)

# --- what the verdicts say: each text is shown only where they are so ---
study.finding(
    dict(threshold="supported"), "With M = 8 no gradient reaches the level from which Lemmas 14 and 15 count."
)
study.finding(
    {"threshold-one": "supported", "l14-aligned-one": "not supported"},
    "With one expert the gradient is above that level from the start, and it is not along the own signal as "
    "Lemma 14 has it.",
)
study.finding(
    {"l14-aligned": "not supported"}, "Gradients are not along the experts' own signals as Lemma 14 has them."
)
study.finding(
    {"l12-gradient": "supported"},
    "From sigma_0 = 0.1 Lemma 12's leading term is what the gradients along the own signals add up to.",
)
study.finding(
    {"l15-growth": "not supported", "l18-growth": "not supported"},
    "Experts do not grow along their own signals at the rate that the proof needs.",
)
study.finding(
    {"l24-leads": "not supported"},
    "The router does not prefer the experts of a cluster everywhere at the end of the router stage.",
)

study.figure(
    kind="lines",
    title="What the lemmas bound, by stage",
    x="start_scale",
    xlabel="sigma_0",
    hue="stage",
    columns=3,
    panels=[
        dict(title="outputs (Lemma 10)", variable="output", ylabel="|f|"),
        dict(title="scores (Lemma 10)", variable="score", ylabel="|h|"),
        dict(title="routing from 1/M (Lemma 11)", variable="uneven", ylabel="|p - 1/M|"),
        dict(title="other signals (Lemmas 13, 18)", variable="other_signal", ylabel="|<w, v>|"),
        dict(title="centres (Lemmas 13, 15)", variable="centre_signal", ylabel="|<w, c>|"),
        dict(title="beside the centre (Prop. 3)", variable="off_centres", ylabel="change of a score"),
    ],
    options=dict(share_y=False),
    caption="Largest over the steps that are looked at; geometric means over seeds with 95 % intervals.",
)
