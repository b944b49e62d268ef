"""The same study on a dask cluster: a real scheduler and two worker processes, one of which is killed in the middle."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest
from machine import command, environment, finished, inside, results, write_study

from moestat.runner import cluster as clusters
from moestat.status import Status

pytest.importorskip("distributed")


@pytest.fixture(scope="module", autouse=True)
def processes_with_dask(processes_without_dask):
    """Let the processes of this module import it: they are what is tested."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONPATH")
        yield


@pytest.fixture
def cluster(tmp_path, request):
    """Yield the scheduler's address, its two workers (parameter: their nanny option), and its process."""
    processes = []

    def start(module: str, *words: object) -> subprocess.Popen:
        log = open(tmp_path / f"{len(processes)}.log", "w")  # noqa: SIM115  the process holds it
        words = [sys.executable, "-m", module, *(str(word) for word in words)]
        processes.append(subprocess.Popen(words, env=environment(), stdout=log, stderr=log, cwd=tmp_path))
        return processes[-1]

    where = tmp_path / "scheduler.json"
    options = ("--scheduler-file", where, "--no-dashboard")
    start("distributed.cli.dask_scheduler", "--port", 0, "--host", "127.0.0.1", *options)
    end = time.monotonic() + 60
    while not (where.exists() and where.read_text()) and time.monotonic() < end:
        time.sleep(0.1)
    address = json.loads(where.read_text())["address"]
    nanny = getattr(request, "param", "--no-nanny")
    worker = ("--nthreads", 1, nanny, "--no-dashboard", "--host", "127.0.0.1", "--memory-limit", 0)
    workers = [start("distributed.cli.dask_worker", address, *worker) for _ in range(2)]
    yield address, workers, processes[0]
    for process in processes:
        process.kill()
        process.wait()


@pytest.mark.slow  # a cluster of its own
def test_a_cluster_that_loses_a_worker_gives_the_same_dataset(tmp_path, cluster):
    address, workers, _ = cluster
    options = {"settings": "seconds = 0.05", "replicates": 12, "block": 1}
    _, run = begun(tmp_path, address, 8, **options)
    assert len(finished(tmp_path)) < 48, "the worker is to be killed in the middle"
    workers[0].send_signal(signal.SIGKILL)
    _, err = run.communicate(timeout=120)
    assert run.returncode == 0, err
    assert workers[1].poll() is None
    local = write_study(tmp_path, name="local", **options)
    assert inside(local, "--out", tmp_path, "--jobs", 1, "--block", 12, "--no-report", "--quiet")[0] == 0
    assert results(tmp_path).identical(results(tmp_path, "local"))


def begun(tmp_path, address, least: int, **options):
    """Start a run on the cluster, and return it when so many replicates are done."""
    study = write_study(tmp_path, **options)
    run = subprocess.Popen(
        command(study, "--out", tmp_path, "--backend", "dask", "--scheduler", address, "--no-report"),
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 120
    while len(finished(tmp_path)) < least and time.monotonic() < end and run.poll() is None:
        time.sleep(0.05)
    assert run.poll() is None
    return study, run


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["the scheduler", "the workers"])
def test_a_cluster_that_is_lost_ends_the_run_with_the_command_that_resumes_it(tmp_path, cluster, lost):
    address, workers, scheduler = cluster
    study, run = begun(tmp_path, address, 4, settings="seconds = 0.1", replicates=20, block=1)
    for process in [scheduler] if lost == "the scheduler" else workers:
        process.kill()
    _, err = run.communicate(timeout=100)
    told = f"{address} was lost" if lost == "the scheduler" else f"the workers of the scheduler {address} are all gone"
    assert run.returncode == 1 and told in err, err
    assert "Traceback" not in err, err
    assert f"go on with: python -m moestat.study {study} --preset quick --out {tmp_path} --backend dask" in err
    kept = finished(tmp_path)
    assert inside(study, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")[0] == 0
    assert len(kept) >= 4 and kept <= finished(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["--nanny"], indirect=True)
def test_a_block_that_kills_every_worker_is_recorded_and_the_rest_goes_on(tmp_path, cluster):
    address, *_ = cluster
    study = write_study(tmp_path, replicates=6, block=3, settings="seconds = 0.05")
    study.write_text(study.read_text().replace('kind="median"', 'kind="median", die_at=[4]'))
    words = (study, "--out", tmp_path, "--backend", "dask", "--scheduler", address, "--no-report")
    run = subprocess.run(command(*words), env=environment(), capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert "24 of 24 replicates, 2 failed, 0 not converged" in run.stdout
    assert "recorded as failed (" in run.stderr and "arm median" in run.stderr
    status = results(tmp_path)["status"].values
    assert (status[0] == 0).all() and (status[1, :, 4] == Status.WORKER_DIED).all() and (status != 0).sum() == 2


def test_a_cluster_of_this_machine_gives_the_same_dataset(tmp_path):
    study, local = (write_study(tmp_path, name=name, replicates=4) for name in ("study", "local"))
    for path, words in ((study, ("--backend", "dask", "--jobs", 2)), (local, ("--jobs", 1))):
        assert inside(path, "--out", tmp_path, "--no-report", *words)[0] == 0
    assert results(tmp_path).identical(results(tmp_path, "local"))


def test_a_run_whose_workers_have_all_died_ends_with_the_command_that_resumes_it(
    tmp_path, cluster, monkeypatch, caplog
):
    monkeypatch.setattr(clusters, "WITHOUT_WORKERS", 1.0)
    address, workers, _ = cluster
    study = write_study(tmp_path, replicates=3, block=1)
    study.write_text(study.read_text().replace('kind="median"', 'kind="median", die_at=[2]'))
    code, _, err = inside(study, "--out", tmp_path, "--backend", "dask", "--scheduler", address, "--no-report")
    assert code == 1 and f"the workers of the scheduler {address} are all gone" in err
    assert f"go on with: python -m moestat.study {study} --preset quick --out {tmp_path} --backend dask" in err
    assert "Traceback" not in err + caplog.text
    assert all(worker.poll() is not None for worker in workers)


def test_a_scheduler_that_is_not_there_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(clusters, "PATIENCE", "1s")
    study = write_study(tmp_path)
    words = (study, "--out", tmp_path, "--backend", "dask", "--scheduler", "tcp://127.0.0.1:9", "--no-report")
    code, _, err = inside(*words)
    assert code == 1 and "no dask scheduler answers at 'tcp://127.0.0.1:9'" in err and "Traceback" not in err


def test_a_scheduler_is_dasks(tmp_path):
    study = write_study(tmp_path)
    assert inside(study, "--scheduler", "tcp://127.0.0.1:9")[0] == 2
