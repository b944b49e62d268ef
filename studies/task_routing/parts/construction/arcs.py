"""Why the valid tokens cannot always lie above all others in a plane of logits.

By Lemma 5.1 the logits lie in a plane, l_t = <p_t, z>, in which every token is the only largest one for some z: the
points p_t are the corners of a convex polygon. The tokens with a logit above c are the corners in an open half-plane,
and these are neighbours: an *arc* of the polygon, whatever z and c, or all tokens.

Three arcs with a token in common cannot each have a token that is in neither of the other two. Seen from the common
token, the arc that goes furthest to the left and the one that goes furthest to the right hold whatever the third one
holds. So three valid sets with a common token, each with a token of its own (a *star*), are not all arcs, in whatever
order the tokens stand on the polygon. A star is enough for that, not necessary.
"""

from __future__ import annotations

import itertools

from studies.task_routing.parts.knowledge import Knowledge, Prefixes

MOST_SETS = 48
"""Valid sets with a common token that are tried by threes: 17 296 threes for each token, at most."""
MOST_THREES = 2_000_000
"""Threes that are tried in all."""


def find_star(prefixes: Prefixes) -> tuple[int, ...]:
    """Return the rows of three prefixes whose valid sets share a token, and that token; nothing if none are found.

    Equal sets count once, at the shortest prefix. A star may be missed where very many sets share each token.
    """
    rows: dict[bytes, int] = {}
    for row in range(len(prefixes)):
        valid = prefixes.valid(row)
        # one token cannot be both common and private
        if valid.size > 1:
            rows.setdefault(valid.tobytes(), row)
    holding: dict[int, list[tuple[int, int]]] = {}
    for row in rows.values():
        valid = prefixes.valid(row).tolist()
        bits = sum(1 << token for token in valid)
        for token in valid:
            sets = holding.setdefault(token, [])
            if len(sets) < MOST_SETS:
                sets.append((row, bits))
    threes = ((token, three) for token, sets in sorted(holding.items()) for three in itertools.combinations(sets, 3))
    for token, ((i, a), (j, b), (k, c)) in itertools.islice(threes, MOST_THREES):
        if a & ~(b | c) and b & ~(a | c) and c & ~(a | b):
            return i, j, k, token
    return ()


def in_words(star: tuple[int, ...], knowledge: Knowledge) -> str:
    """Name the three prefixes of a star and the token that may follow them all; empty if there is none."""
    if not star:
        return ""
    first, second, third = (f"[{knowledge.decode(knowledge.prefixes.tokens[row])}]" for row in star[:3])
    token = knowledge.vocabulary[star[3]]
    return f"{first}, {second} and {third} may each go on with {token} and with a token of their own"
