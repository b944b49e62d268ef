"""The examples of the gallery, at a tiny size: each prints its table and saves its picture."""

import runpy
from pathlib import Path

import matplotlib.image
import pytest

import moestat as ms

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "docs" / "gallery").glob("*.py"))
NEEDS = {"neural_expert": "torch"}
TINY = {"n": [20, 40, 80, 200], "replicates": 3, "search": "local"}
rate_study, run = ms.rate_study, ms.Study.run


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_prints_its_table_and_saves_its_picture(example, tmp_path, monkeypatch, capsys):
    pytest.importorskip(NEEDS.get(example.stem, "numpy"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ms, "rate_study", lambda *subject, **told: rate_study(*subject, **told | TINY))
    monkeypatch.setattr(ms.Study, "run", lambda self, **told: run(self, **told | {"jobs": 1}))
    names = runpy.run_path(str(example), run_name="__main__")
    printed, table = capsys.readouterr().out, names["table"]
    assert str(table) in printed and all(fit.complete >= 3 for fit in table.fits.values())
    assert set(table.theory.values()) <= {-0.5, -0.24} and table.theory
    (picture,) = tmp_path.glob("*.png")
    assert picture.stem == example.stem
    assert matplotlib.image.imread(picture)[..., :3].std() > 0.01  # not blank
