"""The studies of the sigmoid-attention paper's rates: their files, their claim functions, and what they read."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from moestat.experiment import Cell, Source
from moestat.losses import voronoi
from moestat.models.regression import Model
from moestat.study.spec import Arm, Claim
from studies.sigmoid_attention.parts import expert_block, reading_rules, regression, rules, sample_complexity
from studies.sigmoid_attention.parts.expert_error import expert_errors
from studies.sigmoid_attention.parts.regression_problem import draw_truth
from studies.sigmoid_attention.parts.regression_scores import per_atom

# --- the study files --------------------------------------------------------------------------------------------------


# --- settings ---------------------------------------------------------------------------------------------------------


def test_a_rule_as_text_starts_where_its_numbers_start():
    common = {
        "n": 50,
        "d": 1,
        "n_true": 2,
        "n_fitted": 3,
        "expert": "linear",
        "estimator": "sgd",
        "evaluation_log2": 8,
        "epochs": 0,
    }
    runs = []
    for settings in ({"start_rule": "n^-0.5"}, {"radius_scale": 1.0, "radius_exponent": -0.5}):
        resolved = regression.Settings(**common, **settings).model_dump()
        runs.append(regression.run(Cell("studies.sigmoid_attention.parts.regression", 3, "a", {}, resolved), [0, 1]))
    np.testing.assert_array_equal(runs[0]["theta"], runs[1]["theta"])
    # v p log n / n with v = 0.01, p = 3 atoms of 5 coordinates
    assert float(runs[0]["bound_rmse"]) == pytest.approx(np.sqrt(0.01 * 15 * np.log(50) / 50))


# --- errors per atom --------------------------------------------------------------------------------------------------
def test_errors_per_atom_are_means_over_the_atoms_of_each_kind():
    model = Model("sigmoid", "full", "linear", 1)
    truth = np.array([[0.0, 0.0, 0.0, 1.0, 0.0], [0.0, 5.0, 0.0, -1.0, 0.0]])  # c, b, A, a, beta
    fitted = np.repeat(truth[[0, 0, 1]][None], 2, axis=0)
    fitted[:, 0, 1] += 0.1  # b of an atom in a cell of two
    fitted[:, 1, 3] += 0.3  # a of the other one
    fitted[:, :2, 0] += 9.0  # c does not count there
    fitted[:, 2, 0] += 0.7  # it does in a cell of one
    fitted[1] = truth[0]  # all three in one cell
    found = per_atom(voronoi.blocks(fitted, truth, model), 3)
    np.testing.assert_allclose(found["over_atom"], [0.2, 0.0], atol=1e-12)
    np.testing.assert_allclose(found["exact_atom"], [0.7, np.nan], atol=1e-12)
    for block, over, exact in (("A", 0.0, 0.0), ("b", 0.05, 0.0), ("c", 9.0, 0.7), ("eta", 0.15, 0.0)):
        np.testing.assert_allclose(found[f"{block}_over_atom"][0], over, atol=1e-12)
        np.testing.assert_allclose(found[f"{block}_exact_atom"], [exact, np.nan], atol=1e-12)


# --- claims of the protocol -------------------------------------------------------------------------------------------
def protocol(slopes: dict[str, float], start: dict[str, float], *, noise: float = 0.02, seed: int = 0) -> xr.Dataset:
    n = np.array([100, 300, 1000, 3000])
    rng = np.random.default_rng(seed)
    dims = ("arm", "start_rule", "n", "replicate")

    def losses(by_rule: dict[str, float]) -> np.ndarray:
        power = np.array(list(by_rule.values()))[:, None, None] * np.log(n)[:, None]
        return np.exp(power + noise * rng.standard_normal((len(by_rule), n.size, 6)))[None]

    return xr.Dataset(
        {
            "L3": (dims, losses(slopes)),
            "start_L3": (dims, losses(start)),
            "status": (dims, np.zeros((1, len(slopes), n.size, 6), dtype=int)),
        },
        coords={"arm": ["a"], "start_rule": list(slopes), "n": n, "replicate": np.arange(6)},
    )


CLAIM = {"id": "x", "source": "s", "statement": "t", "kind": "function", "variable": "L3", "arm": "a", "at_most": 0.1}
GAP = Claim(**CLAIM, function="studies.sigmoid_attention.parts.rules:largest_slope_gap")
MOVE = Claim(**CLAIM, function="studies.sigmoid_attention.parts.rules:largest_move")
FIXED = {"0.1": 0.0, "n^-0.25": -0.25, "n^-0.5": -0.5}
FLAT = dict.fromkeys(FIXED, -0.3)


def test_slopes_of_the_start_are_not_a_property_of_the_estimator():
    ds = protocol(FIXED, FIXED)
    gap = rules.largest_slope_gap(ds, GAP)
    assert gap.low < 0.5 < gap.high and gap.low > 0.1
    assert "0.1 gives" in gap.note and "n^-0.5 gives -0.50" in gap.note
    move = rules.largest_move(ds, MOVE)
    assert move.high < 0.1


def test_the_joint_interval_seldom_misses_equal_slopes():
    """Equal slopes: the interval of the largest gap starts at 0 in at least 95 % of the cases.

    Of 200 studies at most 10 are expected to miss it; more than 22 has a probability below 2e-4.
    """
    missed = sum(rules.largest_slope_gap(protocol(FLAT, FLAT, seed=seed), GAP).low > 0 for seed in range(200))
    assert missed <= 22


# --- the table of sample complexities ---------------------------------------------------------------------------------
def source(folder: Path, slope: float, *, seed: int = 0, date: str = "2026-01-01T00:00:00+00:00") -> Path:
    n = np.array([100, 300, 1000, 3000])
    rng = np.random.default_rng(seed)
    loss = np.exp(slope * np.log(n)[:, None] + 0.05 * rng.standard_normal((4, 5)))[None]
    dims = ("arm", "n", "replicate")
    ds = xr.Dataset(
        {"L3": (dims, loss), "status": (dims, np.zeros(loss.shape, dtype=int))},
        coords={"arm": ["a"], "n": n, "replicate": np.arange(5)},
        attrs={"date": date},
    )
    path = folder / "other" / "quick" / "results.nc"
    path.parent.mkdir(parents=True, exist_ok=True)
    ds.to_netcdf(path, engine="h5netcdf")
    return path


def table(folder: Path, **changes) -> xr.Dataset:
    path = folder / "other" / "quick" / "results.nc"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    sources = {"other": Source(path, digest, xr.load_dataset(path, engine="h5netcdf"), "make it")}
    settings = {"study": "other", "source_arm": "a", "loss": "L3", "order": "eps^-2"} | changes
    return sample_complexity.table(sources, [Arm(name="a", settings=settings)])


def test_a_row_is_the_rate_of_its_source(tmp_path):
    path = source(tmp_path, -0.5)
    ds = table(tmp_path).isel(arm=0)
    assert float(ds["slope_low"]) < -0.5 < float(ds["slope_high"])
    assert float(ds["halving"]) == pytest.approx(4.0, rel=0.1)
    assert str(ds["source_file"].values) == path.as_posix()
    assert str(ds["source_date"].values).startswith("2026-01-01")
    assert str(ds["source_sha256"].values) == hashlib.sha256(path.read_bytes()).hexdigest()


# --- readings of a protocol -------------------------------------------------------------------------------------------
def readings(*slopes: float) -> xr.Dataset:
    """Return losses of one arm whose slopes at the start rules a, b, ... are these, up to 0.01 over six replicates."""
    n, rng = np.array([100, 1000, 10_000]), np.random.default_rng(0)
    jitter = 0.01 * rng.standard_normal((len(slopes), 6))
    values = np.exp(np.log(n)[:, None] * (np.array(slopes)[:, None, None] + jitter[:, None, :]))
    coords = {"arm": ["a"], "start_rule": list("abcdef"[: len(slopes)]), "n": n, "replicate": range(6)}
    return xr.Dataset({"L3": (tuple(coords), values[None])}, coords=coords)


def test_the_nearest_reading_decides_whether_a_printed_slope_can_be_had():
    claim = Claim(**{**CLAIM, "at_most": 0.0}, function="moestat:x")
    for slopes, inside in (((-0.1, -0.5, 0.0), True), ((-0.1, -0.9, 0.0), False)):
        found = reading_rules.nearest_reading(readings(*slopes), claim, curves=[{"within": [-0.6, -0.4]}])
        assert (found.high < 0) == inside and (found.low > 0) == (not inside)
    both = [{"within": [-0.6, -0.4]}, {"within": [-0.2, 0.0]}]
    found = reading_rules.nearest_reading(readings(-0.1, -0.5), claim, curves=both)
    assert found.low > 0 and found.bend == "", "each is met by some reading, and both by none"
    bent = readings(-0.1, -0.5)
    bent["L3"][0, 1] += 0.01
    found = reading_rules.nearest_reading(bent, claim, curves=[{"within": [-0.6, -0.4]}])
    assert found.bend.startswith("The line of L3, a, is bent")


def fitted_source(folder: Path, truths: int) -> Source:
    """Fit a small problem at three sizes and return it as the results of a study."""
    common = {"d": 1, "n_true": 3, "n_fitted": 4, "expert": "linear", "evaluation_log2": 8, "max_iterations": 50}
    common |= {"truths": truths, "noise_variance": 1e-4}
    parts = []
    for n in (60, 120, 240):
        settings = regression.Settings(n=n, **common).model_dump(mode="json")
        cell = Cell("studies.sigmoid_attention.parts.regression", 3, "a", {"n": n}, settings)
        parts.append(regression.run(cell, [0, 1])[["theta", "status"]].expand_dims(n=[n]))
    del settings["n"]
    ds = xr.concat(parts, "n").expand_dims(arm=["a"])
    # another arm of the study has more atoms and coordinates
    ds = ds.pad(atom=(0, 1), coordinate=(0, 2), constant_values=np.nan)
    ds.attrs |= {"settings": json.dumps({"a": settings}), "seed": 3}
    return Source(folder / "results.nc", "0", ds, "make it")


@pytest.mark.parametrize("truths", [1, 2])
def test_the_row_of_experts_is_their_error_to_the_truth_of_each_replicate(tmp_path, truths, monkeypatch):
    read = fitted_source(tmp_path, truths)
    monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path / "cache"))
    row = sample_complexity.Row(study="s", source_arm="a", order="eps^-2")
    assert row.loss == "experts"
    errors = expert_block.expert_errors(read, "a")
    model = Model("sigmoid", "full", "linear", 1)
    settings = regression.Settings(n=60, **json.loads(read.dataset.attrs["settings"])["a"])
    for replicate in (0, 1):
        truth = draw_truth(model, 3, "dense", 3, replicate % truths)
        theta = read.dataset.theta.sel(arm="a", n=120, replicate=replicate).values[:4, : model.atom_size]
        for name, values in expert_errors(theta[None], truth, model).items():
            assert float(errors[name].sel(n=120, replicate=replicate)) == values[0], name
    assert settings.problem.contains_truth
    with monkeypatch.context() as once:  # a report reads the sources anew, and does not compute them anew
        once.setattr(expert_block, "errors_of", None)
        xr.testing.assert_identical(expert_block.expert_errors(read, "a"), errors)
    table_of_one = sample_complexity.table({"s": read}, [Arm(name="a", settings=row.model_dump())])
    assert float(table_of_one["error_first"][0]) == pytest.approx(np.exp(np.log(errors["output"].sel(n=60)).mean()))
    slopes = np.polyfit(np.log([60, 120, 240]), np.log(errors["output"].values), 1)[0]
    np.testing.assert_allclose(table_of_one["slopes"][0], slopes)
