"""The four statements of Theorem 1, and the conjectured Theorem 2 (expert-count).

Theorem 1 is about M between Theta(K log K log log d) and Theta(sigma_0^-0.075): with constants 1 that is 7.6 to 1.1 at
d = 50 and sigma_0 = 0.3, and empty at every size that can be run. M = 8 stands for it, with eta = 0.01 and eta_r =
0.1 M^2 eta, which came nearest in a trial with another seed. Inside the range of sigma_0, from d^(-1/3) on, o(1) is
judged by what happens from d = 50 to d = 200, beside the theorem, whose range of M holds none of these runs; the preset
same-n holds the sample size, and sigma_0 as well. The arms from sigma_0 = 0.1 downwards are below the range of sigma_0;
those of `long` have M = 16 and four constants in eta_r.

An expert's best cluster is the one on which it errs least after the training; where several are equal its load
decides. A test error that falls with d says nothing of routing, and an error of experts that does says nothing of M:
one expert without a router has the same.
Training and test accuracy, errors of experts on a cluster and the share of samples at an expert whose best cluster is
theirs should come to 1, 1, 0 and 1.
"""

from moestat import Study
from moestat.study.rules import difference, mean

LAST = ["train_accuracy", "accuracy", "own_error", "routed_to_own", "best_cluster_error", "routed_to_best"]

study = Study(
    "Is the theorem's mechanism what the mixture does?",
    paper="expert-count",
    source="EC Theorem 1; Theorem 2 (conjectured)",
    question="Theorem 1 promises zero training error, vanishing test error, experts that are good on one "
    "cluster each and a router that knows which. Do the four hold, and does the error grow with M as "
    "the conjectured Theorem 2 says?",
    experiment="expert_count",
    seed=20260605,
    scale="reduced",
    settings=dict(expert="mlp", patches=4, n=4000, steps=4000, records=17, test_samples=4000, expert_slots=128),
    grid=dict(experts=[4, 8, 16, 32, 64, 128]),
    summaries=[*(f"last_{name}" for name in LAST), "late_change", "last_clusters_with_best", "clusters_with_expert"],
)

ALONG_M = ["practice", "theorem", "theorem-small-start"]
REDUCED = dict(scale="reduced", block=1)
EIGHT = dict(expert_rate=0.01, router_rate=0.064, input_scale=1.0, expert_slots=8)

study.preset(
    "quick",
    "A smaller sample, three values of M.",
    expected="about 100 s on 2 cores",
    replicates=3,
    arms=ALONG_M,
    grid=dict(experts=[4, 16, 128]),
    settings=dict(n=1000, records=9, test_samples=2000),
    block=1,
)
study.preset(
    "ends",
    "n = 4000 and 10 seeds as in paper, at the two M that claims are made of after 4 / eta steps, 16 and 128.",
    expected="about 27 minutes on 2 cores",
    replicates=10,
    arms=ALONG_M,
    grid=dict(experts=[16, 128]),
    **REDUCED,
)
study.preset(
    "paper",
    "As ends, with M = 4, 8, 32 and 64 beside the two: the curves along M, of which no claim speaks.",
    expected="about 90 minutes on 2 cores",
    replicates=10,
    arms=ALONG_M,
    **REDUCED,
)
study.preset(
    "long",
    "M = 16, n = 4000, T = 32 / eta, four constants in eta_r = Theta(M^2) eta, 6 seeds.",
    expected="about 27 minutes on 2 cores",
    replicates=6,
    arms=["theorem", "theorem-fast", "theorem-slow", "theorem-slower"],
    rank=0,
    grid=dict(experts=[16]),
    settings=dict(steps=32_000, records=33, expert_slots=16),
    **REDUCED,
)
study.preset(
    "choice",
    "M = 8, at the lower end of the theorem's range, eta_r = 0.1 M^2 eta, T = 80 / eta, starts from d^(-1/3) "
    "downwards and d = 200, 10 seeds.",
    expected="about half an hour on 2 cores",
    replicates=10,
    arms=["choice*"],
    grid=dict(experts=[8]),
    settings=dict(n=2000, steps=8000, records=33, **EIGHT),
    **REDUCED,
)
study.preset(
    "same-n",
    "As `choice`, d = 50 and 200 with n = 4000 at both, and at d = 200 sigma_0 = 0.3 as at d = 50 beside 0.171, "
    "so that what d does is seen apart from n and sigma_0, 10 seeds.",
    expected="about 20 minutes on 2 cores",
    replicates=10,
    arms=["choice-n", "choice-wide", "choice-wide-start"],
    rank=0,
    grid=dict(experts=[8]),
    settings=dict(n=4000, steps=8000, records=33, **EIGHT),
    **REDUCED,
)
study.preset(
    "settled",
    "M = 8 and eta_r = 0.1 M^2 eta as in `choice`, with the starts inside the theorem's range alone, d = 50 and "
    "200, T = 200 / eta, 10 seeds.",
    expected="about 50 minutes on one core",
    replicates=10,
    arms=["choice", "choice-wide"],
    rank=2,
    grid=dict(experts=[8]),
    settings=dict(n=2000, steps=20_000, records=41, **EIGHT),
    **REDUCED,
)

for name, label, rate, scale, start in [
    ("practice", "practice", "paper", 10.0, 0.01),
    ("theorem", "theorem", "theorem", 1.0, 0.3),
    ("theorem-small-start", "theorem, small start", "theorem", 1.0, 0.01),
    ("theorem-fast", "theorem, ηr = 10 M²η", 2.56, 1.0, 0.3),
    ("theorem-slow", "theorem, ηr = 0.1 M²η", 0.0256, 1.0, 0.3),
    ("theorem-slower", "theorem, ηr = 0.01 M²η", 0.00256, 1.0, 0.3),
]:
    study.arm(name, label, router_rate=rate, input_scale=scale, start_scale=start)

WIDE = dict(dimension=200, n=4000)
study.arm("choice", "M = 8, σ₀ = 0.3", start_scale=0.3)
study.arm("choice-wide", "M = 8, d = 200, σ₀ = 0.17", start_scale=0.171, **WIDE)
study.arm("choice-n", "M = 8, σ₀ = 0.3, n = 4000", start_scale=0.3, n=4000, presets=["same-n"])
study.arm("choice-wide-start", "M = 8, d = 200, σ₀ = 0.3", start_scale=0.3, presets=["same-n"], **WIDE)
for start in [0.1, 0.03, 0.01]:
    study.arm(f"choice-{start}", f"M = 8, σ₀ = {start}", start_scale=start)


# number, name, variable, what is expected as d grows, and what is asked of it at one size
STATEMENTS = [
    (1, "training", "train_accuracy", "the training error does not grow", dict(at_least=0.0, predicted=">= 0"),
     "the training error is zero (at most 0.001)", dict(at_least=0.999, predicted="1")),
    (2, "test", "accuracy", "the test error falls", dict(at_least=0.0, predicted="> 0"),
     "the test error vanishes (at most 0.05)", dict(at_least=0.95, predicted="1 - o(1)")),
    (3, "experts", "best_cluster_error", "the error of experts on a cluster falls (best division)",
     dict(at_most=0.0, predicted="< 0"),
     "in the mean over experts, an expert is good on a cluster, by the best division after the training (error at "
     "most 0.05)", dict(at_most=0.05, predicted="o(1)")),
    (4, "router", "routed_to_best",
     "the share of samples that are routed to experts of their cluster grows (best division)",
     dict(at_least=0.0, predicted="> 0"),
     "samples are routed to the experts of their cluster, by the best division after the training (share at least "
     "0.95)", dict(at_least=0.95, predicted="1 - o(1)")),
]  # fmt: skip
PRESETS = {1: ["settled"]}
EMPTY = "with constants 1 the theorem's range of M is empty at these sizes"
ALONE = "one expert without a router, which has nothing to choose,"
NEUTRAL = {
    k: dict(
        bearing="neutral", hindsight=f"That it is neutral to the theorem was settled after the run: {'; '.join(why)}."
    )
    for k, why in {
        1: [EMPTY],
        2: [EMPTY, f"{ALONE} passes the same rule"],
        3: [EMPTY, f"{ALONE} gets better on its cluster, too (expert_small_start:inside-one)"],
        4: [EMPTY],
    }.items()
}
INSIDE = "Inside the theorem's range of sigma_0, with M = 8"
SETTINGS = {
    "choice": "With the settings of the theorem at d = 50, sigma_0 = 0.3",
    "choice-wide": "With the settings of the theorem at d = 200, sigma_0 = 0.17",
    "choice-0.01": "At d = 50 with sigma_0 = 0.01, below the theorem's range",
}

for k, name, variable, grows, sign, good, level in STATEMENTS:
    study.claim(
        f"{name}-trend",
        f"{INSIDE}, from d = 50, sigma_0 = 0.3, n = 2000 to d = 200, sigma_0 = 0.171, n = 4000 {grows}.",
        difference(f"last_{variable}", "choice-wide", at=dict(experts=8), versus="choice") | sign,
        NEUTRAL[k],
        source=f"EC Theorem 1, statement {k}",
        because="o(1) is for d to infinity: inside the theorem's range it gets smaller as d grows, n = Omega(d) "
        "with it, and sigma_0 = d^(-1/3) falls",
        presets=PRESETS.get(k, ["choice", "settled"]),
    )
    study.ours(
        f"{name}-trend-d",
        f"{INSIDE}, n = 4000, sigma_0 = 0.3, from d = 50 to d = 200 {grows}.",
        difference(f"last_{variable}", "choice-wide-start", at=dict(experts=8), versus="choice-n") | sign,
        source=f"ours: control of EC Theorem 1, statement {k}: d alone",
        presets=["same-n"],
    )
    for arm, begins in SETTINGS.items():
        if arm == "choice-0.01" or name == "router":
            study.ours(
                f"{name}-{arm}",
                f"{begins}, M = 8 and eta_r = 0.1 M^2 eta: {good}.",
                mean(f"last_{variable}", arm, at=dict(experts=8)) | level,
                source=f"ours: control of EC Theorem 1, statement {k}: a level at one size",
                presets=["choice", "settled"],
            )

for arm in ["choice", "choice-wide"]:
    study.ours(
        f"settled-{arm}",
        f"{SETTINGS[arm]}, M = 8 and eta_r = 0.1 M^2 eta: over the last quarter of T = 200 / eta the training "
        "accuracy changes by at most 0.001.",
        difference(
            "train_accuracy", arm, at=dict(experts=8, step=20_000), versus_at=dict(experts=8, step=15_000)
        ).equivalent(0.001),
        source="ours: manipulation check of EC Theorem 1, statement 1: the training has ended",
        presets=["settled"],
    )

for arm, factor in [("theorem", ""), ("theorem-fast", "10 "), ("theorem-slow", "0.1 "), ("theorem-slower", "0.01 ")]:
    study.ours(
        f"router-{arm}",
        f"With the settings of the theorem and eta_r = {factor}M^2 eta, M = 16: samples are routed to the experts of "
        "their cluster, by the initial division (share at least 0.95).",
        mean("last_routed_to_own", arm, at=dict(experts=16)).at_least(0.95, predicted="1 - o(1)"),
        source="ours: control of EC Theorem 1, statement 4: another M and constants of eta_r",
        presets=["long"],
    )

for arm, begins in [
    ("practice", "With the rates of the experiments on inputs times 10"),
    ("theorem", "With the settings of the theorem"),
    ("theorem-small-start", "With the settings of the theorem and a small start"),
]:
    study.ours(
        f"test-more-{arm}",
        f"{begins}, after 4 / eta steps the test error of the mixture is higher at M = 128 than at M = 16.",
        difference("last_accuracy", arm, at=dict(experts=128), versus_at=dict(experts=16)).at_most(
            0.0, predicted="< 0"
        ),
        source="ours, on EC Theorem 2, which is conjectured: at two M and one number of steps",
        bearing="for",
        presets=["quick", "ends", "paper"],
    )

NAMES = {
    "train_accuracy": "1. training accuracy",
    "accuracy": "2. test accuracy",
    "own_error": "3. error of experts, initial division",
    "routed_to_own": "4. samples routed, initial division",
    "best_cluster_error": "3. error of experts, best division",
    "routed_to_best": "4. samples routed, best division",
}

study.figure(
    kind="lines",
    title="The four statements of Theorem 1 along M",
    x="experts",
    xlabel="number of experts M",
    logy=False,
    panels=[dict(title=NAMES[name], variable=f"last_{name}", ylabel="share") for name in LAST],
    options=dict(within={f"last_{name}": [0, 1] for name in LAST}),
    caption="Means over seeds with 95 % intervals, after the last step. The theorem says: 1, 1, 0 and 1.",
)
study.figure(
    "choice",
    kind="lines",
    title="The four statements over the training, M = 8",
    x="step",
    xlabel="step",
    logx=False,
    logy=False,
    panels=[
        dict(title=NAMES[name], arms=["choice*"], variable=name, ylabel="share")
        for name in ["train_accuracy", "accuracy", "best_cluster_error", "routed_to_best"]
    ],
    options=dict(at=dict(experts=8), within={name: [0, 1] for name in LAST}),
    caption="Means over seeds with 95 % intervals. The theorem says: 1, 1, 0 and 1 in the end.",
)
