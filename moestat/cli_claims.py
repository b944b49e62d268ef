"""The commands that look claims up: the ledger and the items of a paper, in the terminal or in a file; one claim."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from moestat import cli_options
from moestat.errors import InputError

if TYPE_CHECKING:
    from moestat.report.items import Part
    from moestat.study.contents import Contents
    from moestat.study.spec import Study


def known(paper: str | None) -> dict[str, Path]:
    """Return the known studies, or those of a paper."""
    from moestat.study import load

    studies = load.known_studies()
    return load.of_paper(studies, paper) if paper else studies


def claims(word: str | None, paper: str | None, out: Path, pages: Sequence[Path]) -> int:
    """Print the ledger, or write it; ``word`` is a study, a file, a paper, the id of a claim, or a place of a paper."""
    from moestat.study import lookup

    paths = known(paper)
    if word:
        chosen = lookup.chosen(word, paths)
    elif pages:
        chosen = _read(paper)
    else:
        chosen = lookup.readable(paths)
    if pages:
        return _write(out, chosen, pages)
    show(out, chosen)
    if word and (said := lookup.papers(word, chosen)):
        print(said)
    called, where = cli_options.called(), _where(out)
    print(f"One claim: {called} claim ID{where}; as a page: {called} --claims{where} --write FILE.html")
    return 0


def _where(out: Path) -> str:
    """Return the option of a command that reads the same outputs folder."""
    from moestat.report import stored_runs

    return "".join(f" {shlex.quote(word)}" for word in stored_runs.named(out))


def _write(out: Path, studies: Mapping[str, Study], pages: Sequence[Path]) -> int:
    from moestat import files
    from moestat.report import csv_text, html, ledger

    table = ledger.ledger(out, studies)
    forms = {".html": html.ledger, ".csv": csv_text.dump}
    if odd := [path for path in pages if path.suffix not in forms]:
        raise InputError(f"--write is {str(odd[0])!r}; the ledger is a page, FILE.html, or a table, FILE.csv")
    for path in pages:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write(path, forms[path.suffix](table).encode())
        print(f"{ledger.title(table)}; written to {path}")
    return 0


def show(out: Path, studies: Mapping[str, Study], *, first: str = "") -> None:
    """Print the ledger: what was run with the preset ``first``, else the run that says most."""
    from rich.console import Console

    from moestat.report import items, ledger

    table = ledger.ledger(out, studies, first=first)
    Console().print(ledger.rich(table))
    for line in items.sentences(table):
        print(line)


def report(paper: str | None, out: Path, pages: Sequence[Path]) -> int:
    """Write the items of a paper, or of all papers, with how they stand, as a Markdown table."""
    from moestat import files
    from moestat.report import items

    if not pages or any(path.suffix != ".md" for path in pages):
        raise InputError(
            "--report writes the items of all papers, or with --paper of one, as a table: --report --write FILE.md; "
            "for one study use: report STUDY"
        )
    found = _found(out, _read(paper))
    for path in pages:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write(path, items.page(found).encode())
        print(f"{'; '.join(listed.paper for listed, _ in found)}: written to {path}")
    return 0


def standing(paper: str, out: Path) -> int:
    """Print the items of a paper with how they stand."""
    from rich.console import Console

    from moestat.report import items

    [(listed, found)] = _found(out, _read(paper))
    Console().print(items.rich(found, listed.title))
    print(f"Its claims: {cli_options.called()} --claims {paper}{_where(out)}")
    return 0


def _read(paper: str | None) -> dict[str, Study]:
    """Read the known studies, or those of a paper; one that cannot be read is an error, as its claims would be lost."""
    from moestat.study import load

    return {name: load.read(path).study for name, path in known(paper).items()}


def _contents(paper: str, studies: Mapping[str, Study]) -> Contents:
    from moestat.study import contents

    return contents.read(paper) or contents.of_sources(paper, studies)


def _found(out: Path, studies: Mapping[str, Study]) -> list[tuple[Contents, list[Part]]]:
    """Return the items of every paper that has studies, with what was found on them."""
    from moestat.report import items, ledger

    rows = ledger.ledger(out, studies).to_dict("records")
    found = []
    for paper in sorted({study.paper for study in studies.values()}):
        listed = _contents(paper, {name: study for name, study in studies.items() if study.paper == paper})
        found.append((listed, items.parts(listed, [row for row in rows if row["paper"] == paper])[0]))
    return found


def card(word: str, out: Path) -> int:
    """Print one claim; the ids of all where a theorem, a figure or words of a source have several."""
    from moestat.report import ledger
    from moestat.study import lookup

    places = lookup.all_of(word, known(None))
    if len(places) == 1:
        [place] = places
        print(ledger.card(out, place.name, place.study, place.claim))
        return 0
    chosen = lookup.by_study(places)
    show(out, chosen)
    if said := lookup.papers(word, chosen):
        print(said)
    name, study = next(iter(chosen.items()))
    print(f"One of them: {cli_options.called()} claim {name}:{study.claims[0].id}{_where(out)}")
    return 0
