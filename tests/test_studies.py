"""Every study file as a user meets it: it loads, all its presets plan, a tiny run finds every number and draws.

A tiny run keeps the arms and the grid of the preset ``quick`` and shrinks the settings of each cell, so that what a
claim or a figure names (arms, coordinates, variables) must exist, whatever the numbers are.
"""

import fnmatch
import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from moestat.claims.evidence import Evidence
from moestat.claims.verdicts import judge
from moestat.errors import InputError
from moestat.fit import competition_mle, population
from moestat.identify import evaluate
from moestat.report.figures import caption, draw_evidence, shown
from moestat.runner import plan, results
from moestat.runner import run as runner
from moestat.runner.request import Request
from moestat.study import load
from moestat.study.presets import judges, rate_of

NETWORK = {"stage_one": 1, "stage_two": 2, "epochs": 3, "width": 4, "depth": 1, "heads": 1, "hidden": 4, "batch": 64}
LANGUAGE = {"blocks": 1, "width": 8, "length": 8, "batch": 2, "steps": 4, "every": 2, "validation": 64}
TINY = {
    "attention_gpu": {"blocks": 1, "width": 8, "heads": 1, "hidden": 8, "vocabulary": 9, "rounds": 1, "tokens": 1},
    "attention_lm": LANGUAGE | {"heads": 1, "hidden": 8, "batch": 64, "tokens": 512, "rounds": 1},
    "attention_speed": {"blocks": 1, "width": 8, "heads": 1, "hidden": 8, "tokens": 512, "rounds": 1},
    "compete_lm": LANGUAGE | {"test": 64},
    "compete_readings": LANGUAGE | {"test": 64, "group": 1},
    "competition_bound": {"pool_log2": 10, "evaluation_points": 16},
    "competition_mle": {"pool_log2": 12, "evaluation_points": 64, "near_starts": 1, "random_starts": 1}
    | {"kept": 1, "hops": 0},
    "dichotomy": {"points_log2": 8},
    "figure_readings": {"d": 1, "n_true": 3, "epochs": 1, "truths": 2},
    "expert_count": {"n": 20, "test_samples": 20, "neurons": 1, "dimension": 8},
    "expert_map": {"horizons": [1, 2], "test_samples": 20, "dimension": 8},
    "identifiability": {"d": 1, "atoms": 1},
    "mot": {"samples": 24, "test_samples": 40, "dimension": 8, "records_per_decade": 2}
    | {"gap_level": 1e-3, "attention_level": 0.01},
    "mot_gradients": {"repeats": 1, "judged": 1, "rate": 1.0},
    "mot_images": NETWORK | {"train": 60, "test": 40},
    "mot_landscape": {"samples": 24, "dimension": 8, "neurons": 4, "specialise_steps": 20, "attention_steps": 5},
    "mot_text": NETWORK | {"train": 40, "test": 40, "length": 8},
    "non_identifiability": {"points_log2": 8},
    "proof_steps": {"dimension": 12, "n": 60, "neurons": 2, "expert_rate": 0.05, "looks": 2, "probe": 20},
    "regression": {"d": 1, "max_iterations": 6, "epochs": 1, "batch_size": 32, "pseudo_starts": 1}
    | {"evaluation_log2": 8, "pseudo_points_log2": 8, "pseudo_polish_log2": 8}
    | {"search_effort": 0.01, "pseudo_search": "starts"},
    "router_smoothness": {"draws": 50},
    "settled_argmin": {"d": 1, "max_iterations": 6, "evaluations": 1, "pseudo_starts": 1}
    | {"evaluation_log2": 8, "pseudo_points_log2": 8, "pseudo_polish_log2": 8},
    "softmax_gaussian": {"evaluation_points": 16, "starts": 1, "max_iterations": 20, "search_rounds": 0, "kept": 1},
    "tail_frequency": {"data_sets": 10},
    "task_construction": {"size": "3x2x4", "max_prefixes": 50},
    "task_knockout": {"tasks": 3, "templates": 2, "pairs": 6, "epochs": 2},
    "task_second": {"tasks": 3, "templates": 3, "pairs": 10, "epochs": 2, "completions": 8},
    "task_training": {"tasks": 3, "templates": 2, "pairs": 6, "epochs": 2, "completions": 8},
}
PAIRED = ("minimax_lower_bound", "router_smoothness", "task_knockout", "task_training")
"""Experiments whose tiny cells cost nothing: two replicates of each, so that intervals are drawn. Of the others one."""
LOOK = ("color", "marker", "markerfacecolor", "linestyle")
"""What tells the lines of a figure apart."""
NEVER = ("is not on the grid", "has no axis", "hold no variable", "not part of this run", "raised", "no such arm")
"""What no verdict may say: the claim names something that the results do not hold."""

SIZES = ("n", "samples")

STUDIES = {name: load.read(name) for name in load.known_studies()}
WRITTEN = {file.study.experiment: name for name, file in reversed(STUDIES.items())}
"""The first study of each experiment: its results are written as netCDF, which takes as long as computing them."""


def shrink(made):
    """Return a plan with the arms and the grid of another, whose cells are tiny."""
    kind = made.module_name.rpartition(".")[2]
    claims = [claim for claim in made.study_file.study.claims if judges(made.study_file.study, "quick", claim)]
    by_step = any("step" in {**claim.at, **(claim.versus_at or {})} for claim in claims)
    cells: list = []
    grid = [planned.cell.coords for planned in made.cells]
    sizes = {size: sorted({coords[size] for coords in grid if size in coords}) for size in SIZES}
    for planned in made.cells:
        settings = dict(planned.cell.settings) | TINY.get(kind, {})
        for size in set(SIZES) & set(planned.cell.coords):
            # two sizes: equal cells are computed once
            settings[size] = 60 + sizes[size].index(planned.cell.coords[size]) % 2
        if kind == "regression" and (surplus := settings["n_true"] - 3) > 0:
            settings |= {"n_true": 3, "n_fitted": settings["n_fitted"] - surplus}
        if kind == "expert_count":
            settings["dimension"] = max(settings["dimension"], 2 * settings["clusters"])
        if kind == "expert_count" and not by_step:
            settings["steps"] = settings["records"] - 1
        if kind == "regression":  # every truth of a cell has a Fisher line
            settings["truths"] = min(settings["truths"], 2)
        if kind == "mot":
            least = {"specialise_steps": 4, "attention_steps": 4, "tuning_steps": 100}
            settings |= {name: steps if settings[name] else 0 for name, steps in least.items()}
            settings["dimension"] = max(settings["dimension"], 2 * settings["classes"])
        resolved = made.experiment.Settings(**settings).model_dump(mode="json")
        cell = replace(planned.cell, settings=resolved)
        cells.append(replace(planned, cell=cell))
    count = 2 if kind in PAIRED else 1
    return replace(made, cells=tuple(cells), replicates=count, block=count)


def hurry(monkeypatch):
    """Let experiments search less than they do by themselves."""
    monkeypatch.setenv("MOESTAT_KERNEL", "numpy")  # compiling for an empty cache would take longer than the fits
    monkeypatch.setitem(population.pseudo_truths.__kwdefaults__, "max_iterations", 10)
    monkeypatch.setitem(competition_mle.maximum_likelihood.__kwdefaults__, "adam_steps", 20)
    monkeypatch.setitem(competition_mle.maximum_likelihood.__kwdefaults__, "search_rounds", 2)
    for name, fewer in {"POINTS_LOG2": 7, "FEWEST": 50, "DRAWS": 1}.items():
        monkeypatch.setattr(evaluate, name, fewer)


@pytest.fixture(scope="module")
def one_cache(tmp_path_factory):
    """Return a cache for all tiny runs, apart from the user's: what studies share is computed once."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("name", STUDIES)
def test_every_preset_plans(name):
    study_file = STUDIES[name]
    for preset, planned in study_file.study.presets.items():
        named = [planned.settings[key] for key in ("data", "file", "csv") if planned.settings.get(key)]
        if any(not Path(str(each)).exists() for each in named):  # the user's own file, which is not here
            with pytest.raises(InputError):
                plan.make(study_file, preset)
        else:
            assert study_file.study.reads or plan.make(study_file, preset).cells


@pytest.mark.parametrize("name", STUDIES)
def test_every_panel_of_rates_draws_rates_of_the_study(name):
    """So that window, printed slope and reference of a figure are those of the tables and the verdicts."""
    study = STUDIES[name].study
    arms = [arm.name for arm in study.arms]
    for figure in (figure for figure in study.figures if figure.kind == "rates"):
        for panel in figure.panels:
            for arm in (arm for arm in arms if any(fnmatch.fnmatchcase(arm, pattern) for pattern in panel.arms)):
                assert rate_of(study, panel.variable, figure.x, arm), (figure.name, panel.variable, arm)


def skip_without_libraries(name):
    """Skip a test whose study needs PyTorch where there is none."""
    if importlib.util.find_spec("torch") is None:
        try:
            runner.begin.refuse_without_libraries(plan.of(Request(name)))
        except InputError as error:
            pytest.skip(str(error))


@pytest.mark.parametrize("name", [name for name, file in STUDIES.items() if not file.study.needs])
def test_every_claim_finds_its_numbers_and_every_figure_draws(name, tmp_path, monkeypatch, one_cache):
    monkeypatch.setenv("MOESTAT_CACHE", str(one_cache))
    hurry(monkeypatch)
    study = STUDIES[name].study
    skip_without_libraries(name)
    if WRITTEN[study.experiment] != name:
        monkeypatch.setattr(results, "write", lambda root, dataset: "0" * 64)
    monkeypatch.setattr(runner.begin, "resolve_device", lambda asked, made: "cpu")  # also what is meant for a GPU alone
    make = plan.of
    monkeypatch.setattr(plan, "of", lambda request: shrink(make(request)))
    result = runner.run(Request(name, out=tmp_path / "out", jobs=1, quiet=True, report=False))
    ds = result.dataset
    assert not result.tally["failed"] or "message" in ds
    nameless = [str(name) for name, variable in ds.data_vars.items() if "long_name" not in variable.attrs]
    assert not nameless, f"variables.toml of the paper lacks {nameless}"
    raised = [str(m) for m in np.unique(ds["message"].values[ds["status"].values == 8])]
    assert not raised, raised
    for verdict in judge(ds, study, "quick"):
        assert not any(text in verdict.why for text in NEVER), f"{verdict.claim}: {verdict.why}"
    evidence = Evidence(ds, study, "quick")
    for figure in (figure for figure in study.figures if shown(evidence, figure)):
        canvas, facts = draw_evidence(evidence, figure)
        assert canvas.axes and len(canvas.legends) <= 1
        assert not figure.panels or not canvas.texts, "the title is in the caption, the provenance in the metadata"
        assert len(caption(evidence, figure, facts).split()) <= 150
        colours = {}
        for fact in facts:
            lines = [entry for entry in fact.entries if entry.name]  # of a stated slope there is a value alone
            names = [entry.name for entry in lines]
            assert len(names) == len(set(names)), f"{figure.name}: two lines of one panel are called the same"
            for entry in lines:
                look = [getattr(entry.handle, f"get_{key}")() for key in LOOK]
                assert colours.setdefault(entry.name, look)[0] == look[0], f"{entry.name} changes its colour"
        assert len({tuple(look) for look in colours.values()}) == len(colours), "two names look alike"
