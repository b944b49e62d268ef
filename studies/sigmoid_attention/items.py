"""What the paper contains, in its own order; a claim belongs to the item that its source names first."""

from moestat.study.contents import Item, Paper
from moestat.study.spec import Finding

paper = Paper(
    name="sigmoid-attention",
    key="SA",
    title="Sigmoid self-attention is better than softmax self-attention: a mixture-of-experts perspective (arXiv "
    "2502.00281v1; version 2, of 24 May 2025, has another title and was not read)",
    problem="Experiments: regression in d = 8 with N* = 8 experts, N = 9 fitted, n from 1e3 to 1e5, noise of "
    "variance 0.01 (section 5.1, appendix E.1); a language model of a billion parameters on RedPajama (section 5.2, "
    "appendix E.2). Theory: any problem that meets the conditions of a theorem is its own.",
    items=[
        Item(
            name="Table 1",
            says="Samples for an error eps, up to logarithms. Sigmoid: eps^(-4) for ReLU and GELU experts in the "
            "sparse regime and eps^(-2) in the dense one; polynomials exp(eps^(-1/tau)) and eps^(-2). Softmax, after "
            "the paper's reference [1]: eps^(-4), and for polynomials exp(eps^(-1/tau)) in both regimes.",
            unchecked="The proofs for the softmax gate are those of reference [1]; the cells are measured, not "
            "derived. In the sparse regime with the sigmoid the order of eta stands for that of the experts, as in "
            "section 4.1.1: the error of their outputs to the truth itself is not kept. Levels of the errors (the "
            "fewer data of the abstract) are not compared: a start has the smaller loss without any fit. GELU experts "
            "are judged with a = 0 allowed in the dense regime, in claims of ours.",
            objection="The table is of upper bounds, so that a faster fit contradicts none of it; not tested, for no "
            "lower bounds are printed.",
        ),
        Item(
            name="Section 2.3",
            says="Each row of a sigmoid or softmax attention head is a mixture of experts with quadratic scores.",
        ),
        Item(
            name="Section 3",
            says="Two fitted atoms that tend to one true atom represent it only if its gate is constant, so that in "
            "the dense regime least squares tends to the closest functions of the model other than the true one.",
            also=["Appendix C.1.1"],
            figures=["dichotomy"],
            findings=[
                Finding(
                    when={"dichotomy:together-*": "no counterexample"},
                    text="Two atoms cannot meet at a true atom of dense gate; but an atom too many that vanishes, or "
                    "is a share of another, represents the true function in both regimes, and measures with at most N "
                    "atoms hold it anyway. The dichotomy holds for measures with exactly N atoms whose experts are "
                    "kept from 0 and do not split, with bounded intercepts.",
                ),
            ],
            objection="Experts that vanish or split were not meant; tested: two atoms cannot meet at a true atom of "
            "dense gate.",
        ),
        Item(
            name="Proposition 1",
            says="Sparse regime: the distance of the least-squares function to the true one is O_P(sqrt(log n / n)).",
            figures=["regression_rate"],
        ),
        Item(
            name="Appendix B.1",
            says="The printed proof of Proposition 1: brackets of the model, and their entropy (14).",
            also=["Equation 14"],
            findings=[
                Finding(
                    when={"brackets:mended-*": "no counterexample"},
                    text="With max{zeta - tau, -M} and min{zeta + tau, M} in place of the printed brackets, both "
                    "statements on them hold, and inequality (14) follows as printed.",
                ),
            ],
            objection="Two slips of signs that change nothing; tested: with the mended brackets both statements hold, "
            "and (14) follows.",
        ),
        Item(
            name="Corollary 1",
            says="Dense regime: the distance of the least-squares function to the nearest best function of at most N "
            "experts is O_P(sqrt(log n / n)).",
        ),
        Item(
            name="Definition 1",
            says="Strong identifiability, with its examples: ReLU and GELU networks have it, polynomials have not, "
            "since F_Ac = F_bb, F_A beta = F_b a and F_b beta = F_c a (eq. 8).",
            also=["Equation 8"],
            figures=["identifiability"],
            findings=[
                Finding(
                    when={"definitions_as_printed:generic-*": "no counterexample"},
                    text="To the letter no expert meets any of Definitions 1 to 4. Read at generic parameters, and "
                    "but for dependencies that no atoms of one cell can use up, Definitions 2, 3 and 4 can be met; "
                    "with the fully quadratic score Definition 1 cannot, by no expert.",
                ),
            ],
            objection="It is meant at generic parameters; tested: F_A and F_bb are proportional at (A, b) = 0 for "
            "every expert even so.",
        ),
        Item(
            name="Theorem 1",
            says="Sparse regime, strongly identifiable experts: L1 = O_P(sqrt(log n / n)); exactly specified atoms "
            "at n^(-1/2), over-specified ones at n^(-1/4), up to logarithms.",
            also=["Section 4.1.1", "Equation 9", "Equation 10", "Appendix B.2"],
            statement=[
                "sigmoid_regimes:theorem-1-*",
                "non_identifiability:thm1-*",
                "constant_gate:proper-loss",
            ],
            unchecked="The lower bound ||f_G - f*|| >= c L1 over all measures is looked at along sequences, not over "
            "all measures.",
            figures=["sigmoid_regimes", "sigmoid_regimes:atoms", "non_identifiability", "constant_gate"],
            findings=[
                Finding(
                    when={"constant_gate:order-*": "supported"},
                    text="Along two atoms of opposite b the function moves by t^4, at the paper's own sparse truth "
                    "by t^5, and L1 by t^2, for every expert: no expert and no fourth power of b mends the theorem. "
                    "Without b in the score (Theorem 4) there is nothing of the kind.",
                ),
            ],
            objection="A fourth power of b in L1 would mend it; tested: it would not at the sparse truth of App. E.1, "
            "where f moves by t^5.",
        ),
        Item(
            name="Theorem 2",
            says="Polynomial experts, sparse regime: the minimax risk of L2r is at least of order n^(-1/2) for every "
            "r >= 1, so that over-specified parameters are slower than any power of n.",
            also=["Section 4.1.2", "Equation 11"],
            unchecked="A bound on the worst truth: the risk at one truth bears on it in neither direction, so the "
            "sequence behind it (Lemma 2) is checked and the supremum is not. The printed proof is an item of its own "
            "(Appendix B.3). Repaired, it gives a bound that does not fall with n, for ReLU experts as well, so that "
            "it sets no experts apart.",
            objection="A bound on the worst truth says nothing of a fast fit at one; agreed, and therefore not tested "
            "by fits.",
        ),
        Item(
            name="Definition 2",
            says="Weak identifiability, with its examples: strongly identifiable experts and polynomials have it.",
            objection="Opposite gates are no generic choice; tested: at one generic atom the derivatives are "
            "independent.",
        ),
        Item(
            name="Theorem 3",
            says="Dense regime, weakly identifiable experts: the distance L3 to the set of best measures is "
            "O_P(sqrt(log n / n)).",
            also=["Section 4.2", "Equation 12", "Appendix B.4"],
            unchecked="The lower bound ||f_G - f*|| >= c L3 over all measures is looked at along sequences, not over "
            "all measures.",
            figures=["sigmoid_regimes:quotient_and_function", "non_identifiability", "small_noise"],
            findings=[
                Finding(
                    when={
                        "sigmoid_regimes:dense-quotient-linear": "supported",
                        "sigmoid_regimes:dense-quotient-gelu": "supported",
                    },
                    text="Where experts split exactly, the set of best measures is a continuum. With the noise of "
                    "these fits the loss modulo splitting and null atoms falls at the rate of the theorem for linear "
                    "and GELU experts. Where the expert of a superfluous atom vanishes, its derivative in eta must "
                    "not: polynomials of degree 2 or more need eta kept from 0, or that atom taken out of the loss.",
                ),
                Finding(
                    when={"non_identifiability:thm3-*-shares": "not supported"},
                    text="Where a homogeneous expert has two shares, their gates can move apart by t while f moves "
                    "by t^2, so that the bound fails and L3 is found at n^(-1/4): it does so in fits with little "
                    "noise. The gates of shares would have to count by their squares, as those of over-specified "
                    "atoms do in L1.",
                ),
            ],
            objection="Shares that meet are a thin set that no fit visits; tested: with little noise fits of linear "
            "experts do not have the rate.",
        ),
        Item(
            name="Figure 1",
            says="Data from a softmax truth, SGD: slopes -0.24 (softmax) and -0.51 (sigmoid) with ReLU experts, "
            "-0.07 and -0.46 with linear ones; the legends print these powers of n with factors of 1.003, 1.011, "
            "1.005 and 1.012.",
            experiment=["sigmoid_vs_softmax:printed-*"],
            unchecked="The levels: the plain reading of the protocol has that of the softmax curve with ReLU "
            "experts, and misses the other three by factors of three to six, if they are of the same loss; the paper "
            "does not say how the loss is scaled. That the slopes are those of the start is claims of ours, and "
            "neutral: the paper does not say that they are not.",
            also=["Section 5.1", "Appendix E.1"],
            figures=["sigmoid_vs_softmax"],
            findings=[
                Finding(
                    when={
                        "sigmoid_vs_softmax:printed-*": "supported",
                        "sigmoid_vs_softmax:split-*": "not supported",
                        "sigmoid_vs_softmax:numbers-*": "not supported",
                    },
                    text="Read plainly, the superfluous ninth atom of the softmax fit a copy of a true one, the "
                    "printed protocol gives all four slopes within 0.10. Other starts, with the same data and steps, "
                    "have others: they are those of the start, and bear on no rate of either gate.",
                ),
                Finding(
                    when={"sigmoid_vs_softmax:bound-*": "supported"},
                    text="The softmax losses of the legends, if of this loss, lie below the information bound: no "
                    "estimator that is not told the truth has them.",
                ),
            ],
            objection="Starts near the truth are what App. E.1 says; tested: other such starts, with the same data and "
            "steps, have other slopes.",
        ),
        Item(
            name="Table 2",
            says="A billion parameters on RedPajama: sigmoid and softmax attention are comparable on six benchmarks; "
            "486 +- 53 against 441 +- 39 tokens per second.",
            also=["Section 5.2", "Appendix E.2", "Equation 85", "Section 1"],
            unchecked="The six benchmarks and the training of a model of a billion parameters need hardware and data "
            "that are not here; a small language model stands in, and the speed of the large one was timed with drawn "
            "weights.",
            figures=["sigmoid_attention_lm", "attention_speed", "attention_gpu", "sigmoid_attention_window"],
            objection="Comparable is what the accuracies are, within errors; tested on the printed numbers, and not by "
            "a model of that size.",
        ),
        Item(
            name="Lemma 1",
            says="A bound on the least-squares function from the bracketing entropy of the model (van de Geer, 2000).",
            unchecked="Quoted from the book. Frequencies of a small problem stand for the probability, and reach no "
            "further than the largest error of a batch.",
            figures=["tail_frequency"],
        ),
        Item(
            name="Proposition 2",
            says="Equal functions have equal mixing measures: f_G = f_G* almost everywhere implies G = G*.",
            objection="Independent experts are meant, and then neither counterexample is there; not tested: the "
            "proposition does not ask for it.",
        ),
        Item(
            name="Lemma 2",
            says="Polynomial experts: there is a sequence of measures along which ||f_G - f*|| / L2r tends to 0, for "
            "every r >= 1.",
            figures=["minimax_lower_bound"],
        ),
        Item(
            name="Appendix B.3",
            says="The printed proof of Theorem 2 and Lemma 2: two atoms beta* + 1/m and beta* - 1/m for one, a weak "
            "triangle inequality, Le Cam's two points.",
            unchecked="The order in which the weights of the proof's sequence approach that of the true atom, which "
            "cannot be read in our copy: they are exact halves here.",
            findings=[
                Finding(
                    when={
                        "minimax_lower_bound:lemma-printed-p*-r4": "not supported",
                        "minimax_lower_bound:exact-printed-p1": "no counterexample",
                        "minimax_lower_bound:lemma-2-p*": "no counterexample",
                    },
                    text="The printed sequence is right for p = 1, the only polynomial that is simulated, and "
                    "attention's own; for p >= 2 it serves r < 2 alone. With (1 + 1/m) eta* and (1 - u) eta*, (1 + "
                    "1/m)^p + (1 - u)^p = 2, the functions are equal for every p and r, and Lemma 2 and Theorem 2 "
                    "stand.",
                ),
            ],
            objection="A term of the weights could make up for that of order t^2; not tested, for its order cannot be "
            "read in our copy.",
        ),
        Item(
            name="Proposition 3",
            says="Score without b, sparse regime: the distance of the functions is O_P(sqrt(log n / n)).",
            also=["Appendix C.2.1"],
        ),
        Item(
            name="Corollary 2",
            says="Score without b, dense regime: the distance to the nearest best function is O_P(sqrt(log n / n)).",
        ),
        Item(
            name="Definition 3",
            says="Partial-strong identifiability (score without b), with its examples: ReLU and GELU networks and "
            "polynomials have it.",
            objection="Opposite gates are no generic choice; tested: at one generic atom, d = 1, the functions are "
            "independent for GELU.",
        ),
        Item(
            name="Theorem 4",
            says="Score without b, sparse regime, partial-strongly identifiable experts: L4 = O_P(sqrt(log n / n)); "
            "linear experts then need eps^(-4) samples and not exponentially many.",
            also=["Appendix C.1.2", "Equation 53", "Appendix C.2.2"],
            figures=["small_noise", "theorems_where_assumed", "partial_quadratic"],
            findings=[
                Finding(
                    when={"constant_gate:sharp-curvature": "no counterexample"},
                    text="The proof takes the functions of the atoms of one cell for independent, where they are "
                    "proportional. What it needs holds: the form of second order in the A of a cell is at least 1 - "
                    "w* of a sum of squares, w* < 1 being the weight of the true atom.",
                ),
            ],
            objection="GELU experts without lambda are not concerned; tested: along two opposite A their bound stays.",
        ),
        Item(
            name="Definition 4",
            says="Partial-weak identifiability (score without b), with its examples.",
            objection="Opposite gates are no generic choice; tested: at one generic atom the derivatives are "
            "independent.",
        ),
        Item(
            name="Theorem 5",
            says="Score without b, dense regime, partial-weakly identifiable experts: L5 = O_P(sqrt(log n / n)), "
            "eps^(-2) samples.",
            also=["Appendix C.1.3", "Equation 54", "Appendix C.2.3"],
            figures=["partial_quadratic:quotient_and_function", "partial_gates"],
            findings=[
                Finding(
                    when={"partial_quadratic:quotient-*": "supported"},
                    text="With the noise of these fits the loss without b, modulo splitting and null atoms, falls at "
                    "the rate of the theorem.",
                ),
                Finding(
                    when={"non_identifiability:thm5-*-shares": "not supported"},
                    text="Without b, too, the gates of two shares of a homogeneous expert can move apart by t while "
                    "f moves by t^2: the gates of shares would have to count by their squares.",
                ),
            ],
            objection="Modulo shares and null atoms the rate holds; tested: so it does, with the noise of these fits.",
        ),
        Item(
            name="Proposition 4",
            says="Score without b: equal functions have equal mixing measures.",
            objection="Independent experts are meant, and then neither counterexample is there; not tested: the "
            "proposition does not ask for it.",
        ),
        Item(
            name="Figure 2",
            says="Data from a sigmoid truth, SGD: slopes -0.54 (ReLU) and -0.07 (linear) in the sparse regime, -0.53 "
            "and about -0.4 in the dense one.",
            unchecked="Radius and batch size are not printed, and the plain reading of Figure 1 has not been run for "
            "it; least squares of these cells is in sigmoid_regimes.",
            also=["Appendix D"],
            objection="It repeats Figure 1 from a sigmoid truth; not tested, since radius and batch size are not "
            "printed.",
        ),
        Item(
            name="Table 3",
            says="Settings of the training of the language model.",
            unchecked="Settings; nothing is stated.",
        ),
    ],
)
