"""A first study file to change: short, commented, and complete, so that it runs as it stands."""

from __future__ import annotations

from pathlib import Path

from moestat.errors import InputError

TEXT = """\
# {name}: a study file. It runs as it stands (some ten seconds; a minute where nothing is compiled yet):
#     moestat {file} --dry-run        check it and print the plan
#     moestat {file}                  run it; outputs/{name}/quick/report.html tells what came out
# All keys: moestat keys. All settings of the experiment, and the variables that it returns: moestat settings regression

title = "Do GELU experts converge like ReLU experts?"   # one line
paper = "none"                                          # short name of the paper, where there is one
source = "ours"                                         # where in the paper; "ours" for a question of one's own
question = "Does the kind of expert change the rate of the least-squares fit?"
experiment = "regression"                               # what computes a replicate: a name, or a module of your own
scale = "paper"                                         # its own problem, neither a reduced one nor a stand-in
seed = 4                                                # every random number follows from it

[settings]                      # of every arm; what is not named has its default
d = 2                           # input dimension
n_true = 2                      # experts of the truth
n_fitted = 2                    # experts that are fitted; more than n_true: over-specified
truth_gate = "sigmoid"
fitted_gate = "sigmoid"

[grid]                          # the cells are arms x grid
n = [1000, 2000, 5000, 10000, 20000]

[[arms]]                        # what is compared: a name, and the settings in which it differs
name = "relu"
label = "ReLU experts"
settings = {{ expert = "relu" }}

[[arms]]
name = "gelu"
label = "GELU experts"
settings = {{ expert = "gelu" }}

[presets.quick]                 # a size of the study; 'quick' is the default and must exist
replicates = 10

[presets.large]
replicates = 40
grid = {{ n = [1000, 3162, 10000, 31623, 100000] }}

[[rates]]                       # a log-log slope for every arm, and what is said about it
loss = "L3"                     # Voronoi loss of the parameters
bound = -0.5                    # the exponent of the theory
reference = "fisher_L3"         # what least squares reaches when it knows the number of experts

[[rates]]
loss = "rmse"                   # error of the fitted function
bound = -0.5

[[claims]]                      # a statement, and the rule that judges it: written before the run, then left alone
id = "gelu-not-slower"
source = "ours"
statement = "The function error of GELU experts falls at least as fast as n^(-0.4)."
kind = "slope"                  # slope, slope_difference, mean, difference, log_ratio, function
variable = "rmse"
arm = "gelu"
at_most = -0.4                  # or within = [low, high], at_least = ..., equivalent = ...

[[figures]]
caption = "Error of the parameters and of the function against the sample size."
panels = [{{ variable = "L3" }}, {{ variable = "rmse" }}]
"""


def write(name: str) -> Path:
    """Write the file of a new study into the current folder, or where the path says, and return its path.

    Raises
    ------
    InputError
        If the name is none, or the file exists.
    """
    path = Path(name if name.endswith(".toml") else f"{name}.toml").expanduser()
    if not path.stem.replace("-", "_").isidentifier():
        raise InputError(f"the name of the study is {path.stem!r}; allowed are letters, digits, '_' and '-'")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent}")
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(TEXT.format(name=path.stem, file=path))
    except FileExistsError:
        raise InputError(f"{path} exists already; give another name, or remove the file") from None
    return path
