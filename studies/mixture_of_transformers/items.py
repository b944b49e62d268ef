"""What the paper contains, in its own order; a claim belongs to the item that its source names first."""

from moestat.study.contents import Item, Paper
from moestat.study.spec import Finding


def not_run(study: str, preset: str, data: str = "FOLDER") -> str:
    """Return what is said of a figure whose data are not here."""
    return f"Not run on the paper's data. On a user's: moestat {study} --preset {preset} --set data={data}."


paper = Paper(
    name="mixture-of-transformers",
    key="MT",
    title="Mixture-of-transformers learn faster: a theoretical study on classification problems",
    problem="Experiments: vision transformers of 3 or 4 blocks on CIFAR-10, CIFAR-100 and Tiny-ImageNet, 300 to 600 "
    "epochs (section 6, appendix B.2); Amazon, Yahoo and YouTube texts (appendix B.3). Theory: one-layer transformers "
    "on the data of Definition 1, with constants that the theorems do not print.",
    items=[
        Item(
            name="Section 1",
            says="Contributions: experts specialise in stage I and attention aligns in stage II; on simple data one "
            "expert suffices, on more complex data each transformer specialises.",
            unchecked="A summary of what Propositions 1 and 2, Theorem 1 and Figures 2 and 3 say, which are judged.",
        ),
        Item(
            name="Definition 1",
            says="The data: a token c_n, a token y v_n, a token eps v_n', and L - 3 tokens of noise.",
            unchecked="A definition: the studies of the theory draw from it.",
        ),
        Item(
            name="Figure 1",
            says="The three models: MoT, multi-head transformer without routing, MoE without attention.",
            unchecked="A picture of models: the studies train them.",
            also=["Equation 1"],
        ),
        Item(
            name="Section 4.1",
            says="The three stages and their losses.",
            unchecked="An algorithm: the studies train by it, and tests hold them to its formulas written as loops.",
            also=["Algorithm 1"],
        ),
        Item(
            name="Definition 2",
            says="The class that an expert is most specialised in, and the sets M_n of experts of a class.",
            unchecked="A definition: the studies of Propositions 1 and 2 use it.",
        ),
        Item(
            name="Proposition 1",
            says="From T1 = O(eta^-1 sigma_0^-0.5 M) on, an expert's weight leads along its own class by "
            "Theta(sigma_0^0.5), and the router sends every class to its own experts, with equal probability: the "
            "expected step of an expert adds to its gap (appendix D), and the router's expected gradient along v_n "
            "shrinks to O(sigma_0) (section 5.1).",
            statement=[
                "mot_assumed_regime:pure",
                "mot_assumed_regime:pure-proof",
                "mot_assumed_regime:equal",
                "mot_router_rate:routed-most",
                "mot_router_rate:equal-most",
                "mot_open_constants:gap-scaling-*many",
            ],
            proof=["mot_gradients:gap-step", "mot_gradients:l12-dominated"],
            objection="Constants are open; tested: along stage I at most 0.4 are routed by class, with a router 10^9 "
            "times as fast and 22 400 samples some 0.95.",
            also=["Section 5.1", "Appendix D"],
        ),
        Item(
            name="Proposition 2",
            says="From T2 = T1 + O(eta_a^-1 sigma_0^-0.5 M / N) on, the attention of an expert of class n to v_n is "
            "Theta(1), and every other attention O(sigma_0); samples with both signs of a distractor v_n' bring the "
            "attention's expected gradient along it down to O(sigma_0) (section 5.1).",
            statement=["mot_open_constants:joint-many", "mot_open_constants:joint-proof-many"],
            proof=["mot_attention:others-order", "mot_attention:joint-long"],
            objection="The proof grants Prop. 1, and L is open; tested: then both halves hold at one step, with L = 5 "
            "at sigma_0 = 0.3, and with L = 2 / sigma_0 down to 0.05. Its sum over samples may be meant; tested, by "
            "argument: then the time of stage II holds, too.",
            also=["Appendix E"],
        ),
        Item(
            name="Theorem 1",
            says="From T2 + O(log 1/eps) on the expected loss is at most eps; weights are Omega(1) along an expert's "
            "own class and O(sigma_0) along the others (11).",
            statement=[
                "mot_weights_given:class-*",
                "mot_open_constants:weights-many",
                "mot_open_constants:weights-proof-many",
            ],
            proof=["mot_stage3_tuned:*-test-eps", "mot_noise_wide:no-floor-trained"],
            objection="Stage III may mean the steps of stage I, and (11) grants Props 1 and 2; tested: so log(1/eps) "
            "suits the training loss, Omega(1) holds, O(sigma_0) in expectation alone.",
            also=["Equation 11", "Appendix F"],
            findings=[
                Finding(
                    when={
                        "mot_weights_given:class-*": "supported",
                        "mot_weights_given:other-order-*": "not supported",
                    },
                    text="Where the propositions are granted, the weights of other classes (11) do not fall with "
                    "sigma_0 in 2240 samples. That is no verdict on expected gradients, which Theorem 1 is about: with "
                    "the given attention they leave these weights at 0, for v_n' and -v_n' are alike.",
                ),
                Finding(
                    when={
                        "mot_stage3_rate:normalised-ideal": "supported",
                        "mot_stage3_rate:normalised-time": "supported",
                        "mot_stage3_rate:normalised-trained": "supported",
                    },
                    text="With the normalised steps of eq. (8) in stage III log(1/eps) steps are enough for the "
                    "training loss: with routing held, an expert's samples separated with margins of g, and eta R^2 "
                    "exp(eta R) <= g, they are 3.2 log(1/eps) / (eta g) at most, by argument; and it is seen, from the "
                    "ideal state and after training. The expected loss has its floor under any steps.",
                ),
            ],
        ),
        Item(
            name="Section 5.2",
            says="The benefit: log(1/eps) steps against the 1/eps of a multi-head transformer without routing (Yang "
            "et al., 2025), as specialised experts have fewer conflicts and strongly convex losses.",
            statement=[
                "mot_stage3_rate:heads-law-ideal",
                "mot_stage3_tuned:*-heads-test",
                "mot_noise_floor:loss-gain",
            ],
            # of the weights that the next stage trains, and of W_KQ, which stage II trains, at its end, too
            proof=[
                "mot_landscape:promised-fewer-than-single",
                "mot_landscape:ideal-fewer-than-single",
                "mot_landscape:ideal-w-fewer-than-single",
            ],
            objection="A constant is a benefit, too; tested, rates tuned: a lead if Prop. 1 is granted, else none.",
        ),
        Item(
            name="Lemma 1",
            says="Without attention the expected test error stays above Theta(eps^(1 - L sigma_xi)).",
            statement=["mot_noise_floor:floor-exponent"],
            objection="Small noise is meant, L sigma_xi < 1, as the proof's factor 1 - L sigma_xi shows; tested: not "
            "shown at one half, the one case that was run.",
            also=["Appendix G"],
        ),
        Item(
            name="Figure 2",
            says="Error over the epochs, CIFAR-10 and CIFAR-100: MoT is slower in stage I, overtakes the multi-head "
            "transformer in stage II, and the MoE without attention stalls.",
            experiment=[
                "mot_images:cifar10-better",
                "mot_images:cifar100-12-better",
                "mot_images:cifar100-12-attention",
            ],
            unchecked=not_run("mot_images", "figure2b-cifar100") + " And cifar10.",
            also=["Section 6"],
        ),
        Item(
            name="Figure 3",
            says="Where the classes go: two of five experts are used for CIFAR-10, eight of twelve for CIFAR-100.",
            experiment=["mot_images:fig3-*"],
            unchecked=not_run("mot_images", "cifar100") + " And cifar10; by the last epoch.",
        ),
        Item(
            name="Table 1",
            says="Settings of the training for each data set.",
            unchecked="Settings, which the presets of the paper's size take over; nothing is stated.",
        ),
        Item(
            name="Figure 4",
            says="CIFAR-100: MoT against an MoE with shared attention and the multi-head transformer, M = 8 and 12.",
            experiment=["mot_images:cifar100-shared-*"],
            unchecked=not_run("mot_images", "figure4-cifar100") + " And figure4b-cifar100.",
            also=["Section B.3"],
        ),
        Item(
            name="Figure 5",
            says="CIFAR-100: three stages against joint training.",
            experiment=["mot_images:cifar100-stages-help", "mot_images:cifar100-joint-is-one"],
            unchecked=not_run("mot_images", "figure5-cifar100"),
        ),
        Item(
            name="Figure 6",
            says="Where the classes go after three stages and after joint training.",
            experiment=["mot_images:cifar100-specialisation"],
            unchecked=not_run("mot_images", "figure5-cifar100")
            + " The figure is of epoch 400, the preset of the last.",
        ),
        Item(
            name="Figure 7",
            says="The original CIFAR-10: the same picture.",
            experiment=["mot_images:cifar10-clean"],
            unchecked=not_run("mot_images", "cifar10"),
            also=["Section B.2"],
        ),
        Item(
            name="Figure 8",
            says="The original CIFAR-100: the same picture.",
            experiment=["mot_images:fig8-clean"],
            unchecked=not_run("mot_images", "figure8"),
        ),
        Item(
            name="Figure 9",
            says="Tiny-ImageNet: the same picture.",
            experiment=["mot_images:fig9-better"],
            unchecked=not_run("mot_images", "figure9", "FILE.npz"),
        ),
        Item(
            name="Figure 10",
            says="Amazon reviews: MoT with two and three experts against the multi-head transformer.",
            unchecked=not_run("mot_text", "experts-90", "FILE.csv"),
        ),
        Item(
            name="Figure 11",
            says="Yahoo answers: MoT with four and eight experts against the multi-head transformer.",
            unchecked=not_run("mot_text", "experts-90", "FILE.csv"),
        ),
        Item(
            name="Figure 12",
            says="YouTube comments: MoT with two and three experts (caption; three and five in the text) against the "
            "multi-head transformer.",
            unchecked=not_run("mot_text", "figure12-90", "FILE.csv"),
        ),
        Item(
            name="Figure 13",
            says="Longer stages bring marginal gains once they are long enough.",
            unchecked=not_run("mot_images", "figure5-cifar100") + " With --set stage_one=50, and so on.",
        ),
        Item(
            name="Lemma 2",
            says="The gradient of the router loss.",
            unchecked="A formula: the simulations' gradients are tested against finite differences.",
        ),
        Item(name="Corollary 1", says="The router's weights sum to zero at all times."),
        Item(
            name="Lemma 3",
            says="The gradient of the expert loss with respect to W.",
            unchecked="A formula: the simulations' gradients are tested against finite differences.",
        ),
        Item(
            name="Lemma 4",
            says="The gradient of the expert loss with respect to W_KQ.",
            unchecked="A formula: the simulations' gradients are tested against finite differences.",
        ),
        Item(
            name="Lemma 5",
            says="At the start products of weights with signals are O(sigma_0).",
            statement=["mot_gradients:l5-*"],
        ),
        Item(
            name="Lemma 6",
            says="At the start attention is uniform up to O(sigma_0), and where scores differ by Omega(sigma_0), "
            "attentions do.",
            statement=["mot_gradients:l6-*"],
        ),
        Item(
            name="Lemma 7",
            says="With M of the order N log(N / delta) the best product of an expert leads the others by the factor "
            "1 - delta / (3 M N^2), with probability 1 - delta.",
        ),
        Item(
            name="Lemma 8",
            says="With M of the order N log(N / delta) every class has an expert by initialisation alone, with "
            "probability 1 - delta.",
        ),
        Item(
            name="Lemma 9",
            says="Noise with density at most kappa smooths the routing: ||p - p'|| <= (kappa M)^2 ||h - h'||_inf.",
            objection="kappa M^2 may be meant; tested, by argument: it holds.",
        ),
        Item(
            name="Lemma 10",
            says="The data have K = Theta(N^2) kinds of samples.",
            unchecked="A count, 4 N (N - 1), that holds by the definition of the data.",
        ),
        Item(
            name="Lemma 11",
            says="In stage I outputs are of the order sigma_0^0.5.",
            statement=["mot_gradients:l11-output-experts-small"],
            objection="The proof has T1 = O(sigma_0^0.5), which is meant over eta; tested: there it holds, as |W - "
            "W_0| <= eta T1 says at once, but Prop. 1 has an M in T1.",
        ),
        Item(
            name="Lemma 12",
            says="In stage I the router's expected gradients are O(sigma_0^0.5 / M^2) along class signals, "
            "O(sigma_0^0.5 / (N^2 M^2)) along classification signals, and O(sigma_xi / M^2) along noise.",
            objection="sigma_0 may fall, or d grow, with N; tested, by argument: the bound holds from d of the order "
            "sigma_0 N^2 on, and v_n's gradient is still as large as c_n's. With E over W_0, too, all are 0, c_n's as "
            "well: experts are alike then, and their gradients sum to 0 (Corollary 1).",
        ),
        Item(
            name="Lemma 13",
            says="In stage I the expected gradients of an expert along its own class and along another differ by O(N "
            "sigma_0^0.5 / M) (15), that along c_n is O(N sigma_0 / M) (16), and that along a noise token O(sigma_xi) "
            "(17).",
            statement=["mot_gradients:l13-difference-sigma-early", "mot_gradients:l13-centre-early"],
            unchecked="(17), the gradient along noise tokens: the expectation over fresh noise is 0, and along the "
            "tokens of a sample it is at most a constant times their length.",
        ),
        Item(
            name="Lemma 14",
            says="In stage II the gradient of the attention is Omega(N sigma_0^0.5 / M) for mu = nu = v_n and "
            "O(sigma_0) otherwise.",
            statement=["mot_gradients:l14-own", "mot_gradients:l14-others-small"],
            objection="The proof sums over the K samples; tested, by argument: with such a loss the bound holds. "
            "Both proofs, the paper's and ours, grant Lemma 11, which is not shown at the T1 of Prop. 1.",
        ),
        Item(
            name="Lemma 15",
            says="The logistic loss is O(exp(-z)) for large z.",
            unchecked="Calculus.",
        ),
        Item(
            name="Lemma 16",
            says="In stage III an expert's gradient along its own class is O(1 / (1 + sigma_0^0.5)).",
            unchecked="An upper bound by a constant, which holds for every gradient of the logistic loss; the proof of "
            "Theorem 1 uses it as a lower bound.",
        ),
    ],
)
