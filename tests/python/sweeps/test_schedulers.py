# Trusts: the same sweep on one machine, by threads.
"""The recipes of `docs/clusters.md`, each tried against the scheduler that it is for."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import slurm
from small import ROOT

import mcsim
from mcsim.sweeps.sweep import Sweep

pytestmark = pytest.mark.slow

RECIPES = ROOT / "docs/clusters.md"
TINY = (ROOT / "experiments/tiny.yaml").read_text(encoding="utf-8")
GRID = f"""\
{TINY.replace("workloads/", f"{ROOT}/experiments/workloads/")}
sweep:
  tiers.1.capacity: [500, 1000, 2000, 4000]
  systems: [[lru], [static], [{{name: hierarchy, policy: arc}}]]
  seed: 2 seeds
"""
TASKS = 4


def recipe(language: str) -> str:
    """Return the one block of that language in the document, with fewer tasks."""
    (block,) = re.findall(rf"^```{language}\n(.*?)^```", RECIPES.read_text(), re.S | re.M)
    for text, fewer in (
        ("0-15", f"0-{TASKS - 1}"),
        ("/16", f"/{TASKS}"),
        ("scale(16)", "scale(2)"),
    ):
        block = block.replace(text, fewer)
    return str(block)


@pytest.fixture
def folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a sweep is submitted from, with `mcsim` on the path of whatever is started there."""
    (folder / "grid.yaml").write_text(GRID, encoding="utf-8")
    scripts = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", scripts + os.pathsep + os.environ["PATH"])
    return folder


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    here = tmp_path_factory.mktemp("threads")
    (here / "grid.yaml").write_text(GRID, encoding="utf-8")
    return mcsim.sweep(here / "grid.yaml", out=here / "results")


def expect_equal(folder: Path, expected: Sweep) -> None:
    """Compare the folder with the expected table, and check that all cells were finished."""
    done = subprocess.run(
        ["mcsim", "sweep", "grid.yaml", "--results", "results", "--dry-run"],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    assert "24 there already, 0 to run" in done.stdout
    found = mcsim.sweep(folder / "grid.yaml", out=folder / "results")
    assert found.to_arrow().equals(expected.to_arrow())


@pytest.fixture
def scheduler(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[slurm.Slurm]:
    if why_not := slurm.why_not():
        pytest.skip(why_not)
    with contextlib.ExitStack() as stack:
        try:
            running = stack.enter_context(slurm.running(tmp_path_factory.mktemp("slurm")))
        except slurm.CannotRunError as error:
            pytest.skip(str(error))
        monkeypatch.setenv("SLURM_CONF", running.environment["SLURM_CONF"])
        yield running


@pytest.mark.slow
def test_an_array_of_slurm(folder: Path, scheduler: slurm.Slurm, expected: Sweep) -> None:
    script = folder / "grid.sbatch"
    script.write_text(recipe("bash slurm"), encoding="utf-8")
    first = scheduler.submit(script)
    # Half of them is preempted, wherever it is, and the array given once more.
    scheduler.call("scancel", f"{first}_[{TASKS // 2}-{TASKS - 1}]")
    states = scheduler.wait(first)
    assert states.count("COMPLETED") >= TASKS // 2
    again = scheduler.submit(script)
    assert scheduler.wait(again) == ["COMPLETED"] * TASKS
    expect_equal(folder, expected)


@pytest.mark.slow
def test_an_array_of_pbs(folder: Path, scheduler: slurm.Slurm, expected: Sweep) -> None:
    """Debian has PBS's commands and directives over Slurm, and PBS itself not."""
    if why_not := slurm.why_not(pbs=True):
        pytest.skip(why_not)
    script = folder / "grid.pbs"
    script.write_text(recipe("bash pbs"), encoding="utf-8")
    job = scheduler.call("qsub", script.name, cwd=folder).strip()
    assert scheduler.wait(job) == ["COMPLETED"] * TASKS
    expect_equal(folder, expected)


@pytest.mark.slow
def test_tasks_of_hyperqueue(folder: Path, expected: Sweep) -> None:
    hyperqueue = pytest.importorskip("hyperqueue")
    cluster = pytest.importorskip("hyperqueue.cluster")
    submitted = re.search(r"bash -c '(.*)'", recipe("bash hyperqueue"))
    assert submitted is not None
    with cluster.LocalCluster(worker_config=cluster.WorkerConfig(cores=2)) as local:
        job = hyperqueue.Job(max_fails=0)
        for task in range(TASKS):
            # The arrays of its command line number tasks as this does.
            command = submitted[1].replace("$HQ_TASK_ID", str(task))
            job.program(["bash", "-c", command], cwd=str(folder), env=dict(os.environ))
        client = local.client()
        client.wait_for_jobs([client.submit(job)])
    expect_equal(folder, expected)


@pytest.mark.slow
def test_workers_of_dask_that_are_jobs_of_slurm(
    folder: Path, scheduler: slurm.Slurm, expected: Sweep
) -> None:
    pytest.importorskip("dask_jobqueue")
    program = recipe("python dask").replace('"2GiB"', '"1GiB", interface="lo"')
    subprocess.run([sys.executable, "-c", program], cwd=folder, check=True, timeout=300)
    expect_equal(folder, expected)
