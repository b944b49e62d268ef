"""A first study to change: short, commented, and complete, so that it runs as it stands."""

from __future__ import annotations

from pathlib import Path

from moestat.errors import InputError

TEXT = '''\
"""Do GELU experts converge like ReLU experts?  A study that runs as it stands, in some ten seconds.

    moestat {file} --dry-run        check it and print the plan
    moestat {file}                  run it; outputs/{name}/quick/report.html tells what came out
    moestat settings regression     the settings of the experiment, and the variables that it returns
"""

from moestat import Study
from moestat.study.rules import slope

study = Study(
    "Do GELU experts converge like ReLU experts?",
    paper="none",  # the short name of a paper, where there is one
    source="ours",  # where in the paper
    scale="paper",  # its own problem, neither a reduced one nor a stand-in
    experiment="regression",  # what computes a replicate: a name, or a module of your own
    seed=4,  # every random number follows from it
    # settings of every arm; what is not named has its default. n_fitted > n_true: over-specified
    settings=dict(d=2, n_true=2, n_fitted=2, truth_gate="sigmoid", fitted_gate="sigmoid"),
    grid=dict(n=[1000, 2000, 5000, 10_000, 20_000]),  # the cells are arms x grid
)

study.preset("quick", replicates=10)  # a size of the study; "quick" is the default and must exist
study.preset("large", "More and larger samples.", replicates=40, grid=dict(n=[1000, 3162, 10_000, 31_623, 100_000]))

# what is compared: a name, a label for figures, and the settings in which it differs
for expert, label in [("relu", "ReLU experts"), ("gelu", "GELU experts")]:
    study.arm(expert, label, expert=expert)

# a log-log slope for every arm; the bound is the exponent of the theory
study.rate("L3", bound=-0.5, reference="fisher_L3")  # Voronoi loss of the parameters
study.rate("rmse", bound=-0.5)  # error of the fitted function

# a statement, and the rule that judges it: written before the run, then left alone
told = "The function error of GELU experts falls at least as fast as n^(-0.4)."
study.ours("gelu-not-slower", told, slope("rmse", "gelu").at_most(-0.4), source="ours")

study.figure(panels=[dict(variable="L3"), dict(variable="rmse")], caption="Errors against the sample size.")

if __name__ == "__main__":  # as in a notebook
    print(study.run())
'''


def write(name: str) -> Path:
    """Write the file of a new study into the current folder, or where the path says, and return its path."""
    path = Path(name if name.endswith(".py") else f"{name}.py").expanduser()
    if not path.stem.isidentifier():
        raise InputError(f"the name of the study is {path.stem!r}; allowed are letters, digits and '_'")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent}")
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(TEXT.format(name=path.stem, file=path))
    except FileExistsError:
        raise InputError(f"{path} exists already; give another name, or remove the file") from None
    return path
