import numpy as np
import pytest
import xarray as xr

from moestat.claims.rules import largest, smallest
from moestat.claims.selection import NoAnswerError
from moestat.rates import Cases
from moestat.study.spec import Claim

DS = xr.Dataset(
    {"loss": (("arm", "t", "replicate"), np.array([[[1.0, np.nan], [5.0, 2.0]], [[9.0, 3.0], [4.0, 7.0]]]))},
    coords={"arm": ["one", "two"], "t": [0.1, 1.0], "replicate": [0, 1]},
)


def claim(arm="", rule=None, **at):
    given = {"id": "c", "source": "s", "statement": "t", "kind": "function", "function": "m:f"}
    return Claim.model_validate(given | {"variable": "loss", "arm": arm, "at": at} | (rule or {"at_most": 4.0}))


def test_the_largest_value_is_found_with_its_place():
    found = largest(DS, claim("one"))
    assert found.value == found.low == found.high == 5
    assert found.note == "largest of 3 values, at arm one, t 1, replicate 0"
    assert largest(DS, claim(), arms=["*"]).value == 9
    assert largest(DS, claim("two", t=1.0)).value == 7
    assert largest(DS, claim(), arms=["one"], where={"t": 0.5}).value == 1


def test_nothing_to_look_at_is_an_error():
    with pytest.raises(NoAnswerError, match="No arm of this run matches three"):
        largest(DS, claim("three"))
    with pytest.raises(NoAnswerError, match="no value in the arms one"):
        largest(DS, claim("one"), where={"t": 0.01})
    with pytest.raises(NoAnswerError, match="also runs over t"):
        largest(DS, claim("one"), over=[])


def test_the_smallest_is_the_largest_of_the_negative():
    turned = DS.assign(loss=-DS["loss"])
    for arm, at in (("one", {}), ("", {}), ("two", {"t": 1.0})):
        least, most = smallest(DS, claim(arm, **at)), largest(turned, claim(arm, **at))
        assert least.value == -most.value and least.note == most.note.replace("largest", "smallest")


@pytest.mark.parametrize(
    ("rule", "cases"),
    [
        # of the seven values 1, 5, 2 and 9, 3, 4, 7, four lie above 4; each of the two draws has one of these
        ({"at_most": 4.0}, Cases(7, 4, 2, 0, every=True)),
        ({"at_most": 9.0}, Cases(7, 7, 2, 2, every=True)),
        ({"at_least": 7.0}, Cases(7, 2, 2, 0, every=False)),
        ({"within": [1.0, 9.0]}, None),
    ],
)
def test_cases_are_counted_against_the_rule(rule, cases):
    answer = largest(DS, claim("*", rule))
    assert answer.cases == cases and answer.exact
    if cases is not None:  # again, value by value
        low, high = claim("*", rule).region
        known = [v for v in DS["loss"].values.ravel() if not np.isnan(v)]
        assert (cases.count, cases.inside) == (len(known), sum(low <= v <= high for v in known))
