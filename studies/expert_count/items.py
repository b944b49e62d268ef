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
            figures=["router_smoothness"],
        ),
        Item(
            name="Lemma 2",
            says="With weights that are equal over the patches every expert errs on o(1) of its own cluster at the "
            "end of the exploration, and on a share of Omega(1/K) of every other.",
            statement=["expert_small_start:inside-*", "expert_small_start:others-stay"],
            figures=["expert_small_start", "patch_initialisation"],
        ),
        Item(
            name="Lemma 3",
            says="With independent weights over the patches every expert errs on a share of Omega(1/K) of every "
            "cluster at the end of the exploration.",
            unchecked="The bound alone, which is open: with the proof's constant, 3/32, experts from equal weights "
            "pass it as well at any sigma_0 of the study; that they do better than those from independent ones is "
            "checked. (63) of its proof, that every patch grows like eta t, fails, by argument: patches share the "
            "norm of eq. (5), and only the leading one reaches sigma_0^0.5.",
        ),
        Item(
            name="Theorem 1",
            says="With M between Theta(K log K log log d) and Theta(sigma_0^-0.075): no training error (1), test "
            "error o(1) (2), every expert good on its cluster (3), and examples go to good experts (4).",
            statement=[
                "expert_count_theorem:training-trend",
                "expert_count_theorem:experts-trend",
                "expert_count_theorem:router-trend",
            ],
            unchecked="The theorem in its range of M, whose upper end, sigma_0^-0.075, is 1.1 with the constant 1 at "
            "any size that runs: M = 8 stands for it. The constants of the range, and the limits d to infinity and "
            "sigma_0 to 0, are not reached: d is 50 and 200. What o(1) is judged by at one d is ours; the paper's is "
            "what happens from one d to the other.",
            figures=["expert_count_theorem:choice", "expert_count_theorem"],
        ),
        Item(
            name="Figure 1",
            says="Test accuracy over M, five runs. P = 4: MLP experts are best at M = 16, CNN experts at M = 8, and "
            "more experts do not help; P = 8: MLP experts decline moderately, CNN experts do not.",
            experiment=[
                "expert_count_*:few-*",
                "expert_count_*:peak-*",
                "expert_count_*:plateau-*",
                "expert_count_printed:decline-*",
                "expert_count_printed:patches-long-*",
            ],
            also=["Results"],
            figures=[
                "expert_count_printed",
                "expert_count_printed:accuracy-over-steps",
                "expert_count_samples",
                "expert_count_start",
            ],
        ),
        Item(
            name="Figure 2",
            says="Dispatch entropy over M: a parallel trend, mirroring accuracy.",
            experiment=["expert_count_*:mirror-*"],
            also=["Equation 7"],
            figures=["expert_count"],
        ),
        Item(
            name="Theorem 2",
            says="Conjectured: from some number of experts B on, the test error stays above a constant.",
            unchecked="The paper announces a proof; where the error is seen to rise, a bound B is not shown to exist "
            "for all larger M.",
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
            statement=["expert_coverage:lead-*", "expert_coverage:product-*", "expert_coverage:covered-*"],
            figures=["expert_coverage"],
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
            figures=["expert_proof_steps"],
        ),
        Item(
            name="Lemma 11",
            says="In the exploration stage every expert is picked with probability 1/M, up to O(sigma_0^1.5).",
            statement=["expert_proof_steps:l11-uneven"],
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
        ),
        Item(
            name="Lemma 14",
            says="How long an expert takes to align with its signal; from it the upper end of the range of M.",
            statement=["expert_proof_steps:l14-aligned-one"],
            unchecked="The time itself is counted to a gradient of M^2 sigma_0^1.8, which no gradient reaches with "
            "two experts or more at sizes that can be run, and with one from the start; what holds from that time on "
            "is judged with one expert. With patches that share the norm its inequality cannot hold for sigma_0 below "
            "(1 - P^(-1/2))^5, 1/32 at P = 4.",
        ),
        Item(
            name="Lemma 15",
            says="The state of the experts at the end of the exploration stage.",
            statement=["expert_proof_steps:l15-level-one"],
        ),
        Item(
            name="Proposition 3",
            says="In the second stage experts attend to the label signal only, and the router to the centres only "
            "(eqs 15 to 17).",
            statement=["expert_proof_steps:p3-*"],
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
            "from a time that is not reached with more than one expert; their means are in the tables.",
        ),
        Item(
            name="Lemma 19",
            says="Outputs on inputs without their noise differ by O(J P sigma_0^3).",
            unchecked="It is (15) of Proposition 3, which is checked, with J P written out.",
        ),
        Item(
            name="Lemma 20",
            says="The router's scores on inputs without their noise differ by O(sigma_0^2.5 M^2 P^2 K^2).",
            statement=["expert_proof_steps:l20-router"],
        ),
        Item(
            name="Lemma 21",
            says="Experts of one cluster are routed to alike, up to the spread of their scores.",
            statement=["expert_proof_steps:l21-gates"],
            unchecked="The line on probabilities follows from Lemma 1, which is checked; the line on gates is checked.",
        ),
        Item(
            name="Lemma 22",
            says="The spread of the scores within one cluster stays O(sigma_0^1.5).",
            statement=["expert_proof_steps:l22-uneven"],
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
            statement=["expert_proof_steps:l24-leads"],
            unchecked="The size, 1 / (P K M^9) or 1e-10 at M = 8; the sign is checked.",
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
