"""What the paper contains, in its own order; a claim belongs to the item that its source names first."""

from moestat.study.contents import Item, Paper

paper = Paper(
    name="demystifying-softmax",
    key="DS",
    title="Demystifying softmax gating function in Gaussian mixture of experts (arXiv 2305.03288)",
    problem="Theory, and the truth and the sizes of its published scripts.",
    items=[
        Item(
            name="Rate of density estimation",
            says="The maximum-likelihood density is at a Hellinger distance of n^(-1/2), up to logarithms, also "
            "where experts are too many.",
            also=["density estimation"],
            statement=["softmax_gaussian:hellinger-exact", "softmax_gaussian:hellinger-[tf]*-near"],
            objection="One truth on the line is not every mixture; untested beyond it.",
        ),
        Item(
            name="Theorem 1",
            says="With as many experts as the truth D1 falls like n^(-1/2), up to logarithms.",
            statement=["softmax_gaussian:D1-exact-near"],
        ),
        Item(
            name="Theorem 2",
            says="With too many experts D2 falls like n^(-1/2), up to logarithms, in which the errors of a cell of m "
            ">= 2 experts stand with the powers rbar(m): 4 for two, 6 for three.",
            statement=[
                "softmax_gaussian:D2-three-near",
                "softmax_gaussian:D2-four-near",
                "softmax_gaussian:three-over-*",
            ],
            objection="The maximum was not found in up to half of the fits; tested, and the claims are inconclusive "
            "for it.",
        ),
        Item(
            name="Simulations",
            says="The published scripts start near the truth and show D1 and D2 falling like n^(-1/2).",
            also=["published scripts"],
            unchecked="The scripts' arrays are not here: their protocol is run again, in claims of ours.",
            objection="Starts near the truth are stated; tested: from them the scripts' EM ends below the maximum for "
            "K = 3.",
        ),
    ],
)
