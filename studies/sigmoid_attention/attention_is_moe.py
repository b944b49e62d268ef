"""Is attention a mixture of experts with quadratic scores? (sigmoid-attention, section 2.3).

Random layers are computed twice: as attention, and as the mixture whose atoms (A, b, c, a, beta) are read from the
weights. The largest deviation over rows and coordinates is given in units in the last place of the sum of absolute
terms (``ulps``), and as a share of the number of terms in the longest chain of sums, which bounds it by rounding
analysis; ``model_ulps`` is the deviation of the package's own regression mixture with these atoms. Biases are the b and
c of the fully quadratic score, masks leave out atoms, and heads are added.

Attention has linear experts (the polynomial p = 1 of Theorem 2), without biases the partially quadratic score, and A of
rank 2 d_k at most: not the experts whose rates Theorem 1 gives.
"""

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
    summaries=["ulps", "share", "model_ulps", "slope"],
)
study.preset("quick", "40 random layers per arm.", expected="about 10 s on 2 cores", replicates=40)
study.preset("paper", "400 random layers per arm.", expected="about 60 s on 2 cores", replicates=400)

study.arm("sigmoid", "sigmoid", gate="sigmoid")
study.arm("softmax", "softmax", gate="softmax")
study.arm("sigmoid-causal", "sigmoid, causal, −log n", gate="sigmoid", causal=True, language_model=True)
study.arm("softmax-causal", "softmax, causal", gate="softmax", causal=True)
for gate in ("sigmoid", "softmax"):
    study.arm(f"{gate}-biases", f"{gate}, biases", gate=gate, biases=True)

for gate in ("sigmoid", "softmax"):
    study.claim(
        gate,
        f"Each row of {gate} attention, with a causal mask or without, is a mixture of experts with quadratic "
        "scores, to rounding.",
        function(LARGEST, "share", options=dict(arms=[gate, f"{gate}-causal"])).at_most(1.0, predicted="equal"),
        source="SA §2.3",
    )
WITHOUT_BIASES = ["sigmoid", "softmax", "sigmoid-causal", "softmax-causal"]
study.claim(
    "partially-quadratic",
    "Attention without biases has the partially quadratic score: every b is 0.",
    function(LARGEST, "slope", options=dict(arms=WITHOUT_BIASES)).at_most(0.0, predicted="0"),
    source="SA §2.3, §3 (ii)",
    because="The score of section 2.3 is X M_ij X', without a linear part, which section 3 (ii) calls "
    "partially quadratic.",
)
