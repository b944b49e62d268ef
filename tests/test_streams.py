"""Random streams: one identity, one stream; another identity, another stream; the same for ever."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moestat import streams
from moestat.experiment import Cell, SettingsModel
from moestat.replicates import Streams, each, steps
from moestat.status import Status


def _state(*identity):
    return streams.generator(*identity).integers(0, 2**63, size=4).tobytes()


IDENTITIES = st.tuples(st.integers(0, 2**64 - 1), st.text(max_size=12), st.integers(0, 2**32 - 1), st.text(max_size=12))


@given(IDENTITIES, IDENTITIES)
def test_streams_are_equal_exactly_when_their_identities_are(first, second):
    assert (_state(*first) == _state(*second)) == (first == second)


def test_neighbours_and_trailing_zeros_do_not_collide():
    # numpy.random.SeedSequence drops trailing zeros of its entropy, so ids of 0 are where a naive tuple collides
    seeds = (0, 1, 2, 2**32, 2**32 + 1, 2**63, 2**64 - 1)
    keys = ("", "0", "00", "\0", "a", "a\0", '{"n":100}', '{"n":1000}')
    identities = list(itertools.product(seeds, keys, (0, 1, 2, 2**32 - 1), ("", "\0", "data", "start")))
    assert len({_state(*identity) for identity in identities}) == len(identities)


def test_neighbouring_streams_are_uncorrelated():
    # largest of 780 correlations of 40 streams of 20_000 normals; each is N(0, 1/20_000), and by Bonferroni
    # P(any |r| > 5.2 / sqrt(20_000)) < 780 * 2e-7 = 1.6e-4
    draws = np.stack([streams.generator(7, streams.key(n=1000), r, "data").standard_normal(20_000) for r in range(40)])
    assert np.abs(np.corrcoef(draws)[np.triu_indices(40, 1)]).max() < 5.2 / np.sqrt(20_000)


def test_known_values_never_change():
    # published results depend on these: a change here is a change of every study
    rng = streams.generator(20250601, streams.key(d=8, n=1000, truth="softmax"), 3, "data")
    pinned = [6345747018469069936, 4483305801751099435, 404445161255597716]
    assert rng.integers(0, 2**63, size=3).tolist() == pinned
    np.testing.assert_allclose(rng.standard_normal(2), [0.7868073746068912, 0.6009905391417668], rtol=1e-15)
    zero = streams.generator(0, "", 0, "").integers(0, 2**63, size=2).tolist()
    assert zero == [5979639508091077913, 7615524467714221706]


def test_key_is_canonical():
    assert streams.key(d=8, truth="softmax") == streams.key(truth="softmax", d=8) == '{"d":8,"truth":"softmax"}'
    assert len({streams.key(n=1), streams.key(n=1.0), streams.key(n="1"), streams.key(n=None), streams.key()}) == 5
    with pytest.raises(ValueError):
        streams.key(n=float("nan"))
    with pytest.raises(TypeError):
        streams.key(n=object())


@pytest.mark.parametrize(
    ("seed", "replicate", "named"),
    [(-1, 0, "study_seed"), (2**64, 0, "study_seed"), (0, -1, "replicate"), (0, 2**32, "replicate")],
)
def test_numbers_out_of_range_are_named(seed, replicate, named):
    with pytest.raises(ValueError, match=named):
        streams.generator(seed, "k", replicate, "data")


class Settings(SettingsModel):
    n: int = 4


@each(
    dims={"drawn": ("place",)}, coords=lambda s: {"place": range(s.n)}, finished="Done.", of_cell=lambda s: {"m": s.n}
)
def run(s: Settings, streams: Streams):
    """Draw."""
    return {"drawn": streams("data", n=s.n).random(s.n), "one": 1.0}


def test_streams_are_those_of_the_cell_and_the_dataset_is_whole():
    cell = Cell(__name__, 5, "arm", {}, {"n": 3})
    ds = run(cell, [2, 0])
    assert ds["drawn"].dims == ("replicate", "place") and ds["m"].item() == 3 and run.__doc__ == "Draw."
    for r in (0, 2):
        np.testing.assert_array_equal(ds["drawn"].sel(replicate=r), cell.generator(r, "data", n=3).random(3))
    assert ds["status"].values.tolist() == [0, 0] and ds["message"].values.tolist() == ["Done."] * 2


def test_steps_that_left_the_numbers_are_a_status():
    assert steps({"a": np.ones(2)}, 7) == {"status": 0, "message": "All 7 steps were taken.", "iterations": 7}
    assert steps({"a": np.array([1.0, np.inf])}, 7)["status"] == Status.NOT_FINITE


def test_a_function_without_settings_is_refused():
    with pytest.raises(TypeError, match="must be of the type Settings"):
        each()(lambda s, streams: {})
