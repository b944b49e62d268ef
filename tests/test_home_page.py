"""The picture to play with on the home page: made from the record, and clicked through in a browser where one is."""

import re
import shutil
import subprocess

import numpy as np
import pytest
import readings

import moestat

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
CLICK = """<script>
const form = document.querySelector(".readings"), seen = [];
const options = (name) => [...form.elements[name].options].map((o) => o.value);
const each = (names, then) => names.length ? options(names[0]).forEach((value) => {
  form.elements[names[0]].value = value;
  form.dispatchEvent(new Event("change"));
  each(names.slice(1), then);
}) : then();
each(["gate", "expert", "start", "radius", "power"], () => seen.push([
  ...["gate", "expert", "start", "radius", "power"].map((name) => form.elements[name].value),
  form.querySelectorAll("circle").length, form.querySelector("p").textContent].join("|")));
document.body.innerHTML = `<pre>${seen.join("\\n")}</pre>`;
</script>"""


def test_slopes_are_those_of_the_errors():
    n = np.array([1000.0, 10_000.0, 100_000.0])
    errors = 3.0 * n[:, None] ** -0.4 * np.exp(np.array([0.1, -0.1, 0.0]))
    told = readings.told(n, errors)
    assert told["slope"].startswith("-0.4") and told["loss"] == pytest.approx(3.0 * n**-0.4, rel=1e-4)
    assert readings.told(n, np.full((3, 2), np.nan)) == {"loss": [], "slope": "not finite"}


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_every_choice_shows_its_curve(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(f"<meta charset=utf-8><body>{readings.page()}{CLICK}", encoding="utf-8")
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", page.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    rows = [line.split("|") for line in re.search("<pre>(.*)</pre>", shown, re.DOTALL)[1].splitlines()]
    known = readings.data(moestat.load(readings.RECORD))
    count = sum(len(starts) for starts in known["curves"].values())
    assert len(rows) == count * len(known["radii"]) * len(known["powers"])
    for gate, expert, start, radius, power, points, said in rows:
        one = known["curves"][f"{gate}-{expert}"][start][int(power)][int(radius)]
        assert int(points) == len(one["loss"])
        assert said.startswith(f"Slope {one['slope']}".replace("-", "\N{MINUS SIGN}"))
