"""What the lemmas behind Theorem 1 speak of, measured along a run."""

from functools import partial

import numpy as np
import pytest
from cells import cell_of
from pydantic import ValidationError

from studies.expert_count.parts import cubic_experts, proof_steps
from studies.expert_count.parts.proof_steps import Settings, _Look

TINY = {"experts": 4, "clusters": 2, "neurons": 3, "dimension": 12, "n": 80, "expert_rate": 0.05, "looks": 2}


cell = partial(cell_of, proof_steps)


@pytest.fixture(scope="module")
def found():
    return proof_steps.run(cell(**TINY), [0, 4])


def test_stages_end_where_the_paper_ends_them():
    s = Settings(start_scale=0.25, expert_rate=0.01)
    assert s.ends == (50, 100) and s.seen == ([13, 25, 38, 50], [63, 75, 88, 100])
    with pytest.raises(ValidationError, match="no 4 looks each"):
        Settings(start_scale=0.1, expert_rate=0.2)
    with pytest.raises(ValidationError, match="40 clusters need at least 80"):
        Settings(clusters=40, dimension=50)


def test_what_holds_for_every_run(found):
    assert (found["gate_ratio"] <= 1).all(), "Lemma 21"
    assert (found["least_probability"] <= 4 / 2).all() and (found["uneven"] <= 3 / 4).all()
    assert (found["aligned"] <= 1 / 2 + 1e-12).all(), "P = 4 patches share the norm of a gradient"
    assert (found["aligned"] <= found["aligned_most"] + 1e-12).all() and (found["aligned_most"] <= 1 / 2 + 1e-12).all()
    assert (found["under_threshold"] <= found["over_threshold"]).all()
    assert (found["other_signal"] <= found["projection"]).all()


def test_measures_of_a_state_that_is_known():
    s = Settings(**TINY)
    look = _Look(s, partial(cell(**TINY).generator, 0))
    labels, centres = look.directions.labels, look.directions.centres
    weights = np.zeros_like(look.weights)
    who = np.arange(s.experts)
    weights[who, :, look.neuron] = 0.5 * labels[look.profession][:, None]
    theta = 2.0 * np.tile(centres[look.profession].T, (s.patches, 1))  # the router knows professions
    out = look.measure(weights, theta)
    assert out["own_signal"] == pytest.approx(0.5) and out["other_signal"] == pytest.approx(0, abs=1e-12)
    assert out["centre_signal"] == pytest.approx(0, abs=1e-12) and out["off_signals"] < out["output"]
    assert out["router_leads"] == len(set(look.profession.tolist())) / 2
    assert out["router_on_signals"] == pytest.approx(0, abs=1e-12) and out["uneven_scores"] == pytest.approx(
        0, abs=1e-9
    )
    assert out["aligned"] > 0
    f = cubic_experts.outputs(weights[None], look.examples.x[None])[0]
    assert out["output"] == pytest.approx(np.abs(f).max())
