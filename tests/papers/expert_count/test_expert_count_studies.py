"""The study files of the expert-count paper: every preset plans, every claim finds its numbers, every figure draws."""

import numpy as np
import pytest
import xarray as xr

from moestat.claims.verdicts import judge
from moestat.experiment import Cell
from moestat.papers.expert_count import expert_count, router_smoothness
from moestat.report.figures import draw, panels_of
from moestat.runner import plan
from moestat.study import load

STUDIES = ["expert_count", "expert_count_budget", "expert_count_theorem", "patch_initialisation", "router_smoothness"]
TINY = {"n": 40, "test_samples": 60, "neurons": 1, "dimension": 8}


def results(made, replicates=2):
    """Run tiny versions of all planned cells, and label their steps as the study would."""
    arms = {arm.name: arm.label for arm in made.study_file.study.arms}
    cells = []
    for planned in made.cells:
        cell = planned.cell
        settings = dict(cell.settings)
        if cell.experiment.endswith("expert_count"):
            s = expert_count.Settings(**settings)
            tiny = settings | TINY | {"steps": s.records - 1}
            ds = expert_count.run(_with(cell, tiny), range(replicates), device="cpu").assign_coords(step=s.recorded)
        else:
            ds = router_smoothness.run(_with(cell, settings | {"draws": 50}), range(replicates), device="cpu")
        cells.append(ds.assign_coords(arm=cell.arm, **cell.coords).expand_dims(["arm", *cell.coords]))
    whole = xr.combine_by_coords(cells, combine_attrs="drop")
    whole["status"] = whole["status"].fillna(-1).astype(int)
    return whole.assign_coords(arm_label=("arm", [arms[str(a)] for a in whole["arm"].values]))


def _with(cell, settings):
    return Cell(cell.experiment, cell.study_seed, cell.arm, cell.coords, settings)


@pytest.mark.parametrize("name", STUDIES)
def test_every_preset_plans(name):
    study_file = load.read(name)
    for preset in study_file.study.presets:
        made = plan.make(study_file, preset)
        assert made.cells


@pytest.mark.parametrize("preset", ["quick", "paper"])
@pytest.mark.parametrize("name", STUDIES)
def test_every_claim_finds_its_numbers_and_every_figure_draws(name, preset):
    made = plan.make(load.read(name), preset)
    ds = results(made)
    verdicts = judge(ds, made.study_file.study, preset)
    assert verdicts
    for verdict in verdicts:
        assert not verdict.why.startswith("There is no number"), f"{verdict.claim}: {verdict.why}"
        assert np.isfinite(verdict.estimate)
    for figure in made.study_file.study.figures:
        assert figure.kind == "function" or panels_of(ds, made.study_file.study, figure)
        if preset == "paper":
            assert draw(ds, made.study_file.study, preset, figure)[0].axes
