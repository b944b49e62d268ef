"""What is proved of the paper's items: by a few lines from its own premises (compete-smoe).

Section 4 calls k* the true number of experts. *To the letter* that is the number of atoms of G*, pairwise different, of
which one may win at no input. *Minimal*, it is the least number of experts that gives the density, so that every expert
wins somewhere. Each argument says by which of the two it holds.
"""

from moestat.study.arguments import Argument, Premise

IDENTITIES = "studies.compete_smoe.parts.identities"
ZERO, APART = (-1e-12, 1e-12), (0.05, 100.0)
"""What is 0 up to rounding, and what is not."""

BOUND = Premise(
    words="the following Hellinger lower bound holds for any mixing measure G in E_k*: E h(p_G, p_G*) >~ D(G, G*)",
    where="Theorem 4.2, (10)",
)
RATE = Premise(words="P(D(G_n, G*) > C1 sqrt(log(n)/n)) <~ exp(-c1 log(n))", where="Theorem 4.2, (11)")
MLE = Premise(words="G_n in argmax over E_k* of the mean of log p_G(Y_i | X_i)", where="section 4, (7)")
BOUNDED = Premise(words="samples drawn from bounded subsets X of R^d", where="section 4")
DIFFERENT = Premise(
    words="(W*_1, sigma*_1), ..., (W*_k*, sigma*_k*) in Theta are pairwise different with Theta being a compact subset",
    where="section 4",
)
MINIMAL = "The minimal one of k*, by which every expert wins somewhere; to the letter it holds."
COVER = [
    "|tanh u| >= |tanh v| iff |u| >= |v|, and for affine u, v in x that is (u - v)(u + v) >= 0: two half-spaces.",
    "So the inputs at which a set tau of K experts wins, ties to the lowest index, are a Boolean combination of at "
    "most k*(k* - 1) half-spaces, whatever the parameters are.",
    "With tau fixed, p is smooth in the parameters: over bounded x, means and variances above 0, |p - p'| is at most "
    "E(y) |G - G'|, for an integrable E.",
]
CONDITIONS = [
    Premise(
        words="the expert function g(X, W_e) is non-zero and differentiable with respect to W_e for almost surely X; "
        "if sum_u alpha_u dg/dW^(u)(X, W) = 0 for almost surely X, then alpha_u = 0",
        where="section 4, on g",
    ),
    Premise(words="g(x, W_e) is Lipschitz continuous with respect to W_e", where="appendix B.1.2, Case 1"),
]
STRIPED = [
    "Let x be uniform on [-1, 1], w in [0, 1], variances in [1, 4], K = 1, g = 2 + w x / 10 for x >= 0, and 2 + w^3 "
    "sin(x / w) for x < 0 (2 at w = 0). G* = {(1, 1), (0, 4)}: the first wins x > 0, the second x < 0, for sin x < 0.",
    "1 <= g <= 3; dg/dw is continuous in w (0 at w = 0, x < 0), |dg/dw| <= 4, and x / 10 at x > 0: not 0. "
    "Different w tie on a null set only.",
]

arguments = [
    Argument(
        id="theorem-4-2-sleeper",
        item="Theorem 4.2",
        says="(10) fails where an expert never wins: it moves, and the density does not notice.",
        verdict="disproved",
        premises=[BOUND, DIFFERENT, BOUNDED],
        derivation=[
            "Let K experts of G* have |g| above that of expert k at every x, with room to spare: TopK never keeps k.",
            "Move W_k so little that it still never wins, to get G: p_G = p_G*, and D(G, G*) >= |W_k - W*_k| > 0, "
            "against (10).",
        ],
        reading=MINIMAL,
        check=f"{IDENTITIES}:sleeping_expert",
        shows={"difference of p": ZERO, "D": (0.01, 10.0)},
    ),
    Argument(
        id="theorem-4-2-every-n",
        item="Theorem 4.2",
        says="(11) fails there, too, for K >= 2 and experts that cross, for every n from some n on, with a probability "
        "near 1: some maximiser of the likelihood is farther from G* than C1 sqrt(log n / n), whatever C1 is.",
        verdict="disproved",
        premises=[RATE, MLE, DIFFERENT, BOUNDED],
        derivation=[
            "Let x be uniform, and G* have k* = K + 1 affine experts: K >= 2 awake at every x, no two |g| equal on a "
            "set of positive measure, none the least at almost every x, and one, k, asleep with room to spare.",
            "Let r be so small that a G with D(G, G*) < r and no empty cell has its expert k asleep, as G* has, and "
            "that a second sleeping place is at a distance of 2 r or more from all of them.",
            "If such a G is a maximiser, put its expert k to the second place: no density changes, so that it is a "
            "maximiser, too, and its D is at least r. If none within r is, all are farther than r.",
            "Left are those with an empty cell. One awake is lost, or one is twice and takes the place of the least "
            "where that is another: their density is another one, by a fixed amount. By Theorem 4.1, proved for affine "
            "experts, none is a maximiser but with a probability of the order n^-c.",
            "So some maximiser has D >= r, and C1 sqrt(log n / n) < r from some n on.",
        ],
        reading=f"{MINIMAL[:-1]}; or one of (11) by which some maximiser, chosen with G* in view, is near, or there "
        "is none. Open where one of the awake is the least throughout, as for K = 1.",
        check=f"{IDENTITIES}:sleeping_maximisers",
        shows={
            "difference of the likelihoods": ZERO,
            "larger D of the two": APART,
            "least mean total variation, one awake twice": (0.02, 1.0),
        },
    ),
    Argument(
        id="theorem-4-2-two-weights",
        item="Theorem 4.2",
        says="(10) fails far from the truth where every expert wins, by either reading of k*: with g = b tanh(a x) "
        "(a, b) and (-a, -b) are one expert, and so is a network with its hidden units in another order.",
        verdict="disproved",
        premises=[
            BOUND,
            Premise(
                words="if there exist alpha_u such that sum_u alpha_u dg/dW^(u)(X, W) = 0 for almost surely X, then "
                "alpha_u = 0",
                where="section 4, on g",
            ),
        ],
        derivation=[
            "Let Theta be two boxes, around the weights of G* and around their opposites, a and b away from 0: in "
            "both tanh(a x) and b x (1 - tanh(a x)^2) are independent.",
            "Let G have -W_i for W_i: g is the same function, so that p_G = p_G*; and D(G, G*) > 0.",
        ],
        reading="One with D on experts as functions, or with Theta connected: then some weights in it have dependent "
        "derivatives. Affine and tanh(w x + b) determine their weights.",
        check=f"{IDENTITIES}:two_weights",
        shows={
            "difference of p": ZERO,
            "D": APART,
            "least share of wins": (0.05, 1.0),
            "least singular value of the derivatives": (1e-3, 1.0),
        },
    ),
    Argument(
        id="theorem-4-2-all-win",
        item="Theorem 4.2",
        cell="example",
        says="Where every expert wins and no two true ones have the same |g| throughout, (10) holds for linear, affine "
        "and tanh(w'x + b) experts and inputs with a density; (11) if that is bounded, and variances away from 0.",
        verdict="proved",
        premises=[BOUND, RATE, BOUNDED, DIFFERENT],
        derivation=[
            "Let E h(p_G_m, p_G*) / D(G_m, G*) -> 0 for a sequence G_m. D is bounded, so that E h -> 0; "
            "along a subsequence G_m -> G in compact Theta, and h -> 0 at almost every x.",
            "At such an x p_G* is a mixture of K atoms of G. Finite mixtures of normals are identifiable: each true "
            "winner has mean and variance of one of them, of the same one on a set of positive probability, where g "
            "determines W. Every expert wins: G has all k* true atoms, and is G*.",
            "So atoms are matched one to one, D <= |G_m - G*|, and (G_m - G*) / |G_m - G*| -> (dW, dv), not 0. The "
            "|g*_i| differ at almost every x, for g^2 is analytic: winners stay, and by Fatou the derivative of p "
            "along (dW, dv) is 0.",
            "It is a sum over the winners i of multiples of f_i, f_i' and f_i'', independent in y: those of f_i' and "
            "f_i'', s_i dg_i and s_i dv_i / 2, are 0. So dv_i = 0, and dW_i = 0 by independent derivatives on the open "
            "set where i wins, for every i: a contradiction.",
            "(11) is (10) with Theorem 4.1, which is proved for these experts (theorem-4-1-affine).",
        ],
        reading="The letter of k* (theorem-4-2-sleeper); weights that g does not determine (theorem-4-2-two-weights). "
        "Open are other experts (for one (11) fails: theorem-4-1-stripes), and true ones w and -w of one |g|.",
        check=f"{IDENTITIES}:every_expert_wins",
        shows={
            "least share of wins": (0.05, 1.0),
            "least mean total variation / D": (0.01, 1.0),
            "largest exponent of it": (-1.0, 0.1),
        },
    ),
    Argument(
        id="theorem-4-2-empty-cell",
        item="Theorem 4.2",
        cell="proof",
        says="D(G_n, G*) -> 0 does not bring every expert to its true one: with an expert lost and another one there "
        "twice D is 0, for an empty cell adds nothing to (9). The density sees it.",
        verdict="disproved",
        premises=[
            Premise(
                words="D(G, G*) := max over tau of the sum over j and over i in A_tau_j of |W_i - W*_tau_j| + |sigma_i "
                "- sigma*_tau_j|",
                where="section 4, (9)",
            ),
            Premise(
                words="since each Voronoi cell has only one element ... this together with D(G_n, G*) -> 0 "
                "indicates that (W^n_j, sigma^n_j) -> (W*_j, sigma*_j)",
                where="appendix B.2, local part",
            ),
        ],
        derivation=[
            "Let every atom of G sit on a true one, two of them on the same: each is at distance 0 from its cell's "
            "centre, and a cell without an atom is an empty sum, so that D = 0.",
            "An expert on its way there leaves its cell before it arrives: k* atoms are pairwise different, D -> 0 "
            "and a cell is empty.",
        ],
        reading="One with a D that matches the experts one to one. The step can be mended where every expert wins: the "
        "proof has V -> 0, too, and V stays away from 0 with an empty cell.",
        check=f"{IDENTITIES}:lost_expert",
        shows={"D": ZERO, "mean total variation": APART},
    ),
    Argument(
        id="lemma-b-2-stripes",
        item="Lemma B.2",
        says="It fails for a g that meets all conditions: where winners alternate in ever narrower stripes, no finite "
        "number of densities is a cover at a small epsilon.",
        verdict="disproved",
        premises=[*CONDITIONS, BOUNDED, DIFFERENT],
        derivation=[
            *STRIPED,
            "By {(w, 1), (0, 4)} the first wins, of x < 0, where sin(x / w) > 0. For a fixed w the share of x < 0 at "
            "which the winner by another w' is another one tends to 1/2 as w' -> 0 (Fejer).",
            "So there is a sequence w_m -> 0 of which two each differ on a quarter of x < 0: by 1/8 of the L1 distance "
            "of N(2, 1) and N(2, 4) or more, up to o(1). It has no finite cover at an epsilon below half of that.",
            "Two densities in one bracket of Hellinger size epsilon are within it of each other, and L1 <= 2 sqrt(2) "
            "h: (b) fails, too.",
        ],
        reading="Experts whose regions of winning are made of a bounded number of half-spaces, as in lemma-b-2-a.",
        check=f"{IDENTITIES}:stripes_apart",
        shows={"least L1 distance": (0.05, 2.0)},
    ),
    Argument(
        id="lemma-b-2-winners",
        item="Lemma B.2",
        cell="proof",
        says="The proof's Case 2 is false: a region with c_tau = 0 need not have measure zero. Regions that touch have "
        "it 0, their winners change with the parameters, and near a boundary p changes by a fixed amount.",
        verdict="disproved",
        premises=[
            Premise(
                words="now that c_tau = 0, we have |g(x, W_tau_K)| - |g(x, W_tau_K+1)| = 0",
                where="appendix B.1.2, Case 2: of a minimum over x, said of every x",
            ),
            Premise(
                words="we also deduce that the previous bound holds for any X",
                where="appendix B.1.2, end of part (a): |p_G - p_G'| <~ epsilon",
            ),
        ],
        derivation=[
            "On [-1, 1] let g_1 = 1 + x, g_2 = 1 - x, K = 1: expert 1 wins for x >= 0. The least gap there is 0, at x "
            "= 0: c_tau = 0; the region has measure 1.",
            "With g_1' = 1 - 2 t + x it wins for x >= t: on [0, t) the winner, and with sigma_1 != sigma_2 the "
            "density, is another one, by an amount that does not shrink with t.",
        ],
        reading="None; what is needed is the mean over x, see lemma-b-2-a.",
        check=f"{IDENTITIES}:touching_regions",
        shows={
            "exponent of the misrouted share": (0.99, 1.01),
            "least of the largest changes of p": APART,
            "exponent of the mean change of p": (0.9, 1.1),
        },
    ),
    Argument(
        id="lemma-b-2-a",
        item="Lemma B.2",
        cell="example",
        says="Part (a) holds for linear, affine and tanh experts: log N(epsilon) is of the order log(1 / epsilon) in "
        "the L1 distance, whatever the distribution of bounded inputs is.",
        verdict="proved",
        premises=[BOUNDED, DIFFERENT],
        derivation=[
            *COVER,
            "Such sets are a VC class, of a dimension V that k* and d bound: by Haussler (1995) C epsilon^-V sets "
            "cover it in L1(P_X).",
            "Take a grid of parameters, and for every tau a covering set S_tau: sum over tau of 1{x in S_tau} p^tau at "
            "the grid point is within C epsilon of p, by P(R_tau and S_tau differ) and by the last line but two.",
            "Their number is a power of 1 / epsilon.",
        ],
        reading="Experts whose regions of winning are no such sets: open, but for those of lemma-b-2-stripes.",
        check=f"{IDENTITIES}:winners_by_half_spaces",
        shows={"share of inputs with other winners": ZERO},
    ),
    Argument(
        id="lemma-b-2-b",
        item="Lemma B.2",
        cell="example",
        says="Part (b) holds for them if the inputs have a bounded density: the bracketing entropy in the Hellinger "
        "distance is of the order log(1 / epsilon).",
        verdict="proved",
        premises=[BOUNDED, DIFFERENT],
        derivation=[
            *COVER,
            "Half-spaces {a'x + b >= 0} with |(a, b)| = 1 lie, for (a, b) within t of a grid point, between those with "
            "b - R t and b + R t, R a bound on 1 + |x|. Where |a| is below 1 / (2 R) both are all or nothing; else "
            "they differ by a slab of width 4 R^2 t at most, of probability C t, for the density is bounded.",
            "So R_tau lies between two Boolean combinations of grid half-spaces that differ by C t in probability, and "
            "p^tau between its grid value minus and plus C t E(y): brackets of L1 size C t, a power of 1 / t of them.",
            "h^2(L, U) <= |U - L|_1 / 2: t = epsilon^2 / C.",
        ],
        reading="Inputs on which a slab's probability is not of the order of a power of its width.",
        check=f"{IDENTITIES}:brackets",
        shows={"share outside its bracket": ZERO, "exponent of the bracket's size": (0.9, 1.1)},
    ),
    Argument(
        id="theorem-4-1-stripes",
        item="Theorem 4.1",
        says="It fails for a g that meets all conditions, though every expert wins: winners may alternate in stripes "
        "so narrow that the maximiser fits noise.",
        verdict="disproved",
        premises=[*CONDITIONS, MLE, BOUNDED, DIFFERENT],
        derivation=[
            *STRIPED,
            "x_i with a density are independent over the rationals, almost surely. By Kronecker sin(x_i / w) > 0 at "
            "any chosen ones of x_i < 0 and at no others, for some w > 0 as small as one likes: {(w, 1), (0, 4)} gives "
            "every y_i there the likelier of N(2, 1) and N(2, 4). In the limit its mean log-likelihood is above that "
            "of G* by 0.12 - 0.001, gained at x < 0 and lost at x > 0, up to o(1).",
            "Let E h(p_G, p_G*) < r. At x > 0 the larger w wins: one atom is near (1, 1); the other wins nearly all x "
            "< 0 and is near (0, 4), by compactness. At x < -e(r) winners are those of G*, so that log p_G is "
            "continuous in the parameters there: by a uniform law of large numbers the mean log-likelihood is above "
            "that of G* by C e(r) + o(1) at most, and e(r) -> 0.",
            "For a small r no maximiser, and no G within 0.05 of the supremum, is there, so that P(E h(p_Gn, p_G*) >= "
            "r) -> 1; by the theorem it tends to 0. Nor is one near G* in D (an empty cell costs likelihood): (11) "
            "fails, too.",
        ],
        reading="Experts whose regions of winning are made of a bounded number of half-spaces, as those of "
        "theorem-4-1-affine.",
        check=f"{IDENTITIES}:stripes",
        shows={
            "least gain of a fit to noise": (0.01, 1.0),
            "least mean total variation": (0.05, 1.0),
            "largest derivative": (0.0, 4.0),
            "least mean derivative": (0.01, 4.0),
        },
    ),
    Argument(
        id="theorem-4-1-affine",
        item="Theorem 4.1",
        cell="example",
        says="It holds for linear, affine and tanh experts if inputs have a bounded density. Variances are away from "
        "0; every maximiser is covered, with an expert asleep, too.",
        verdict="proved",
        premises=[
            MLE,
            BOUNDED,
            Premise(
                words="with n^(1/2) delta_n^2 >= c Psi(delta_n): P(h(p_G_n, p_G*) > delta) <= c exp(-n delta^2 / c^2)",
                where="Lemma B.1, van de Geer (2000), Theorem 7.4",
            ),
        ],
        derivation=[
            "By lemma-b-2-b the class of (p_G + p_G*) / 2, which the book takes, has bracketing entropy C log(1 / t): "
            "half the sum of a bracket and p_G* brackets it.",
            "The integral of sqrt(log(1 / t)) to delta is at most C delta sqrt(log(1 / delta)) = Psi(delta).",
            "delta_n = C sqrt(log n / n) meets the premise, and E h <= sqrt(E h^2), the h of the book.",
        ],
        reading="Other experts: the printed proof of Lemma B.2 fails for all (lemma-b-2-winners); for one the theorem "
        "is false (theorem-4-1-stripes), for the rest it is open.",
        check=f"{IDENTITIES}:entropy_integral",
        shows={"largest ratio of integral and bound": (0.0, 3.0)},
    ),
]
