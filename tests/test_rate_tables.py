"""Rates of anybody's errors: every form of data, refusals by name, verdicts, laws with a floor, skewed errors, a shell.

Statistical tests have fixed seeds; the bounds are chosen so that a correct program fails with the stated probability.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import optimize, stats

from moestat import cli, figures, rates
from moestat.errors import InputError
from moestat.rates import estimate

N = np.array([100.0, 300.0, 1000.0, 3000.0, 10_000.0, 30_000.0])


def errors(slope=-0.5, *, replicates=9, sd=0.1, seed=1, floor=0.0, n=N):
    noise = np.random.default_rng(seed).standard_normal((n.size, replicates))
    return (floor + 3 * n[:, None] ** slope) * np.exp(sd * noise)


ONE, TWO = errors(), errors(-0.25, seed=2)
LONG = pd.DataFrame(
    [
        (arm, n, r, v)
        for arm, a in (("one", ONE), ("two", TWO))
        for n, row in zip(N, a, strict=True)
        for r, v in enumerate(row)
    ],
    columns=["arm", "n", "replicate", "loss"],
)
ARRAY = xr.DataArray(
    np.stack([ONE, TWO]), dims=("arm", "n", "replicate"), coords={"arm": ["one", "two"], "n": N}, name="loss"
)
WIDE = pd.DataFrame(np.r_[ONE, TWO]).assign(n=np.r_[N, N], arm=["one"] * 6 + ["two"] * 6)


def csv(path, frame, **options):
    frame.to_csv(path, **options)
    return path


@pytest.mark.parametrize(
    ("data", "over"),
    [
        ({"one": ONE, "two": TWO}, N),
        ({"one": ONE.T, "two": TWO}, N.tolist()),
        (LONG, "n"),
        (LONG.drop(columns="replicate").iloc[::-1], "n"),
        (LONG.sample(frac=1, random_state=0), "n"),
        (WIDE, "n"),
        (ARRAY, "n"),
        (xr.Dataset({"loss": ARRAY, "text": ("arm", ["a", "b"])}), "n"),
        ("index", "n"),
        ("plain", "n"),
    ],
    ids=["arrays", "turned", "long", "no replicates", "shuffled", "wide", "array", "dataset", "csv", "plain csv"],
)
def test_every_form_of_data_gives_the_rates_of_its_lines(data, over, tmp_path):
    if isinstance(data, str):
        data = csv(tmp_path / "errors.csv", LONG if data == "index" else WIDE, index=data == "index")
    table = rates.table(data, over=over, theory={"one": -0.5})
    assert set(table.fits) == {"one", "two"}
    for arm, values in (("one", ONE), ("two", TWO)):
        fit, alone = table.fits[arm], rates.fit(values, over=N)
        assert (fit.slope, fit.low) == pytest.approx((alone.slope, alone.low), rel=1e-9)
        assert (fit.replicates, fit.sizes.size) == (9, 6)
    row = next(line for line in str(table).split("\n") if line.startswith("one"))
    assert row.endswith(" -0.5") and len(str(table).split("\n")) == 5
    frame = table.to_frame().set_index("arm")
    assert frame["theory"]["one"] == -0.5 and np.isnan(frame["theory"]["two"])
    assert frame["low"]["two"] == table.fits["two"].wider.low <= frame["t_low"]["two"]


def test_one_array_a_file_of_numbers_alone_and_several_losses(tmp_path):
    np.savetxt(tmp_path / "plain.csv", ONE, delimiter=",")
    for data in (ONE, ONE.T, tmp_path / "plain.csv"):
        assert rates.table(data, over=N).fits["error"].slope == pytest.approx(rates.fit(ONE, over=N).slope)
    several = LONG[LONG["arm"] == "one"].drop(columns="arm").assign(double=lambda f: f["loss"] ** 2)
    table = rates.table(several)
    assert table.fits["double"].slope == pytest.approx(2 * table.fits["loss"].slope)
    assert [*rates.table(several, loss="double").fits] == ["double"]
    both = rates.table(xr.Dataset({"L1": ARRAY, "L2": ARRAY**2}))
    assert [*both.fits] == ["L1, one", "L1, two", "L2, one", "L2, two"]


ZERO = np.where(np.arange(9) == 4, 0.0, ONE)


@pytest.mark.parametrize(
    ("data", "over", "says"),
    [
        (np.c_[N, ONE], N, "the column 0 is equal to the sizes"),
        (WIDE[WIDE["arm"] == "one"].assign(size=N), "n", "the column 'size' is equal to the sizes 'n'"),
        (ONE[:, :6], N, r"is square: nobody can tell .* xarray\.DataArray"),
        (ONE[:, :4], N[:5], r"has the shape \(6, 4\); one axis is to be that of the 5 sizes"),
        ({"one": ZERO}, N, r"6 losses of 'one' have no logarithm \(6 zero, 0 negative\), the first at n = 100"),
        (-ONE, N, "54 negative"),
        (LONG, N[:5], "and over 5 sizes; name the column of the sizes instead, one of .*'?n'?"),
        (LONG, "m", "no column 'm'"),
        (
            LONG.rename(columns={"replicate": "trial"}),
            "n",
            "'trial' has the same numbers at each size, and is no loss: say .*--replicate trial",
        ),
        (LONG.rename(columns={"replicate": "seed"}).assign(run=LONG["replicate"]), "n", "'seed' has the same numbers"),
        (LONG.drop(columns="replicate").iloc[:-1], "n", "nobody can tell apart: a column 'replicate' is needed"),
        (LONG.drop(columns="arm"), "n", "nobody can tell apart: another column of words"),
        (LONG.assign(arm=(LONG["arm"] == "one") + 1.5), "n", "'arm' has the same numbers at each size"),
        (ARRAY, "m", "has the dimension 'm'; there are arm, n, replicate"),
        (ARRAY.drop_vars("n"), "n", "no coordinate"),
        (ONE, "n", "needs labels"),
        (ARRAY, N, "over is no name"),
        (ONE, -N, "positive and finite"),
        ("nowhere.csv", "n", "nowhere.csv: cannot be read"),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused_by_name(data, over, says):
    with pytest.raises(InputError, match=says):
        rates.table(data, over=over)


@pytest.mark.parametrize("name", ["rep", "run", "seed"])
def test_a_column_that_looks_like_the_replicate_is_taken_and_told(name):
    whole = LONG.rename(columns={"replicate": name})
    for frame in (whole, whole.drop(index=20)):
        table = rates.table(frame, over="n")
        named = rates.table(frame, over="n", replicate=name)
        assert f"The column '{name}' was taken as the replicate." in str(table) and "taken" not in str(named)
        assert [*table.fits] == ["one", "two"] and table.fits["one"].slope == named.fits["one"].slope
    two = whole.assign(other=whole[name])
    with pytest.raises(InputError, match="'other' has the same numbers at each size, and is no loss: name the loss"):
        rates.table(two, replicate=name)
    assert [*rates.table(two, replicate=name, loss="loss").fits] == ["one", "two"]


@pytest.mark.parametrize("theory", ["fast", {"a": None}, np.nan])
def test_a_theory_that_is_no_slope_is_refused(theory):
    errors = {"a": np.random.default_rng(0).random((5, 4))}
    with pytest.raises(InputError, match="theory is .*; allowed is a slope"):
        rates.table(errors, over=[1, 2, 4, 8], theory=theory)


def test_arms_and_rules_that_are_not_there_are_named():
    table = rates.table({"one": ONE, "two": TWO}, over=N)
    with pytest.raises(InputError, match="did you mean 'one'"):
        rates.table({"one": ONE}, over=N, theory={"ones": -0.5})
    with pytest.raises(InputError, match="name one of 'one', 'two'"):
        table.judge(at_most=0.0)
    several = rates.table({"l1, one": ONE, "l1, two": TWO, "l2, one": TWO}, over=N)
    assert str(several.judge("two", at_most=0.0)) == str(several.judge("l1, two", at_most=0.0))
    with pytest.raises(InputError, match="name one of 'l1, one', 'l2, one'"):
        several.judge("one", at_most=0.0)
    for rule in ({}, {"at_most": 0.0, "at_least": 0.0}, {"within": (0.0, -1.0)}):
        with pytest.raises(InputError, match="within"):
            table.judge("one", **rule)


def test_a_forgotten_sign_is_told():
    table = rates.table({"one": ONE}, over=N, theory=0.5)
    assert "slopes of errors that fall are negative, and that of the theory is positive ('one')." in str(table)
    assert "negative, and the rule is of positive ones" in str(table.judge(at_most=0.4))
    for rule in ({"at_most": -0.4}, {"within": (-0.1, 0.1)}):
        assert "negative" not in str(table.judge(**rule))
    assert "negative" not in str(rates.table({"one": ONE}, over=N, theory=-0.5))


def test_a_size_may_be_there_twice():
    sizes = np.r_[N, 1000.0]
    values = np.r_[ONE, ONE[2:3] * 1.1]
    for data, over in ((values, sizes), (pd.DataFrame(values).assign(n=sizes), "n")):
        fit = rates.table(data, over=over).fits["error"]
        each = [np.polyfit(np.log(sizes), np.log(column), 1)[0] for column in values.T]
        assert fit.slope == pytest.approx(np.mean(each)) and fit.trusted
        assert fit.local.size == 5 and np.isfinite(fit.local).all()
    assert "6 sizes from 100 to 30000, 1 of them twice" in str(rates.table(values, over=sizes))
    assert rates.fit(values, over=sizes).slope == fit.slope


def test_one_replicate_has_the_interval_of_its_regression_and_decides_nothing():
    table = rates.table(ONE[:, 0], over=N)
    line = stats.linregress(np.log(N), np.log(ONE[:, 0]))
    half = stats.t.ppf(0.975, 4) * line.stderr
    shown = table.fits["error"].wider
    assert (shown.low, shown.high) == pytest.approx((line.slope - half, line.slope + half))
    assert "regression (t, 4 degrees of freedom)" in str(table)
    assert "regression" in str(rates.fit(ONE[:, :1], over=N)) and "nan" not in str(rates.fit(ONE[:, :1], over=N))
    verdict = table.judge(at_most=0.0)
    assert (verdict.word, verdict.reason) == ("inconclusive", "not trusted")


def test_verdicts_of_a_table():
    table = rates.table({"one": ONE, "two": TWO, "floor": errors(floor=0.05, sd=0.01)}, over=N)
    judge = table.judge
    assert judge("one", at_most=-0.4).word == "supported" == judge("two", within=(-0.30, -0.20)).word
    assert judge("two", at_most=-0.4).word == "not supported" == judge("one", at_least=-0.4).word
    across = judge("one", at_most=table.fits["one"].slope)
    assert (across.word, across.reason) == ("inconclusive", "across the edge")
    assert "only a part of the interval is at most" in across.why and str(across).startswith("inconclusive: The slope")
    told = judge("floor", at_most=-0.2)
    assert told.word == "supported" and "The line is bent and flattens" in told.why
    stopped = judge("floor", at_most=-0.2, bent="inconclusive")
    assert (stopped.word, stopped.reason) == ("inconclusive", "bent") and "asks for a straight line" in stopped.why
    few = rates.table(ONE[:, :2], over=N).judge(at_least=-9.0)
    assert (few.word, few.reason) == ("inconclusive", "too few")


def test_a_verdict_that_hangs_on_one_replicate_is_none():
    table = rates.table(N[:, None] ** (-0.5 + 0.01 * np.linspace(-1, 1, 8)), over=N)
    verdict = table.judge(at_most=table.fits["error"].wider.high + 1e-4)
    assert (verdict.word, verdict.reason) == ("inconclusive", "one replicate")
    assert "hangs on a single replicate" in verdict.why
    assert table.judge(at_most=-0.4).word == "supported"


def test_the_wider_interval_is_the_hull_of_t_and_bootstrap_t():
    samples = np.random.default_rng(3).exponential(size=12)
    found = estimate.wider(samples, 0.95)
    usual = stats.t.interval(0.95, 11, samples.mean(), stats.sem(samples))
    drawn = np.random.default_rng(4).choice(samples, (20_000, 12))
    ratios = (drawn.mean(1) - samples.mean()) / stats.sem(drawn, axis=1)
    ends = samples.mean() - stats.sem(samples) * np.quantile(ratios, [0.975, 0.025])
    assert found.low == pytest.approx(min(usual[0], ends[0]), abs=0.1 * stats.sem(samples))
    assert found.high == pytest.approx(max(usual[1], ends[1]), abs=0.3 * stats.sem(samples))
    assert estimate.wider(samples, 0.95) == found and found.high > usual[1]
    for few in (samples[:7], np.tile(samples, 100)):
        assert estimate.wider(few, 0.95) == estimate.over_replicates(few, 0.95)
    runaway = np.r_[1e-6 * np.linspace(-1, 1, 11), 1.0]
    assert estimate.wider(runaway, 0.95).high <= runaway.mean() + 3 * stats.t.ppf(0.975, 11) * stats.sem(runaway) + 1e-9


def test_the_wider_interval_covers_skewed_slopes_where_t_does_not():
    """1000 studies of 10 exponential slopes, of 94 in 100 cover: below 91.8 with probability 3e-3. With t 90 do."""
    samples = np.random.default_rng(5).exponential(size=(1000, 10))
    _, _, low, high = rates.mean_interval(samples)
    ends = np.array([(found.low, found.high) for found in (estimate.wider(row, 0.95) for row in samples)])
    assert np.mean((low < 1) & (high > 1)) < 0.92
    assert np.mean((ends[:, 0] < 1) & (ends[:, 1] > 1)) > 0.918


BIG = np.geomspace(1e2, 1e5, 8)


@pytest.mark.parametrize(
    ("law", "sd", "expected"),
    [
        (lambda n: 0.02 + 3 * n**-0.5, 0.003, {"floor": 0.02, "slope": -0.5, "scale": 3.0}),
        (lambda n: 1.69 + 13 * n**-0.34, 0.0005, {"floor": 1.69, "slope": -0.34, "scale": 13.0}),
        (lambda n: 3 * n**-0.5 * np.log(n) ** 2, 0.003, {"slope": -0.5, "power": 2.0}),
        (lambda n: 20 * np.log(n) ** -3.0, 0.02, {"power": -3.0}),
        (
            lambda n: np.where(n < 2e3, n**-0.5, 2e3**-0.3 * n**-0.2),
            0.003,
            {"first": -0.5, "second": -0.2, "place": 2e3},
        ),
        (lambda n: 3 * n**-0.5, 0.05, {"slope": -0.5, "scale": 3.0}),
    ],
)
def test_laws_come_back(law, sd, expected):
    values = law(BIG)[:, None] * np.exp(sd * np.random.default_rng(6).standard_normal((8, 12)))
    found = rates.compare_laws(values, over=BIG)
    best = found.laws[0]
    assert set(expected) <= set(best.parameters)
    for name, value in expected.items():
        shown = best.parameters[name]
        assert shown.value == pytest.approx(value, rel=0.05)
        assert shown.low < shown.value < shown.high
    assert str(best) in str(found) and best.name in found.compatible


def test_a_floor_is_that_of_an_independent_fit_and_is_told_beside_a_bent_line():
    values = errors(sd=0.02, floor=0.05, n=BIG)
    table = rates.table({"a": values, "b": errors(n=BIG)}, over=BIG)
    (law,) = [law for law in table.laws["a"] if law.name == "floor"]
    mean = np.log(values).mean(1)
    theta, _ = optimize.curve_fit(lambda n, e, c, s: np.log(e + c * n**s), BIG, mean, p0=(0.04, 2.0, -0.6))
    assert [law.parameters[k].value for k in ("floor", "scale", "slope")] == pytest.approx(theta, rel=1e-4)
    note = next(line for line in str(table).split("\n") if line.startswith("* a: The line is bent"))
    assert str(law) in note and "b" not in table.laws


def test_laws_that_the_sizes_are_too_few_to_rank_are_judged_by_p():
    values = errors(sd=0.01, seed=2, floor=0.05, n=N[:5])
    found = rates.compare_laws(values, over=N[:5])
    text = str(found)
    assert "inf" not in text and "nan" not in text and "5 sizes are too few to rank laws of 3 parameters" in text
    assert [law.name for law in found.laws[:2]] == ["log", "power"] and {"log", "power"}.isdisjoint(found.compatible)
    (told,) = rates.table(values, over=N[:5]).laws["error"]  # not the logarithm, which the replicates reject
    assert told.name == "floor" and told.p > 0.05
    assert "too few to rank laws of 2 parameters" in str(rates.compare_laws(values[:4], over=N[:4]))
    assert "too few" not in str(rates.compare_laws(errors(n=BIG), over=BIG))
    steeper = np.exp(-0.1 * np.log(BIG) ** 2)[:, None] * (1 + 0.01 * np.random.default_rng(0).random((8, 3)))
    assert "floor: not fitted, the line does not flatten." in str(rates.compare_laws(steeper, over=BIG))


def test_the_interval_of_the_exponent_above_a_floor_covers_it():
    """60 studies; a correct interval of 95 % covers in fewer than 50 with probability 2e-4."""
    rng, hits = np.random.default_rng(7), 0
    for _ in range(60):
        values = (0.02 + 3 * BIG**-0.5)[:, None] * np.exp(0.2 * rng.standard_normal((8, 12)))
        line = rates.compare_laws(values, over=BIG).laws
        (law,) = [law for law in line if law.name == "floor"]
        hits += law.parameters["slope"].low < -0.5 < law.parameters["slope"].high
    assert hits >= 50


def test_a_plan_uses_the_sizes_and_the_spread_of_the_data():
    table = rates.table({"one": ONE, "two": TWO}, over=N)
    plan = rates.plan(table, half_width=0.005)
    for arm, row in plan.iterrows():
        sd = np.std(table.fits[arm].slopes, ddof=1)
        widths = [stats.t.ppf(0.975, r - 1) * sd / np.sqrt(r) for r in (row["needed"] - 1, row["needed"])]
        assert widths[1] <= 0.005 < widths[0] and row["half_width_then"] == pytest.approx(widths[1])
        ends = sd * np.sqrt(
            (table.fits[arm].complete - 1) / stats.chi2.ppf([0.975, 0.025], table.fits[arm].complete - 1)
        )
        for least, end in zip(row[["low", "high"]], ends, strict=True):
            widths = [stats.t.ppf(0.975, r - 1) * end / np.sqrt(r) for r in (least - 1, least)]
            assert widths[1] <= 0.005 < widths[0]
    most = int(plan["needed"].max())
    assert rates.plan(table, half_width=0.005, most=most)["high"].max() == most
    assert rates.plan(table.fits["one"], margin=0.01)["needed"].iloc[0] == rates.paired_seeds(
        0.01, plan["slope_sd"]["one"]
    )
    for wrong in ({}, {"half_width": 0.1, "margin": 0.1}, {"half_width": -1.0}):
        with pytest.raises(InputError, match="half_width"):
            rates.plan(table, **wrong)
    with pytest.raises(InputError, match="more than 5 replicates"):
        rates.plan(table, half_width=0.001, most=5)
    with pytest.raises(InputError, match="no spread"):
        rates.plan(rates.table(ONE[:, 0], over=N), half_width=0.1)


def test_latex_html_and_the_figure(tmp_path):
    table = rates.table({"a_1": ONE, "floor": errors(floor=0.05, sd=0.01)}, over=N, theory={"a_1": -0.5})
    text = table.to_latex(tmp_path / "rates.tex")
    assert (tmp_path / "rates.tex").read_text() == text
    row = next(line for line in text.split("\n") if line.startswith("a\\_1 & $-0."))
    assert row.count("&") == 4 and row.endswith("& $-0.5$ \\\\") and "^{*}" in text and "95 \\% interval" in text
    assert "<th>a_1</th>" in table._repr_html_() and "bent" in table._repr_html_()
    for ending, start in ((".pdf", b"%PDF"), (".png", b"\x89PNG")):
        table.plot(tmp_path / f"rates{ending}")
        assert (tmp_path / f"rates{ending}").read_bytes().startswith(start)
    (axes,) = figures.rates({"a_1": ONE}, over=N, theory=-0.5).axes
    assert [text.get_text() for text in axes.texts] == ["theory $n^{-0.5}$"]
    (dashed,) = [line for line in axes.lines if line.get_linestyle() == "--"]
    (legend,) = axes.get_figure().legends  # below the axes, where it covers nothing
    assert "bars: 95 %" in legend.get_title().get_text() and dashed.get_color() not in {
        line.get_color() for line in axes.lines if line is not dashed
    }
    assert np.diff(np.log(dashed.get_ydata())) / np.diff(np.log(dashed.get_xdata())) == pytest.approx(-0.5)
    (axes,) = figures.rates(ARRAY.to_dataset(name="L3"), "L3", theory={"two": -0.25}).axes
    assert [text.get_text() for text in axes.texts] == ["theory $n^{-0.25}$"]


def test_a_folder_that_is_not_there_and_a_file_of_semicolons_are_named(tmp_path, capsys):
    path = csv(tmp_path / "errors.csv", LONG, index=False)
    assert cli.main(["rates", str(path), "--tex", str(tmp_path / "nowhere" / "rates.tex")]) == 2
    assert "there is no folder" in capsys.readouterr().err
    (tmp_path / "other.csv").write_text("n;replicate;error\n10;1;2\n20;1;1\n")
    assert cli.main(["rates", str(tmp_path / "other.csv")]) == 2
    assert "commas are what columns are told apart by" in capsys.readouterr().err


def test_names_of_theories_do_not_lie_upon_each_other_and_sizes_are_ticks():
    sizes = np.array([200, 600, 2000, 6000])
    noise = np.random.default_rng(0).lognormal(0, 0.1, (4, 6))
    few = {name: scale * sizes[:, None] ** -0.5 * noise for name, scale in {"a": 1, "b": 1.01, "c": 1.02}.items()}
    figure = figures.rates(few, over=sizes, theory=-0.5)
    (axes,) = figure.axes
    figure.draw_without_rendering()
    at = sorted(text.get_window_extent().y0 for text in axes.texts)
    assert len(at) == 3 and min(np.diff(at)) > 9 * figure.dpi / 72
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["200", "600", "2000", "6000"]


def test_the_shell_prints_table_and_verdict_and_writes_what_is_named(tmp_path, capsys):
    path = csv(tmp_path / "errors.csv", LONG, index=False)
    tex, plot = tmp_path / "rates.tex", tmp_path / "rates.pdf"
    words = ["rates", str(path), "--over", "n", "--theory", "-0.5", "--at-most", "-0.4", "--half-width", "0.02"]
    assert cli.main([*words, "--tex", str(tex), "--plot", str(plot)]) == 0
    said = capsys.readouterr().out
    assert str(rates.table(LONG, theory=-0.5)) in said and tex.exists() and plot.exists()
    assert "\nnot supported: The slope of two" in said and "\nsupported: The slope of one" in said and "needed" in said
    assert "Half-widths are of the t-interval" in said
    assert cli.main(["rates", str(path), "--within", "-0.3", "-0.2", "--arm", "two", "--theory", "two=-0.25"]) == 0
    said = capsys.readouterr().out
    assert "supported: The slope of two" in said and "slope of one" not in said
    np.savetxt(tmp_path / "plain.csv", ONE, delimiter=",")
    for words, says in (
        ([str(path), "--theory", "low"], "--theory is 'low'"),
        ([str(path), "--over", "1,x"], "--over is '1,x'"),
        ([str(path), "--arm", "one"], "give a rule"),
        ([str(tmp_path / "plain.csv")], "no row of names, so no column 'n'"),
    ):
        assert cli.main(["rates", *words]) == 2
        assert says in capsys.readouterr().err
    sizes = ",".join(f"{n:g}" for n in N)
    assert cli.main(["rates", str(tmp_path / "plain.csv"), "--over", sizes]) == 0


def test_the_page_prints_what_it_says(tmp_path, monkeypatch, capsys):
    page = (Path(__file__).parents[1] / "docs" / "howto-data.md").read_text(encoding="utf-8")
    code, shown = (re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)[:2] for kind in ("python", "text"))
    monkeypatch.chdir(tmp_path)
    exec("".join(code), {})
    assert capsys.readouterr().out.split() == "".join(shown).split()


def test_runs_that_did_not_converge_are_told():
    loss = xr.DataArray(ONE, dims=("n", "replicate"), coords={"n": N})
    status = xr.zeros_like(loss, dtype=np.int64)
    assert "converge" not in str(rates.table(xr.Dataset({"loss": loss, "status": status})))
    status[3, :2] = 4
    table = rates.table(xr.Dataset({"loss": loss, "status": status}))
    assert "2 of 54 ended above the loss at the truth, so not at the global minimum" in str(table)
    several = xr.Dataset({"loss": loss, "rmse": 2 * loss, "excess": loss**2, "status": status})
    chosen = rates.table(several, loss=["loss", "rmse"])
    assert [*chosen.fits] == ["loss", "rmse"] and "2 of 54 ended above" in str(chosen)
    with pytest.raises(InputError, match="no variable 'rsme'; did you mean 'rmse'"):
        rates.table(several, loss=["loss", "rsme"])
    assert "2 of 54 ended above" in table.judge("loss", at_most=0.0).why


def test_fits_at_the_box_and_minima_that_one_start_came_to_are_told():
    loss = xr.DataArray(ONE, dims=("n", "replicate"), coords={"n": N})
    status, some = xr.zeros_like(loss, dtype=np.int64), xr.ones_like(loss, dtype=np.int64)
    told = xr.Dataset({"loss": loss, "status": status, "box_hits": 0 * some, "search_found": 3 * some})
    assert "box" not in str(rates.table(told, loss="loss")) and "single start" not in str(
        rates.table(told, loss="loss")
    )
    told["box_hits"][0, :4], told["search_found"][1, :3] = 2, 1
    text = str(rates.table(told, loss="loss"))
    assert "4 of 54 fits end on the box" in text and "in 3 of 54 a single start came to the lowest minimum" in text


def test_laws_of_an_xarray_are_those_of_its_numbers():
    loss = xr.DataArray(ONE, dims=("n", "replicate"), coords={"n": N})
    assert str(rates.compare_laws(loss, over="n")) == str(rates.compare_laws(ONE, over=N))
