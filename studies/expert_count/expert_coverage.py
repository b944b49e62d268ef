"""How many experts until every cluster has one? (expert-count, Lemma 6; Theorem 1, lower end of M).

An expert's profession is the cluster whose label signal its initial weights are closest to (Definition 2). The starts
alone decide on it, and nothing is trained: signals in R^64 and starts with J = 8 neurons are drawn, and the clusters
counted that are somebody's profession. Professions are independent and uniform, so that this is the coupon collector's
problem: M = K log(K / delta) leaves a cluster out with a probability of at most delta, M = K log K with 0.63 whatever K
is, and M = 2 K the more often the larger K is.

That such starts suffice for the training, as Theorem 1 has it, or that fewer do not, is not shown by them.
"""

from moestat import Study
from moestat.study.rules import function

study = Study(
    "How many experts until every cluster has one?",
    paper="expert-count",
    source="EC Lemma 6; Theorem 1, lower end of M",
    question="The lower end of the range of M, of the order of K log K, is there to cover the clusters. Is so "
    "many enough, and is less, a multiple of K, too few?",
    experiment="expert_coverage",
    seed=20261122,
    scale="paper",
    grid=dict(clusters=[4, 8, 16, 32]),
    summaries=["experts", "clusters_with_expert", "covered", "leads", "reaches"],
)

study.preset("quick", "500 starts.", expected="about 10 s on 2 cores", replicates=500)
study.preset("paper", "20000 starts.", expected="about 2 minutes on 2 cores", replicates=20_000)

study.arm("coverage", "M = K log(K / 0.05)", count="coverage")
study.arm("order", "M = K log K", count="K log K")
study.arm("linear", "M = 2 K", count="linear")

OWN = (
    "the lemma's own constants, for delta = 0.05; J = 8 and M = K log(K / delta) stand for J >= Theta(log(M / delta)) "
)
for id, variable, statement, because in [
    (
        "covered",
        "covered",
        "With M = K log(K / 0.05) experts every one of K = {k} clusters has an expert with probability 0.95.",
        "the lemma asks for M >= Theta(K log(K / delta)); here with the constant 1",
    ),
    (
        "lead",
        "leads",
        "With K = {k} clusters every expert's largest product of a weight with a signal is ahead of its next by a "
        "share of delta / (3 M J^2 K^2) or more, with probability 0.95 (delta = 0.05, M = K log(K / delta), J = 8).",
        OWN + "and M >= Theta(K log(K / delta))",
    ),
    (
        "product",
        "reaches",
        "With K = {k} clusters every expert's largest product of a weight with a signal is at least 0.01 sigma_0, "
        "with probability 0.95 (M = K log(K / 0.05), J = 8).",
        OWN + "and M >= Theta(K log(K / delta))",
    ),
]:
    for k in [4, 8, 16, 32]:
        study.claim(
            f"{id}-{k}",
            statement.format(k=k),
            function("moestat.claims.rules:share", variable, "coverage", at=dict(clusters=k)).at_least(
                0.95, predicted=">= 0.95"
            ),
            source="EC Lemma 6",
            because=because,
        )

study.figure(
    kind="lines",
    title="Starts in which every cluster has an expert",
    x="clusters",
    xlabel="number of clusters K",
    logy=False,
    panels=[
        dict(title="every cluster has an expert", variable="covered", ylabel="share of the starts"),
        dict(title="experts", variable="experts", ylabel="M"),
    ],
    options=dict(within=dict(covered=[0, 1], clusters_with_expert=[0, float("inf")])),
    caption="Means over starts with 95 % intervals.",
)
