"""What is proved of the paper's items: by a few lines from its own premises (task-routing)."""

from moestat.study.arguments import Argument, Premise

arguments = [
    Argument(
        id="two-heads-parity",
        item="Theorem 4.2",
        says="Two heads and a linear router do not suffice for every finite set of templates: where the parity of "
        "three words tells the task, no weights route every prefix.",
        verdict="disproved",
        premises=[
            Premise(words="be any finite set of wildcard templates, each with length at most L", where="Theorem 4.2"),
            Premise(words="a multi-head attention layer with 2 attention heads", where="Theorem 4.2, first bullet"),
            Premise(
                words="the transformer routes the sequence to the expert corresponding to k",
                where="Theorem 4.2, second bullet",
            ),
        ],
        derivation=[
            "Let the first three words be one of two each, the next the same always, and their parity the task.",
            "At that next word a head is N(a) / D(a), both sums over positions of functions of one word, D > 0.",
            "What the router sees is the sum of both heads and that word's own embedding; times D_1 D_2 every term "
            "knows two of the three words at most.",
            "So its sum over the eight prefixes with the signs of the parity is 0: a positive combination of the "
            "inputs of one task is one of the other, of the same total weight.",
            "No linear map, with a bias or without, is larger on all inputs of one task than on all of the other.",
        ],
        reading="One in which templates of different tasks begin with different words, as the second bullet "
        "presupposes for shorter prefixes; there two heads suffice on every dataset that was built.",
        check="studies.task_routing.parts.identities:parity_of_words",
        shows={"distance, three words": (-1e-12, 1e-12), "distance, two words": (1e-6, 10.0)},
    ),
]
