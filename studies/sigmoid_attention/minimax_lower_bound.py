"""Does the sequence of the minimax lower bound do what Lemma 2 needs? (sigmoid-attention, Theorem 2, App. B.3).

The last true expert has a constant gate and |beta*| = 1; two atoms stand for it. *Printed*: beta* + 1/m and
beta* - 1/m, a* = 0, half its weight each (the proof has a term of the weights besides, whose order our copy has lost).
*Corrected*: eta_1 = (1 + 1/m) eta*, eta_2 = (1 - u) eta* with (1 + 1/m)^p + (1 - u)^p = 2. *Split*, beside Table 1: a
truth without constant gates, its last expert in two shares.

For p >= 2 the printed functions differ by a term of order m^(-2) that the proof leaves out: the ratio goes like
m^(r-2), so that Lemma 2 is proved for r < 2 alone. For p = 1, the only polynomial that attention has, the sequence is
right. The corrected one has equal functions for every p and r; its bound does not fall with n, for ReLU experts, too.

The weak triangle inequality of L2r hangs on what an empty Voronoi cell costs. Where the *sum* over it is zero, no
measure that was tried breaks it; where it costs nothing at all, one exact atom alone does.
"""

import itertools

from moestat import Study
from moestat.study.rules import function, slope

LARGEST = "moestat.claims.rules:largest"

study = Study(
    "Does the sequence of the minimax lower bound do what Lemma 2 needs?",
    paper="sigmoid-attention",
    source="SA Thm 2, Lemma 2, App. B.3",
    question="Theorem 2 bounds the minimax risk of polynomial experts below by n^(-1/2) in L2r for every r, by "
    "measures G_m with ||f_Gm - f*|| / L2r -> 0. Do the measures of the proof have this property, for every p "
    "and r?",
    experiment="minimax_lower_bound",
    seed=20260706,
    scale="paper",
    settings=dict(d=3, n_true=3, noise_variance=0.01),
    grid=dict(r=[1, 2, 4]),
)
study.preset("quick", "d = 3, three true experts, five truths.", expected="about 60 s on 2 cores", replicates=5)
study.preset(
    "paper",
    "d = 8, eight true experts, ten truths.",
    expected="about 4 minutes on 2 cores",
    replicates=10,
    settings=dict(d=8, n_true=8),
)
for sequence, p in itertools.product(["printed", "corrected"], [1, 2, 3]):
    of = dict(sequence=sequence, expert="polynomial", power=p, flat=sequence == "printed")
    study.arm(f"{sequence}-p{p}", f"{sequence}, p = {p}", **of)
study.arm("corrected-relu", "corrected, ReLU", sequence="corrected", expert="relu", flat=False)
for gate, p in itertools.product(["sigmoid", "softmax"], [1, 2]):
    study.arm(f"split-{gate}-p{p}", f"dense, {gate}, p = {p}", sequence="split", gate=gate, power=p)

SIZES = [10000.0, 100000000.0]
study.rate("lemma", over="m", arms=["printed-p2", "printed-p3"])
study.rate("le_cam", over="size", window=SIZES, arms=["printed-p2", "printed-p3"], bound=-0.5)
study.rate("le_cam", over="size", window=SIZES, arms=["corrected-p2", "corrected-relu"], predicted={"corrected-*": 0.0})

# --- the printed sequence
for p, r in itertools.product([2, 3], [1, 2, 4]):
    study.claim(
        f"lemma-printed-p{p}-r{r}",
        f"Polynomial experts, p = {p}, r = {r}: ||f_Gm - f*|| / L2r goes to 0 along the printed sequence.",
        slope("lemma", f"printed-p{p}", over="m", at=dict(r=r)).at_most(-0.1, predicted="< 0"),
        source="SA App. B.3, printed sequence",
        group="lemma-2-printed-sequence",
    )
study.claim(
    "bound-printed-p2-r4",
    "Polynomial experts, p = 2, r = 4: the printed sequence gives a lower bound that falls no faster than n^(-1/2).",
    slope("le_cam", "printed-p2", over="size", at=dict(r=4)).at_least(-0.52, predicted=-0.5),
    source="SA App. B.3, printed sequence",
    because="The proof of Theorem 2 takes its alternatives from Lemma 2 and concludes n^(-1/2) for every r.",
)
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
study.ours(
    "exact-printed-p1",
    "Polynomial experts, p = 1: f_Gm = f* along the printed sequence with weights of exactly half each (to 1e-12).",
    function(LARGEST, "distance", "printed-p1").at_most(1e-12, predicted="0"),
    source="ours: beside SA App. B.3, weights of exactly half each",
    group="lemma-2-equal-functions",
)

# --- what Lemma 2 and Theorem 2 say: that there are such measures
for p in [1, 2, 3]:
    study.claim(
        f"lemma-2-p{p}",
        f"Polynomial experts, p = {p}: some measures have L2r -> 0 and ||f_G - f*|| / L2r -> 0, for r = 1, 2 and "
        "4. Those of the corrected sequence have f_G = f* (to 1e-12).",
        function(LARGEST, "distance", f"corrected-p{p}").at_most(1e-12, predicted="0"),
        source="SA Lemma 2",
        group="lemma-2-as-stated",
    )
    study.claim(
        f"bound-p{p}-r4",
        f"Polynomial experts, p = {p}, r = 4: some sequence gives a lower bound that falls no faster than "
        "n^(-1/2). That of the corrected one does not fall at all, and no more does it for ReLU experts, so "
        "that it sets no experts apart.",
        slope("le_cam", f"corrected-p{p}", over="size", at=dict(r=4)).at_least(-0.52, predicted=">= -0.5"),
        source="SA Thm 2",
        because="Theorem 2 bounds the minimax risk below by n^(-1/2) for every r; any sequence with such a "
        "bound shows it.",
        group="theorem-2-some-sequence",
    )
study.ours(
    "constant-bound-relu",
    "ReLU experts, r = 2: Le Cam's expression along the corrected sequence does not fall with n, where Theorem "
    "1 would have n^(-1/2).",
    slope("le_cam", "corrected-relu", over="size", at=dict(r=2)).within(-0.02, 0.02, predicted=0.0),
    source="ours: against ReLU as an example of SA Thm 1, control of bound-p1-r4",
    bearing="against",
)

study.figure(
    kind="lines",
    title="Distance of the functions over L2r along the sequence of App. B.3",
    x="m",
    columns=3,
    panels=[
        dict(
            title=f"r = {r}", arms=["printed-p2", "printed-p3"], variable="lemma", ylabel="distance / L2r", at=dict(r=r)
        )
        for r in (1, 2, 4)
    ],
    caption="As printed with halved weights. Lemma 2 needs it to fall; that of the corrected one is 0 to rounding.",
)
