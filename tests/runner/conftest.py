"""Reports of these tests have no pictures, save those of other processes; ``tests/report`` draws and reads them."""

import pytest
from machine import undrawn


@pytest.fixture(scope="module", autouse=True)
def without_pictures():
    with undrawn():
        yield
