"""What is proved of the paper's items: by a few lines from its own premises (mixture-of-transformers)."""

from moestat.study.arguments import Argument, Premise

IDENTITIES = "studies.mixture_of_transformers.parts.identities:"
STEPS = Premise(words="W_{t+1} = W_t - eta grad L^e(X)", where="eq. (10)")
RATE = Premise(words="eta > 0 is the learning rate of transformers", where="below eq. (8)")
LOSS = Premise(
    words="l(z) = log(1 + exp(-z)) is the logistic loss; L^e(X) = (1/K) sum_k l(y^(k) f(X^(k); ...))",
    where="eqs (5), (7)",
)
LINEAR = Premise(words="f(X; ...) = sum_l W' X softmax(X' W_KQ X_l)", where="eq. (4)")
BOUNDED = Premise(words="softmax(X' W_KQ X_l) <= 1 and X = O(1) always hold", where="appendix D")
ROUTER = Premise(
    words="grad_theta(i) L^r = (1/K) sum_k y^(k) f l' pi_mk (1{i = m_k} - pi_i) sum_l X_l^(k)", where="eq. (12)"
)
EXPERTS = Premise(words="P(m_k = i) = P(m_k = j) = Theta(1/M), pi_mk = Theta(1/M)", where="proof of Lemma 12")
ATTENTION = Premise(
    words="grad_W_KQ(i) L^e = (1/K) sum_{k: m_k = i} y^(k) l' sum_l X^(k) [diag(p_l) - p_l p_l'] X^(k)' W X_l^(k)'",
    where="eq. (14)",
)
START = Premise(words="W_0^(m) ~ N(0, sigma_0^2 / d I_d)", where="algorithm 1")
ORTHOGONAL = Premise(words="the union C u V forms an orthogonal set", where="section 3.1")
LIMIT = Premise(words="1 - L sigma_xi; sigma_xi = O(1) is an absolute constant", where="Lemma 1, Definition 1")

SLOW = [
    "f is linear in W, and a sample enters it by one vector, the sum of its weighted tokens, of norm at most R.",
    "|l'(z)| = 1 - e^(-l(z)) <= l(z), so a step moves the experts' weights by at most eta R L_t, and every margin by "
    "at most eta R^2 L_t; with expected gradients, as in the proof, by eta R^2 E[L_t].",
    "If sum L_t = S is finite, as for L_t <= C q^t, q < 1, or C t^(-a), a > 1, then |W_t| <= B = max |W_T2| + eta R S.",
    "Then every margin is at most R B, whatever the routing, and L_t >= log(1 + e^(-R B)) > 0: a contradiction.",
    "Noise without a bound changes nothing of that for a geometric loss: E[|l'| |x|] <= (E[L] E|x|^2)^0.5, as "
    "|l'|^2 <= l, and the roots of a geometric loss have a finite sum.",
    "With routing held L is convex in W: L_{t+1} >= L_t - eta R^2 L_t^2, so that 1/L_t grows by eta R^2 at most, up to "
    "a factor that tends to 1, and eps takes 1/(eta R^2 eps) steps.",
]
GROWTH = [
    "Of tokens c_n, y v_n, eps v_n' the query v_n alone has X_l' v_n not 0, and the key v_n alone v_n' X not 0: a "
    "sample adds |l'| p (1 - p) |W' X_h - W' X_g| at most, with some h and g.",
    "W' X = O(sigma_0^0.5) all along stage II, for W is frozen: so a sample adds at most C sigma_0^0.5 / 2, noise "
    "tokens a constant factor.",
    "The loss (7) is a mean: expert i has the share P(m_k = i), and these sum to 1 over the experts.",
    "So the growth of v_n' W_KQ v_n, each expert's of its own class, has a mean over experts of at most "
    "C sigma_0^0.5 / (2 M) a step, whatever N is.",
]
NOISE = Premise(
    words="the remaining L - 3 token embeddings are Gaussian noise vectors, N(0, sigma_xi^2 I_d / d)",
    where="Definition 1",
)
FAR = [
    "By eq. (4) f = W' z, z = sum_h a_h X_h with weights a_h > 0 whose sum is L. Let |W_KQ| <= kappa; i be the expert; "
    "and the noise tokens s w + e_j, s w their mean, |w| = 1, |e_j| <= 1, s large: w is uniform, given s and all e_j.",
    "At the query eps v_n' their scores are s w' W_KQ eps v_n' + O(kappa), for one of the two eps, which i and w "
    "settle, not below O(kappa): so a share q of that attention, q > 0 by kappa and L alone, whatever s is.",
    "So f = s A W' w + B, A >= q, |B| <= 2 L |W|: once q s |W' w| > 2 L |W| it has the sign of W' w, whatever y is.",
    "Top-1 routing by scores that are linear in the sum of tokens does not see y and eps either, but for w of a share "
    "O(M^2 / s); nor is q s |W' w| too small, but for a share O(M / s). Neither depends on the sizes of Theta and W.",
    "So for half of all w, at some s, one of the two labels has y f <= 0: P(y f <= 0) >= p0 > 0, where p0 depends on "
    "kappa, M, L >= 4, d and sigma_xi, and E[L^e(X)] >= p0 log 2.",
    "W_KQ is fixed from T2 on, and T2 does not depend on eps: so no step rule brings it below p0 log 2.",
]
OTHER_STEPS = (
    "One of the training loss, with steps that grow as it falls: normalised ones, as in eq. (8), or a rate eta that "
    "depends on eps. With normalised steps it takes log(1/eps), where an expert's samples are separated."
)
A_SUM = (
    "One in which the losses (5) and (7) sum over the K = Theta(N^2) samples, in place of their mean, as the proof "
    "does: then v_n' W_KQ v_n grows by more than N sigma_0^0.5 / M."
)
LARGE = (
    "Or one without Lemma 11, which is not shown at Proposition 1's T1: if W' X may be of the order M sigma_0^0.5, "
    "the cap has no 1/M, and M of the order N log N no contradiction."
)

arguments = [
    Argument(
        id="theorem-1-rate",
        item="Theorem 1",
        says="With the steps of eq. (10) and a rate that does not depend on eps, the loss cannot fall geometrically, "
        "so that T2 + O(log 1/eps) steps are not enough, at any size.",
        verdict="disproved",
        premises=[
            Premise(
                words="for any eps > 0, there exists T* = T_2 + O(log(eps^(-1))) such that for any t >= T*, we have "
                "E[L^e(X)] <= eps",
                where="Theorem 1",
            ),
            STEPS,
            RATE,
            LOSS,
            LINEAR,
            BOUNDED,
        ],
        derivation=SLOW,
        reading=OTHER_STEPS,
        check=f"{IDENTITIES}steps_and_loss",
        shows={
            "largest |l'| over l": (0.0, 1.0),
            "largest step over eta R L": (0.0, 1.0),
            "order of L in t": (-1.05, -0.5),
            "weights over |W_0| + eta R sum L": (0.0, 1.0),
        },
    ),
    Argument(
        id="expected-loss-floor",
        item="Theorem 1",
        says="With Gaussian noise tokens the expected (test) loss is at least p0 log 2 all along stage III, p0 > 0, "
        "whatever W, Theta and the steps: it does not come below every eps. That p0 may be far below any eps in use.",
        verdict="disproved",
        premises=[
            Premise(words="for any eps > 0, ... for any t >= T*, we have E[L^e(X)] <= eps", where="Theorem 1"),
            Premise(words="the expected test loss decreases", where="below Theorem 1"),
            NOISE,
            LINEAR,
            LOSS,
            Premise(words="m = argmax_i h_i(X; Theta) + r^(i)", where="eq. (1)"),
            Premise(
                words="fine-tunes W while keeping W_KQ fixed; T_2 is independent of eps", where="sections 4.1, 5.2"
            ),
        ],
        derivation=FAR,
        reading="One of the loss on the training samples; or with noise that is bounded (X = O(1), appendix D); or in "
        "which d grows as eps falls, for p0 is exponentially small in d.",
        check=f"{IDENTITIES}noise_floor",
        shows={"share of far noise that decides alone": (0.95, 1.0), "smallest share of wrong signs": (0.05, 0.5)},
    ),
    Argument(
        id="benefit-rate",
        item="Section 5.2",
        says="With the same steps the mixture has the order 1/t of the transformer that the text compares it with: its "
        "loss cannot fall like t^(-a), a > 1, and where its experts can separate their samples it is log^2 t / t at "
        "most.",
        verdict="disproved",
        premises=[
            Premise(
                words="our MoT takes only O(log(eps^(-1))) iterations (note that T_2 is independent of eps), which is "
                "much faster",
                where="section 5.2",
            ),
            STEPS,
            RATE,
            LOSS,
            LINEAR,
            BOUNDED,
        ],
        derivation=[
            "Not faster, as for Theorem 1:",
            *SLOW,
            "Not slower: with routing held L is convex and R^2/4-smooth in W, so that for eta <= 4/R^2 and any U "
            "L_t <= L(U) + |U - W_0|^2 / (2 eta t); take U = (log t / g) u, u of length one with margins of g or more.",
            "A ReLU network with fixed signs has |grad| <= R' L_t as well, and outputs of at most R' |W|: the rival is "
            "not faster than 1/t either.",
        ],
        reading=OTHER_STEPS,
        check=f"{IDENTITIES}both_fall_like_one_over_t",
        shows={
            "order of an expert's L in t": (-1.05, -0.9),
            "order of a ReLU network's L in t": (-1.05, -0.9),
            "1/L over what steps allow": (0.0, 1.0),
            "L over what convexity allows": (0.0, 1.0),
        },
    ),
    Argument(
        id="no-modulus",
        cell="proof",
        item="Section 5.2",
        says="No expert's loss is strongly convex along stage III: |grad|^2 / (2 L), which is at least the modulus of "
        "a loss with infimum 0, falls with the loss.",
        verdict="disproved",
        premises=[
            Premise(
                words="the loss function for each expert is strongly convex, resulting in linear convergence",
                where="section 5.2",
            ),
            LOSS,
            LINEAR,
            BOUNDED,
        ],
        derivation=[
            "A loss with infimum 0 and modulus mu has |grad|^2 >= 2 mu L.",
            "|l'| <= l gives |grad| <= R L: so mu <= R^2 L / 2 wherever the loss is L, and no mu > 0 serves every eps.",
        ],
        reading="One with a modulus that depends on eps, or a term that keeps the weights bounded.",
        check=f"{IDENTITIES}no_modulus",
        shows={"modulus over R^2 L / 2": (0.0, 1.0), "last modulus over the first": (0.0, 0.001)},
    ),
    Argument(
        id="time-of-stage-two",
        cell="proof",
        item="Proposition 2",
        says="If Lemma 11 is granted, T2 - T1 has no 1/N: v_n' W_KQ v_n takes of the order M / (eta_a sigma_0^0.5) "
        "steps to change by a constant, N times as long as appendix E says.",
        verdict="disproved",
        premises=[
            Premise(
                words="there exists epoch T_2 = T_1 + O(eta_a^(-1) sigma_0^(-0.5) N^(-1) M), such that "
                "E[v_n' W_KQ v_n] = Theta(1)",
                where="appendix E",
            ),
            Premise(words="(W^(i))' X = O(sigma_0^0.5)", where="proof of Lemma 11"),
            ATTENTION,
            LOSS,
        ],
        derivation=[*GROWTH, "A change by a constant takes 2 M / (C eta_a sigma_0^0.5) steps, of the mean expert."],
        reading=f"{A_SUM} {LARGE}",
        check=f"{IDENTITIES}attention_growth",
        shows={
            "growth times M / sqrt(sigma_0)": (0.0, 0.5),
            "order of that in N": (-0.1, 0.1),
            "growth of the sum over N sqrt(sigma_0) / M": (1.0, 100.0),
        },
    ),
    Argument(
        id="bound-without-attention",
        item="Lemma 1",
        says="Where L sigma_xi > 1 the bound grows without limit as eps falls, and the loss does not: it begins near "
        "log 2.",
        verdict="disproved",
        premises=[
            Premise(words="E[L^e(X)] >= Theta(eps^(1 - L sigma_xi)), for all t in [T]", where="Lemma 1"),
            LIMIT,
            LOSS,
        ],
        derivation=[
            "At t = 1 outputs are O(sigma_0) (Lemma 5), so that the loss is log 2 + O(sigma_0), whatever eps is.",
            "For L sigma_xi > 1 the bound eps^(1 - L sigma_xi) tends to infinity as eps tends to 0.",
        ],
        reading="One that adds L sigma_xi < 1, as the proof's factor 1 - L sigma_xi does; of that `floor-exponent` has "
        "one case, L sigma_xi = 1/2.",
        check=f"{IDENTITIES}bound_without_attention_diverges",
        shows={
            "log 2 over the bound at eps = 0.01": (0.0, 1e-10),
            "log 2 over the bound at eps = 0.0001": (0.0, 1e-21),
        },
    ),
    Argument(
        id="router-weights-sum",
        item="Corollary 1",
        says="Every step of eq. (6) leaves the sum of the router's weights over the experts as it is.",
        verdict="proved",
        premises=[ROUTER],
        derivation=["sum_i (1{i = m_k} - pi_i) = 1 - 1 = 0 for every sample."],
        reading="None.",
        check=f"{IDENTITIES}router_weights_sum_to_zero",
        shows={"sum over the largest weight": (0.0, 1e-12)},
    ),
    Argument(
        id="clear-favourites",
        item="Lemma 7",
        says="The lemma holds, for every M: its condition on M is not needed, for the gap that it asks for is that "
        "small.",
        verdict="proved",
        premises=[START, ORTHOGONAL],
        derivation=[
            "An expert's <W, v_n> are N independent normals. With D = delta / (3 M N^2) the second is above (1 - D) "
            "times a positive first with probability at most N^2 int phi(x) D x phi(0) dx = D N^2 / (2 pi).",
            "Where the first is negative, the second is below it, and (1 - D) times it above.",
            "Over M experts: at most delta / (6 pi).",
        ],
        reading="None.",
        check=f"{IDENTITIES}favourites_are_clear",
        shows={"smallest probability": (0.9, 1.0)},
    ),
    Argument(
        id="every-class-has-an-expert",
        item="Lemma 8",
        says="With M >= N log(N / delta) experts every class has one at the start, with probability 1 - delta.",
        verdict="proved",
        premises=[START, ORTHOGONAL],
        derivation=[
            "The classes of the experts are independent and uniform.",
            "Some class has none with probability at most N (1 - 1/N)^M <= N e^(-M/N) <= delta.",
        ],
        reading="One of what training leaves: the lemma is about the start.",
        check=f"{IDENTITIES}every_class_has_an_expert",
        shows={"smallest probability": (0.9, 1.0)},
    ),
    Argument(
        id="smoothed-router",
        item="Lemma 9",
        says="As printed, with (kappa M)^2, the bound fails for kappa < 1/2; kappa M^2, which has the right unit, "
        "holds for every M: a slip of the print, and for kappa = 1 none.",
        verdict="disproved",
        premises=[
            Premise(words="the probability density function of D_r is bounded by kappa", where="Lemma 9"),
            Premise(words="||p - p'|| <= (kappa M)^2 ||h - h'||_inf", where="Lemma 9"),
        ],
        derivation=[
            "At M = 2, noise Unif[0, w], kappa = 1/w and scores that go from a tie to a distance of 2 d, p changes by "
            "2 kappa d - 2 kappa^2 d^2; the printed bound is 4 kappa^2 d, less than that for kappa < 1/2 and small d.",
            "Given the noise of the others, i is chosen if r_i is above a threshold, which moves by 2 d at most, "
            "d = ||h - h'||_inf: |p_i - p'_i| <= 2 kappa d, whatever M.",
            "So sum_i |p_i - p'_i| <= 2 kappa M d <= kappa M^2 d, for M >= 2; other norms are smaller.",
        ],
        reading="One with kappa M^2.",
        check=f"{IDENTITIES}router_noise",
        shows={
            "max |p - p'| over (kappa M)^2 d": (1.0, 4.0),
            "max |p - p'| over 2 kappa d": (0.0, 1.0),
            "sum |p - p'| over kappa M^2 d": (0.0, 1.0),
        },
    ),
    Argument(
        id="router-gradients",
        item="Lemma 12",
        says="The router's expected gradient along v_n is as large as that along c_n, of the order "
        "sigma_0 / (N M^2 d^0.5) both. So the bound along v_n fails unless d is of the order sigma_0 N^2 or more; that "
        "along c_n holds.",
        verdict="disproved",
        premises=[
            Premise(words="E[<grad_theta(i) L^r, v_n>] = O(sigma_0^0.5 / (N^2 M^2))", where="Lemma 12"),
            ROUTER,
            EXPERTS,
            START,
        ],
        derivation=[
            "Where Theta is small, as after one step, pi = 1/M and routes are uniform; f = W' (c_n + y v_n + eps v_n') "
            "+ O(sigma_0^2), and l' = -1/2 + O(sigma_0).",
            "Along v_n a sample of class n adds y f l' y: in the mean over y, eps and n' -W' c_n / 2. As a distractor "
            "v_n adds y f l' eps, of mean 0. Along c_n a sample adds y f l', of mean -W' v_n / 2.",
            "The classes have 1/N of the samples each, not one sample in K = N^2: the step I_1 of the proof.",
            "W' c_n and W' v_n are of one law, N(0, sigma_0^2 / d). With d = 2 N the gradient over the bound goes like "
            "N sigma_0^0.5 / d^0.5, which grows like N^0.5.",
        ],
        reading="One in which sigma_0 N^2 / d stays bounded, for d is open: with d = N^2 it holds. The proof needs the "
        "gradient along v_n small beside that along c_n, and it is not in any. With E over W_0, too, both are 0: "
        "experts are alike then, and their gradients sum to 0 (Corollary 1).",
        check=f"{IDENTITIES}router_gradients",
        shows={
            "order in N of the gradient along v_n over its bound": (0.4, 0.6),
            "that order with d = N^2": (-0.1, 0.1),
            "gradient along v_n over that along c_n": (0.8, 1.25),
        },
    ),
    Argument(
        id="attention-gradients",
        item="Lemma 14",
        says="If Lemma 11 is granted, the gradient for mu = nu = v_n is O(sigma_0^0.5 / M), in the mean over experts: "
        "without the N of the lower bound, since the loss is a mean over samples, and the proof takes their sum.",
        verdict="disproved",
        premises=[
            Premise(
                words="for any expert i in M_n, E[v_n' grad_W_KQ(i) L^e v_n] = Omega(N sigma_0^0.5 / M)",
                where="Lemma 14",
            ),
            Premise(words="(W^(i))' X = O(sigma_0^0.5)", where="proof of Lemma 11"),
            ATTENTION,
            LOSS,
        ],
        derivation=[
            *GROWTH,
            "The lemma has a mean of c N sigma_0^0.5 / M at least: a contradiction from N = C / (2 c) on.",
        ],
        reading=f"{A_SUM} {LARGE} Without the N the bound is seen with the mean.",
        check=f"{IDENTITIES}attention_growth",
        shows={
            "growth times M / sqrt(sigma_0)": (0.0, 0.5),
            "order of that in N": (-0.1, 0.1),
            "growth of the sum over N sqrt(sigma_0) / M": (1.0, 100.0),
        },
    ),
]
