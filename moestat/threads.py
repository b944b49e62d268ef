"""One thread for all that computes: the order of a sum, and so the last bits of a number, depends on their number."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
"""What tells the libraries how many threads to use, where it is set before they are imported."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS, and PyTorch where it is loaded, use one thread inside the block; workers share the cores anyway."""
    import scipy.linalg  # noqa: F401  SciPy's own BLAS must be loaded for the limit to reach it
    from threadpoolctl import threadpool_limits

    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch is not None else 1
    if torch is not None:
        torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        if torch is not None:
            torch.set_num_threads(before)
