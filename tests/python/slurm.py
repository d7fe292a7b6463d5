"""A Slurm of one node, for as long as a test takes; it needs root and Debian's slurm-wlm.

With slurm-wlm-torque it has the commands, directives and job variables of PBS.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "scancel", "squeue", "sinfo")
_DAEMONS = ("slurmd", "slurmctld")

_CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
SlurmctldPort={control_port}
SlurmdPort={node_port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SchedulerParameters=sched_interval=1
MinJobAge=300
KillWait=5
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory={mebibytes} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
"""


def why_not(pbs: bool = False) -> str:
    """Return why there can be no Slurm here, or none that does for PBS; empty if there can."""
    missing = [name for name in PROGRAMS if _found(name) is None]
    if missing:
        return f"{', '.join(missing)} not installed (Debian: slurm-wlm)"
    if pbs and _found("qsub") is None:
        return "qsub not installed (Debian: slurm-wlm-torque)"
    return "" if os.geteuid() == 0 else "Slurm's node runs as root only"


def _found(program: str) -> str | None:
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _free_port() -> int:
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return int(any_port.getsockname()[1])


class CannotRunError(Exception):
    """An installed Slurm does not start; the message has its logs."""


class Slurm:
    """The running scheduler."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}

    def call(self, *command: str, cwd: Path | None = None) -> str:
        """Run one of Slurm's commands and return what it prints."""
        return subprocess.run(
            command, env=self.environment, cwd=cwd, check=True, capture_output=True, text=True
        ).stdout

    def submit(self, script: Path, *options: str) -> str:
        """Submit a job in the folder of its script and return its id."""
        return self.call("sbatch", "--parsable", *options, script.name, cwd=script.parent).strip()

    def states(self, job: str) -> list[str]:
        """Return the state of every task of a job that was started or is waiting."""
        return self.call("squeue", "-h", "-r", "-t", "all", "-o", "%T", "-j", job).split()

    def wait(self, job: str, seconds: float = 120) -> list[str]:
        """Return the states of a job's tasks when none of them runs or waits any more."""
        busy = {"PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "REQUEUED", "SUSPENDED"}
        end = time.monotonic() + seconds
        while busy & set(states := self.states(job)):
            if time.monotonic() > end:
                raise TimeoutError(f"job {job} is {states} after {seconds} s\n{self._log()}")
            time.sleep(0.2)
        return states

    def _log(self) -> str:
        return "\n".join(
            (self.folder / f"{name}.log").read_text(errors="replace")[-2000:] for name in _DAEMONS
        )


@contextmanager
def running(folder: Path) -> Iterator[Slurm]:
    """Start a scheduler and a node with all files below a folder."""
    conf = _CONF.format(
        host=socket.gethostname().split(".")[0],
        folder=folder,
        control_port=_free_port(),
        node_port=_free_port(),
        cores=os.cpu_count(),
        mebibytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 21,
    )
    (folder / "slurm.conf").write_text(conf, encoding="utf-8")
    (folder / "cgroup.conf").write_text(
        "CgroupPlugin=cgroup/v1\nIgnoreSystemd=yes\n", encoding="utf-8"
    )
    (folder / "plugstack.conf").write_text("optional spank_pbs.so\n", encoding="utf-8")
    for name in ("state", "spool"):
        (folder / name).mkdir()
    slurm = Slurm(folder)
    daemons = [
        subprocess.Popen(
            [str(_found(name)), "-D", *options],
            env=slurm.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for name, options in (("slurmctld", ["-c"]), ("slurmd", []))
    ]
    try:
        _await_node(slurm)
        yield slurm
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            daemon.wait(30)


def _await_node(slurm: Slurm, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            if "idle" in slurm.call("sinfo", "-h", "-o", "%T"):
                return
        except subprocess.CalledProcessError:
            pass
        if time.monotonic() > end:
            raise CannotRunError(f"Slurm's node is not up\n{slurm._log()}")
        time.sleep(0.2)
