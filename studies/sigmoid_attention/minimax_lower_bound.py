"""Does the weak triangle inequality hold on which Le Cam's two points rest? (sigmoid-attention, Theorem 2, App. B.3).

The last true expert has a constant gate; two atoms stand for it, as the paper *prints* them or *corrected*, so that f
stands still. That the printed ones serve p = 1 alone, that the corrected ones serve every p and r, and that the bound
then does not fall with n, is proved (arguments.py). What is left is a step that the proof states: no measure is near
both points in L2r. It hangs on what an empty Voronoi cell costs: where the *sum* over it is zero, the weight of its
atom still counts, and no measure that was tried breaks it; where it costs nothing at all, one exact atom alone does.
"""

import itertools

from moestat import Study
from moestat.study.rules import function

study = Study(
    "Does the weak triangle inequality hold on which the minimax bound rests?",
    paper="sigmoid-attention",
    source="SA Thm 2, App. B.3",
    question="Le Cam's two points need that no measure is near both in L2r. Does any measure between them break it?",
    experiment="minimax_lower_bound",
    seed=20261127,
    scale="paper",
    settings=dict(d=3, n_true=3),
    grid=dict(r=[1, 2, 4]),
    summaries=["weak_triangle"],
)
study.preset("quick", "d = 3, three true experts, five truths.", expected="about 5 s on 2 cores", replicates=5)
study.preset(
    "paper",
    "d = 8, eight true experts, ten truths.",
    expected="about 20 s on 2 cores",
    replicates=10,
    settings=dict(d=8, n_true=8),
)
for sequence, p in itertools.product(["printed", "corrected"], [1, 2, 3]):
    of = dict(sequence=sequence, expert="polynomial", power=p, flat=sequence == "printed")
    study.arm(f"{sequence}-p{p}", f"{sequence}, p = {p}", **of)

study.claim(
    "triangle-printed",
    "Where the sum over an empty cell is zero, no measure between G* and G_m breaks the weak triangle "
    "inequality of L2r with the constant 2^(r-1).",
    function("moestat.claims.rules:smallest", "weak_triangle").at_least(0.999999999, predicted="1"),
    source="SA App. B.3, main proof",
    origin="stated",
    because="The proof states that L2r satisfies a weak triangle inequality; 2^(r-1) is the constant of sums "
    "of r-th powers.",
)
