"""The figure of paired comparisons: what it draws on the right is the mean of the replicates' differences or ratios."""

import numpy as np
import pytest
import xarray as xr

from moestat.claims.selection import NoAnswerError
from moestat.report.paired_figure import paired
from moestat.study.spec import Figure

FIGURE = Figure(kind="function", title="t", x="step", xlabel="step", logx=False, logy=False)
OPTIONS = {"variables": {"loss": "bits"}, "baseline": "a", "others": ["b"]}


def results() -> xr.Dataset:
    rng = np.random.default_rng(0)
    base = 5 + rng.random((3, 6))  # the replicates differ much more than the arms
    loss = np.stack([base, base * 1.1 + 0.001 * rng.random((3, 6))])
    loss[1, 0, 2] = np.nan
    of_values = {"valid_range": [4.0, np.inf]}  # no difference lies in it
    array = (("arm", "step", "replicate"), loss, of_values)
    return xr.Dataset({"loss": array}, coords={"arm": ["a", "b"], "step": [0, 10, 20]})


def right(canvas) -> tuple[np.ndarray, np.ndarray]:
    """Return the line of the panel on the right, and the lengths of its bars."""
    (container,) = canvas.axes[1].containers
    _, _, (bars,) = container
    line = canvas.axes[1].get_lines()[0]
    return line.get_ydata(), np.array([np.ptp(segment[:, 1]) for segment in bars.get_segments()])


@pytest.mark.parametrize("ratio", [False, True])
def test_differences_are_taken_replicate_by_replicate(ratio):
    ds = results()
    a, b = ds["loss"].values
    wanted = np.exp(np.nanmean(np.log(b / a), axis=1)) if ratio else np.nanmean(b - a, axis=1)
    mean, bars = right(paired(ds, FIGURE, **OPTIONS, ratio=ratio, region=[-10.0, 0.05]))
    np.testing.assert_allclose(mean, wanted, rtol=1e-12)
    assert (bars < 0.2).all(), "the part that the pairs share should be gone"


def test_points_of_another_axis_are_compared():
    ds = results().rename(arm="kernel").expand_dims(arm=["x"])
    mean, _ = right(paired(ds, FIGURE, **OPTIONS, over="kernel", at={"arm": "x"}))
    np.testing.assert_allclose(mean, right(paired(results(), FIGURE, **OPTIONS))[0])


def test_what_cannot_be_drawn_is_told():
    with pytest.raises(NoAnswerError, match="no variable 'lost'"):
        paired(results(), FIGURE, **(OPTIONS | {"variables": {"lost": "x"}}))
    with pytest.raises(NoAnswerError, match="not over step and replicate alone"):
        paired(results().expand_dims(n=[1, 2]), FIGURE, **OPTIONS)
