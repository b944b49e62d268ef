"""One cell of an experiment, what it computes, and a claim for a rule: each in one line."""

from moestat.experiment import Cell
from moestat.study.spec import Claim

CLAIM = {"id": "c", "source": "s", "statement": "t", "kind": "function", "function": "a:b"}
REGIONS = {"at_least", "at_most", "within"}


def cell_of(module, seed=3, **settings):
    return Cell(module.__name__, seed, "arm", {}, module.Settings(**settings).model_dump(mode="json"))


def computed(module, replicates=(0,), seed=3, **settings):
    return module.run(cell_of(module, seed, **settings), list(replicates), device="cpu")


def a_claim(**about):
    """Return a claim with a rule by a function, whose region is at_most = 0 unless one is named."""
    region = {} if REGIONS & set(about) else {"at_most": 0.0}
    return Claim.model_validate(CLAIM | region | about)
