"""The loss in a larger model (compete-smoe, Table 2: from small to medium).

Models and trainings as in `compete_lm`; the setting `thirds` multiplies blocks and width by 4/3, which makes the
paper's medium of its small. XMoE and StableMoE, the text has it, gain on SMoE as the model grows: that is judged by a
difference of differences, paired by seed. In one arm of ours StableMoE's router is frozen after half of the steps.
"""

from moestat import Study
from moestat.study.rules import difference, function
from studies.compete_smoe.parts.shared import METHODS, paper, small

study = Study(
    "Does competition help in a larger model?",
    paper="compete-smoe",
    source="CS section 6.2, Table 2: small and medium",
    question="Does the gain of CompeteSMoE stay, and do XMoE and StableMoE gain on SMoE, when the model grows?",
    experiment="compete_lm",
    seed=20260909,
    scale="stand-in",
    grid=dict(thirds=[3, 4]),
    summaries=["bpc", "parameters"],
)

study.preset(
    "quick",
    **small(
        300,
        60,
        4,
        "2 to 7 minutes on 2 cores, idle to busy",
        about="83 and 186 thousand weights on nineteen plays: 300 steps of 16 windows of 32 characters, 4 seeds.",
    ),
)
study.preset(
    "trained",
    **small(
        3000,
        300,
        8,
        "about half an hour on 2 cores",
        about="The models of quick, ten times the steps, 8 seeds, its four among them: 3000 of 16 windows of 32 "
        "characters.",
    ),
)
study.preset(
    "paper",
    **paper(
        "small",
        "not measured; estimated at 30 to 60 hours on one GPU",
        about="The paper's sizes (small and medium), windows of 512, batches of 48, 60 000 steps; on the plays "
        "unless `file` is enwik8.",
    ),
)

for arm in ("smoe", "xmoe", "stable-moe"):
    study.arm(arm, METHODS[arm], router=arm.replace("-", "_"))
study.arm("stable-half", "StableMoE, frozen after half", router="stable_moe", stage_one=0.5)
study.arm("compete-smoe", "CompeteSMoE", router="compete_smoe")

# --- claims ---
study.claim(
    "compete-larger",
    "In the larger model CompeteSMoE has a lower loss than SMoE.",
    difference("bpc", "compete-smoe", at=dict(thirds=4), versus="smoe").at_most(0.0, predicted="-0.015"),
    source="CS section 6.2; Table 2, Switch, enwik8 medium",
)
for arm, printed in [("xmoe", "-0.011"), ("stable-moe", "-0.009")]:
    terms = [
        dict(sign=sign, arm=one, at=dict(thirds=thirds))
        for sign, one, thirds in [(1, arm, 4), (-1, "smoe", 4), (-1, arm, 3), (1, "smoe", 3)]
    ]
    study.claim(
        f"{arm}-gains",
        f"{METHODS[arm]} gains on SMoE when the model grows: its loss minus SMoE's falls.",
        function("studies.compete_smoe.parts.rules:contrast", "bpc", arm, options=dict(terms=terms)).at_most(
            0.0, predicted=printed
        ),
        dict(source="CS section 6.2; Table 2, Switch, enwik8 small and medium"),
    )
study.claim(
    "larger-better",
    "With SMoE's router the larger model has the lower loss.",
    difference("bpc", "smoe", at=dict(thirds=4), versus_at=dict(thirds=3)).at_most(0.0, predicted="-0.061"),
    dict(source="CS Table 2, Switch, enwik8, SMoE", bearing="neutral"),
    because="Table 2 has SMoE at 1.191 in the small and 1.130 in the medium model.",
)
