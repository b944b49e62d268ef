"""The verbs that look things up, begin a study, and hand results on."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moestat.cli_options import WIDTH, called, console
from moestat.errors import InputError, UserError
from moestat.runner.request import Request

ROWS, WHOLE, SETTINGS = 8, 12, 24
"""Rows of a ledger, and settings, of which a short answer tells; as many primary claims it shows whole."""
WRITTEN = ("sealed", "hindsight", "edited", "added")
"""Words for when a rule was written, by which claims are found."""

if TYPE_CHECKING:
    from moestat.report.items import Part
    from moestat.study.contents import Paper
    from moestat.study.spec import Study


def known(paper: str | None) -> dict[str, Path]:
    """Return the known studies, or those of a paper."""
    from moestat.study import load

    studies = load.known_studies()
    if paper:
        from moestat.study import lookup

        return lookup.of_paper(studies, paper)
    return studies


def listing(arguments: argparse.Namespace) -> None:
    """List the known studies: those of papers by name, those of one's own, or of one paper, with titles and times."""
    from moestat.study import load

    papers: dict[str, list[str]] = {}
    rows = {}
    for name, path in known(arguments.paper).items():
        if arguments.paper is None and (path.parent / "items.py").is_file():
            papers.setdefault(path.parent.name.replace("_", "-"), []).append(name)
        else:
            title, expected = load.summary(path)
            time = f" ({expected.partition(' on ')[0]})" if expected else ""
            rows[name] = textwrap.shorten(title, WIDTH - 28 - len(time), placeholder=" ...") + time
    for paper, names in papers.items():
        print(textwrap.fill(f"{paper}: {', '.join(names)}", WIDTH, subsequent_indent="  "))
    _table(rows.items())
    if papers:
        print(f"with titles and times: {called()} --list --paper PAPER", file=sys.stderr)
    elif rows:
        print("in brackets: what the preset 'quick' states of its time", file=sys.stderr)
    else:
        print("no studies", file=sys.stderr)


def claims(arguments: argparse.Namespace) -> None:
    """Count the ledger, print its rows or write it; of a study, a paper, an id or a place print all claims."""
    from moestat.report import csv_text, ledger, views
    from moestat.study import load, lookup

    word, paths = arguments.study, known(arguments.paper)
    if not (word or arguments.all or arguments.write):
        return items(arguments)
    if word in WRITTEN and word not in paths and not arguments.write:
        kept = views.primary(_rows(arguments.out, lookup.readable(paths)))
        _print([row for row in kept if word in views.when(row).split()], word, whole=arguments.all)
        return print(f"One claim: {called()} claim ID; of one paper: {called()} --claims {word} --paper PAPER")
    if word:
        studies = lookup.chosen(word, paths)
    elif arguments.write:  # one that cannot be read is an error, as its claims would be lost
        studies = {name: load.read(path).study for name, path in paths.items()}
    else:
        studies = lookup.readable(paths)
    if arguments.write:
        rows = views.primary(_rows(arguments.out, studies))
        forms = {".html": lambda: ledger.page(rows), ".csv": lambda: csv_text.dump(ledger.frame(rows))}
        return _write(arguments.write, forms, ledger.title(rows))
    show(arguments.out, studies, word, whole=arguments.all)
    return print(f"One claim: {called()} claim ID; as a page: {called()} --claims --write FILE.html")


def show(out: Path, studies: Mapping[str, Study], word: str = "", *, whole: bool = False) -> None:
    """Print the ledger of some studies, those that a word means: its first rows, or all."""
    from moestat.report import views
    from moestat.study import lookup

    rows = _rows(out, studies)
    _print(rows if word else views.primary(rows), word, whole=whole)
    if word and (said := lookup.papers(word, studies)):
        print(said)


def _print(rows: list[dict[str, Any]], word: str, *, whole: bool) -> None:
    """Print rows of the ledger that a word means, the first or all."""
    from moestat.report import ledger, views

    mine = views.primary(rows) or rows
    shown = rows if whole or len(rows) <= ROWS else mine if len(mine) <= WHOLE else mine[:ROWS]
    console().print(ledger.rich(shown, ledger.title(rows)))
    if len(shown) < len(rows):
        print(f"... and {len(rows) - len(shown)} more: {called()} --claims{f' {shlex.quote(word)}' * bool(word)} --all")


def _rows(out: Path, studies: Mapping[str, Study]) -> list[dict[str, Any]]:
    """Return the rows of the claims of some studies; what of them survives hangs on all claims of their papers."""
    from moestat.report import ledger
    from moestat.study import load, lookup

    papers, stems = {study.paper for study in studies.values()}, {Path(name).stem for name in studies}
    whole = {name: study for name, study in lookup.readable(known(None)).items() if study.paper in papers}
    whole = {name: study for name, study in whole.items() if name not in stems}
    whole |= {name: load.read(name).study for name in studies}
    asked = {(name, claim.id) for name, study in studies.items() for claim in study.claims}
    return [row for row in ledger.rows(out, whole) if (row["study"], row["claim"]) in asked]


def _items(out: Path, studies: Mapping[str, Study]) -> Iterator[tuple[Paper, list[Part]]]:
    """Yield the papers of some studies, which are all of each, with their items."""
    from moestat.report import items, ledger
    from moestat.study import cells, contents

    rows = ledger.rows(out, studies)
    for name in sorted({study.paper for study in studies.values()}):
        mine = {one: study for one, study in studies.items() if study.paper == name}
        paper = contents.read(name) or contents.of_sources(name, mine)
        cells.placed(paper, cells.claims_of(mine), complete=True)
        yield paper, items.parts(paper, [row for row in rows if row["paper"] == name])


def items(arguments: argparse.Namespace) -> None:
    """Print how the items of a paper stand, a line each; count those of all papers; or write them as a page."""
    from moestat.report import items as paper_items
    from moestat.report import summary
    from moestat.study import load, lookup

    paths = known(arguments.paper)
    every = {name: load.read(path).study for name, path in paths.items()} if arguments.write else lookup.readable(paths)
    found = list(_items(arguments.out, every))
    if arguments.write:
        return _write(arguments.write, {".md": lambda: paper_items.page(found)}, "; ".join(p.name for p, _ in found))
    print("\n".join(summary.HEAD))
    for paper, parts in found:
        print("\n".join([*summary.block(paper, parts), *(summary.listing(parts) if len(found) == 1 else [])]))
    print(summary.LEGEND)
    name = arguments.paper or "PAPER"
    item, row = f"One item: {called()} check '{name} ITEM'", f"{called()} --claims {arguments.paper or '--all'}"
    items_of = f"its items: {called()} --paper PAPER; " if len(found) > 1 else ""
    return print(f"{item}; {items_of}every row: {row}; those rules: --claims hindsight, edited or added")


def claim(arguments: argparse.Namespace) -> None:
    """Print one claim, or a verdict by argument; the ids of all where a theorem, a figure or a source has several."""
    from moestat.report import ledger
    from moestat.report.arguments import card
    from moestat.study import lookup

    if argued := lookup.argument(arguments.claim):
        return console().print(card(*argued))
    word, proved, studies = arguments.claim, lookup.argued(arguments.claim), {}
    with contextlib.suppress(*[InputError][: len(proved)]):  # an item may have arguments and no claim
        studies = lookup.chosen(word, known(None))
    found = [(name, study, claim) for name, study in studies.items() for claim in study.claims]
    names = [f"{name}:{claim.id}" for name, _, claim in found]
    if not found and not proved:
        raise InputError(f"{word} makes no claim")
    if len(found) == 1:
        shown, decided = ledger.card(arguments.out, *found[0], *_rows(arguments.out, studies))
        console().print(shown)
        return print(f"\n{decided}")  # a command is not broken
    if found:
        show(arguments.out, studies, word)
    for one in proved:
        print(f"{one.item} is {one.wording}: {called()} claim {one.id}")
    return print(f"One of them: {called()} claim {names[0]}") if found else None


def check(arguments: argparse.Namespace) -> None:
    """Answer how an item of a paper stands, in a few lines; of a paper alone list its items, a line each."""
    from moestat.report import check as answers
    from moestat.study import load, lookup

    paper, item = lookup.item(" ".join(arguments.item))
    studies = {name: load.read(path).study for name, path in known(paper.name).items()}
    ((_, parts),) = _items(arguments.out, studies)
    if item is None:
        lines = answers.listing(paper, parts)
    else:
        part = next(part for part in parts if part.item.name == item.name)
        lines = answers.answer(paper, part, studies, called(), whole=arguments.verbose)
    return print("\n".join([*lines, *answers.without_runs(parts, arguments.out)]))


def new(arguments: argparse.Namespace) -> None:
    """Write a study file to begin from."""
    from moestat.study import starter

    path = starter.write(arguments.name)
    print(f"{path} is written. Check it, and run it, with:\n  {called()} {path} --dry-run\n  {called()} {path}")


def settings(arguments: argparse.Namespace) -> None:
    """List the experiments, or the settings and the variables of one."""
    from moestat.report import variables
    from moestat.runner import experiments

    if not arguments.experiment:
        _table(((name, experiments.about(name)) for name in experiments.own_experiments()), WIDTH)
        return print(f"The settings of one: {called()} settings EXPERIMENT")
    from moestat.study import load

    word = arguments.experiment
    name = load.read(word).study.experiment if load.is_path(word) else word
    about, rows = experiments.described(name)
    whole, found = arguments.verbose, variables.of_experiment(name)
    print(about)
    texts: dict[str, str] = {}
    for row in rows:
        default = row.default if row.default in ("required", "") else f"default {row.default}"
        kind = ", ".join(filter(None, (row.kind, default))) if whole else default
        allowed = row.allowed and f"allowed: {row.allowed}"
        texts[row.key] = "; ".join(filter(None, (kind, allowed, row.meaning) if whole else (kind, row.meaning)))
    shown = list(texts.items()) if whole else list(texts.items())[:SETTINGS]
    _table(shown, None if whole else WIDTH)
    if whole:
        print("\nIts variables, for claims, rates and tables (* stands for another variable, or a part of one):")
        _table(found.items())
        return print(variables.common())
    rest = f"{len(texts) - len(shown)} more settings, " * (len(texts) > len(shown))
    known = textwrap.shorten(f"Its variables: {', '.join(found)}", 4 * WIDTH, placeholder=" ...")
    print(textwrap.fill(known, WIDTH, subsequent_indent="  "))
    return print(f"{rest}types, variables in words: {called()} settings {arguments.experiment} -v")


def export(arguments: argparse.Namespace) -> None:
    """Write results as a tidy table."""
    from moestat.api import load
    from moestat.report import csv_text
    from moestat.report.tables import tidy
    from moestat.study import load as studies

    table = tidy(load(arguments.study, arguments.preset, out=arguments.out), arguments.variable or None)
    given = Path(arguments.study).expanduser()
    folder = given.parent if given.suffix in (".nc", ".xz") else given
    if not folder.is_dir():
        folder = arguments.out / studies.name_of(arguments.study) / arguments.preset
    said = f"{len(table)} rows (arm, axes, replicate, loss, value)"
    _write(arguments.write or [folder / "losses.csv"], {".csv": lambda: csv_text.dump(table)}, said)


def ship(arguments: argparse.Namespace) -> None:
    """Make records of complete results."""
    from moestat.report import shipping

    for study in arguments.studies:
        where = arguments.out, arguments.to
        for line in shipping.ship(study, arguments.preset, *where, replace=arguments.replace, whole=arguments.whole):
            print(line, flush=True)
    size = shipping.total(arguments.to)
    print(f"all records in {arguments.to / 'records'}: {size / 1e6:.1f} MB of {shipping.MOST / 1e6:g}")


def fetch(arguments: argparse.Namespace) -> None:
    """Put the whole results of records beside them."""
    from moestat.runner import whole

    for study in arguments.studies:
        print(whole.fetch(study, arguments.preset, arguments.out, arguments.package), flush=True)


def verify(arguments: argparse.Namespace) -> None:
    """Compute a sample of the replicates of records again."""
    from moestat.runner import replay

    count, seed = 3 if arguments.replicates is None else arguments.replicates, arguments.seed or 0
    if count < 1 or seed < 0:
        raise InputError("--replicates is at least 1, and --seed at least 0")
    for study in arguments.studies:
        request = Request(study=study, preset=arguments.preset, out=arguments.out, device=arguments.device)
        found = replay.verify(request, count, seed, lambda text: print(text, flush=True))
        lines = found.lines + ([replay.certify(found)] if arguments.certify else [])
        if not found.holds:
            raise UserError("; ".join(lines))
        print("\n".join(lines), flush=True)


def _write(paths: Sequence[Path], forms: Mapping[str, Callable[[], str]], said: str) -> None:
    """Write a text to files, each in the form that its name asks for."""
    from moestat import files

    for path in paths:
        if path.suffix not in forms:
            raise InputError(f"--write is {str(path)!r}; allowed is FILE{' or FILE'.join(forms)}")
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write(path, forms[path.suffix]().encode())
        print(textwrap.fill(f"{said}; written to", WIDTH), path)


def _table(rows: Iterable[tuple[str, str]], columns: int | None = None) -> None:
    """Print names with what is said of them, in a line of so many columns at most."""
    rows = list(rows)
    width = max((len(name) for name, _ in rows), default=0) + 2
    for name, text in rows:
        print(
            f"{name:{width}}{text if columns is None else textwrap.shorten(text, columns - width, placeholder=' ...')}"
        )
