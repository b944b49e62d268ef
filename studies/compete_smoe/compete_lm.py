"""The loss of language models with five kinds of routers (compete-smoe, Table 2).

The model is the paper's with smaller sizes: a decoder with a sparse mixture of 16 experts, top-2, in each block
(Switch), or with a dense block after each of them (GLaM). The text is nineteen plays of Shakespeare by characters, in
contiguous parts of 90, 5 and 5 %; the setting `file` takes enwik8, text8 or WikiText-103. Adam, inverse square root
after a warm-up, gradients clipped to norm 1; the weights of the lowest validation loss are tested.

XMoE starts at the temperature 0.3 of its authors; StableMoE's router is frozen after a tenth of the steps, or after
half of them. CompeteSMoE, as equation 5 is printed, is beside them in the figure; what is claimed of it is judged in
`compete_readings`.

A replicate is a draw of first weights, batches and coins, which the arms share; differences are paired. What clips,
warms up and normalises is ours: the paper leaves it open. After 400 steps the model knows no more than which character
follows which. GLaM has twice the blocks and 15 % more weights here.
"""

from moestat import Study
from moestat.study.rules import difference
from studies.compete_smoe.parts.shared import METHODS, lead, paper, small

ARCHITECTURES = {"switch": ("Switch", "a Switch transformer"), "glam": ("GLaM", "GLaM")}
ARMS = {key: [f"{key}-{method}" for method in METHODS] for key in ARCHITECTURES}
study = Study(
    "Which router gives the lowest loss?",
    paper="compete-smoe",
    source="CS section 6.2, Table 2",
    question="Does a fixed router lose against all others, and does GLaM beat the Switch Transformer?",
    experiment="compete_lm",
    seed=20260901,
    scale="stand-in",
    summaries=["bpc", "mean_valid_bpc", "best_valid_bpc", "entropy", "parameters"],
)

study.preset("quick", **small(400, 80, 4, "about 8 minutes on 2 cores"))
study.preset("trained", **small(4000, 400, 8, "about half an hour on 2 cores"))
study.preset("paper", **paper("small", "not measured; estimated at 20 to 40 hours on one GPU"))


for key in ARCHITECTURES:
    for method, label in METHODS.items():
        study.arm(f"{key}-{method}", label, architecture=key, router=method.replace("-", "_"))
    half = dict(router="stable_moe", stage_one=0.5)
    study.arm(f"{key}-stable-half", "StableMoE, frozen after half", architecture=key, **half)

# --- claims: Table 2; a printed difference is that of the column enwik8 small ---
PRINTED = {"switch": ("+0.004", "+0.011"), "glam": ("+0.002", "+0.005")}  # the fixed router to all, and to SMoE
for key, (name, model) in ARCHITECTURES.items():
    source = f"CS section 6.2; Table 2, {name}, enwik8 small"
    study.claim(
        f"fixed-worst-{key}",
        f"In {model} the fixed router has the highest loss of all five.",
        lead("bpc", f"{key}-smoe-fixed", ARMS[key], lower=False).at_least(0.0, predicted=PRINTED[key][0]),
        dict(source=source),
    )
    study.claim(
        f"fixed-smoe-{key}",
        f"In {model} SMoE-Fixed has a higher loss than SMoE: a fixed router loses against one that learns.",
        difference("bpc", f"{key}-smoe-fixed", versus=f"{key}-smoe").at_least(0.0, predicted=PRINTED[key][1]),
        dict(source=source),
    )

across = dict(source="CS section 6.2: across all methods, GLaM is better than Switch")
for method, claim, printed, router, whose in [
    ("smoe", "glam-better", "-0.005", "SMoE's router", dict(source="CS section 6.2; Table 2, SMoE, enwik8 small")),
    ("smoe-fixed", "glam-better-smoe-fixed", "-0.011", "the router of SMoE-Fixed", across),
    ("xmoe", "glam-better-xmoe", "-0.011", "the router of XMoE", across),
    ("stable-moe", "glam-better-stable-moe", "-0.005", "the router of StableMoE", across),
]:
    study.claim(
        claim,
        f"With {router} GLaM has a lower loss than a Switch transformer.",
        difference("bpc", f"glam-{method}", versus=f"switch-{method}").at_most(0.0, predicted=printed),
        whose,
    )

study.figure(
    kind="function",
    title="Validation loss in training, and test loss, of five routers",
    function="studies.compete_smoe.parts.router_figure:training",
    options=dict(groups=[[name, ARMS[key]] for key, (name, _) in ARCHITECTURES.items()]),
    caption="Left: validation loss over steps, means over seeds with 95 % t-intervals, without the untrained model. "
    "Right: test loss minus that of SMoE with the same first weights and batches; small marks are seeds, bars 95 % "
    "t-intervals of the mean; a bar across 0 decides nothing.",
)
