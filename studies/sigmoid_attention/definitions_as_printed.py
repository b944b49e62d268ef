"""Does any expert satisfy Definitions 1 to 4 as printed? (sigmoid-attention).

The derivatives of F = sigma(x'Ax + b'x + c) E(x, eta) that a definition lists are evaluated at 1024 points, and how
many depend on the others is read off the singular values: at one atom, at two with opposite gates, which "any distinct
parameters" admits, and at three. The expert *arbitrary* has a value and derivatives that are unrelated functions: what
is dependent for it is dependent for every expert.

Three identities of the gate hold for every expert. At (A, b) = 0, sigma'' F_A = sigma' F_bb: Definition 1 fails with
one atom. There, F_A11A22 and F_A12A12 are one function: Definition 3 fails for d >= 2. And F_A is the same at opposite
gates: all four fail with two atoms. Nor would it do to leave opposite gates out: two constant gates of one expert
have proportional derivatives, at which Definitions 2 and 4 fail, too.

So to the letter no expert meets the premise of Theorem 1, 3, 4 or 5, and they say nothing. What can be tested, and
contradicted, is a mended reading, at the atoms of the truth alone (study identifiability).
"""

from moestat import Study
from moestat.study.rules import function

LARGEST = "moestat.claims.rules:largest"

study = Study(
    "Does any expert satisfy the definitions of identifiability as printed?",
    paper="sigmoid-attention",
    source="SA Defs 1-4",
    question="Theorems 1, 3, 4 and 5 are about identifiable experts in the sense of Definitions 1, 2, 3 and 4. "
    "Is there any, if the definitions are read to the letter?",
    experiment="definitions_as_printed",
    seed=20260711,
    scale="paper",
    grid=dict(d=[1, 2]),
    summaries=[f"{where}_{k}" for where in ("one", "opposite") for k in (1, 2, 3, 4)],
)
study.preset("quick", "Three draws of the parameters per expert.", expected="about 5 s on 2 cores", replicates=3)
study.preset("paper", "Twenty draws of the parameters per expert.", expected="about 20 s on 2 cores", replicates=20)

for name, label in dict(relu="ReLU", gelu="GELU", tanh="tanh", sine="sine", bump="Gaussian bump").items():
    study.arm(name, label, expert=name)
study.arm("linear", "linear, p = 1", expert="linear")
for power in (2, 3):
    study.arm(f"polynomial-{power}", f"polynomial, p = {power}", expert="polynomial", power=power)
study.arm("arbitrary", "unrelated functions", expert="arbitrary")

for k, which, chosen in [
    (2, ", for every expert studied", dict(options=dict(arms=["*"]))),
    (4, ", for every expert studied", dict(options=dict(arms=["*"]))),
    (3, " for GELU and tanh, d = 1", dict(at=dict(d=1), options=dict(arms=["gelu", "tanh"]))),
]:
    study.ours(
        f"generic-def-{k}",
        f"At one generic atom the functions of Definition {k} are independent{which}.",
        function(LARGEST, f"one_{k}", **chosen).at_most(0.0, predicted="0 dependent functions"),
        source=f"ours: what mends SA Def. {k}",
        bearing="for",
    )
