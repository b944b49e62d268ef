"""The identities behind the verdicts by argument on "task-routing" (``arguments.py``), at drawn weights."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.linalg import hadamard

from studies.task_routing.parts.construction import memoriser, parity
from studies.task_routing.parts.construction.check import check
from studies.task_routing.parts.construction.one_template import TEMPLATE, build_one_template
from studies.task_routing.parts.knowledge import Knowledge, Task, Template

DRAWS = 20
SIZE = 64
"""Coordinates of generic embeddings, more than there are words and positions in any example."""
FIGURE_4 = [
    "{subject} is located in {object}.",
    "{subject} can be found in the nation of {object}.",
    "{subject} is a landmark situated in {object}.",
    "The country associated with {subject} is {object}.",
    "{subject} is a site within {object}.",
]
EXAMPLE = {  # the paper's, of section 3.1: the words that a sentence of each task begins with
    "location": [["Paris"], ["Paris", "is"], ["Madrid"], ["Madrid", "is"]],
    "language": [["English"], ["English", "is"], ["Hindi"], ["Hindi", "is"]],
}


def parity_of_words() -> dict[str, float]:
    """Two heads and a linear router: the largest distance of the two combinations for three words, the least for two.

    For two words, where two heads can tell the parity, the same combinations differ.
    """
    rng = np.random.default_rng(1)
    three = [parity.distance(3, 2, rng) for _ in range(DRAWS)]
    return {
        "distance, three words": max(three),
        "distance, two words": min(parity.distance(2, 2, rng) for _ in range(DRAWS)),
    }


def object_alone() -> dict[str, float]:
    """Two heads after "A has B as its", for 64 subjects and objects: the rank of what a linear router can say of them.

    And the least rank of any matrix with the signs of Hadamard's, n over its norm (Forster 2002).
    """
    n, ranks = 64, []
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        said = np.full((n, n), rng.standard_normal())  # of the last word's own embedding
        totals = np.ones((n, n))
        for _ in range(2):
            weight, value = rng.exponential(size=(3, n)), rng.standard_normal((3, n))  # the words, A, and B
            parts = [(w, w * v) for w, v in zip(weight, value, strict=True)]
            below, above = (parts[0][i][0] + parts[1][i][:, None] + parts[2][i] for i in (0, 1))
            said, totals = said + above / below, totals * below
        ranks.append(np.linalg.matrix_rank(totals * said, rtol=1e-10))
    return {"largest rank": float(max(ranks)), "rank that is needed": float(n / np.linalg.norm(hadamard(n), 2))}


def attended(x: np.ndarray, rng: np.random.Generator, heads: int = 1) -> np.ndarray:
    """Return what generic heads say at the last of some positions (S, SIZE): (heads, SIZE)."""
    out = []
    for query, key, value in rng.standard_normal((heads, 3, SIZE, SIZE)) / SIZE**0.5:
        weight = np.exp((x @ key) @ (x[-1] @ query) / SIZE)
        out.append(weight @ x @ value / weight.sum())
    return np.array(out)


def template_vectors() -> dict[str, float]:
    """Figure 4's own templates: their prefixes, the bound on the rank, and the rank of what generic heads say."""
    templates = [["entity" if t.startswith("*") else t for t in Template.parse(text).tokens] for text in FIGURE_4]
    told: dict[str, float] = {}
    for name, ends in (("whole templates among them", 1), ("next word follows", 0)):
        prefixes = sorted({tuple(t[:i]) for t in templates for i in range(1, len(t) + ends)})
        words, length = sorted({w for p in prefixes for w in p}), max(map(len, prefixes))
        ranks = []
        for seed in range(DRAWS):
            rng = np.random.default_rng(seed)
            word, position = rng.standard_normal((2, SIZE, SIZE))
            x = [word[[words.index(w) for w in p]] + position[: len(p)] for p in prefixes]
            ranks.append(np.linalg.matrix_rank([attended(one, np.random.default_rng(seed))[0] for one in x], rtol=1e-9))
        told |= {
            f"prefixes, {name}": len(prefixes),
            f"words and positions less one, {name}": len(words) + length - 1,
            f"largest rank, {name}": max(ranks),
        }
    return told


def example_beginnings() -> dict[str, float]:
    """The paper's example, at drawn weights: what heads for the template and for the subject say, and what follows.

    The network is as printed: template neurons see the template's head, dictionary neurons the subject's, and biases
    are lowered until the neurons of a task are silent on every beginning of the other. *Kept on* are biases as drawn.
    """
    apart, seen = [], []
    differ: list[float] = []
    kept: list[float] = []
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        words = {w: rng.standard_normal(SIZE) for w in ["entity", "is"]}
        names = {w: rng.standard_normal(SIZE) for s in EXAMPLE.values() for p in s for w in p[:1]}
        position = rng.standard_normal((2, SIZE))
        one = {
            (task, *p): attended(
                np.array([words.get(w, words["entity"]) + position[i] for i, w in enumerate(p)]),
                np.random.default_rng(seed),
            )[0]
            for task, beginnings in EXAMPLE.items()
            for p in beginnings
        }
        two = {key: names[key[1]] for key in one}
        apart.append(np.abs(one["location", "Paris"] - one["language", "English"]).max())
        seen.append(np.abs(two["location", "Paris"] - two["language", "English"]).max())
        inputs = {True: one, False: two}
        for lowered, gaps in ((True, differ), (False, kept)):
            said: dict[tuple[str, ...], np.ndarray] = {key: np.zeros(2) for key in one}
            for task, template in itertools.product(EXAMPLE, inputs):
                first, bias, second = (
                    rng.standard_normal((8, SIZE)),
                    rng.standard_normal(8),
                    rng.standard_normal((8, 2)),
                )
                x = inputs[template]
                if lowered:
                    bias = np.minimum(bias, -np.max([first @ x[key] for key in x if key[0] != task], axis=0))
                for key in x:
                    said[key] = said[key] + np.maximum(first @ x[key] + bias, 0.0) @ second
            gaps.append(np.abs(said["location", "Paris"] - said["location", "Paris", "is"]).max())
    return {
        "template head, Paris and English": max(apart),
        "subject head, Paris and English": min(seen),
        "said after Paris and Paris is": max(differ),
        "said after Paris and Paris is, kept on": min(kept),
    }


def example_heads() -> dict[str, float]:
    """Of :func:`example_beginnings`, what concerns the heads."""
    return {name: value for name, value in example_beginnings().items() if "head" in name}


def arcs_of_four() -> dict[str, float]:
    """Cyclic orders of the tokens a, x, y, z in which {a, x}, {a, y} and {a, z} are all neighbours; and the first two.

    By all orders, and by random polygons: how often one direction each puts all three sets above the other tokens.
    """
    orders = [("a", *rest) for rest in itertools.permutations("xyz")]
    wanted = ["x", "y", "z"]

    def beside(order: tuple[str, ...], token: str) -> bool:
        return order.index(token) in (1, 3)

    rng, found = np.random.default_rng(0), {2: 0, 3: 0}
    angles = np.linspace(0, 2 * np.pi, 720, endpoint=False)
    for _ in range(200):
        corners = np.sort(rng.uniform(0, 2 * np.pi, 4))
        points = np.stack((3 * np.cos(corners), np.sin(corners)), axis=1)[rng.permutation(4)]  # a, x, y, z
        logits = np.stack((np.cos(angles), np.sin(angles)), axis=1) @ points.T
        above = [
            np.any(np.minimum(logits[:, 0], logits[:, i]) > np.delete(logits, [0, i], axis=1).max(axis=1))
            for i in (1, 2, 3)
        ]
        found[2] += all(above[:2])
        found[3] += all(above)
    return {
        "orders, three sets": sum(all(beside(o, t) for t in wanted) for o in orders),
        "orders, two sets": sum(all(beside(o, t) for t in wanted[:2]) for o in orders),
        "polygons, three sets": found[3],
        "polygons, two sets": found[2],
    }


def plane_of_logits() -> dict[str, float]:
    """Tokens whose own coordinate is not the only largest one, over vocabularies of 3 to 400 tokens."""
    return {"tokens without a vector": sum(memoriser.wrong_peaks(n) for n in range(3, 401))}


def memorised() -> dict[str, float]:
    """The largest relative error of K neurons on K drawn points, and how many neurons there are more than points."""
    rng, errors, more = np.random.default_rng(0), [], 0
    for count in (1, 2, 5, 20, 60):
        x, y = rng.standard_normal((count, 5)), rng.standard_normal((count, 3))
        fit = memoriser.memorise(x, y, rng)
        errors.append(fit.error(x, y))
        more = max(more, fit.width - count)
    return {"largest error": max(errors), "neurons more than points": more}


def one_template() -> dict[str, float]:
    """Weights for tasks of one template with subjects of their own, on drawn datasets: what fails, and their size."""
    rng, failing = np.random.default_rng(2), 0
    wide: list[int] = []
    for _ in range(100):
        names = [f"N{i}" for i in range(30)]
        tables = np.split(rng.permutation(28)[:20], np.sort(rng.choice(np.arange(1, 20), rng.integers(1, 4), False)))
        knowledge = Knowledge(
            tuple(
                Task(
                    f"R{k}",
                    (Template.parse(TEMPLATE),),
                    tuple((names[i], names[j]) for i, j in zip(rows, rng.integers(0, 30, len(rows)), strict=True)),
                )
                for k, rows in enumerate(tables)
            )
        )
        built = build_one_template(knowledge)
        found = check(built, rng)
        failing += int((found.misrouted | found.low_mass).sum())
        more = [len(e[0]) - knowledge.max_length - len(rows) for e, rows in zip(built.experts, tables, strict=True)]
        wide.extend(more)
    size = built.embedding.shape[1]
    return {"prefixes that fail": failing, "neurons over L|T| + table": max(wide), "coordinates": size}
