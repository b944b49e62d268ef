"""How often is the fitted function further from the true one than delta? (sigmoid-attention, Lemma 1, App. B.1).

One true atom with a linear expert in one dimension is fitted with two; noise of variance 1, so that sqrt(log n / n) is
a size that errors have. A replicate is a batch of data sets; ``constant`` is the least c for which the frequencies of
its errors obey the inequality for all delta >= sqrt(log n / n). *Sparse*: the gate of the true atom is constant.
*Dense*: it is as drawn.

Lemma 1 has one c for all n, so that the least one must not grow: a slope of at most 0.05 counts as that. Frequencies
cannot show what happens further out than the largest error of a batch.
"""

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
study.arm("sparse", "sparse", regime="sparse")
study.arm("dense", "dense", regime="dense")
study.rate("constant", bound=0.0)
study.rate("mean_error", bound=-0.5)

for regime, whose in [
    ("sparse", {}),
    ("dense", dict(because="The lemma names no regime; its proof bounds the entropy of the whole model.")),
]:
    study.claim(
        f"constant-{regime}",
        f"{regime.capitalize()} regime: one constant bounds the tail for all n.",
        slope("constant", regime).at_most(0.05, predicted="0"),
        whose,
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
