"""The studies of the sigmoid-attention paper's rates: their files, their claim functions, and what they read."""

import csv
import fnmatch
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from moestat.api import run as run_study
from moestat.claims.selection import NoAnswerError
from moestat.claims.verdicts import judge_one, judged
from moestat.cli import main
from moestat.errors import InputError
from moestat.experiment import Cell, Source
from moestat.losses import voronoi
from moestat.models.regression import Model
from moestat.papers.sigmoid_attention import (
    expert_block,
    reading_rules,
    regression,
    regression_settings,
    rules,
    sample_complexity,
)
from moestat.papers.sigmoid_attention.expert_error import expert_errors
from moestat.papers.sigmoid_attention.regression_problem import draw_truth
from moestat.papers.sigmoid_attention.regression_scores import per_atom, score
from moestat.papers.sigmoid_attention.regression_targets import Target
from moestat.study import load
from moestat.study.spec import Arm, Claim

STUDIES = (
    "sigmoid_regimes",
    "paper_protocol",
    "protocol_from_target",
    "partial_gates",
    "partial_quadratic",
    "regression_rate",
    "sample_complexity",
    "theorems_where_assumed",
)
FOLDER = Path(__file__).parents[3] / "studies"


# --- the study files --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", STUDIES)
def test_every_claim_has_its_arms_and_its_grid_points(name):
    study = load.read(FOLDER / f"{name}.toml").study
    for preset_name, preset in study.presets.items():
        grid = study.grid | preset.grid
        arms = [a.name for a in study.arms if any(fnmatch.fnmatchcase(a.name, p) for p in preset.arms)]
        for claim in judged(study, preset_name):
            for arm in filter(None, (claim.arm, claim.versus)):
                assert arm in arms, f"{preset_name}, {claim.id}: no arm {arm}"
            for axis, value in (claim.at | (claim.versus_at or {})).items():
                assert value in grid[axis], f"{preset_name}, {claim.id}: {axis} = {value} is not on the grid"
        shown = {pattern for figure in study.figures for panel in figure.panels for pattern in panel.arms}
        for pattern in shown:
            assert fnmatch.filter([a.name for a in study.arms], pattern), pattern


@pytest.mark.parametrize(
    "name", ["sigmoid_regimes", "partial_gates", "partial_quadratic", "regression_rate", "theorems_where_assumed"]
)
def test_every_replicate_has_a_truth_of_its_own(name):
    """No truth is chosen, and intervals over replicates are intervals over truths."""
    study = load.read(FOLDER / f"{name}.toml").study
    for label, preset in study.presets.items():
        least = {"paper": 10, "theorems": 10, "gates": 10, "exact": 10, "compact": 10, "figure2": 6}.get(label, 30)
        assert preset.settings["truths"] == preset.replicates >= least, label


@pytest.mark.parametrize("name", load.known_studies())
def test_slopes_at_one_truth_bear_on_no_minimax_bound(name):
    """Theorem 2 of sigmoid-attention is about the worst truth; only the sequences of its proof bear on it."""
    study = load.read(name).study
    if study.paper != "sigmoid-attention" or name == "minimax_lower_bound":
        return
    for claim in study.claims:
        about = re.search(r"Thms? 2\b|Theorem 2\b", claim.source + claim.because)
        exponential = str(claim.predicted).startswith("exp(")
        if about or exponential:
            assert claim.bearing == "neutral", claim.id


# --- settings ---------------------------------------------------------------------------------------------------------
def test_n_fitted_zero_stands_for_the_true_number():
    assert regression.Settings(n=10, n_true=5, n_fitted=0).n_fitted == 5
    assert regression.Settings(n=10, n_fitted=0).n_fitted == regression.Settings.model_fields["n_true"].default


@pytest.mark.parametrize(
    ("text", "rule"), [("0.1", (0.1, 0)), ("1 n^-0.5", (1, -0.5)), ("0.005 n^-0.083", (0.005, -0.083))]
)
def test_a_start_rule_is_read_as_scale_and_exponent(text, rule):
    settings = regression.Settings(n=10, start_rule=text)
    assert (settings.radius_scale, settings.radius_exponent) == rule


@pytest.mark.parametrize("text", ["", "-0.1", "n", "n^0.5", "0.1 m^-1", "1 n^-"])
def test_other_texts_are_no_start_rules(text):
    with pytest.raises(ValueError, match="start_rule"):
        regression_settings.radius_rule(text)


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
        runs.append(regression.run(Cell("moestat.papers.sigmoid_attention.regression", 3, "a", {}, resolved), [0, 1]))
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


def test_blocks_are_taken_to_the_measure_that_a_fit_is_near():
    problem = regression.Settings(n=50, n_true=3, n_fitted=3, d=1, expert="linear").problem
    rng = np.random.default_rng(1)
    near = rng.standard_normal((3, problem.fitted.atom_size))
    far = near + 3.0
    both = np.stack([near, far])
    target = Target(near, both, both, True, np.zeros(2), {})
    found = score(problem, target, both + 1e-3, 8)
    assert (found["eta_exact_atom"] < 0.01).all()
    assert (found["L3"] < 0.1).all() and (found["empty_cells"] == 0).all()


def test_a_surplus_atom_always_makes_an_over_specified_cell():
    rng = np.random.default_rng(0)
    model = Model("sigmoid", "full", "relu", 2)
    truth = rng.standard_normal((3, model.atom_size))
    fitted = rng.standard_normal((200, 4, model.atom_size))
    found = per_atom(voronoi.blocks(fitted, truth, model), 4)
    assert np.isfinite(found["over_atom"]).all()
    assert np.isnan(found["exact_atom"]).any(), "200 random fits should hold one without a cell of one atom"


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
GAP = Claim(**CLAIM, function="moestat.papers.sigmoid_attention.rules:largest_slope_gap")
MOVE = Claim(**CLAIM, function="moestat.papers.sigmoid_attention.rules:largest_move")
FIXED = {"0.1": 0.0, "n^-0.25": -0.25, "n^-0.5": -0.5}
FLAT = dict.fromkeys(FIXED, -0.3)


def test_slopes_of_the_start_are_not_a_property_of_the_estimator():
    ds = protocol(FIXED, FIXED)
    gap = rules.largest_slope_gap(ds, GAP)
    assert gap.low < 0.5 < gap.high and gap.low > 0.1
    assert "0.1 gives" in gap.note and "n^-0.5 gives -0.50" in gap.note
    move = rules.largest_move(ds, MOVE)
    assert move.high < 0.1


def test_the_lines_of_a_gap_and_of_a_move_say_where_they_bend():
    ds = protocol(FIXED, FIXED, noise=1e-12)
    assert rules.largest_slope_gap(ds, GAP).bend == rules.largest_move(ds, MOVE).bend == ""
    ds["L3"][0, 2] += 0.01
    gap, move = rules.largest_slope_gap(ds, GAP), rules.largest_move(ds, MOVE)
    assert gap.bend.startswith("The line of n^-0.5 is bent and flattens") and "0.1 is" not in gap.bend
    assert move.bend.startswith("The line at the end is bent and flattens") and "start" not in move.bend


def test_an_estimator_that_forgets_its_start_is_recognised():
    ds = protocol(FLAT, FIXED)
    gap = rules.largest_slope_gap(ds, GAP)
    assert gap.high < 0.1
    assert rules.largest_move(ds, MOVE).low > 0.1


def test_the_joint_interval_seldom_misses_equal_slopes():
    """Equal slopes: the interval of the largest gap starts at 0 in at least 95 % of the cases.

    Of 200 studies at most 10 are expected to miss it; more than 22 has a probability below 2e-4.
    """
    missed = sum(rules.largest_slope_gap(protocol(FLAT, FLAT, seed=seed), GAP).low > 0 for seed in range(200))
    assert missed <= 22


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda ds: ds.drop_vars("L3"), "no variable"),
        (lambda ds: ds.assign_coords(arm=["b"]), "not part of this run"),
        (lambda ds: ds.expand_dims(batch_size=[0, 1]), "batch_size"),
        (lambda ds: ds.isel(start_rule=[0]), "two values of start_rule"),
        (lambda ds: ds.assign(L3=ds["L3"].where(ds["replicate"] < 1)), "1 complete"),
    ],
)
def test_protocol_claims_without_an_answer_say_why(change, words):
    with pytest.raises(NoAnswerError, match=words):
        rules.largest_slope_gap(change(protocol(FLAT, FLAT)), GAP)


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


def finished(ds: xr.Dataset) -> xr.Dataset:
    status = ("arm", "replicate"), np.zeros((1, 1), dtype=int)
    return ds.assign(status=status).assign_coords(arm=["a"], replicate=[0])


def test_a_row_is_the_rate_of_its_source(tmp_path):
    path = source(tmp_path, -0.5)
    ds = table(tmp_path).isel(arm=0)
    assert float(ds["slope_low"]) < -0.5 < float(ds["slope_high"])
    assert float(ds["halving"]) == pytest.approx(4.0, rel=0.1)
    assert str(ds["source_file"].values) == path.as_posix()
    assert str(ds["source_date"].values).startswith("2026-01-01")
    assert str(ds["source_sha256"].values) == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"source_arm": "b"}, "holds no arm 'b'; run it with that arm: make it"),
        ({"loss": "L9"}, "holds no variable 'L9'"),
        ({"study": "third"}, "a row reads the study 'third', which needs does not name; it names other"),
    ],
)
def test_a_row_that_its_source_does_not_hold_is_refused(tmp_path, changes, words):
    source(tmp_path, -0.5)
    with pytest.raises(InputError, match=words):
        table(tmp_path, **changes)


def test_a_replicate_without_values_stays_out(tmp_path):
    path = source(tmp_path, -0.5)
    broken = xr.load_dataset(path, engine="h5netcdf")
    broken["status"].values[0, 0, 0] = 8
    broken["L3"].values[0, 0, 0] = 1e9
    broken.to_netcdf(path, engine="h5netcdf")
    ds = table(tmp_path).isel(arm=0)
    assert int(ds["source_replicates"]) == 4 and "incomplete" in str(ds["reasons"].values)
    assert str(ds["turn"].values) == ""
    broken["L3"] += 0.1
    broken.to_netcdf(path, engine="h5netcdf")
    assert str(table(tmp_path).isel(arm=0)["turn"].values).startswith(" and flattens")
    assert float(ds["slope"]) == pytest.approx(-0.5, abs=0.1)


def test_a_row_that_hangs_on_unconverged_replicates_decides_nothing(tmp_path):
    path = source(tmp_path, -0.25)
    changed = xr.load_dataset(path, engine="h5netcdf")
    changed["status"].values[0, -1, :4] = 1  # the iteration limit: values, but not converged
    changed.to_netcdf(path, engine="h5netcdf")
    ds = finished(table(tmp_path, order="eps^-4"))
    assert int(ds["source_replicates"].squeeze()) == 5
    rule = Claim(
        **{**CLAIM, "at_most": None, "within": (-0.35, -0.15)},
        function="moestat.papers.sigmoid_attention.rules:x",
    )
    (reason,) = rules.measured_slope(ds, rule).reasons
    assert "did not converge" in reason


def test_the_verdict_of_a_row_names_its_source(tmp_path):
    source(tmp_path, -0.25)
    ds = finished(table(tmp_path, order="eps^-4"))
    study = load.read(FOLDER / "sample_complexity.toml").study
    rule = Claim(
        **{**CLAIM, "at_most": None, "within": (-0.35, -0.15)},
        function="moestat.papers.sigmoid_attention.rules:measured_slope",
    )
    found = judge_one(ds, study, rule, "quick")
    assert found.verdict == "supported" and "sha256" in found.why and "times the samples" in found.why
    assert "bent" not in found.why
    turned = ds.assign(turn=ds["turn"].copy(data=np.full(ds["turn"].shape, " and turns")))
    told = judge_one(turned, study, rule, "quick")
    assert told.why.endswith(". The line is bent and turns.")
    assert "/quick/results.nc of" in found.why and str(tmp_path) not in found.why, "no path of one machine"
    with pytest.raises(NoAnswerError):
        rules.measured_slope(ds, rule.model_copy(update={"arm": "b"}))


def test_two_rows_are_compared_by_the_data_sets_of_their_source():
    slopes = np.array([[-0.5, -0.6, np.nan], [-0.2, -0.31, -0.9]])
    texts = ("arm", "replicate"), np.array([[""], [""]], dtype=object)
    ds = xr.Dataset(
        {"slopes": (("arm", "member"), slopes), "slopes_converged": (("arm", "member"), slopes), "reasons": texts},
        coords={"arm": ["fast", "slow"], "replicate": [0]},
    )
    claim = Claim(**{**CLAIM, "arm": "fast", "versus": "slow"}, function="moestat:x")
    found = rules.slope_lead(ds, claim)
    assert found.value == pytest.approx(-0.295) and found.replicates == 2 and found.reasons == ()
    unsettled = ds.assign(slopes_converged=ds["slopes"] * np.nan)
    assert "did not converge" in rules.slope_lead(unsettled, claim).reasons[0]


def test_levels_of_two_rows_are_compared_whatever_their_rates_are():
    logs = np.array([[0.1, 0.3, np.nan, -0.2], [0.6, 0.9, 1.0, 0.2]])
    texts = ("arm", "replicate"), np.array([["no rate"], [""]], dtype=object)
    ds = xr.Dataset(
        {"lasts": (("arm", "member"), logs), "lasts_converged": (("arm", "member"), logs), "reasons": texts},
        coords={"arm": ["low", "high"], "replicate": [0]},
    )
    claim = Claim(**{**CLAIM, "arm": "low", "versus": "high", "at_most": 0.0}, function="moestat:x")
    found = rules.level_lead(ds, claim)
    assert found.value == pytest.approx(-0.5) and found.replicates == 3 and found.reasons == ()
    unsettled = ds.assign(lasts_converged=ds["lasts"] * np.nan)
    assert "did not converge" in rules.level_lead(unsettled, claim).reasons[0]


def test_the_last_errors_are_those_of_the_largest_size():
    losses = xr.DataArray([[1.0, 2.0, 3.0], [0.5, 0.0, np.nan]], dims=("n", "replicate"), coords={"n": [10, 100]})
    np.testing.assert_allclose(sample_complexity.last_logs(losses[::-1]), [np.log(0.5), np.nan, np.nan])


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


def test_the_fastest_reading_is_the_lowest_difference():
    both = xr.concat([readings(-0.5, -0.5), readings(-0.5, -0.3).assign_coords(arm=["b"])], "arm")
    claim = Claim(**{**CLAIM, "arm": "a", "versus": "b"}, function="moestat:x")
    found = reading_rules.fastest_reading(both, claim)
    assert found.value == pytest.approx(-0.2, abs=0.02) and found.high < 0 and "start_rule b" in found.note
    both["L3"][1] += 0.1
    assert reading_rules.fastest_reading(both, claim).bend.startswith("The second line is bent")


def two_rows(folder: Path) -> Path:
    """Write a study file with two rows that read the study ``other``."""
    text = (FOLDER / "sample_complexity.toml").read_text(encoding="utf-8")
    rows = "".join(
        f'[[arms]]\nname = "{name}"\n'
        f'settings = {{ study = "other", source_arm = "a", loss = "L3", order = "{order}" }}\n'
        f'[[claims]]\nid = "{name}"\nsource = "s"\nstatement = "t"\nkind = "function"\narm = "{name}"\n'
        f'function = "moestat.papers.sigmoid_attention.rules:measured_slope"\n{rule}\n'
        for name, order, rule in (("fast", "eps^-2", "within = [-0.6, -0.4]"), ("slow", "eps^-4", "at_least = -0.3"))
    )
    head, figures = text[: text.index("[[arms]]")], text[text.index("[[figures]]") :]
    head = re.sub(r"^arms = .*\n", "", head, flags=re.MULTILINE)  # of a preset, which names other rows
    own = folder / "table.toml"
    own.write_text(re.sub(r"^needs = .*$", 'needs = ["other"]', head, flags=re.MULTILINE) + rows + figures)
    return own


def verdicts(folder: Path) -> dict[str, str]:
    with open(folder / "table" / "quick" / "claims.csv", newline="", encoding="utf-8") as stream:
        return {row["claim"]: row["verdict"] for row in csv.DictReader(stream)}


def test_the_table_runs_from_file_to_claims_and_its_report_reads_the_sources_anew(tmp_path, capsys):
    source(tmp_path, -0.5)
    own = two_rows(tmp_path)
    found = run_study(str(own), out=tmp_path, jobs=1, quiet=True)
    assert verdicts(tmp_path) == {"fast": "supported", "slow": "not supported"}
    assert (tmp_path / "table" / "quick" / "figure.png").stat().st_size > 10_000, found
    source(tmp_path, -0.25)
    assert main(["report", str(own), "--out", str(tmp_path)]) == 0
    assert verdicts(tmp_path) == {"fast": "not supported", "slow": "supported"}
    assert main(["status", str(own), "--out", str(tmp_path)]) == 0
    assert "Complete." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('order = "eps^-2"', 'order = "eps^-3"', "the settings of an arm: order: Input should be"),
        ("sample_complexity:table", "sample_complexity:nothing", "which cannot be imported"),
        ("\nneeds =", "\nexperiment = 'regression'\nneeds =", "exactly one of experiment and reads"),
    ],
)
def test_a_mistake_in_a_study_that_reads_others_is_one_sentence(tmp_path, old, new, words):
    source(tmp_path, -0.5)
    own = two_rows(tmp_path)
    own.write_text(own.read_text().replace(old, new))
    with pytest.raises(InputError, match=words):
        run_study(str(own), out=tmp_path, jobs=1, quiet=True)


def fitted_source(folder: Path, truths: int) -> Source:
    """Fit a small problem at three sizes and return it as the results of a study."""
    common = {"d": 1, "n_true": 3, "n_fitted": 4, "expert": "linear", "evaluation_log2": 8, "max_iterations": 50}
    common |= {"truths": truths, "noise_variance": 1e-4}
    parts = []
    for n in (60, 120, 240):
        settings = regression.Settings(n=n, **common).model_dump(mode="json")
        cell = Cell("moestat.papers.sigmoid_attention.regression", 3, "a", {"n": n}, settings)
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


def test_a_table_is_the_same_from_the_errors_that_are_kept_in_place_of_the_parameters(tmp_path, monkeypatch):
    read = fitted_source(tmp_path, 1)
    read = replace(read, dataset=read.dataset.assign_attrs(study="s"))
    monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path / "cache"))
    settings = {"study": "s", "source_arm": "a", "order": "eps^-4"}
    arms = [Arm(name=loss, settings=settings | {"loss": loss}) for loss in ("experts", "eta")]
    others = [Arm(name="b", settings=settings | {"study": "t"}), Arm(name="c", settings=settings | {"loss": "rmse"})]
    assert sample_complexity.condensed(read, others) is read.dataset, "neither needs the parameters of this study"
    kept = sample_complexity.condensed(read, [*arms, *others])
    assert {kept[name].attrs["derived"] for name in kept if name.startswith("expert_")} == {1}
    small = replace(read, dataset=kept.drop_vars("theta"))
    expected = sample_complexity.table({"s": read}, arms)
    monkeypatch.setattr(expert_block, "errors_of", None)
    xr.testing.assert_identical(sample_complexity.table({"s": small}, arms), expected)
    again = sample_complexity.condensed(small, arms)
    assert again is small.dataset, "what is there stays where the parameters are gone"


def test_results_without_settings_or_with_a_truth_outside_have_no_error_of_experts(tmp_path):
    read = fitted_source(tmp_path, 1)
    bare = replace(read, dataset=read.dataset.assign_attrs(settings="{}"))
    with pytest.raises(InputError, match="not the settings, of the arm 'a': make it"):
        expert_block.expert_errors(bare, "a")
    known = json.loads(read.dataset.attrs["settings"])
    known["a"]["truth_gate"] = "softmax"
    outside = replace(read, dataset=read.dataset.assign_attrs(settings=json.dumps(known)))
    with pytest.raises(InputError, match="does not contain the truth"):
        expert_block.expert_errors(outside, "a")


@pytest.mark.parametrize(("slope", "factor"), [(-0.5, 4.0), (-0.25, 16.0), (0.0, np.inf), (0.2, np.inf)])
def test_halving(slope, factor):
    assert sample_complexity.halving(slope) == factor


def test_a_single_run_says_which_commands_make_what_it_reads(tmp_path):
    with pytest.raises(InputError) as error:
        run_study("sample_complexity", "paper", out=tmp_path, quiet=True)
    for name in ("sigmoid_regimes", "partial_quadratic"):
        assert f"python -m moestat.study {name} --preset paper --out {tmp_path}" in str(error.value)
