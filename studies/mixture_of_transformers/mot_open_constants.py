"""Do the propositions hold with other constants?"""

from functools import partial

from moestat import Study
from moestat.study.rules import function, log_ratio, mean

ATTENDS_ITSELF_CONSTANT = "v_n attends to itself, with the constant 1000"
WHERE_UNIFORM_ATTENTION = "ours, on MT Prop. 2: L = 5, where uniform attention is twice sigma_0"
AFTER_SAMPLES = "ours, on MT Section 5.1 (after Prop. 1), Lemma 13: with the samples of K = 2240"
PROPOSITION_WEIGHTS_TURN = "proposition 1: the weights turn away from the class signal"
APPENDIX_SAMPLES = "ours, on MT Lemma 13, Appendix D: with the samples of K = 2240"
AT_ONE_STEP = "studies.mixture_of_transformers.parts.rules_joint:at_one_step"
OWN_CLASS = "studies.mixture_of_transformers.parts.rules:own_class"

study = Study(
    "Do the propositions hold with other constants?",
    paper="mixture-of-transformers",
    source="MT Propositions 1 and 2, Theorem 1, eq. (11), Appendix E",
    question="K = Theta(N^2) and T2 - T1 = O(M / (eta_a sqrt(sigma_0) N)) leave constants open, and the "
    "O(sigma_0) of <W, c_n> are about expected gradients. Do the statements that fail with every constant 1 "
    "hold with more samples, and with a longer stage II?",
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
        "after_own_signal",
        "after_other_signal",
        "after_centre_signal",
        "after_self_attention",
        "after_largest_other",
        "after_test_loss",
        "after_test_error",
    ],
    notes="p(v_n, v_n) is a mean over the test samples at an expert of their class, as the proposition has it. "
    "Where the arms from what Proposition 1 promises rise and those from stage I do not, the length of stage II "
    "is not what is missing.",
)

study.preset(
    "quick",
    "K = 224, 10 replicates.",
    expected="about 15 minutes on 2 cores",
    replicates=10,
    block=1,
    arms=["*-100", "*-1000", "promised*"],
)

# another K: its claims are its alone
study.preset(
    "many",
    "K = 2240, 6 replicates.",
    expected="about 21 minutes on 2 cores",
    replicates=6,
    block=1,
    rank=0,
    arms=["*-many"],
    settings=dict(samples=2240),
)

# the constant in T2 = T1 + O(M / (eta_a sqrt(sigma_0) N)): 100 and 1000 in place of 1, as rates of stage II
study.arm("stated-100", "T1 as stated, σ0 = 0.3, 100 ηa", specialise_steps=5842, attention_rate=10.0, tuning_steps=0)
study.arm("stated-1000", "T1 as stated, σ0 = 0.3, 1000 ηa", specialise_steps=5842, attention_rate=100.0, tuning_steps=0)
study.arm("proof-100", "T1 of the proof, σ0 = 0.3, 100 ηa", specialise_steps=1753, attention_rate=10.0, tuning_steps=0)
study.arm(
    "proof-1000", "T1 of the proof, σ0 = 0.3, 1000 ηa", specialise_steps=1753, attention_rate=100.0, tuning_steps=0
)
study.arm(
    "stated-small-1000",
    "T1 as stated, σ0 = 0.1, 1000 ηa",
    start_scale=0.1,
    specialise_steps=10_119,
    attention_steps=253,
    attention_rate=100.0,
    tuning_steps=0,
)
study.arm(
    "proof-small-1000",
    "T1 of the proof, σ0 = 0.1, 1000 ηa",
    start_scale=0.1,
    specialise_steps=1012,
    attention_steps=253,
    attention_rate=100.0,
    tuning_steps=0,
)

# stage II from what Proposition 1 promises: W = sqrt(sigma_0) v_n, every sample at an expert of its class
common = dict(start="specialised", specialise_steps=0, tuning_steps=0)
study.arm("promised", "Prop. 1 given, σ0 = 0.3", ideal_weight=0.548, **common)
study.arm("promised-100", "Prop. 1 given, σ0 = 0.3, 100 ηa", ideal_weight=0.548, attention_rate=10.0, **common)
study.arm("promised-1000", "Prop. 1 given, σ0 = 0.3, 1000 ηa", ideal_weight=0.548, attention_rate=100.0, **common)
study.arm(
    "promised-small-1000",
    "Prop. 1 given, σ0 = 0.1, 1000 ηa",
    ideal_weight=0.316,
    start_scale=0.1,
    attention_steps=253,
    attention_rate=100.0,
    **common,
)

# ten times the samples: an expert has 35 of them in a step, where K = 224 gives it 3.5; stage II with 1000 eta_a
common = dict(attention_rate=100.0)
study.arm("stated-many", "T1 as stated, σ0 = 0.3, K = 2240", specialise_steps=5842, **common)
study.arm(
    "stated-small-many",
    "T1 as stated, σ0 = 0.1, K = 2240",
    start_scale=0.1,
    specialise_steps=10_119,
    attention_steps=253,
    **common,
)
study.arm("proof-many", "T1 of the proof, σ0 = 0.3, K = 2240", specialise_steps=1753, **common)
study.arm(
    "proof-small-many",
    "T1 of the proof, σ0 = 0.1, K = 2240",
    start_scale=0.1,
    specialise_steps=1012,
    attention_steps=253,
    **common,
)

# --- claims: rules of mot_assumed_regime ---
# ours since the runs: Theta leaves the constant open, and the half is ours; with no constant does the gap go like
# sqrt(sigma_0) (the next two, which are the paper's)
study.ours(
    "gap-many",
    "After stage I the specialisation gap, a mean over the experts, is at least sqrt(sigma_0) / 2 = 0.27 (K = "
    "2240, T1 as stated).",
    mean("after_gap", "stated-many", at=dict(stage="I")).at_least(0.27, predicted="Theta(sigma_0^0.5)"),
    dict(source="ours, on MT Prop. 1: a half of sqrt(sigma_0)", group="the gap is half of sqrt(sigma_0)"),
    presets=["many"],
)
study.ours(
    "gap-proof-many",
    "After stage I the specialisation gap, a mean over the experts, is at least sqrt(sigma_0) / 2 = 0.27 (K = "
    "2240, T1 of the proof).",
    mean("after_gap", "proof-many", at=dict(stage="I")).at_least(0.27, predicted="Theta(sigma_0^0.5)"),
    dict(source="ours, on MT Appendix D: a half of sqrt(sigma_0)", group="the gap is half of sqrt(sigma_0)"),
    presets=["many"],
)
study.claim(
    "gap-scaling-many",
    "Between sigma_0 = 0.1 and 0.3 the mean gap goes like sigma_0^0.5: its log ratio is within 20 % of 0.5 log "
    "3 (K = 2240, T1 as stated).",
    log_ratio("after_gap", "stated-many", at=dict(stage="I"), versus="stated-small-many").within(
        0.439, 0.659, predicted=0.549
    ),
    dict(source="MT Prop. 1", because="Theta(sigma_0^0.5) is read as a power law between two small sigma_0"),
    dict(group="proposition 1: the gap goes like sqrt(sigma_0)", presets=["many"]),
)
study.claim(
    "gap-scaling-proof-many",
    "Between sigma_0 = 0.1 and 0.3 the mean gap goes like sigma_0^0.5: its log ratio is within 20 % of 0.5 log "
    "3 (K = 2240, T1 of the proof).",
    log_ratio("after_gap", "proof-many", at=dict(stage="I"), versus="proof-small-many").within(
        0.439, 0.659, predicted=0.549
    ),
    dict(source="MT Appendix D", because="Theta(sigma_0^0.5) is read as a power law between two small sigma_0"),
    dict(group="proposition 1: the gap goes like sqrt(sigma_0)", presets=["many"]),
)
# six replicates cannot show 0.9, whatever they hold, but deny it
study.claim(
    "covered-many",
    "Every class has an expert after stage I with probability at least 0.9 (N = 8, M = 64, K = 2240, T1 as stated).",
    function("moestat.claims.rules:share", "after_all_covered", "stated-many", at=dict(stage="I")).at_least(
        0.9, predicted="1 - o(1)"
    ),
    dict(source="MT Prop. 1, Lemma 8", group="proposition 1: every class has an expert", presets=["many"]),
    because="Lemma 8 gives every class an expert at the start, and the propositions presuppose it after stage I",
)
study.ours(
    "own-100",
    "After stage II from where stage I ends here p(v_n, v_n) is at least 0.4, twice the uniform attention "
    "(constant 100, T1 as stated).",
    mean("after_self_attention", "stated-100", at=dict(stage="II")).at_least(0.4, predicted="Theta(1)"),
    dict(source="ours, on MT Prop. 2: the constant 100 in T2", group="stage II with the constant 100"),
    presets=["quick"],
)
study.ours(
    "own-1000",
    "After stage II from where stage I ends here p(v_n, v_n) is at least 0.4, twice the uniform attention "
    "(constant 1000, T1 as stated).",
    mean("after_self_attention", "stated-1000", at=dict(stage="II")).at_least(0.4, predicted="Theta(1)"),
    dict(source="ours, on MT Prop. 2: the own pair alone", group=ATTENDS_ITSELF_CONSTANT, presets=["quick"]),
)
study.ours(
    "own-proof-100",
    "After stage II from where stage I ends here p(v_n, v_n) is at least 0.4, twice the uniform attention "
    "(constant 100, T1 of the proof).",
    mean("after_self_attention", "proof-100", at=dict(stage="II")).at_least(0.4, predicted="Theta(1)"),
    dict(source="ours, on MT Prop. 2: the constant 100 in T2", group="stage II with the constant 100"),
    presets=["quick"],
)
study.ours(
    "own-proof-1000",
    "After stage II from where stage I ends here p(v_n, v_n) is at least 0.4, twice the uniform attention "
    "(constant 1000, T1 of the proof).",
    mean("after_self_attention", "proof-1000", at=dict(stage="II")).at_least(0.4, predicted="Theta(1)"),
    dict(source="ours, on MT Prop. 2: the own pair alone", group=ATTENDS_ITSELF_CONSTANT, presets=["quick"]),
)
study.ours(
    "own-many",
    "After stage II from where stage I ends here p(v_n, v_n) is at least 0.4, twice the uniform attention (K = "
    "2240, constant 1000, T1 as stated).",
    mean("after_self_attention", "stated-many", at=dict(stage="II")).at_least(0.4, predicted="Theta(1)"),
    dict(source="ours, on MT Prop. 2: the own pair alone", group=ATTENDS_ITSELF_CONSTANT, presets=["many"]),
)
study.ours(
    "own-proof-many",
    "After stage II from where stage I ends here p(v_n, v_n) is at least 0.4, twice the uniform attention (K = "
    "2240, constant 1000, T1 of the proof).",
    mean("after_self_attention", "proof-many", at=dict(stage="II")).at_least(0.4, predicted="Theta(1)"),
    dict(source="ours, on MT Prop. 2: the own pair alone", group=ATTENDS_ITSELF_CONSTANT, presets=["many"]),
)
claim = partial(
    study.claim,
    source="MT Prop. 2",
    because="there is a T2 with Theta(1), for which 0.4 is taken, for (v_n, v_n) and O(sigma_0), with the "
    "constant 1, for all other pairs",
    group="proposition 2: v_n attends to itself, and nothing else is attended to",
)
# Both halves, at any step: at sigma_0 = 0.3 uniform attention, 0.2, is below sigma_0. Came after the runs, their
# numbers known: 1.9 at the constant 1000, where from what Proposition 1 promises it is 0.85
claim(
    "joint-1000",
    "From where stage I ends here there is a step at which p(v_n, v_n) is 0.4 or more and the largest attention "
    "among the other pairs of signals at most sigma_0 = 0.3 (constant 1000, T1 as stated, L = 5).",
    function(
        AT_ONE_STEP, "largest_other", options=dict(own="self_attention", least=0.4, bounds={"stated-1000": 0.3})
    ).at_most(1.0, predicted="<= 1"),
    presets=["quick"],
)
claim(
    "joint-proof-1000",
    "From where stage I ends here there is a step at which p(v_n, v_n) is 0.4 or more and the largest attention "
    "among the other pairs of signals at most sigma_0 = 0.3 (constant 1000, T1 of the proof, L = 5).",
    function(
        AT_ONE_STEP, "largest_other", options=dict(own="self_attention", least=0.4, bounds={"proof-1000": 0.3})
    ).at_most(1.0, predicted="<= 1"),
    presets=["quick"],
)
claim(
    "joint-many",
    "From where stage I ends here there is a step at which p(v_n, v_n) is 0.4 or more and the largest attention "
    "among the other pairs of signals at most sigma_0 = 0.3 (K = 2240, constant 1000, T1 as stated, L = 5).",
    function(
        AT_ONE_STEP, "largest_other", options=dict(own="self_attention", least=0.4, bounds={"stated-many": 0.3})
    ).at_most(1.0, predicted="<= 1"),
    presets=["many"],
)
claim(
    "joint-proof-many",
    "From where stage I ends here there is a step at which p(v_n, v_n) is 0.4 or more and the largest attention "
    "among the other pairs of signals at most sigma_0 = 0.3 (K = 2240, constant 1000, T1 of the proof, L = 5).",
    function(
        AT_ONE_STEP, "largest_other", options=dict(own="self_attention", least=0.4, bounds={"proof-many": 0.3})
    ).at_most(1.0, predicted="<= 1"),
    presets=["many"],
)
study.ours(
    "joint-promised-1000",
    "From what Proposition 1 promises, W = sqrt(sigma_0) v_n and every sample at an expert of its class, there "
    "is a step at which p(v_n, v_n) is 0.4 or more and the largest attention among the other pairs of signals "
    "at most sigma_0 = 0.3 (constant 1000, L = 5).",
    function(
        AT_ONE_STEP, "largest_other", options=dict(own="self_attention", least=0.4, bounds={"promised-1000": 0.3})
    ).at_most(1.0, predicted="<= 1"),
    dict(group="proposition 2 from what proposition 1 promises", presets=["quick"]),
    source="ours, on MT Prop. 2: from what Prop. 1 promises",
)
study.ours(
    "own-promised",
    "With the constant 1 in T2 stage II brings p(v_n, v_n) to at least 0.4, twice the uniform attention (from "
    "what Proposition 1 promises, W = sqrt(sigma_0) v_n and every sample at an expert of its class).",
    mean("after_self_attention", "promised", at=dict(stage="II")).at_least(0.4, predicted="Theta(1)"),
    dict(source="ours, on MT Prop. 2: the constant 1 in T2", group="stage II with the constant 1"),
    presets=["quick"],
)

for id_, case, arm in [
    ("own-promised-100", "constant 100", "promised-100"),
    ("own-promised-1000", "constant 1000", "promised-1000"),
]:
    study.ours(
        id_,
        "From what Proposition 1 promises, W = sqrt(sigma_0) v_n and every sample at an expert of its class, "
        f"stage II brings p(v_n, v_n) to at least 0.4, twice the uniform attention ({case}).",
        mean("after_self_attention", arm, at=dict(stage="II")).at_least(0.4, predicted="Theta(1)"),
        dict(group="proposition 2 from what proposition 1 promises", presets=["quick"]),
        source="ours, on MT Prop. 2: from what Prop. 1 promises",
    )

ours = partial(study.ours, source=WHERE_UNIFORM_ATTENTION, group="other attention at L = 5", presets=["quick"])
ours(
    "others-1000",
    "After stage II at sigma_0 = 0.1 the attention of all other pairs of signals is at most sigma_0 (constant "
    "1000, T1 as stated).",
    mean("after_largest_other", "stated-small-1000", at=dict(stage="II")).at_most(0.1, predicted="O(sigma_0)"),
)
ours(
    "others-proof-1000",
    "After stage II at sigma_0 = 0.1 the attention of all other pairs of signals is at most sigma_0 (constant "
    "1000, T1 of the proof).",
    mean("after_largest_other", "proof-small-1000", at=dict(stage="II")).at_most(0.1, predicted="O(sigma_0)"),
)
ours(
    "others-promised",
    "After stage II at sigma_0 = 0.1 the attention of all other pairs of signals is at most sigma_0 (constant "
    "1000, from what Proposition 1 promises, W = sqrt(sigma_0) v_n).",
    mean("after_largest_other", "promised-small-1000", at=dict(stage="II")).at_most(0.1, predicted="O(sigma_0)"),
)
study.ours(
    "others-many",
    "After stage II at sigma_0 = 0.1 the attention of all other pairs of signals is at most sigma_0 (K = 2240, "
    "constant 1000, T1 as stated).",
    mean("after_largest_other", "stated-small-many", at=dict(stage="II")).at_most(0.1, predicted="O(sigma_0)"),
    dict(source=WHERE_UNIFORM_ATTENTION, group="other attention at L = 5", presets=["many"]),
)
study.ours(
    "others-proof-many",
    "After stage II at sigma_0 = 0.1 the attention of all other pairs of signals is at most sigma_0 (K = 2240, "
    "constant 1000, T1 of the proof).",
    mean("after_largest_other", "proof-small-many", at=dict(stage="II")).at_most(0.1, predicted="O(sigma_0)"),
    dict(source=WHERE_UNIFORM_ATTENTION, group="other attention at L = 5", presets=["many"]),
)

for id_, case, arm in [
    ("weights-many", "K = 2240, T1 as stated", "stated-many"),
    ("weights-proof-many", "K = 2240, T1 of the proof", "proof-many"),
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
        dict(group="equation 11: Omega(1) for the own class and O(sigma_0) otherwise", presets=["many"]),
    )

study.ours(
    "own-weights-many",
    "After stage III an expert's <W, v_n> for its class (Definition 2) is at least 1 (N = 8, K = 2240, sigma_0 "
    "= 0.3, T1 as stated; after stage I it is 2.15).",
    function(OWN_CLASS, "after_on_labels", "stated-many", at=dict(stage="III"), options=dict(of="own")).at_least(
        1.0, predicted="Omega(1)"
    ),
    dict(group="equation 11: the own class alone", presets=["many"]),
    source="ours, as a check of MT Theorem 1, eq. (11): it passes after stage I, with the routing at chance",
)

for id_, case, arm in [
    ("weights-other-many", "K = 2240, T1 as stated", "stated-many"),
    ("weights-other-proof-many", "K = 2240, T1 of the proof", "proof-many"),
]:
    study.ours(
        id_,
        "After the stages I and II reached here and stage III an expert's largest <W, v> of a class that is not "
        f"its own (Definition 2) is at most sigma_0 = 0.3 ({case}).",
        function(OWN_CLASS, "after_on_labels", arm, at=dict(stage="III"), options=dict(of="other")).at_most(
            0.3, predicted="O(sigma_0)"
        ),
        dict(group="equation 11: the other classes alone", presets=["many"]),
        source="ours, on MT Theorem 1, eq. (11): the other classes alone",
    )

# both halves, whatever the constant of O(sigma_0); that the own class has 1 or more in both arms is asked for by the
# rule since the runs
study.claim(
    "weights-other-order-proof-many",
    "After the stages I and II reached here and stage III an expert's <W, v_n> is at least 1 for its class, at "
    "sigma_0 = 0.1 and 0.3, and the largest <W, v> of another class goes at least like sigma_0 between them (K "
    "= 2240, T1 of the proof).",
    function(
        "studies.mixture_of_transformers.parts.rules_joint:weights_order",
        "after_on_labels",
        "proof-many",
        at=dict(stage="III"),
        versus="proof-small-many",
        options=dict(own=1.0, target=1.099),
    ).at_least(0.879, predicted=1.099),
    dict(group="equation 11: Omega(1) for the own class and O(sigma_0) otherwise", presets=["many"]),
    source="MT Theorem 1, eq. (11)",
    because="Omega(1) is read with the constant 1, and what is O(sigma_0) falls with sigma_0, whatever the "
    "constant; a fifth is left for logarithms, as in mot_gradients",
)
study.ours(
    "centre-many",
    "After stage I |<W, c_n>| is at most sigma_0 = 0.3 (K = 2240, T1 as stated).",
    mean("after_centre_signal", "stated-many", at=dict(stage="I")).at_most(0.3, predicted="O(sigma_0)"),
    dict(source=AFTER_SAMPLES, group=PROPOSITION_WEIGHTS_TURN, presets=["many"]),
)
study.ours(
    "centre-many-small",
    "After stage I |<W, c_n>| is at most sigma_0 = 0.1 (K = 2240, T1 as stated).",
    mean("after_centre_signal", "stated-small-many", at=dict(stage="I")).at_most(0.1, predicted="O(sigma_0)"),
    dict(source=AFTER_SAMPLES, group=PROPOSITION_WEIGHTS_TURN, presets=["many"]),
)
study.ours(
    "centre-proof-many",
    "After stage I |<W, c_n>| is at most sigma_0 = 0.3 (K = 2240, T1 of the proof).",
    mean("after_centre_signal", "proof-many", at=dict(stage="I")).at_most(0.3, predicted="O(sigma_0)"),
    dict(source=APPENDIX_SAMPLES, group=PROPOSITION_WEIGHTS_TURN, presets=["many"]),
)
ours = partial(
    study.ours,
    source="ours, on MT Appendix E: with the samples of K = 2240",
    group="appendix E: <W, c_n> stays O(sigma_0)",
    presets=["many"],
)
ours(
    "centre-proof-many-small",
    "After stage I |<W, c_n>| is at most sigma_0 = 0.1 (K = 2240, T1 of the proof).",
    mean("after_centre_signal", "proof-small-many", at=dict(stage="I")).at_most(0.1, predicted="O(sigma_0)"),
    dict(source=APPENDIX_SAMPLES, group=PROPOSITION_WEIGHTS_TURN),
)
ours(
    "weights-centre-many",
    "After stage III |<W, c_n>| is at most sigma_0 = 0.3 (K = 2240, T1 as stated).",
    mean("after_centre_signal", "stated-many", at=dict(stage="III")).at_most(0.3, predicted="O(sigma_0)"),
)
ours(
    "weights-centre-many-small",
    "After stage III |<W, c_n>| is at most sigma_0 = 0.1 (K = 2240, T1 as stated).",
    mean("after_centre_signal", "stated-small-many", at=dict(stage="III")).at_most(0.1, predicted="O(sigma_0)"),
)
ours(
    "weights-centre-proof-many",
    "After stage III |<W, c_n>| is at most sigma_0 = 0.3 (K = 2240, T1 of the proof).",
    mean("after_centre_signal", "proof-many", at=dict(stage="III")).at_most(0.3, predicted="O(sigma_0)"),
)
ours(
    "weights-centre-proof-many-small",
    "After stage III |<W, c_n>| is at most sigma_0 = 0.1 (K = 2240, T1 of the proof).",
    mean("after_centre_signal", "proof-small-many", at=dict(stage="III")).at_most(0.1, predicted="O(sigma_0)"),
)
# From K = 224 to 2240 the projections fall from 0.90 to 0.17: what is left can still be the sample, which does not
# fall with sigma_0, so that these four, at first the paper's, are ours.
ours(
    "centre-order-many",
    "After stage I |<W, c_n>| goes like sigma_0: between 0.1 and 0.3 its log ratio is at least 0.8 log 3 (K = "
    "2240, T1 as stated).",
    log_ratio("after_centre_signal", "stated-many", at=dict(stage="I"), versus="stated-small-many").at_least(
        0.879, predicted=1.099
    ),
    dict(source=AFTER_SAMPLES, group=PROPOSITION_WEIGHTS_TURN),
)
ours(
    "centre-order-proof-many",
    "After stage I |<W, c_n>| goes like sigma_0: between 0.1 and 0.3 its log ratio is at least 0.8 log 3 (K = "
    "2240, T1 of the proof).",
    log_ratio("after_centre_signal", "proof-many", at=dict(stage="I"), versus="proof-small-many").at_least(
        0.879, predicted=1.099
    ),
    dict(source=APPENDIX_SAMPLES, group=PROPOSITION_WEIGHTS_TURN),
)
ours(
    "weights-centre-order-many",
    "After stage III |<W, c_n>| goes like sigma_0: between 0.1 and 0.3 its log ratio is at least 0.8 log 3 (K = "
    "2240, T1 as stated).",
    log_ratio("after_centre_signal", "stated-many", at=dict(stage="III"), versus="stated-small-many").at_least(
        0.879, predicted=1.099
    ),
)
ours(
    "weights-centre-order-proof-many",
    "After stage III |<W, c_n>| goes like sigma_0: between 0.1 and 0.3 its log ratio is at least 0.8 log 3 (K = "
    "2240, T1 of the proof).",
    log_ratio("after_centre_signal", "proof-many", at=dict(stage="III"), versus="proof-small-many").at_least(
        0.879, predicted=1.099
    ),
)
study.claim(
    "centre-relative-many",
    "After stage I |<W, c_n>| is at most a quarter of an expert's <W, v_n> for its class (N = 8, sigma_0 = 0.3, "
    "K = 2240, T1 as stated).",
    function(
        OWN_CLASS, "after_centre_signal", "stated-many", at=dict(stage="I"), options=dict(of="variable", to="own")
    ).at_most(-1.386, predicted="< 0"),
    dict(source="MT Section 5.1 (after Prop. 1), Lemma 13", group=PROPOSITION_WEIGHTS_TURN, presets=["many"]),
    because="the weight aligns significantly more with v_n than with any other signal, e.g. c_n; four times is ours",
)

# --- what the verdicts say: each text is shown only where they are so ---
study.finding(
    {"centre-many": "supported", "weights-centre-many": "supported", "weights-centre-many-small": "not supported"},
    "With ten times the samples |<W, c_n>| is below sigma_0 = 0.3, and after stage III above sigma_0 = 0.1 "
    "there, with the T1 of Proposition 1.",
)
study.finding(
    {"centre-order-many": "not supported", "centre-order-proof-many": "not supported"},
    "With ten times the samples it does not go like sigma_0, at neither reading of T1; what is left of it may "
    "still be the sample.",
)
study.finding(
    {"gap-many": "not supported"},
    "With ten times the samples the gap is below sqrt(sigma_0) / 2: what experts differ by with K = 224 comes "
    "from the few samples of a step.",
)
study.finding(
    {"weights-many": "not supported", "weights-other-many": "not supported"},
    "Eq. (11) fails beside the own class with ten times the samples, after the stage I reached here: other "
    "projections are above sigma_0 after stage III.",
)
study.finding(
    {"own-promised": "not supported"},
    "With the constant 1 stage II is too short even from what Proposition 1 promises.",
)
study.finding(
    {"own-1000": "supported"},
    "With the constant 1000 in T2 v_n attends to itself after stage II, whatever the routing.",
)
study.finding(
    {"own-1000": "not supported"},
    "With the constant 1000 in T2 v_n does not come to attend to itself either, from where stage I ends.",
)
study.finding(
    {"others-promised": "not supported"},
    "With L = 5 tokens other pairs have an attention above sigma_0 = 0.1, which uniform attention has from the "
    "first, from what Proposition 1 promises as well.",
)
study.finding(
    {"own-promised-1000": "supported", "own-1000": "not supported", "own-proof-1000": "not supported"},
    "From what Proposition 1 promises the same constant is enough: what is missing is the end of stage I, not "
    "the length of stage II.",
)

study.figure(
    kind="lines",
    title="Attention and weights at the end of each stage",
    x="stage",
    xlabel="end of stage",
    logx=False,
    logy=False,
    panels=[
        dict(title="attention of v_n to itself", variable="after_self_attention", ylabel="p(v, v)"),
        dict(title="weight on the class signal", variable="after_centre_signal", ylabel="|<W, c>|"),
    ],
    options=dict(share_y=False),
    caption="Means over replicates with 95 % intervals. Uniform attention is 0.2.",
)
