"""Mixtures fitted to public data sets, told nothing but the data: this package beside mixtools, in R.

    python benchmarks/public_mixtures.py      # needs R with mixtools and flexmix (Debian: r-cran-...)

NOdata and CO2data come with mixtools, NPreg with flexmix. mixtools is the best of ten runs of ``hmeEM`` (softmax gate,
two experts at most) or ``regmixEM`` (constant gate) from its own starts, with epsilon = 1e-11; ours has a hundred.
"""

import subprocess
import tempfile
from pathlib import Path

import pandas as pd
from common import timed, write

from moestat.fit import maximum_likelihood

SETS = (
    ("NOdata", "NOdata$Equivalence", 'NOdata[, "NO", drop = FALSE]', 2, "softmax"),
    ("NOdata", "NOdata$Equivalence", 'NOdata[, "NO", drop = FALSE]', 2, "constant"),
    ("NPreg, with x squared", "NPreg$yn", "data.frame(x = NPreg$x, x2 = NPreg$x^2)", 2, "constant"),
    ("CO2data", "CO2data$CO2", 'CO2data[, "GNP", drop = FALSE]', 3, "softmax"),
)
SCRIPT = """
suppressMessages({{library(mixtools); library(flexmix)}})
data(NOdata); data(CO2data); data(NPreg); set.seed(1)
y <- {y}; x <- {x}; best <- NA
write.csv(cbind(y = y, x), "data.csv", row.names = FALSE)
t <- system.time(if ({possible}) for (j in 1:10) {{
  invisible(capture.output(f <- try(if ({softmax}) hmeEM(y, x[, 1], k = {k}, epsilon = 1e-11, maxit = 20000) else
    regmixEM(y, as.matrix(x), k = {k}, epsilon = 1e-11, maxit = 20000), silent = TRUE)))
  if (!inherits(f, "try-error") && is.finite(f$loglik)) best <- max(best, f$loglik, na.rm = TRUE) }})
cat("\\nFOUND", format(best, digits = 7), t[["user.self"]] + t[["sys.self"]])
"""


def row(name: str, y: str, x: str, experts: int, gate: str) -> dict[str, object]:
    possible, softmax = gate == "constant" or experts == 2, gate == "softmax"
    words = {"possible": str(possible).upper(), "softmax": str(softmax).upper()}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "fit.R").write_text(SCRIPT.format(y=y, x=x, k=experts, **words))
        done = subprocess.run(["Rscript", "fit.R"], cwd=folder, capture_output=True, text=True, check=True)
        data = pd.read_csv(Path(folder, "data.csv"))
    theirs, seconds = done.stdout.split("FOUND ")[1].split()
    x_own = data.drop(columns="y")
    maximum_likelihood(x_own, data["y"], experts=experts, gate=gate, starts=2)  # compiles
    own, fit = timed(lambda: maximum_likelihood(x_own, data["y"], experts=experts, gate=gate))
    best = fit.maxima.iloc[0]
    return {
        "data": f"{name}, {len(data)} rows",
        "gate, experts": f"{gate}, {experts}",
        "log-likelihood; mixtools": f"{fit.log_likelihood:.3f}{' (on a bound)' * bool(best['on_bound'])}; {theirs}",
        "starts that came there": f"{best['starts']:.0f} of {fit.starts}",
        "this package, CPU s": own,
        "mixtools, ratio": float(seconds) / own if possible else "",
    }


if __name__ == "__main__":
    write("public_mixtures", [row(*each) for each in SETS])
