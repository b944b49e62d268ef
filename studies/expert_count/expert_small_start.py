"""Does the error of an expert on its own cluster vanish with sigma_0? (expert-count, Lemma 2).

MLP experts at P = K = 4, J = 8, router off, are trained to the end of the exploration stage, T_1 = sqrt(sigma_0) / eta
steps with eta = sigma_0 / 10, and judged on fresh samples of the cluster of their profession (Definition 2). M = 1 is
the only number of experts below sigma_0^-0.075. *Inside* Theorem 1's range of sigma_0 it is d^(-1/3), the least there,
for d = 50, 200 and 800. *Below* it, d stays 50 and sigma_0 goes to 0.001; by inequality (57) an output on the own
cluster is sigma_0^1.5 against J P M^3 sigma_0^3 from all other neurons, a thousandth at 0.001 and M = 1.

The limit is one of n as well, which is 16 000 throughout: with fewer samples the error stops falling earlier. That on
other clusters is a mean over experts and clusters, where the lemma is about each; an untrained expert errs in half of
the cases, so that 1/6 says little.
"""

from moestat import Study
from moestat.study.rules import difference, log_ratio, mean

study = Study(
    "Does an expert's error on its own cluster vanish as its start does?",
    paper="expert-count",
    source="EC Lemma 2",
    question="At the end of the exploration stage an expert's error on its own cluster is o(1). The proof asks "
    "for J P M^3 sigma_0^1.5 << 1: the limit is one of sigma_0 to 0. Does the error fall with sigma_0?",
    experiment="expert_count",
    seed=20261142,
    scale="reduced",
    settings=dict(
        expert_slots=8,
        patches=4,
        n=16_000,
        records=2,
        test_samples=4000,
        input_scale=1.0,
        router_rate=0.0,
        start="equal",
    ),
    grid=dict(experts=[1, 8]),
    summaries=["explored_own_error", "explored_other_error", "explored_best_cluster_error"],
)

study.preset(
    "quick",
    "n = 4000, 4 seeds, without d = 800.",
    expected="about 15 s on 2 cores",
    replicates=4,
    arms=["inside-50", "inside-200", "below-*"],
    block=1,
    settings=dict(n=4000, test_samples=2000),
)
study.preset(
    "paper", "n = 16000, 16 seeds.", scale="reduced", expected="about 5 minutes on 2 cores", replicates=16, block=1
)

# the steps are T_1 = sqrt(sigma_0) / eta = 10 / sqrt(sigma_0), rounded up
for name, label, d, start, rate, steps in [
    ("inside-50", "σ0 = d^(−1/3), d = 50", 50, 0.271, 0.0271, 20),
    ("inside-200", "σ0 = d^(−1/3), d = 200", 200, 0.171, 0.0171, 25),
    ("inside-800", "σ0 = d^(−1/3), d = 800", 800, 0.108, 0.0108, 31),
    ("below-01", "σ0 = 0.1, d = 50", 50, 0.1, 0.01, 32),
    ("below-001", "σ0 = 0.01, d = 50", 50, 0.01, 0.001, 101),
    ("below-0001", "σ0 = 0.001, d = 50", 50, 0.001, 0.0001, 317),
]:
    study.arm(name, label, dimension=d, start_scale=start, expert_rate=rate, steps=steps)

OWN = "the error of an expert on its own cluster"
for word, experts in [("eight", 8), ("one", 1)]:
    at = dict(experts=experts)
    study.claim(
        f"inside-{word}",
        f"Along sigma_0 = d^(-1/3), M = {experts}: {OWN} is lower at d = 800 than at d = 50.",
        difference("explored_own_error", "inside-800", at=at, versus="inside-50").at_most(0.0, predicted="< 0"),
        source="EC Lemma 2",
        because="what is o(1) for d to infinity, with sigma_0 = d^(-1/3), is smaller at a much larger d",
        presets=["paper"],
    )
    for end, high, low, arm, versus in [
        ("", "0.1", "0.01", "below-001", "below-01"),
        ("-on", "0.01", "0.001", "below-0001", "below-001"),
    ]:
        study.ours(
            f"below-{word}{end}",
            f"At d = 50, M = {experts}: from sigma_0 = {high} to {low} {OWN} falls.",
            log_ratio("explored_own_error", arm, at=at, versus=versus).at_most(0.0, predicted="< 0"),
            source="ours: control of EC Lemma 2, sigma_0 to 0 at one d",
            bearing="for",
        )
study.claim(
    "others-stay",
    "With sigma_0 = 0.001 the error of an expert on the other clusters is Omega(1/K) all the same, on average "
    "over experts and clusters (here: at least 1/6; M = 8).",
    mean("explored_other_error", "below-0001", at=dict(experts=8)).at_least(0.16667, predicted="Omega(1/K)"),
    source="EC Lemma 2",
    because="the lemma has it of every expert and every other cluster, and so of their average; 1/6 is 1 / (2 "
    "(K - 1)), the constant of its proof for d to infinity",
)

study.figure(
    kind="lines",
    title="Errors at the end of the exploration stage",
    x="experts",
    xlabel="number of experts M",
    panels=[
        dict(title="own cluster", variable="explored_own_error", ylabel="error"),
        dict(title="other clusters", variable="explored_other_error", ylabel="error"),
    ],
    caption="Geometric means over seeds with 95 % intervals.",
)
