"""Does the bound of Theorem 4 hold along two atoms of opposite A? (sigmoid-attention, Theorems 1 and 4).

Theorems 1 and 4 rest on ||f_G - f*|| >= C L(G, G*). A truth is drawn as in App. E.1, and two atoms that stand for one
of constant gate are followed along t. Without b in the score their A is +-t uu': f moves by t^2, and so does L4. With b
the same could not be said: b = +-t u, with A of order t^2, moves f by t^4 and L1 by t^2 (argument
theorem-1-any-expert), the contrast of the figure. It is one path, and not the one of the least ratio: a step of the
proof, no test of the theorem. Other paths along which a bound fails are proved, too (arguments.py).
"""

from moestat import Study
from moestat.study.rules import slope

study = Study(
    "Does the bound of Theorem 4 hold along two atoms of opposite A?",
    paper="sigmoid-attention",
    source="SA Thms 1 and 4",
    question="The theorems bound a loss between parameters by the distance between regression functions. Without b in "
    "the score, can two atoms with opposite A move while the function stands nearly still?",
    experiment="non_identifiability",
    seed=20261128,
    scale="paper",
    settings=dict(d=3, n_true=3),
)
study.preset("quick", "d = 3, three true experts, five truths.", expected="about 5 s on 2 cores", replicates=5)
study.preset(
    "paper",
    "The paper's size, d = 8 and eight true experts, ten truths.",
    expected="about 10 s on 2 cores",
    replicates=10,
    settings=dict(d=8, n_true=8),
)
study.arm("control-gelu", "A = ±t S, GELU, score without b", family="opposite A", expert="gelu", score="partial")
study.arm("opposite-gelu", "b = ±t u, GELU, full score", family="opposite b", expert="gelu", score="full")

WINDOW = [0.01, 0.2]
study.rate("change", over="t", window=WINDOW, bound=2.0, predicted={"control-gelu": 2.0, "opposite-gelu": 4.0})
study.rate("L1", over="t", window=WINDOW, predicted={"*": 2.0})
study.rate("ratio", over="t", window=WINDOW, bound=0.0)

study.claim(
    "thm4-gelu",
    "GELU experts, partially quadratic score: ||f_G - f*|| / L4 stays away from 0 as two atoms with opposite A meet.",
    slope("ratio", "control-gelu", over="t").at_most(0.1, predicted=0.0),
    source="SA Thm 4 with the example after Def 3",
    because="Theorem 4 says it of partial-strongly identifiable experts, and the examples after Definition 3 count "
    "GELU networks among them.",
)

study.figure(
    kind="lines",
    title="Two atoms that stand for one of constant gate",
    x="t",
    panels=[
        dict(title="Change of the function", variable="change", ylabel="change of f"),
        dict(title="Loss of Theorems 1 and 4", variable="L1", ylabel="L1 or L4 to the truth"),
    ],
    caption="With opposite b the function moves by the square of L1; the theorems ask for equal slopes, which the "
    "score without b has.",
)
