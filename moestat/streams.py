"""The one function that turns identities into random streams.

A stream depends on (study seed, key, replicate, purpose) and on nothing else: not on the number of workers, the
batch size, the order of the work or earlier draws. The tuple has a fixed length, because
``SeedSequence([1, 2])`` and ``SeedSequence([1, 2, 0])`` are the same stream.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np


def key(**identity: object) -> str:
    """Return the canonical text of a draw's identity, to be used as the ``key`` of :func:`generator`.

    Two arms that pass the same identity (say, the same truth and sample size) share their draws.

    >>> key(d=8, truth="softmax") == key(truth="softmax", d=8)
    True
    """
    return json.dumps(identity, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _words(text: str, count: int) -> tuple[int, ...]:
    digest = hashlib.sha256(text.encode()).digest()
    return tuple(int.from_bytes(digest[4 * i : 4 * i + 4], "little") for i in range(count))


def generator(study_seed: int, key: str, replicate: int, purpose: str) -> np.random.Generator:
    """Return the random generator of one purpose in one replicate.

    ``study_seed`` is from 0 to 2**64 - 1, ``key`` the identity of what is drawn (:func:`key`), ``replicate`` from 0 to
    2**32 - 1; different purposes (``"data"``, ``"start"``, ...) are independent. Raises ValueError out of these ranges.
    """
    if not 0 <= study_seed < 2**64:
        raise ValueError(f"study_seed is {study_seed}; allowed are 0 to 2**64 - 1")
    if not 0 <= replicate < 2**32:
        raise ValueError(f"replicate is {replicate}; allowed are 0 to 2**32 - 1")
    spawn_key = (*_words(key, 4), replicate, *_words(purpose, 2))
    return np.random.Generator(np.random.PCG64DXSM(np.random.SeedSequence(study_seed, spawn_key=spawn_key)))
