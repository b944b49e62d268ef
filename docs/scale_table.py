"""What every preset of every study is to its paper, as tables made from the study files."""

from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from moestat.claims.verdicts import judged
from moestat.study import load
from moestat.study.spec import Study

STUDIES = Path(__file__).resolve().parents[1] / "studies"
PROBLEMS = {
    "sigmoid-attention": (
        "Experiments: regression in d = 8 with N\\* = 8 experts, N = 9 fitted, n from 10³ to 10⁵, noise of variance "
        "0.01 (section 5.1, appendix E.1); a language model of a billion parameters on 10¹¹ tokens of RedPajama "
        "(section 5.2, appendix E.2). Theory: any problem that meets the conditions of a theorem is its own."
    ),
    "compete-smoe": (
        "Experiments: language models of 7 to 36 million parameters, 60 000 to 80 000 steps on enwik8, text8 and "
        "WikiText-103; fine-tuning on SST-2, SST-5, IMDB and BANKING77 (section 6, appendix C). Theory (section 4) "
        "has no sizes: any model that meets its conditions is its own."
    ),
    "expert-count": (
        "Experiments: patch data with d = 50, K = 4 clusters and P = 4 or 8 patches; M from 4 to 64 experts of J = 8 "
        "neurons (Numerical Experiments). The sample size and the number of steps are not printed."
    ),
    "mixture-of-transformers": (
        "Experiments: vision transformers of 3 or 4 blocks on CIFAR-10, CIFAR-100 and Tiny-ImageNet, 300 to 600 epochs "
        "(section 6, appendix B.2); Amazon, Yahoo and YouTube texts (appendix B.3). Theory: one-layer transformers on "
        "the data of Definition 1, with constants that the theorems do not print."
    ),
    "task-routing": (
        "Experiments: 10 to 40 tasks of 5 templates and 200 pairs from WikiData5M, one layer of width 30, 1 to 9 "
        "experts, 50 epochs, three seeds (section 6, appendix B). Theory: any knowledge dataset is its own."
    ),
    "demystifying-softmax": "Theory, and the truth and the sizes of its published scripts.",
}
"""What each paper's own problem is; the key is that of the study files."""


def page(folder: Path = STUDIES) -> str:
    """Return one Markdown table per paper: study, preset, scale, and what is run."""
    studies = {path.stem: load.read(path).study for path in sorted(folder.glob("*.toml"))}
    parts = []
    for paper, members in groupby(sorted(studies.items(), key=lambda item: item[1].paper), key=lambda i: i[1].paper):
        parts += [f"## {paper}", PROBLEMS.get(paper, ""), "\n".join(_table(members))]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(studies: Iterable[tuple[str, Study]]) -> list[str]:
    lines = ["| study | preset | scale | what is run |", "| --- | --- | --- | --- |"]
    for name, study in studies:
        for place, (preset, content) in enumerate(study.presets.items()):
            first = "" if place else f"`{name}`"
            about = content.about.replace("|", r"\|").replace("*", r"\*").replace("<", "&lt;")
            lines.append(f"| {first} | `{preset}` | {_scale(study, preset)} | {about} |")
    return lines


def _scale(study: Study, preset: str) -> str:
    """Return the scale of a preset, and how many claims are judged at another one."""
    whole = study.scale_of(preset)
    others = Counter(study.scale_of(preset, claim) for claim in judged(study, preset))
    apart = [f"{count} of {others.total()} claims {scale}" for scale, count in others.items() if scale != whole]
    return f"**{whole}**" + "".join(f"; {text}" for text in apart)
