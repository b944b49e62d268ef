"""Is attention a mixture of experts with quadratic scores? (sigmoid-attention, section 2.3)."""

from moestat import Study
from moestat.study.rules import function

LARGEST = "moestat.claims.rules:largest"

study = Study(
    "Is attention a mixture of experts with quadratic scores?",
    paper="sigmoid-attention",
    source="SA §2.3, App. E.2 (eq. 85)",
    question="Section 2.3 rewrites each row of self-attention as a mixture of experts over the whole sequence. "
    "Is the identity exact, and what are the atoms of a real layer?",
    experiment="attention_is_moe",
    seed=20260705,
    scale="paper",
    grid=dict(heads=[1, 2, 4]),
    summaries=["ulps", "share", "relative", "model_ulps", "rank", "slope"],
)

study.preset("quick", "40 random layers per arm.", expected="about 10 s on 2 cores", replicates=40)
study.preset("paper", "400 random layers per arm.", expected="about 60 s on 2 cores", replicates=400)

for name, label, settings in [
    ("sigmoid", "sigmoid", dict(gate="sigmoid")),
    ("softmax", "softmax", dict(gate="softmax")),
    ("sigmoid-causal", "sigmoid, causal, −log n", dict(gate="sigmoid", causal=True, language_model=True)),
    ("softmax-causal", "softmax, causal", dict(gate="softmax", causal=True)),
    ("sigmoid-biases", "sigmoid, biases", dict(gate="sigmoid", biases=True)),
    ("softmax-biases", "softmax, biases", dict(gate="softmax", biases=True)),
]:
    study.arm(name, label, **settings)

# --- claims: rules written before the run ---
# Rounding analysis bounds the deviation by about one unit per term of the longest chain of sums: share <= 1.
study.claim(
    "sigmoid",
    "Each row of sigmoid attention, with a causal mask or without, is a mixture of experts with quadratic "
    "scores, to rounding.",
    function(LARGEST, "share", options=dict(arms=["sigmoid", "sigmoid-causal"])).at_most(1.0, predicted="equal"),
    dict(source="SA §2.3", group="attention-is-moe"),
)
study.claim(
    "softmax",
    "Each row of softmax attention, with a causal mask or without, is a mixture of experts with quadratic "
    "scores, to rounding.",
    function(LARGEST, "share", options=dict(arms=["softmax", "softmax-causal"])).at_most(1.0, predicted="equal"),
    dict(source="SA §2.3", group="attention-is-moe"),
)
study.ours(
    "biases",
    "Each row of attention with biases of queries and keys is a mixture of experts with fully quadratic scores, "
    "to rounding.",
    function(LARGEST, "share", options=dict(arms=["*-biases"])).at_most(1.0, predicted="equal"),
    source="ours: SA §2.3 has no biases",
)
study.claim(
    "partially-quadratic",
    "Attention without biases has the partially quadratic score: every b is 0.",
    function(LARGEST, "slope", options=dict(arms=["sigmoid", "softmax", "sigmoid-causal", "softmax-causal"])).at_most(
        0.0, predicted="0"
    ),
    source="SA §2.3, §3 (ii)",
    because="The score of section 2.3 is X M_ij X', without a linear part, which section 3 (ii) calls "
    "partially quadratic.",
)
study.ours(
    "symmetric-part",
    "The symmetric part of A, stored isometrically in the regression model, is all that is needed (deviation of "
    "at most 64 units).",
    function(LARGEST, "model_ulps", options=dict(arms=["*"])).at_most(64.0, predicted="equal"),
    source="ours: how the regression model stores A",
)
study.ours(
    "low-rank",
    "The symmetric part of A in an attention layer has rank 2 d at most, of n d.",
    function(LARGEST, "rank", options=dict(arms=["*"])).at_most(1.0, predicted="<= 1"),
    source="ours: on the A of SA §2.3",
)

# --- what the verdicts say: each text is shown only where they are so ---
study.finding(
    dict(sigmoid="no counterexample", softmax="no counterexample"),
    "No layer departs from the identity. What it says about the theory is less comfortable than section 2.3 suggests.",
)

study.figure(
    kind="lines",
    title="Attention minus its mixture of experts",
    x="heads",
    xlabel="heads",
    logx=False,
    panels=[
        dict(
            title="In units in the last place",
            arms=["sigmoid", "softmax", "sigmoid-biases", "softmax-biases"],
            variable="ulps",
            ylabel="largest deviation (ulps)",
        ),
        dict(
            title="Over the length of the sums",
            arms=["sigmoid", "softmax", "sigmoid-biases", "softmax-biases"],
            variable="share",
            ylabel="share of the rounding bound",
        ),
    ],
    options=dict(share_y=False),
    caption="Largest deviation over rows and coordinates of random layers, in units in the last place of the "
    "sum of absolute terms (left), and over the number of terms in the longest chain of sums, which bounds it "
    "(right). Geometric means with 95 % intervals over layers.",
)
