"""The commands that look claims up: the ledger in the terminal and as pages, and one claim by its id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from moestat import cli_options
from moestat.errors import InputError

if TYPE_CHECKING:
    from moestat.study.spec import Study


def known(paper: str | None) -> dict[str, Path]:
    """Return the known studies, or those of a paper."""
    from moestat.study import load

    studies = load.known_studies()
    return load.of_paper(studies, paper) if paper else studies


def claims(word: str | None, paper: str | None, out: Path, pages: Sequence[Path]) -> int:
    """Print the ledger, or write it; ``word`` is a study, a file, a paper or the id of a claim."""
    from moestat.study import load, lookup

    paths = known(paper)
    if word:
        chosen = lookup.chosen(word, paths)
    elif pages:  # a study file that cannot be read is an error here, as its claims would be lost
        chosen = {name: load.read(path).study for name, path in paths.items()}
    else:
        chosen = lookup.readable(paths)
    if pages:
        return _write(out, chosen, pages)
    show(out, chosen)
    called = cli_options.called()
    print(f"One claim: {called} claim ID; as a page: {called} --claims --write FILE.html")
    return 0


def _write(out: Path, studies: Mapping[str, Study], pages: Sequence[Path]) -> int:
    from moestat import files
    from moestat.report import csv_text, ledger, ledger_html, ledger_page

    table = ledger.ledger(out, studies)
    forms = {".md": ledger_page.page, ".html": ledger_html.page, ".csv": csv_text.dump}
    for path in pages:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write(path, forms[path.suffix](table).encode())
        print(f"{ledger.view(table).title}; written to {path}")
    return 0


def show(out: Path, studies: Mapping[str, Study], *, first: str = "") -> None:
    """Print the ledger: what was run with the preset ``first``, else the run that says most."""
    from rich.console import Console

    from moestat.report import headline, ledger

    table = ledger.ledger(out, studies, first=first)
    Console().print(ledger.rich(table))
    for line in headline.sentences(table):
        print(line)


def report(paper: str | None, out: Path, pages: Sequence[Path]) -> int:
    """Write the replication report of a paper."""
    from moestat import files
    from moestat.report import paper_report
    from moestat.study import contents, load

    if not paper:
        raise InputError("--report wants a paper: --paper PAPER --report; for one study use: report STUDY")
    studies = {name: load.read(path).study for name, path in known(paper).items()}
    listed = contents.read(paper) or contents.of_sources(paper, studies)
    text = paper_report.page(out, studies, listed)
    for path in pages or [out / f"{paper}.html"]:
        if path.suffix != ".html":
            raise InputError(f"--write is {str(path)!r}; the report of a paper is a page, FILE.html")
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write(path, text.encode())
        print(f"{listed.title}: written to {path}")
    return 0


def card(word: str, out: Path) -> int:
    """Print one claim."""
    from moestat.report.claim_card import card as text
    from moestat.study import lookup

    place = lookup.one(word, known(None))
    print(text(out, place.name, place.study, place.claim))
    return 0
