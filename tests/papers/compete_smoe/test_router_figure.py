"""The figures of the router studies draw paired differences."""

import numpy as np
import pytest
import xarray as xr

from moestat.claims.selection import NoAnswerError
from moestat.papers.compete_smoe import router_figure
from moestat.report import style
from moestat.study.spec import Figure

FIGURE = Figure.model_validate({"kind": "function", "function": "a:b", "title": "title"})


@pytest.fixture
def results():
    rng = np.random.default_rng(0)
    seeds = rng.standard_normal(5)
    bpc = np.full((2, 2, 5), np.nan)  # arm, alpha, replicate; the baseline lives at alpha = 5 alone
    bpc[0, 1], bpc[1, 0], bpc[1, 1] = seeds, seeds + 0.3, seeds - 0.2
    valid = np.broadcast_to(np.array([6.0, 4.0, 3.0])[:, None], (2, 2, 3, 5)) + 0.1 * rng.random((2, 2, 3, 5))
    return xr.Dataset(
        {"bpc": (("arm", "alpha", "replicate"), bpc), "valid_bpc": (("arm", "alpha", "step", "replicate"), valid)},
        coords={
            "arm": np.array(["smoe", "compete"], dtype=object),
            "arm_label": ("arm", np.array(["SMoE", "CompeteSMoE"], dtype=object)),
            "alpha": [1.0, 5.0],
            "step": [0, 50, 100],
            "replicate": range(5),
        },
    )


def marks(axes):
    """Return the places of the means: lines of one point with a filled marker."""
    return [float(line.get_xdata()[0]) for line in axes.lines if line.get_xdata().__len__() == 1]


def test_differences_are_paired_and_skip_what_was_not_computed(results):
    with style.look():
        canvas = router_figure.differences(
            results, FIGURE, variable="bpc", baseline=["smoe", 5.0], over="alpha", ylabel="d"
        )
        with pytest.raises(NoAnswerError, match="baseline"):
            router_figure.differences(results, FIGURE, variable="bpc", baseline=["smoe", 1.0], over="alpha")
    (axes,) = canvas.axes
    texts = [text.get_text() for text in axes.get_yticklabels()]
    assert texts == ["CompeteSMoE, alpha = 1", "CompeteSMoE, alpha = 5"]
    # the seeds' common part cancels: the means are exact
    np.testing.assert_allclose(marks(axes), [0.3, -0.2], atol=1e-12)
    assert axes.get_xlabel() == "d"
