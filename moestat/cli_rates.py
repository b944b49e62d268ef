"""The verb ``rates``: slopes of a table of errors, verdicts, LaTeX, a figure and a plan, without a study."""

from __future__ import annotations

import argparse
import textwrap
from typing import Any

from moestat.cli_options import WIDTH
from moestat.errors import InputError

PLANNED = (
    "Half-widths are of the t-interval; a hull, as the table may show, is wider. From low to high goes what is needed "
    "over the 95 % interval of slope_sd (chi-square, replicates - 1 degrees of freedom)."
)
TEX, PLOT = (".tex",), (".pdf", ".png", ".svg")


def rates(arguments: argparse.Namespace) -> None:
    """Print the rates of a CSV file, with what is asked for."""
    for name, path, allowed in (("--tex", arguments.tex, TEX), ("--plot", arguments.plot, PLOT)):
        if path is not None and path.suffix not in allowed:
            raise InputError(f"{name} is {str(path)!r}; allowed is FILE{' or FILE'.join(allowed)}")
        if path is not None and not path.expanduser().parent.is_dir():
            raise InputError(f"{name} is {str(path)!r}, and there is no folder {path.parent}")
    from moestat.rates.design import plan
    from moestat.rates.laws import compared
    from moestat.rates.tables import table

    found = table(
        arguments.errors,
        over=_sizes(arguments.over),
        theory=_theory(arguments.theory),
        loss=arguments.loss or None,
        replicate=arguments.replicate,
        window=arguments.window and tuple(arguments.window),
    )
    rule: dict[str, Any] = {"at_most": arguments.at_most, "at_least": arguments.at_least}
    rule |= {"within": arguments.within and tuple(arguments.within), "bent": arguments.bent}
    judged: list[str] = []
    if any(rule[name] is not None for name in ("at_most", "at_least", "within")):
        told = [str(found.judge(arm, **rule)) for arm in arguments.arm or found.fits]
        judged = [textwrap.fill(text, WIDTH, subsequent_indent="  ") for text in told]
    elif arguments.arm:
        raise InputError("--arm names whose slope is judged; give a rule: --at-most, --at-least or --within")
    print(found, *judged, sep="\n")
    if arguments.laws:
        for arm, fit in found.fits.items():
            print(f"{arm or 'error'}: which law?", compared(fit), sep="\n")
    if arguments.half_width is not None:
        print(plan(found, arguments.half_width).to_string(float_format="{:.3g}".format))
        print(textwrap.fill(PLANNED, WIDTH))
    for path, write in ((arguments.tex, found.to_latex), (arguments.plot, found.plot)):
        if path is not None:
            write(path)
            print(f"written to {path}")


def _sizes(text: str) -> Any:
    """Return the sizes that are listed, or the name of their column."""
    if "," not in text:
        return text
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--over is {text!r}; allowed is a column, or sizes: 100,1000,10000") from None


def _theory(texts: list[str]) -> Any:
    """Return the slope of all arms, or slopes by arm."""
    by_arm: dict[str, float] = {}
    for text in texts:
        arm, _, slope = text.rpartition("=")
        try:
            by_arm[arm] = float(slope)
        except ValueError:
            raise InputError(f"--theory is {text!r}; allowed is a number, or ARM=NUMBER") from None
    if "" in by_arm and len(by_arm) > 1:
        raise InputError("--theory is one number for all arms, or ARM=NUMBER for each")
    return by_arm.get("", by_arm or None)
