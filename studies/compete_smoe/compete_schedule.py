"""The loss against the share of steps that compete (compete-smoe, Table 4).

Models and trainings as in `compete_lm`. lambda(t) is the probability that a layer competes in step t, constant as in
the paper; in two arms of ours it falls to 0 or rises from 0. With lambda = 0 CompeteSMoE is SMoE bit for bit, and it
is the baseline.

The paper prints a cliff: 1.733 bits at lambda = 0.01, 1.303 at 0.05. Where the router makes the output, as in equation
5, a step that competes adds no noise to it; so in preset `rare` the winners make it (section 3.1), for 60 000 steps as
in the paper, so that a layer competes some 600 times as there.
"""

from moestat import Study
from moestat.study.rules import difference
from studies.compete_smoe.parts.shared import differences, paper, small

study = Study(
    "How often must the router learn from a competition?",
    paper="compete-smoe",
    source="CS section 6.4.1, Table 4",
    question="Is the loss robust for lambda from 0.03 to 0.09, and lower than without competition?",
    experiment="compete_lm",
    seed=20260903,
    scale="stand-in",
    grid=dict(probability=[0.0, 0.01, 0.03, 0.05, 0.07, 0.09]),
    summaries=["bpc", "competitions", "overlap", "entropy"],
)

study.preset(
    "quick",
    **small(
        300,
        60,
        4,
        "about 80 s on 2 cores",
        about="83 thousand weights on nineteen plays: constant lambda(t); 300 steps of 16 windows of 32 characters, "
        "4 seeds.",
        arms=["compete"],
    ),
)
study.preset("trained", **small(3000, 300, 8, "about 10 minutes on 2 cores", arms=["compete"]))
study.preset(
    "rare",
    **small(
        60000,
        2000,
        4,
        "about 35 minutes on 2 cores",
        about="The model of trained at lambda = 0.01 and 0, 60 000 steps as in the paper; the winners make the output.",
        rank=0,
        arms=["winners"],
        grid=dict(probability=[0.0, 0.01]),
    ),
)
study.preset("paper", **paper("tiny", "not measured; estimated at 10 to 20 hours on one GPU"))

for name, label, settings, presets in [
    ("compete", "CompeteSMoE", {}, ["*"]),
    ("winners", "CompeteSMoE, winners' output", dict(competition_output="competition"), ["rare"]),
    ("falling", "lambda(t) falls to 0", dict(form="falling", probability=0.05), ["*"]),
    ("rising", "lambda(t) rises from 0", dict(form="rising", probability=0.05), ["*"]),
]:
    study.arm(name, label, router="compete_smoe", presets=presets, **settings)

# --- claims: what Tables 4 and 9 print of the difference to SMoE ---
for number, probability, printed in [
    (3, 0.03, "-0.003"),
    (5, 0.05, "-0.030"),
    (7, 0.07, "-0.023"),
    (9, 0.09, "-0.024"),
]:
    study.claim(
        f"better-{number}",
        f"With lambda = {probability} CompeteSMoE has a lower loss than SMoE (lambda = 0).",
        difference("bpc", "compete", at=dict(probability=probability), versus_at=dict(probability=0.0)).at_most(
            0.0, predicted=printed
        ),
        dict(source="CS section 6.4.1, Tables 4 and 9", presets=["quick", "trained", "paper"]),
    )
study.claim(
    "too-sparse",
    "With lambda = 0.01 the competition is too sparse: CompeteSMoE has a higher loss than SMoE (lambda = 0).",
    difference("bpc", "compete", at=dict(probability=0.01), versus_at=dict(probability=0.0)).at_least(
        0.0, predicted="+0.40"
    ),
    dict(source="CS section 6.4.1, Tables 4 and 9", presets=["trained", "paper"]),
)
# what the authors would ask for first: as many competitions as theirs; written before the run
study.ours(
    "cliff-rare",
    "After 60 000 steps, as in the paper, with lambda = 0.01 and the winners' output in a step that competes, "
    "CompeteSMoE has a higher loss than SMoE (lambda = 0) by 0.1 bits or more (0.40 in Tables 4 and 9).",
    difference("bpc", "winners", at=dict(probability=0.01), versus_at=dict(probability=0.0)).at_least(0.1),
    dict(source="ours: control of too-sparse (CS section 6.4.1, Tables 4 and 9)", presets=["rare"]),
)

study.figure(
    **differences(
        "Test loss against the share of steps that compete",
        "Table 4",
        "bpc",
        ["compete", 0.0],
        "test loss minus SMoE's (lambda = 0), bits per character",
        over="probability",
    )
)
