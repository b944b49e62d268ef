"""What is proved of the paper's items: by a few lines from its own premises (task-routing)."""

from moestat.study.arguments import Argument, Premise

IDENTITIES = "studies.task_routing.parts.identities"
ZERO, APART = (-1e-12, 1e-12), (1e-3, 1e3)
"""What is 0 up to rounding, and what is not."""


def exactly(count):
    """Return where a whole number must lie."""
    return (count - 0.5, count + 0.5)


FIRST_HEAD = Premise(
    words="a vector that depends on the template tau and the index i, and not the subject k", where="section 5.1"
)
TWO_HEADS = [
    Premise(words="be any finite set of wildcard templates, each with length at most L", where="Theorem 4.2"),
    Premise(words="a multi-head attention layer with 2 attention heads", where="Theorem 4.2, first bullet"),
    Premise(
        words="the transformer routes the sequence to the expert corresponding to k", where="Theorem 4.2, second bullet"
    ),
]

arguments = [
    Argument(
        id="plane-of-logits",
        item="Lemma 5.1",
        says="In the plane of the cosines and sines of n equally spaced angles every token has its vector.",
        verdict="proved",
        premises=[
            Premise(words="the i-th coordinate of v_i is the unique maximal coordinate of v_i", where="Lemma 5.1")
        ],
        derivation=[
            "Coordinate j of v_k = cos(theta_k) u + sin(theta_k) w is cos(theta_k - theta_j); the print of Lemma A.3 "
            "leaves out the w.",
            "It is 1 for j = k, and less for every other angle of the n.",
        ],
        reading="None: the proof of Lemma A.3 is complete.",
        check=f"{IDENTITIES}:plane_of_logits",
        shows={"tokens without a vector": exactly(0)},
    ),
    Argument(
        id="memoriser",
        item="Lemma A.4",
        says="K neurons fit K points with distinct inputs: as many neurons as points.",
        verdict="proved",
        premises=[Premise(words="a feedforward neural network f with one hidden layer of width K", where="Lemma A.4")],
        derivation=[
            "A direction outside finitely many planes has different projections t_1 < ... < t_K of the inputs.",
            "With knots b_1 < t_1 < b_2 < t_2 < ... the matrix max(t_i - b_j, 0) is triangular, its diagonal positive.",
            "So the output weights are the solution of a linear system.",
        ],
        reading="None. The count is one of points: a table of strings has more beginnings than the N of its pairs.",
        check=f"{IDENTITIES}:memorised",
        shows={"largest error": (0.0, 1e-9), "neurons more than points": exactly(0)},
    ),
    Argument(
        id="dependent-templates",
        item="Appendix A.3",
        cell="proof",
        says="The template vectors of Figure 4 are dependent, whatever the weights: 33 prefixes, of rank 29 at most.",
        verdict="disproved",
        premises=[
            Premise(
                words="for a generic choice of weight matrices W_Q, W_K and W_V, the vectors will be linearly "
                "independent",
                where="Appendix A.3",
            ),
            Premise(words="v_i(tau) = sum over j of alpha_j (x_j W_V)", where="Appendix A.3"),
        ],
        derivation=[
            "x_j is the sum of a word's and a position's embedding, an entity being one word for the first head.",
            "So every vector lies in the span of the embeddings of words and positions, times W_V.",
            "The weights of the words and those of the positions both add up to 1: one relation between them.",
            "Rank is at most words + positions - 1: 20 + 10 - 1 = 29 for the five templates of Figure 4, which have 33 "
            "prefixes; without whole templates 19 + 9 - 1 = 27, of 28.",
        ],
        reading="Embeddings of token and position that are not added, but chosen for each pair. Independence is more "
        "than routing needs: a linear router whose largest entry is right was found on every dataset drawn.",
        check=f"{IDENTITIES}:template_vectors",
        shows={
            "prefixes, whole templates among them": exactly(33),
            "words and positions less one, whole templates among them": exactly(29),
            "largest rank, whole templates among them": (1, 29.5),
            "prefixes, next word follows": exactly(28),
            "words and positions less one, next word follows": exactly(27),
            "largest rank, next word follows": (1, 27.5),
        },
    ),
    Argument(
        id="silent-circuits",
        item="Appendix A.3",
        cell="proof",
        says='On the paper\'s own example the printed network says the same after "Paris" and after "Paris is".',
        verdict="disproved",
        premises=[
            FIRST_HEAD,
            Premise(
                words="if k' != k, then the ReLU activation yields h_j(w) = 0 for all neurons j in I_k' and I'_k'",
                where="Appendix A.3, circuit isolation",
            ),
            Premise(
                words="The syntactic block I_k connects exclusively to the output of the first attention head, while "
                "the semantic block I'_k connects exclusively to the output of the second attention head.",
                where="section 5.1",
            ),
            Premise(
                words="the first predicts the next structural word of the template (computed solely by I_k), and the "
                "second predicts the factual object from the dictionary (computed solely by I'_k)",
                where="Appendix A.3, decoupled processing",
            ),
        ],
        derivation=[
            '"Paris" and "English" have one template vector, and so have "Paris is" and "English is".',
            'The template neurons of language are silent after "Paris", so after "English" as well; those of '
            'location after "English", so after "Paris": all are silent after one word and after two.',
            'After "Paris" and after "Paris is" only the dictionary neurons of location are left. They see the '
            "subject alone, so that the network says the same.",
            'But "is" is valid after the one and "in" after the other: one of them has 1/2 at most.',
        ],
        reading="Neurons that are shut off by template and subject together, or circuits that share neurons, as the "
        "weights of the study task_construction are built; or a residual stream that is read out, too, which the proof "
        "leaves out.",
        check=f"{IDENTITIES}:example_beginnings",
        shows={
            "template head, Paris and English": ZERO,
            "subject head, Paris and English": APART,
            "said after Paris and Paris is": ZERO,
            "said after Paris and Paris is, kept on": APART,
        },
    ),
    Argument(
        id="valid-above-invalid",
        item="Appendix A.3",
        cell="proof",
        says="In a plane of logits three sets of valid tokens with one in common, and one of its own each, cannot all "
        "lie above all other tokens.",
        verdict="disproved",
        premises=[
            Premise(
                words="the logit l_w for the valid next token is strictly greater than the logit l_y for any invalid "
                "token y not in V(w)",
                where="Appendix A.3",
            ),
            Premise(words="vectors spanning a 2-dimensional subspace", where="Appendix A.3, by Lemma 5.1"),
        ],
        derivation=[
            "As every token is somewhere the only largest, the tokens are the corners of a convex polygon.",
            "Those above a level lie in a half-plane: they are neighbours on the polygon.",
            'Of the templates "p a *1 *2.", "p x *1 *2.", "q a *1 *2.", "q y *1 *2.", "r a *1 *2." and '
            '"r z *1 *2." the valid sets after p, q and r are {a, x}, {a, y} and {a, z}.',
            "a would have three neighbours, and has two.",
        ],
        reading="One in which one valid token lies above all invalid ones; it is enough for the third bullet.",
        check=f"{IDENTITIES}:arcs_of_four",
        shows={
            "orders, three sets": exactly(0),
            "orders, two sets": exactly(2),
            "polygons, three sets": exactly(0),
            "polygons, two sets": (1, 200),
        },
    ),
    Argument(
        id="template-alone",
        item="Appendix A.4",
        cell="proof",
        says='A router that sees the template alone misroutes "Paris" or "English" of the paper\'s own example.',
        verdict="disproved",
        premises=[
            Premise(
                words="We set the weights corresponding to the second component a_2(w) to strictly zero, so that the "
                "routing decision depends solely on the syntactic template",
                where="Appendix A.4",
            ),
            Premise(words="tau_1 = *1 is in *2., tau_2 = *1 is spoken widely in *2.", where="section 3.1, example"),
        ],
        derivation=[
            "The first word of both templates is *1, and the template head does not see which subject it is.",
            'So "Paris" and "English" have one vector, and go to one expert.',
            '"Paris" is generated by location alone, and "English" by language alone.',
        ],
        reading="Routing of prefixes that show a word in which the templates of their tasks differ; or a router that "
        "also sees in whose tables the subject is, which routes every prefix of the example.",
        check=f"{IDENTITIES}:example_heads",
        shows={"template head, Paris and English": ZERO, "subject head, Paris and English": APART},
    ),
    Argument(
        id="two-heads-parity",
        item="Theorem 4.2",
        says="Where the parity of three words tells the task, no two heads and linear router send every prefix that "
        "one task alone generates to its expert.",
        verdict="disproved",
        premises=TWO_HEADS,
        derivation=[
            "Let the first three words be one of two each, the next the same always, and their parity the task.",
            "At that next word a head is N(a) / D(a), both sums over positions of functions of one word, D > 0.",
            "What the router sees is the sum of both heads and that word's own embedding; times D_1 D_2 every term "
            "knows two of the three words at most.",
            "So its sum over the eight prefixes with the signs of the parity is 0: a positive combination of the "
            "inputs of one task is one of the other, of the same total weight.",
            "No linear map, with a bias or without, is larger on all inputs of one task than on all of the other.",
        ],
        reading='Tasks that begin differently. "no1" has two tasks, and on such a prefix the second bullet contradicts '
        "itself, without parity; asked of prefixes of one task alone, as here, it fails all the same. Where every "
        "prefix has one task its first word tells it, and routing is easy. The third bullet asks for no routing, and "
        "is not touched.",
        check=f"{IDENTITIES}:parity_of_words",
        shows={"distance, three words": (-1e-12, 1e-12), "distance, two words": (1e-6, 10.0)},
    ),
    Argument(
        id="two-heads-object",
        item="Theorem 4.2",
        says="Two heads and a linear router fail at prefixes of one task for two templates, too, "
        '"*1 has *2 as its father." and "*1 has *2 as its teacher.", where subject and object together tell the task.',
        verdict="disproved",
        premises=TWO_HEADS,
        derivation=[
            "Let 64 subjects and 64 objects be dealt out by Hadamard's matrix: a pair is a father where its sign is "
            'plus, and a teacher where it is minus. "A has B as its" has one task.',
            'At "its" a head is N / D, each the sum of a function of A and one of B, D > 0.',
            "The difference of the router's scores, times D_1 D_2, is a function of A, one of B, and four products of "
            "one of A and one of B: a matrix of rank 6 at most.",
            "No matrix with these signs has a rank below 64 / 8 = 8 (Forster 2002, the norm being 8).",
        ],
        reading='Tasks that begin differently, as for the parity of three words; "A" alone has two. The third bullet '
        "is not touched. Natural sentences of this form are in the second generator; there it is open whether two "
        "heads are enough.",
        check=f"{IDENTITIES}:object_alone",
        shows={"largest rank": (1, 6.5), "rank that is needed": exactly(8)},
    ),
    Argument(
        id="one-template",
        item="Theorem 4.2",
        cell="example",
        says='Tasks of one template, "*1 is *2.", with subjects of their own, of one token as objects are, and '
        "an object for each have weights as in the theorem.",
        verdict="proved",
        premises=TWO_HEADS,
        derivation=[
            "2 L|T| = 8 coordinates hold a level, k for a subject of task k, a place on a circle for every token, the "
            "position, copies of level and place, and a constant.",
            "One head, all but its last share on the first position, copies the subject's level a and place; the "
            "other is silent. Of the router's scores 2 k a - k^2 that of the subject's task is the largest.",
            "Expert k is piecewise linear in 10 times the position plus a projection of the place that tells subjects "
            'apart: "is" at position 1, the objects at position 2, "." at position 3. That is a knot for each pair and '
            "two more, of L|T(k)| + N.",
            "It writes the place of the next token, times a factor: the logits lie in the plane of Lemma 5.1, and the "
            "factor leaves what the residual connection adds, and epsilon, behind.",
        ],
        reading="None; other templates, and subjects that tasks share, are not in it. The empty prefix and the "
        "finished sentence have no prediction to make.",
        check=f"{IDENTITIES}:one_template",
        shows={
            "prefixes that fail": exactly(0),
            "neurons over L|T| + table": (-10, 0),
            "coordinates": exactly(8),
        },
    ),
]
