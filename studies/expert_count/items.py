"""What the paper contains, in its own order; a claim belongs to the item that its source names first."""

from moestat.study.contents import Item, Paper

paper = Paper(
    name="expert-count",
    key="EC",
    title="On the impact of expert count in mixture of experts",
    problem="Experiments: patch data with d = 50, K = 4 clusters and P = 4 or 8 patches; M from 4 to 64 experts of J "
    "= 8 neurons (Numerical Experiments). The sample size, the number of steps and sigma_0 of the experiments are not "
    "printed.",
    items=[
        Item(
            name="Definition 1",
            says="The data: a patch y alpha v_k, a patch beta c_k, a patch eps gamma v_k' and P - 3 patches of noise.",
            unchecked="A definition: every study of the paper draws from it.",
        ),
        Item(
            name="Algorithm 1",
            says="Normalised gradient descent for every expert, gradient descent for the router, uniform noise on "
            "its scores.",
            unchecked="An algorithm: it is what the studies run.",
        ),
        Item(
            name="Lemma 1",
            says="Uniform noise smooths the routing: ||p - p'||_inf <= M^2 ||h - h'||_inf.",
            statement=["router_smoothness:bound-*"],
            conclusion="statement",
        ),
        Item(
            name="Lemma 2",
            says="With weights that are equal over the patches every expert errs on o(1) of its own cluster at the "
            "end of the exploration, and on a share of Omega(1/K) of every other.",
            statement=[
                "expert_small_start:inside-*",
                "expert_small_start:others-stay",
                "patch_initialisation:equal-beats-independent*",
            ],
            conclusion="statement",
            unchecked="The limit, which is one of sigma_0 to 0 and of n to infinity: seen is a fall, to 23 % at "
            "d = 800. It counts, with M = 1 and 8: the lemma's experts have no router, and M divides the samples "
            "alone. That on other clusters says little: an untrained expert errs in half of the cases, and 1/6 is "
            "asked for.",
            objection="The errors are those of finite n and d; tested: they fall with sigma_0, to a floor that n sets, "
            "and in the limit, by (11), none is left.",
        ),
        Item(
            name="Lemma 3",
            says="With independent weights over the patches every expert errs on a share of Omega(1/K) of every "
            "cluster at the end of the exploration.",
            unchecked="Open: with the proof's constant, 3/32, experts from equal weights err as much at any sigma_0 "
            "of the study, so that a run tells nothing. Its proof rests on (63), which fails. In the limit of sigma_0 "
            "to 0 half of the experts err on about a quarter of their own cluster or more, and the least of 400 on "
            "0.02, so that it may be true.",
        ),
        Item(
            name="Theorem 1",
            says="With M between Theta(K log K log log d) and Theta(sigma_0^-0.075): no training error (1), test "
            "error o(1) (2), every expert good on its cluster (3), and examples go to good experts (4).",
            unchecked="Its range of M is empty at every size that runs, with constants 1: sigma_0^-0.075 is 1.1 where "
            "K log K is 5.5. With M = 8 in its place more samples go to experts of their cluster at d = 200 than at "
            "50; by d alone that is open, and no level is reached (`expert_count_theorem`).",
            objection="At constants other than 1 the range may hold M = 8, and d = 200 is small: not tested.",
        ),
        Item(
            name="Figure 1",
            says="Test accuracy over M, five runs. P = 4: MLP experts are best at M = 16, CNN experts at M = 8, and "
            "more experts do not help; P = 8: MLP experts decline moderately, CNN experts do not.",
            experiment=[
                *(f"expert_count_map:{sentence}-*" for sentence in ("few", "peak", "no-gain", "decline", "last")),
                "expert_count_map:varies",
                "expert_count_map:patches-*",
            ],
            conclusion="experiment",
            also=["Results"],
            unchecked="The figure's own n, T, sigma_0 and activation, which are not printed.",
            objection="The paper's setting may be one that is in no reading, and ten runs leave most of them open; "
            "another activation, tanh, is tested at one n and sigma_0. Counted is what had its rule before the run.",
        ),
        Item(
            name="Figure 2",
            says="Dispatch entropy over M: a parallel trend, mirroring accuracy.",
            experiment=["expert_count_map:rise-*"],
            conclusion="experiment",
            also=["Equation 7"],
            objection="As for Figure 1; tested to the same extent.",
        ),
        Item(
            name="Theorem 2",
            says="Conjectured: from some number of experts B on, the test error stays above a constant.",
            unchecked="A conjecture, of which the paper announces a proof: no two M show a bound B for all larger "
            "ones. What is seen at M = 16 and 128 is in `expert_count_theorem:test-more-*`.",
        ),
        Item(
            name="Lemma 4",
            says="Sums of signs and amplitudes over a cluster are of the order sqrt(n).",
            unchecked="Concentration of independent sums; a step of the proof of Theorem 1.",
        ),
        Item(
            name="Lemma 5",
            says="Noise patches have norm O(1) and are nearly orthogonal to all signals.",
            unchecked="Concentration of Gaussian vectors; a step of the proof of Theorem 1.",
        ),
        Item(
            name="Definition 2",
            says="Which signal an expert starts closest to, and so the sets M_k of experts of a cluster.",
            unchecked="A definition: the studies of Lemmas 2 and 3 and of Theorem 1 use it.",
        ),
        Item(
            name="Lemma 6",
            says="At the start the best product of an expert with a signal leads the others by a factor, and every "
            "cluster has an expert.",
            statement=["expert_coverage:lead-4", "expert_coverage:product-4", "expert_coverage:covered-4"],
            conclusion="statement",
        ),
        Item(
            name="Lemma 7",
            says="At the start all products of weights with signals and noise are O(sigma_0).",
            unchecked="A Gaussian bound; a step of the proof of Theorem 1.",
        ),
        Item(
            name="Lemma 8",
            says="The router's gradients sum to zero over the experts.",
            unchecked="An identity of the softmax; it holds for every router that starts at zero.",
        ),
        Item(
            name="Lemma 9",
            says="Gradients are within O(n^(-1/2)) of their means.",
            unchecked="A step of the proof, in constants that the paper does not print.",
        ),
        Item(
            name="Lemma 10",
            says="In the exploration stage weights stay O(sigma_0^0.5) and the router stays near zero.",
            statement=["expert_proof_steps:l10-outputs", "expert_proof_steps:l10-scores"],
            conclusion="statement",
            unchecked="M inside Theorem 1's range, which the lemma does not name: the runs have M = 8.",
        ),
        Item(
            name="Lemma 11",
            says="In the exploration stage every expert is picked with probability 1/M, up to O(sigma_0^1.5).",
            statement=["expert_proof_steps:l11-uneven"],
            conclusion="statement",
            unchecked="As for Lemma 10.",
        ),
        Item(
            name="Lemma 12",
            says="The experts' gradients along signals, centres and noise.",
            unchecked="The parts along centres and noise are bounds in O~(sigma_0^2.5), which need more samples than "
            "sigma_0^-5 to be told from sampling errors. The part along the signal has the same remainder, ten times "
            "its leading term at sigma_0 = 0.1; the ratio of the gradients to that term is in the tables.",
        ),
        Item(
            name="Lemma 13",
            says="In the exploration stage an expert grows along its own signal alone.",
            statement=["expert_proof_steps:l13-other"],
            conclusion="statement",
        ),
        Item(
            name="Lemma 14",
            says="How long an expert takes to align with its signal; from it the upper end of the range of M.",
            unchecked="The time itself: it is counted to a gradient of M^2 sigma_0^1.8, which with one expert is there "
            "from the start, and with the M of the theorem, K log K or more, is not reached at sizes of the studies.",
            objection="A share of (1 - o(1)) / sqrt(P) would do; tested: the proof gives it, and the range of M stays. "
            "Meant may be the sum over patches, which is not excluded.",
        ),
        Item(
            name="Lemma 15",
            says="The state of the experts at the end of the exploration stage.",
            objection="As for Lemma 14; tested: with eta / sqrt(P) it follows where patches stay equal.",
        ),
        Item(
            name="Proposition 3",
            says="In the second stage experts attend to the label signal only, and the router to the centres only "
            "(eqs 15 to 17).",
            unchecked="It takes in M = O~(sigma_0^-0.075), and with constants 1 no run lies there. With M = 8 (15) and "
            "(16) are of the orders that they state (`expert_proof_steps:p3-*`).",
            objection="At constants other than 1 the range may hold M = 8: not tested.",
        ),
        Item(
            name="Lemma 16",
            says="In the second stage outputs stay O(JP), and the gate of the chosen expert Omega(1/M).",
            unchecked="It follows from Lemma 26, bounded weights and patches: an inequality that holds in every run.",
        ),
        Item(
            name="Lemma 17",
            says="Inputs without their noise change the gate by O(delta) and the routing by O(M^2 delta).",
            unchecked="It follows from Lemma 1, which is checked.",
        ),
        Item(
            name="Lemma 18",
            says="In the second stage an expert grows along its own signal like eta t, and along nothing else.",
            unchecked="The growth itself, and the products with other signals: they rest on Lemma 15, which counts "
            "from a time that is not reached at these sizes with 8 experts or 16; their means are in the tables.",
        ),
        Item(
            name="Lemma 19",
            says="Outputs on inputs without their noise differ by O(J P sigma_0^3).",
            unchecked="It is (15) of Proposition 3, with J P written out.",
        ),
        Item(
            name="Lemma 20",
            says="The router's scores on inputs without their noise differ by O(sigma_0^2.5 M^2 P^2 K^2).",
            unchecked="It supposes Proposition 3; with M = 8 the order is as stated (`expert_proof_steps:l20-router`).",
        ),
        Item(
            name="Lemma 21",
            says="Experts of one cluster are routed to alike, up to the spread of their scores.",
            statement=["expert_proof_steps:l21-gates"],
            conclusion="statement",
            unchecked="The line on probabilities follows from Lemma 1, which is checked; the line on gates is checked.",
        ),
        Item(
            name="Lemma 22",
            says="The spread of the scores within one cluster stays O(sigma_0^1.5).",
            unchecked="It supposes Proposition 3; with M = 8 the order is as stated (`expert_proof_steps:l22-uneven`).",
        ),
        Item(
            name="Lemma 23",
            says="The router turns away from experts of other clusters at a rate of Omega(eta^3 t^3 / (K M^3)) - "
            "O~(sigma_0^1.5).",
            unchecked="The lemma itself: with constants 1 what it subtracts is larger than the rate at any sigma_0 "
            "that can be run (0.03 against 5e-4 at 0.1), so that it fixes no sign; the mean is in the tables.",
        ),
        Item(
            name="Lemma 24",
            says="At the end the router leads by Omega(1 / (P K M^9)) for the experts of a cluster.",
            unchecked="It rests on Proposition 3, and the size is 1e-10 at M = 8; with M = 16 the sign is open "
            "(`expert_proof_steps:l24-leads`).",
        ),
        Item(
            name="Equation 63",
            says="In the proof of Lemma 3: from independent starts every patch grows along its own signal like eta t.",
            objection="The lemma may hold all the same; tested, and open.",
        ),
        Item(
            name="Lemma 25",
            says="The probabilities of two experts differ by at most M^2 times the difference of their scores (Chen "
            "et al., 2022).",
            unchecked="It is Lemma 1 for scores with two entries exchanged; Lemma 1 is checked.",
        ),
        Item(
            name="Lemma 26",
            says="An expert whose noisy score trails by one is never picked (Chen et al., 2022).",
            unchecked="It is immediate for noise on [0, 1]; the study of Lemma 1 computes the same probabilities "
            "exactly.",
        ),
        Item(
            name="Lemma 27",
            says="A sequence that starts a little ahead ends far ahead (Allen-Zhu and Li, 2020).",
            unchecked="A statement on sequences, quoted; nothing random is in it.",
        ),
    ],
)
