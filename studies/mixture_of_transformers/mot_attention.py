"""Does the attention find the classification signal in stage II? (mixture-of-transformers, Proposition 2).

Stage II from what Proposition 1 promises, W = sqrt(sigma_0) v_n and every sample at an expert of its class; after the
stage I that is reached it is in `mot_open_constants`. p(query, key) is the softmax attention of a query token to a key
token, averaged over test samples at an expert of their class. *Short* is ended soon after p(v_n, v_n) has passed 0.4,
the T2 that favours "O(sigma_0) otherwise" most. All sizes and rates are ours.

Either half of the proposition alone is easily had: uniform attention 1/L is Theta(1) for a fixed L, and O(sigma_0)
where L grows like 1 / sigma_0. So both are judged together: one pair at 0.4 or more, and all others O(sigma_0). With L
= 5 uniform attention, 0.2, is more than sigma_0 = 0.1 before any training; the preset *long-sequences* has L = 2 /
sigma_0, so that uniform attention is sigma_0 / 2. Every row of p sums to 1, so "O(sigma_0) otherwise" can at best mean
that other queries attend to noise alone.
"""

import math

from moestat import Study
from moestat.study.rules import function

LONG = {"long-02": 0.2, "long-01": 0.1, "long-005": 0.05}  # arm -> sigma_0, which has L = 2 / sigma_0 tokens

study = Study(
    "Does the attention find the classification signal in stage II?",
    paper="mixture-of-transformers",
    source="MT Proposition 2",
    question="Proposition 2: after stage II the attention p(mu, nu) of an expert of class n is Theta(1) for mu "
    "= nu = v_n, and O(sigma_0) for all other pairs. Is that so?",
    experiment="mot",
    seed=20261201,
    scale="reduced",
    settings=dict(experts=8, tuning_steps=400, tuning_rate=1.0, records_per_decade=6),
    summaries=[
        *("after_self_attention", "after_largest_other", "after_test_loss", "after_test_error", "steps_to_attention"),
    ],
)
study.preset("quick", "10 replicates.", expected="10 s on 2 cores", replicates=10, block=1)
study.preset("paper", "40 replicates.", expected="20 s on 2 cores", replicates=40, block=2)
study.preset(
    "long-sequences",
    "L = 2 / sigma_0 tokens, from what Proposition 1 promises, stage II alone, 20 replicates.",
    scale="reduced",
    expected="1 minute on 2 cores",
    replicates=20,
    block=1,
    rank=0,
    arms=["long-*"],
    settings=dict(tuning_steps=0, records_per_decade=30, test_samples=400),
)

promised = dict(start="specialised", experts=4, specialise_steps=0)
for name, sigma, steps in [("short-03", 0.3, 6), ("short-01", 0.1, 10)]:
    study.arm(
        name,
        f"from Prop. 1's state, short, σ0 = {sigma}",
        start_scale=sigma,
        ideal_weight=math.sqrt(sigma),
        attention_steps=steps,
        **promised,
    )
for name, sigma in LONG.items():
    tokens = round(2 / sigma)
    study.arm(
        name,
        f"from Prop. 1's state, σ0 = {sigma}, L = {tokens}",
        start_scale=sigma,
        ideal_weight=math.sqrt(sigma),
        tokens=tokens,
        attention_rate=4.0 * tokens,
        attention_steps=40 if sigma == 0.05 else 30,
        presets=["long-sequences"],
        **promised,
    )

GROUP = "proposition 2: v_n attends to itself, and nothing else is attended to"
study.claim(
    "others-order",
    "With L = 5 tokens at either sigma_0, after a short stage II from the state that Prop. 1 promises, where "
    "p(v_n, v_n) has just passed 0.4, the largest attention among the other pairs of signals goes at least like "
    "sigma_0 (0.1, 0.3).",
    function(
        "moestat.claims.orders:exponent",
        "after_largest_other",
        "short-03",
        at=dict(stage="II"),
        versus="short-01",
        versus_at=dict(stage="II"),
        options=dict(target=1.099, given=dict(variable="after_self_attention", least=0.4)),
    ).at_least(0.879, predicted=1.099),
    dict(source="MT Prop. 2, Lemma 6", presets=["quick", "paper"]),
    because="p(v_n, v_n) is Theta(1) and what is O(sigma_0) falls like sigma_0 at least, with the L that the "
    "proof of Lemma 6 holds (softmax = Theta(1)); a fifth is left for logarithms, as in mot_gradients",
)
study.claim(
    "joint-long",
    "With L = 2 / sigma_0 tokens there is a step of stage II, from the state that Prop. 1 promises, at which "
    "p(v_n, v_n) is 0.4 or more and the largest attention among the other pairs of signals at most sigma_0, at "
    "sigma_0 = 0.2, 0.1 and 0.05 alike (untrained neither L nor sigma_0 has both).",
    function(
        "studies.mixture_of_transformers.parts.rules:at_one_step",
        "largest_other",
        options=dict(own="self_attention", least=0.4, bounds=LONG),
    ).at_most(1.0, predicted="<= 1"),
    dict(source="MT Prop. 2, Appendix E", presets=["long-sequences"]),
    because="there is a T2 with Theta(1), for which 0.4 is taken, for (v_n, v_n) and O(sigma_0), with the "
    "constant 1, for all other pairs, which remain at it; L is open, and at the start it asks for 1 / L = "
    "O(sigma_0)",
)

study.finding(
    {"others-order": "not supported"},
    "With L = 5 other pairs stay at about the uniform attention, at sigma_0 = 0.1 as at 0.3.",
)
study.finding(
    {"joint-long": "supported"},
    "With L = 2 / sigma_0 tokens there is a T2 as Proposition 2 has it: other pairs are still at about 1 / L, where "
    "they were untrained, when p(v_n, v_n) passes 0.4. Later in the stage they exceed sigma_0.",
)

study.figure(
    kind="lines",
    title="Attention and loss over stages II and III",
    x="epoch",
    xlabel="steps",
    logy=False,
    panels=[
        dict(title="p(v_n, v_n)", variable="self_attention", ylabel="attention"),
        dict(title="largest other", variable="largest_other", ylabel="attention"),
        dict(title="test loss", variable="test_loss", ylabel="test loss"),
    ],
    options=dict(share_y=False),
    caption="Means over replicates with 95 % intervals.",
)
