"""The case that advice is for: references, candidates, devices, and the commands that show them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple, Self

from mcsim.base.progress import Reporter, Stage
from mcsim.base.sizes import is_share
from mcsim.base.suggest import some_of
from mcsim.base.units import format_bytes, format_size
from mcsim.config.devices import Device
from mcsim.config.latency import WriteMode
from mcsim.config.placed import DeviceSpec
from mcsim.locality.sharing import Sharing, sharing
from mcsim.references.blocks import Blocks
from mcsim.traces.info import VmInfo

EQUAL = 0.001
"""Difference of hit ratios, a tenth of a point, up to which candidates count as equal."""

EQUAL_LATENCY = 0.01
"""Relative difference of latencies up to which write modes count as equal."""


EXPERIMENT = "advice.yaml"
"""Name of the file with the experiment that compares the systems."""


class Line(NamedTuple):
    """One line of advice.

    Attributes
    ----------
    topic : str
    text : str
    commands : tuple of str
        Commands that print its numbers.
    """

    topic: str
    text: str
    commands: tuple[str, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """One candidate of a topic, with its results."""

    topic: str
    choice: str
    capacity: int
    hit_ratio: float
    latency_ns: float = float("nan")
    rate: float = 1.0
    chosen: bool = False


@dataclass(frozen=True)
class Machine:
    """The cache's device and the backend.

    Attributes
    ----------
    tier, backend : Device
    spec : DeviceSpec
        The tier with its drive and wear.
    own : mapping of str to dict
        Devices that the catalogue does not have, as plain values.
    """

    tier: Device
    backend: Device
    spec: DeviceSpec
    own: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Commands:
    """Words of commands about one trace.

    Attributes
    ----------
    files : sequence of str
        Files of the trace.
    size : str
        Size of the cache as commands take it.
    ops : str
        Operations that reach the cache.
    reading, chosen, machine : sequence of str
        Options of reading files, of choosing VMs, and of devices.
    block_bytes : int
    entries : sequence of mapping
        The VMs of the files, as an experiment names them.
    folder : str or None
        Folder with the experiment, if one is written.
    again : str
        Command that gives the advice again, and writes the experiment into the folder `advice`.
    """

    files: Sequence[str]
    size: str
    ops: str
    reading: Sequence[str] = ()
    chosen: Sequence[str] = ()
    machine: Sequence[str] = ()
    block_bytes: int = 4096
    entries: Sequence[Mapping[str, Any]] = ()
    folder: str | None = None
    again: str = ""

    @classmethod
    def of(cls, blocks: Blocks, size: object, capacity: int) -> Self:
        """Name traces by their sources."""
        sources = [vm.trace.metadata.source for vm in blocks.workload.vms]
        names = {name for vm in blocks.workload.vms for name in vm.trace.vms}
        chosen = () if names == set(blocks.vms) else ("--vms", ",".join(blocks.vms))
        text = capacity if is_share(size) or isinstance(size, float) else size
        return cls(
            list(dict.fromkeys(sources)),
            str(text),
            blocks.ops_kept,
            chosen=chosen,
            block_bytes=blocks.block_bytes,
            entries=[
                {
                    "name": vm.name,
                    "trace": vm.trace.metadata.source,
                    "vm": vm.trace.vms[vm.only or 0],
                }
                for vm in blocks.workload.vms
            ],
        )

    def of_trace(self) -> tuple[str, ...]:
        """Return a command for each file, and one for all requests that reach the cache."""
        each = (_line("trace", "info", file, *self._blocks(), *self.reading) for file in self.files)
        return (*each, self.whatif())

    def whatif(self) -> str:
        """Return the command that judges the size."""
        return self.about("whatif", "--size", self.size)

    def about(self, command: str, *options: str) -> str:
        """Return a command about the references."""
        ops = () if self.ops == "reads" else ("--ops", self.ops)
        return _line(
            command, *self.files, *options, *ops, *self._blocks(), *self.chosen, *self.reading
        )

    def tune(self, policies: str, seed: int) -> str:
        """Return the command that compares write modes."""
        return _line(
            *("tune", *self.files, "--size", self.size, "--objective", "latency"),
            *("--block-bytes", format_bytes(self.block_bytes), "--policies", policies),
            *(() if seed == 1 else ("--seed", str(seed))),
            *(*self.machine, *self.chosen, *self.reading),
        )

    def experiment(self, *options: str) -> tuple[str, ...]:
        """Return the commands that write the experiment, unless it is written, and run it."""
        folder = self.folder or "advice"
        run = _line("run", f"{folder}/{EXPERIMENT}", *options)
        if self.folder is not None:
            return (run,)
        return (self.again, run) if self.again else ()

    def _blocks(self) -> tuple[str, ...]:
        is_default = self.block_bytes == 4096
        return () if is_default else ("--block-bytes", format_bytes(self.block_bytes))


def _line(*words: str) -> str:
    return shlex.join(("mcsim", *words))


@dataclass
class Case:
    """One request for advice, and what has been found so far."""

    blocks: Blocks
    capacity: int
    candidates: str | Sequence[str]
    machine: Machine
    rate: float
    seeds: Sequence[int]
    seed: int
    threads: int
    memory: int
    interval: str | None
    reporter: Reporter
    commands: Commands
    rows: list[Candidate] = field(default_factory=list)
    policy: str = ""
    policy_ratio: float = 0.0
    leaders: list[str] = field(default_factory=list)
    size: int | None = None
    writes: WriteMode | None = None
    sharing: str = "share"
    years: float | None = None
    experiment: dict[str, Any] | None = None

    @cached_property
    def references(self) -> Sharing:
        """The references of all VMs in the order of time."""
        with self.reporter.stage("curves"):
            found = sharing(self.blocks)
            found.together  # noqa: B018  # computed here, where the progress shows it
        return found

    @property
    def duration_ns(self) -> int:
        """Time from the first request to the last; 0 without a clock."""
        if not self.blocks.has_clock:
            return 0
        times = self.blocks.accesses.request_time
        return int(times[-1]) - int(times[0])

    @property
    def has_experiment(self) -> bool:
        """Whether an experiment can replay the references: blocks, by a clock, with reads."""
        is_replayable = self.blocks.kind == "blocks" and self.blocks.ops_kept != "writes"
        return is_replayable and self.duration_ns > 0

    def size_text(self, blocks: int) -> str:
        """Write a size in bytes, or a number of objects."""
        unit = self.blocks.capacity_unit
        return f"{blocks:,} objects" if unit is None else format_size(blocks * unit)

    def seed_words(self) -> tuple[str, ...]:
        """Return the option of the seed, if it is not the default."""
        return () if self.seed == 1 else ("--seed", str(self.seed))


def others(count: int) -> str:
    """Write how many candidates hit less in miniature."""
    return (
        "1 other hits less in miniature" if count == 1 else f"{count} others hit less in miniature"
    )


def percent(ratio: float) -> str:
    """Write a share as tables of commands do."""
    return f"{100 * ratio:.2f} %"


def points(difference: float) -> str:
    """Write a difference of hit ratios."""
    return f"{100 * difference:+.2f} points"


_SCANS = 0.5
"""Share of sequential requests, and of accesses to blocks accessed once, from which a VM scans."""


def describe_trace(case: Case) -> Line:
    """Describe the requests: their number, scans, blocks accessed once, and VMs."""
    blocks = case.blocks
    vms = [vm for vm in _infos(case) if vm.requests]
    kind = "objects" if blocks.kind == "objects" else "blocks"
    what = {"all": "accesses", "reads": "accesses by reads", "writes": "accesses by writes"}
    parts = [f"{len(blocks):,} {what[blocks.ops_kept]} to {blocks.unique:,} {kind}"]
    parts += [_once(vms), *_scans(vms)]
    writing = [vm for vm in vms if vm.write_share > 0]
    if not writing:
        parts.append("no writes")
    elif len(vms) > 1:
        parts.append(f"{len(writing)} of {len(vms)} VMs write")
    else:
        parts.append(f"{percent(vms[0].write_share)} of requests write")
    if len(vms) == 1:
        parts.append(f"one VM, {vms[0].name}: not shared")
    else:
        parts.append(f"{len(vms)} VMs share the cache")
    return Line("trace", "; ".join(parts) + ".", case.commands.of_trace())


def _infos(case: Case) -> Iterator[VmInfo]:
    """Yield facts about each VM; a trace is read once for all its VMs."""
    known: dict[int, dict[str, VmInfo]] = {}
    members = case.blocks.workload.vms
    total = sum({id(vm.trace): vm.trace.request_count for vm in members}.values())
    with case.reporter.stage("describe", total, "requests") as stage:
        for vm in members:
            if id(vm.trace) not in known:
                update = partial(_update, stage, stage.done)
                found = vm.trace.info(case.blocks.block_bytes, progress=update)
                known[id(vm.trace)] = {of.name: of for of in found.vms}
            yield known[id(vm.trace)][vm.trace.vms[vm.only or 0]]


def _update(stage: Stage, before: int, done: int, _total: int) -> None:
    stage.update(before + done)


def _once(vms: list[VmInfo]) -> str:
    """Name the share of accesses to blocks that are accessed once, by VM if there are several."""
    ranked = sorted(vms, key=lambda vm: -vm.once_access_share)
    shares = [f"{percent(vm.once_access_share)} of {vm.name}" for vm in ranked[:3]]
    if len(vms) == 1:
        return f"{percent(vms[0].once_access_share)} of accesses are to blocks accessed once"
    return f"accesses to blocks accessed once: {', '.join(shares)}"


def _scans(vms: list[VmInfo]) -> list[str]:
    found = [
        vm.name
        for vm in vms
        if (vm.sequential_share or 0) >= _SCANS and vm.once_access_share >= _SCANS
    ]
    if not found:
        return ["no VM scans"] if len(vms) > 1 else ["no scan"]
    return [f"scans: {some_of(found, 3)}"]
