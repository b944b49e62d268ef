"""Where the winners make the output: does the router learn them, is the loss lower, and what does it cost?

Trainings by `compete_lm`; preset `long` has half a million weights. The paper leaves open whose output counts in a step
that competes: in equation 5 the router's, or the task gives it no gradient; in section 3.1 and Fig. 1a the winners'.
Arm `compete-smoe` is the former, of which only the cost is judged here (the rest: `compete_readings`);
`compete-winners` is the latter.

Preset `control` has two arms more, with the winners' output: without the router loss (`untaught`), and with a
competition in every step (`always`), which is competition itself, without a router as its proxy. `seconds_per_step` is
a measurement of the machine.
"""

from moestat import Study
from moestat.study.rules import difference, log_ratio
from studies.compete_smoe.parts.shared import differences, paper, small

study = Study(
    "Where the winners make the output: what the router learns, the loss, and the cost",
    paper="compete-smoe",
    source="CS appendix C.4, Table 9",
    question="Over paired seeds, is CompeteSMoE better than SMoE, and how much longer does a step take?",
    experiment="compete_lm",
    seed=20260905,
    scale="stand-in",
    summaries=["bpc", "best_valid_bpc", "seconds_per_step", "tokens_per_second", "competitions"],
)

study.preset("quick", **small(400, 80, 8, "90 s to 3 minutes on 2 cores, idle to busy"))
study.preset(
    "long",
    "Half a million weights on nineteen plays: 3000 steps of 16 windows, 3 million characters, 8 seeds.",
    expected="about 30 minutes on 2 cores",
    replicates=8,
    settings=dict(size="micro", steps=3000, every=250),
    block=1,
)
study.preset(
    "control",
    **small(
        3000,
        300,
        8,
        "about 10 minutes on 2 cores",
        about="The model of quick after 3000 steps, with the winners' output: without the router loss, and with a "
        "competition in every step. 8 seeds.",
        rank=0,
        arms=["smoe", "compete-smoe", "compete-winners", "untaught", "always"],
    ),
)
study.preset("paper", **paper("tiny", "not measured; estimated at 3 to 6 hours on one GPU"))

winners = dict(router="compete_smoe", competition_output="competition")
study.arm("smoe", "SMoE", router="smoe")
study.arm("compete-smoe", "CompeteSMoE", router="compete_smoe")
study.arm("compete-winners", "CompeteSMoE, winners' output", **winners)
study.arm("untaught", "the same without the router loss", router_weight=0.0, presets=["control"], **winners)
study.arm("always", "winners' output in every step", probability=1.0, presets=["control"], **winners)

# --- claims: the cost ---
step_time = log_ratio("seconds_per_step", "compete-smoe", versus="smoe")
study.claim(
    "overhead",
    "A step of CompeteSMoE takes not above 15 % longer than one of SMoE, an upper bound that no overhead at all "
    "meets, too (log ratio; about 10 % in the text, 18 % in Table 9).",
    step_time.at_most(0.14, predicted="0.10"),
    dict(because="The text says only at around 10 % longer; not above 15 % is our reading."),
    source="CS appendix C.4",
)
study.claim(
    "overhead-printed",
    "A step of CompeteSMoE takes about 10 % longer than one of SMoE, between 5 and 15 % (log ratio).",
    step_time.within(0.05, 0.14, predicted="0.10"),
    dict(source="CS appendix C.4", because="The text says around 10 %; 5 to 15 is our reading."),
    printed=True,
)

# --- controls: where competition is delivered ---
WINNERS = "Where the winners make the output in a step that competes,"
for name, statement, rule, control, presets in [
    (
        "learns-winners",
        f"{WINNERS} the router's top 2 meet the winners of a competition more often than those of SMoE do.",
        difference("overlap", "compete-winners", versus="smoe").at_least(0.0),
        "manipulation check of better-winners and surer-winners (CS section 3.2)",
        ["*"],
    ),
    (
        "loss-teaches",
        f"{WINNERS} the router's top 2 meet the winners more often with the router loss than without it.",
        difference("overlap", "compete-winners", versus="untaught").at_least(0.0),
        "control of learns-winners: whether L_R teaches it (CS section 3.2, equation 3)",
        ["control"],
    ),
    (
        "better-winners",
        f"{WINNERS} CompeteSMoE has a lower loss than SMoE.",
        difference("bpc", "compete-winners", versus="smoe").at_most(0.0, predicted="-0.014"),
        "Table 9 with the winners' output (CS appendix C.4)",
        ["*"],
    ),
    (
        "surer-winners",
        f"{WINNERS} CompeteSMoE's routers have a lower mean entropy than SMoE's.",
        difference("entropy", "compete-winners", versus="smoe").at_most(0.0),
        "Table 10 with the winners' output (CS appendix C.5)",
        ["*"],
    ),
    (
        "competition-routes-better",
        "A model whose winners make the output in every step has a lower loss at the end of the training than SMoE, "
        "each routing as it trains.",
        difference("train_bpc", "always", at=dict(step=3000), versus="smoe").at_most(0.0),
        "competition itself, in every step (CS section 3.1)",
        ["control"],
    ),
]:
    study.ours(name, statement, rule, source=f"ours: {control}", presets=presets)

study.figure(
    **differences(
        "The same seeds with and without competition",
        "Table 9",
        "bpc",
        ["smoe"],
        "test loss minus SMoE's, bits per character",
    )
)
