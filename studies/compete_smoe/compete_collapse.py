"""Representation collapse, and one coin for all layers or one for each (compete-smoe, sections 1 and 3.3).

Models and trainings as in `compete_lm`. For every character of the test text the outputs of all 16 experts of a layer
are computed: `likeness` is the mean cosine of two of them, 1 if they all point the same way, about 0 for independent
ones. The other sign of collapse, tokens that go to few experts, is in `compete_significance` (entropy of their use).

With the router's output, as in equation 5, competition is not delivered; in the arm `compete-winners` the winners make
it, as in section 3.1. In `shared-winners` all layers compete in the same steps, where section 3.3 has a coin for each.
"""

from moestat import Study
from moestat.study.rules import difference, mean
from studies.compete_smoe.parts.shared import paper, small

study = Study(
    "Do experts become alike, and does competition keep them apart?",
    paper="compete-smoe",
    source="CS sections 1 and 3.3",
    question="Representation collapse is what CompeteSMoE is for: all experts converge to similar representations. "
    "Do they, in SMoE, and less so with competition? And is a coin for each layer better than one for all?",
    experiment="compete_collapse",
    seed=20261205,
    scale="stand-in",
    summaries=["bpc", "likeness", "grown", "usage_entropy", "together"],
)

study.preset("quick", **small(400, 80, 8, "about a minute on 2 cores"))
study.preset("trained", **small(4000, 400, 8, "about 10 minutes on 2 cores"))
study.preset("paper", **paper("tiny", "not measured; estimated at 4 to 8 hours on one GPU"))

winners = dict(router="compete_smoe", competition_output="competition")
study.arm("smoe", "SMoE", router="smoe")
study.arm("compete-smoe", "CompeteSMoE", router="compete_smoe")
study.arm("compete-winners", "CompeteSMoE, winners' output", **winners)
study.arm("shared-winners", "the same, shared coin", coin="shared", **winners)

# --- claims ---
study.claim(
    "less-alike",
    "The experts of CompeteSMoE are less alike than those of SMoE, where the router's output counts in a step that "
    "competes.",
    difference("likeness", "compete-smoe", versus="smoe").at_most(0.0, predicted="< 0"),
    dict(source="CS abstract, section 1: representation collapse"),
    because="Competition is to address the collapse, which section 1 describes as experts that learn similar "
    "representations: they must be less alike than those of SMoE.",
)
study.ours(
    "less-alike-winners",
    "The experts of CompeteSMoE are less alike than those of SMoE, where the winners' output counts in a step that "
    "competes.",
    difference("likeness", "compete-winners", versus="smoe").at_most(0.0),
    dict(source="ours: control of less-alike (CS section 1), with competition delivered (section 3.1 for the output)"),
)
study.ours(
    "collapsed",
    "The experts of SMoE end up alike: the mean cosine of two experts' outputs is at least 0.5.",
    mean("likeness", "smoe").at_least(0.5),
    source="ours: control of less-alike, whether there is a collapse to address (CS section 1)",
)

study.finding({"collapsed": "not supported"}, "Experts stay far from alike: there is little collapse to address.")

study.figure(
    kind="lines",
    title="How alike the experts of a layer are",
    x="layer",
    xlabel="SMoE layer",
    logx=False,
    logy=False,
    panels=[dict(title="after the training", variable="alike", ylabel="mean cosine of two experts")],
    caption="Mean cosine of the outputs of two experts of a layer, over the test text. Means and 95 % t-intervals "
    "over seeds.",
)
