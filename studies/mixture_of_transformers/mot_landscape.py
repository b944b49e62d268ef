"""Does specialisation reduce gradient conflicts and make each subtask strongly convex? (mixture-of-transformers, 5.2).

*MoT*: Algorithm 1 with eight experts. *Specialised*: four experts as Proposition 1 promises them, stages II and III.
*Ideal*: as Propositions 1 and 2 promise them, stage III alone. *Single*: one transformer with a linear FFN, which sees
all samples. *Multi-head*: the transformer of Fig. 1(b). *Random routing*: eight experts, the router not trained. The
router learns at eta_r = 100, 10^5 times eta, but for the *slow router*, eta_r = eta, as Appendix D has it.

Two gradients conflict if their inner product is negative; counted are the pairs of samples at one expert.

That no expert's loss is strongly convex along stage III is proved (argument `no-modulus`); the figure shows |grad|^2 /
(2 loss) and the least eigenvalue of the Hessian, each for the expert where it is largest.
"""

import itertools

from moestat import Study
from moestat.study.rules import difference, function, other_draws_gave

LAST = dict(over="tuning", window=[800, 8000])

study = Study(
    "Does specialisation reduce gradient conflicts and make each subtask strongly convex?",
    paper="mixture-of-transformers",
    source="MT abstract, Section 5.2",
    question="The abstract has two reasons for log(1/eps) steps in place of 1/eps: specialisation reduces "
    "gradient conflicts, and it makes each subtask strongly convex. Does it?",
    experiment="mot_landscape",
    seed=20261130,
    scale="reduced",
    settings=dict(classes=4, tokens=5, dimension=32, samples=400, token_noise=0.5),
    summaries=["conflict", "attention_conflict", "agreement", "across", "convexity"],
)
study.preset("quick", "6 replicates.", expected="80 s on 2 cores", replicates=6, block=1)
study.preset("paper", "40 replicates.", expected="8 minutes on 2 cores", replicates=40, block=1)
study.arm("mot", "MoT")
study.arm("specialised", "MoT, specialised start", start="specialised", experts=4)
study.arm("ideal", "MoT, ideal start", start="ideal", experts=4, tuning_rate=1.0)
study.arm("single", "single transformer", experts=1)
study.arm("heads", "multi-head", model="multi-head", tuning_rate=1.0)
study.arm("random", "random routing", router_rate=0.0)
study.arm("slow", "MoT, slow router", router_rate=0.001)
study.rate("polyak", bound=0.0, **LAST)
study.rate("loss", **LAST)

# --- conflicts --------------------------------------------------------------------------------------------------------
STATES = {
    "promised": ("specialised", "I", "With experts as Proposition 1 promises them", "stage II begins"),
    "ideal": ("ideal", "II", "With experts and attention as Propositions 1 and 2 promise them", "stage III begins"),
}
GAVE = {"promised-w": "supported", "ideal": "not supported", "ideal-w": "supported"}
GRADIENTS = {"": ("attention_conflict", "W_KQ"), "-w": ("conflict", "W")}
for (start, (arm, state, given, when)), (tag, (variable, weights)) in itertools.product(
    STATES.items(), GRADIENTS.items()
):
    study.claim(
        f"{start}{tag}-fewer-than-single",
        f"{given} fewer pairs of samples at an expert have conflicting gradients in {weights} where {when} than in a "
        "single transformer.",
        difference(variable, arm, at=dict(state=state), versus="single", versus_at=dict(state=state)).at_most(
            0.0, predicted="< 0"
        ),
        dict(source="MT Section 5.2, abstract"),
        hindsight=other_draws_gave(GAVE[start + tag]) if start + tag in GAVE else "",
    )
study.ours(
    "router-needed",
    "Eight experts with random routing have as many conflicts as a single transformer: within 0.03 after stage I.",
    difference("conflict", "random", at=dict(state="I"), versus="single", versus_at=dict(state="I")).within(
        -0.03, 0.03, predicted="0"
    ),
    source="ours: control of promised-w-fewer-than-single, experts that are not specialised",
)

study.claim(
    "nonconvex",
    "The loss of the multi-head transformer is not convex in its FFN: where stage III begins it is higher "
    "halfway between the FFN and itself with its neurons permuted, for some of 20 permutations.",
    function("moestat.claims.rules:largest", "convexity", "heads").at_most(0.0, predicted="< 0"),
    source="MT Section 5.2",
)

study.finding(
    {"promised-fewer-than-single": "supported", "ideal-w-fewer-than-single": "supported"},
    "Where a stage begins, in the weights that it trains, W_KQ in stage II and W in stage III, experts as the "
    "propositions promise them have fewer conflicts than a single transformer. In W there are next to none by "
    "construction: experts whose attention is aligned read little but y v_n.",
)
study.finding(
    {"ideal-fewer-than-single": "not supported"},
    "In W_KQ, which stage II trains, the conflicts are more than in a single transformer once the attention is aligned "
    "as Proposition 2 has it: where stage II is to end.",
)

# --- figures ----------------------------------------------------------------------------------------------------------
study.figure(
    kind="lines",
    title="Conflicts at the ends of the stages",
    x="state",
    xlabel="end of stage",
    logx=False,
    logy=False,
    panels=[
        dict(title="gradients in W", variable="conflict", ylabel="conflicting pairs"),
        dict(title="gradients in W_KQ", variable="attention_conflict", ylabel="conflicting pairs"),
    ],
    options=dict(within=dict(conflict=[0, 1], attention_conflict=[0, 1]), share_y=True),
    caption="Share of pairs of samples at one expert whose gradients have a negative inner product. Means and "
    "95 % t-intervals over replicates.",
)
study.figure(
    "convexity",
    kind="lines",
    title="Strong convexity along stage III",
    x="tuning",
    xlabel="steps of stage III",
    columns=3,
    panels=[
        dict(title="loss", variable="loss", ylabel="training loss"),
        dict(title="|grad|² / (2 loss)", variable="polyak", ylabel="|grad|² / (2 loss)"),
        dict(
            title="least eigenvalue",
            variable="curvature",
            arms=["mot", "specialised", "ideal", "single", "random", "slow"],
            ylabel="least eigenvalue of the Hessian",
        ),
    ],
    options=dict(share_y=False),
    caption="Geometric means over replicates with 95 % intervals. |grad|² / (2 loss) is at least the modulus "
    "of strong convexity, for the expert where it is largest, and so is the least eigenvalue of the Hessian.",
)
