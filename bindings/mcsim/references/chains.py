"""The workload of an experiment on chains: tenants as VMs, with blocks of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mcsim.base.arguments import shortened
from mcsim.base.errors import ConfigError, HostError, TraceError, exit_code_of
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
    file = _file_of(name, source, trace_dirs)
    with reporter.stage("parse", unit="requests", about=file.name) as stage:
        with _blaming(source, name):
            chains = read_chains(
                file, ids=given.ids, block_tokens=given.block_tokens, fields=given.fields
            )
        stage.update(len(chains))
    for note in chains.notes:
        reporter.note(note)
    if not len(chains.blocks):
        raise source.complain((*_WHERE, "file"), f"no blocks in {name!r}")
    return chains


def _file_of(name: str, source: Source, trace_dirs: Sequence[Path]) -> Path:
    """Find the file of an experiment."""
    with _blaming(source, name):
        found = TraceFinder(trace_dirs).find(name, source.folder)
    where = (*_WHERE, "file")
    if found is None and (source.folder / name).is_dir():
        raise source.complain(where, f"{shortened(name)} is a folder, expected a file")
    if found is None:
        raise source.complain(where, f"no file {shortened(name)} {searched(trace_dirs)}")
    return found


@contextmanager
def _blaming(source: Source, name: str) -> Iterator[None]:
    """Add the place of a file in the experiment to all errors of the file."""
    try:
        yield
    except (ConfigError, TraceError, HostError) as error:
        raise type(error)(str(source.complain(_WHERE, str(error)))) from None
    except OSError as error:
        wrong = ConfigError if exit_code_of(error) == ConfigError.exit_code else HostError
        message = f"{shortened(name)}: {error.strerror}"
        raise wrong(str(source.complain((*_WHERE, "file"), message))) from None
