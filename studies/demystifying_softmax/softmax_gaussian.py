"""Exact and over-fitted maximum likelihood in softmax-gated Gaussian mixtures (arXiv 2305.03288, Theorems 1 and 2).

The paper's text is not at hand: its theorems are taken to be what is said here of D1 and D2. The truth is that of its
published scripts. K = 2, 3, 4 experts are fitted from five starts, *near* the truth or *random*, and with K >= 3 rounds
of inserted experts until four end at the best point, eight at most; a fit with fewer than two is *unsettled*.
*Published* repeats the scripts: starts that near the truth with n, and EM until the likelihood stands still.

D1 and D2 are infima over the gauge of the gates. D2 raises the errors of over-specified experts to powers: 4 and 6 for
b and beta of two and three in a cell, half of that for a and v. So D2 = O(n^(-1/2)) is n^(-1/8) for b and beta,
n^(-1/4) for a and v in pairs. Bounds are one-sided, with margins of 0.10, 0.05 and 0.025.

Compare the gains of the two kinds of starts before anything is read from an over-fitted arm. The spare expert often
sits on few samples, its variance at the lower bound, and D2 then scatters over orders of magnitude. The scripts' own
loss does not remove the gauge, and keeps 1 where two fitted experts share the last true one.
"""

from moestat import Study
from moestat.study.rules import difference, mean, slope

study = Study(
    "Softmax-gated Gaussian experts: exact and over-fitted maximum likelihood",
    paper="demystifying-softmax",
    source="DS (arXiv 2305.03288), Theorems 1 and 2; model of the published scripts",
    question="Does the maximum-likelihood estimate converge in D1 and D2 at the rate n^(-1/2), are "
    "over-specified experts slower as predicted, and did the published protocol find the maximum?",
    experiment="softmax_gaussian",
    seed=20260711,
    grid=dict(n=[100, 300, 1000, 3000, 10_000, 30_000, 100_000]),
    summaries=[
        *("gain", "found_again", "rounds_there", "unsettled", "on_variance_bound", "published_constant"),
        *("box_hits", "cells_over", "cells_empty", "hellinger", "start_D2"),
    ],
)

SHORT = dict(grid=dict(n=[300, 1000, 3000, 10_000]), window=[300, 10_000])
study.preset(
    "quick",
    "Four sizes from 300 to 1e4, six replicates: what comes out, not a decision.",
    expected="about 14 minutes on 2 cores",
    replicates=6,
    block=3,
    **SHORT,
)
study.preset(
    "medium", "Four sizes from 300 to 1e4.", expected="about 15 minutes on 2 cores", replicates=20, block=8, **SHORT
)
study.preset(
    "paper",
    "Seven sizes from 1e2 to 1e5, 40 replicates; rates from n = 1000 on.",
    expected="estimated at 2 to 3 hours on 2 cores",
    replicates=40,
    block=10,
)
for name, about, arms in [
    ("exact", "Theorem 1 alone: the fits with two experts", "exact-*"),
    ("published", "The published protocol alone", "*-published"),
    ("published-four", "The published protocol with four experts", "four-published"),
]:
    study.preset(
        name,
        f"{about}, seven sizes from 1e2 to 1e5; rates from n = 1000 on.",
        scale="paper",
        expected="about four minutes on 2 cores",
        replicates=100,
        block=10,
        arms=[arms],
    )

EXPERTS = dict(exact=2, three=3, four=4)
for name, experts in EXPERTS.items():
    study.arm(f"{name}-near", f"K = {experts}, starts near", experts=experts, start_policy="near")
    study.arm(f"{name}-random", f"K = {experts}, random starts", experts=experts, start_policy="random")
for name, least in [("loose", 0.001), ("tight", 0.04)]:
    of = dict(experts=3, start_policy="near", smallest_variance=least)
    study.arm(f"three-near-{name}", f"K = 3, variances from {least}", **of)
for name, experts in dict(exact=2, three=3).items():
    study.arm(f"{name}-grid", f"K = {experts}, x on a grid", experts=experts, inputs="grid")
for name, experts in EXPERTS.items():
    of = dict(experts=experts, inputs="grid", start_policy="published", estimator="em")
    presets = ["published-four"] if name == "four" else ["*"]
    study.arm(f"{name}-published", f"K = {experts}, published protocol", presets=presets, **of)

WINDOW = [1000, 100_000]
OVER, BOTH = ["three-*", "four-*"], ["exact-*", "three-*"]
study.rate("D1", arms=["exact-*"], window=WINDOW, bound=-0.5)
study.rate("D2", arms=OVER, window=WINDOW, bound=-0.5)
study.rate("published_loss", arms=["*-published"], window=WINDOW)
study.rate("hellinger", window=WINDOW, bound=-0.5)
study.rate("matched", arms=["exact-*"], window=WINDOW, bound=-0.5)
BOUNDS = dict(b=-0.125, beta=-0.125, a=-0.25, v=-0.25)  # of over-specified experts in pairs
for block in BOUNDS:
    study.rate(f"{block}_exact_atom", arms=BOTH, window=WINDOW, bound=-0.5)
for block, bound in BOUNDS.items():
    study.rate(f"{block}_over_atom", arms=OVER, window=WINDOW, bound=bound)

# four atoms may make a triple, whose power is 6: n^(-1/12) and n^(-1/6)
ROLES = dict(b="gate", a="expert", beta="expert", v="variance")
for kind, atoms in [("over", "over-specified"), ("exact", "exactly specified")]:
    for block, role in ROLES.items():
        pairs, triples = BOUNDS[block], round(BOUNDS[block] * 2 / 3, 4)
        predicted = {"three-*": pairs, "four-*": triples} if kind == "over" else {"*": -0.5}
        of = dict(block=block, role=role, atoms=atoms, predicted=predicted)
        study.parameter(f"{block}_{kind}_atom", window=WINDOW, **of)

# --- K = 2, where the model is regular: what is bounded by n^(-1/2) falls like it
WHERE = dict(near="starts near the truth", random="random starts", grid="x on a grid")
REGULAR = "the model is regular: nothing is faster."
HALF = dict(low=-0.6, high=-0.4, predicted=-0.5)
for inputs, where in WHERE.items():
    study.claim(
        f"D1-exact-{inputs}",
        f"K = 2, {where}: D1 falls like n^(-1/2).",
        slope("D1", f"exact-{inputs}").within(**HALF),
        source="DS Theorem 1",
        because=f"Theorem 1 bounds D1 by n^(-1/2) up to logarithms, and with as many experts as the truth {REGULAR}",
    )
study.claim(
    "hellinger-exact",
    "K = 2: the Hellinger distance falls like n^(-1/2).",
    slope("hellinger", "exact-near").within(**HALF),
    source="DS, rate of density estimation",
    because=f"The density is found at n^(-1/2) up to logarithms, and with as many experts as the truth {REGULAR}",
)
WHAT = dict(b="gate slopes", a="slopes of the means", beta="intercepts of the means", v="variances")
for block, what in WHAT.items():
    study.claim(
        f"exact-{block}",
        f"K = 2: the {what} are found at n^(-1/2).",
        slope(f"{block}_exact_atom", "exact-near").within(**HALF),
        source="DS Theorem 1",
        because=f"D1 adds up the errors of all blocks, so that each is bounded by n^(-1/2) up to logarithms; {REGULAR}",
    )

# --- K = 3 and 4: upper bounds
for name, inputs in [("three", "near"), ("three", "random"), ("three", "grid"), ("four", "near"), ("four", "random")]:
    study.claim(
        f"D2-{name}-{inputs}",
        f"K = {EXPERTS[name]}, {WHERE[inputs]}: D2 falls like n^(-1/2) or faster.",
        slope("D2", f"{name}-{inputs}").at_most(-0.4, predicted=-0.5),
        source="DS Theorem 2",
    )
    if inputs != "grid":
        study.claim(
            f"hellinger-{name}-{inputs}",
            f"K = {EXPERTS[name]}, {WHERE[inputs]}: the Hellinger distance falls like n^(-1/2), up to logarithms, or "
            "faster.",
            slope("hellinger", f"{name}-{inputs}").at_most(-0.4, predicted=-0.5),
            source="DS, rate of density estimation",
        )
for block in ("a", "beta", "v"):
    study.claim(
        f"three-exact-{block}",
        f"K = 3: the {WHAT[block]} of exactly specified experts are found at n^(-1/2) or faster.",
        slope(f"{block}_exact_atom", "three-near").at_most(-0.4, predicted=-0.5),
        source="DS Theorem 2",
        because="In D2 the errors of an exactly specified expert stand in the first power.",
    )
for block, rate, limit in [
    ("b", "n^(-1/8)", -0.1),
    ("beta", "n^(-1/8)", -0.1),
    ("a", "n^(-1/4)", -0.2),
    ("v", "n^(-1/4)", -0.2),
]:
    study.claim(
        f"three-over-{block}",
        f"K = 3: the {WHAT[block]} of over-specified experts are found at {rate} or faster.",
        slope(f"{block}_over_atom", "three-near").at_most(limit, predicted=BOUNDS[block]),
        source="DS Theorem 2",
        because="D2 raises the errors of b and beta of two experts in one cell to the power rbar(2) = 4, those "
        "of a and v to the power 2.",
    )

# --- the published scripts: K = 2 is the control of what is said of K = 3 and 4
for name in ("exact", "three"):
    study.ours(
        f"published-{name}",
        f"K = {EXPERTS[name]}, n = 10 000: the published protocol ends at the maximum of the likelihood, to within "
        "0.5.",
        difference("gain", f"{name}-published", at=dict(n=10_000), versus=f"{name}-grid").at_least(-0.5, predicted=0),
        source="ours, on DS, simulations (published scripts)",
    )
for name, suffix, constant, parts, sums in [
    ("three", "", "one", "two halves", "two"),
    ("four", "-four", "one or two", "two or three parts", "two or three"),
]:
    study.ours(
        f"published-constant{suffix}",
        f"K = {EXPERTS[name]}, published protocol, n = 10 000: in at least one fit of ten the published loss keeps a "
        f"constant of {constant}, since the weights of the {parts} of a split expert sum to {sums}.",
        mean("published_constant", f"{name}-published", at=dict(n=10_000)).at_least(0.1, predicted="> 0"),
        source="ours, on DS, simulations (published scripts): their loss",
        bearing="against",
    )
study.ours(
    "published-exact-loss",
    "K = 2, published protocol: the published loss falls as fast as D1 of the same fits (exponents within 0.05 "
    "of each other).",
    slope("published_loss", "exact-published", versus="exact-published", versus_variable="D1").equivalent(
        0.05, predicted=0
    ),
    source="ours, on DS, simulations (published scripts): control of published-constant",
)

THREE = ["three-near", "three-random", "three-published"]
study.figure(
    "figure",
    kind="rates",
    title="Distance of the maximum-likelihood estimate to the truth",
    xlabel="sample size n",
    columns=3,
    panels=[
        dict(title=title, arms=arms, variable=variable, ylabel=ylabel)
        for title, arms, variable, ylabel in [
            ("exact: K = 2", ["exact-near", "exact-random"], "D1", "D1"),
            ("over-fitted: K = 3", THREE, "D2", "D2"),
            ("over-fitted: K = 4", ["four-near", "four-random"], "D2", "D2"),
            ("density", ["exact-near", "three-near", "four-near"], "hellinger", "Hellinger distance"),
            ("K = 3: exact cells", THREE, "a_exact_atom", "error of a, per expert"),
            ("K = 3: over-full cells", THREE, "a_over_atom", "error of a, per expert"),
        ]
    ],
    caption="Geometric means over replicates with 95 % t-intervals. Lower row: errors of the means' slopes a per "
    "fitted expert, apart for over-specified and exactly specified true experts.",
)
study.figure(
    "gain",
    kind="lines",
    title="Log-likelihood above that of the truth",
    xlabel="sample size n",
    logy=False,
    panels=[
        dict(title="uniform x, maximum likelihood", arms=["*-near", "*-random"], variable="gain"),
        dict(title="x on a grid", arms=["*-grid", "*-published"], variable="gain"),
    ],
    caption="Means over replicates with 95 % t-intervals. The arms of a panel that differ in the starts only see the "
    "same data: where one line is lower, its starts have missed the maximum.",
)
