"""Does a dense gate keep least squares from the true function? (sigmoid-attention, section 3).

Nothing is fitted. A truth is drawn as in App. E.1, and the gate of its last atom multiplied by 0 to 2. One atom too
many is placed in four ways; the distance to f* is in units of the last atom's part. *Together*: two atoms at the last
true one, with the best intercepts in [-5, 5], the case of section 3. *Vanished*: eta = 0. *Split*: half of a
homogeneous expert each. *Faint*: a copy of constant gate and intercept -5.

Section 3 is right in that two atoms at one true atom of dense gate cannot represent it. It assumes, and does not show,
that both tend to that atom: one that vanishes, or is a share of another, represents f* exactly, and measures with *at
most* N atoms hold G* anyway. The conclusion needs exactly N atoms, experts kept from 0 that do not split, and bounded
intercepts; the gap is then no larger than that of the faint atom. GELU reaches f* by a vanished atom alone, which the
paper's examples exclude: no claim is of it.
"""

from moestat import Study
from moestat.study.rules import function

study = Study(
    "When can measures with an atom too many represent the true function?",
    paper="sigmoid-attention",
    source="SA §3, App. C.1.1",
    question="Section 3 says that f can tend to f* only if the gates of over-specified atoms vanish, and to the "
    "closest other function of the model if not. Under which conditions is that so?",
    experiment="dichotomy",
    seed=20260714,
    scale="paper",
    settings=dict(d=3, n_true=3),
    grid=dict(gate=[0.0, 0.25, 0.5, 1.0, 2.0]),
    summaries=["together", "vanished", "split", "faint"],
)
study.preset("quick", "d = 3, three true experts, five truths.", expected="about 10 s on 2 cores", replicates=5)
study.preset(
    "paper",
    "The paper's size, d = 8 and eight true experts, ten truths.",
    expected="about 20 s on 2 cores",
    replicates=10,
    settings=dict(d=8, n_true=8),
)
study.arm("relu", "ReLU", expert="relu")
study.arm("gelu", "GELU", expert="gelu")
study.arm("linear", "linear", expert="linear")
study.arm("square", "squared", expert="polynomial", power=2)

study.claim(
    "together-dense",
    "Two atoms that tend to one true atom of dense gate do not represent it (gates from a quarter of the drawn "
    "ones on).",
    function("studies.sigmoid_attention.parts.rules:least_together").at_least(0.0001, predicted="> 0"),
    source="SA §3",
)
study.claim(
    "together-sparse",
    "Two atoms that tend to one true atom of constant gate can represent it.",
    function("moestat.claims.rules:largest", "together", at=dict(gate=0.0), options=dict(arms=["*"])).at_most(
        1e-06, predicted="0"
    ),
    source="SA §3",
)
for expert in ("relu", "linear"):
    study.claim(
        f"gap-{expert}",
        f"Dense regime, {expert} experts: no measure with one atom too many has the true function.",
        function("moestat.claims.rules:smallest", "nearest", expert, at=dict(gate=1.0)).at_least(
            1e-06, predicted="> 0"
        ),
        source="SA §3, App. C.1.1",
        because="Section 3 lets the estimator tend to the closest functions other than f* in the dense regime, and "
        "App. C.1.1 says that it does not tend to f*.",
    )

study.figure(
    kind="lines",
    title="Distance to the true function with one atom too many",
    x="gate",
    xlabel="factor on the gate of the last atom",
    logx=False,
    logy=False,
    panels=[
        dict(title="Both atoms at the true one", variable="together", ylabel="distance"),
        dict(title="A faint atom", variable="faint", ylabel="distance"),
    ],
    caption="In units of the root mean square of the last atom's part. Vanished and split atoms are at distance 0.",
)
