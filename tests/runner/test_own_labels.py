"""Labels that machines round differently are one label, whichever shard is read first."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from machine import inside, results, shards, write_study

from moestat.runner import origin, own_labels

NUMBERS = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=6, unique_by=lambda v: round(np.log(v), 3))


@given(NUMBERS, st.lists(st.integers(-3, 3), min_size=6, max_size=6), st.randoms())
def test_a_grid_that_two_machines_round_differently_is_one_grid(labels, ulps, order):
    other = [v + k * np.spacing(v) for v, k in zip(labels, ulps, strict=False)]
    first, second = own_labels.numbered([labels, other]), own_labels.numbered([other, labels])
    assert (
        own_labels.standing(first) == own_labels.standing(second) == [min(p) for p in zip(labels, other, strict=True)]
    )
    assert [first[v] for v in labels] == [first[v] for v in other] == list(range(len(labels)))
    part = order.sample(other, len(other) - 1)
    united = own_labels.numbered([labels, part]) if part else first
    assert len(own_labels.standing(united)) == len(labels)
    assert all(own_labels.one(own_labels.standing(united)[united[v]], v) for v in [*labels, *part])


def test_labels_that_differ_stay_apart():
    places = own_labels.numbered([["relu", "gelu"], ["tanh"]])
    assert places == {"gelu": 0, "relu": 1, "tanh": 2} and own_labels.standing(places) == ["gelu", "relu", "tanh"]
    assert own_labels.standing(own_labels.numbered([[0.1, 0.1 + 1e-9], [0.2]])) == [0.1, 0.1 + 1e-9, 0.2]


def test_positions_are_found_by_value():
    eps = 10.0 ** -np.arange(1, 5)
    other = np.nextafter(eps[::-1], 0)
    assert own_labels.positions(eps, other).tolist() == [3, 2, 1, 0]
    assert own_labels.positions(eps, np.array([0.5])) is None


def test_a_dataset_takes_the_labels_of_another():
    eps = 10.0 ** -np.arange(1, 4)
    ours = xr.Dataset({"y": ("eps", [1.0, 2.0, 3.0])}, {"eps": np.nextafter(eps, 1)})
    theirs = xr.Dataset({"y": ("eps", [1.0, 2.0])}, {"eps": eps[:2]})
    adopted = own_labels.adopt(ours, theirs)
    assert adopted["eps"].values.tolist() == [*eps[:2], np.nextafter(eps[2], 1)]
    assert xr.align(adopted, theirs, join="inner")[0]["y"].values.tolist() == [1.0, 2.0]


EXPERIMENT = """\
import numpy as np
import xarray as xr
from moestat.experiment import SettingsModel

class Settings(SettingsModel):
    n: int = 1
    kind: str = "mean"

def run(cell, replicates, *, device):
    r = np.array(replicates, dtype=float)
    eps = 10.0 ** -np.arange(3.0)
    data = {"status": ("replicate", [0] * len(r)), "curve": (("replicate", "eps"), r[:, None] + eps), "line": 1 / 3}
    return xr.Dataset(data, coords={"replicate": list(replicates), "eps": eps})
"""


TINY = 1 + 1e-15


@pytest.mark.parametrize(("factor", "blas", "code"), [(TINY, "another", 0), (TINY, "", 1), (1.01, "another", 1)])
def test_shards_of_two_machines_are_one_run(tmp_path, monkeypatch, factor, blas, code):
    (tmp_path / "grids.py").write_text(EXPERIMENT)
    study = write_study(tmp_path, experiment="grids", replicates=4, block=2, grid="n = [10]")
    run = (study, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")
    assert inside(*run)[0] == 0
    before = results(tmp_path)
    for path in shards(tmp_path)[::2]:
        path.unlink()
    here = origin.here()
    if blas:
        monkeypatch.setattr(origin, "here", lambda: here | {"blas": [blas]})
    import grids

    whole = grids.run

    def elsewhere(cell, replicates, *, device):
        found = whole(cell, replicates, device=device)
        return found.assign_coords(eps=found["eps"] * factor).assign(line=found["line"] * factor)

    monkeypatch.setattr(grids, "run", elsewhere)
    ended, _, err = inside(*run)
    assert ended == code, err
    if code:
        assert "'line' of" in err and "differs between the shards" in err
    else:
        found = results(tmp_path)
        assert found.sizes == before.sizes and np.allclose(found["eps"], before["eps"], rtol=1e-14)
        assert found["curve"].equals(before["curve"].assign_coords(eps=found["eps"]))
