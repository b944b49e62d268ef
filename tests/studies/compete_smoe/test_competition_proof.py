import numpy as np
import pytest
from cells import computed
from scipy import integrate, stats

from studies.compete_smoe.parts import competition_proof as proof

Y = np.linspace(-10.0, 10.0, 4001)


def tried(version, replicates=(0, 1, 2), **settings):
    return computed(proof, replicates, version=version, **settings)


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


def test_the_printed_envelope_is_one_of_a_standard_deviation():
    printed, repaired = tried("printed", [0]), tried("repaired", [0])
    assert printed["envelope_ratio"].sel(replicate=0, largest_variance=1.0) <= 1
    # by hand: the variance 0.5 and the mean 2 at y = 4, and the variance 2 at its mean
    tail = np.exp(-4.0) / np.sqrt(0.5) * 0.1 / np.exp(-(16.0) / (8 * 0.25))
    np.testing.assert_allclose(printed["envelope_ratio"].sel(replicate=0, largest_variance=0.5), tail)
    np.testing.assert_allclose(printed["envelope_ratio"].sel(replicate=0, largest_variance=3.0), np.sqrt(2.0))
    np.testing.assert_allclose(repaired["envelope_ratio"], 1.0)
    for smallest, largest in zip(proof.SMALLEST, proof.LARGEST, strict=True):
        means, sds = np.meshgrid(np.linspace(-2, 2, 21), np.sqrt(np.linspace(smallest, largest, 11)))
        densities = stats.norm.pdf(Y[:, None, None], means, sds)
        bound = proof.envelope(Y, (smallest, largest), "repaired")[:, None, None]
        assert np.all(densities <= bound * (1 + 1e-12))
        # as printed it bounds densities with such standard deviations
        wide = stats.norm.pdf(Y[:, None, None], means, sds**2)
        assert np.all(wide <= proof.envelope(Y, (smallest, largest), "printed")[:, None, None] * (1 + 1e-12))


def test_widths_and_distances_of_brackets_agree_with_quadrature():
    means, variances, limits = np.array([-1.0, 1.0]), np.array([0.5, 0.8]), (0.25, 1.0)
    ds = tried("printed"), tried("repaired")
    assert all(np.all(ds[0][name] >= 0.4) for name in ("width_growth", "distance_growth"))
    assert np.all(ds[1]["width_growth"] <= 0.1) and np.all(ds[1]["distance_ratio"] <= 1)

    def of(eta, f):
        def inside(y):
            at = np.array([y])
            low, up = proof.bracket(proof.density(means, variances, at), eta, at, limits, "repaired")
            return float(f(low[0], up[0]))

        kinks = [-4.0, 4.0]
        return integrate.quad(inside, -40.0, 40.0, points=kinks, limit=2000, epsabs=0.0, epsrel=1e-4)[0]

    width = [of(eta, lambda low, up: up - low) / eta for eta in (1e-6, 1e-12)]
    assert 0.4 < np.log2(width[1] / width[0]) < 0.5
    squared = of(1e-6, lambda low, up: (np.sqrt(up) - np.sqrt(low)) ** 2 / 2) / 1e-6
    assert squared <= width[0] / 2
    # a replicate of about these means and variances has a width and a distance of about this size
    found = np.sqrt(squared * 1e-6) / (width[0] * 1e-6)
    assert 0.5 < found / ds[0]["distance_ratio"].sel(eta=1e-6).mean() < 2
