"""From Python: ``moestat.run`` and ``moestat.load``."""

from __future__ import annotations

import contextlib
import gc
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moestat.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import xarray as xr

    from moestat.report.write import Report
    from moestat.runner.run import Result
    from moestat.study import builder


def run(
    study: str | Path | builder.Study,
    preset: str = "quick",
    *,
    replicates: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    device: str = "auto",
    out: str | Path = "outputs",
    fresh: bool = False,
    replace_stale: bool = False,
    report: bool = True,
    quiet: bool = False,
    timeout: float | None = None,
    until: float | None = None,
    **settings: Any,
) -> xr.Dataset:
    """Run a study and return its results; what was computed before is kept and used.

    Parameters
    ----------
    study : str, Path or moestat.Study
        Name of a known study, path of a study file, or a study of this process.
    preset : str
        Size of the study.
    replicates, seed : int, optional
        Instead of the preset's and the study's.
    jobs : int, optional
        Processes; one per processor, or per GPU, by default.
    device : {"auto", "cpu", "cuda"}
    out : path
        Folder of all results.
    fresh, replace_stale : bool
        What to do with shards that are there already, as on the command line.
    report : bool
        Write tables, figures and ``report.html`` too.
    quiet : bool
        Print no progress.
    timeout : float, optional
        Seconds that a replicate may take; then it is ended, with the status ``TIMED_OUT``.
    until : float, optional
        Half-width of the intervals of the slopes: replicates are added until it is reached, ten times as many at most
        (:mod:`moestat.runner.until`); the notes of the results say so.
    **settings
        Settings of every arm, or the values of an axis, that replace the study's: ``n=[100, 200]``.

    Returns
    -------
    xarray.Dataset
        Over arm, axes of the grid, replicate, the experiment's own; ``status`` is -1 where nothing was computed.

    Raises
    ------
    moestat.errors.UserError
        If the study file, the folder or the disk stands in the way; see its subclasses.
    """
    from moestat.runner.request import Request
    from moestat.runner.run import run as run_once
    from moestat.runner.until import run_until
    from moestat.study.load import named

    result = (run_once if until is None else run_until)(
        Request(
            study=named(study),
            preset=preset,
            replicates=replicates,
            seed=seed,
            settings=settings,
            out=Path(out).expanduser(),
            jobs=jobs,
            device=device,
            fresh=fresh,
            replace_stale=replace_stale,
            report=report,
            quiet=quiet,
            timeout=timeout,
            until=until,
            python=True,
        ),
        write_report,
    )
    assert result.dataset is not None
    return result.dataset


def load(study: str | Path | builder.Study, preset: str = "quick", *, out: str | Path = "outputs") -> xr.Dataset:
    """Read the results of a study that was run, into memory; where there are none, those of a record.

    Parameters
    ----------
    study : str, Path or moestat.Study
        Name of a study, a study, path of a study file, of a ``results.nc``, or of the folder that holds one. Results
        that are named by their own path are read as they are, whatever the study now says.
    preset : str
        Size of the study, where ``study`` is a name or a study file.
    out : path
        Folder of all results, with the records that the repository keeps in ``records``.

    Raises
    ------
    moestat.errors.InputError
        If there is no such result.
    moestat.errors.StaleError
        If the results are of other settings than the study now asks for, or were changed after they were written.
    """
    from moestat.runner import labels, records, results
    from moestat.runner.request import Request
    from moestat.study import load as studies

    word = studies.named(study)
    path = Path(word).expanduser()
    if path.is_dir() and results.of(path).is_file():
        path = results.of(path)
    if path.suffix == ".nc" or path.name == results.PACKED:
        return labels.described(results.read(path))
    mine = Path(out).expanduser() / word / preset
    try:
        study_file = studies.read(word)
    except InputError as error:
        if not results.of(mine).is_file():
            raise
        raise InputError(f"{error}; its results are read as they are by moestat.load({str(mine)!r})") from None
    request = Request(study=word, preset=preset, out=Path(out).expanduser())
    folder = records.results_folder(request.out, study_file.name, preset)
    if not results.of(folder).is_file():
        studies.need_preset(study_file, preset)
    return records.read(folder, study_file, request)


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Do without the collection of cycles: searching what is imported for a report takes a tenth of its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@without_collection()
def write_report(result: Result, provenance: Mapping[str, Any]) -> Report:
    """Write tables, figures and the HTML report of a run that was collected."""
    from moestat.report.write import write_outputs

    assert result.dataset is not None
    study = result.plan.study_file.study
    return write_outputs(result.dataset, study, result.plan.preset_name, result.plan.root, provenance=dict(provenance))
