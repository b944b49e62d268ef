"""Results that mimic a real study: four least-squares arms and one SGD arm, eight sizes, ten replicates."""

import numpy as np
import xarray as xr

from moestat.study.spec import Study

SLOPES = {"softmax-relu": -0.5, "sigmoid-relu": -0.45, "softmax-linear": -0.3, "sigmoid-linear": -0.7}
N = np.round(np.geomspace(1e3, 1e5, 8)).astype(int)


def results(slopes=None, sizes=N, replicates=10, seed=0, sd=0.2):
    slopes = SLOPES if slopes is None else slopes
    rng = np.random.default_rng(seed)
    shape = (len(slopes), len(sizes), replicates)
    dims = ("arm", "n", "replicate")
    n = np.asarray(sizes, dtype=float)[None, :, None]
    slope = np.array(list(slopes.values()))[:, None, None]
    loss = 150 * (n / 1000) ** slope * np.exp(sd * rng.standard_normal(shape))
    start = 12 * np.exp(0.05 * rng.standard_normal(shape)) * np.ones_like(loss)
    policy = np.full(shape[:2], "Least squares: 1 start(s) near the truth, radius 0.05.", dtype=object)
    names = list(slopes)
    return xr.Dataset(
        {
            "status": (dims, np.zeros(shape, dtype=np.int64)),
            "message": (dims, np.full(shape, "The stopping criterion was met.", dtype=object)),
            "iterations": (dims, rng.integers(14, 90, shape)),
            "gradient": (dims, 10.0 ** rng.uniform(-9, -6, shape)),
            "L3": (dims, loss),
            "rmse": (dims, loss / 1000),
            "start_L3": (dims, start),
            "good": (dims, rng.random(shape) < 0.8),
            "fisher_L3": (dims[:2], 600 * (n * np.ones_like(slope))[..., 0] ** -0.5),
            "start_policy": (dims[:2], policy),
        },
        coords={"arm": np.array(names, dtype=object), "n": np.asarray(sizes), "replicate": np.arange(replicates)}
        | {"arm_label": ("arm", np.array([n.replace("-", " gate, ") for n in names], dtype=object))},
    )


def study_of(ds, **more):
    arms = [str(a) for a in ds["arm"].values]
    panel = {"title": "Parameter error", "variable": "L3", "ylabel": "Voronoi loss L3"}
    rate = {"loss": "L3", "bound": -0.5, "reference": "fisher_L3", "printed": {arms[0]: -0.24}}
    content = {
        "title": "A study of & for <tests>",
        "paper": "a-paper",
        "source": "SA Fig. 1",
        "question": "Does *sigmoid* converge faster than softmax?",
        "about": "Data: x on [-1, 1]^d, y = f*(x) + noise.\n\nThe slope is -0.5, as it **should** be.",
        "experiment": "regression",
        "seed": 20260101,
        "settings": {"d": 8, "box": 5.0},
        "grid": {"n": ds["n"].values.tolist()},
        "arms": [{"name": a, "label": str(ds["arm_label"].sel(arm=a).values), "settings": {"k": 1}} for a in arms],
        "presets": {"quick": {"replicates": ds.sizes["replicate"], "about": "A small one."}},
        "rates": [rate, {"loss": "rmse"}],
        "summaries": ["good", "rmse"],
        "claims": [
            {"id": "slope", "source": "SA Fig. 1a", "statement": "It converges like n^(-0.5).", "kind": "slope"}
            | {"variable": "L3", "arm": arms[0], "predicted": -0.5, "within": [-0.6, -0.4]},
            {"id": "faster", "source": "SA Fig. 1b", "statement": "Faster.", "kind": "slope_difference"}
            | {"variable": "L3", "arm": arms[0], "versus": arms[-1], "predicted": "faster", "at_most": 0},
            {"id": "absent", "source": "SA Fig. 2", "statement": "Of an arm that was not run.", "kind": "slope"}
            | {"variable": "L3", "arm": "absent", "predicted": -0.25, "at_most": 0},
        ],
        "figures": [{"name": "rates", "xlabel": "sample size n", "panels": [panel]}],
    }
    return Study.model_validate(content | more)
