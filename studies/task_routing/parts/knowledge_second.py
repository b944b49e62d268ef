"""A second generator of sentences, written from the task-routing paper alone.

Relations are of the kind that WikiData5M has, each with sentences as those of Figure 4 (a verb, a noun, the kind of its
subject, in common frames), so that tasks share beginnings and even templates, and the word of a relation may follow the
object. Subjects of a kind are drawn from one pool, so that tasks share many; objects are drawn as guests sit at tables
(Pitman-Yor), from the pool of their kind.
"""

from __future__ import annotations

import numpy as np

from studies.task_routing.parts.knowledge import Knowledge, KnowledgeError, Task, Template

RELATIONS = """
country | place | lies in | place
capital | place | is governed from | place
region | place | is located in | place
mayor | place | is led by | person
twin town | place | is twinned with | place
river | place | stands on the banks of | place
time zone | place | keeps the time of | thing
official language | place | conducts its business in | thing
birthplace | person | was born in | place
place of death | person | died in | place
father | person | is a child of | person
spouse | person | is married to | person
occupation | person | works as | thing
employer | person | works for | organisation
citizenship | person | is a citizen of | place
alma mater | person | studied at | organisation
teacher | person | studied under | person
award | person | won | thing
religion | person | believes in | thing
instrument | person | plays | thing
party | person | is a member of | organisation
team | person | plays for | organisation
author | work | was written by | person
director | work | was directed by | person
composer | work | was set to music by | person
genre | work | is an example of | thing
publisher | work | was published by | organisation
original language | work | was written in | thing
sequel | work | is followed by | work
lead actor | work | stars | person
setting | work | takes place in | place
producer | work | was produced by | organisation
founder | organisation | was founded by | person
head office | organisation | is located in | place
chairman | organisation | is led by | person
owner | organisation | belongs to | organisation
industry | organisation | is active in | thing
main product | organisation | makes | thing
parent taxon | species | belongs to | species
habitat | species | is found in | place
"""
"""Noun, kind of the subject, verb, kind of the object."""
FRAMES = [
    "{subject} VERB {object}.",
    "{subject} is a KIND that VERB {object}.",
    "{subject} has {object} as its NOUN.",
    "{subject} 's NOUN is {object}.",
    "the NOUN of {subject} is {object}.",
    "the NOUN associated with {subject} is {object}.",
    "the KIND {subject} VERB {object}.",
    "it is known that {subject} VERB {object}.",
    "as its NOUN , {subject} has {object}, among others.",
]
POOL = 4
"""Entities of a kind, in tables."""
DISCOUNT = 0.5
"""Of the Pitman-Yor process; its strength is drawn from 1 to 100, evenly in its logarithm."""


def sentences(rng: np.random.Generator, tasks: int, templates: int, pairs: int) -> Knowledge:
    """Draw so many of the relations, templates of each, and pairs."""
    relations = [line.split(" | ") for line in RELATIONS.strip().splitlines()]
    for what, asked, most in (("tasks", tasks, len(relations)), ("templates", templates, len(FRAMES))):
        if asked > most:
            raise KnowledgeError(f"{what} is {asked}; the second generator has at most {most}")
    out = []
    for row in rng.choice(len(relations), tasks, replace=False):
        noun, kind, verb, other = relations[row]
        texts = [FRAMES[i] for i in rng.choice(len(FRAMES), templates, replace=False)]
        for word, value in (("NOUN", noun), ("KIND", kind), ("VERB", verb)):
            texts = [text.replace(word, value) for text in texts]
        subjects = rng.choice(POOL * pairs, pairs, replace=False)
        objects = rng.permutation(POOL * pairs)[_seats(rng, pairs)]
        table = tuple((f"{kind} {a}", f"{other} {b}") for a, b in zip(subjects, objects, strict=True))
        out.append(Task(noun, tuple(map(Template.parse, texts)), table))
    return Knowledge(tuple(out))


def _seats(rng: np.random.Generator, guests: int) -> list[int]:
    """Seat guests one by one, and return the table of each."""
    strength, seats = 100 ** rng.random(), [0]
    for guest in range(1, guests):
        taken = np.bincount(seats)
        weight = np.append(taken - DISCOUNT, strength + DISCOUNT * len(taken))
        seats.append(int(rng.choice(len(weight), p=weight / (guest + strength))))
    return seats
