"""How long do stages I and II take, by the number of experts? (mixture-of-transformers, T1 and T2)."""

from functools import partial

from moestat import Study
from moestat.study.rules import difference, function

GROWTH = "studies.mixture_of_transformers.parts.rules_censored:growth"
MEDIAN_SLOPE = "studies.mixture_of_transformers.parts.rules:median_slope"
MEDIAN_SLOPE_BOUNDS = "studies.mixture_of_transformers.parts.rules_censored:median_slope_bounds"

study = Study(
    "Do stages I and II take longer with more experts?",
    paper="mixture-of-transformers",
    source="MT Propositions 1 and 2, Fig. 2b",
    question="T1 = O(M / (eta sqrt(sigma_0))) and T2 - T1 = O(M / (eta_a sqrt(sigma_0) N)). Do the stages take "
    "times proportional to M?",
    experiment="mot",
    seed=20260707,
    scale="reduced",
    settings=dict(
        specialise_steps=5000,
        attention_steps=400,
        tuning_steps=0,
        records_per_decade=20,
        gap_level=0.6,
        attention_level=0.3,
        test_samples=500,
        expert_slots=32,
    ),
    grid=dict(experts=[4, 8, 16, 32]),
    summaries=[
        "steps_to_gap_reached",
        "steps_to_loss_reached",
        "steps_to_attention_reached",
        "steps_to_quarter_reached",
        "after_covered",
        "after_experts_used",
        "after_test_loss",
    ],
)

study.preset("quick", "20 replicates.", expected="about 100 s on 2 cores", replicates=20, block=2)

study.preset(
    "paper",
    "Stage I: 60 replicates, M to 128, and 20 000 steps, since the time to the gap grows with M.",
    expected="about 15 minutes on 2 cores",
    replicates=60,
    block=1,
    grid=dict(experts=[4, 8, 16, 32, 64, 128]),
    settings=dict(specialise_steps=20_000, expert_slots=128),
)

study.arm("mot", "MoT")

ours = partial(study.ours, source="ours, on MT Section 6: sigma_0 = 3, eta_r = 10^5 eta", group="T1 grows with M")
# --- claims: the verdict says which rules were edited or added after the run ---
ours(
    "t1-gap-grows",
    "The median time to a specialisation gap of 0.6 grows with M: exponent above 0 (M >= 8).",
    function(GROWTH, "steps_to_gap", "mot", options=dict(least=8)).at_least(0.0, predicted="> 0"),
)
ours(
    "t1-loss-grows",
    "The median time to a test loss of 0.1 grows with M: exponent above 0 (M >= 8).",
    function(GROWTH, "steps_to_loss", "mot", options=dict(least=8)).at_least(0.0, predicted="> 0"),
)
ours(
    "t2-attention-grows",
    "The median time of stage II to p(v_n, v_n) = 0.3 grows with M: exponent above 0 (M >= 8).",
    function(GROWTH, "steps_to_attention", "mot", options=dict(least=8)).at_least(0.0, predicted="> 0"),
    dict(group="T2 grows with M", presets=["quick"]),
)
study.ours(
    "t2-loss-grows",
    "The median time of stage II to a quarter of the training loss grows with M: exponent above 0 (M >= 8).",
    function(GROWTH, "steps_to_quarter", "mot", options=dict(least=8)).at_least(0.0, predicted="> 0"),
    dict(source="ours, on MT Section 6: sigma_0 = 3, eta_r = 10^5 eta", group="T2 grows with M"),
    presets=["quick"],
)
# the bound read as an order, with margins of ours
study.ours(
    "t1-gap",
    "The median time to a specialisation gap of 0.6 goes like M: exponent within 0.4 of 1 (M >= 8).",
    function(MEDIAN_SLOPE, "steps_to_gap", "mot", options=dict(least=8)).within(0.6, 1.4, predicted=1),
    source="ours, on MT Prop. 1: the bound read as an order",
)
study.ours(
    "t1-loss",
    "The median time to a test loss of 0.1 goes like M: exponent at least 0.5 (M >= 8).",
    function(MEDIAN_SLOPE, "steps_to_loss", "mot", options=dict(least=8)).at_least(0.5, predicted=1),
    source="ours, on MT Prop. 1: the bound read as an order",
)
study.ours(
    "t2-attention",
    "The median time of stage II to p(v_n, v_n) = 0.3 goes like M: exponent at least 0.5 (M >= 8).",
    function(MEDIAN_SLOPE, "steps_to_attention", "mot", options=dict(least=8)).at_least(0.5, predicted=1),
    dict(source="ours, on MT Prop. 2: the bound read as an order", presets=["quick"]),
)
study.ours(
    "t2-loss",
    "The median time of stage II to a quarter of the training loss goes like M: exponent at least 0.5 (M >= 8).",
    function(MEDIAN_SLOPE, "steps_to_quarter", "mot", options=dict(least=8)).at_least(0.5, predicted=1),
    dict(source="ours, on MT Prop. 2: the bound read as an order", presets=["quick"]),
)
study.ours(
    "t1-gap-bound",
    "The median time to a specialisation gap of 0.6 grows no faster than M: exponent at most 1.25, censored "
    "medians as late as can be (M >= 8).",
    function(MEDIAN_SLOPE_BOUNDS, "steps_to_gap", "mot", options=dict(least=8)).at_most(1.25, predicted="<= 1"),
    dict(source="ours, on MT Prop. 1: sigma_0 = 3, eta_r = 10^5 eta", group="T1 = O(M)"),
)
study.ours(
    "t1-loss-bound",
    "The median time to a test loss of 0.1 grows no faster than M: exponent at most 1.25, censored medians as "
    "late as can be (M >= 8).",
    function(MEDIAN_SLOPE_BOUNDS, "steps_to_loss", "mot", options=dict(least=8)).at_most(1.25, predicted="<= 1"),
    dict(source="ours, on MT Prop. 1: sigma_0 = 3, eta_r = 10^5 eta", group="T1 = O(M)"),
)
study.ours(
    "t2-attention-bound",
    "The median time of stage II to p(v_n, v_n) = 0.3 grows no faster than M: exponent at most 1.25, censored "
    "medians as late as can be (M >= 8).",
    function(MEDIAN_SLOPE_BOUNDS, "steps_to_attention", "mot", options=dict(least=8)).at_most(1.25, predicted="<= 1"),
    dict(source="ours, on MT Prop. 2: sigma_0 = 3, eta_r = 10^5 eta", group="T2 = O(M)", presets=["quick"]),
)
study.ours(
    "t2-loss-bound",
    "The median time of stage II to a quarter of the training loss grows no faster than M: exponent at most "
    "1.25, censored medians as late as can be (M >= 8).",
    function(MEDIAN_SLOPE_BOUNDS, "steps_to_quarter", "mot", options=dict(least=8)).at_most(1.25, predicted="<= 1"),
    dict(source="ours, on MT Prop. 2: sigma_0 = 3, eta_r = 10^5 eta", group="T2 = O(M)", presets=["quick"]),
)
study.ours(
    "few-experts",
    "Fewer runs reach a test loss of 0.1 in stage I with M = 4 < N log N than with M = 8.",
    difference("steps_to_loss_reached", "mot", at=dict(experts=4), versus_at=dict(experts=8)).at_most(
        0.0, predicted="< 0"
    ),
    source="ours, on MT Prop. 1 (M = Omega(N log N)): sigma_0 = 3, eta_r = 10^5 eta",
)

# --- what the verdicts say: each text is shown only where they are so ---
study.finding(
    {"t1-loss-grows": "inconclusive"},
    "Whether it takes stage I longer to get to a low test loss with more experts is open: fewer runs get there, "
    "and of those that do the time hardly grows.",
)
study.finding(
    {"t1-loss": "not supported"}, "The time of stage I to a low test loss does not grow like sqrt(M) or faster."
)
study.finding(
    {"t2-loss": "not supported"},
    "The time of stage II to a quarter of the training loss does not grow like sqrt(M) or faster.",
)
study.finding(
    {"few-experts": "supported"},
    "With M = 4 < N log N fewer runs get to a low loss: that part of Proposition 1 (M = Omega(N log N)) shows.",
)

study.figure(
    kind="function",
    title="Steps until a stage has done its work",
    function="studies.mixture_of_transformers.parts.waiting_figure:stage_lengths",
    options=dict(arm="mot", variables=["steps_to_gap", "steps_to_loss", "steps_to_attention", "steps_to_quarter"]),
    caption="Dots: runs; above: how many of the replicates did not get there; the median is drawn where at "
    "least half did. Dashed: proportional to M.",
)
