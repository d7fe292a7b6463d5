"""The workload of an experiment on chains: tenants as VMs, with blocks of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mcsim.base.errors import ConfigError
from mcsim.config import ExperimentSpec, Source
from mcsim.config.chains import ChainsSpec
from mcsim.references.workload import Workload, WorkloadVm
from mcsim.traces.chain_requests import generate_chains, requests_of
from mcsim.traces.chains import ChainTrace, read_chains
from mcsim.traces.find import TraceFinder, searched

if TYPE_CHECKING:
    from mcsim.base.progress import Reporter

_WHERE = ("workload", "chains")


def open_chains(
    spec: ExperimentSpec, source: Source, trace_dirs: Sequence[Path], reporter: Reporter
) -> Workload:
    """Read or generate the chains of an experiment.

    Raises
    ------
    ConfigError
        If there is no such file, or its requests have no times.
    TraceError
        If a line of it breaks a rule.
    """
    given = spec.workload.chains
    assert given is not None
    if given.file is None:
        chains = _generated(given, spec, source)
    else:
        chains = _read(given, given.file, source, trace_dirs, reporter)
    with source.blaming(_WHERE):
        trace = requests_of(chains, spec.block_bytes)
    unlisted = int((chains.tokens - chains.lengths * chains.block_tokens).clip(min=0).sum())
    if unlisted:
        reporter.note(f"{unlisted:,} tokens of blocks that no list has never hit, and do not count")
    vms = tuple(WorkloadVm(name, trace, only=number) for number, name in enumerate(trace.vms))
    return Workload(vms, synthetic=given.file is None, chains=chains)


def _generated(given: ChainsSpec, spec: ExperimentSpec, source: Source) -> ChainTrace:
    assert given.duration is not None
    assert given.block_tokens is not None
    for name, tenant in given.tenants.items():
        end = given.duration if tenant.end is None else tenant.end
        if not tenant.start.length < end.length <= given.duration.length:
            raise source.complain(
                (*_WHERE, "tenants", name),
                f"expected start < end <= {given.duration}, got {tenant.start} and {end}",
            )
    length, seed = given.duration.length, spec.random_seed
    return generate_chains(given.tenants, given.block_tokens, length, seed)


def _read(
    given: ChainsSpec,
    name: str,
    source: Source,
    trace_dirs: Sequence[Path],
    reporter: Reporter,
) -> ChainTrace:
    file = source.folder / name
    if not file.is_file():
        found = TraceFinder(trace_dirs).find(name, source.folder)
        if found is None or not found.is_file():
            raise source.complain((*_WHERE, "file"), f"no file {name!r} {searched(trace_dirs)}")
        file = found
    with reporter.stage("parse", unit="requests", about=file.name) as stage:
        try:
            chains = read_chains(
                file, ids=given.ids, block_tokens=given.block_tokens, fields=given.fields
            )
        except ConfigError as error:
            raise source.complain(_WHERE, str(error)) from None
        stage.update(len(chains))
    for note in chains.notes:
        reporter.note(note)
    if not len(chains.blocks):
        raise source.complain((*_WHERE, "file"), f"no blocks in {name!r}")
    return chains
