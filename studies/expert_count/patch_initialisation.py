"""Equal or independent initial weights over patches (expert-count, Lemmas 2 and 3).

M = 8 MLP experts at P = 4. With the router off every expert sees a random eighth of the samples at each step, as in the
exploration stage, which ends at T_1 = sqrt(sigma_0) / eta = 31 steps from sigma_0 = 0.1 and 54 from 0.3. Inputs are
multiplied by 10: start_scale 0.01 and 0.03 are these sigma_0 on the paper's inputs, and the steps ten times the
paper's. With the router on the whole algorithm runs. A CNN expert has equal weights for ever.

What tells the two starts apart is the comparison. Neither lemma's limit is judged here: o(1) is one of sigma_0
(`expert_small_start`), and Omega(1/K) with the proof's constant, 3/32, is passed by experts from equal weights and by
untrained ones. (63) of the proof of Lemma 3, that every patch grows like eta t, fails by argument: patches share the
norm of eq. (5), and only the leading one reaches sigma_0^0.5. The lemma itself is open.
"""

from moestat import Study
from moestat.study.rules import difference

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

study.arm("equal", "equal, router off", start="equal")
study.arm("independent", "independent, router off", start="independent")
study.arm("cnn", "CNN experts, router off", expert="cnn")
study.arm("equal-routed", "equal, router on", start="equal", router_rate="paper")
study.arm("independent-routed", "independent, router on", start="independent", router_rate="paper")

for end, sigma, start in [("", 0.1, 0.01), ("-wide", 0.3, 0.03)]:
    study.claim(
        f"equal-beats-independent{end}",
        f"Experts master their best cluster better from equal than from independent weights (sigma_0 = {sigma}).",
        difference("explored_best_cluster_error", "equal", at=dict(start_scale=start), versus="independent").at_most(
            0.0, predicted="< 0"
        ),
        source="EC Lemmas 2, 3",
        because="from equal weights the error on the expert's own cluster is o(1), from independent ones it is "
        "Omega(1/K) on each",
    )

study.figure(
    kind="lines",
    title="Errors of experts over the steps (router off)",
    x="step",
    xlabel="step",
    hue="start_scale",
    logx=False,
    logy=False,
    columns=3,
    panels=[
        dict(title=f"{arm}, {kind.replace('_', ' ')}", arms=[arm], variable=f"{kind}_error", ylabel="error")
        for kind in ["best_cluster", "own", "other"]
        for arm in ["equal", "independent", "cnn"]
    ],
    caption="Means over seeds and experts. The exploration stage ends at step 31 (start_scale = 0.01, which is "
    "sigma_0 = 0.1 on the paper's inputs) or 54 (0.03, which is 0.3); 1/K = 0.25 is the error that Lemma 3 "
    "claims, up to a constant.",
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
        dict(title=start, arms=[f"{start}-routed"], variable="accuracy", ylabel="test accuracy")
        for start in ["equal", "independent"]
    ],
)
