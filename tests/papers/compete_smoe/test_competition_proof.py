import numpy as np
import pytest
import xarray as xr
from scipy import integrate, stats

from moestat.experiment import Cell
from moestat.papers.compete_smoe import competition_proof as proof

Y = np.linspace(-10.0, 10.0, 4001)


def tried(version, replicates=(0, 1, 2), **settings):
    full = proof.Settings(version=version, **settings).model_dump()
    return proof.run(Cell("moestat.papers.compete_smoe.competition_proof", 3, version, {}, full), replicates)


def test_a_replicate_does_not_depend_on_its_block():
    xr.testing.assert_identical(tried("printed").sel(replicate=[1]), tried("printed", [1]))


@pytest.mark.parametrize("winners", [1, 2, 3])
def test_the_density_is_one_function_too_many_in_the_family(winners):
    printed, repaired = tried("printed", winners=winners), tried("repaired", winners=winners)
    assert np.all(printed["deficit"] == 1) and np.all(repaired["deficit"] == 0)
    assert np.all(printed["residual"] < 1e-10)


def test_the_derivatives_are_those_of_the_normal_density():
    means, variances, step = np.array([-0.7, 0.9]), np.array([0.3, 0.8]), 1e-4
    f, first, second = np.split(proof.family(means, variances, Y), 3)
    up, down = (np.split(proof.family(means + s, variances, Y), 3)[0] for s in (step, -step))
    sd = np.sqrt(variances)[:, None]
    np.testing.assert_allclose(sd * (up - down) / (2 * step), first, atol=1e-6)
    np.testing.assert_allclose(sd**2 * (up - 2 * f + down) / step**2, second, atol=1e-6)


def test_distances_of_two_normals_agree_with_quadrature():
    for shift, ratio in zip(proof.SHIFT[2:], proof.variation_ratio(proof.SHIFT)[2:], strict=True):
        f, g = stats.norm.pdf(Y), stats.norm.pdf(Y, shift)
        v = 0.5 * integrate.trapezoid(np.abs(f - g), Y)
        h = np.sqrt(0.5 * integrate.trapezoid((np.sqrt(f) - np.sqrt(g)) ** 2, Y))
        np.testing.assert_allclose(ratio, v / h, rtol=1e-4)
        assert v <= np.sqrt(2.0) * h
    assert proof.variation_ratio(np.array([0.1]))[0] > 1.0


@pytest.mark.parametrize(("version", "power"), [("printed", 1.0), ("repaired", 0.5)])
def test_entropy_integrals_agree_with_quadrature(version, power):
    for log_inverse in (1.0, 4.0, 16.0):
        delta = np.exp(-log_inverse)
        ends = delta**2 / 2**13, delta
        value = integrate.quad(lambda t: np.log(1.0 / t) ** power, *ends, epsabs=0.0, limit=200)[0] / delta
        np.testing.assert_allclose(proof.entropy_integral(np.array([log_inverse]), version), value, rtol=1e-6)


def test_the_smaller_of_two_bounds_makes_a_bracket():
    printed, repaired = tried("printed"), tried("repaired")
    assert np.all(printed["excess"] > 1) and np.all(repaired["excess"] <= 1 + 1e-9)
    assert np.all(printed["outside"] == 0) and np.all(repaired["outside"] == 0)
    assert np.all(printed["width"].sel(eta=1e-4) > 1) and np.all(repaired["width"].sel(eta=1e-4) < 0.01)
    densities = stats.norm.pdf(Y[:, None], np.linspace(-2, 2, 41), np.sqrt(0.25))
    assert np.all(densities <= proof.envelope(Y)[:, None])
