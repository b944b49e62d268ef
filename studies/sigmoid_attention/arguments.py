"""What is proved of the paper's items: each by a few lines from its own premises (sigmoid-attention).

The identities are computed on drawn instances in ``parts/identities.py``. An expert is E(x, eta); F = sigma(x'Ax + b'x
+ c) E(x, eta), as in section 4.1, sigma the sigmoid; w* = sigma(c*) is the weight of a true atom of constant gate.
"""

from moestat.study.arguments import Argument, Premise

IDENTITIES = "studies.sigmoid_attention.parts.identities"
ZERO, APART = (-1e-12, 1e-12), (0.05, 100.0)
"""What is 0 up to rounding, and what is not."""


def order(power):
    """Return where an order in t must lie."""
    return (power - 0.1, power + 0.1)


ANY = Premise(
    words="for any natural number l and any distinct parameters {(A_i, b_i, c_i, eta_i)}, the functions in the "
    "families ... are linearly independent",
    where="Definition 1",
)
POLYNOMIALS = Premise(
    words="polynomial experts E(x, (alpha, beta)) = (alpha'x + beta)^p, for p in N, also satisfy the weak "
    "identifiability condition",
    where="section 4.2, examples",
)
WEAK_NETWORKS = Premise(
    words="two-layer neural networks of the form E(x, (alpha, beta, lambda)) = lambda phi(alpha'x + beta), where phi "
    "is ReLU or GELU function, alpha != 0, and lambda != 0 are weakly identifiable",
    where="section 4.2 and C.1.3, examples",
)
PARTIAL_POLYNOMIALS = Premise(
    words="polynomial experts of the form (alpha'x + beta)^p, p in N, also satisfy the weak identifiability condition",
    where="C.1.3, examples",
)
SPARSE = Premise(
    words="under the sparse regime, all the over-specified gating parameters are zero, that is, (A*_i, b*_i) = (0, 0)",
    where="section 4.1",
)
NETWORKS = Premise(
    words="two-layer neural networks of the form E(x, (alpha, beta, lambda)) = lambda phi(alpha'x + beta) ... if phi "
    "is the ReLU or GELU function, alpha != 0, and lambda != 0, then the function is strongly identifiable",
    where="section 4.1, examples",
)
OPPOSITE = [
    "sigma' is even: sigma'(-s) = sigma'(s), and s changes its sign with (A, b, c).",
    "F_A = sigma'(s) xx' E, so F_A(A, b, c, eta) = F_A(-A, -b, -c, eta): two members of the family are one function.",
]

GENERIC = (
    "Independence at atoms of generic gates, none constant; so read, experts can meet it. Without opposite gates alone "
    "none does: two constant gates of one expert have proportional F_A and F_c."
)

arguments = [
    Argument(
        id="definition-1-void",
        item="Definition 1",
        cell="example",
        says="No expert is strongly identifiable: with the fully quadratic score the gate's own derivatives are "
        "proportional at (A, b) = 0.",
        verdict="disproved",
        premises=[
            ANY,
            Premise(
                words="d^(|g1|+|g2|+|g3|) F / dA^g1 db^g2 deta^g3 (x, 0, 0, c_i, eta_i): |g1| + |g2| + |g3| in [2]",
                where="Definition 1, first family",
            ),
            NETWORKS,
        ],
        derivation=[
            "At (A, b) = 0: F_A = sigma'(c) xx' E and F_bb = sigma''(c) xx' E, whatever E is.",
            "So sigma''(c) F_A - sigma'(c) F_bb = 0; both are in the first family, by |g1| = 1 and |g2| = 2.",
            "At c = 0, sigma'' = 0, and F_bb is the function 0 itself.",
        ],
        reading="One that leaves F_A or F_bb out of the first family; then the proof of Theorem 1, which needs both, "
        "does not go through.",
        check=f"{IDENTITIES}:constant_gate",
        shows={"deviation": ZERO, "size of F_A": APART},
    ),
    *(
        Argument(
            id=f"definition-{k}-to-the-letter",
            item=f"Definition {k}",
            cell="example",
            says=f"To the letter no expert meets Definition {k}: two atoms with one expert and opposite gates have the "
            "same derivative in A.",
            verdict="disproved",
            premises=[
                Premise(
                    words="for any positive integer l and any "
                    + ("distinct parameters" if k == 2 else "pair-wise distinct choices of parameters"),
                    where=f"Definition {k}",
                ),
                Premise(words=words, where=where),
            ],
            derivation=OPPOSITE,
            reading=reading,
            check=f"{IDENTITIES}:opposite_gates",
            shows={"deviation": ZERO, "size of F_A": APART},
        )
        for k, words, where, reading in [
            (
                2,
                "Strongly identifiable experts meet the weak identifiability condition.",
                "section 4.2, examples",
                GENERIC,
            ),
            (
                3,
                "if alpha != 0 and lambda != 0, then the function ... is partial-strongly identifiable",
                "C.1.2, examples",
                "Independence but for what holds of every expert, as F_A11A22 = F_A12A12 at A = 0, d >= 2; so read, "
                "some can meet it at an atom.",
            ),
            (
                4,
                "partial-strongly identifiable experts also meet the partial-weak identifiability condition",
                "C.1.3",
                GENERIC,
            ),
        ]
    ),
    Argument(
        id="section-3-nearest",
        item="Section 3",
        cell="proof",
        says="It does not follow that at dense truths least squares over at most N atoms tends to the best functions "
        "of more than N* atoms: it tends to f*, and these may stay away from it.",
        verdict="disproved",
        premises=[
            Premise(words="the set of all mixing measures with at most N atoms", where="(6), of M_N"),
            Premise(
                words="there must exist some atom ... that is fitted by at least two atoms of G_n; under the dense "
                "regime, such convergence does not happen ... Instead, the regression function estimator converges to "
                "the closest MoE with more than N* experts",
                where="section 3; C.1.1",
            ),
        ],
        derivation=[
            "M_N holds G*: f_Gn -> f*, at the rate of Propositions 1 and 3, in whose proof no regime occurs "
            "(inequality-14).",
            "Let N* = 1, N >= 2, the true gate not be constant, E(x, eta*) > 0 on compact inputs, and Theta be a "
            "compact neighbourhood of the true atom, so small that sigma(s) E >= 2 f* / 3 at each of its points.",
            "Two atoms or more then have f_G >= 4 f* / 3: they are |f*| / 3 or more from f*, and in the limit from "
            "f_Gn.",
        ],
        reading="A regime set by the fit, of atoms that it doubles: with no cell empty it then has more than N* "
        "atoms, and either f* is a best function, with the rate of Proposition 1, or no such fit is left. Or fits of "
        "more than N* atoms alone, which are open.",
        check=f"{IDENTITIES}:more_atoms",
        shows={"least atom over the true one": (2 / 3, 1.0), "least distance over that of f* from 0": (1 / 3, 2.0)},
    ),
    Argument(
        id="theorem-1-any-expert",
        item="Theorem 1",
        says="The bound ||f_G - f*|| >= C L1 fails for every expert while the score has b: along two atoms of opposite "
        "b, f moves by t^4, at the sparse truth of App. E.1 by t^5, and L1 by t^2; so no fourth power of b in L1 mends "
        "it.",
        verdict="disproved",
        premises=[
            Premise(
                words="then the lower bound ||f_G - f*|| >~ L1(G, G*) holds true for any G in M_N", where="Theorem 1"
            ),
            SPARSE,
            NETWORKS,
        ],
        derivation=[
            "Let a true atom have (A, b) = 0, and put two atoms in its place, with its expert and weights g_1 + g_2 = "
            "w*.",
            "Let h = u'x, |u| = 1, s_i = c_i + t b_i h + t^2 a_i h^2, b_1 = 1/sigma'_1, b_2 = -1/sigma'_2; so terms of "
            "order t cancel.",
            "Choose a_1, a_2 with sum(sigma'_i a_i + sigma''_i b_i^2 / 2) = 0 and sum(sigma''_i a_i b_i + sigma'''_i "
            "b_i^3 / 6) = 0.",
            "Then f_G - f* = E (sum sigma(s_i) - w*) = O(t^4), and L1 = t^2 sum b_i^2 + O(t^4): the ratio tends to 0 "
            "like t^2.",
            "For w* > 1 - 1/sqrt(3) there are shares g_1, g_2 at which the term of order t^4 vanishes, too: w* = 1/2, "
            "g_1 = 0.3646 w*.",
        ],
        reading="Definition 1 to the letter, or without opposite gates: no expert meets it, and the theorem is void "
        "and not false; of any reading that some expert meets, with the fully quadratic score, the argument holds.",
        check=f"{IDENTITIES}:hidden_pair",
        shows={
            "order of f, equal shares": order(4),
            "order of L1, equal shares": order(2),
            "order of f, flat shares": order(5),
            "order of L1, flat shares": order(2),
        },
    ),
    Argument(
        id="theorem-2-constant",
        item="Theorem 2",
        says="The bound holds, and more: two truths of different L2r have the same function, so that the minimax risk "
        "does not fall with n at all. So it is for ReLU experts and for networks with the factor lambda, too, which "
        "the paper sets apart from polynomials.",
        verdict="proved",
        premises=[
            Premise(
                words="Suppose that the expert function takes a polynomial form (alpha'x + beta)^p ... for any r >= 1, "
                "inf sup E[L2r(G_n, G)] >~ n^(-1/2)",
                where="Theorem 2",
            ),
            SPARSE,
        ],
        derivation=[
            "Let G have N* atoms of constant gate, weights w_j and experts eta_j, and G' the weights w'_j and k eta_j, "
            "with w'_j k^p = w_j, k > 1, and no k eta_i an eta_j.",
            "f_G = f_G' (ReLU, or lambda in the place of eta: with p = 1), so the data have one law, and no estimator "
            "can be near both.",
            "Hence sup E[L2r(G_n, .)] >= min over H of (L2r(H, G) + L2r(H, G')) / 2, a constant.",
            "It is positive: let delta be the least distance of an eta_i from a k eta_j. An atom of H is at least "
            "delta / 2 from all eta_i or from all k eta_j, and is in a cell of both truths.",
            "So one of the two losses is at least of the order (delta / 2)^r, whatever an empty cell costs.",
            "Remark (i) follows in the same sense: no power of n bounds the largest error of over-specified "
            "parameters.",
        ],
        reading="One that fixes the size of eta, or takes truths of which some gate is not constant.",
        check=f"{IDENTITIES}:two_truths",
        shows={
            "difference of f": ZERO,
            "least sum of losses over its bound, N* = 1": (1.0, 100.0),
            "least sum of losses over its bound, N* = 2": (1.0, 100.0),
        },
    ),
    Argument(
        id="theorem-3-shares",
        item="Theorem 3",
        cell="example",
        says="For polynomials, ReLU experts and GELU networks with the outer factor lambda, which the paper counts "
        "among the weakly identifiable, the bound fails: the gates of two shares of one expert move apart by t while f "
        "moves by t^2. GELU experts without lambda are not concerned.",
        verdict="disproved",
        premises=[
            Premise(
                words="then the lower bound inf ||f_G - f_Gbar|| >~ L3(G, Gbar) holds true for any mixing measure G in "
                "M_N",
                where="Theorem 3",
            ),
            POLYNOMIALS,
            WEAK_NETWORKS,
        ],
        derivation=[
            "Let d >= 2, inputs fill a ball, where E is not 0, Theta hold the atoms below inside it, A be symmetric, "
            "no true score be constant or a multiple of another, and A of one, s, have rank 2 or more. E(x, k^(1/p) "
            "eta) = k E(x, eta), p = 1 for ReLU and lambda: so this atom is also N - N* + 1 of its gate with different "
            "shares k_i > 0 of E, sum k_i = 1, a best measure of N atoms, f_Gbar = f*.",
            "Let G have s + t r / k_1 and s - t r / k_2 for the scores of two of them. Terms of order t cancel: f "
            "moves by O(t^2), and L3 to this best measure is t |r| (1/k_1 + 1/k_2).",
            "None is nearer in order. The N atoms of G stay apart, so that a best measure within o(t) has one near "
            "each: scores s_i near s, experts near k_i E.",
            "Were an s_i not s, sigma(s_i) had a pole on the quadric s_i = i pi. It is irreducible, so that a score "
            "that is there an odd multiple of i pi is this multiple of s_i: those near s that equal s_i, and no other.",
            "Their experts add up to nearly a positive multiple of E, which is entire (ReLU: continued from a ball of "
            "inputs on which E is linear, not 0, and each other one linear or 0) and, a function of alpha'x + beta "
            "with isolated zeros, not 0 on the quadric: f_Gbar != f*. So all s_i = s, at a distance of order t, for "
            "every N > N*.",
        ],
        reading="One in which no two atoms of a best measure have one gate.",
        check=f"{IDENTITIES}:moved_shares",
        shows={"order of f, with b": order(2), "order of f, without b": order(2), "order of L3": order(1)},
    ),
    *(
        Argument(
            id=f"theorem-{k}-vanishing",
            item=f"Theorem {k}",
            cell="example",
            says="For polynomials of degree p >= 2 the bound fails along superfluous atoms that vanish: f moves by "
            f"t^p, L{k} by t. For p = 1 both move by t, and this path says nothing.",
            verdict="disproved",
            premises=[premise],
            derivation=[
                "Atoms with eta = 0 add nothing: N - N* of them make a best measure with the true ones. Let d >= 2, "
                "inputs fill a ball, Theta hold these atoms inside it, symmetric A of their gates have rank 2 or more, "
                "and no score be constant, nor two of them multiples of each other but for c.",
                f"With eta = t v_i in their places f moves by sum sigma(s_i) (t v_i'(x, 1))^p, and L{k} to this best "
                "measure is t sum |v_i|.",
                "A best measure within o(t) has one atom near each of these N: spare ones of eta = t v_i + o(t), not "
                "0, and scores near s_i. As in theorem-3-shares the poles of one are in no other term, and eta'(x, 1) "
                "is not 0 on them: f_Gbar != f*.",
            ],
            reading="One in which the expert of every atom is kept from 0 by the parameter space.",
            check=f"{IDENTITIES}:vanishing",
            shows={f"order of f, p = {p}": order(p) for p in (1, 2, 3)} | {"order of the loss": order(1)},
        )
        for k, premise in [(3, POLYNOMIALS), (5, PARTIAL_POLYNOMIALS)]
    ),
    Argument(
        id="theorem-4-trade",
        item="Theorem 4",
        cell="example",
        says="For polynomials and ReLU experts, and for every network with the outer factor lambda that the paper "
        "prints, the bound fails: at a constant gate weight trades for size, f stands still and L4 does not. GELU "
        "experts without lambda are not concerned.",
        verdict="disproved",
        premises=[
            Premise(
                words="its removal allows the partial-strong identifiability condition in Definition 3 to remain valid "
                "even when the expert function follows a polynomial form",
                where="C.1.2, examples",
            ),
            Premise(words="under the sparse regime, all the over-specified parameters A*_j = 0", where="C.1.2"),
        ],
        derivation=[
            "At A = 0 the gate is the number sigma(c). Let E(x, k eta) = k^p E(x, eta), or scale lambda, with p = 1.",
            "Two atoms of A = 0, k_i eta and weights w_i, w_1 k_1^p + w_2 k_2^p = w*, have the function of the true "
            "atom, for all k_1 != k_2 above 0 with k_1^p + k_2^p > w*.",
            "f_G = f*, and L4 = |w_1 + w_2 - w*| + sum (k_i - 1)^2 |eta|^2 > 0; least squares cannot tell k_i.",
        ],
        reading="One that fixes the size of eta, or takes experts that are not homogeneous in any parameter.",
        check=f"{IDENTITIES}:trade",
        shows={"difference of f": ZERO, "L4": (0.005, 100.0)},
    ),
    Argument(
        id="theorem-4-cells",
        item="Theorem 4",
        cell="proof",
        says="What its proof needs of the atoms of one cell holds, though not for the reason given: their functions "
        "are proportional at A = 0, not independent, but the forms of second order in their A and in their eta are at "
        "least 1 - w* of sums of squares, so that they cannot cancel each other.",
        verdict="proved",
        premises=[
            Premise(
                words="the expert function E(., eta) is strongly identifiable, then the above equation implies that "
                "[every coefficient is] 0",
                where="App. C.2.2, step 3",
            ),
            SPARSE,
        ],
        derivation=[
            "Atoms of the weights g_i, sum w* < 1, and scores a_i = x'A_i x move f by E (sum sigma'_i a_i + sum "
            "sigma''_i a_i^2 / 2) up to third order. Let the first sum be 0, and y_i = sigma'_i a_i.",
            "sum sigma''_i a_i^2 - (1 - w*) sum sigma'_i a_i^2 = sum y_i^2 / chi(g_i), chi(g) = g (1 - g) / (w* - 2 "
            "g).",
            "At most one g_m is above w*/2; if none is, every term is positive. Else, by Cauchy and sum y_i = 0, it is "
            "enough that the other chi(g_i) add up to at most -chi(g_m).",
            "chi is convex on [0, w*/2) with chi(0) = 0: their sum is at most chi(h), h = w* - g_m < g_m.",
            "chi(h) = h (1 - h) / (2 g_m - w*) <= g_m (1 - g_m) / (2 g_m - w*) = -chi(g_m), because h + g_m < 1.",
            "The form in the moves d_i of eta has the coefficients sum g_i d_i d_i', a sum of squares as it stands.",
        ],
        reading="One with b in the score, where the proof of Theorem 1 fails.",
        check=f"{IDENTITIES}:curvature",
        shows={"least form over 1 - w*": (1.0 - 1e-9, 100.0), "at two equal halves": (1.0 - 1e-9, 1.0 + 1e-9)},
    ),
    Argument(
        id="theorem-5-shares",
        item="Theorem 5",
        cell="example",
        says="Without b, too, the bound fails for polynomials, ReLU experts and GELU networks with the factor lambda: "
        "the gates of two shares move apart by t while f moves by t^2. GELU experts without lambda are not concerned.",
        verdict="disproved",
        premises=[PARTIAL_POLYNOMIALS, WEAK_NETWORKS],
        derivation=["As for Theorem 3, with b = 0 in every score: the argument nowhere uses b."],
        reading="One in which no two atoms of a best measure have one gate.",
        check=f"{IDENTITIES}:moved_shares",
        shows={"order of f, with b": order(2), "order of f, without b": order(2), "order of L3": order(1)},
    ),
    *(
        Argument(
            id=f"proposition-{k}-mirror",
            item=f"Proposition {k}",
            says="It fails for every expert: two opposite gates of one expert add up to that expert, so that two "
            "measures of such pairs have one function.",
            verdict="disproved",
            premises=[
                Premise(
                    words="If the equation f_G(x) = f_G*(x) holds true for almost every x, then it follows that G = G*",
                    where=f"Proposition {k}",
                ),
            ],
            derivation=[
                "sigma(s) + sigma(-s) = 1.",
                f"Let G have the gates {full} and their negatives, with one eta, and G* {other} and its negative.",
                "f_G = E(x, eta) = f_G*, and G != G*.",
            ],
            reading="One in which the experts of a measure are distinct, as the proof takes for granted and the "
            "proposition does not say.",
            check=f"{IDENTITIES}:mirror",
            shows={"difference of f": ZERO, "distance of A": APART},
        )
        for k, full, other in [(2, "(A, b, c)", "(A', b', c')"), (4, "(A, c)", "(A', c')")]
    ),
    *(
        Argument(
            id=f"proposition-{k}-split",
            item=f"Proposition {k}",
            says="It fails for the paper's own networks and for linear experts: one atom is two shares of it.",
            verdict="disproved",
            premises=[NETWORKS],
            derivation=[
                "max(0, k h) + max(0, (1 - k) h) = max(0, h) for 0 < k < 1, k h + (1 - k) h = h, and k lambda + (1 - "
                "k) lambda = lambda for any phi.",
                f"So the atom ({gate}, eta) and the two ({gate}, k eta), ({gate}, (1 - k) eta) have one function.",
            ],
            reading="One in which no two experts are proportional, which the words 'E is identifiable' of the proof "
            "may mean.",
            check=f"{IDENTITIES}:split",
            shows={"difference of f": ZERO, "distance of eta": APART},
        )
        for k, gate in [(2, "A, b, c"), (4, "A, c")]
    ),
    Argument(
        id="bias-of-the-scores",
        item="Equation 85",
        says="The bias -log n mitigates large initial norms: where scores are 0, the n weights of a row sum to n / (n "
        "+ 1) with it and to n / 2 without; those of the softmax to 1.",
        verdict="proved",
        premises=[
            Premise(
                words="The bias is set as b = -log(n), where n is the sequence length, to mitigate large initial "
                "attention norms",
                where="App. E.2",
            ),
        ],
        derivation=[
            "sigma(-log n) = 1 / (1 + n), and sigma(0) = 1/2.",
            "A row of equal weights is their sum times the mean of the values: its norm goes with the sum.",
        ],
        reading="One in which initial scores are far from 0, as without the normalisation of queries and keys (Table "
        "3).",
        check=f"{IDENTITIES}:row_sums",
        shows={"sum with the bias": (0.99, 1.0), "sum without, over n": (0.5, 0.5 + 1e-12)},
    ),
    Argument(
        id="lemma-2-repaired",
        item="Lemma 2",
        says="There is such a sequence for every p and r: one along which f does not move at all.",
        verdict="proved",
        premises=[
            Premise(
                words="Given experts in Theorem 2, we achieve for any r >= 1 that lim inf ||f_G - f*|| / L2r = 0",
                where="Lemma 2",
            ),
            SPARSE,
        ],
        derivation=[
            "Two atoms of constant gate and weight w*/2 each have (1 + t) eta* and (1 - u) eta*, with (1 + t)^p + (1 - "
            "u)^p = 2.",
            "f_G - f* = (w*/2) ((1 + t)^p + (1 - u)^p - 2) h^p = 0, h = alpha*'x + beta*.",
            "L2r = (t^r + u^r) (|alpha*|^r + |beta*|^r) > 0 tends to 0 with t.",
        ],
        reading="None that we know; the sequence needs eta* != 0.",
        check=f"{IDENTITIES}:repaired_sequence",
        shows={"difference of f": ZERO, "L2r over t^2, r = 2": APART},
    ),
    Argument(
        id="printed-sequence",
        item="Appendix B.3",
        cell="proof",
        says="The printed sequence does what Lemma 2 needs for p = 1, where f stands still; for p >= 2 and r >= 2 it "
        "does not, since f moves by t^2, t = 1/m, and L2r by t^r.",
        verdict="disproved",
        premises=[
            Premise(
                words="WLOG, assume alpha*_1 = 0 ... beta_1 = beta*_1 + 1/n and beta_2 = beta*_1 - 1/n",
                where="App. B.3",
            ),
            Premise(words="the following limit holds true for any r >= 1", where="App. B.3"),
        ],
        derivation=[
            "(w*/2) ((beta + t)^p + (beta - t)^p) - w* beta^p = w* p (p - 1) t^2 beta^(p-2) / 2 + O(t^4): 0 for p = 1.",
            "L2r = 2 t^r, and a term of the weights; so the ratio goes like t^(2-r), which does not tend to 0 for r >= "
            "2.",
            "A change of the weights of order t^(r+1) leaves this term, for r >= 2.",
            "Le Cam's bound takes t^2 = n^(-1/2), the least at which the functions can be told apart, and is of order "
            "n^(-r/4): for r > 2 it falls faster than n^(-1/2).",
        ],
        reading="One that lets the weights differ by just the term of order t^2, whose order cannot be read in our "
        "copy; L2r would then have that order, too.",
        check=f"{IDENTITIES}:printed_sequence",
        shows={
            "difference of f, p = 1": ZERO,
            "order of f, p = 2": order(2),
            "order of f, p = 3": order(2),
            "order of L2r, r = 2": order(2),
        },
    ),
    Argument(
        id="printed-brackets",
        item="Appendix B.1",
        cell="proof",
        says="The printed brackets do not hold negative functions and are not narrow: two signs are wrong; with "
        "max{zeta - tau, -M} and min{zeta + tau, M} both statements hold, and (14) follows.",
        verdict="disproved",
        premises=[
            Premise(
                words="L_i(x) := max{zeta_i(x) - tau, 0}, U_i(x) := max{zeta_i(x) + tau, M}", where="App. B.1, step 1"
            ),
            Premise(
                words="F_N is in the union of [L_i, U_i] ... U_i(x) - L_i(x) <= min{2 tau, M}", where="App. B.1, step 2"
            ),
        ],
        derivation=[
            "L_i >= 0: no bracket holds a function with a negative value.",
            "U_i >= M: where zeta_i < M - tau the width is at least M - max{zeta_i - tau, 0} > 2 tau, for tau < M / 2.",
            "Mended: |f| <= M and |f - zeta_i| <= tau give L_i <= f <= U_i, and U_i - L_i <= min{2 tau, 2 M}.",
        ],
        reading="None for the width; that functions are not negative would mend the lower end.",
        check=f"{IDENTITIES}:brackets",
        shows={
            "share of f outside, printed": (0.4, 0.6),
            "median width over 2 tau, printed": (2.0, 100.0),
            "distance outside, mended": (-1.0, 1e-12),
            "largest width over 2 tau, mended": (0.0, 1.0 + 1e-12),
        },
    ),
    Argument(
        id="inequality-14",
        item="Appendix B.1",
        says="Inequality (14) holds: the bracketing entropy of the model is at most a constant times log(1 / eps).",
        verdict="proved",
        premises=[
            Premise(words="H_B(eps, F_N, ||.||) <~ log(1 / eps), for eps in (0, 1/2]", where="App. B.1, (14)"),
            Premise(words="Both A and Omega are compact sets.", where="App. B.1, step 4"),
        ],
        derivation=[
            "On a box of parameters and a bounded set of x, f is Lipschitz in its P parameters, with a constant K in "
            "the supremum norm: sigma' <= 1/4, |phi'| bounded, all monomials bounded.",
            "A grid of spacing 2 tau / (K P) has a centre within tau of every function, and (B K P / tau)^P points.",
            "The mended brackets (printed-brackets) have the width 2 tau = eps: their log number is P log(2 B K P / "
            "eps).",
        ],
        reading="One with parameters or x without bound.",
        check=f"{IDENTITIES}:cover",
        shows={"largest distance to a centre over tau": (0.0, 1.0), "log number per P log(1/eps)": (0.99, 1.01)},
    ),
]
