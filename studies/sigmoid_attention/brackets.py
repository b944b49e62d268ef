"""Are the brackets behind Proposition 1 brackets, and how many are there? (sigmoid-attention, App. B.1).

Parameters are drawn from the box [-5, 5]; a grid over them, with the spacing that the Lipschitz constants of steps 5
and 6 give, has a centre zeta within tau of each function. *Printed* brackets are max{zeta - tau, 0} and
max{zeta + tau, M}; *mended* ones max{zeta - tau, -M} and min{zeta + tau, M}. ``outside`` is how far a function leaves
its bracket, over tau; ``excess`` the width over what is claimed; ``cover`` the distance of a function to its centre.

The printed upper end is M at least, so that brackets never become narrow, and the printed lower end is 0 at least, so
that negative functions are not in them. Mended, both statements hold (with 2 M in place of M), and (14) follows as
printed: nothing that rests on it changes. The entropy is a formula, the same in every draw.
"""

import itertools

from moestat import Study
from moestat.study.rules import function

LARGEST = "moestat.claims.rules:largest"

study = Study(
    "Do the brackets of Proposition 1 hold the functions, and how many are there?",
    paper="sigmoid-attention",
    source="SA App. B.1, (14), steps 1 to 6",
    question="The rate of Proposition 1 rests on (14): the bracketing entropy is of the order log(1/eps). Are "
    "the printed brackets brackets, and does their number grow like that?",
    experiment="brackets",
    seed=20260715,
    scale="paper",
    settings=dict(d=2, atoms=3),
    summaries=["outside", "excess", "cover"],
)
study.preset("quick", "d = 2, three atoms, five draws of 50 functions.", expected="about 5 s on 2 cores", replicates=5)
study.preset(
    "paper",
    "The paper's size, d = 8 and nine atoms, ten draws of 50 functions.",
    expected="about 10 s on 2 cores",
    replicates=10,
    settings=dict(d=8, atoms=9),
)
for bracket, (expert, experts) in itertools.product(["printed", "mended"], [("relu", "ReLU"), ("linear", "linear")]):
    study.arm(f"{bracket}-{expert}", f"{bracket}, {experts}", bracket=bracket, expert=expert)

study.claim(
    "printed-hold",
    "Every function within tau of a centre is in its bracket (linear experts).",
    function(LARGEST, "outside", "printed-linear").at_most(1e-09, predicted="0"),
    source="SA App. B.1, step 2",
    group="printed-brackets",
)
study.claim(
    "printed-narrow",
    "The brackets are no wider than the smaller of 2 tau and M (ReLU and linear experts).",
    function(LARGEST, "excess", options=dict(arms=["printed-*"])).at_most(1.000000001, predicted="<= 1"),
    source="SA App. B.1, step 2",
    group="printed-brackets",
)
study.claim(
    "cover",
    "The grid over the parameters, with the spacing of these steps, has a centre within tau, in the sup norm, "
    "of each function that was drawn.",
    function(LARGEST, "cover", options=dict(arms=["*"])).at_most(1.0, predicted="<= 1"),
    source="SA App. B.1, steps 4 to 6",
)
study.claim(
    "entropy",
    "The bracketing entropy is at most of the order log(1/eps), by the formula of the mended cover: what it "
    "grows by, per unit of log(1/eps), does not grow (slope over log log(1/eps) at most 0.1).",
    function("studies.sigmoid_attention.parts.rules:entropy_added", options=dict(arms=["mended-*"])).at_most(
        0.1, predicted="0"
    ),
    source="SA eq. (14)",
)
for id_, variable, statement, limit, predicted in [
    ("hold", "outside", "Every function within tau of a centre is in its mended bracket.", 1e-09, "0"),
    ("narrow", "excess", "The mended brackets are no wider than the smaller of 2 tau and 2 M.", 1.000000001, "<= 1"),
]:
    study.ours(
        f"mended-{id_}",
        statement,
        function(LARGEST, variable, options=dict(arms=["mended-*"])).at_most(limit, predicted=predicted),
        source=f"ours: control of printed-{id_}, brackets that mend SA App. B.1",
        bearing="for",
        group="mended-brackets",
    )
