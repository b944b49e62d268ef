"""Fixtures of the report's tests: results that mimic a real study, and the study that they are of."""

import pytest
from report_example import results, study_of


@pytest.fixture
def ds():
    return results()


@pytest.fixture
def study(ds):
    return study_of(ds)
