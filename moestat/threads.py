"""One thread for all that computes: the order of a sum, and so the last bits of a number, depends on their number."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
"""What tells the libraries how many threads to use, where it is set before they are imported."""

_known: tuple[int, Any] = (0, None)  # the modules there were, and the libraries with threads that they had loaded


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS, and PyTorch where it is loaded, use one thread inside the block; workers share the cores anyway."""
    global _known
    import scipy.linalg  # noqa: F401  SciPy's own BLAS must be loaded for the limit to reach it
    from threadpoolctl import ThreadpoolController

    if _known[0] != len(sys.modules):  # looking for the libraries takes as long as a small replicate
        controller = ThreadpoolController()
        _known = (len(sys.modules), controller)
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch is not None else 1
    if torch is not None:
        torch.set_num_threads(1)
    try:
        with _known[1].limit(limits=1):
            yield
    finally:
        if torch is not None:
            torch.set_num_threads(before)
