"""Rate studies: functions of a notebook in several processes, their identity, and losses of fits."""

import functools
import importlib
import os
import pickle
import re
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import moestat as ms
from moestat import callables, cli, fit, own_files
from moestat.errors import InputError, StaleError
from moestat.runner.run import InterruptedRunError
from moestat.status import Status

SIZES = [20, 40, 80, 160]
QUIET = {"quiet": True, "report": False}


def simulate_with(scale):
    shift = np.zeros(3)

    def error(n, rng):
        return abs(float(rng.normal(scale=scale, size=n).mean() + shift.sum()))

    def simulate(n, rng):
        return {"mean": error(n, rng), "spread": abs(rng.normal())}

    return simulate


def test_a_closure_gives_the_same_numbers_in_two_processes_and_in_one(tmp_path):
    made = [ms.rate_study(simulate_with(2.0), n=SIZES, replicates=4, seed=3, name="closure") for _ in range(2)]
    one = made[0].run(jobs=1, out=tmp_path / "one", **QUIET)
    two = made[1].run(jobs=2, out=tmp_path / "two", **QUIET)
    xr.testing.assert_equal(one, two)
    assert (one["status"] == Status.CONVERGED).all()
    assert list(ms.rates.table(two, over="n").fits) == ["mean", "spread"]


def test_replicates_beyond_those_that_are_asked_for_are_told(tmp_path):
    study = ms.rate_study(simulate_with(1.0), n=SIZES, replicates=3, seed=3, name="fewer")
    assert "in these results" not in study.run(jobs=1, out=tmp_path, **QUIET).attrs["notes"]
    few = study.run(jobs=1, out=tmp_path, replicates=2, **QUIET)
    told = "4 replicates beyond the 2 of each cell that were asked for are there, and not in these results"
    assert few.sizes["replicate"] == 2 and told in few.attrs["notes"]
    with pytest.raises(InputError, match="^jobs is 'two'; allowed are whole numbers"):
        study.run(jobs="two", out=tmp_path, **QUIET)


def test_an_interrupted_run_goes_on_where_it_was(tmp_path, monkeypatch):
    def simulate(n, rng):
        if n == 40 and os.environ.get("MOESTAT_TEST_STOP"):
            raise KeyboardInterrupt
        return rng.exponential()

    def study():
        return ms.rate_study(simulate, n=SIZES, replicates=4, seed=3, name="stopped")

    whole = study().run(jobs=1, out=tmp_path / "whole", **QUIET)
    monkeypatch.setenv("MOESTAT_TEST_STOP", "1")
    with pytest.raises(InterruptedRunError, match="8 of 16 replicates are done"):
        study().run(jobs=1, out=tmp_path / "again", **QUIET)
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "again").rglob("*.shard")}
    monkeypatch.delenv("MOESTAT_TEST_STOP")
    xr.testing.assert_equal(study().run(jobs=1, out=tmp_path / "again", **QUIET), whole)
    assert kept and all(path.stat().st_mtime_ns == stamp for path, stamp in kept.items())


CODE = """
import numpy as np
weights = np.array([1.0, 2.0])
unused = 3
def helper(x, power=2):
    return x**power
class Scale:
    factor = 2
    def __call__(self, x):
        return self.factor * x
def make(sigma):
    scale = Scale()
    def simulate(n, rng):
        inner = [helper(w) + 0.5 for w in weights]
        return scale(sigma) * n * sum(inner)
    return simulate
simulate = make(3.0)
"""


def code_of(text, lines=0, file="cell"):
    content = {"__name__": file}
    exec(compile("\n" * lines + text, f"<{file}>", "exec"), content)
    return callables.code_of({"simulate": content["simulate"]})


def test_code_that_only_moved_is_the_same():
    assert code_of(CODE) == code_of(CODE, lines=7, file="another") == code_of(CODE.replace("unused = 3", "unused = 4"))
    commented = CODE.replace("    scale = Scale()", "    # a remark\n\n    scale = Scale()")
    assert code_of(CODE) == code_of(commented)


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("0.5", "0.6", "simulate"),
        ("n, rng", "n, rng, more=1", "simulate"),
        ("* n *", "/ n *", "simulate"),
        ("make(3.0)", "make(3.1)", "sigma in simulate"),
        ("[1.0, 2.0]", "[1.0, 2.5]", "weights in simulate"),
        ("power=2", "power=3", "helper in simulate"),
        ("x**power", "x**power + 1", "helper in simulate"),
        ("factor = 2", "factor = 3", "scale in simulate"),
        ("self.factor * x", "self.factor + x", "scale in simulate"),
    ],
)
def test_a_change_is_told_by_the_part_that_changed(old, new, part):
    before, after = code_of(CODE), code_of(CODE.replace(old, new))
    assert {name for name in before | after if before.get(name) != after.get(name)} == {part}


def test_files_count_that_a_name_or_a_module_stands_for(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    found = []
    for power in (2, 3):
        file = tmp_path / "rate_helper.py"
        text = f"def gate(s, order):\n    return (s**{power}, {power} * s, 2 + 0 * s)[: order + 1]\n"
        file.write_text(text + "#" * power)  # compiled files are told apart by second and size
        importlib.invalidate_caches()
        module = importlib.reload(sys.modules["rate_helper"]) if power == 3 else importlib.import_module("rate_helper")
        own_files.remember()
        found.append([callables.code_of({"it": value}) for value in ("rate_helper:gate", module, module.gate)])
    assert all(before != after for before, after in zip(*found, strict=True))
    file.write_text("gate = None\n")
    with pytest.raises(StaleError, match=r"rate_helper.py was changed after .* restart"):
        callables.code_of({"it": "rate_helper:gate"})
    monkeypatch.delitem(sys.modules, "rate_helper")


def test_code_means_the_same_when_it_has_travelled():
    model = ms.Model(lambda x, p: 1 / (1 + np.exp(-x @ p.T)), d=1, gate_size=1)
    values = {"simulate": simulate_with(2.0), "model": model, "named": ms.Model("sigmoid", "relu", d=2)}
    code = callables.keep(values)
    assert code == callables.code_of(values)
    import cloudpickle

    assert code == callables.code_of(pickle.loads(cloudpickle.dumps(values)))


def test_results_of_changed_code_are_stale_and_the_part_is_named(tmp_path):
    def study(scale):
        return ms.rate_study(simulate_with(scale), n=SIZES[:2], replicates=2, seed=3, name="stale")

    study(2.0).run(jobs=1, out=tmp_path, **QUIET)
    with pytest.raises(
        StaleError, match=r"code: error in simulate.*Choose: run\(out=\.\.\.\).*run\(replace_stale=True\)"
    ):
        study(2.5).run(jobs=1, out=tmp_path, **QUIET)
    study(2.0).run(jobs=1, out=tmp_path, **QUIET)


@pytest.mark.parametrize(
    ("captured", "told"),
    [
        (np.random.default_rng(0), "captured in simulate is a generator of random numbers"),
        ((number for number in range(3)), "captured in simulate is .* not known by what it holds"),
    ],
)
def test_what_cannot_be_hashed_is_named(captured, told):
    def simulate(n, rng):
        return captured

    with pytest.raises(InputError, match=told):
        ms.rate_study(simulate, n=SIZES, seed=1)


def test_arms_share_their_draws_and_a_number_is_a_loss(tmp_path):
    arms = {"once": lambda n, rng: rng.normal() ** 2, "twice": lambda n, rng: 2 * rng.normal() ** 2}
    ds = ms.rate_study(arms=arms, n=SIZES[:2], replicates=3, seed=1).run(jobs=1, out=tmp_path, **QUIET)
    once, twice = ds["loss"].values
    assert np.array_equal(2 * once, twice) and np.unique(once).size == once.size


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        ([1.0, 2.0], "simulate returned [1.0, 2.0]; allowed are a number, and a dictionary"),
        ({"error": "small"}, "simulate returned 'small' for 'error'; allowed"),
        ({}, "simulate returned {}; allowed"),
        (None, "simulate returned None; allowed"),
    ],
)
def test_a_bad_return_value_is_told_in_a_sentence(returned, told, tmp_path):
    def simulate(n, rng):
        return returned

    ds = ms.rate_study(simulate, n=[10], replicates=1, seed=1, name="bad").run(jobs=1, out=tmp_path, **QUIET)
    assert ds["status"].item() == Status.RAISED
    assert told in ds["message"].item()


def test_draws_from_the_generator_of_the_process_are_refused(tmp_path):
    study = ms.rate_study(lambda n, rng: np.random.normal(), n=[10], replicates=1, seed=1, name="shared")  # noqa: NPY002
    assert "rng.normal(), not" in study.run(jobs=1, out=tmp_path, **QUIET)["message"].item()


def test_replicates_that_warn_are_counted_and_their_numbers_stay(tmp_path):
    def simulate(n, rng, warn=True):
        value = rng.random()
        for _ in range(3 * (value < 0.5) * warn):
            warnings.warn("it is small", RuntimeWarning, stacklevel=1)
        return value

    def run(function, jobs, out):
        study = ms.rate_study(function, n=SIZES, replicates=4, seed=1, name="warned")
        return study.run(jobs=jobs, out=tmp_path / out, **QUIET)

    one, two = run(simulate, 1, "one"), run(simulate, 2, "two")
    small = one["loss"].values[0] < 0.5
    cells = [f"arm simulate, n = {n}: {count}" for n, count in zip(SIZES, small.sum(axis=1), strict=True) if count]
    told = f"{small.sum()} of 16 replicates warned: RuntimeWarning: it is small ({', '.join(cells)})"
    assert 0 < small.sum() < 16
    assert told in one.attrs["notes"].split("\n") and told in two.attrs["notes"].split("\n")
    silent = run(functools.partial(simulate, warn=False), 1, "silent")
    assert "warned" not in silent.attrs["notes"]
    assert np.array_equal(silent["loss"], one["loss"])


def test_a_function_that_writes_into_what_it_refers_to_is_refused(tmp_path):
    count = [0]

    def simulate(n, rng):
        count[0] += 1
        return float(count[0])

    study = ms.rate_study(simulate, n=[10], replicates=1, seed=1, name="writes")
    ds = study.run(jobs=1, out=tmp_path, **QUIET)
    assert "count in simulate changed while simulate computed" in ds["message"].item()


FILE = """
import moestat as ms

def make(power):
    return lambda n, rng: n**power * rng.lognormal(sigma=0.1)

study = ms.rate_study(make(-0.5), n=[100, 1000, 3000, 10_000], replicates=4, seed=1, theory={"loss": -0.5})
"""


class Planted:
    """Writes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_a_study_file_runs_and_no_pickle_of_a_results_folder_is_loaded(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(FILE)
    assert cli.main(["mine.py", "--dry-run"]) == 0
    assert cli.main(["mine.py", "--jobs", "2", "--quiet"]) == 0
    assert "slope" in capsys.readouterr().out
    trap, pickles = tmp_path / "unpickled", [*Path("outputs").rglob("*.pickle")]
    assert [path.parts[:3] for path in pickles] == [("outputs", "cache", "code")]
    planted = pickle.dumps(Planted(trap))
    for path in (*pickles, Path("outputs/mine/quick/code.pickle"), Path("outputs/mine/quick") / pickles[0].name):
        path.write_bytes(planted)
    assert cli.main(["report", "mine.py"]) == 0
    assert cli.main(["status", "mine.py"]) == 0
    assert cli.main(["replay", "mine.py", "function", "100", "2"]) == 0
    ms.load("outputs/mine/quick/results.nc")
    monkeypatch.setattr(callables, "_known", {})
    monkeypatch.setattr(callables, "_sent", {})
    told = callables.send([callables.keep({"simulate": simulate_with(1.0)})], tmp_path / "cache")
    (file,) = (tmp_path / "cache" / "code").iterdir()
    file.write_bytes(planted)
    monkeypatch.setattr(callables, "_known", {})
    monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path / "cache"))
    code = callables.code_of({"simulate": simulate_with(1.0)})
    with pytest.raises(InputError, match="not in this process"):  # nobody said that it was sent
        callables.get(code)
    callables.expect(told)
    with pytest.raises(StaleError, match="was changed by somebody"):
        callables.get(code)
    assert not trap.exists()


TRUTH = np.array([[2.0, 0.5, 1.0, -1.0], [-1.5, 1.0, -1.0, 0.5]])


def test_losses_of_a_model_are_those_of_its_fits(tmp_path):
    model = ms.Model("sigmoid", d=1)

    def largest(theta, truth, model):
        return np.abs(theta - truth[0][:, None]).max()

    study = ms.rate_study(
        model, TRUTH, fitted=2, n=[200], replicates=2, seed=1, search="local", losses={"largest": largest}, name="model"
    )
    ds = study.run(jobs=1, out=tmp_path, **QUIET).squeeze()
    from moestat.losses.voronoi import L1
    from moestat.runner import plan
    from moestat.study import load

    cell = plan.make(load.StudyFile("model", Path("model.py"), study.check())).cells[0].cell
    grid = np.linspace(-1, 1, 20_001)[:, None]
    for replicate in range(2):
        rng = cell.generator(replicate, "data", n=200)
        x = rng.uniform(-1, 1, (200, 1))
        y = model.predict(TRUTH, x) + 0.1 * rng.normal(size=200)
        theta = fit.least_squares(model, x, y, atoms=2, rng=cell.generator(replicate, "fit", n=200)).theta[0]
        row = ds.isel(replicate=replicate)
        assert row["voronoi"] == L1(theta, TRUTH, model)
        rmse = np.sqrt(np.mean((model.predict(theta, grid) - model.predict(TRUTH, grid)) ** 2))
        assert row["rmse"].item() == pytest.approx(rmse, rel=1e-3)
        assert row["excess"].item() == pytest.approx(rmse**2, rel=2e-3)
        assert 1 <= row["search_found"] <= row["search_ends"] == 8 and row["box_hits"] >= 0


def test_without_noise_a_fit_that_has_found_the_truth_is_not_worse_than_it(tmp_path):
    how = {"noise": 0.0, "search": "local", "name": "still"}
    study = ms.rate_study(ms.Model("sigmoid", d=1), TRUTH, fitted=2, n=[300], replicates=4, seed=1, **how)
    ds = study.run(jobs=1, out=tmp_path, **QUIET).squeeze()
    there = ds["rmse"] < 1e-6
    assert there.any() and (ds["status"][there] == Status.CONVERGED).all()


def test_the_command_of_a_study_in_a_file_names_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "import moestat as ms\n\nstudy = ms.rate_study(lambda n, rng: 1 / n, n=[10, 20], replicates=2, seed=1)\n"
    Path("mine.py").write_text(text)
    namespace = {}
    exec(compile(text, str(tmp_path / "mine.py"), "exec"), namespace)
    ds = namespace["study"].run(jobs=1, **QUIET)
    assert "mine.py --preset quick" in ds.attrs["command"]
    assert cli.main(ds.attrs["command"].split()[3:]) == 0


def test_a_function_has_a_pseudo_truth(tmp_path):
    model = ms.Model("softmax", d=1)
    study = ms.rate_study(
        model, lambda x: x[:, 0] ** 2, fitted=1, n=[50, 5000], replicates=3, seed=1, search="local", name="square"
    )
    ds = study.run(jobs=1, out=tmp_path, **QUIET).squeeze()
    # one atom is a line, and the nearest to x^2 is 1/3, so that errors are those of two coefficients
    assert (ds["rmse"].sel(n=5000) < 0.02).all() and (ds["rmse"].sel(n=50) > ds["rmse"].sel(n=5000)).any()
    assert ds["excess"].values == pytest.approx(ds["rmse"].values ** 2, abs=1e-6)


NAMED = {"subject": ms.Model("sigmoid", d=1), "truth": TRUTH, "fitted": 2}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"subject": None}, "give a model or a function"),
        ({"subject": 3}, "allowed are what moestat.Model returns"),
        ({"subject": ms.Model("sigmoid", d=1)}, "a model needs a truth"),
        ({"subject": ms.Model("sigmoid", d=1), "truth": TRUTH, "fitted": 1}, "1 atom cannot be fitted to a truth of 2"),
        ({"subject": ms.Model("sigmoid", d=1), "truth": 4 * TRUTH, "fitted": 2}, "outside the box of 5"),
        ({"subject": ms.Model("sigmoid", d=1), "truth": TRUTH[:, :3], "fitted": 2}, r"allowed is \(N, 4\)"),
        ({"subject": len, "truth": TRUTH}, "belong to a model"),
        ({**NAMED, "losses": {"rmse": len}}, "the loss 'rmse' is a variable of every model"),
        ({**NAMED, "losses": {"own": 3}}, "the loss 'own' is 3"),
        ({**NAMED, "theory": {"vor": -0.5}}, "theory has 'vor', no loss"),
        ({**NAMED, "search": "globl"}, "search is 'globl'; allowed are"),
        ({**NAMED, "noise": -1}, "noise is -1"),
        ({**NAMED, "starts": 0}, "starts is 0; allowed are whole numbers from 1"),
        ({**NAMED, "truth": lambda x: np.log(x[:, 0])}, "the function of the truth is not finite at 512 of 1024"),
        ({"subject": ms.Model("sigmoid", d=1), "truth": np.sin, "fitted": 2}, r"returned shape \(5, 1\).* is \(n,\)"),
    ],
)
def test_arguments_that_do_not_fit_are_named(arguments, told):
    with pytest.raises(InputError, match=told):
        ms.rate_study(**arguments, n=SIZES, seed=1)


def test_a_study_shows_what_it_will_do():
    study = ms.rate_study(simulate_with(1.0), n=SIZES, replicates=4, seed=1, name="shown")
    assert repr(study) == textwrap.dedent("""\
        Study 'shown': Rates of simulate
        arms: simulate
        grid: n = 20, 40, 80, 160
        presets: quick (4 replicates)
        run() computes quick: 4 cells x 4 replicates, into outputs/shown/quick; what is there is used""")


def test_the_page_prints_what_its_code_prints(tmp_path, monkeypatch, capsys):
    page = (Path(__file__).parents[1] / "docs" / "howto-notebook.md").read_text(encoding="utf-8")
    (first,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    (shown,) = re.findall(r"^```text\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    exec(first, names)
    assert capsys.readouterr().out.split() == shown.split()


def cosine(bias):
    """Return a gate of directions in the plane, with a bias or without one, and the form of its atoms."""

    def gate(x, p):
        score = 4 * x @ p[:, :2].T / np.linalg.norm(x, axis=1, keepdims=True) / np.linalg.norm(p[:, :2], axis=1)
        weight = np.exp(score + (p[:, 2] if bias else 0.0))
        return weight / weight.sum(axis=1, keepdims=True)

    def unit(atoms):
        return np.hstack([atoms[:, :2] / np.linalg.norm(atoms[:, :2], axis=1, keepdims=True), atoms[:, 2:]])

    return ms.Model(gate, "linear", d=2, gate_size=3 if bias else 2, invariances=[unit])


COSINE = np.array([[1.0, 0, 0, 2, 0, 0], [0, 1, 0.5, -1, 1, 0.5]])


def test_atoms_of_every_fit_are_kept_and_give_any_loss_afterwards(tmp_path):
    from moestat.losses.general import voronoi

    model = cosine(bias=True)
    study = ms.rate_study(
        model, COSINE, fitted=3, n=[200, 400], replicates=2, seed=1, search="local", starts=3, noise=0.1, name="kept"
    )
    ds = study.run(jobs=1, out=tmp_path, **QUIET)
    assert ds["theta"].dims == ("arm", "n", "replicate", "atom", "coordinate")
    assert [*ds["coordinate"].values] == ["gate1", "gate2", "gate3", "expert1", "expert2", "expert3"]
    assert np.array_equal(ds["truth"].values, np.broadcast_to(COSINE, (1, 2, 1, 2, 6)))
    over = {"input_core_dims": [["atom", "coordinate"], ["true_atom", "coordinate"]], "vectorize": True}
    ds["mine"] = xr.apply_ufunc(lambda *pair: voronoi(*pair, model), ds.theta, ds.truth.isel(measure=0), **over)
    assert ds["mine"].dims == ds["rmse"].dims and np.allclose(ds["mine"], ds["voronoi"], rtol=1e-12)
    assert (ds["floor"] == 0).all(), "an atom is split where the gate has a bias"
    assert (ds["search_ends"] == 3).all() and (ds["flat_directions"] == 0).all()
    assert [*ms.rates.table(ds).fits] == ["excess", "rmse", "voronoi"]
    assert all(variable.attrs["long_name"] for name, variable in ds.variables.items() if name != "true_atom")
    assert (
        "gate=gate (3 parameters" in ds["target"].values[0, 0] and "3 random starts" in ds["start_policy"].values[0, 0]
    )


def test_a_model_that_does_not_hold_the_truth_is_compared_with_its_nearest_function(tmp_path):
    def gate(x, p):  # without a bias no atom can be split
        weight = np.exp(x @ p.T)
        return weight / weight.sum(axis=1, keepdims=True)

    model, truth = ms.Model(gate, "linear", d=1, gate_size=1), np.array([[4.0, 3.0, 0.0], [-4.0, -3.0, 1.0]])
    how = {"n": [400], "replicates": 2, "seed": 1, "search": "local", "name": "floor"}
    ds = ms.rate_study(model, truth, fitted=3, **how).run(jobs=1, out=tmp_path, **QUIET).squeeze("arm")
    assert ds["truth"].shape[1:] == (1, 3, 3) and 0.001 < ds["floor"].item() < 0.3
    assert "the model does not hold the truth: the function" in str(ms.rates.table(ds, loss="rmse"))
    x = np.linspace(-1, 1, 2001)[:, None]
    errors = [np.mean((model.predict(theta, x) - model.predict(truth, x)) ** 2) for theta in ds["theta"].values[0]]
    assert np.allclose(ds["excess"].values[0] + ds["floor"].item() ** 2, errors, rtol=1e-2)


def test_atoms_that_other_atoms_can_stand_for_are_counted():
    from moestat.fit.general import unidentified

    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (500, 2))
    # the difference of two unit vectors of the plane leaves no freedom, and one direction alone does nothing
    assert [unidentified(cosine(bias=True), rng.standard_normal((count, 6)), x) for count in (1, 2, 3)] == [1, 0, 0]
    assert unidentified(ms.Model("softmax", d=2), rng.standard_normal((3, 6)), x) == 0
    # beside one expert no gate does anything: two angles and the difference of the biases; of a softmax all of it
    same = np.array([[1.0, 0, 0, 2, 0, 0], [0, 1, 0.5, 2, 0, 0]])
    assert [unidentified(model, same, x) for model in (cosine(bias=True), ms.Model("softmax", d=2))] == [3, 3]
    # lengths of directions along the axes, without the invariance
    assert unidentified(ms.Model(cosine(bias=True).gate, "linear", d=2, gate_size=3), COSINE, x) == 2


def test_a_coordinate_that_an_invariance_takes_off_the_box_is_not_held_by_it():
    from moestat.fit.general import Problem, certify

    model, x = cosine(bias=True), np.random.default_rng(0).uniform(-1, 1, (1, 500, 2))
    atoms = COSINE.copy()
    atoms[0, :2] *= 5.0
    problem = Problem(model, 2, x, model.predict(atoms, x[0])[None] + 0.1, np.zeros(1, dtype=int))
    hits = [
        certify(problem, point.reshape(1, -1), np.zeros(1, dtype=int), 5.0, np.zeros(1))["box_hits"].item()
        for point in (atoms, np.where([[0, 0, 0, 1, 0, 0], [0] * 6], 5.0, atoms))
    ]
    assert hits == [0, 1]


def test_runs_that_all_failed_are_told_and_give_no_table(tmp_path):
    def fails(n, rng):
        raise RuntimeError(f"no fit at {n}")

    ds = ms.rate_study(fails, n=[10, 20], replicates=2, seed=1, name="fails").run(jobs=1, out=tmp_path, **QUIET)
    with pytest.raises(InputError, match="no run has a loss: 4 of 4 failed; the most frequent message: .*no fit at"):
        ms.rates.table(ds, loss="rmse")


def test_what_changed_of_a_model_is_told_by_the_part(tmp_path):
    def study(scale, **losses):
        model = ms.Model(lambda x, p: 1 / (1 + np.exp(-scale * x @ p.T)), "linear", d=1, gate_size=1)
        how = {"fitted": 1, "n": [30], "replicates": 1, "seed": 1, "search": "local", "name": "parts"}
        return ms.rate_study(model, [[1.0, 1.0, 0.0]], losses=losses, **how)

    study(1.0).run(jobs=1, out=tmp_path, **QUIET)
    with pytest.raises(StaleError, match="setting code: scale in gate '") as told:
        study(2.0).run(jobs=1, out=tmp_path, **QUIET)
    assert "truth" not in str(told.value)
    with pytest.raises(StaleError, match="other arms than .* now asks for \\(code: loss own\\)"):
        study(1.0, own=lambda theta, truth, model: 1.0).load(out=tmp_path)
    with pytest.raises(StaleError, match="setting code: loss own 'not there'"):
        study(1.0, own=lambda theta, truth, model: 1.0).run(jobs=1, out=tmp_path, **QUIET)


def test_the_name_of_a_study_in_a_file_is_that_of_its_results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = "ms.rate_study(lambda n, rng: 1 / n, n=[10, 20], replicates=2, seed=1, name='mine')"
    text = f"import moestat as ms\nstudy = {made}\n"
    Path("file.py").write_text(text)
    assert cli.main(["file.py", "--quiet", "--no-report"]) == 0 and cli.main(["status", "file.py"]) == 0
    assert Path("outputs/mine/quick/results.nc").is_file() and not Path("outputs/file").exists()
    assert ms.load("file.py").attrs["study"] == "mine"


def test_a_truth_may_be_of_another_model(tmp_path):
    model, other = ms.Model("softmax", d=1), ms.Model("sigmoid", d=1)
    one = ms.rate_study(model, (other, TRUTH), fitted=1, n=[300], replicates=1, seed=1, search="local", name="pair")
    same = ms.rate_study(
        model, lambda x: other.predict(TRUTH, x), fitted=1, n=[300], replicates=1, seed=1, search="local", name="same"
    )
    found = [study.run(jobs=1, out=tmp_path, **QUIET).squeeze() for study in (one, same)]
    for loss in ("voronoi", "rmse", "excess"):
        assert found[0][loss] == found[1][loss] > 0
