"""Propositions 1 and 2 and eq. (11) where they are stated: small sigma_0, eta_r = eta, K = Theta(N^2), M > N log N."""

from functools import partial

from moestat import Study
from moestat.study.rules import function, log_ratio, mean

FEW_SAMPLES = "ours, on MT Prop. 1: with the few samples of K = 224"
APPENDIX_FEW_SAMPLES = "ours, on MT Appendix D: with the few samples of K = 224"
PROPOSITION_WEIGHTS_TURN = "proposition 1: the weights turn away from the class signal"
EXPERT_GAPS = "studies.mixture_of_transformers.parts.rules_gaps:expert_gaps"
OWN_CLASS = "studies.mixture_of_transformers.parts.rules:own_class"

study = Study(
    "Do the propositions hold where they are stated?",
    paper="mixture-of-transformers",
    source="MT Propositions 1 and 2, Theorem 1, eq. (11)",
    question="The theory has small sigma_0, eta_r = Theta(eta), K = Theta(N^2), M = Omega(N log N), T1 ~ M / "
    "(eta sqrt(sigma_0)) and T2 - T1 ~ M / (eta_a sqrt(sigma_0) N). Do experts specialise, does the router send "
    "classes to them, does the attention find v_n, and is all else O(sigma_0)?",
    experiment="mot",
    seed=20261122,
    scale="reduced",
    settings=dict(
        classes=8,
        experts=64,
        samples=224,
        test_samples=500,
        start_scale=0.3,
        specialise_rate=0.02,
        router_rate=0.02,
        attention_rate=0.1,
        attention_steps=146,
        tuning_steps=1000,
        tuning_rate=1.0,
        records_per_decade=4,
        expert_slots=64,
    ),
    summaries=[
        "after_gap",
        "after_covered",
        "after_matched",
        "after_purity",
        "after_sign_purity",
        "after_unequal",
        "after_own_signal",
        "after_other_signal",
        "after_centre_signal",
        "after_self_attention",
        "after_largest_other",
        "after_test_loss",
        "after_test_error",
    ],
)

study.preset(
    "quick",
    "N = 8, 10 replicates.",
    expected="about 50 s on 2 cores",
    replicates=10,
    block=1,
    arms=["stated", "stated-small", "proof", "proof-small"],
)

study.preset(
    "paper",
    "N = 8, 40 replicates.",
    expected="about 6 minutes on 2 cores",
    replicates=40,
    block=1,
    arms=["stated", "stated-small", "proof", "proof-small"],
)

# another N, and fewer replicates than paper: the claims on N = 16 are its alone
study.preset(
    "sixteen",
    "N = 16, M = 128, K = 960, 10 replicates.",
    expected="about 4 minutes on 2 cores",
    replicates=10,
    block=1,
    rank=0,
    arms=["*-sixteen"],
    settings=dict(classes=16, experts=128, samples=960, expert_slots=128),
)

# stage I alone, with more test samples: its claims are its alone
study.preset(
    "shares",
    "Stage I with 8000 test samples, 1000 of a class, for the shares within a class; N = 8, 6 replicates.",
    expected="about 1 minute on 2 cores",
    replicates=6,
    block=1,
    rank=0,
    arms=["stated", "proof"],
    settings=dict(test_samples=8000, attention_steps=0, tuning_steps=0),
)

study.arm("stated", "T1 as stated, σ0 = 0.3", specialise_steps=5842)
study.arm("stated-small", "T1 as stated, σ0 = 0.1", start_scale=0.1, specialise_steps=10_119, attention_steps=253)
study.arm("proof", "T1 of the proof, σ0 = 0.3", specialise_steps=1753)
study.arm("proof-small", "T1 of the proof, σ0 = 0.1", start_scale=0.1, specialise_steps=1012, attention_steps=253)
study.arm("stated-sixteen", "T1 as stated, N = 16", specialise_steps=11_685)
study.arm("proof-sixteen", "T1 of the proof, N = 16", specialise_steps=3505)

claim = partial(study.claim, group="proposition 1: a sample goes to an expert of its class")
# --- claims: the verdict says which rules were edited or added after the run ---
claim(
    "pure",
    "After stage I at least 95 % of the samples are routed to an expert of their class (N = 8, T1 as stated).",
    mean("after_matched", "stated", at=dict(stage="I")).at_least(0.95, predicted=1),
    dict(source="MT Prop. 1", presets=["quick", "paper"]),
)
claim(
    "pure-proof",
    "After stage I at least 95 % of the samples are routed to an expert of their class (N = 8, T1 of the proof).",
    mean("after_matched", "proof", at=dict(stage="I")).at_least(0.95, predicted=1),
    dict(source="MT Prop. 1, Appendix D", presets=["quick", "paper"]),
)
claim(
    "pure-sixteen",
    "After stage I at least 95 % of the samples are routed to an expert of their class (N = 16, T1 as stated).",
    mean("after_matched", "stated-sixteen", at=dict(stage="I")).at_least(0.95, predicted=1),
    dict(source="MT Prop. 1", presets=["sixteen"]),
)
claim(
    "pure-proof-sixteen",
    "After stage I at least 95 % of the samples are routed to an expert of their class (N = 16, T1 of the proof).",
    mean("after_matched", "proof-sixteen", at=dict(stage="I")).at_least(0.95, predicted=1),
    dict(source="MT Prop. 1, Appendix D", presets=["sixteen"]),
)

for id_, source, case, arm, presets in [
    ("equal", "MT Prop. 1", "N = 8, T1 as stated", "stated", ["shares"]),
    ("equal-proof", "MT Prop. 1, Appendix D", "N = 8, T1 of the proof", "proof", ["shares"]),
]:
    study.claim(
        id_,
        "After stage I the routing of a class, noise included, is within 0.1 in total variation of equal shares "
        f"on its own experts and none elsewhere ({case}, 1000 test samples of a class).",
        mean("after_unequal", arm, at=dict(stage="I")).at_most(0.1, predicted=0),
        dict(source=source, group="proposition 1: equal shares among the experts of a class", presets=presets),
    )

ours = partial(study.ours, group="the gap is half of sqrt(sigma_0), with few samples", presets=["quick", "paper"])
# ours since `mot_open_constants`, as the claims on <W, c_n> are: the gap of 0.65 is 0.09 with ten times the samples,
# so that with K = 224 it is the walk of the sample that is judged, where the proof has expected gradients
ours(
    "gap",
    "After stage I the specialisation gap, a mean over the experts, is at least sqrt(sigma_0) / 2 = 0.27 (N = "
    "8, T1 as stated).",
    mean("after_gap", "stated", at=dict(stage="I")).at_least(0.27, predicted="Theta(sigma_0^0.5)"),
    source=FEW_SAMPLES,
)
ours(
    "gap-proof",
    "After stage I the specialisation gap, a mean over the experts, is at least sqrt(sigma_0) / 2 = 0.27 (N = "
    "8, T1 of the proof).",
    mean("after_gap", "proof", at=dict(stage="I")).at_least(0.27, predicted="Theta(sigma_0^0.5)"),
    source=APPENDIX_FEW_SAMPLES,
)
ours(
    "gap-sixteen",
    "After stage I the specialisation gap, a mean over the experts, is at least sqrt(sigma_0) / 2 = 0.27 (N = "
    "16, T1 as stated).",
    mean("after_gap", "stated-sixteen", at=dict(stage="I")).at_least(0.27, predicted="Theta(sigma_0^0.5)"),
    dict(source="ours, on MT Prop. 1: with the few samples of K = 960", presets=["sixteen"]),
)
# the proposition speaks of every expert; came after the run, with the 0.27 of the means, and is ours since: half of
# sqrt(sigma_0) for nine tenths of the experts is a level of ours, and the sample is that of `gap`
study.ours(
    "gap-every",
    "After stage I at least 90 % of the experts have a specialisation gap of sqrt(sigma_0) / 2 = 0.27 or more "
    "(N = 8, T1 as stated).",
    function(
        EXPERT_GAPS, "after_on_labels", "stated", at=dict(stage="I"), options=dict(of="share", least=0.27)
    ).at_least(0.9, predicted=1),
    dict(source=FEW_SAMPLES, group="every gap is half of sqrt(sigma_0), with few samples", presets=["quick"]),
)
study.ours(
    "gap-every-proof",
    "After stage I at least 90 % of the experts have a specialisation gap of sqrt(sigma_0) / 2 = 0.27 or more "
    "(N = 8, T1 of the proof).",
    function(
        EXPERT_GAPS, "after_on_labels", "proof", at=dict(stage="I"), options=dict(of="share", least=0.27)
    ).at_least(0.9, predicted=1),
    dict(source=APPENDIX_FEW_SAMPLES, group="every gap is half of sqrt(sigma_0), with few samples"),
    presets=["quick"],
)
# ours since `mot_open_constants` judges it with ten times the samples, for the reason of `gap`
study.ours(
    "gap-scaling",
    "Between sigma_0 = 0.1 and 0.3 the mean gap goes like sigma_0^0.5: its log ratio is within 20 % of 0.5 log "
    "3 (T1 as stated).",
    log_ratio("after_gap", "stated", at=dict(stage="I"), versus="stated-small").within(0.439, 0.659, predicted=0.549),
    dict(source=FEW_SAMPLES, group="the gap goes like sqrt(sigma_0), with few samples"),
    presets=["quick", "paper"],
)
study.ours(
    "gap-scaling-proof",
    "Between sigma_0 = 0.1 and 0.3 the mean gap goes like sigma_0^0.5: its log ratio is within 20 % of 0.5 log "
    "3 (T1 of the proof).",
    log_ratio("after_gap", "proof", at=dict(stage="I"), versus="proof-small").within(0.439, 0.659, predicted=0.549),
    dict(source=APPENDIX_FEW_SAMPLES, group="the gap goes like sqrt(sigma_0), with few samples"),
    presets=["quick", "paper"],
)
study.claim(
    "covered",
    "Every class has an expert after stage I with probability at least 0.9 (N = 8, M = 64, T1 as stated).",
    function("moestat.claims.rules:share", "after_all_covered", "stated", at=dict(stage="I")).at_least(
        0.9, predicted="1 - o(1)"
    ),
    dict(source="MT Prop. 1, Lemma 8", group="proposition 1: every class has an expert", presets=["paper"]),
    because="Lemma 8 gives every class an expert at the start, and the propositions presuppose it after stage I",
)

for id_, case, arm, presets in [
    ("own", "N = 8, T1 as stated", "stated", ["quick", "paper"]),
    ("own-proof", "N = 8, T1 of the proof", "proof", ["quick", "paper"]),
    ("own-sixteen", "N = 16, T1 of the proof", "proof-sixteen", ["sixteen"]),
]:
    study.ours(
        id_,
        f"With the constant 1 in T2 stage II brings p(v_n, v_n) to at least 0.4, twice the uniform attention ({case}).",
        mean("after_self_attention", arm, at=dict(stage="II")).at_least(0.4, predicted="Theta(1)"),
        dict(source="ours, on MT Prop. 2: the constant 1 in T2", group="stage II with the constant 1"),
        presets=presets,
    )

for id_, case, arm in [("others", "T1 as stated", "stated-small"), ("others-proof", "T1 of the proof", "proof-small")]:
    study.ours(
        id_,
        "With the constant 1 in T2 the attention of all other pairs of signals is at most sigma_0 after stage "
        f"II at sigma_0 = 0.1, half the uniform attention ({case}).",
        mean("after_largest_other", arm, at=dict(stage="II")).at_most(0.1, predicted="O(sigma_0)"),
        dict(source="ours, on MT Prop. 2: the constant 1 in T2", group="stage II with the constant 1"),
        presets=["quick", "paper"],
    )

for id_, case, arm in [
    ("weights", "K = 224, T1 as stated", "stated"),
    ("weights-proof", "K = 224, T1 of the proof", "proof"),
]:
    study.claim(
        id_,
        "After the stages I and II reached here and stage III an expert's <W, v_n> is at least 1 for its class "
        f"(Definition 2) and at most sigma_0 = 0.3 for every other ({case}).",
        function(
            "studies.mixture_of_transformers.parts.rules_joint:weights",
            "after_on_labels",
            arm,
            at=dict(stage="III"),
            options=dict(own=1.0, other=0.3),
        ).at_most(1.0, predicted="<= 1"),
        dict(source="MT Theorem 1, eq. (11)", because="Omega(1) and O(sigma_0) are read with the constant 1"),
        dict(group="equation 11: Omega(1) for the own class and O(sigma_0) otherwise", presets=["quick"]),
    )

study.ours(
    "own-weights",
    "After stage III an expert's <W, v_n> for its class (Definition 2) is at least 1 (N = 8, K = 224, sigma_0 = "
    "0.3, T1 as stated; after stage I it is 5.09).",
    function(OWN_CLASS, "after_on_labels", "stated", at=dict(stage="III"), options=dict(of="own")).at_least(
        1.0, predicted="Omega(1)"
    ),
    dict(group="equation 11: the own class alone", presets=["quick"]),
    source="ours, as a check of MT Theorem 1, eq. (11): it passes after stage I, with the routing at chance",
)

# the largest other projection is nine tenths of the own one, so that no constant of O(sigma_0) helps that leaves eq.
# (11) something to say; "after the stages reached here" came after the run
for id_, case, arm, presets in [
    ("weights-other", "K = 224, T1 as stated", "stated", ["quick"]),
    ("weights-other-proof", "K = 224, T1 of the proof", "proof", ["quick"]),
]:
    study.ours(
        id_,
        "After the stages I and II reached here and stage III an expert's largest <W, v> of a class that is not "
        f"its own (Definition 2) is at most sigma_0 = 0.3 ({case}).",
        function(OWN_CLASS, "after_on_labels", arm, at=dict(stage="III"), options=dict(of="other")).at_most(
            0.3, predicted="O(sigma_0)"
        ),
        dict(group="equation 11: the other classes alone", presets=presets),
        source="ours, on MT Theorem 1, eq. (11): the other classes alone",
    )

ours = partial(study.ours, group=PROPOSITION_WEIGHTS_TURN, presets=["quick", "paper"])
ours(
    "centre",
    "After stage I |<W, c_n>| is at most sigma_0 = 0.3 (K = 224, T1 as stated).",
    mean("after_centre_signal", "stated", at=dict(stage="I")).at_most(0.3, predicted="O(sigma_0)"),
    source="ours, on MT Section 5.1 (after Prop. 1), Lemma 13: with the few samples of K = 224",
)
ours(
    "centre-proof",
    "After stage I |<W, c_n>| is at most sigma_0 = 0.3 (K = 224, T1 of the proof).",
    mean("after_centre_signal", "proof", at=dict(stage="I")).at_most(0.3, predicted="O(sigma_0)"),
    source="ours, on MT Lemma 13, Appendix D: with the few samples of K = 224",
)
ours(
    "weights-centre",
    "After stage III |<W, c_n>| is at most sigma_0 = 0.3 (K = 224, T1 as stated).",
    mean("after_centre_signal", "stated", at=dict(stage="III")).at_most(0.3, predicted="O(sigma_0)"),
    source="ours, on MT Appendix E: with the few samples of K = 224",
    group="appendix E: <W, c_n> stays O(sigma_0)",
)
ours(
    "centre-order",
    "After stage I |<W, c_n>| goes like sigma_0: between 0.1 and 0.3 its log ratio is at least 0.8 log 3 (K = "
    "224, T1 as stated).",
    log_ratio("after_centre_signal", "stated", at=dict(stage="I"), versus="stated-small").at_least(
        0.879, predicted=1.099
    ),
    source="ours, on MT Section 5.1 (after Prop. 1), Lemma 13: with the few samples of K = 224",
)
ours(
    "centre-order-proof",
    "After stage I |<W, c_n>| goes like sigma_0: between 0.1 and 0.3 its log ratio is at least 0.8 log 3 (K = "
    "224, T1 of the proof).",
    log_ratio("after_centre_signal", "proof", at=dict(stage="I"), versus="proof-small").at_least(
        0.879, predicted=1.099
    ),
    source="ours, on MT Lemma 13, Appendix D: with the few samples of K = 224",
)
ours(
    "weights-centre-order",
    "After stage III |<W, c_n>| goes like sigma_0: between 0.1 and 0.3 its log ratio is at least 0.8 log 3 (K = "
    "224, T1 as stated).",
    log_ratio("after_centre_signal", "stated", at=dict(stage="III"), versus="stated-small").at_least(
        0.879, predicted=1.099
    ),
    source="ours, on MT Appendix E: with the few samples of K = 224",
    group="appendix E: <W, c_n> stays O(sigma_0)",
)
study.claim(
    "centre-relative",
    "After stage I |<W, c_n>| is at most a quarter of an expert's <W, v_n> for its class (N = 8, sigma_0 = 0.3, "
    "K = 224, T1 as stated).",
    function(
        OWN_CLASS, "after_centre_signal", "stated", at=dict(stage="I"), options=dict(of="variable", to="own")
    ).at_most(-1.386, predicted="< 0"),
    dict(source="MT Section 5.1 (after Prop. 1), Lemma 13", group=PROPOSITION_WEIGHTS_TURN, presets=["quick"]),
    because="the weight aligns significantly more with v_n than with any other signal, e.g. c_n; four times is ours",
)

# --- what the verdicts say: each text is shown only where they are so ---
study.finding(
    {"pure": "not supported", "pure-proof": "not supported"},
    "Routing is not class-pure in the regime that Proposition 1 assumes, at neither reading of T1.",
)
study.finding(
    dict(pure="supported"), "In the regime that Proposition 1 assumes the router sends classes to their own experts."
)
study.finding(
    {"centre": "not supported", "centre-order": "not supported"},
    "With K = 224, 3.5 samples for an expert in a step, |<W, c_n>| is not O(sigma_0) after stage I: it exceeds "
    "sigma_0, and does not fall with it.",
)
study.finding(
    {"weights": "not supported", "weights-other": "not supported"},
    "Eq. (11) fails beside the own class, after the stage I reached here: other projections are above sigma_0 "
    "after stage III.",
)
study.finding(
    {"own": "not supported", "own-proof": "not supported"},
    "With constants 1 stage II does not bring v_n to attend to itself; for larger ones see `mot_open_constants`.",
)

study.figure(
    kind="lines",
    title="Algorithm 1 with the orders that the paper assumes, all constants 1",
    x="epoch",
    xlabel="steps",
    logy=False,
    panels=[
        dict(title="samples at an expert of their class", variable="matched", ylabel="share"),
        dict(title="specialisation gap", variable="gap", ylabel="gap of <W, v>"),
        dict(title="weight on the class signal", variable="centre_signal", ylabel="|<W, c>|"),
        dict(title="attention of v_n to itself", variable="self_attention", ylabel="p(v, v)"),
    ],
    options=dict(share_y=False),
    caption="Means over replicates with 95 % intervals.",
)

study.figure(
    "stages",
    kind="lines",
    title="Projections at the end of each stage",
    x="stage",
    xlabel="end of stage",
    logx=False,
    logy=False,
    columns=3,
    panels=[
        dict(title="own class", variable="after_own_signal", ylabel="projection of W"),
        dict(title="another class", variable="after_other_signal", ylabel="projection of W"),
        dict(title="class signal", variable="after_centre_signal", ylabel="projection of W"),
    ],
    options=dict(share_y=True),
    caption="Means over replicates with 95 % intervals. Eq. (11): the own class Omega(1), all else O(sigma_0).",
)
