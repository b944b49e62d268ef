"""The verbs that compute and judge: run, status, collect, report, replay, merge, and every study in turn."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from typing import TYPE_CHECKING

from moestat import status as ends
from moestat.api import without_collection, write_report
from moestat.cli_options import console
from moestat.cli_options import request as request_of
from moestat.errors import InputError, UserError
from moestat.sentences import listed

if TYPE_CHECKING:
    from moestat.report.write import Report
    from moestat.runner.request import Request
    from moestat.runner.run import Result

MOST_CELLS, MOST_LEFT = 12, 5
"""Arms, or cells, that ``status`` lists one by one; studies of which ``--all`` tells why it leaves them out."""


def say(text: str) -> None:
    """Print something that is no result."""
    print(text, file=sys.stderr, flush=True)


def run(arguments: argparse.Namespace) -> None:
    """Run a study, or say what a run would do."""
    from moestat.runner.run import run
    from moestat.runner.until import run_until

    request = request_of(arguments)
    if arguments.dry_run:
        return _dry_run(request)
    if arguments.debug:
        return _debug(request)
    if not request.quiet:
        _tell_record(request)
    return _tell((run if request.until is None else run_until)(request, write_report))


def run_all(arguments: argparse.Namespace) -> None:
    """Run every study, none before those that it reads, or print the plans; fail at the end if one failed."""
    from moestat import cli_look
    from moestat.runner import begin, needs
    from moestat.study import load, lookup

    if arguments.study:
        raise InputError("--all runs every study; it takes no name")
    known, failed, chosen, left = cli_look.known(arguments.paper), [], {}, []

    def told(name: str, error: UserError) -> None:
        failed.append(name)
        say(f"error: {name}: {error}")

    for name, path in known.items():
        try:
            study_file = load.read(path)
            if why := begin.beyond(request_of(arguments, name), study_file):
                left.append((name, why))
            else:
                chosen[name] = study_file.study
        except UserError as error:
            told(name, error)
    for skipped, why in left[:MOST_LEFT]:
        say(f"note: {skipped} was left out: {why}")
    if rest := [skipped for skipped, _ in left[MOST_LEFT:]]:
        say(f"note: so were {listed(rest, MOST_LEFT)}")
    if not chosen and not failed:
        raise InputError(f"no study can be run at the preset {arguments.preset!r}")
    order, unread = needs.ordered({name: study.needs for name, study in chosen.items()}), len(failed)
    for number, name in enumerate(order):
        expected = chosen[name].presets[arguments.preset].expected or "time not stated"
        say(f"[{number + 1} of {len(order)}] {name}/{arguments.preset}: {expected}")
        try:
            run(argparse.Namespace(**{**vars(arguments), "study": name}))
        except UserError as error:
            if error.exit_code >= 128:
                say(f"{number} of {len(order)} studies are done, and the same command goes on")
                raise
            told(name, error)
    if arguments.report and not arguments.dry_run:
        cli_look.show(arguments.out, lookup.readable(known))
    if failed:
        raise UserError(f"{len(failed)} of {unread + len(order)} studies did not complete: {', '.join(failed)}")


def _dry_run(request: Request) -> None:
    from moestat.runner import begin, overview, store
    from moestat.runner import plan as plans

    plan = plans.of(request)
    study = plan.study_file.study
    if not study.reads and request.backend != "dask":
        begin.refuse_without_libraries(plan)
    begin.refuse_bad_data(plan)
    grid = ", ".join(f"{axis} = {listed(values, 30)}" for axis, values in plan.axes.items())
    print(f"{study.title}\n{plan.study_file.shown}, preset {plan.preset_name}: {plan.preset.about}".rstrip(": "))
    print(f"experiment {plan.module_name}, seed {plan.seed}; grid: {grid or 'one point'}")
    print(f"{len(plan.arms)} arms: {', '.join(arm.name for arm in plan.arms)}")
    print(f"{len(plan.by_digest)} cells x {plan.replicates} replicates in blocks of {plan.block}")
    print(f"expected of the preset as it stands: {plan.preset.expected or 'not stated'}")
    for text in begin.cautions(plan):
        print(f"caution: {text}")
    if not request.fresh:
        scan = store.scan(plan.root, plan, begin.version_of(plan), move=False)
        if scan.stale:
            print(overview.advice(scan))
    print(f"results would go to {plan.root}; nothing was written")


def _debug(request: Request) -> None:
    """Compute one replicate of every cell in this process; the first failure ends it, with its traceback."""
    from moestat.runner import debug

    debug.debug(request, lambda text: None if request.quiet else say(text))
    print(f"no failure in {request.replicates or 1} of each cell (--replicates R for more); nothing was stored")


def status(arguments: argparse.Namespace) -> None:
    """Show what is done, missing, failed, not converged and stale in a folder, and the command that goes on."""
    from moestat.runner import lock, overview

    scan = overview.look(request_of(arguments))
    rows = overview.overview(scan)
    if arguments.json:
        about = {"study": scan.plan.study_file.name, "preset": scan.plan.preset_name, "folder": str(scan.root)}
        work = {"at_work": lock.owners(scan.root), "quarantined": scan.quarantined, "advice": overview.advice(scan)}
        return print(json.dumps(about | {"tally": scan.tally(), "cells": rows} | work, indent=2))
    import pandas as pd

    print(f"{scan.plan.study_file.name}/{scan.plan.preset_name} in {scan.root}")
    arms = overview.overview(scan, by_arm=True)
    begun = {row["arm"] for row in rows if row["done"]}
    wrong = (*ends.LOST, "stale")
    undone = [r for r in rows if any(r[how] for how in wrong) or (r["missing"] and r["arm"] in begun)]
    for told, what in ((arms, "arms"), (undone if len(rows) > len(arms) else [], "cells that are not complete")):
        if told:
            print(f"{len(told)} {what}{f', the first {MOST_CELLS}; all: --json' * (len(told) > MOST_CELLS)}")
            print(pd.DataFrame(told[:MOST_CELLS]).to_string(index=False))
    tally, stale = scan.tally(), sum(row["stale"] for row in rows)
    counts = ", ".join(f"{tally[key]} {key}" for key in ("done", "missing"))
    print(f"{tally['replicates']} replicates: {counts}, {ends.told(tally)}, {stale} stale")
    for line in scan.quarantined:
        print(f"set aside a damaged shard: {line}")
    for part, owner in lock.owners(scan.root).items():
        print(f"at work: {part}: {owner}")
    print(overview.advice(scan))
    _tell_record(scan.plan.request)


def collect(arguments: argparse.Namespace) -> None:
    """Collect the shards of a folder and report."""
    _collect(request_of(arguments))


def _collect(request: Request) -> None:
    from moestat.runner import overview
    from moestat.runner.run import Result, finish

    scan = overview.look(request)
    if not scan.root.is_dir():
        raise InputError(
            f"there is nothing to collect in {scan.root}; run the study with: {scan.plan.request.command()}"
        )
    for line in scan.quarantined:
        say(f"set aside a damaged shard: {line}")
    scan.refuse_stale()
    result = Result(scan.plan, scan.tally(), [f"set aside: {q}" for q in scan.quarantined])
    finish(result, scan, write_report)
    _tell(result)


@without_collection()
def report(arguments: argparse.Namespace) -> None:
    """Report collected results again."""
    from moestat.runner import records, results
    from moestat.study import load

    request = request_of(arguments)
    study_file = load.read(request.study)
    load.need_preset(study_file, request.preset)
    root = records.results_folder(request.out, study_file.name, request.preset)
    if study_file.study.reads and not records.is_record(root):  # seconds, and so it never outlives what it reads
        return _collect(request)
    dataset = records.read(root, study_file, request)

    from moestat.report.write import write_outputs  # a second, of which a message about missing results needs none

    folder, provenance = records.report_folder(root, request.out), results.provenance(dataset)
    written = write_outputs(dataset, study_file.study, request.preset, folder, provenance=provenance)
    _print_report(written, verbose=request.verbose)
    return _complain(written)


def replay(arguments: argparse.Namespace) -> None:
    """Compute one replicate again, print it, and compare it with the stored one."""
    from moestat.runner import replay

    lines, found = replay.replay(request_of(arguments), arguments.place)
    print("\n".join(lines))
    if found:
        raise UserError(f"the replicate is not equal to the stored one: {found}")
    print("no stored replicate to compare with" if found is None else "equal to the stored replicate, bit for bit")


def merge(arguments: argparse.Namespace) -> None:
    """Join runs that were computed apart, and report."""
    from moestat.runner import merge

    request, said = merge.merge(arguments.study, arguments.folders, arguments.out)
    print(said)
    _collect(dataclasses.replace(request, report=arguments.report))


def _tell(result: Result) -> None:
    """Print the answer of a run; raise if it is not complete."""
    from moestat.runner import needs, store

    tally, request, shown = result.tally, result.plan.request, result.plan.study_file
    if result.dataset is None:
        return
    if result.report is not None:
        _print_report(result.report, verbose=request.verbose)
    elif not request.quiet:
        counts = f"{tally['done']} of {tally['replicates']} replicates, {ends.told(tally)}"
        print(f"{shown.name}/{request.preset}: {counts}; results in {result.plan.root}")
    if tally["missing"]:
        raise UserError(f"{tally['missing']} replicates are missing; complete them with: {request.command()}")
    if tally["converged"] == 0 and sum(tally[how] for how in ends.LOST) == tally["replicates"]:
        texts = [str(text) for text in result.dataset["message"].values.ravel() if text]
        most = max(texts, key=texts.count, default="(none)")
        raise UserError(f"none of {tally['replicates']} replicates converged; the most frequent message: {most}")
    if absent := needs.absent(result.dataset, shown.study, request.preset):
        told = f"{shown.shown}: {absent}. The results are kept"
        if request.report:
            raise UserError(f"{told}; put the name right, and judge the claims with: {request.command('report')}")
        say(f"note: {told}")
    if result.report is not None:
        _complain(result.report)
    lost = {status.name.lower().replace("_", " "): tally[status.name.lower()] for status in store.FAILED_FOR_GOOD}
    if any(lost.values()):
        told = listed([f"{count} {how}" for how, count in lost.items() if count])
        again = dataclasses.replace(request, retry_failed=True).command()
        raise UserError(f"of {tally['replicates']} replicates {told}; the others are kept. Try again with: {again}")


def _complain(report: Report) -> None:
    """Let a command fail whose report is not whole; what is missing has been told."""
    if report.problems:
        raise UserError(f"{len(report.problems)} of the figures could not be drawn; the rest of the report is written")


def _tell_record(request: Request) -> None:
    """Say that there is a record of what is about to be computed, if there are no results of one's own yet."""
    from moestat.runner import records
    from moestat.study import load

    folder = records.results_folder(request.out, load.name_of(request.study), request.preset)
    if records.is_record(folder) and not request.settings and request.seed is None:
        say(f"note: {folder} is a record of these results; to read it without computing: {request.command('report')}")


def _print_report(report: Report, *, verbose: bool) -> None:
    for part in (report.rates_table(), report.claims_table(), report.summary) if verbose else (report.answer(),):
        console().print(part)
