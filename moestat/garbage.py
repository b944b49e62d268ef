"""The garbage collector, put off where nothing is lost by it."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def left() -> Iterator[None]:
    """Leave garbage where it is: among many small objects (a syntax tree, a figure) looking for it takes long."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
