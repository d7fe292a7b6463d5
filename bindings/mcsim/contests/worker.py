"""A process that replays candidates.

It ends with the process that started it. The output of candidates is discarded.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import resource
import signal
import time
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from mcsim.base.errors import ConfigError, McsimError
from mcsim.base.limits import limit_error
from mcsim.base.units import format_size
from mcsim.contests.candidates import Candidate
from mcsim.contests.conformance import check_conformance
from mcsim.experiment.code import Code, Kind, Permission, python_policies
from mcsim.policies import has_foresight
from mcsim.policies.miniatures import miniature
from mcsim.policies.python_policies import Policy, PriorityPolicy
from mcsim.policies.simulation import simulate
from mcsim.policies.specs import load_policies
from mcsim.references.blocks import Blocks

_KIND = Kind("policy", bases=(Policy, PriorityPolicy))
_PARENT_DIED = 1  # PR_SET_PDEATHSIG of prctl


@dataclass(frozen=True)
class Setup:
    """Settings that are equal for all tasks of a process."""

    folder: Path
    permission: Permission
    memory: int
    sizes: tuple[int | str, ...]
    seed: int


@dataclass(frozen=True)
class Task:
    """Replays of one candidate.

    Attributes
    ----------
    traces : tuple of Path
        Files with the pickled references.
    rate : float or None
        Share of the blocks in miniatures, before which conformance is tested; None for full
        replays.
    """

    candidate: Candidate
    traces: tuple[Path, ...]
    rate: float | None


@dataclass(frozen=True)
class Reply:
    """Hit ratios by trace and size, and the processor time; or why there are none."""

    ratios: tuple[tuple[float, ...], ...] = ()
    seconds: float = 0.0
    failure: str = ""


def main(descriptor: int) -> None:
    """Replay the tasks that arrive, until the connection is closed."""
    connection = Connection(descriptor)
    ctypes.CDLL(None).prctl(_PARENT_DIED, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    setup: Setup = connection.recv()
    resource.setrlimit(resource.RLIMIT_DATA, (setup.memory, setup.memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    connection.send(None)
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        connection.send(_replayed(setup, task))


def _replayed(setup: Setup, task: Task) -> Reply:
    begun = time.process_time()
    try:
        ratios = _ratios(setup, task)
    except BaseException as error:  # a candidate may raise any
        return Reply(failure=_said(error, setup.memory))
    return Reply(ratios, time.process_time() - begun)


def _ratios(setup: Setup, task: Task) -> tuple[tuple[float, ...], ...]:
    policy = _policy(setup, task.candidate)
    shared: dict[str, Any] = {"seed": setup.seed, "threads": 1}
    if task.rate is not None:
        check_conformance(policy, setup.seed)
    ratios = []
    for file in task.traces:
        blocks = _blocks(file)
        if task.rate is None:
            rows = simulate(blocks, policy, setup.sizes, **shared)
        else:
            rows = miniature(blocks, policy, setup.sizes, rate=task.rate, **MINIATURE, **shared)
        ratios.append(tuple(rows.hit_ratio.tolist()))
    return tuple(ratios)


MINIATURE: dict[str, Any] = {"seeds": 1, "correction": "none"}
"""Options of miniatures: all candidates have the same sample."""


@cache
def _blocks(file: Path) -> Blocks:
    found: Blocks = pickle.loads(file.read_bytes())
    return found


def _policy(setup: Setup, candidate: Candidate) -> Any:
    """Return what `simulate` accepts; load the code of the candidate."""
    if has_foresight(candidate.policy):
        raise ConfigError("it uses the future")
    code = Code(setup.folder, setup.permission)
    if candidate.library:
        load_policies(code.library(candidate.library))
    if python_policies(candidate.policy) == [candidate.policy]:
        return code.class_named(candidate.policy, _KIND)
    return candidate.policy


def _said(error: BaseException, memory: int) -> str:
    """Return a failure in one line."""
    if isinstance(error, MemoryError) or type(limit_error(error)).__name__ == "OutOfMemoryError":
        return f"it needs more memory than {format_size(memory)}"
    if isinstance(error, McsimError):
        return " ".join(str(error).split())
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
