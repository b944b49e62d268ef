"""What is proved of the paper's items: by a few lines from its own premises (expert-count)."""

from moestat.study.arguments import Argument, Premise

NORM = Premise(words="-eta grad_{W_m} L^(t) / ||grad_{W_m} L^(t)||_F", where="eq. (5)")
SHARE = "studies.expert_count.parts.identities:shares_of_patches"

arguments = [
    Argument(
        id="lemma-1-factor",
        item="Lemma 1",
        says="The routing probabilities move by at most twice the scores, whatever M is.",
        verdict="proved",
        premises=[
            Premise(words="p_m = P(argmax_{m'} {h_m' + r_m'} = m), r_m i.i.d. Unif[0, 1]", where="Lemma 1"),
        ],
        derivation=[
            "Given the noise of the others, expert m is chosen where r_m is above the largest of their sums less h_m.",
            "r_m has a density of at most 1, so that raising h_m by t raises p_m by t at most, and raising all others "
            "lowers it by as much.",
            "A move of the scores by at most t is such a pair of moves: |p_m - p'_m| <= 2 t <= M^2 t for M >= 2.",
        ],
        reading="None; with M = 1 both sides are about a probability of 1.",
        check="studies.expert_count.parts.identities:moves_of_routing",
        shows={"largest |p - p'| over |h - h'|": (1.9, 2.0)},
    ),
    Argument(
        id="lemma-14-share",
        item="Lemma 14",
        says="Where T^(m) < T_1, by the lemma for every M = o(sigma_0^-0.075) up to logarithms, no gradient has the "
        "share 1 - sigma_0^0.2 of its norm along the own signal in every patch, once sigma_0 is small: below 1/32 for "
        "P = 4.",
        verdict="disproved",
        premises=[
            Premise(
                words="<grad_{w_{m, j_m*, p}} L^(t), v_{k_m}*> >= (1 - sigma_0^0.2) ||grad_{W_m} L^(t)||_F",
                where="Lemma 14, for all T_m < t <= T_1",
            ),
            Premise(words="T^(m) = O~(eta^(-1) M^4 sigma_0^0.8)", where="Lemma 14"),
            Premise(words="each patch p has its own parameter block W_{m,p}", where="New Architecture"),
        ],
        derivation=[
            "The norm is over all P blocks of an expert, and the P components along the signal are orthogonal.",
            "So their squares add up to at most the squared norm: P (1 - sigma_0^0.2)^2 <= 1.",
            "At P = 4 that is sigma_0 >= 1/32, and (1 - P^(-1/2))^5 for any P.",
            "By the lemma T^(m) is at most M^4 sigma_0^0.3 times T_1, up to logarithms, and so below it for every M = "
            "o(sigma_0^-0.075), once sigma_0 is small: for fixed M (2: below 1e-4 by this, at 0.001 in training), and "
            "for K log K log log d, the lower end of Theorem 1's range, as sigma_0 <= d^-0.01 there (K fixed).",
            "Its proof leaves the sum over patches out in (14): with (1 - o(1)) / sqrt(P) in place of the share "
            "it goes through where patches stay equal.",
        ],
        reading="One in which the norm is that of the patch's own block; eq. (5), which uses it, has the expert's. Or "
        "the sum over p, for no quantifier is printed: it is up to sqrt(P) times the norm; (57) uses one patch.",
        check=SHARE,
        shows={
            "share asked for": (0.74, 0.75),
            "largest share in every patch": (0.0, 0.5),
            "steps after T^(m) over T_1": (0.5, 1.0),
            "least growth over that of Lemma 15": (-1.0, 0.67),
            "largest share in every patch, two experts": (0.0, 0.5),
            "steps after T^(m) over T_1, two experts": (0.3, 1.0),
        },
    ),
    Argument(
        id="lemma-15-growth",
        item="Lemma 15",
        says="For the same M and sigma_0 the own signal cannot grow by (1 - sigma_0^0.2) eta a step in every patch at "
        "once, for the same reason.",
        verdict="disproved",
        premises=[
            Premise(
                words="<w_{m, j_m*, p}^(t), v_{k_m}*> >= (1 - sigma_0^0.2) eta (t - T^(m)), for all t >= T^(m)",
                where="Lemma 15",
            ),
            NORM,
        ],
        derivation=[
            "A step has length eta over all patches, so that the P products, which are along orthogonal directions, "
            "gain at most eta (t - T^(m)) in norm, and sqrt(P) (1 - sigma_0^0.2) times that is asked for.",
            "At T^(m) they are at most O~(sigma_0) + eta T^(m) = O~(M^4 sigma_0^0.8) by (5): o(sigma_0^0.5).",
        ],
        reading="That of Lemma 14; or a rate of eta / sqrt(P), which needs patches that stay equal, n^(-1/2) far below "
        "sigma_0^0.5: at n = 400 they race, and the last is slower still.",
        check=SHARE,
        shows={
            "share asked for": (0.74, 0.75),
            "largest share in every patch": (0.0, 0.5),
            "steps after T^(m) over T_1": (0.5, 1.0),
            "least growth over that of Lemma 15": (-1.0, 0.67),
            "largest share in every patch, two experts": (0.0, 0.5),
            "steps after T^(m) over T_1, two experts": (0.3, 1.0),
        },
    ),
    Argument(
        id="lemma-3-race",
        item="Equation 63",
        says="From independent starts not every patch grows like eta t, as (63) has it: patches race, and the first "
        "alone comes to sigma_0^0.5. The lemma itself is open.",
        verdict="disproved",
        premises=[
            Premise(
                words="<w_{m, j*_{m,p}, p}, v_{k*_{m,p}}> >= (1 - sigma_0^0.2) eta (t - T^(m)), for all t >= T^(m)",
                where="(63)",
            ),
            Premise(
                words="<w^(t+1), v_k> = <w^(t), v_k> + eta / ||grad|| [(3 E[alpha^3] + O~(sigma_0^1.5)) / (2 K M^2 P) "
                "<w^(t), v_k>^2 + O~(sigma_0^2.5)]",
                where="eq. (11)",
            ),
            NORM,
        ],
        derivation=[
            "With x_p the own product of patch p, (11) is x_p' = c x_p^2 in a clock that all patches share, so that "
            "1 / x_p falls by the same in each.",
            "x_1 leads at the start, by a share that is positive with probability one, and comes to sigma_0^0.5.",
            "There 1 / x_p = 1 / x_p(0) - 1 / x_1(0) + sigma_0^(-0.5), so that x_p = O(sigma_0), not sigma_0^0.5.",
            "Steps of the size of x, at eta of the order sigma_0, end alike: x_1 grows like eta t, x_p / x_1 falls "
            "like 1 / t.",
            "An expert whose first patch alone has grown errs where the signal is in another: the case that (66) makes "
            "does not arise, and its error on a cluster is not bounded by it.",
        ],
        reading="One in which every patch is normalised by itself; eq. (5) normalises an expert.",
        check="studies.expert_count.parts.identities:race_of_patches",
        shows={
            "last patch over (63), largest of four": (-1.0, 0.5),
            "last patch over sigma_0^0.5, 1e-4": (0.01, 0.2),
            "last patch over sigma_0^0.5, 1e-8": (0.0, 0.01),
            "median error in the limit, independent patches": (0.15, 0.35),
            "median error in the limit, equal patches": (0.0, 0.01),
        },
    ),
]
