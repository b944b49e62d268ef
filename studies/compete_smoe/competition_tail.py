"""Competition routing: how often density and parameters are farther off than the bound (compete-smoe, section 4).

Both theorems bound a probability: P(loss > C sqrt(log n / n)) is at most of the order n^-c, for some C and c > 0.
Truths: four affine experts of `competition_families`, K = k* or K = 2. The paper does not give C; here it is the
median of loss / sqrt(log n / n) at the smallest size, so that a tail can be seen, and c is fitted to the shares of the
larger sizes. A c that is not above 0 is nothing against the theorems, which may hold with a larger C; and any loss
that shrinks like n^(-1/2) passes. In preset `settled` the search for the maximum settles, as a tail of D needs.
"""

from itertools import product

from moestat import Study
from moestat.study.rules import function

study = Study(
    "Competition routing: how often density and parameters are farther off than the bound",
    paper="compete-smoe",
    source="CS Theorems 4.1 and 4.2",
    question="Does the probability that a loss exceeds C sqrt(log n / n) fall like a power of n?",
    experiment="competition_mle",
    seed=20260806,
    settings=dict(near_starts=1, random_starts=1, pool_log2=14, evaluation_points=512, smallest_variance=0.01),
    grid=dict(n=[200, 400, 800, 1600, 3200]),
    summaries=["hellinger_to_bound", "D_to_bound", "failed_fit", "gain"],
)

study.preset("quick", "100 replicates.", expected="about 80 s on 2 cores", replicates=100, block=25)
study.preset("paper", "400 replicates.", expected="about 7 minutes on 2 cores", replicates=400, block=25)
study.preset(
    "settled",
    "Two winners, with up to twenty rounds of hops, enough for the search to settle; the data sets of paper.",
    expected="about 9 minutes on 2 cores",
    scale="paper",
    rank=2,
    replicates=400,
    arms=["two"],
    settings=dict(hops=20),
    block=25,
)

CASES = {"all": ("All experts win", "K = k*", 4), "two": ("Two of four experts win", "K = 2", 2)}
for arm, (_, label, active) in CASES.items():
    study.arm(arm, label, design="affine", active=active)

study.rate("hellinger_to_bound")
study.rate("D_to_bound")

for (arm, (case, _, _)), (rule, said, loss, variable) in product(
    CASES.items(),
    [
        ("density", "CS Theorem 4.1", "E_X h", "hellinger"),
        ("parameters", "CS Theorem 4.2, (11)", "D", "D"),
    ],
):
    study.claim(
        f"tail-{rule}-{arm}",
        f"{case}, affine experts, n = 200 to 3200: P({loss} > C sqrt(log n / n)) falls like n^-c with a c > 0, C "
        f"being the median of {loss} / sqrt(log n / n) at n = 200 (any loss that shrinks like n^(-1/2) passes).",
        function("studies.compete_smoe.parts.rules:tail_exponent", variable, arm).at_least(0.0, predicted="> 0"),
        dict(source=said),
        because="The theorem has some C and c > 0: that C may be the median at the smallest size is our reading, by "
        "which any loss that shrinks like n^(-1/2) passes.",
    )

study.figure(
    kind="lines",
    title="Losses in units of the bound",
    xlabel="sample size n",
    logy=False,
    panels=[
        dict(title="Theorem 4.1: density", variable="hellinger_to_bound", ylabel="E h / sqrt(log n / n)"),
        dict(title="Theorem 4.2: parameters", variable="D_to_bound", ylabel="D / sqrt(log n / n)"),
    ],
    caption="Means over replicates with 95 % t-intervals of loss / sqrt(log n / n), which both theorems bound with "
    "high probability.",
)
