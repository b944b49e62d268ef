"""How many paired seeds it takes to tell the differences that CompeteSMoE prints, as a table made from the records."""

import itertools
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import xarray as xr

from moestat.claims.selection import NoAnswerError, variable
from moestat.rates import paired_seeds
from moestat.report import csv_text
from moestat.rounding import estimate, number
from moestat.runner import records, results
from moestat.study import load
from moestat.study.spec import Claim

OUT = Path(__file__).resolve().parents[1] / "outputs"
WIDEST = "moestat.claims.rules:widest"
CONTRAST = "studies.compete_smoe.parts.rules:contrast"


@dataclass(frozen=True)
class Row:
    """A difference to tell: its name, the record and the claim that judge it, its size and where that is printed."""

    what: str
    study: str
    preset: str
    claim: str
    size: float
    printed: str


ROWS = (
    Row("CompeteSMoE and SMoE, Switch", "compete_lm", "pairs", "compete-smoe-switch", 0.014, "Table 2, enwik8 small"),
    Row("the same, GLaM", "compete_lm", "pairs", "compete-smoe-glam", 0.011, "Table 2, enwik8 small"),
    Row("the same, Switch, half a million weights", "compete_significance", "long", "better", 0.014, "Table 9"),
    Row("the same, winners' output", "compete_significance", "long", "better-winners", 0.014, "Table 9"),
    Row("the same, 186 thousand weights", "compete_scale", "trained", "compete-larger", 0.015, "Table 2, medium"),
    Row("the same, K = 2", "compete_topk", "trained", "compete-better-2", 0.014, "Table 9; Fig. 3"),
    Row("the same, published code", "compete_published", "trained", "better", 0.014, "Table 2, enwik8 small"),
    Row("the same, published code, lambda = 1", "compete_published", "trained", "always-better", 0.014, "Table 2"),
    Row("XMoE's gain on SMoE, small to medium", "compete_scale", "trained", "xmoe-gains", 0.011, "Table 2, enwik8"),
    Row("StableMoE's gain on SMoE, the same", "compete_scale", "trained", "stable-moe-gains", 0.009, "Table 2, enwik8"),
    Row("GLaM and Switch, SMoE", "compete_lm", "pairs", "glam-better", 0.005, "Table 2, enwik8 small"),
    Row("the same, SMoE-Fixed", "compete_lm", "trained", "glam-better-smoe-fixed", 0.011, "Table 2, enwik8 small"),
    Row("the same, XMoE", "compete_lm", "trained", "glam-better-xmoe", 0.011, "Table 2, enwik8 small"),
    Row("the same, StableMoE", "compete_lm", "trained", "glam-better-stable-moe", 0.005, "Table 2, enwik8 small"),
    Row("SMoE-Fixed and SMoE, Switch", "compete_lm", "trained", "fixed-smoe-switch", 0.011, "Table 2, enwik8 small"),
    Row("the same, GLaM", "compete_lm", "trained", "fixed-smoe-glam", 0.005, "Table 2, enwik8 small"),
    Row("lambda = 0.01 and SMoE", "compete_schedule", "trained", "too-sparse", 0.4, "Tables 4 and 9"),
    Row("the same, winners' output", "compete_schedule", "winners", "too-sparse-winners", 0.4, "Tables 4 and 9"),
    Row("the same, 60 000 steps", "compete_schedule", "rare", "too-sparse-rare", 0.4, "Tables 4 and 9"),
    Row("lambda = 0.03 and SMoE", "compete_schedule", "trained", "better-3", 0.003, "Tables 4 and 9"),
    Row("lambda = 0.05 and SMoE", "compete_schedule", "trained", "better-5", 0.03, "Tables 4 and 9"),
    Row("lambda = 0.07 and SMoE", "compete_schedule", "trained", "better-7", 0.023, "Tables 4 and 9"),
    Row("lambda = 0.09 and SMoE", "compete_schedule", "trained", "better-9", 0.024, "Tables 4 and 9"),
    Row("lambda from 0.03 to 0.09", "compete_schedule", "seeds", "robust", 0.014, "Table 9, as *robust*"),
    Row("alpha = 0.1 and SMoE", "compete_balance", "trained", "better-01", 0.027, "Tables 5 and 9"),
    Row("alpha = 1 and SMoE", "compete_balance", "trained", "better-10", 0.026, "Tables 5 and 9"),
    Row("alpha = 5 and SMoE", "compete_balance", "trained", "better-50", 0.03, "Tables 5 and 9"),
    Row("alpha = 25 and SMoE", "compete_balance", "trained", "better-250", 0.012, "Tables 5 and 9"),
    Row("alpha = 250 and SMoE", "compete_balance", "trained", "better-2500", 0.005, "Tables 5 and 9"),
    Row("alpha from 0.1 to 5", "compete_balance", "seeds", "robust", 0.014, "Table 9, as *robust*"),
    Row("alpha = 250 and 5, clipped", "compete_balance", "trained", "large-worse", 0.025, "Table 5"),
    Row("the same, not clipped", "compete_balance", "trained", "unclipped-worse", 0.025, "Table 5"),
    Row("CompeteSMoE and SMoE, accuracy", "compete_finetune", "trained", "compete-smoe", 0.037, "Table 3, largest"),
    Row("the same", "compete_finetune", "trained", "compete-smoe", 0.004, "Table 3, smallest"),
    Row("SMoE-Fixed and SMoE, accuracy", "compete_finetune", "trained", "fixed-smoe", 0.025, "Table 3, largest"),
    Row("CompeteSMoE and SMoE, entropy", "router_entropy", "seeds", "compete-smoe", 0.06, "Table 10"),
    Row("the same, half a million weights", "compete_significance", "long", "surer", 0.06, "Table 10"),
)


def page(out: Path = OUT, rows: tuple[Row, ...] = ROWS) -> str:
    """Return one Markdown table: what is to be told, with which scatter, the seeds it takes and has, the verdict."""
    lines = [
        "| difference | record | to tell | printed in | standard deviation | seeds: takes | run | found | verdict |",
        "| --- | --- | ---: | --- | ---: | ---: | ---: | --- | --- |",
    ]
    for row in rows:
        folder = records.path(out, row.study, row.preset)
        claim = next(c for c in load.read(row.study).study.claims if c.id == row.claim)
        sd, run, needed = plan(read(folder / results.NAME), claim, row.size)
        kept = next(r for r in csv_text.load(folder / "claims.csv") if r["claim"] == row.claim)
        found = " ".join(estimate(*(float(kept[key]) for key in ("estimate", "ci_low", "ci_high"))))
        place = f"`{row.study}/{row.preset}`"
        cells = (row.what, place, number(row.size), row.printed, f"{sd:.2g}", needed, run, found, kept["wording"])
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


read = cache(results.read)  # most records have several rows


def plan(ds: xr.Dataset, claim: Claim, size: float) -> tuple[float, int, int]:
    """Return the standard deviation of one seed's difference, the seeds that were run and those that ``size`` takes.

    A claim that no two of several values differ by more than a bound compares all pairs: it is planned for the pair
    that scatters most, at the level of one pair, with ``size`` the distance of no difference from the bound.
    """
    gaps = differences(ds, claim)
    sd = float(np.std(gaps, axis=1, ddof=1).max())
    return sd, gaps.shape[1], paired_seeds(size, sd, level=1 - (1 - claim.level) / len(gaps))


def differences(ds: xr.Dataset, claim: Claim) -> np.ndarray:
    """Return the paired differences of a claim, (pairs, seeds): one pair, all those of *widest*, or one contrast.

    Raises
    ------
    NoAnswerError
        If the claim is another function, or a seed has no value.
    """
    if claim.kind == "difference":
        versus_at = claim.at if claim.versus_at is None else claim.versus_at
        second = (claim.versus_variable or claim.variable, {"arm": claim.versus or claim.arm, **versus_at})
        pairs = [((claim.variable, {"arm": claim.arm, **claim.at}), second)]
    elif claim.function == WIDEST:
        over, values = claim.options["over"], claim.options["values"]
        places = [(claim.variable, {"arm": claim.arm, **claim.at, over: value}) for value in values]
        pairs = list(itertools.combinations(places, 2))
    elif claim.function == CONTRAST:
        return _known(claim, np.sum([_term(ds, claim, **term) for term in claim.options["terms"]], axis=0)[None])
    else:
        raise NoAnswerError(f"{claim.id} is not a claim on paired differences.")
    return _known(claim, np.stack([variable(ds, *a).values - variable(ds, *b).values for a, b in pairs]))


def _term(ds: xr.Dataset, claim: Claim, sign: int, arm: str, at: dict[str, float]) -> np.ndarray:
    return sign * variable(ds, claim.variable, {"arm": arm, **claim.at, **at}).values


def _known(claim: Claim, gaps: np.ndarray) -> np.ndarray:
    if gaps.ndim != 2 or not np.isfinite(gaps).all():
        raise NoAnswerError(f"{claim.id} has seeds without a value.")
    return gaps
