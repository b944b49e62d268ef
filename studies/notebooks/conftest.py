"""The notebooks on whole studies belong to the slow suite; each takes up to two minutes from a cold start."""

import pytest

WHOLE_STUDIES = ("01_first_study.ipynb", "02_your_own_expert.ipynb", "03_published_slope.ipynb", "04_rescoring.ipynb")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark them before the suites are told apart."""
    for item in items:
        if item.path.name in WHOLE_STUDIES:
            item.add_marker(pytest.mark.slow)
