"""What is proved of the paper's items: by a few lines from its own premises (mixture-of-transformers)."""

from moestat.study.arguments import Argument, Premise

STEPS = Premise(words="W_{t+1} = W_t - eta grad L^e(X)", where="eq. (10)")
LOSS = Premise(
    words="l(z) = log(1 + exp(-z)) is the logistic loss; L^e(X) = (1/K) sum_k l(y^(k) f(X^(k); ...))",
    where="eqs (5), (7)",
)
LINEAR = Premise(words="f(X; ...) = sum_l W' X softmax(X' W_KQ X_l)", where="eq. (4)")
BOUNDED = Premise(words="softmax(X' W_KQ X_l) <= 1 and X = O(1) always hold", where="appendix D")
DERIVATION = [
    "f is linear in W, and a sample enters it by one vector, the sum of its weighted tokens, of norm at most R.",
    "|l'(z)| = 1 / (1 + e^z) <= log(1 + e^(-z)) = l(z), so a step moves any expert by at most eta R L_t; "
    "with expected gradients, as in the proof, by eta R E[L_t].",
    "If sum L_t = S is finite, as for L_t <= C q^t, q < 1, or C t^(-a), a > 1, then |W_t| <= B = max |W_T2| + eta R S.",
    "Then every margin is at most R B, whatever the routing, and L_t >= log(1 + e^(-R B)) > 0: a contradiction.",
    "With routing held L is convex in W: L_{t+1} >= L_t - eta R^2 L_t^2, so that 1/L_t grows by eta R^2 at most, up to "
    "a factor that tends to 1, and eps takes 1/(eta R^2 eps) steps.",
]
READING = (
    "One with steps that grow as the loss falls: normalised ones, as in eq. (8), or a rate eta that depends on eps; "
    "with normalised steps log(1/eps) is seen."
)
CHECK = "studies.mixture_of_transformers.parts.identities:steps_and_loss"
SHOWS = {
    "largest |l'| over l": (0.0, 1.0),
    "largest step over eta R L": (0.0, 1.0),
    "order of L in t": (-1.05, -0.5),
    "weights over |W_0| + eta R sum L": (0.0, 1.0),
}

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
            LOSS,
            LINEAR,
            BOUNDED,
        ],
        derivation=DERIVATION,
        reading=READING,
        check=CHECK,
        shows=SHOWS,
    ),
    Argument(
        id="benefit-rate",
        item="Section 5.2",
        says="With the same steps the loss cannot fall like t^(-a), a > 1, whatever the routing: the rate 1/t of the "
        "transformer that the text compares it with is not beaten.",
        verdict="disproved",
        premises=[
            Premise(
                words="our MoT takes only O(log(eps^(-1))) iterations (note that T_2 is independent of eps), which is "
                "much faster",
                where="section 5.2",
            ),
            STEPS,
            LOSS,
            LINEAR,
            BOUNDED,
        ],
        derivation=["As for Theorem 1.", *DERIVATION],
        reading=READING,
        check=CHECK,
        shows=SHOWS,
    ),
]
