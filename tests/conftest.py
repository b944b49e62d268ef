"""What holds for all tests: the same examples in every run, so that a failure is one of the change that it follows."""

import gc
import os
from pathlib import Path

import hypothesis
import pytest

from moestat.fit import kernel

# search further now and then with:  python -m pytest --hypothesis-profile=search
hypothesis.settings.register_profile("same", derandomize=True)
hypothesis.settings.register_profile("search", max_examples=1000, deadline=None)
hypothesis.settings.load_profile("same")

# among what four thousand tests and their libraries hold, each look for garbage takes half a second
gc.set_threshold(100_000, 20, 50)


def pytest_collection_finish():
    """Leave what was collected out of every later look for garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def processes_without_dask():
    """Let the processes that tests start be those of a plain installation, which are a fifth faster; see the folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent / "without_dask"), prepend=os.pathsep)
        yield


@pytest.fixture(scope="session", autouse=True)
def kernels_are_kept():
    """Keep what is compiled for the next run: the place is chosen once, and many tests have a cache of their own."""
    if kernel.vector_bits():
        kernel.compiled(lambda: 0)
