"""Lemma 1: how often is least squares further from the true function than delta? (sigmoid-attention, App. B.1)."""

from moestat import Study
from moestat.study.rules import slope

study = Study(
    "How often is the fitted function far from the true one?",
    paper="sigmoid-attention",
    source="SA Lemma 1, App. B.1",
    question="Lemma 1 bounds the probability that ||f_G - f*|| exceeds delta by c exp(-n delta^2 / c^2), for "
    "all delta from the order of sqrt(log n / n) on, with one c for all n. Do the frequencies of such fits "
    "allow one?",
    experiment="tail_frequency",
    seed=20260716,
    scale="reduced",
    settings=dict(data_sets=50),
    grid=dict(n=[100, 316, 1000, 3162]),
    summaries=["constant", "beyond", "mean_error", "unconverged"],
    notes="The least c that a finite batch allows is a little below that of the probability, at every size "
    "alike: the batches have the same number of data sets. Frequencies cannot show what happens further out "
    "than the largest error of a batch.",
)

study.preset(
    "quick",
    "50 data sets per size and replicate, 5 replicates.",
    expected="about 60 s on 2 cores",
    replicates=5,
    block=1,
)

study.preset(
    "paper",
    "400 data sets per size and replicate, 10 replicates.",
    expected="about 10 minutes on 2 cores",
    replicates=10,
    settings=dict(data_sets=400),
    block=1,
)

for name, label, settings in [("sparse", "sparse", dict(regime="sparse")), ("dense", "dense", dict(regime="dense"))]:
    study.arm(name, label, **settings)

for loss, bound in [("constant", 0.0), ("mean_error", -0.5)]:
    study.rate(loss, bound=bound)

study.claim(
    "constant-sparse",
    "Sparse regime: one constant bounds the tail for all n.",
    slope("constant", "sparse").at_most(0.05, predicted="0"),
    dict(source="SA Lemma 1", group="lemma-1"),
)
study.claim(
    "constant-dense",
    "Dense regime: one constant bounds the tail for all n.",
    slope("constant", "dense").at_most(0.05, predicted="0"),
    dict(because="The lemma names no regime; its proof bounds the entropy of the whole model.", group="lemma-1"),
    source="SA Lemma 1",
)

study.figure(
    title="The constant of Lemma 1",
    xlabel="sample size n",
    panels=[
        dict(title="Least constant c", variable="constant", ylabel="c"),
        dict(title="Error", variable="mean_error", ylabel="function error (RMSE)"),
    ],
    caption="Left: the least c with which the frequencies of errors obey Lemma 1 beyond sqrt(log n / n); the "
    "lemma wants it bounded. Geometric means over batches, 95 % t-intervals.",
)
