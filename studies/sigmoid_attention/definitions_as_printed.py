"""Definitions 1 to 4 to the letter: does any expert satisfy them? (sigmoid-attention)."""

from functools import partial

from moestat import Study
from moestat.study.rules import function

LARGEST = "moestat.claims.rules:largest"
SMALLEST = "moestat.claims.rules:smallest"

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
    summaries=["one_1", "one_2", "one_3", "one_4", "opposite_1", "opposite_2", "opposite_3", "opposite_4"],
)

study.preset("quick", "Three draws of the parameters per expert.", expected="about 5 s on 2 cores", replicates=3)
study.preset("paper", "Twenty draws of the parameters per expert.", expected="about 20 s on 2 cores", replicates=20)

for name, label, settings in [
    ("relu", "ReLU", dict(expert="relu")),
    ("gelu", "GELU", dict(expert="gelu")),
    ("tanh", "tanh", dict(expert="tanh")),
    ("sine", "sine", dict(expert="sine")),
    ("bump", "Gaussian bump", dict(expert="bump")),
    ("linear", "linear, p = 1", dict(expert="linear")),
    ("polynomial-2", "polynomial, p = 2", dict(expert="polynomial", power=2)),
    ("polynomial-3", "polynomial, p = 3", dict(expert="polynomial", power=3)),
    ("arbitrary", "unrelated functions", dict(expert="arbitrary")),
]:
    study.arm(name, label, **settings)

# --- claims of the paper: rules written before the run ---
# An expert has the dependencies of the gate and its own: one without any of its own is the best case.
for def_, thm, how in [(1, 1, "strongly"), (2, 3, "weakly"), (3, 4, "partial-strongly"), (4, 5, "partial-weakly")]:
    study.claim(
        f"can-be-met-{def_}",
        f"An expert can be {how} identifiable to the letter of Definition {def_}: the functions are independent "
        "if the expert has no relation of its own.",
        function(LARGEST, f"printed_{def_}", "arbitrary").at_most(0.0, predicted="0 dependent functions"),
        source=f"SA Def {def_}, Thm {thm}",
        because=f"Theorem {thm} is about such experts, and the paper names some after the definition.",
        group=f"def-{def_}-can-be-met",
    )

# --- ours ---
study.ours(
    "one-atom-def-1",
    "At one atom already the functions of Definition 1 are dependent: by an identity for every expert and d, "
    "seen for every expert studied, d = 1, 2.",
    function(SMALLEST, "one_1", options=dict(arms=["*"])).at_least(1.0, predicted="at least 1 dependent function"),
    dict(source="ours: identities of the gate", bearing="against", group="gate-identities"),
)
study.ours(
    "one-atom-def-3",
    "At one atom already the functions of Definition 3 are dependent: by an identity for every expert and d >= "
    "2, seen for every expert studied, d = 2.",
    function(SMALLEST, "one_3", at=dict(d=2), options=dict(arms=["*"])).at_least(
        1.0, predicted="at least 1 dependent function"
    ),
    dict(source="ours: identities of the gate", bearing="against", group="gate-identities"),
)

for k in [1, 2, 3, 4]:
    study.ours(
        f"opposite-gates-{k}",
        f"At two atoms with opposite gates the functions of Definition {k} are dependent: by an identity for "
        "every expert and d, seen for every expert studied, d = 1, 2.",
        function(SMALLEST, f"opposite_{k}", options=dict(arms=["*"])).at_least(
            1.0, predicted="at least 1 dependent function"
        ),
        dict(source="ours: identities of the gate", bearing="against", group="gate-identities"),
    )

ours = partial(study.ours, source="ours: what mends SA Defs 2 to 4", group="generic-parameters", bearing="for")
# The mended reading: at one generic atom nothing but these identities stands in the way of Definitions 2 and 4, nor
# of Definition 3 in one dimension for GELU and tanh.
ours(
    "generic-def-2",
    "At one generic atom the functions of Definition 2 are independent, for every expert studied.",
    function(LARGEST, "one_2", options=dict(arms=["*"])).at_most(0.0, predicted="0 dependent functions"),
)
ours(
    "generic-def-4",
    "At one generic atom the functions of Definition 4 are independent, for every expert studied.",
    function(LARGEST, "one_4", options=dict(arms=["*"])).at_most(0.0, predicted="0 dependent functions"),
)
ours(
    "generic-def-2-three",
    "At three generic atoms the functions of Definition 2 are independent, for every expert studied.",
    function(LARGEST, "three_2", options=dict(arms=["*"])).at_most(0.0, predicted="0 dependent functions"),
)
ours(
    "generic-def-4-three",
    "At three generic atoms the functions of Definition 4 are independent, for every expert studied.",
    function(LARGEST, "three_4", options=dict(arms=["*"])).at_most(0.0, predicted="0 dependent functions"),
)
ours(
    "generic-def-3",
    "At one generic atom the functions of Definition 3 are independent for GELU and tanh, d = 1.",
    function(LARGEST, "one_3", at=dict(d=1), options=dict(arms=["gelu", "tanh"])).at_most(
        0.0, predicted="0 dependent functions"
    ),
)

# --- what the verdicts say: each text is shown only where they are so ---
study.finding(
    {"can-be-met-*": "refuted"},
    "To the letter, no expert satisfies any of Definitions 1 to 4: Theorems 1, 3, 4 and 5 are about nothing "
    "until their premises are mended.",
)

study.finding(
    {"generic-def-2": "no counterexample", "generic-def-4": "no counterexample", "generic-def-3": "no counterexample"},
    "At generic parameters of one atom Definitions 2 and 4 hold for all of these experts, and Definition 3 for "
    "GELU and tanh in one dimension: what breaks them is *any distinct parameters*.",
)

study.figure(
    kind="lines",
    title="Functions too many for independence",
    x="d",
    xlabel="d",
    logx=False,
    logy=False,
    panels=[
        dict(title="Definition 1, one atom", variable="one_1", ylabel="dependent functions"),
        dict(title="Definition 2, opposite gates", variable="opposite_2", ylabel="dependent functions"),
        dict(title="Definition 3, one atom", variable="one_3", ylabel="dependent functions"),
        dict(title="Definition 4, opposite gates", variable="opposite_4", ylabel="dependent functions"),
    ],
    options=dict(share_y=False),
    caption="How many of the functions of a definition are linear combinations of the others. Zero would be "
    "independence.",
)
