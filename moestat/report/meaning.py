"""Whose statement a claim is, what it means for the paper, and what a run is to the paper, in words."""

from __future__ import annotations

import os

from moestat.study import contents
from moestat.study.spec import has_paper

ORIGINS = {"stated": "stated in the paper", "implied": "implied by the paper", "ours": "ours"}
BEARINGS = {"for": "speaks for the paper", "against": "speaks against the paper", "neutral": "neutral to the paper"}
SCALES = {
    "paper": "the paper's own problem",
    "reduced": "reduced: the paper's problem, but smaller",
    "stand-in": "a stand-in: other data or another model",
}


def of_run(scale: str, paper: str) -> str:
    """Say what a run is to the paper; of a study without a paper, that it is the study's own problem.

    >>> of_run("paper", "sigmoid-attention"), of_run("paper", "none"), of_run("reduced", "none")
    ("the paper's own problem", "the study's own problem", "reduced: the study's problem, but smaller")
    """
    return SCALES[scale] if has_paper(paper) else SCALES[scale].replace("paper", "study")


def says(origin: str, bearing: str, because: str, paper: str) -> str:
    """Say whose statement a claim is and what it means for the paper, with the step from one to the other.

    What a paper states is known of those whose contents the package lists; of any other the study states it.

    >>> says("implied", "for", "n = 8 is a case of it", "sigmoid-attention")
    'implied by the paper; if supported, it speaks for the paper (n = 8 is a case of it)'
    >>> says("stated", "for", "", "none")
    'stated by the study; if supported, it speaks for the study'
    """
    meaning = BEARINGS[bearing] if bearing == "neutral" else f"if supported, it {BEARINGS[bearing]}"
    step = f" ({because.rstrip('.')})" if because else ""
    text = f"{ORIGINS[origin]}; {meaning}"
    if not os.path.isfile(contents.path_of(paper)):  # of a text that is too long for a name, too
        text = text.replace("in the paper", "by the study").replace("paper", "study")
    return text + step
