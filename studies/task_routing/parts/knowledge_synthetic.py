"""A seeded generator of knowledge of the shape of the paper's WikiData5M sample."""

from __future__ import annotations

import numpy as np

from studies.task_routing.parts.knowledge import Knowledge, Task
from studies.task_routing.parts.template import END, OBJECT, SUBJECT, KnowledgeError, Template

_TEXT = (
    "the of in is was a an by for from to at with on as and that which its has had been known called named "
    "located found said listed described recorded since until through near within under over after before first "
    "later mainly often officially also originally currently widely formerly generally"
)
COMMON = _TEXT.split()
FEWEST_OBJECTS, ZIPF = 10, 0.7
LONGEST = 10
"""Tokens of a template, at most."""
_ONSETS = "b,br,c,ch,d,dr,f,fl,g,gr,h,j,k,l,m,n,p,pl,pr,qu,r,s,sh,sk,st,t,tr,v,w,z"
_VOWELS = "a,e,i,o,u,ai,ea,io,ou"
_CODAS = ",,l,m,n,r,s,t,nd,rk"


class _Names:
    """Pronounceable names that never repeat."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.taken = set(COMMON)
        self.parts = [sounds.split(",") for sounds in (_ONSETS, _VOWELS, _CODAS)]

    def new(self, syllables: int) -> str:
        while True:
            draw = [sounds[self.rng.integers(len(sounds))] for _ in range(syllables) for sounds in self.parts]
            name = "".join(draw)
            if name not in self.taken:
                self.taken.add(name)
                return name


def synthetic(
    rng: np.random.Generator,
    tasks: int,
    templates: int = 5,
    pairs: int = 200,
    *,
    subject_first: float = 0.6,
    shared_subjects: float = 0.1,
    shared_templates: int = 0,
) -> Knowledge:
    """Draw tasks, of so many templates and pairs, of the shape of the paper's WikiData5M sample.

    Every template holds a word of its own relation before the object, so that a prefix that shows an object belongs
    to one task; prefixes before that word may be shared by many tasks ("``*1`` is the", "the").

    ``subject_first``: share of templates that start with the subject; ``shared_subjects``: share of a table's subjects,
    which are distinct, that come from a pool common to all tasks; ``shared_templates``: so many templates of every task
    are common to all tasks (and hold no word of a relation). The number of distinct objects of a task is log-uniform
    from ``FEWEST_OBJECTS`` to ``pairs``, and they are drawn with weights 1 / rank**``ZIPF``.
    """
    if not 0 <= shared_templates <= templates:
        raise KnowledgeError(f"shared_templates is {shared_templates}; allowed are 0 to {templates}, all of a task's")
    names = _Names(rng)
    pool = [f"{names.new(2)} {names.new(2)}" for _ in range(max(2 * int(np.ceil(shared_subjects * pairs)), 1))]
    seen: set[Template] = set()
    everywhere = _templates(rng, shared_templates, [], subject_first, seen)
    out = []
    for k in range(tasks):
        own = [names.new(2) for _ in range(3)]
        chosen = everywhere + _templates(rng, templates - shared_templates, own, subject_first, seen)
        shared = int(round(shared_subjects * pairs))
        subjects = [pool[i] for i in rng.choice(len(pool), shared, replace=False)]
        subjects += [f"{names.new(2)} {names.new(2)}" for _ in range(pairs - shared)]
        low = min(FEWEST_OBJECTS, pairs)
        count = int(round(low * (pairs / low) ** rng.random()))
        objects = [f"{names.new(3)}" for _ in range(count)]
        weight = np.arange(1, count + 1) ** -ZIPF
        drawn = rng.choice(count, pairs, p=weight / weight.sum())
        table = tuple((subject, objects[i]) for subject, i in zip(subjects, drawn, strict=True))
        out.append(Task(f"R{k:02d} {own[0]}", tuple(chosen), table))
    return Knowledge(tuple(out))


def _templates(
    rng: np.random.Generator, count: int, own: list[str], subject_first: float, seen: set[Template]
) -> list[Template]:
    """Draw templates that are not in ``seen``, and enter them there."""
    chosen: list[Template] = []
    while len(chosen) < count:
        template = _template(rng, own, subject_first)
        if template not in seen:
            seen.add(template)
            chosen.append(template)
    return chosen


def _template(rng: np.random.Generator, own: list[str], subject_first: float) -> Template:
    """Draw one template: [before] *1 between *2 [after], a word of the relation at a random place before the object."""

    def common(low: int, high: int) -> list[str]:
        # few words carry most of the text, as in real language
        weight = 1.0 / np.arange(1, len(COMMON) + 1)
        count = int(rng.integers(low, high + 1))
        return [COMMON[i] for i in rng.choice(len(COMMON), count, p=weight / weight.sum(), replace=False)]

    def with_own(words: list[str]) -> list[str]:
        if not own:
            return words
        place = int(rng.integers(len(words) + 1))
        return [*words[:place], own[rng.integers(len(own))], *words[place:]]

    if rng.random() < subject_first:
        before, between = [], with_own(common(1, 4))
    else:
        before, between = with_own(common(1, 3)), common(1, 2)
    after = common(1, 2) if rng.random() < 0.3 else []
    room = LONGEST - 3 - len(before) - len(between)
    return Template((*before, SUBJECT, *between, OBJECT, *after[: max(room, 0)], END))
