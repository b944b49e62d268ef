"""Orders of weights, attention and gradients in stages I and II (mixture-of-transformers, Lemmas 5, 6, 11 to 14)."""

import itertools
from functools import partial

from moestat import Study
from moestat.study.rules import function, log_ratio, mean

SIGMA_FALLS_LIKE = (
    "what is O(sigma_0^a) falls like a power a at least; short of it by up to a fifth, which is left for "
    "logarithms, nothing is decided"
)
STEPS_ALONE_ANY = "ours, as a check of MT Lemma 11: the steps alone, in any direction, keep outputs to sigma_0^0.5"
FALLS_LIKE_LEAST = (
    "what is O(M^-b), or O(N^-b), falls like it at least; short of it by up to a fifth, which is left for "
    "logarithms, nothing is decided"
)
SIGMA_FALLS_LIKE_2 = (
    "what is O(sigma_0^a), or O(M^-b), falls like it at least; short of it by up to a fifth, which is left for "
    "logarithms, nothing is decided"
)
ROUTING_CHANCE_CANNOT = (
    "ours, as a check of MT Lemma 13 (15): with the routing at chance it cannot exceed 0.40 of the bound"
)
ROUTING_CHANCE_CANNOT_2 = (
    "ours, as a check of MT Lemma 13 (16): with the routing at chance it cannot exceed 0.63 of the bound"
)
AFTER_PASSES_T1 = (
    "ours, as a check of MT Section 5.1 (after Prop. 1): it passes at T1, where outputs have left their order"
)
AFTER_STAGE_REACHED = "ours, on MT Lemma 14: after the stage I reached here"
SIZE_ATTENTION_GRADIENT = "section 5.1 in size: the attention's gradient along v_n'"
AFTER_CHANGE_EITHER = (
    "ours, on MT Prop. 2 (Section 5.1 after it): a change in either direction, where O(y) bounds from above alone"
)
STEPS_ALONE_SQRT = "ours, as a check of MT Lemma 11: the steps alone, sqrt(sigma_0) / eta of length eta, have no M"
SIGMA_FALLS_LIKE_3 = (
    "what is O(sigma_0) falls like sigma_0 at least; short of it by up to a fifth, which is left for "
    "logarithms, nothing is decided"
)
OMEGA_SIGMA_FALLS = (
    "what is Omega(sigma_0^0.5 / M) falls no faster than that; short of it by up to a fifth, which is left for "
    "logarithms, nothing is decided"
)
ROUTER_DECISIONS_BECOME = (
    "the router's decisions become dominated by the clearer class signal c_n; half is ours, where Lemma 12 has "
    "N^-2 = 1/64"
)
GAP_THETA_SQRT = (
    "the gap of Theta(sqrt(sigma_0)) is the O(sigma_0) of the start and T1 expected steps; they must add to it, "
    "and step (8) is against the gradient"
)
EXPONENT = "moestat.claims.orders:exponent"
LARGEST_RATIO = "studies.mixture_of_transformers.parts.rules_orders:largest_ratio"

study = Study(
    "Are the gradients of the orders that the proofs give?",
    paper="mixture-of-transformers",
    source="MT Lemmas 5, 6, 11 to 14",
    question="The proofs of Propositions 1 and 2 bound weights, attention and expected gradients by powers of "
    "sigma_0, N and M. Are these their orders?",
    experiment="mot_gradients",
    seed=20261127,
    scale="reduced",
    settings=dict(tokens=5, dimension=32, token_noise=0.5, rate=0.02),
    grid=dict(classes=[4, 8], experts=[16, 32], start_scale=[0.1, 0.3]),
    summaries=[
        "output",
        "router_centre",
        "router_label",
        "class_difference",
        "gap_growth",
        "gap_step",
        "gap_widens",
        "expert_centre",
        "own_pair",
        "other_growth",
        "other_pair",
        "centre_pair",
        "label_centre_pair",
        "distractor_growth",
        "distractor_query",
        "start_weight",
        "start_query_key",
        "start_attention",
        "start_converse",
    ],
)

study.preset(
    "quick", "6 replicates, 4 training samples of every kind.", expected="about 70 s on 2 cores", replicates=6, block=1
)

study.preset(
    "paper",
    "40 replicates, 16 training samples of every kind.",
    expected="about 8 minutes on 2 cores",
    replicates=40,
    block=1,
    settings=dict(repeats=16),
)

# another sigma_0: its claims are its alone
study.preset(
    "small",
    "sigma_0 = 10^-8 and 10^-6 with eta = 2 10^-5, no noise in the tokens, N = 8, 10 replicates.",
    scale="reduced",
    expected="about 80 s on 1 core",
    replicates=10,
    block=1,
    rank=0,
    grid=dict(classes=[8], start_scale=[1e-08, 1e-06]),
    settings=dict(rate=2e-05, token_noise=0.0),
)

study.arm("mot", "MoT")

# --- claims: the verdict says which rules were edited or added after the run ---
study.claim(
    "l5-weights",
    "At the start the largest |<W, X_l>| is at most sigma_0 (N = 8, M = 32).",
    mean("start_weight", "mot", at=dict(classes=8, experts=32, start_scale=0.1)).at_most(
        1.0, predicted="O(1) of sigma_0"
    ),
    dict(source="MT Lemma 5", because="O(sigma_0) is read with the constant 1", presets=["quick", "paper"]),
)
study.claim(
    "l5-attention",
    "At the start the largest |nu' W_KQ mu| is at most sigma_0 (N = 8, M = 32).",
    mean("start_query_key", "mot", at=dict(classes=8, experts=32, start_scale=0.1)).at_most(
        1.0, predicted="O(1) of sigma_0"
    ),
    dict(source="MT Lemma 5", because="O(sigma_0) is read with the constant 1", presets=["quick", "paper"]),
)
study.claim(
    "l6-constant",
    "At the start attentions to two signals differ by at most sigma_0 = 0.1 (N = 8, M = 32).",
    mean("start_attention", "mot", at=dict(classes=8, experts=32, start_scale=0.1)).at_most(
        0.1, predicted="O(sigma_0)"
    ),
    dict(source="MT Lemma 6", because="O(sigma_0) is read with the constant 1", presets=["quick", "paper"]),
)
# What a first list of claims left out: the remark after Lemma 6, and Corollary 1. Rules written before the run;
# calculus has the first at about 1 / L = 0.2 and the second exact, and trial runs had so
study.claim(
    "l6-converse",
    "At the start attentions to two signals differ by at least 0.1 of what their scores differ by, where that "
    "is sigma_0 / 10 or more (all eight cells).",
    function("moestat.claims.rules:smallest", "start_converse", "mot").at_least(0.1, predicted="Omega(1)"),
    dict(source="MT Lemma 6", presets=["quick", "paper"]),
    because="what is Omega(sigma_0) is a constant times sigma_0 at least: half the uniform attention is taken, "
    "for scores that differ by sigma_0 / 10 or more",
)
study.claim(
    "corollary1",
    "The weights of the router sum to zero over the experts, early in stage I and at T1: no entry of the sum is "
    "more than 10^-9 of the largest weight (all eight cells).",
    function("moestat.claims.rules:largest", "router_sum", "mot").at_most(1e-09, predicted=0),
    dict(source="MT Corollary 1", presets=["quick", "paper"]),
)
study.claim(
    "l6-order",
    "At the start the difference between attentions to two signals goes at least like sigma_0^1 (N = 8, M = 32).",
    function(
        EXPONENT,
        "start_attention",
        "mot",
        at=dict(classes=8, experts=32, start_scale=0.3),
        versus_at=dict(classes=8, experts=32, start_scale=0.1),
        options=dict(target=1.099),
    ).at_least(0.879, predicted=1.099),
    dict(source="MT Lemma 6", because=SIGMA_FALLS_LIKE, presets=["quick", "paper"]),
)
study.ours(
    "l11-output-early",
    "Early in stage I the largest output goes at least like sigma_0^0.5 (N = 8, M = 32).",
    function(
        EXPONENT,
        "output",
        "mot",
        at=dict(state="early", classes=8, experts=32, start_scale=0.3),
        versus_at=dict(state="early", classes=8, experts=32, start_scale=0.1),
        options=dict(target=0.549),
    ).at_least(0.439, predicted=0.549),
    dict(source=STEPS_ALONE_ANY, group="outputs early in stage I", presets=["quick", "paper"]),
)
claim = partial(study.claim, presets=["quick", "paper"])
claim(
    "l12-sigma-early",
    "Early in stage I the largest expected router gradient along c_n goes at least like sigma_0^0.5 (N = 8, M = 32).",
    function(
        EXPONENT,
        "router_centre",
        "mot",
        at=dict(state="early", classes=8, experts=32, start_scale=0.3),
        versus_at=dict(state="early", classes=8, experts=32, start_scale=0.1),
        options=dict(target=0.549),
    ).at_least(0.439, predicted=0.549),
    dict(source="MT Lemma 12", because=SIGMA_FALLS_LIKE, group="lemma 12: the router's gradient along c_n"),
)
claim(
    "l13-difference-sigma-early",
    "Early in stage I the size of the difference between the expected gradients along the own class and along "
    "the others goes at least like sigma_0^0.5 (N = 8, M = 32).",
    function(
        EXPONENT,
        "class_difference",
        "mot",
        at=dict(state="early", classes=8, experts=32, start_scale=0.3),
        versus_at=dict(state="early", classes=8, experts=32, start_scale=0.1),
        options=dict(target=0.549),
    ).at_least(0.439, predicted=0.549),
    dict(source="MT Lemma 13 (15)", because=SIGMA_FALLS_LIKE),
    group="lemma 13 (15): the difference of the gradients along v",
)
claim(
    "l13-centre-early",
    "Early in stage I the largest expected gradient of an expert along c_n goes at least like sigma_0^1 (N = 8, "
    "M = 32).",
    function(
        EXPONENT,
        "expert_centre",
        "mot",
        at=dict(state="early", classes=8, experts=32, start_scale=0.3),
        versus_at=dict(state="early", classes=8, experts=32, start_scale=0.1),
        options=dict(target=1.099),
    ).at_least(0.879, predicted=1.099),
    dict(source="MT Lemma 13 (16)", because=SIGMA_FALLS_LIKE, group="lemma 13 (16): the gradient along c_n"),
)
claim(
    "l14-others",
    "From what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n, the largest expected growth of another pair "
    "of signals in stage II goes at least like sigma_0^1 (N = 8, M = 32).",
    function(
        EXPONENT,
        "other_growth",
        "mot",
        at=dict(state="promised", classes=8, experts=32, start_scale=0.3),
        versus_at=dict(state="promised", classes=8, experts=32, start_scale=0.1),
        options=dict(target=1.099),
    ).at_least(0.879, predicted=1.099),
    dict(source="MT Lemma 14", because=SIGMA_FALLS_LIKE, group="lemma 14: all other pairs are O(sigma_0)"),
)
# came after the run, with the rules of the others
claim(
    "l12-experts-early",
    "Early in stage I the largest expected router gradient along c_n goes at least like M^-2 (M = 16, 32).",
    function(
        EXPONENT,
        "router_centre",
        "mot",
        at=dict(state="early", classes=8, experts=32, start_scale=0.1),
        versus_at=dict(state="early", classes=8, experts=16, start_scale=0.1),
        options=dict(target=-1.386),
    ).at_most(-1.109, predicted=-1.386),
    dict(source="MT Lemma 12", because=FALLS_LIKE_LEAST, group="lemma 12: the router's gradient along c_n"),
)
claim(
    "l12-classes-early",
    "Early in stage I the largest expected router gradient along v_n goes at least like N^-2 (N = 4, 8).",
    function(
        EXPONENT,
        "router_label",
        "mot",
        at=dict(state="early", classes=8, experts=32, start_scale=0.1),
        versus_at=dict(state="early", classes=4, experts=32, start_scale=0.1),
        options=dict(target=-1.386),
    ).at_most(-1.109, predicted=-1.386),
    dict(source="MT Lemma 12", because=FALLS_LIKE_LEAST, group="lemma 12: the router's gradient along v_n"),
)
claim(
    "l13-difference-experts-early",
    "Early in stage I the size of the difference between the expected gradients along the own class and along "
    "the others goes at least like 1/M (M = 16, 32).",
    function(
        EXPONENT,
        "class_difference",
        "mot",
        at=dict(state="early", classes=8, experts=32, start_scale=0.1),
        versus_at=dict(state="early", classes=8, experts=16, start_scale=0.1),
        options=dict(target=-0.693),
    ).at_most(-0.555, predicted=-0.693),
    dict(source="MT Lemma 13 (15)", because=FALLS_LIKE_LEAST),
    group="lemma 13 (15): the difference of the gradients along v",
)
# more of the orders that the lemmas state, by the rules of those above; came after the run
claim(
    "l12-label-sigma-early",
    "Early in stage I the largest expected router gradient along v_n goes at least like sigma_0^0.5 (N = 8, M = 32).",
    function(
        EXPONENT,
        "router_label",
        "mot",
        at=dict(state="early", classes=8, experts=32, start_scale=0.3),
        versus_at=dict(state="early", classes=8, experts=32, start_scale=0.1),
        options=dict(target=0.549),
    ).at_least(0.439, predicted=0.549),
    dict(source="MT Lemma 12", because=SIGMA_FALLS_LIKE_2, group="lemma 12: the router's gradient along v_n"),
)
claim(
    "l12-label-experts-early",
    "Early in stage I the largest expected router gradient along v_n goes at least like M^-2 (M = 16, 32).",
    function(
        EXPONENT,
        "router_label",
        "mot",
        at=dict(state="early", classes=8, experts=32, start_scale=0.1),
        versus_at=dict(state="early", classes=8, experts=16, start_scale=0.1),
        options=dict(target=-1.386),
    ).at_most(-1.109, predicted=-1.386),
    dict(source="MT Lemma 12", because=SIGMA_FALLS_LIKE_2, group="lemma 12: the router's gradient along v_n"),
)
claim(
    "l13-centre-experts-early",
    "Early in stage I the largest expected gradient of an expert along c_n goes at least like 1/M (M = 16, 32).",
    function(
        EXPONENT,
        "expert_centre",
        "mot",
        at=dict(state="early", classes=8, experts=32, start_scale=0.1),
        versus_at=dict(state="early", classes=8, experts=16, start_scale=0.1),
        options=dict(target=-0.693),
    ).at_most(-0.555, predicted=-0.693),
    dict(source="MT Lemma 13 (16)", because=SIGMA_FALLS_LIKE_2, group="lemma 13 (16): the gradient along c_n"),
)
ours = partial(study.ours, source="ours, on MT Lemma 12: the bound read as an order at T1", presets=["quick", "paper"])
ours(
    "l11-output",
    "At T1 the largest output goes at least like sigma_0^0.5 (N = 8, M = 32).",
    function(
        EXPONENT,
        "output",
        "mot",
        at=dict(state="trained", classes=8, experts=32, start_scale=0.3),
        versus_at=dict(state="trained", classes=8, experts=32, start_scale=0.1),
        options=dict(target=0.549),
    ).at_least(0.439, predicted=0.549),
    source="ours, on MT Lemma 11: the bound read as an order at T1",
)
ours(
    "l12-sigma",
    "At T1 the largest expected router gradient along c_n goes at least like sigma_0^0.5 (N = 8, M = 32).",
    function(
        EXPONENT,
        "router_centre",
        "mot",
        at=dict(state="trained", classes=8, experts=32, start_scale=0.3),
        versus_at=dict(state="trained", classes=8, experts=32, start_scale=0.1),
        options=dict(target=0.549),
    ).at_least(0.439, predicted=0.549),
)
ours(
    "l12-experts",
    "At T1 the largest expected router gradient along c_n goes at least like M^-2 (M = 16, 32).",
    function(
        EXPONENT,
        "router_centre",
        "mot",
        at=dict(state="trained", classes=8, experts=32, start_scale=0.1),
        versus_at=dict(state="trained", classes=8, experts=16, start_scale=0.1),
        options=dict(target=-1.386),
    ).at_most(-1.109, predicted=-1.386),
)
ours(
    "l12-label-sigma",
    "At T1 the largest expected router gradient along v_n goes at least like sigma_0^0.5 (N = 8, M = 32).",
    function(
        EXPONENT,
        "router_label",
        "mot",
        at=dict(state="trained", classes=8, experts=32, start_scale=0.3),
        versus_at=dict(state="trained", classes=8, experts=32, start_scale=0.1),
        options=dict(target=0.549),
    ).at_least(0.439, predicted=0.549),
)
ours(
    "l12-label-experts",
    "At T1 the largest expected router gradient along v_n goes at least like M^-2 (M = 16, 32).",
    function(
        EXPONENT,
        "router_label",
        "mot",
        at=dict(state="trained", classes=8, experts=32, start_scale=0.1),
        versus_at=dict(state="trained", classes=8, experts=16, start_scale=0.1),
        options=dict(target=-1.386),
    ).at_most(-1.109, predicted=-1.386),
)
ours(
    "l12-classes",
    "At T1 the largest expected router gradient along v_n goes at least like N^-2 (N = 4, 8).",
    function(
        EXPONENT,
        "router_label",
        "mot",
        at=dict(state="trained", classes=8, experts=32, start_scale=0.1),
        versus_at=dict(state="trained", classes=4, experts=32, start_scale=0.1),
        options=dict(target=-1.386),
    ).at_most(-1.109, predicted=-1.386),
)
ours = partial(study.ours, presets=["quick", "paper"])
ours(
    "l13-difference-sigma",
    "At T1 the size of the difference between the expected gradients along the own class and along the others "
    "goes at least like sigma_0^0.5 (N = 8, M = 32).",
    function(
        EXPONENT,
        "class_difference",
        "mot",
        at=dict(state="trained", classes=8, experts=32, start_scale=0.3),
        versus_at=dict(state="trained", classes=8, experts=32, start_scale=0.1),
        options=dict(target=0.549),
    ).at_least(0.439, predicted=0.549),
    source="ours, on MT Lemma 13 (15): the bound read as an order at T1",
)
ours(
    "l13-difference-experts",
    "At T1 the size of the difference between the expected gradients along the own class and along the others "
    "goes at least like 1/M (M = 16, 32).",
    function(
        EXPONENT,
        "class_difference",
        "mot",
        at=dict(state="trained", classes=8, experts=32, start_scale=0.1),
        versus_at=dict(state="trained", classes=8, experts=16, start_scale=0.1),
        options=dict(target=-0.693),
    ).at_most(-0.555, predicted=-0.693),
    source="ours, on MT Lemma 13 (15): the bound read as an order at T1",
)
ours(
    "l13-centre",
    "At T1 the largest expected gradient of an expert along c_n goes at least like sigma_0 (N = 8, M = 32).",
    function(
        EXPONENT,
        "expert_centre",
        "mot",
        at=dict(state="trained", classes=8, experts=32, start_scale=0.3),
        versus_at=dict(state="trained", classes=8, experts=32, start_scale=0.1),
        options=dict(target=1.099),
    ).at_least(0.879, predicted=1.099),
    source="ours, on MT Lemma 13 (16): the bound read as an order at T1",
)
ours(
    "l13-centre-experts",
    "At T1 the largest expected gradient of an expert along c_n goes at least like 1/M (M = 16, 32).",
    function(
        EXPONENT,
        "expert_centre",
        "mot",
        at=dict(state="trained", classes=8, experts=32, start_scale=0.1),
        versus_at=dict(state="trained", classes=8, experts=16, start_scale=0.1),
        options=dict(target=-0.693),
    ).at_most(-0.555, predicted=-0.693),
    source="ours, on MT Lemma 13 (16): the bound read as an order at T1",
)
ours(
    "l14-others-trained",
    "From where stage I ended, the largest expected growth of another pair of signals in stage II goes at least "
    "like sigma_0 (N = 8, M = 32).",
    function(
        EXPONENT,
        "other_growth",
        "mot",
        at=dict(state="trained", classes=8, experts=32, start_scale=0.3),
        versus_at=dict(state="trained", classes=8, experts=32, start_scale=0.1),
        options=dict(target=1.099),
    ).at_least(0.879, predicted=1.099),
    source="ours, on MT Lemma 14: the bound read as an order at T1",
)
ours(
    "l14-centre-trained",
    "From where stage I ended the expected growth or fall of c_n' W_KQ c_n in stage II goes at least like "
    "sigma_0 (N = 8, M = 32).",
    function(
        EXPONENT,
        "centre_pair",
        "mot",
        at=dict(state="trained", classes=8, experts=32, start_scale=0.3),
        versus_at=dict(state="trained", classes=8, experts=32, start_scale=0.1),
        options=dict(target=1.099),
    ).at_least(0.879, predicted=1.099),
    source="ours, on MT Lemma 14: a change in either direction, its bound read as an order at T1",
)
ours(
    "l14-label-centre-trained",
    "From where stage I ended the expected growth or fall of v_n' W_KQ c_n in stage II goes at least like "
    "sigma_0 (N = 8, M = 32).",
    function(
        EXPONENT,
        "label_centre_pair",
        "mot",
        at=dict(state="trained", classes=8, experts=32, start_scale=0.3),
        versus_at=dict(state="trained", classes=8, experts=32, start_scale=0.1),
        options=dict(target=1.099),
    ).at_least(0.879, predicted=1.099),
    source="ours, on MT Lemma 14: a change in either direction, its bound read as an order at T1",
)
ours(
    "s51-distractor-trained",
    "From where stage I ended the largest expected growth or fall of a nu' W_KQ v_n', v_n' of another class, in "
    "stage II goes at least like sigma_0 (N = 8, M = 32).",
    function(
        EXPONENT,
        "distractor_query",
        "mot",
        at=dict(state="trained", classes=8, experts=32, start_scale=0.3),
        versus_at=dict(state="trained", classes=8, experts=32, start_scale=0.1),
        options=dict(target=1.099),
    ).at_least(0.879, predicted=1.099),
    source="ours, on MT Prop. 2 (Section 5.1 after it): the bound read as an order at T1",
)
ours(
    "s51-router",
    "At T1 the largest expected router gradient along v_n goes at least like sigma_0 (N = 8, M = 32).",
    function(
        EXPONENT,
        "router_label",
        "mot",
        at=dict(state="trained", classes=8, experts=32, start_scale=0.3),
        versus_at=dict(state="trained", classes=8, experts=32, start_scale=0.1),
        options=dict(target=1.099),
    ).at_least(0.879, predicted=1.099),
    source="ours, on MT Section 5.1 (after Prop. 1): the bound read as an order at T1",
)
ours(
    "l12-size-early",
    "Early in stage I the largest expected router gradient along c_n is at most sigma_0^0.5 / M^2 in all eight cells.",
    function(
        LARGEST_RATIO,
        "router_centre",
        "mot",
        at=dict(state="early"),
        options=dict(bound=dict(start_scale=0.5, experts=-2)),
    ).at_most(1.0, predicted="O(1)"),
    source="ours, as a check of MT Lemma 12: it passes at T1, where outputs have left their order",
    group="sizes in stage I: l12",
)
ours(
    "l12-size",
    "At T1 the largest expected router gradient along c_n is at most sigma_0^0.5 / M^2 in all eight cells.",
    function(
        LARGEST_RATIO,
        "router_centre",
        "mot",
        at=dict(state="trained"),
        options=dict(bound=dict(start_scale=0.5, experts=-2)),
    ).at_most(1.0, predicted="O(1)"),
    source="ours, as a check of MT Lemma 12: it passes at T1, where outputs have left their order",
    group="sizes in stage I: l12",
)
ours(
    "l13-difference-size-early",
    "Early in stage I the size of the difference between the expected gradients along the own class and along "
    "the others, a mean over the experts, is at most N sigma_0^0.5 / M in all eight cells (with the routing at "
    "chance it is at most 0.40 of it, whatever W).",
    function(
        LARGEST_RATIO,
        "class_difference",
        "mot",
        at=dict(state="early"),
        options=dict(bound=dict(classes=1, start_scale=0.5, experts=-1)),
    ).at_most(1.0, predicted="O(1)"),
    dict(source=ROUTING_CHANCE_CANNOT, group="sizes in stage I: l13-difference"),
)
ours(
    "l13-difference-size",
    "At T1 the size of the difference between the expected gradients along the own class and along the others, "
    "a mean over the experts, is at most N sigma_0^0.5 / M in all eight cells (with the routing at chance it is "
    "at most 0.40 of it, whatever W).",
    function(
        LARGEST_RATIO,
        "class_difference",
        "mot",
        at=dict(state="trained"),
        options=dict(bound=dict(classes=1, start_scale=0.5, experts=-1)),
    ).at_most(1.0, predicted="O(1)"),
    dict(source=ROUTING_CHANCE_CANNOT, group="sizes in stage I: l13-difference"),
)
ours(
    "l13-centre-size-early",
    "Early in stage I the largest expected gradient of an expert along c_n is at most N sigma_0 / M in all "
    "eight cells (with the routing at chance it is at most 0.63 of it, whatever W).",
    function(
        LARGEST_RATIO,
        "expert_centre",
        "mot",
        at=dict(state="early"),
        options=dict(bound=dict(classes=1, start_scale=1, experts=-1)),
    ).at_most(1.0, predicted="O(1)"),
    dict(source=ROUTING_CHANCE_CANNOT_2, group="sizes in stage I: l13-centre"),
)
ours(
    "l13-centre-size",
    "At T1 the largest expected gradient of an expert along c_n is at most N sigma_0 / M in all eight cells "
    "(with the routing at chance it is at most 0.63 of it, whatever W).",
    function(
        LARGEST_RATIO,
        "expert_centre",
        "mot",
        at=dict(state="trained"),
        options=dict(bound=dict(classes=1, start_scale=1, experts=-1)),
    ).at_most(1.0, predicted="O(1)"),
    dict(source=ROUTING_CHANCE_CANNOT_2, group="sizes in stage I: l13-centre"),
)
ours(
    "s51-router-size-early",
    "Early in stage I the largest expected router gradient along v_n is at most sigma_0 in all eight cells.",
    function(
        LARGEST_RATIO, "router_label", "mot", at=dict(state="early"), options=dict(bound=dict(start_scale=1))
    ).at_most(1.0, predicted="O(1)"),
    dict(source=AFTER_PASSES_T1, group="sizes in stage I: s51-router"),
)
ours(
    "s51-router-size",
    "At T1 the largest expected router gradient along v_n is at most sigma_0 in all eight cells.",
    function(
        LARGEST_RATIO, "router_label", "mot", at=dict(state="trained"), options=dict(bound=dict(start_scale=1))
    ).at_most(1.0, predicted="O(1)"),
    dict(source=AFTER_PASSES_T1, group="sizes in stage I: s51-router"),
)
ours(
    "l14-others-size",
    "From what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n, the largest expected growth of another pair "
    "of signals than (v_n, v_n) in stage II, a mean over the experts, is at most sigma_0.",
    function(
        LARGEST_RATIO, "other_growth", "mot", at=dict(state="promised"), options=dict(bound=dict(start_scale=1))
    ).at_most(1.0, predicted="O(1)"),
    source="ours, as a check of MT Lemma 14: (v_n, v_n) itself has no more than 0.0145 of sigma_0 here",
    group="lemma 14 in size: all other pairs, sigma_0 = 0.1 and 0.3",
)
ours(
    "l14-others-size-trained",
    "From where stage I ended the largest expected growth of another pair of signals than (v_n, v_n) in stage "
    "II, a mean over the experts, is at most sigma_0.",
    function(
        LARGEST_RATIO, "other_growth", "mot", at=dict(state="trained"), options=dict(bound=dict(start_scale=1))
    ).at_most(1.0, predicted="O(1)"),
    dict(source=AFTER_STAGE_REACHED, group="lemma 14 after the stage I reached here"),
)
ours(
    "s51-distractor-growth-size",
    "From what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n, the largest expected growth of a nu' W_KQ "
    "v_n', v_n' of another class, in stage II, a mean over the experts, is at most sigma_0.",
    function(
        LARGEST_RATIO, "distractor_growth", "mot", at=dict(state="promised"), options=dict(bound=dict(start_scale=1))
    ).at_most(1.0, predicted="O(1)"),
    group=SIZE_ATTENTION_GRADIENT,
    source="ours, as a check of MT Prop. 2 (Section 5.1 after it): (v_n, v_n) itself has no more than 0.0145 "
    "of sigma_0 here",
)

for tag, case, at in [
    ("", "what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n,", dict(state="promised")),
    ("-trained", "where stage I ended", dict(state="trained")),
]:
    study.ours(
        f"s51-distractor-size{tag}",
        f"From {case} the expected growth or fall of the nu' W_KQ v_n', v_n' of another class, that changes most "
        "in stage II, a mean over the experts, is at most sigma_0.",
        function(LARGEST_RATIO, "distractor_query", "mot", at=at, options=dict(bound=dict(start_scale=1))).at_most(
            1.0, predicted="O(1)"
        ),
        dict(source=AFTER_CHANGE_EITHER, group=SIZE_ATTENTION_GRADIENT, presets=["quick", "paper"]),
    )

for (pairs, pair, variable), (tag, case, at) in itertools.product(
    [
        ("l14-changes", "the pair of signals, other than (v_n, v_n), that changes most", "other_pair"),
        ("l14-centre", "c_n' W_KQ c_n", "centre_pair"),
        ("l14-label-centre", "v_n' W_KQ c_n", "label_centre_pair"),
    ],
    [
        ("", "what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n,", dict(state="promised")),
        ("-trained", "where stage I ended", dict(state="trained")),
    ],
):
    study.ours(
        f"{pairs}-size{tag}",
        f"From {case} the expected growth or fall of {pair} in stage II, a mean over the experts, is at most sigma_0.",
        function(LARGEST_RATIO, variable, "mot", at=at, options=dict(bound=dict(start_scale=1))).at_most(
            1.0, predicted="O(1)"
        ),
        dict(group=f"lemma 14 in size: {pair}", presets=["quick", "paper"]),
        source="ours, on MT Lemma 14: a change in either direction, where O(y) bounds from above alone",
    )

# a bound without M does not grow with it; added after the runs, whose numbers had been seen
study.ours(
    "l11-output-experts-early",
    "Early in stage I the largest output does not grow with M (M = 16, 32).",
    function(
        EXPONENT,
        "output",
        "mot",
        at=dict(state="early", classes=8, experts=32, start_scale=0.1),
        versus_at=dict(state="early", classes=8, experts=16, start_scale=0.1),
        options=dict(target=0),
    ).at_most(0.139, predicted=0),
    dict(source=STEPS_ALONE_SQRT, group="outputs early in stage I", presets=["quick", "paper"]),
)
# preset small: rules of those above, written before the preset ran; two replicates of a trial run had been seen.
# There is no claim on v_n' W_KQ c_n: what is left of it are the draws of the noise tokens in the expectation
study.ours(
    "l11-output-small-early",
    "Early in stage I the largest output goes at least like sigma_0^0.5 (sigma_0 = 10^-8, 10^-6; N = 8, M = 32).",
    function(
        EXPONENT,
        "output",
        "mot",
        at=dict(state="early", classes=8, experts=32, start_scale=1e-06),
        versus_at=dict(state="early", classes=8, experts=32, start_scale=1e-08),
        options=dict(target=2.303),
    ).at_least(1.842, predicted=2.303),
    dict(source=STEPS_ALONE_ANY, group="outputs early in stage I", presets=["small"]),
)
study.claim(
    "l11-output-small",
    "At T1 the largest output goes at least like sigma_0^0.5 (sigma_0 = 10^-8, 10^-6; N = 8, M = 32).",
    function(
        EXPONENT,
        "output",
        "mot",
        at=dict(state="trained", classes=8, experts=32, start_scale=1e-06),
        versus_at=dict(state="trained", classes=8, experts=32, start_scale=1e-08),
        options=dict(target=2.303),
    ).at_least(1.842, predicted=2.303),
    dict(source="MT Lemma 11", group="lemma 11: outputs are O(sigma_0^0.5)", presets=["small"]),
    because="what is O(sigma_0^0.5) falls like that at least; short of it by up to a fifth, which is left for "
    "logarithms, nothing is decided",
)
study.ours(
    "l11-output-experts-small-early",
    "Early in stage I the largest output does not grow with M (M = 16, 32; sigma_0 = 10^-6).",
    function(
        EXPONENT,
        "output",
        "mot",
        at=dict(state="early", classes=8, experts=32, start_scale=1e-06),
        versus_at=dict(state="early", classes=8, experts=16, start_scale=1e-06),
        options=dict(target=0),
    ).at_most(0.139, predicted=0),
    dict(source=STEPS_ALONE_SQRT, group="outputs early in stage I", presets=["small"]),
)
study.claim(
    "l11-output-experts-small",
    "At T1 the largest output does not grow with M (M = 16, 32; sigma_0 = 10^-6).",
    function(
        EXPONENT,
        "output",
        "mot",
        at=dict(state="trained", classes=8, experts=32, start_scale=1e-06),
        versus_at=dict(state="trained", classes=8, experts=16, start_scale=1e-06),
        options=dict(target=0),
    ).at_most(0.139, predicted=0),
    dict(source="MT Lemma 11", group="lemma 11: outputs are O(sigma_0^0.5)", presets=["small"]),
    because="O(sigma_0^0.5) has no M in it, at any epoch of stage I; beyond it by up to a fifth of log 2, "
    "which is left for logarithms, nothing is decided",
)
study.claim(
    "l14-others-small",
    "From what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n, the largest expected growth of another pair "
    "of signals than (v_n, v_n) in stage II goes at least like sigma_0 (sigma_0 = 10^-8, 10^-6; N = 8, M = 32).",
    function(
        EXPONENT,
        "other_growth",
        "mot",
        at=dict(state="promised", classes=8, experts=32, start_scale=1e-06),
        versus_at=dict(state="promised", classes=8, experts=32, start_scale=1e-08),
        options=dict(target=4.605),
    ).at_least(3.684, predicted=4.605),
    dict(source="MT Lemma 14", because=SIGMA_FALLS_LIKE_3, group="lemma 14: all other pairs are O(sigma_0)"),
    presets=["small"],
)
study.claim(
    "s51-distractor-growth-small",
    "From what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n, the largest expected growth of a nu' W_KQ "
    "v_n', v_n' of another class, in stage II goes at least like sigma_0 (sigma_0 = 10^-8, 10^-6; N = 8, M = "
    "32).",
    function(
        EXPONENT,
        "distractor_growth",
        "mot",
        at=dict(state="promised", classes=8, experts=32, start_scale=1e-06),
        versus_at=dict(state="promised", classes=8, experts=32, start_scale=1e-08),
        options=dict(target=4.605),
    ).at_least(3.684, predicted=4.605),
    dict(source="MT Prop. 2 (Section 5.1 after it)", because=SIGMA_FALLS_LIKE_3),
    dict(group="section 5.1: the attention's gradient along v_n' is O(sigma_0)", presets=["small"]),
)
# from where stage I ended it is the number of `l14-others-small-trained`, and no claim of its own
study.ours(
    "s51-distractor-small",
    "From what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n, the expected growth or fall of the nu' W_KQ "
    "v_n', v_n' of another class, that changes most in stage II goes at least like sigma_0 (sigma_0 = 10^-8, "
    "10^-6; N = 8, M = 32).",
    function(
        EXPONENT,
        "distractor_query",
        "mot",
        at=dict(state="promised", classes=8, experts=32, start_scale=1e-06),
        versus_at=dict(state="promised", classes=8, experts=32, start_scale=1e-08),
        options=dict(target=4.605),
    ).at_least(3.684, predicted=4.605),
    dict(source=AFTER_CHANGE_EITHER, group=SIZE_ATTENTION_GRADIENT, presets=["small"]),
)
# this was the paper's until after its run: Appendix E has Proposition 1 before the lemma, and the routing is at
# chance here
study.ours(
    "l14-others-small-trained",
    "From where stage I ended the largest expected growth of another pair of signals than (v_n, v_n) in stage "
    "II goes at least like sigma_0 (sigma_0 = 10^-8, 10^-6; N = 8, M = 32).",
    function(
        EXPONENT,
        "other_growth",
        "mot",
        at=dict(state="trained", classes=8, experts=32, start_scale=1e-06),
        versus_at=dict(state="trained", classes=8, experts=32, start_scale=1e-08),
        options=dict(target=4.605),
    ).at_least(3.684, predicted=4.605),
    dict(source=AFTER_STAGE_REACHED, group="lemma 14 after the stage I reached here", presets=["small"]),
)

for (pairs, pair, variable), (tag, case, at, versus_at) in itertools.product(
    [
        ("l14-changes", "the pair of signals, other than (v_n, v_n), that changes most", "other_pair"),
        ("l14-centre", "c_n' W_KQ c_n", "centre_pair"),
    ],
    [
        (
            "",
            "what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n,",
            dict(state="promised", classes=8, experts=32, start_scale=1e-06),
            dict(state="promised", classes=8, experts=32, start_scale=1e-08),
        ),
        (
            "-trained",
            "where stage I ended",
            dict(state="trained", classes=8, experts=32, start_scale=1e-06),
            dict(state="trained", classes=8, experts=32, start_scale=1e-08),
        ),
    ],
):
    study.ours(
        f"{pairs}-small{tag}",
        f"From {case} the expected growth or fall of {pair} in stage II goes at least like sigma_0 (sigma_0 = "
        "10^-8, 10^-6; N = 8, M = 32).",
        function(EXPONENT, variable, "mot", at=at, versus_at=versus_at, options=dict(target=4.605)).at_least(
            3.684, predicted=4.605
        ),
        dict(group=f"lemma 14 in size: {pair}", presets=["small"]),
        source="ours, on MT Lemma 14: a change in either direction, its bound read as an order",
    )

study.claim(
    "l14-others-size-small",
    "From what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n, the largest expected growth of another pair "
    "of signals than (v_n, v_n) in stage II, a mean over the experts, is at most sigma_0 = 10^-8 (N = 8; M = "
    "16, 32).",
    function(
        LARGEST_RATIO,
        "other_growth",
        "mot",
        at=dict(state="promised", start_scale=1e-08),
        options=dict(bound=dict(start_scale=1)),
    ).at_most(1.0, predicted="O(1)"),
    dict(source="MT Lemma 14", because="O(sigma_0) is read with the constant 1, which the paper leaves open"),
    dict(group="lemma 14: all other pairs are O(sigma_0)", presets=["small"]),
)

for pairs, pair, variable in [
    ("l14-changes", "the pair of signals, other than (v_n, v_n), that changes most", "other_pair"),
    ("l14-centre", "c_n' W_KQ c_n", "centre_pair"),
]:
    study.ours(
        f"{pairs}-size-small",
        f"From what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n, the expected growth or fall of {pair} "
        "in stage II, a mean over the experts, is at most sigma_0 = 10^-8 (N = 8; M = 16, 32).",
        function(
            LARGEST_RATIO,
            variable,
            "mot",
            at=dict(state="promised", start_scale=1e-08),
            options=dict(bound=dict(start_scale=1)),
        ).at_most(1.0, predicted="O(1)"),
        dict(group=f"lemma 14 in size: {pair}", presets=["small"]),
        source="ours, on MT Lemma 14: a change in either direction, where O(y) bounds from above alone",
    )

# Lemma 14 has a lower bound, Omega(N sigma_0^0.5 / M), which leaves room on the other side; came after the run
study.claim(
    "l14-own-experts",
    "From what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n, the growth of v_n' W_KQ v_n falls no faster "
    "than 1/M (M = 16, 32).",
    function(
        EXPONENT,
        "own_pair",
        "mot",
        at=dict(state="promised", classes=8, experts=32, start_scale=0.1),
        versus_at=dict(state="promised", classes=8, experts=16, start_scale=0.1),
        options=dict(target=-0.693),
    ).at_least(-0.832, predicted=-0.693),
    dict(source="MT Lemma 14", because=OMEGA_SIGMA_FALLS, presets=["quick", "paper"]),
)
study.claim(
    "l14-own-sigma",
    "From what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n, the growth of v_n' W_KQ v_n falls no faster "
    "than sigma_0^0.5 (N = 8, M = 32).",
    function(
        EXPONENT,
        "own_pair",
        "mot",
        at=dict(state="promised", classes=8, experts=32, start_scale=0.3),
        versus_at=dict(state="promised", classes=8, experts=32, start_scale=0.1),
        options=dict(target=0.549),
    ).at_most(0.659, predicted=0.549),
    dict(source="MT Lemma 14", because=OMEGA_SIGMA_FALLS, presets=["quick", "paper"]),
)
# by Lemma 12 the gradient along v_n is N^-2 of that along c_n, log -4.16 at N = 8, but for constants, which do not
# drop out here: half is asked for; came after the run, its mean known
study.claim(
    "l12-dominated-early",
    "Early in stage I the router's largest expected gradient along v_n is at most half of that along c_n (N = "
    "8, M = 32, sigma_0 = 0.1).",
    log_ratio(
        "router_label",
        "mot",
        at=dict(state="early", classes=8, experts=32, start_scale=0.1),
        versus_variable="router_centre",
    ).at_most(-0.693, predicted=-4.159),
    dict(source="MT Section 5.1 (after Prop. 1), Lemma 12", because=ROUTER_DECISIONS_BECOME),
    dict(group="section 5.1: the class signal dominates the router", presets=["quick", "paper"]),
)
study.claim(
    "l12-dominated",
    "At T1 the router's largest expected gradient along v_n is at most half of that along c_n (N = 8, M = 32, "
    "sigma_0 = 0.1).",
    log_ratio(
        "router_label",
        "mot",
        at=dict(state="trained", classes=8, experts=32, start_scale=0.1),
        versus_variable="router_centre",
    ).at_most(-0.693, predicted=-4.159),
    dict(source="MT Section 5.1 (after Prop. 1), Lemma 12", because=ROUTER_DECISIONS_BECOME),
    dict(group="section 5.1: the class signal dominates the router", presets=["quick", "paper"]),
)
study.claim(
    "l14-own",
    "From what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n, v_n' W_KQ v_n grows in stage II (N = 8, M = "
    "32, sigma_0 = 0.1).",
    mean("own_pair", "mot", at=dict(state="promised", classes=8, experts=32, start_scale=0.1)).at_least(
        0.0, predicted="> 0"
    ),
    dict(source="MT Lemma 14", because="Omega(N sigma_0^0.5 / M) is positive"),
    dict(group="lemma 14: the own pair grows", presets=["quick", "paper"]),
)
study.ours(
    "l14-own-trained",
    "From where stage I ended v_n' W_KQ v_n grows in stage II (N = 8, M = 32, sigma_0 = 0.1).",
    mean("own_pair", "mot", at=dict(state="trained", classes=8, experts=32, start_scale=0.1)).at_least(
        0.0, predicted="> 0"
    ),
    dict(source=AFTER_STAGE_REACHED, group="the own pair after the stage I reached here"),
    presets=["quick", "paper"],
)
study.claim(
    "l14-own-8-32-03",
    "From what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n, v_n' W_KQ v_n grows in stage II (N = 8, M = "
    "32, sigma_0 = 0.3).",
    mean("own_pair", "mot", at=dict(state="promised", classes=8, experts=32, start_scale=0.3)).at_least(
        0.0, predicted="> 0"
    ),
    dict(source="MT Lemma 14", because="Omega(N sigma_0^0.5 / M) is positive"),
    dict(group="lemma 14: the own pair grows", presets=["quick", "paper"]),
)
study.ours(
    "l14-own-trained-8-32-03",
    "From where stage I ended v_n' W_KQ v_n grows in stage II (N = 8, M = 32, sigma_0 = 0.3).",
    mean("own_pair", "mot", at=dict(state="trained", classes=8, experts=32, start_scale=0.3)).at_least(
        0.0, predicted="> 0"
    ),
    dict(source=AFTER_STAGE_REACHED, group="the own pair after the stage I reached here"),
    presets=["quick", "paper"],
)
study.claim(
    "l14-own-8-16-01",
    "From what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n, v_n' W_KQ v_n grows in stage II (N = 8, M = "
    "16, sigma_0 = 0.1).",
    mean("own_pair", "mot", at=dict(state="promised", classes=8, experts=16, start_scale=0.1)).at_least(
        0.0, predicted="> 0"
    ),
    dict(source="MT Lemma 14", because="Omega(N sigma_0^0.5 / M) is positive"),
    dict(group="lemma 14: the own pair grows", presets=["quick", "paper"]),
)
study.ours(
    "l14-own-trained-8-16-01",
    "From where stage I ended v_n' W_KQ v_n grows in stage II (N = 8, M = 16, sigma_0 = 0.1).",
    mean("own_pair", "mot", at=dict(state="trained", classes=8, experts=16, start_scale=0.1)).at_least(
        0.0, predicted="> 0"
    ),
    dict(source=AFTER_STAGE_REACHED, group="the own pair after the stage I reached here"),
    presets=["quick", "paper"],
)
study.claim(
    "l14-own-8-16-03",
    "From what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n, v_n' W_KQ v_n grows in stage II (N = 8, M = "
    "16, sigma_0 = 0.3).",
    mean("own_pair", "mot", at=dict(state="promised", classes=8, experts=16, start_scale=0.3)).at_least(
        0.0, predicted="> 0"
    ),
    dict(source="MT Lemma 14", because="Omega(N sigma_0^0.5 / M) is positive"),
    dict(group="lemma 14: the own pair grows", presets=["quick", "paper"]),
)
study.ours(
    "l14-own-trained-8-16-03",
    "From where stage I ended v_n' W_KQ v_n grows in stage II (N = 8, M = 16, sigma_0 = 0.3).",
    mean("own_pair", "mot", at=dict(state="trained", classes=8, experts=16, start_scale=0.3)).at_least(
        0.0, predicted="> 0"
    ),
    dict(source=AFTER_STAGE_REACHED, group="the own pair after the stage I reached here"),
    presets=["quick", "paper"],
)
study.claim(
    "l14-own-4-32-01",
    "From what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n, v_n' W_KQ v_n grows in stage II (N = 4, M = "
    "32, sigma_0 = 0.1).",
    mean("own_pair", "mot", at=dict(state="promised", classes=4, experts=32, start_scale=0.1)).at_least(
        0.0, predicted="> 0"
    ),
    dict(source="MT Lemma 14", because="Omega(N sigma_0^0.5 / M) is positive"),
    dict(group="lemma 14: the own pair grows", presets=["quick", "paper"]),
)
study.ours(
    "l14-own-trained-4-32-01",
    "From where stage I ended v_n' W_KQ v_n grows in stage II (N = 4, M = 32, sigma_0 = 0.1).",
    mean("own_pair", "mot", at=dict(state="trained", classes=4, experts=32, start_scale=0.1)).at_least(
        0.0, predicted="> 0"
    ),
    dict(source=AFTER_STAGE_REACHED, group="the own pair after the stage I reached here"),
    presets=["quick", "paper"],
)
study.claim(
    "l14-own-4-32-03",
    "From what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n, v_n' W_KQ v_n grows in stage II (N = 4, M = "
    "32, sigma_0 = 0.3).",
    mean("own_pair", "mot", at=dict(state="promised", classes=4, experts=32, start_scale=0.3)).at_least(
        0.0, predicted="> 0"
    ),
    dict(source="MT Lemma 14", because="Omega(N sigma_0^0.5 / M) is positive"),
    dict(group="lemma 14: the own pair grows", presets=["quick", "paper"]),
)
study.ours(
    "l14-own-trained-4-32-03",
    "From where stage I ended v_n' W_KQ v_n grows in stage II (N = 4, M = 32, sigma_0 = 0.3).",
    mean("own_pair", "mot", at=dict(state="trained", classes=4, experts=32, start_scale=0.3)).at_least(
        0.0, predicted="> 0"
    ),
    dict(source=AFTER_STAGE_REACHED, group="the own pair after the stage I reached here"),
    presets=["quick", "paper"],
)
study.claim(
    "l14-own-4-16-01",
    "From what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n, v_n' W_KQ v_n grows in stage II (N = 4, M = "
    "16, sigma_0 = 0.1).",
    mean("own_pair", "mot", at=dict(state="promised", classes=4, experts=16, start_scale=0.1)).at_least(
        0.0, predicted="> 0"
    ),
    dict(source="MT Lemma 14", because="Omega(N sigma_0^0.5 / M) is positive"),
    dict(group="lemma 14: the own pair grows", presets=["quick", "paper"]),
)
study.ours(
    "l14-own-trained-4-16-01",
    "From where stage I ended v_n' W_KQ v_n grows in stage II (N = 4, M = 16, sigma_0 = 0.1).",
    mean("own_pair", "mot", at=dict(state="trained", classes=4, experts=16, start_scale=0.1)).at_least(
        0.0, predicted="> 0"
    ),
    dict(source=AFTER_STAGE_REACHED, group="the own pair after the stage I reached here"),
    presets=["quick", "paper"],
)
study.claim(
    "l14-own-4-16-03",
    "From what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n, v_n' W_KQ v_n grows in stage II (N = 4, M = "
    "16, sigma_0 = 0.3).",
    mean("own_pair", "mot", at=dict(state="promised", classes=4, experts=16, start_scale=0.3)).at_least(
        0.0, predicted="> 0"
    ),
    dict(source="MT Lemma 14", because="Omega(N sigma_0^0.5 / M) is positive"),
    dict(group="lemma 14: the own pair grows", presets=["quick", "paper"]),
)
study.ours(
    "l14-own-trained-4-16-03",
    "From where stage I ended v_n' W_KQ v_n grows in stage II (N = 4, M = 16, sigma_0 = 0.3).",
    mean("own_pair", "mot", at=dict(state="trained", classes=4, experts=16, start_scale=0.3)).at_least(
        0.0, predicted="> 0"
    ),
    dict(source=AFTER_STAGE_REACHED, group="the own pair after the stage I reached here"),
    presets=["quick", "paper"],
)
# the first rule, at least 0, was on the value itself, -0.000 [-0.015, 0.015] in the preset paper, and nothing could
# be told by it; the one here, a fifth left for the spread as elsewhere in this file, came after that was known
study.claim(
    "l14-classes",
    "From what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n, the growth of v_n' W_KQ v_n goes at least "
    "like N (N = 4, 8; M = 32, sigma_0 = 0.1).",
    function(
        EXPONENT,
        "own_pair",
        "mot",
        at=dict(state="promised", classes=8, experts=32, start_scale=0.1),
        versus_at=dict(state="promised", classes=4, experts=32, start_scale=0.1),
        options=dict(target=0.693),
    ).at_least(0.554, predicted=0.693),
    dict(source="MT Lemma 14", presets=["quick", "paper"]),
    because="Omega(N sigma_0^0.5 / M) grows like N at least, which is read between N = 4 and 8; short of it by "
    "up to a fifth, which is left for logarithms, nothing is decided",
)

# which pairs are not O(sigma_0); rules as above, and the values at the promised state known from trial draws: 0.43
# for (c_n, c_n), 1.33 for (key v_n, query c_n) and 0.46 for queries v_n'
for id_, pair, variable in [
    ("l14-changes", "the pair of signals, other than (v_n, v_n), that changes most", "other_pair"),
    ("l14-centre", "c_n' W_KQ c_n", "centre_pair"),
    ("l14-label-centre", "v_n' W_KQ c_n", "label_centre_pair"),
]:
    study.ours(
        id_,
        f"From what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n, the expected growth or fall of {pair} "
        "in stage II goes at least like sigma_0 (N = 8, M = 32).",
        function(
            EXPONENT,
            variable,
            "mot",
            at=dict(state="promised", classes=8, experts=32, start_scale=0.3),
            versus_at=dict(state="promised", classes=8, experts=32, start_scale=0.1),
            options=dict(target=1.099),
        ).at_least(0.879, predicted=1.099),
        dict(group=f"lemma 14 in size: {pair}", presets=["quick", "paper"]),
        source="ours, on MT Lemma 14: a change in either direction, its bound read as an order",
    )

# growth is the paper's and size ours, as above; of the growth nothing had been seen at these sigma_0 when its rule
# was written but a log ratio of 1.34 in a trial run without noise in the tokens
study.claim(
    "s51-distractor-growth",
    "From what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n, the largest expected growth of a nu' W_KQ "
    "v_n', v_n' of another class, in stage II goes at least like sigma_0 (N = 8, M = 32).",
    function(
        EXPONENT,
        "distractor_growth",
        "mot",
        at=dict(state="promised", classes=8, experts=32, start_scale=0.3),
        versus_at=dict(state="promised", classes=8, experts=32, start_scale=0.1),
        options=dict(target=1.099),
    ).at_least(0.879, predicted=1.099),
    dict(group="section 5.1: the attention's gradient along v_n' is O(sigma_0)", presets=["quick", "paper"]),
    source="MT Prop. 2 (Section 5.1 after it)",
    because="E[grad L^e . v_n'] of W_KQ is driven down to O(sigma_0) by samples with both signs of v_n'; what "
    "is O(sigma_0) falls like sigma_0 at least; short of it by up to a fifth, which is left for logarithms, "
    "nothing is decided",
)
study.ours(
    "s51-distractor",
    "From what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n, the largest expected growth or fall of a "
    "nu' W_KQ v_n', v_n' of another class, in stage II goes at least like sigma_0 (N = 8, M = 32).",
    function(
        EXPONENT,
        "distractor_query",
        "mot",
        at=dict(state="promised", classes=8, experts=32, start_scale=0.3),
        versus_at=dict(state="promised", classes=8, experts=32, start_scale=0.1),
        options=dict(target=1.099),
    ).at_least(0.879, predicted=1.099),
    dict(source=AFTER_CHANGE_EITHER, group=SIZE_ATTENTION_GRADIENT, presets=["quick", "paper"]),
)
claim = partial(
    study.claim,
    source="MT Appendix D",
    because=GAP_THETA_SQRT,
    group="appendix D: the expected step widens the gap",
    presets=["quick", "paper"],
)
# came after the run, the numbers of l12-label-sigma-early and l12-label-sigma known
claim(
    "s51-router-early",
    "Early in stage I the largest expected router gradient along v_n goes at least like sigma_0 (N = 8, M = 32).",
    function(
        EXPONENT,
        "router_label",
        "mot",
        at=dict(state="early", classes=8, experts=32, start_scale=0.3),
        versus_at=dict(state="early", classes=8, experts=32, start_scale=0.1),
        options=dict(target=1.099),
    ).at_least(0.879, predicted=1.099),
    source="MT Section 5.1 (after Prop. 1)",
    group="section 5.1: the router's gradient along v_n is O(sigma_0)",
    because="E[grad L^r . v_n] shrinks to O(sigma_0) during the exploration; what is O(sigma_0) falls like "
    "sigma_0 at least; short of it by up to a fifth, which is left for logarithms, nothing is decided",
)
claim(
    "gap-step-start",
    "At the start the expected step against the gradient raises <W, v> of an expert's own class by more than "
    "that of the others (N = 8, M = 32, sigma_0 = 0.1).",
    mean("gap_growth", "mot", at=dict(state="start", classes=8, experts=32, start_scale=0.1)).at_least(
        0.0, predicted="> 0"
    ),
)
claim(
    "gap-step-early",
    "Early in stage I the expected step against the gradient raises <W, v> of an expert's own class by more "
    "than that of the others (N = 8, M = 32, sigma_0 = 0.1).",
    mean("gap_growth", "mot", at=dict(state="early", classes=8, experts=32, start_scale=0.1)).at_least(
        0.0, predicted="> 0"
    ),
)
claim(
    "gap-step",
    "At T1 the expected step against the gradient raises <W, v> of an expert's own class by more than that of "
    "the others (N = 8, M = 32, sigma_0 = 0.1).",
    mean("gap_growth", "mot", at=dict(state="trained", classes=8, experts=32, start_scale=0.1)).at_least(
        0.0, predicted="> 0"
    ),
)
claim(
    "gap-step-start-large",
    "At the start the expected step against the gradient raises <W, v> of an expert's own class by more than "
    "that of the others (N = 8, M = 32, sigma_0 = 0.3).",
    mean("gap_growth", "mot", at=dict(state="start", classes=8, experts=32, start_scale=0.3)).at_least(
        0.0, predicted="> 0"
    ),
)
claim(
    "gap-step-early-large",
    "Early in stage I the expected step against the gradient raises <W, v> of an expert's own class by more "
    "than that of the others (N = 8, M = 32, sigma_0 = 0.3).",
    mean("gap_growth", "mot", at=dict(state="early", classes=8, experts=32, start_scale=0.3)).at_least(
        0.0, predicted="> 0"
    ),
)
study.ours(
    "gap-step-promised",
    "From what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n and class-pure routing, the expected step "
    "against the gradient raises <W, v> of an expert's own class by more than that of the others (N = 8, M = "
    "32, sigma_0 = 0.1).",
    mean("gap_growth", "mot", at=dict(state="promised", classes=8, experts=32, start_scale=0.1)).at_least(
        0.0, predicted="> 0"
    ),
    dict(group="the expected step with class-pure routing", presets=["quick", "paper"]),
    source="ours, on MT Appendix D: class-pure routing widens the gap from any W",
)
study.ours(
    "gap-step-promised-large",
    "From what Proposition 1 promises, W = W_0 + sqrt(sigma_0) v_n and class-pure routing, the expected step "
    "against the gradient raises <W, v> of an expert's own class by more than that of the others (N = 8, M = "
    "32, sigma_0 = 0.3).",
    mean("gap_growth", "mot", at=dict(state="promised", classes=8, experts=32, start_scale=0.3)).at_least(
        0.0, predicted="> 0"
    ),
    dict(group="the expected step with class-pure routing", presets=["quick", "paper"]),
    source="ours, on MT Appendix D: class-pure routing widens the gap from any W",
)
study.claim(
    "gap-step-large",
    "At T1 the expected step against the gradient raises <W, v> of an expert's own class by more than that of "
    "the others (N = 8, M = 32, sigma_0 = 0.3).",
    mean("gap_growth", "mot", at=dict(state="trained", classes=8, experts=32, start_scale=0.3)).at_least(
        0.0, predicted="> 0"
    ),
    dict(source="MT Appendix D", because=GAP_THETA_SQRT, group="appendix D: the expected step widens the gap"),
    presets=["quick", "paper"],
)

# --- what the verdicts say: each text is shown only where they are so ---
study.finding(
    {"l5-weights": "supported", "l5-attention": "supported", "l6-order": "supported"},
    "The start is as Lemmas 5 and 6 have it.",
)
study.finding(
    {
        "l12-size*": "no counterexample",
        "l13-difference-size*": "no counterexample",
        "l13-centre-size*": "no counterexample",
    },
    "In stage I the bounds of Lemmas 12 and 13 hold in size in every cell, with much room, but for that of the "
    "router along v_n, to which the constant matters; with the routing at chance those of Lemma 13 could not "
    "fail.",
)
study.finding(
    {"l12-experts-early": "supported", "l13-difference-experts-early": "supported"},
    "Early in stage I the router's gradient along c_n goes like M^-2 and the difference of an expert's "
    "gradients along its own class and the others like 1/M in size, as Lemmas 12 and 13 have it.",
)
study.finding(
    {"l12-experts-early": "inconclusive", "l13-difference-experts-early": "inconclusive"},
    "Early in stage I the router's gradient along c_n falls with M a little more slowly than M^-2, and the "
    "difference of an expert's gradients along its own class and the others than 1/M: by no more than a "
    "logarithm might take, so that Lemmas 12 and 13 are neither shown nor denied there.",
)
study.finding(
    {"gap-step-start": "not supported", "gap-step-early": "not supported", "gap-step": "not supported"},
    "But that difference has the other sign: with eta_r = eta the expected step of stage I narrows an expert's "
    "gap, which Appendix D has it widen.",
)
study.finding(
    {"l12-classes-early": "not supported"},
    "The router's gradient along v_n is not smaller by 1/N^2, as Lemma 12 has it, early in stage I.",
)
study.finding(
    {"l12-dominated-early": "not supported", "l12-dominated": "not supported"},
    "The router's gradient is as large along v_n as along c_n, early in stage I and at T1: the class signal "
    "does not dominate it.",
)
study.finding(
    {"l12-sigma": "not supported", "l13-difference-sigma": "not supported"},
    "At T1, where outputs have stopped growing, the gradients of Lemmas 12 and 13 do not depend on sigma_0 any "
    "more: they are below their bounds and not of their order.",
)
study.finding(
    {"l11-output-small": "inconclusive", "l11-output-experts-small": "not supported"},
    "At small sigma_0 outputs at T1 go nearly like sigma_0^0.5, within what a logarithm might take, and they "
    "grow with M, of which Lemma 11 has nothing.",
)
study.finding(
    {"l14-others": "supported", "l14-others-size": "no counterexample", "l14-others-size-trained": "no counterexample"},
    "From sigma_0 = 0.1 on the growth of every other pair is a small part of sigma_0, and from what Proposition "
    "1 promises it goes like sigma_0 at least, as Lemma 14 has it.",
)
study.finding(
    {"l14-others-small-trained": "not supported"},
    "At small sigma_0, from where stage I ended, with the routing at chance, the growth of other pairs goes "
    "like sigma_0^0.5.",
)
study.finding(
    {"l14-others-small": "supported", "s51-distractor-growth-small": "supported"},
    "At small sigma_0, from what Proposition 1 promises and without noise in the tokens, the growth of every "
    "other pair goes like sigma_0, as Lemma 14 has it, and that for queries v_n' of another class, as Section "
    "5.1 has it.",
)
study.finding(
    {"l14-changes-small": "not supported", "l14-centre-small": "not supported"},
    "In size O(sigma_0) is not what other pairs have, but that is a fall, which the paper's O allows: from what "
    "Proposition 1 promises (c_n, c_n), which the proof computes, falls like sigma_0^0.5, and by more than "
    "sigma_0 in the end.",
)
study.finding(
    {"l14-centre": "not supported", "l14-label-centre": "supported"},
    "Of the other pairs c_n' W_KQ c_n, which the proof of Lemma 14 computes, falls from what Proposition 1 "
    "promises, and not like sigma_0 in size, as <W, v_n> stands in the softmax's Jacobian; v_n' W_KQ c_n goes "
    "like sigma_0, over both labels.",
)
study.finding(
    {"s51-router-early": "supported"},
    "Early in stage I the router's gradient along v_n goes like sigma_0, as Section 5.1 has it.",
)
study.finding(
    {"s51-router-early": "inconclusive", "l13-centre-early": "inconclusive"},
    "Early in stage I the router's gradient along v_n, and that of an expert along c_n, go nearly like sigma_0: "
    "whether they do is open.",
)
study.finding(
    {
        "l14-own": "supported",
        "l14-own-8-32-03": "supported",
        "l14-own-8-16-01": "supported",
        "l14-own-8-16-03": "supported",
        "l14-own-4-32-01": "supported",
        "l14-own-4-32-03": "supported",
        "l14-own-4-16-01": "supported",
        "l14-own-4-16-03": "supported",
    },
    "From what Proposition 1 promises the attention of v_n to itself grows in stage II, as Lemma 14 has it, in "
    "every cell.",
)
study.finding(
    {"l14-own-trained": "supported", "l14-own-trained-4-32-03": "not supported"},
    "From where stage I ends it grows in some cells and not in others: at N = 4, M = 32, sigma_0 = 0.3 it falls.",
)

study.figure(
    kind="lines",
    title="Expected gradients by sigma_0 (N = 8, M = 32)",
    x="start_scale",
    xlabel="sigma_0",
    hue="state",
    columns=3,
    panels=[
        dict(title="router along c_n", variable="router_centre", ylabel="gradient"),
        dict(title="router along v_n", variable="router_label", ylabel="gradient"),
        dict(title="expert: own class against others, size", variable="class_difference", ylabel="gradient"),
        dict(title="expert along c_n", variable="expert_centre", ylabel="gradient"),
        dict(title="other pairs of signals, growth", variable="other_growth", ylabel="growth"),
        dict(title="query v_n' of another class, growth", variable="distractor_growth", ylabel="growth"),
        dict(title="other pairs of signals, either direction", variable="other_pair", ylabel="change"),
        dict(title="pair (c_n, c_n)", variable="centre_pair", ylabel="change"),
        dict(title="key v_n, query c_n", variable="label_centre_pair", ylabel="change"),
        dict(title="outputs", variable="output", ylabel="|f|"),
    ],
    options=dict(at=dict(classes=8, experts=32), share_y=False),
    caption="Geometric means over replicates with 95 % intervals.",
)
