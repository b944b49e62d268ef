"""The subcommands on results that are there: status, collect, report, replay; and what is printed after a run."""

from __future__ import annotations

import argparse
import atexit
import gc
import sys
from typing import Any

from moestat import cli_options, garbage
from moestat.api import write_report
from moestat.errors import InputError, UserError


def tell(result: Any) -> int:
    """Print the tables and one closing line; return the exit code."""
    from moestat.runner import returned

    tally, quiet = result.tally, result.request.quiet
    if result.dataset is None:
        return 0
    for text in result.dropped:
        print(f"note: {text}", file=sys.stderr)
    counted = f"{tally['done']} of {tally['replicates']} replicates, {tally['failed']} failed"
    if result.report is not None:
        _print_report(result.report, verbose=result.request.verbose)
    elif not quiet:
        print(f"{result.plan.study_file.name}/{result.request.preset}: {counted}; results in {result.folder}")
    if tally["missing"]:
        raise UserError(f"{tally['missing']} replicates are missing; complete them with: {result.request.command()}")
    if tally["converged"] == 0 and tally["failed"] == tally["replicates"]:
        raise UserError(f"all {tally['failed']} replicates failed; the most frequent message: {_most_frequent(result)}")
    if absent := returned.absent(result.dataset, result.plan.study_file.study, result.request.preset):
        told = f"{result.plan.study_file.shown}: {absent} The results are kept"
        if result.request.report:
            command = result.request.command("report")
            raise UserError(f"{told}; put the name right, and judge the claims with: {command}")
        print(f"note: {told}", file=sys.stderr)
    return 0


def tell_record(request: Any) -> None:
    """Say that there is a record of what is about to be computed, if there are no results of one's own yet."""
    from moestat.runner import records
    from moestat.study import load

    name = load.find(request.study).stem
    folder = records.results_folder(request.out, name, request.preset)
    if records.is_record(folder):
        print(
            f"note: {folder} is a record of these results; to read it without computing: {request.command('report')}",
            file=sys.stderr,
        )


def _most_frequent(result: Any) -> str:
    if "message" not in result.dataset:
        return "(none)"
    texts = [str(text) for text in result.dataset["message"].values.ravel() if text]
    return max(texts, key=texts.count) if texts else "(none)"


def _print_report(report: Any, *, verbose: bool) -> None:
    from rich.console import Console

    console = Console()
    for part in (report.rates_table(), report.claims_table(), report.summary) if verbose else (report.answer(),):
        console.print(part)


MOST_CELLS = 30
"""Cells that ``status`` lists one by one."""


def status(arguments: argparse.Namespace) -> int:
    """Show what is done, missing, failed and stale in a folder, and the command that goes on."""
    from moestat.runner import overview, store

    request, plan, root, scan, _ = overview.look(cli_options.request(arguments))
    if scan.stale and request.accept_stale:
        store.accept_stale(scan)
    rows = overview.overview(plan, scan)
    name = f"{plan.study_file.name}/{request.preset}"
    _print_counts(f"{name} in {root}", ["arm", "cells"], overview.by_arm(rows))
    begun = {row["arm"] for row in rows if row["done"]}
    open_cells = [r for r in rows if r["failed"] or r["stale"] or (r["missing"] and r["arm"] in begun)]
    if plan.axes and len(open_cells) > 0 and len(rows) > len(plan.arms):
        _print_counts(f"{name}: cells that are not complete", ["arm", *plan.axes], open_cells[:MOST_CELLS])
        if len(open_cells) > MOST_CELLS:
            print(f"and {len(open_cells) - MOST_CELLS} more such cells")
    tally = scan.tally()
    print(
        f"{tally['replicates']} replicates: {tally['done']} done, {tally['missing']} missing, "
        f"{tally['failed']} failed, {sum(row['stale'] for row in rows)} stale"
    )
    if scan.unused:
        print(f"{len(scan.unused)} shards belong to cells outside this plan and are left alone")
    for line in scan.quarantined:
        print(f"set aside a damaged shard: {line}")
    for line in overview.running(root):
        print(f"at work: {line}")
    print(overview.advice(request, plan, root, scan))
    tell_record(request)
    return 0


def tell_stale(request: Any, plan: Any) -> None:
    """Say how many stored replicates a run would compute again, if there are any; nothing is moved or written."""
    from dataclasses import replace

    from moestat.runner import begin, overview, store
    from moestat.sentences import counted

    root = begin.folder_of(request, plan.study_file.name)
    if request.fresh or request.backend == "dask" or not (root / "shards").is_dir():
        return
    scan = store.scan_only(root, plan, begin.version_of(plan))
    if not scan.stale:
        return
    stale = counted(sum(row["stale"] for row in overview.overview(plan, scan)), "stored replicate")
    if request.accept_stale:
        print(f"of other settings or code: {stale}, to be used as they are (--accept-stale)")
        return
    advice = overview.advice(replace(request, replace_stale=False), plan, root, scan)
    print(f"of other settings or code: {stale}, which would be computed again. {advice}")


def _print_counts(title: str, head: list[str], rows: list[dict[str, Any]]) -> None:
    """Print a table of how many replicates are done, missing, failed and stale; names of arms are never cut."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), box=SIMPLE_HEAD, title_justify="left", collapse_padding=True)  # no markup
    columns = [*head, "done", "missing", "failed", "stale", *(["how"] if any(row["how"] for row in rows) else [])]
    for column in columns:
        left = column in ("arm", "how")
        table.add_column(Text(column), justify="left" if left else "right", overflow="fold", no_wrap=not left)
    for row in rows:
        table.add_row(*(Text(str(row[column])) for column in columns))
    Console().print(table)


def collect(arguments: argparse.Namespace) -> int:
    """Collect the shards of a folder and report."""
    return collect_request(cli_options.request(arguments))


def collect_request(request: Any) -> int:
    """Collect the shards of the folder of a request and report."""
    from moestat.runner import overview, store
    from moestat.runner.finish import Result, finish

    request, plan, root, scan, code = overview.look(request)
    if not root.is_dir():
        raise InputError(f"there is nothing to collect in {root}; run the study with: {request.command()}")
    for line in scan.quarantined:
        print(f"set aside a damaged shard: {line}", file=sys.stderr)
    if request.accept_stale:
        store.accept_stale(scan)
    store.refuse_stale(scan, root)
    result = Result(request, plan, root, scan.tally(), notes=[f"set aside: {q}" for q in scan.quarantined])
    finish(result, scan, code, write_report)
    return tell(result)


@garbage.left()
def report(arguments: argparse.Namespace) -> int:
    """Report collected results again."""
    atexit.register(gc.freeze)  # the interpreter need not look for garbage at its end either
    from moestat.report.write import write_outputs
    from moestat.runner import belongs, labels, records, results
    from moestat.study import load

    request = cli_options.request(arguments)
    study_file = load.read(request.study)
    load.need_preset(study_file, request.preset)
    root = records.results_folder(request.out, study_file.name, request.preset)
    if study_file.study.reads and not records.is_record(root):  # seconds, and so it never outlives what it reads
        return collect(arguments)
    dataset = records.read(root, study_file, request)
    belongs.refuse_foreign(dataset, study_file, request, root)
    dataset = labels.described(dataset)
    provenance = results.provenance(dataset)
    folder = records.report_folder(root)
    _print_report(
        write_outputs(dataset, study_file.study, request.preset, folder, provenance=provenance), verbose=request.verbose
    )
    return 0


def replay(arguments: argparse.Namespace) -> int:
    """Compute one replicate again, print it, and compare it with the stored one."""
    from moestat.runner import overview, replay
    from moestat.status import Status

    request, plan, _, scan, _ = overview.look(cli_options.request(arguments))
    planned, replicate = replay.parse_place(plan, arguments.place)
    again = replay.replay(plan, scan, request.out, planned, replicate, request.device)
    status = Status(int(again.variables["status"].values[0]))
    print(f"{planned.label}, replicate {replicate} (seed {plan.seed}, cell {planned.digest[:12]})")
    print(f"status: {status.name}. {status.sentence}")
    for name, variable in again.variables.items():
        if variable.values.size == 1 and name != "status":
            value = variable.values.ravel()[0]
            mark = f"   <- {again.differences[name]}" if again.differences and name in again.differences else ""
            print(f"  {name:24} {value if isinstance(value, str) else repr(value.item())}{mark}")
    for name, value in again.attrs.items():
        print(f"  {name:24} {value}")
    for remark in again.remarks:
        print(f"note: {remark}")
    if again.differences is None:
        print("no stored replicate to compare with")
    elif again.equal:
        print("equal to the stored replicate, bit for bit")
    else:
        differences = "; ".join(f"{name} {text}" for name, text in again.differences.items())
        raise UserError(f"the replicate is not equal to the stored one: {differences}")
    return 0
