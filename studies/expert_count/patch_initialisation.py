"""Equal or independent initial weights over patches (expert-count, Lemmas 2 and 3)."""

from moestat import Study
from moestat.study.rules import difference, mean

EQUAL_WEIGHTS_ERROR = (
    "from equal weights the error on the expert's own cluster is o(1), from independent ones it is Omega(1/K) on each"
)

# sigma_0 = 0.1 and 0.3 in the paper's units, since the inputs are multiplied by 10
study = Study(
    "Do experts specialise only when their weights start equal over patches?",
    paper="expert-count",
    source="EC Lemmas 2 and 3",
    question="The lemmas say: from equal initial weights an expert masters its own cluster, from independent "
    "ones no cluster. Does it, and does the mixture gain accuracy?",
    experiment="expert_count",
    seed=20260602,
    scale="reduced",
    settings=dict(
        experts=8, expert_slots=8, patches=4, n=8000, steps=400, records=41, test_samples=4000, router_rate=0.0
    ),
    grid=dict(start_scale=[0.01, 0.03]),
    summaries=["explored_own_error", "explored_other_error", "explored_best_cluster_error", "last_accuracy"],
)

study.preset(
    "quick",
    "Half the sample, fewer seeds.",
    expected="about 30 s on 2 cores",
    replicates=4,
    settings=dict(n=4000, steps=300, records=31, test_samples=2000),
    block=1,
)

study.preset(
    "paper", "n = 8000, 20 seeds.", scale="reduced", expected="about 9 minutes on 2 cores", replicates=20, block=1
)

for name, label, settings in [
    ("equal", "equal, router off", dict(start="equal")),
    ("independent", "independent, router off", dict(start="independent")),
    ("cnn", "CNN experts, router off", dict(expert="cnn")),
    ("equal-routed", "equal, router on", dict(start="equal", router_rate="paper")),
    ("independent-routed", "independent, router on", dict(start="independent", router_rate="paper")),
]:
    study.arm(name, label, **settings)

# --- claims: rules written before the run ---
# sigma_0 in the paper's units; until that was noticed the statements had start_scale in its place. no limit can be
# judged at one size: the trend is that of `expert_small_start`
study.ours(
    "own-error",
    "From equal weights, the error of an expert on its own cluster is o(1) (here: at most 0.05) after "
    "sqrt(sigma_0) / eta = 31 steps (sigma_0 = 0.1).",
    mean("explored_own_error", "equal", at=dict(start_scale=0.01)).at_most(0.05, predicted="o(1)"),
    source="ours, on EC Lemma 2: o(1) judged as 0.05 at one size",
)
study.ours(
    "other-error",
    "From equal weights, the error of an expert on the other clusters is Omega(1/K), on average over experts "
    "and clusters (here: at least 1/6), after sqrt(sigma_0) / eta = 31 steps (sigma_0 = 0.1).",
    mean("explored_other_error", "equal", at=dict(start_scale=0.01)).at_least(0.16667, predicted="Omega(1/K)"),
    source="ours, on EC Lemma 2: a level that an untrained expert meets, too",
)
# the paper's until it was seen that experts from equal weights, and untrained ones, pass it as well
study.ours(
    "independent-error",
    "From independent weights, the error of an expert is Omega(1/K) (here: at least 3/32, in the mean over "
    "experts) on every cluster, its best one included, after sqrt(sigma_0) / eta = 31 steps (sigma_0 = 0.1).",
    mean("explored_best_cluster_error", "independent", at=dict(start_scale=0.01)).at_least(
        0.09375, predicted="Omega(1/K)"
    ),
    source="ours, on EC Lemma 3: experts from equal weights pass as well",
)
study.claim(
    "equal-beats-independent",
    "Experts master their best cluster better from equal than from independent weights (sigma_0 = 0.1).",
    difference("explored_best_cluster_error", "equal", at=dict(start_scale=0.01), versus="independent").at_most(
        0.0, predicted="< 0"
    ),
    dict(source="EC Lemmas 2, 3", because=EQUAL_WEIGHTS_ERROR),
    group="lemmas 2, 3: equal weights specialise better",
)
study.claim(
    "equal-beats-independent-wide",
    "Experts master their best cluster better from equal than from independent weights (sigma_0 = 0.3).",
    difference("explored_best_cluster_error", "equal", at=dict(start_scale=0.03), versus="independent").at_most(
        0.0, predicted="< 0"
    ),
    dict(source="EC Lemmas 2, 3", because=EQUAL_WEIGHTS_ERROR),
    group="lemmas 2, 3: equal weights specialise better",
)
study.ours(
    "accuracy-equal-beats-independent",
    "The whole mixture, its router learning, reaches a higher accuracy from equal than from independent weights "
    "(sigma_0 = 0.1).",
    difference("last_accuracy", "equal-routed", at=dict(start_scale=0.01), versus="independent-routed").at_least(
        0.0, predicted="> 0"
    ),
    dict(source="ours, on EC Lemmas 2, 3", bearing="for"),
)

# --- what the verdicts say: each text is shown only where they are so ---
study.finding(
    {"equal-beats-independent": "supported", "own-error": "not supported"},
    "The direction of the lemmas is right, the limit of the first is not reached at this sigma_0, n and d.",
)
study.finding({"accuracy-equal-beats-independent": "supported"}, "The whole mixture gains from equal weights.")

study.figure(
    kind="lines",
    title="Error of an expert on the cluster that it knows best (router off)",
    x="step",
    xlabel="step",
    hue="start_scale",
    logx=False,
    logy=False,
    columns=3,
    panels=[
        dict(title="equal", arms=["equal"], variable="best_cluster_error", ylabel="error on the best cluster"),
        dict(
            title="independent", arms=["independent"], variable="best_cluster_error", ylabel="error on the best cluster"
        ),
        dict(title="CNN", arms=["cnn"], variable="best_cluster_error", ylabel="error on the best cluster"),
    ],
    caption="Means over seeds and experts. The exploration stage ends at step 31 (start_scale = 0.01, which is "
    "sigma_0 = 0.1 on the paper's inputs) or 54 (0.03, which is 0.3); 1/K = 0.25 is the error that Lemma 3 "
    "claims, up to a constant.",
)

study.figure(
    "own-and-other",
    kind="lines",
    title="Error on the cluster of the initial profession, and on the others",
    x="step",
    xlabel="step",
    hue="start_scale",
    logx=False,
    logy=False,
    panels=[
        dict(title="equal, own cluster", arms=["equal"], variable="own_error", ylabel="error"),
        dict(title="equal, other clusters", arms=["equal"], variable="other_error", ylabel="error"),
        dict(title="independent, own cluster", arms=["independent"], variable="own_error", ylabel="error"),
        dict(title="independent, other clusters", arms=["independent"], variable="other_error", ylabel="error"),
    ],
)

study.figure(
    "accuracy",
    kind="lines",
    title="Test accuracy with the router learning",
    x="step",
    xlabel="step",
    hue="start_scale",
    logx=False,
    logy=False,
    panels=[
        dict(title="equal", arms=["equal-routed"], variable="accuracy", ylabel="test accuracy"),
        dict(title="independent", arms=["independent-routed"], variable="accuracy", ylabel="test accuracy"),
    ],
)
