"""The experiment that trains and times language models with two kinds of attention, and its study file."""

import contextlib
import fnmatch
import hashlib
import io
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from pydantic import ValidationError

from moestat.claims.verdicts import judged
from moestat.cli import main
from moestat.experiment import Cell
from moestat.papers.sigmoid_attention import attention_lm
from moestat.status import Status
from moestat.study import load

pytest.importorskip("torch")

from moestat.training import checkpoint, lm_training
from moestat.training.corpus import CorpusError

STUDY = Path(__file__).parents[3] / "studies" / "sigmoid_attention_lm.toml"
SMALL = {
    "blocks": 1,
    "width": 16,
    "heads": 2,
    "hidden": 24,
    "length": 16,
    "batch": 4,
    "steps": 40,
    "every": 20,
    "validation": 256,
    "windows": (8, 16),
    "tokens": 64,
    "rounds": 1,
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """A text with some order, and its checksum."""
    path = tmp_path_factory.mktemp("text") / "own.txt"
    words = np.random.default_rng(0).choice(["the ", "cat ", "sat ", "on ", "a ", "mat.\n"], 1500)
    path.write_text("".join(words))
    return {"file": str(path), "file_sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def cell(text, **settings):
    resolved = attention_lm.Settings(**{**SMALL, **text, **settings}).model_dump(mode="json")
    return Cell("moestat.papers.sigmoid_attention.attention_lm", 3, "arm", {}, resolved)


def test_losses(text):
    found = attention_lm.run(cell(text, attention="sigmoid"), [0, 4])
    assert (found["status"] == Status.CONVERGED).all()
    assert found["valid_bpc"].dims == ("replicate", "step") and found["step"].values.tolist() == [0, 20, 40]
    symbols = len(set(Path(text["file"]).read_text()))
    np.testing.assert_allclose(found["valid_bpc"][:, 0], np.log2(symbols), atol=0.1)
    assert (found["test_bpc"] < found["valid_bpc"][:, 0] - 1).all()
    assert found["train_bpc"][0, 1] != found["train_bpc"][1, 1]
    assert set(found["iterations"].values) == {40} and (found["parameters"] > 0).all()


def test_replicates_do_not_depend_on_the_block(text):
    together = attention_lm.run(cell(text), [0, 1])
    alone = attention_lm.run(cell(text), [1])
    assert alone.identical(together.sel(replicate=[1]))


def test_arms_share_first_weights_and_batches(text, monkeypatch):
    seen = []

    def stop(model, corpus, plan, *, batches, **options):
        seen.append([p.detach().numpy().tobytes() for p in model.parameters()] + [batches.integers(1 << 60)])
        raise InterruptedError

    monkeypatch.setattr(lm_training, "train", stop)
    for attention, replicate in (("softmax", 0), ("sigmoid", 0), ("softmax", 1)):
        with pytest.raises(InterruptedError):
            attention_lm.run(cell(text, attention=attention), [replicate])
    first, second, other = seen
    assert first == second
    assert first[0] != other[0] and first[-1] != other[-1]


def test_an_interrupted_replicate_continues_and_leaves_no_checkpoint(text, tmp_path, monkeypatch):
    whole = attention_lm.run(cell(text), [2])
    folder = tmp_path / "cache" / "checkpoints"
    assert not folder.exists() or not list(folder.iterdir())

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint.Checkpoints, "due", lambda self: True)
        patch.setattr(checkpoint.Checkpoints, "remove", stop)
        with pytest.raises(KeyboardInterrupt):
            attention_lm.run(cell(text), [2])
    (left,) = folder.iterdir()
    assert sorted(file.name for file in left.iterdir()) == [f"step-{s:010d}.checkpoint" for s in (38, 39)]
    steps = []
    real = lm_training._step
    monkeypatch.setattr(lm_training, "_step", lambda run, *rest: steps.append(run.step) or real(run, *rest))
    assert attention_lm.run(cell(text), [2]).identical(whole)
    assert steps == [39], "only what was left should have been computed"
    assert not list(folder.iterdir())


def test_a_loss_that_is_not_finite_is_data(text):
    found = attention_lm.run(cell(text, rate=1e30, clip=1e30, warmup=1e-9), [0])
    assert found["status"].item() == Status.NOT_FINITE
    assert np.isnan(found["test_bpc"].item()) and np.isfinite(found["valid_bpc"].values[0, 0])


def test_speeds(text):
    found = attention_lm.run(cell(text, measure="throughput"), [0, 1])
    for name in ("training_throughput", "inference_throughput"):
        speed = found[name]
        assert speed.dims == ("replicate", "hardware", "window", "kernel") and speed.attrs["measurement"] == 1
        assert (speed.sel(hardware="cpu") > 0).all() and speed.sel(hardware="cuda").isnull().all()
    assert found["kernel"].values.tolist() == ["softmax", "fused softmax", "sigmoid"]
    assert (found["inference_throughput"] > found["training_throughput"]).sel(hardware="cpu").all()


def test_the_users_file_is_checked(text, tmp_path):
    assert attention_lm.Settings(file=text["file"]).file_sha256 == text["file_sha256"]
    with pytest.raises(ValidationError, match="file_sha256 is 'x'"):
        attention_lm.Settings(file=text["file"], file_sha256="x")
    changed = tmp_path / "changed.txt"
    changed.write_text("abc" * 1000)
    planned = cell({"file": str(changed)})
    changed.write_text("abcd" * 1000)
    with pytest.raises(ValidationError, match="other, changed or truncated data"):
        attention_lm.run(planned, [0])
    with pytest.raises(CorpusError, match="windows of 5001 are asked for"):
        attention_lm.run(cell(text, measure="throughput", windows=(8, 5000)), [0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"heads": 7}, "must divide width"), ({"attention": "tanh"}, "sigmoid"), ({"measure": "time"}, "throughput")],
)
def test_settings_refuse(settings, message):
    with pytest.raises(ValidationError, match=message):
        attention_lm.Settings(**settings)


@pytest.mark.parametrize("name", ["sigmoid_attention_lm", "sigmoid_attention_window"])
def test_every_claim_of_a_study_has_its_arms_and_its_places(name):
    study = load.read(STUDY.with_name(f"{name}.toml")).study
    for preset_name, preset in study.presets.items():
        settings = attention_lm.Settings(**(study.settings | preset.settings))
        grid = study.grid | preset.grid
        places = grid | {"window": settings.windows, "kernel": attention_lm.KERNELS, "hardware": attention_lm.HARDWARE}
        arms = [arm.name for arm in study.arms if any(fnmatch.fnmatchcase(arm.name, p) for p in preset.arms)]
        claims = judged(study, preset_name)
        assert claims
        for claim in claims:
            assert claim.arm in arms and claim.versus in ("", *arms)
            for axis, value in [*claim.at.items(), *(claim.versus_at or {}).items()]:
                assert value in places[axis], f"{preset_name}, {claim.id}"


def test_a_step_has_1024_symbols_unless_its_windows_are_counted():
    for length, windows in ((32, 32), (128, 8), (2048, 1)):
        assert attention_lm.windows_of(attention_lm.Settings(length=length)) == windows
    assert attention_lm.windows_of(attention_lm.Settings(length=32, batch=5)) == 5


def command(*words) -> tuple[int, str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = main([str(word) for word in words])
    return code, out.getvalue()


@pytest.mark.slow  # test_studies has the run
def test_the_study_runs_judges_and_draws_and_its_measurements_are_not_compared(tmp_path, text):
    """With models of no use: the verdicts mean nothing here, that there are some does."""
    small = SMALL | text | {"windows": [8, 16]}
    settings = "{ " + ", ".join(f"{key} = {value!r}" for key, value in small.items()) + " }"
    source = STUDY.read_text()
    quick = source[source.index("[presets.quick]") : source.index("[presets.paper]")]
    mine = f"[presets.quick]\nreplicates = 2\nsettings = {settings}\n\n"
    source = source.replace(quick, mine).replace("window = 128", "window = 8").replace("window = 1024", "window = 16")
    study = tmp_path / "study.toml"
    study.write_text(source)
    code, told = command(study, "--out", tmp_path / "out", "--jobs", 1, "--quiet")
    assert code == 0 and "6 runs: 0 failed" in told
    folder = tmp_path / "out" / "study" / "quick"
    assert {"figure.png", "throughput.png", "report.html"} <= {file.name for file in folder.iterdir()}
    with xr.open_dataset(folder / "results.nc", engine="h5netcdf") as ds:
        assert np.isfinite(ds["test_bpc"].sel(arm=["softmax", "sigmoid"])).all()
        assert np.isfinite(ds["inference_throughput"].sel(arm="throughput", hardware="cpu")).all()
    assert "no values" not in (folder / "claims.csv").read_text()
    for place in ("sigmoid", "throughput"):
        code, told = command("replay", study, place, 1, "--out", tmp_path / "out")
        assert code == 0 and "equal to the stored replicate, bit for bit" in told
    assert "which are not compared: inference_throughput, training_throughput" in told
