"""Readings of what CompeteSMoE's router minimises: which of them deliver competition, and what those do to the loss.

Equation 5 is L_R + alpha NLL with alpha = 5 (`printed`). By section 6.4.2 alpha = 0 is SMoE, so that alpha multiplies
L_R, as in the published code: NLL + 5 L_R (`mean`). L_R is a mean over 16 experts, or a sum (`sum`); the router's
policy in it is a softmax over its K largest scores (equation 3), or over all of them, as in the code (`all`). In
section 3.1 and Fig. 1a the winners make the output, and the task does not reach the router (`winners`).

A reading *delivers* if the router's two experts are those with the largest outputs more often, above chance, than in
the arm that differs by L_R alone: SMoE for `mean`, `sum` and `all`, `printed-0` and `winners-0` for the others. Chance
is what two choices with the same loads share that know nothing of each other. Where that is not shown, a claim on
entropy or loss is inconclusive, whatever its own interval. `beside-smoe-*` takes the difference to SMoE instead. Loss
and entropy are compared with SMoE, as in the paper; `added-*` says what of them L_R adds to `winners-0`.

Adam divides by the root of the mean square. A five-fold gradient in 5 % of the steps multiplies a mean by 1.2 and a
root mean square by 1.48, so that Adam slows the router of `printed-0` to 0.81 of SMoE's pace; plain steps (`sgd`) would
take it to 1.2. Their rate is 400 times Adam's, by which SMoE's router moves about as far (a pilot of two seeds).

Eight seeds of an arm are trained as one, in windows of 32 characters of nineteen plays. The rules that ask for more
than chance were written after a run on eight other seeds; these are new ones.
"""

from moestat import Study
from moestat.study.rules import difference, function, log_ratio, other_draws_gave
from studies.compete_smoe.parts.shared import differences

READINGS = {
    "printed": ("L_R + 5 NLL, as equation 5 is printed", "printed-0"),
    "mean": ("NLL + 5 L_R, alpha on L_R as in section 6.4.2", "smoe"),
    "sum": ("NLL + 5 L_R, L_R summed over the experts", "smoe"),
    "all": ("NLL + 5 L_R, summed, with a softmax over all of the router's scores", "smoe"),
    "winners": ("5 L_R alone, where the winners make the output", "winners-0"),
}
"""Arm: what the router minimises in a step that competes, and the arm without L_R."""
OPEN, LOST = "inconclusive", "not supported"
GAVE = {
    "learns": [OPEN, "supported", "supported", "supported", OPEN],
    "better": [OPEN, OPEN, LOST, LOST, OPEN],
    "surer": [OPEN, LOST, LOST, "supported", OPEN],
    "faster": [OPEN, OPEN, LOST, LOST, OPEN],
}
"""What these rules gave on the seeds of a first run, after which they were written; in the order of the readings."""

study = Study(
    "Which reading of the router's objective delivers competition, and does the loss gain?",
    paper="compete-smoe",
    source="CS equations 3 and 5, section 6.4.2; Tables 9 and 10, Fig. 2",
    question="Which readings of equation 5 teach the router who would win, and are their losses lower and their "
    "routers surer than those of SMoE?",
    experiment="compete_readings",
    seed=20261204,
    scale="stand-in",
    summaries=["bpc", "overlap", "overlap_chance", "router_loss", "entropy", "gradient_share", "moved"],
)

SMALL = dict(batch=8, validation=2048, test=16_384)
study.preset(
    "quick",
    "83 thousand weights: 200 steps of 8 windows, 4 seeds.",
    expected="about a minute of one core",
    replicates=4,
    block=4,
    settings=SMALL | dict(steps=200, every=100, group=4),
)
study.preset(
    "seeds",
    "83 thousand weights: 1000 steps of 8 windows, 16 seeds.",
    expected="16 minutes of one idle core",
    replicates=16,
    block=8,
    settings=SMALL | dict(steps=1000, every=250, group=8),
)

rival, plain = dict(competes=True), dict(sgd=400.0)
for name, label, settings in [
    ("smoe", "SMoE", dict(router_loss=0.0, task=1.0)),
    ("printed", "L_R + 5 NLL", rival),
    ("printed-0", "5 NLL", rival | dict(router_loss=0.0)),
    ("mean", "NLL + 5 L_R", rival | dict(task=1.0, router_loss=5.0)),
    ("sum", "NLL + 5 L_R, summed", rival | dict(task=1.0, router_loss=5.0, over="sum")),
    ("all", "NLL + 5 L_R, summed, all scores", rival | dict(task=1.0, router_loss=5.0, over="sum", policy="all")),
    ("winners", "5 L_R, winners' output", rival | dict(router_loss=5.0, output="competition")),
    ("winners-0", "nothing, winners' output", rival | dict(router_loss=0.0, output="competition")),
    ("smoe-sgd", "SMoE, plain steps", plain | dict(router_loss=0.0, task=1.0)),
    ("printed-sgd", "L_R + 5 NLL, plain steps", plain | rival),
    ("printed-0-sgd", "5 NLL, plain steps", plain | rival | dict(router_loss=0.0)),
]:
    study.arm(name, label, **settings)


def meets(arm, versus):
    """How much more often above chance the router meets the winners than that of another arm."""
    return function("studies.compete_smoe.parts.rules:above_chance", "overlap", arm, versus=versus).at_least(0.0)


def outcome(variable, arm, without):
    """The difference to SMoE, which decides nothing where the reading is not shown to deliver."""
    rule = "studies.compete_smoe.parts.rules:where_delivered"
    return function(rule, variable, arm, versus="smoe", options=dict(without=without)).at_most(0.0)


def seen(name, arm):
    """What had been seen of a rule when it was written."""
    return dict(hindsight=other_draws_gave(GAVE[name][list(READINGS).index(arm)]))


# --- claims: the manipulation check, and what the paper says of the outcome ---
for arm, (objective, without) in READINGS.items():
    where = f"With {objective}, in a step that competes,"
    reading = dict(because="Equation 5, section 3.1 and section 6.4.2 do not agree: this is one of five readings.")
    study.claim(
        f"learns-{arm}",
        f"{where} the router's two experts are those that would win more often, above chance, than without L_R.",
        meets(arm, without),
        reading,
        seen("learns", arm),
        source="CS section 3.2, equation 3",
    )
    study.claim(
        f"better-{arm}",
        f"{where} CompeteSMoE has a lower loss than SMoE.",
        outcome("bpc", arm, without),
        reading,
        seen("better", arm),
        source="CS appendix C.4, Table 9",
    )
    study.claim(
        f"surer-{arm}",
        f"{where} CompeteSMoE's routers have a lower mean entropy than SMoE's.",
        outcome("entropy", arm, without),
        reading,
        seen("surer", arm),
        source="CS appendix C.5, Table 10",
    )
    study.claim(
        f"faster-{arm}",
        f"{where} CompeteSMoE's validation loss, averaged over the training, is lower than SMoE's.",
        outcome("mean_valid_bpc", arm, without),
        reading,
        seen("faster", arm),
        source="CS section 6.2, Fig. 2",
    )
    study.ours(
        f"closer-{arm}",
        f"{where} L_R on the test part is lower than without L_R in the training.",
        difference("router_loss", arm, versus=without).at_most(0.0),
        source=f"ours: control of learns-{arm}, by what the router is trained on (CS equation 3)",
    )

for arm, verdict in [("printed", OPEN), ("winners", "supported")]:
    study.ours(
        f"beside-smoe-{arm}",
        f"With {READINGS[arm][0]}, in a step that competes, the router's two experts are those that would win more "
        "often, above chance, than with SMoE.",
        meets(arm, "smoe"),
        source=f"ours: control of learns-{arm}, beside the method that losses are compared with (CS section 3.2)",
        hindsight=other_draws_gave(verdict),
    )
study.ours(
    "entropy-without",
    "Without any L_R, 5 NLL in the steps that compete gives the routers a higher mean entropy than SMoE's.",
    difference("entropy", "printed-0", versus="smoe").at_least(0.0, predicted="> 0"),
    source="ours: control of surer-printed, the arm without L_R (CS equation 5)",
)
study.ours(
    "entropy-of-loss",
    "As equation 5 is printed, L_R changes the mean entropy of the routers by at most 0.05, beside 5 NLL alone.",
    difference("entropy", "printed", versus="printed-0").within(-0.05, 0.05, predicted=0),
    source="ours: control of surer-printed, the arm without L_R (CS equation 5)",
)
for name, variable, what, table in [
    ("better", "bpc", "the test loss", "Table 9"),
    ("faster", "mean_valid_bpc", "the validation loss, averaged over the training,", "Fig. 2"),
    ("surer", "entropy", "the mean entropy of the routers", "Table 10"),
]:
    study.ours(
        f"added-{name}-winners",
        f"Where the winners make the output in a step that competes, {what} is higher with L_R than without.",
        difference(variable, "winners", versus="winners-0").at_least(0.0, predicted="> 0"),
        source=f"ours: control of {name}-winners, the arm without L_R (CS {table})",
        hindsight="The rule was written after the run of 16 seeds, with its numbers in view.",
    )
for name, arm, versus, low, high, printed, how in [
    ("adam-slows", "printed-0", "smoe", -1.0, 0.0, "log 0.81 = -0.21", "by Adam, a shorter way"),
    ("sgd-speeds", "printed-0-sgd", "smoe-sgd", 0.0, 1.0, "log 1.2 = 0.18", "by plain steps, a longer way"),
]:
    study.ours(
        name,
        f"With 5 NLL in 5 % of the steps and NLL in the others the router moves, {how} than with NLL in all (log "
        "ratio of the distances from the start).",
        log_ratio("moved", arm, versus=versus).within(low, high, predicted=printed),
        source="ours: why equation 5 as printed does not deliver (CS equation 5, section 6.1: Adam)",
    )
study.ours(
    "learns-printed-sgd",
    "With L_R + 5 NLL and plain steps of the router, its two experts are those that would win more often, "
    "above chance, than without L_R.",
    meets("printed-sgd", "printed-0-sgd"),
    hindsight=other_draws_gave(OPEN),
    source="ours: whether Adam is why equation 5 as printed does not deliver (CS equations 4 and 5)",
)

study.figure(
    **differences(
        "Readings of the router's objective: the loss",
        "Table 9",
        "bpc",
        ["smoe"],
        "test loss minus SMoE's, bits per character",
    )
)
study.figure(
    "delivered",
    **differences(
        "Readings of the router's objective: how often the router chooses the winners, above chance",
        "Section 3.2",
        "overlap",
        ["smoe"],
        "share of winners among the router's two experts, above chance, minus SMoE's",
        less="overlap_chance",
    ),
)
