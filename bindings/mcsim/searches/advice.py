"""Advice on a cache: what a trace is, which policy, size and write mode, and whether to divide.

Miniatures compare all candidates first; the most promising are replayed in full. Each line has the
numbers it follows from, and commands that print these numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mcsim.base.arguments import seed_given
from mcsim.base.errors import ConfigError, mistakes_in
from mcsim.base.progress import Reporter, notebook_reporter
from mcsim.base.sizes import parse_capacity, share_given
from mcsim.base.threads import threads_given
from mcsim.base.units import parse_bytes, parse_duration
from mcsim.config.device_choice import device_given, devices_given, spec_of_device
from mcsim.policies.miniatures import seeds_of_samples
from mcsim.policies.simulation import memory_given
from mcsim.policies.tuning import workload_of
from mcsim.references.blocks import Blocks, References
from mcsim.references.given import traces_in
from mcsim.references.objects import refuse_bytes
from mcsim.references.warm_up import check_no_warm_up
from mcsim.searches.advice_case import Case, Commands, Line, Machine, describe_trace
from mcsim.searches.advised_policy import advise_policy, candidates_given
from mcsim.searches.advised_sharing import advise_sharing
from mcsim.searches.advised_size import Target, advise_size
from mcsim.searches.advised_writes import advise_writes
from mcsim.tables.result_table import ResultTable
from mcsim.traces.batches import Ops


class Advice(ResultTable):
    """Advice on a cache for a trace, with everything that was compared.

    The table has a row for each candidate: ``topic`` (``'policy'``, ``'size'``, ``'writes'`` or
    ``'sharing'``), ``choice``, ``capacity`` (blocks), ``hit_ratio`` (of reads, where the topic is
    ``'writes'``), ``latency_ns`` (nan where it is not known), ``rate`` (1: replayed in full, or
    exact) and ``chosen``.

    Attributes
    ----------
    lines : tuple of Line
        Each has a ``topic``, a ``text``, and the ``commands`` that print its numbers.
    capacity : int
        Size of the cache in blocks.
    policy : str
        Eviction policy.
    size : int or None
        Blocks that reach the target, or None if no size does. Without a target, the next bend of
        the curve if it gains five points or more, else `capacity`.
    writes : str or None
        Write mode; None if no writes were replayed.
    sharing : str
        ``'share'``, or the name of the system that divides the cache.
    years : float or None
        Life of the drive; None if it is not known.
    curve : HitRatioCurve
        Curve of all VMs in one LRU cache.
    experiment : dict or None
        The experiment that compares the systems of the last line, for `mcsim.run`; its traces
        are files.
    """

    def __init__(self, case: Case, lines: Sequence[Line]) -> None:
        names = ("topic", "choice", "capacity", "hit_ratio", "latency_ns", "rate", "chosen")
        columns = {name: np.array([getattr(row, name) for row in case.rows]) for name in names}
        answer = "\n".join(f"{line.topic}: {line.text}" for line in lines)
        super().__init__(columns, "advice", title="What was compared", answer=answer)
        self.lines = tuple(lines)
        self.capacity = case.capacity
        self.policy, self.size, self.writes = case.policy, case.size, case.writes
        self.sharing, self.years, self.experiment = case.sharing, case.years, case.experiment
        self.curve = case.references.together

    @property
    def commands(self) -> dict[str, list[str]]:
        """Commands that print the numbers of each line, by topic."""
        return {line.topic: list(line.commands) for line in self.lines}

    def to_dict(self) -> dict[str, Any]:
        """Return all of the advice as plain values for JSON.

        Returns
        -------
        dict
            ``lines`` with their topics, texts and commands; ``advice``, which has `capacity`,
            `policy`, `size`, `writes`, `sharing` and `years`; and ``rows``, a dict for each.

        Examples
        --------
        >>> advice = mc.advise([1, 2, 3] * 4, 2).to_dict()
        >>> advice["advice"]["size"], [line["topic"] for line in advice["lines"]]
        (3, ['trace', 'policy', 'size', 'writes', 'sharing'])
        """
        names = ("capacity", "policy", "size", "writes", "sharing", "years")
        return {
            "lines": [line._asdict() | {"commands": list(line.commands)} for line in self.lines],
            "advice": {name: getattr(self, name) for name in names},
            "rows": self.to_arrow().to_pylist(),
        }


def advise(
    references: References,
    size: int | float | str,
    *,
    target: float | str | None = None,
    ops: Ops = "all",
    block_bytes: int | str = "4KiB",
    policies: str | Sequence[str] = "all",
    tier: str = "flash",
    backend: str = "hdd",
    devices: Mapping[str, Mapping[str, Any]] | Sequence[str] = (),
    drive: int | str | None = None,
    interval: str | None = None,
    rate: float | str = 0.01,
    seeds: int | Sequence[int] = 5,
    seed: int = 1,
    threads: int | None = None,
    memory: int | str | None = None,
    reporter: Reporter | None = None,
    commands: Commands | None = None,
) -> Advice:
    """Advise on a cache for a trace, in five lines with the numbers they follow from.

    The lines are: what the trace is; which eviction policy hits most; where the hit ratio curve
    bends, or which size reaches a target; which write mode has the least latency, and how long a
    drive lasts; whether VMs share the cache or a system divides it.

    Miniatures compare the candidates first. Those that may be best are replayed in full, so that
    the numbers of the lines are exact unless a line has a ±.

    Parameters
    ----------
    references : Trace, sequence of Trace, Blocks, or array_like of int
        Requests of the VMs. Numbers of an array are blocks that one VM reads.
    size : int, float or str
        Size of the cache: blocks, ``'256GB'``, or ``'10%'`` of the distinct blocks.
    target : float or str, optional
        A hit ratio such as ``'80%'``, or a mean latency such as ``'2ms'``.
    ops : {'all', 'reads', 'writes'}
        Which requests of traces reach the cache.
    block_bytes : int or str
        Size of a block of traces.
    policies : str or sequence of str
        Candidates; all but `opt` if not given.
    tier, backend, devices
        As of `tune`.
    drive : int or str, optional
        Size of the drive, which wears as a whole, such as ``'960GB'``.
    interval : str, optional
        Time between decisions of systems that divide the cache. Default: a round length, about a
        fiftieth of the trace.
    rate, seeds, seed
        As of `miniature`; 1 replays all candidates in full.
    threads, memory
        As of `simulate`.
    reporter : Reporter, optional
        Shows the progress, as of `run`.
    commands : Commands, optional
        How commands name the trace; by default by the names of its sources.

    Returns
    -------
    Advice

    Raises
    ------
    ConfigError
        If no request is left, or an argument is wrong.

    Examples
    --------
    >>> advice = mc.advise([1, 2, 3] * 4, 2)
    >>> advice.policy, advice.sharing
    ('tinylfu', 'share')
    """
    machine = machine_of(tier, backend, devices, drive)
    wanted = None if target is None else Target.of(target)
    check_choices(size, policies, interval)
    blocks = _blocks_of(references, ops, block_bytes)
    with mistakes_in("size"):
        capacity = parse_capacity(size, blocks.unique, blocks.capacity_unit)
    case = Case(
        blocks=blocks,
        capacity=capacity,
        candidates=policies,
        machine=machine,
        rate=share_given("rate", rate),
        seeds=seeds_of_samples(seeds),
        seed=seed_given(seed),
        threads=threads_given(threads),
        memory=memory_given(memory),
        interval=interval,
        reporter=reporter or notebook_reporter() or Reporter(),
        commands=commands or Commands.of(blocks, size, capacity),
    )
    with case.reporter.live():
        first = describe_trace(case)
        policy = advise_policy(case)
        writes = advise_writes(case)
        bend = advise_size(case, wanted)
        sharing = advise_sharing(case)
    return Advice(case, [first, policy, bend, writes, sharing])


def _blocks_of(references: References, ops: Ops, block_bytes: int | str) -> Blocks:
    """Return the references as blocks of one size."""
    if isinstance(references, Blocks):
        refuse_bytes(references, "advise")
        check_no_warm_up(references, "advise")
        if not references.is_whole:
            raise ConfigError("references: these blocks are a part of others; give a Trace")
        return references
    traces = traces_in(references)
    if traces is None:
        workload, _ = workload_of(references, 4096)
        return Blocks.of([vm.trace for vm in workload.vms], "all")
    return Blocks.of(traces, ops, block_bytes)


def check_choices(
    size: int | float | str, policies: str | Sequence[str], interval: str | None
) -> None:
    """Validate arguments of `advise` that need no trace.

    Raises
    ------
    ConfigError
        If one is wrong.
    """
    with mistakes_in("size"):
        parse_capacity(size, 1, 1)
    candidates_given(policies)
    if interval is not None:
        with mistakes_in("interval"):
            parse_duration(interval)


def machine_of(
    tier: str,
    backend: str,
    devices: Mapping[str, Mapping[str, Any]] | Sequence[str],
    drive: int | str | None,
) -> Machine:
    """Parse the devices of `advise`.

    Raises
    ------
    ConfigError
        If there is no such device, or the size of the drive is wrong.
    """
    own = devices_given("devices", devices)
    cache, behind = device_given("tier", tier, own), device_given("backend", backend, own)
    spec = spec_of_device(tier, own)
    if drive is not None:
        with mistakes_in("drive"):
            if (drive_bytes := parse_bytes(drive)) == 0:
                raise ValueError("expected more than nothing")
        spec = spec.model_copy(update={"drive": drive_bytes})
    machine = Machine(cache, behind, spec)
    return replace(machine, own={name: of.model_dump(mode="json") for name, of in own.items()})
