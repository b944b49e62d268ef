"""A study of the toy experiment, which tests put in their folders as ``studies/toy.py``."""

from moestat import Study
from moestat.study.rules import slope

study = Study(
    "The mean of normal draws",
    paper="none",
    source="a textbook",
    experiment="toy",
    seed=7,
    grid=dict(n=[10, 40, 160, 640]),
)
study.preset("quick", replicates=6, block=2)
study.preset("tiny", replicates=2, grid=dict(n=[10, 40]))
study.arm("mean")
study.arm("median", kind="median")
study.rate("error", bound=-0.5, reference="theory")
study.claim(
    "mean-rate",
    "The mean converges like n^(-1/2).",
    slope("error", "mean").within(-0.6, -0.4, predicted=-0.5),
    source="a textbook",
)
study.figure(panels=[dict(arms=["*"], variable="error")])
