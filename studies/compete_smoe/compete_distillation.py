"""Does the router of CompeteSMoE learn the competition? (compete-smoe, section 3.2).

Models and trainings as in `compete_lm`; the router makes the output in a step that competes. Measured on the test
part, in every layer, is the share of the router's two experts that are also the two with the largest output norms. The
grid varies the weight of L_R (ours; 1 in the paper) and lambda; SMoE, for which neither has a meaning, is listed under
the paper's. L_R averages over 16 experts, of which at least 12 contribute zero, in one step of twenty, beside 5 NLL.

Early in a training an expert that is chosen often is trained to answer, and its output grows: an overlap above chance
(`overlap_chance`, from how often either side chooses each expert) shows nothing. Compare it with SMoE's, which never
competed.
"""

from moestat import Study
from moestat.study.rules import difference
from studies.compete_smoe.parts.shared import MUST_LEARN, NOT_DELIVERED, paper, small

study = Study(
    "Does the router learn the competition?",
    paper="compete-smoe",
    source="CS section 3.2, equation 3",
    question="Does the router's choice come to agree with the competition, and is the loss lower if it does?",
    experiment="compete_lm",
    seed=20260907,
    scale="stand-in",
    grid=dict(router_weight=[1.0, 10.0, 100.0], probability=[0.05, 0.2, 1.0]),
    summaries=["overlap", "overlap_chance", "bpc", "entropy", "usage_entropy"],
)

FEW = dict(router_weight=[1.0, 100.0], probability=[0.05, 0.2])
study.preset(
    "quick",
    **small(
        400,
        80,
        6,
        "about 4 minutes on 2 cores",
        about="83 thousand weights on nineteen plays: router-loss weights 1 and 100, lambda 0.05 and 0.2, 400 steps "
        "of 16 windows of 32 characters, 6 seeds.",
        grid=FEW,
    ),
)
study.preset("trained", **small(4000, 400, 8, "about 20 minutes on 2 cores", grid=FEW))
study.preset("paper", **paper("tiny", "not measured; estimated at 10 to 20 hours on one GPU"))

study.arm("compete", "CompeteSMoE", router="compete_smoe")
study.arm("smoe", "SMoE", router="smoe", router_weight=1.0, probability=0.05)

# --- claims ---
PRINTED = dict(router_weight=1.0, probability=0.05)
STRONG = dict(router_weight=100.0, probability=0.2)
study.claim(
    "paper-smoe",
    "With the paper's weight 1 and lambda = 0.05 the router's top 2 meet the winners of a competition more often "
    "than those of SMoE do, whose router never saw a competition.",
    difference("overlap", "compete", at=PRINTED, versus="smoe", versus_at=PRINTED).at_least(0.0, predicted="> 0"),
    dict(source="CS section 3.2, equation 3", bearing="neutral"),
    dict(because=MUST_LEARN, hindsight=NOT_DELIVERED),
)
study.ours(
    "strong",
    "With 100 times the paper's weight and lambda = 0.2 the router's top 2 meet the winners more often than with the "
    "paper's weight and lambda, by 0.1 or more.",
    difference("overlap", "compete", at=STRONG, versus_at=PRINTED).at_least(0.1),
    source="ours: manipulation check of paper-smoe (CS section 3.2)",
)
study.ours(
    "pays",
    "With 100 times the paper's weight and lambda = 0.2, where the router knows the competition better, CompeteSMoE "
    "has a lower loss than with the paper's weight and lambda.",
    difference("bpc", "compete", at=STRONG, versus_at=PRINTED).at_most(0.0),
    dict(source="ours: whether the loss rewards what CS section 3.2 teaches the router", bearing="for"),
)

study.figure(
    kind="lines",
    title="Does the router know who would win?",
    x="router_weight",
    xlabel="weight of the router loss (1 in the paper)",
    hue="probability",
    logy=False,
    panels=[
        dict(title="overlap with the competition", arms=["compete"], variable="overlap", ylabel="overlap of the top 2"),
        dict(title="test loss", arms=["compete"], variable="bpc", ylabel="bits per character"),
    ],
    options=dict(share_y=False),
    caption="Share of the router's top 2 that are among the two experts with the largest output norms. Means over "
    "seeds with 95 % t-intervals; the seeds share first weights and batches, so the claims compare them in pairs.",
)
