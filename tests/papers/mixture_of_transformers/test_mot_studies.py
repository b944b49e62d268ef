"""The study files on synthetic mixtures of transformers: plans, claims that find numbers, figures that draw."""

import numpy as np
import pytest
import xarray as xr

from moestat.claims.verdicts import judge
from moestat.experiment import Cell
from moestat.papers.expert_count import router_smoothness
from moestat.papers.mixture_of_transformers import mot, mot_initialisation
from moestat.report.figures import draw, panels_of
from moestat.runner import plan
from moestat.study import load

OTHERS = ["mot_initialisation", "mot_router_smoothness"]
STUDIES = [
    "mot_stage3_rate",
    "mot_specialisation",
    "mot_attention",
    "mot_noise_floor",
    "mot_stage_lengths",
    "mot_vs_baselines",
]
TINY = {"samples": 24, "test_samples": 40, "dimension": 8, "records_per_decade": 2}
EASY = {"gap_level": 1e-3, "loss_level": 50.0, "attention_level": 0.01}
NEED = {"specialise_steps": 4, "attention_steps": 4, "tuning_steps": 100}


def results(made, replicates=2):
    """Run tiny versions of all planned cells, collected as the study would."""
    arms = {arm.name: arm.label for arm in made.study_file.study.arms}
    cells = []
    for planned in made.cells:
        settings = dict(planned.cell.settings)
        kind = planned.cell.experiment.rsplit(".", 1)[-1]
        if kind == "mot":
            steps = {name: least if settings[name] else 0 for name, least in NEED.items()}
            ds = mot.run(_with(planned.cell, settings | TINY | EASY | steps), range(replicates), device="cpu")
        else:
            module = {"mot_initialisation": mot_initialisation, "router_smoothness": router_smoothness}[kind]
            ds = module.run(_with(planned.cell, settings | {"draws": 10}), range(replicates), device="cpu")
        cells.append(ds.assign_coords(arm=planned.cell.arm, **planned.cell.coords))
    for axis in ("epoch", "tuning"):
        if axis in cells[0].dims:
            union = np.unique(np.concatenate([ds[axis].values for ds in cells]))
            cells = [ds.reindex({axis: union}) for ds in cells]
    joined = [ds.expand_dims(["arm", *planned.cell.coords]) for ds, planned in zip(cells, made.cells, strict=True)]
    whole = xr.combine_by_coords(joined, combine_attrs="drop")
    whole["status"] = whole["status"].fillna(-1).astype(int)
    return whole.assign_coords(arm_label=("arm", [arms[str(a)] for a in whole["arm"].values]))


def _with(cell, settings):
    return Cell(cell.experiment, cell.study_seed, cell.arm, cell.coords, settings)


@pytest.mark.parametrize("name", STUDIES + OTHERS)
def test_every_preset_plans(name):
    study_file = load.read(name)
    for preset in study_file.study.presets:
        assert plan.make(study_file, preset).cells


@pytest.mark.parametrize("name", STUDIES + OTHERS)
def test_every_claim_finds_its_numbers_and_every_figure_draws(name):
    made = plan.make(load.read(name), "quick")
    ds = results(made)
    verdicts = judge(ds, made.study_file.study, "quick")
    assert verdicts
    known = ("is not on the grid", "has no axis", "hold no variable", "not part of this run", "raised")
    for verdict in verdicts:
        # tiny runs reach no level of the loss, so some have no number; but what a claim names must exist
        assert not any(text in verdict.why for text in known), f"{verdict.claim}: {verdict.why}"
    numbers = [v for v in verdicts if np.isfinite(v.estimate)]
    assert len(numbers) >= len(verdicts) / 2
    for figure in made.study_file.study.figures:
        assert figure.kind == "function" or panels_of(ds, made.study_file.study, figure)
        assert draw(ds, made.study_file.study, "quick", figure)[0].axes
