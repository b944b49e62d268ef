"""Which experts are identifiable? (sigmoid-attention, Definitions 1 to 4)."""

from functools import partial

from moestat import Study
from moestat.study.rules import function

WITHOUT_LAMBDA_FAMILY = "Without lambda the family of Definition 1 is a part of the one with lambda, at lambda = 1."
LARGEST = "moestat.claims.rules:largest"

study = Study(
    "Which experts are strongly, weakly or not at all identifiable?",
    paper="sigmoid-attention",
    source="SA Defs 1-4, eq. (8)",
    question="The rates of the theorems hang on whether derivatives of gate times expert are linearly "
    "independent. For which experts and scores are they, and which equations stand in the way?",
    experiment="identifiability",
    seed=20260707,
    scale="paper",
    settings=dict(d=2, atoms=2),
    grid=dict(score=["full", "partial"], outer_scale=[False, True]),
    summaries=["verdict", "functions", "rank", "gap", "rate", "fails", "missing_8"],
)

study.preset(
    "quick",
    "One draw of the parameters per expert and score (each is the best of three).",
    expected="about 30 s on 2 cores",
    replicates=1,
)

study.preset("paper", "Five draws of the parameters.", expected="about 2 minutes on 2 cores", replicates=5)

for name, label, settings in [
    ("relu", "ReLU", dict(expert="relu")),
    ("gelu", "GELU", dict(expert="gelu")),
    ("tanh", "tanh", dict(expert="tanh")),
    ("linear", "linear, p = 1", dict(expert="linear")),
    ("polynomial-2", "polynomial, p = 2", dict(expert="polynomial", power=2)),
    ("polynomial-3", "polynomial, p = 3", dict(expert="polynomial", power=3)),
]:
    study.arm(name, label, **settings)

# --- claims of the paper: rules written before the run ---
# They ask whether the paper's examples meet its assumption; what follows for an expert that meets it, Theorem 1 says.
study.claim(
    "relu-strong",
    "Two-layer ReLU experts lambda phi(a'x + beta) are strongly identifiable.",
    function(LARGEST, "short_of_strong", "relu", at=dict(score="full", outer_scale=True)).at_most(
        0.0, predicted="strong"
    ),
    dict(source="SA after Def 1", group="def-1-networks"),
)
study.claim(
    "gelu-strong",
    "Two-layer GELU experts lambda phi(a'x + beta) are strongly identifiable.",
    function(LARGEST, "short_of_strong", "gelu", at=dict(score="full", outer_scale=True)).at_most(
        0.0, predicted="strong"
    ),
    dict(source="SA after Def 1", group="def-1-networks"),
)
study.claim(
    "relu-strong-plain",
    "ReLU experts as simulated, phi(a'x + beta), are strongly identifiable.",
    function(LARGEST, "short_of_strong", "relu", at=dict(score="full", outer_scale=False)).at_most(
        0.0, predicted="strong"
    ),
    dict(source="SA after Def 1, eq. (84)", because=WITHOUT_LAMBDA_FAMILY, group="def-1-networks"),
)
study.claim(
    "gelu-strong-plain",
    "GELU experts phi(a'x + beta) are strongly identifiable.",
    function(LARGEST, "short_of_strong", "gelu", at=dict(score="full", outer_scale=False)).at_most(
        0.0, predicted="strong"
    ),
    dict(source="SA after Def 1", because=WITHOUT_LAMBDA_FAMILY, group="def-1-networks"),
)
# This and polynomial-weak were one rule, the largest shortfall within [0.5, 1.5], which one strong power could meet.
study.claim(
    "polynomial-not-strong",
    "No polynomial expert, p = 1, 2, 3, is strongly identifiable.",
    function(
        "moestat.claims.rules:smallest",
        "short_of_strong",
        at=dict(score="full", outer_scale=False),
        options=dict(arms=["linear", "polynomial-*"]),
    ).at_least(1.0, predicted="not strong"),
    source="SA after Def 1",
)
study.claim(
    "polynomial-weak",
    "At generic parameters polynomial experts, p = 1, 2, 3, are weakly identifiable.",
    function(
        LARGEST,
        "short_of_strong",
        at=dict(score="full", outer_scale=False),
        options=dict(arms=["linear", "polynomial-*"]),
    ).at_most(1.0, predicted="weak"),
    source="SA after Def 2",
    because="Definition 2 asks for independence at any distinct parameters, generic ones among them.",
)
claim = partial(study.claim, source="SA after Def 2", group="def-2-networks")
claim(
    "relu-weak",
    "Two-layer ReLU experts lambda phi(a'x + beta) are weakly identifiable.",
    function(LARGEST, "short_of_strong", "relu", at=dict(score="full", outer_scale=True)).at_most(
        1.0, predicted="weak"
    ),
)
claim(
    "gelu-weak",
    "At generic parameters two-layer GELU experts lambda phi(a'x + beta) are weakly identifiable.",
    function(LARGEST, "short_of_strong", "gelu", at=dict(score="full", outer_scale=True)).at_most(
        1.0, predicted="weak"
    ),
    because="Definition 2 asks for independence at any distinct parameters, generic ones among them.",
)
# The examples after Definitions 3 and 4 carry the outer scale; without it, see smooth-partial-strong below.
study.claim(
    "relu-partial-strong",
    "Two-layer ReLU experts lambda phi(a'x + beta) are partial-strongly identifiable.",
    function(LARGEST, "short_of_strong", "relu", at=dict(score="partial", outer_scale=True)).at_most(
        0.0, predicted="strong"
    ),
    dict(source="SA after Def 3", group="def-3-networks"),
)
study.claim(
    "relu-partial-weak",
    "Two-layer ReLU experts lambda phi(a'x + beta) are partial-weakly identifiable.",
    function(LARGEST, "short_of_strong", "relu", at=dict(score="partial", outer_scale=True)).at_most(
        1.0, predicted="weak"
    ),
    dict(source="SA after Def 4", origin="stated", group="def-4-networks"),
)
study.claim(
    "gelu-partial-strong",
    "Two-layer GELU experts lambda phi(a'x + beta) are partial-strongly identifiable.",
    function(LARGEST, "short_of_strong", "gelu", at=dict(score="partial", outer_scale=True)).at_most(
        0.0, predicted="strong"
    ),
    dict(source="SA after Def 3", group="def-3-networks"),
)
study.claim(
    "gelu-partial-weak",
    "At generic parameters two-layer GELU experts lambda phi(a'x + beta) are partial-weakly identifiable.",
    function(LARGEST, "short_of_strong", "gelu", at=dict(score="partial", outer_scale=True)).at_most(
        1.0, predicted="weak"
    ),
    source="SA after Def 4",
    because="Definition 4 asks for independence at any distinct parameters, generic ones among them.",
    group="def-4-networks",
)
study.claim(
    "polynomial-partial-weak",
    "At generic parameters polynomial experts, p = 1, 2, 3, are partial-weakly identifiable.",
    function(
        LARGEST,
        "short_of_strong",
        at=dict(score="partial", outer_scale=False),
        options=dict(arms=["linear", "polynomial-*"]),
    ).at_most(1.0, predicted="weak"),
    source="SA after Def 4",
    because="Definition 4 asks for independence at any distinct parameters, generic ones among them.",
)
study.claim(
    "polynomial-partial-strong",
    "Polynomial experts, p = 1, 2, 3, are partial-strongly identifiable.",
    function(
        LARGEST,
        "short_of_strong",
        at=dict(score="partial", outer_scale=False),
        options=dict(arms=["linear", "polynomial-*"]),
    ).at_most(0.0, predicted="strong"),
    source="SA after Def 3",
)
study.claim(
    "any-distinct",
    "The first derivatives are independent at any distinct parameters, opposite gates included, for every "
    "expert studied.",
    function(LARGEST, "opposite", at=dict(score="partial", outer_scale=False), options=dict(arms=["*"])).at_most(
        0.0, predicted="0"
    ),
    source="SA Defs 2 and 4",
    because="Definitions 2 and 4 ask for it, and the paper names ReLU, GELU and polynomial experts that satisfy them.",
)
study.claim(
    "pde-8",
    "The three equations (8) hold for linear experts.",
    function(LARGEST, "missing_8", "linear", at=dict(score="full", outer_scale=False)).at_most(
        0.0, predicted="0 missing"
    ),
    source="SA eq. (8)",
)
study.claim(
    "pde-8-only",
    "Some of the equations (8) do not hold for GELU experts.",
    function(LARGEST, "missing_8", "gelu", at=dict(score="full", outer_scale=False)).at_least(
        1.0, predicted="> 0 missing"
    ),
    source="SA after Def 1",
    because="Equations (8) are the reason given why linear experts fail Definition 1, which GELU experts are "
    "said to satisfy.",
)
# --- ours ---
study.ours(
    "gate-equation",
    "The first equation of (8) belongs to the gate: it holds for every expert.",
    function(LARGEST, "missing_8_gate", at=dict(score="full", outer_scale=False), options=dict(arms=["*"])).at_most(
        0.0, predicted="0"
    ),
    dict(source="ours: against SA eq. (8) as a property of linear experts", bearing="against"),
    group="eq-8-holds-for-others",
)
study.ours(
    "layer-equations",
    "The second and the third equation of (8) hold for every phi(a'x + beta), GELU among them.",
    function(
        LARGEST,
        "missing_8_phi",
        at=dict(score="full", outer_scale=False),
        options=dict(arms=["relu", "gelu", "tanh", "linear"]),
    ).at_most(0.0, predicted="0"),
    dict(source="ours: against SA eq. (8) as a property of linear experts", bearing="against"),
    group="eq-8-holds-for-others",
)
study.claim(
    "some-strong",
    "Some expert studied is strongly identifiable under the fully quadratic score, so that Theorem 1 applies to it.",
    function(LARGEST, "verdict", at=dict(score="full", outer_scale=False), options=dict(arms=["*"])).at_least(
        2.0, predicted="2"
    ),
    source="SA Thm 1, after Def 1",
    because="Theorem 1 is about strongly identifiable experts, and the paper names ReLU and GELU networks as such.",
)
# [2] is {1, 2} in the paper's Notation, and the proof of Theorem 1 needs E itself besides. Added after the run.
study.ours(
    "order-zero",
    "For every expert and score studied the verdict is the same whether E itself is among the functions or not.",
    function(LARGEST, "order_zero", options=dict(arms=["*"])).at_most(0.0, predicted="0"),
    source="ours: SA Defs 1 and 3 with the orders 1 and 2 alone, as printed",
)
study.ours(
    "smooth-partial-strong",
    "At generic parameters GELU and tanh, phi(a'x + beta), are partial-strongly identifiable.",
    function(
        LARGEST, "short_of_strong", at=dict(score="partial", outer_scale=False), options=dict(arms=["gelu", "tanh"])
    ).at_most(0.0, predicted="strong"),
    dict(source="ours: experts to which SA Thm 4 applies", bearing="for"),
)
study.ours(
    "gate-alone",
    "Under the fully quadratic score nothing but the gate's own relations keeps GELU and tanh from strong.",
    function(
        LARGEST, "short_but_for_gate", at=dict(score="full", outer_scale=False), options=dict(arms=["gelu", "tanh"])
    ).at_most(0.0, predicted="0"),
    source="ours: why SA Def 1 fails",
)

# --- what the verdicts say: each text is shown only where they are so ---
study.finding(
    {"smooth-partial-strong": "no counterexample", "gelu-strong-plain": "refuted"},
    "At generic parameters GELU and tanh, phi(a'x + beta), are strongly identifiable with the partially "
    "quadratic score. With the fully quadratic one GELU is not.",
)
study.finding(
    {"gate-equation": "no counterexample", "layer-equations": "no counterexample"},
    "Equation (8) is read as a defect of linear experts. Its first equation holds for every expert, the second "
    "and third for every phi(a'x + beta), GELU among them.",
)
study.finding(
    {"relu-strong": "refuted", "relu-strong-plain": "refuted"},
    "ReLU, with an outer scale or without, is not strongly identifiable, since it is homogeneous.",
)
study.finding(
    {
        "gelu-partial-strong": "refuted",
        "gelu-partial-weak": "no counterexample",
        "smooth-partial-strong": "no counterexample",
    },
    "With an outer scale lambda, as in the example after Definition 3, GELU is not partial-strongly "
    "identifiable, since lambda does what the weight does; without it, it is.",
)
study.finding({"relu-weak": "refuted"}, "With an outer scale lambda, ReLU is not even weakly identifiable.")
study.finding(
    {"polynomial-partial-strong": "refuted"},
    "Not all of these polynomials are partial-strong, against the example after Definition 3.",
)
study.finding(
    {"any-distinct": "refuted"},
    "The definitions do not hold for *any distinct parameters*: with opposite gates sigma(s) + sigma(-s) = 1.",
)

study.figure(
    kind="function",
    title="Identifiability of experts under a sigmoid gate",
    function="studies.sigmoid_attention.parts.identifiability_figure:verdicts",
    options=dict(spectra=["relu", "gelu", "linear", "polynomial-3"]),
    caption="Left: the verdict per expert and score, without and with an outer scale lambda; the lowest of all "
    "draws. With the partially quadratic score read partial-strong and partial-weak. Right: singular values of "
    "the family of Definition 1 at two atoms, d = 2; the drop to rounding level counts the exact dependencies.",
)
