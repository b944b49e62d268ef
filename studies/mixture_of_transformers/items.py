"""What the paper contains, in its own order; a claim belongs to the item that its source names first."""

from moestat.study.contents import Item, Paper
from moestat.study.spec import Finding

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
                "mot_assumed_regime:pure*",
                "mot_router_rate:routed*",
                "mot_assumed_regime:equal*",
                "mot_router_rate:equal-most",
                "mot_open_constants:gap-scaling-*many",
            ],
            also=["Section 5.1", "Appendix D"],
            figures=["mot_assumed_regime", "mot_router_rate", "mot_stage_scaling"],
        ),
        Item(
            name="Proposition 2",
            says="From T2 = T1 + O(eta_a^-1 sigma_0^-0.5 M / N) on, the attention of an expert of class n to v_n is "
            "Theta(1), and every other attention O(sigma_0); samples with both signs of a distractor v_n' bring the "
            "attention's expected gradient along it down to O(sigma_0) (section 5.1).",
            statement=["mot_attention:others-order", "mot_attention:joint-long", "mot_open_constants:joint-*"],
            also=["Appendix E"],
            figures=["mot_attention", "mot_attention:curves"],
        ),
        Item(
            name="Theorem 1",
            says="From T2 + O(log 1/eps) on the expected loss is at most eps; weights are Omega(1) along an expert's "
            "own class and O(sigma_0) along the others (11).",
            statement=[
                "mot_stage3_rate:theorem1-ideal-*",
                "mot_assumed_regime:weights*",
                "mot_open_constants:weights-*",
            ],
            objection="Stage III may be meant with the steps of stage I; tested: with these log(1/eps) is seen.",
            also=["Equation 11", "Appendix F"],
            figures=["mot_stage3_rate", "mot_stage3_rate:time", "mot_assumed_regime:stages"],
            findings=[
                Finding(
                    when={
                        "mot_stage3_rate:normalised-ideal": "supported",
                        "mot_stage3_rate:normalised-time": "supported",
                        "mot_stage3_rate:normalised-trained": "supported",
                    },
                    text="With the steps of eq. (10) and a rate that does not depend on eps the loss cannot fall "
                    "geometrically at any size, by argument: they move the weights by no more than a multiple of the "
                    "loss. With normalised gradient descent in stage III, in place of plain gradient descent, the "
                    "loss falls geometrically and log(1/eps) steps are enough.",
                ),
            ],
        ),
        Item(
            name="Section 5.2",
            says="The benefit: log(1/eps) steps against the 1/eps of a multi-head transformer without routing (Yang "
            "et al., 2025).",
            statement=["mot_stage3_rate:heads-law-ideal"],
            figures=["mot_stage3_tuned", "mot_landscape", "mot_landscape:convexity"],
        ),
        Item(
            name="Lemma 1",
            says="Without attention the expected test error stays above Theta(eps^(1 - L sigma_xi)).",
            statement=["mot_noise_floor:floor-exponent"],
            also=["Appendix G"],
            figures=["mot_noise_floor", "mot_noise_floor:error", "mot_noise_wide"],
        ),
        Item(
            name="Figure 2",
            says="Error over the epochs, CIFAR-10 and CIFAR-100: MoT is slower in stage I, overtakes the multi-head "
            "transformer in stage II, and the MoE without attention stalls.",
            experiment=["mot_images:cifar10-[!c]*", "mot_images:cifar100-12-*", "mot_images:cifar100-16-*"],
            also=["Section 6"],
            unchecked="The figure itself: CIFAR is not here, and the claims that were judged are ours, on digits and "
            "clothes; with the data in place the presets cifar10 and figure2b-cifar100 of mot_images judge it.",
            figures=["mot_images"],
        ),
        Item(
            name="Figure 3",
            says="Where the classes go: two of five experts are used for CIFAR-10, eight of twelve for CIFAR-100.",
            experiment=["mot_images:fig3-many-experts", "mot_images:fig3-two-of-five"],
            unchecked="CIFAR is not here; with the data in place the presets cifar10 and cifar100 of mot_images "
            "judge it, by the last epoch.",
            figures=["mot_images:routing"],
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
            unchecked="CIFAR-100 is not here; with the data in place the presets figure4-cifar100 and "
            "figure4b-cifar100 of mot_images judge M = 8 and 12.",
            also=["Section B.3"],
        ),
        Item(
            name="Figure 5",
            says="CIFAR-100: three stages against joint training.",
            experiment=["mot_images:cifar100-stages-help-*"],
            unchecked="CIFAR-100 is not here; with the data in place the preset figure5-cifar100 of mot_images "
            "judges it.",
        ),
        Item(
            name="Figure 6",
            says="Where the classes go after three stages and after joint training.",
            experiment=["mot_images:cifar100-specialisation"],
            unchecked="As for Figure 5; the figure is of epoch 400, the preset of the last.",
        ),
        Item(
            name="Figure 7",
            says="The original CIFAR-10: the same picture.",
            experiment=["mot_images:cifar10-clean"],
            unchecked="CIFAR-10 is not here; with the data in place the preset cifar10 of mot_images judges it.",
            also=["Section B.2"],
        ),
        Item(
            name="Figure 8",
            says="The original CIFAR-100: the same picture.",
            experiment=["mot_images:fig8-clean"],
            unchecked="CIFAR-100 is not here; with the data in place the preset figure8 of mot_images trains on its "
            "original images, in 100 classes.",
        ),
        Item(
            name="Figure 9",
            says="Tiny-ImageNet: the same picture.",
            unchecked="Tiny-ImageNet is not here, and 100 000 images of 64 x 64 are beyond the machines of this "
            "project.",
        ),
        Item(
            name="Figure 10",
            says="Amazon reviews: MoT with two and three experts against the multi-head transformer.",
            unchecked="The Amazon reviews are not here: the claims are ours, on reviews of a small grammar.",
            figures=["mot_text"],
        ),
        Item(
            name="Figure 11",
            says="Yahoo answers: MoT with four and eight experts against the multi-head transformer.",
            unchecked="The Yahoo answers, of ten classes, are not here: the reviews of a small grammar in mot_text "
            "are good or bad.",
        ),
        Item(
            name="Figure 12",
            says="YouTube comments: MoT with two and three experts (caption; three and five in the text) against the "
            "multi-head transformer.",
            unchecked="The YouTube comments are not here: the claims are ours, on the scores of reviews of a small "
            "grammar.",
            figures=["mot_text:routing"],
        ),
        Item(
            name="Figure 13",
            says="Longer stages bring marginal gains once they are long enough.",
            unchecked="The figure is of CIFAR-100, which is not here.",
        ),
        Item(
            name="Lemma 2",
            says="The gradient of the router loss.",
            unchecked="A formula: the simulations' gradients are tested against finite differences.",
        ),
        Item(
            name="Corollary 1",
            says="The router's weights sum to zero at all times.",
            statement=["mot_gradients:corollary1"],
        ),
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
            figures=["mot_gradients"],
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
            statement=["mot_initialisation:lemma7"],
            figures=["mot_initialisation:gap"],
        ),
        Item(
            name="Lemma 8",
            says="With M of the order N log(N / delta) every class has an expert by initialisation alone, with "
            "probability 1 - delta.",
            statement=["mot_initialisation:lemma8*"],
            figures=["mot_initialisation"],
        ),
        Item(
            name="Lemma 9",
            says="Noise with density at most kappa smooths the routing: ||p - p'|| <= (kappa M)^2 ||h - h'||_inf.",
            statement=["mot_router_smoothness:lemma9-*"],
            figures=["mot_router_smoothness"],
        ),
        Item(
            name="Lemma 10",
            says="The data have K = Theta(N^2) kinds of samples.",
            unchecked="A count, 4 N (N - 1), that holds by the definition of the data.",
        ),
        Item(
            name="Lemma 11",
            says="In stage I outputs are of the order sigma_0^0.5.",
            statement=["mot_gradients:l11-output*"],
        ),
        Item(
            name="Lemma 12",
            says="In stage I the router's gradients along class signals, classification signals and noise.",
            statement=["mot_gradients:l12-[!d]*-early"],
            unchecked="The gradient along noise tokens, O(sigma_xi / M^2): the expectation over fresh noise is 0.",
        ),
        Item(
            name="Lemma 13",
            says="In stage I the expected gradients of an expert along its own class and along another differ by O(N "
            "sigma_0^0.5 / M) (15), that along c_n is O(N sigma_0 / M) (16), and that along a noise token O(sigma_xi) "
            "(17).",
            statement=["mot_gradients:l13-*-early"],
            unchecked="(17), the gradient along noise tokens: the expectation over fresh noise is 0, and along the "
            "tokens of a sample it is at most a constant times their length.",
        ),
        Item(
            name="Lemma 14",
            says="In stage II the gradient of the attention is Omega(N sigma_0^0.5 / M) for mu = nu = v_n and "
            "O(sigma_0) otherwise.",
            statement=["mot_gradients:l14-own*", "mot_gradients:l14-classes", "mot_gradients:l14-others*"],
        ),
        Item(
            name="Lemma 15",
            says="The logistic loss is O(exp(-z)) for large z.",
            unchecked="Calculus.",
        ),
        Item(
            name="Lemma 16",
            says="In stage III an expert's gradient along its own class is O(1 / (1 + sigma_0^0.5)).",
            unchecked="An upper bound by a constant, which holds for every gradient of the logistic loss; that the "
            "proof uses it as a lower bound is what the claims on Theorem 1 are about.",
        ),
    ],
)
