"""One thread for what a worker computes, at little cost: :func:`moestat.threads.one_thread`, block after block."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_known: tuple[int, Any] = (0, None)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS, and PyTorch where it is loaded, use one thread inside the block.

    Which libraries there are is asked again only when modules have been imported since: it takes as long as a small
    replicate does.
    """
    global _known
    import scipy.linalg  # noqa: F401  SciPy's own BLAS must be loaded for the limit to reach it
    from threadpoolctl import ThreadpoolController

    if _known[0] != len(sys.modules):
        controller = ThreadpoolController()
        _known = (len(sys.modules), controller)
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch is not None else 1
    if before != 1 and torch is not None:
        torch.set_num_threads(1)
    try:
        with _known[1].limit(limits=1):
            yield
    finally:
        if before != 1 and torch is not None:
            torch.set_num_threads(before)
