"""What is proved of the paper's items: by a few lines from its own premises (compete-smoe)."""

from moestat.study.arguments import Argument, Premise

arguments = [
    Argument(
        id="theorem-4-2-sleeper",
        item="Theorem 4.2",
        says="Inequality (10) fails where a true expert never wins, and with it (11) for some maximiser: such an "
        "expert moves while it sleeps, and the density does not notice.",
        verdict="disproved",
        premises=[
            Premise(
                words="the following Hellinger lower bound holds for any mixing measure G in E_k*: E h(p_G, p_G*) >~ "
                "D(G, G*)",
                where="Theorem 4.2, (10)",
            ),
            Premise(words="the MLE G_n also converges to G* at the parametric rate", where="after Theorem 4.2"),
            Premise(words="samples drawn from bounded subsets X of R^d", where="section 4"),
        ],
        derivation=[
            "Let K experts of G* have |g| above that of expert k at every x, with room to spare: TopK never keeps k.",
            "Move W_k so little that it still never wins, to get G: p_G = p_G*, and D(G, G*) >= |W_k - W*_k| > 0, "
            "against (10).",
            "If some maximiser is that near to G*, its expert k never wins either, and every measure that differs from "
            "it in W_k alone, still asleep, is a maximiser, too: (11) does not hold for all of them, however large n.",
        ],
        reading="One in which k* is the least number of experts that gives the density, so that every expert wins "
        "somewhere; where all do, the bound is found to hold near the truth.",
        check="studies.compete_smoe.parts.identities:sleeping_expert",
        shows={"difference of p": (-1e-12, 1e-12), "D": (0.01, 10.0)},
    ),
]
