"""When a GPU is taken: by recorded rates, the size of the fits, and how many there are at once."""

import csv
import types
from pathlib import Path

import pytest

from moestat.fit import rates
from moestat.fit.rates import Fits
from moestat.runner import begin, plan
from moestat.runner.request import Request

RECORDED = Path(__file__).parents[2] / "benchmarks" / "results" / "gpu_fits.csv"
FULL = Fits(1024, rates.N, rates.P)


def test_the_rates_are_those_of_the_least_gain_that_was_measured():
    rows = list(csv.DictReader(line for line in RECORDED.read_text().splitlines() if not line.startswith("#")))
    least = min(rows, key=lambda row: float(row["GPU over core"]))
    kept = [rates.CORE, rates.GPU, rates.STEPS]
    assert kept == [float(least[name]) for name in ("one core", "GPU", "steps a fit")]
    assert int(least["n"]) == rates.N and FULL.on_core == rates.CORE
    assert FULL.on_gpu == pytest.approx(rates.GPU, rel=1e-9)


def test_a_gpu_gains_with_the_size_of_fits_their_number_at_once_and_fewer_cores():
    def gain(at_once=16, n=10_000, p=486, cores=16, blocks=1000):
        core, gpu = rates.seconds([Fits(at_once, n, p)] * blocks, cores)
        return core / gpu

    assert gain(at_once=1) < gain(at_once=4) < gain() and gain(n=1000) < gain() < gain(n=100_000)
    assert gain(p=54) < gain() and gain(cores=2) > gain() and gain(blocks=1) < gain()
    assert gain(at_once=1024) == pytest.approx(gain(at_once=2048), rel=0.05)  # no more than a full card


def test_few_small_fits_stay_and_many_large_ones_go():
    assert not rates.faster([Fits(4, 1000, 100)] * 40, 2)[0]
    assert rates.faster([FULL], 2)[0] and not rates.faster([FULL], 16)[0]  # one process scores what a card has fitted
    taken, why = rates.faster([Fits(1024, 100_000, 486)], 16)
    assert taken and "16 cores" in why and "GPU" in why


@pytest.mark.parametrize(
    ("preset", "there", "device", "told"),
    [
        ("quick", "cuda", "cpu", "no rate of a GPU is recorded"),  # gradient descent
        ("quick", "cpu", "cpu", ""),
        ("theorems", "cuda", "cuda", "by recorded rates"),
    ],
)
def test_auto_asks_the_experiment_and_says_why(monkeypatch, preset, there, device, told):
    monkeypatch.setattr("moestat.arrays.resolve_device", lambda asked: there if asked == "auto" else asked)
    of = {"quick": "sigmoid_vs_softmax", "theorems": "sigmoid_regimes"}[preset]
    found, why = begin.auto_device(plan.of(Request(of, preset, replicates=40, block=40)), 2)
    assert found == device and (told in why if told else not why)


def test_a_gpu_is_handed_all_replicates_of_a_cell_unless_blocks_are_asked_for():
    made = plan.of(Request("sigmoid_vs_softmax", "quick"))
    assert made.on("cpu").block == made.block == 5 and made.on("cuda").block == made.replicates == 10
    assert plan.of(Request("sigmoid_vs_softmax", "quick", block=2)).on("cuda").block == 2
    other = plan.of(Request("expert_count_map", "quick"))  # a training after the other
    assert other.on("cuda").block == other.block


def test_an_experiment_that_tells_nothing_stays_where_it_is(monkeypatch):
    monkeypatch.setattr("moestat.arrays.resolve_device", lambda asked: "cuda" if asked == "auto" else asked)
    made = types.SimpleNamespace(experiment=types.SimpleNamespace(DEVICES=("cpu", "cuda")), module_name="x")
    assert begin.auto_device(made, 1) == ("cpu", "")
