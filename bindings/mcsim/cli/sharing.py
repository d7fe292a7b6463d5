"""Common parts of commands about VMs that share a cache."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import click

from mcsim.cli.options import Command, reporter_asked, with_options
from mcsim.cli.reading import reading_options
from mcsim.cli.stream import Source, references_options

if TYPE_CHECKING:
    from mcsim.base.progress import Reporter
    from mcsim.locality.prefix_mix import PrefixSharing
    from mcsim.locality.sharing import Order, Sharing
    from mcsim.policies.deployed_sharing import DeployedSharing
    from mcsim.traces.trace import Trace


def sharing_options(command: Command) -> Command:
    """Add the options of the VMs that share a cache, and of the order of their references."""
    order = click.option(
        "--order",
        type=click.Choice(["time", "rates"]),
        default="time",
        show_default=True,
        help="How references of VMs follow each other: by their times, or each VM's spread evenly "
        "over one length, for traces of different years or without a clock.",
    )
    deployed = click.option(
        "--deployed",
        metavar="NAME[(PARAM=VALUE,...)]",
        help="A deployed cache in place of LRU, such as dm-cache(block_kib=64), by replays.",
    )
    return with_options(command, [references_options, order, deployed, reading_options])


def shared_source(
    files: tuple[str, ...],
    block_size: str,
    ops: Any,
    vms: str | None,
    reading: dict[str, Any],
    sizes: str | None = None,
) -> Source:
    """Return the source of references, after validating its block size."""
    source = Source(files, block_size, ops, vms, 1, 1, reading, sizes=sizes)
    source.block_bytes  # noqa: B018
    return source


def deployed_read(source: Source, order: Order, deployed: str) -> DeployedSharing:
    """Read the traces of VMs that share a deployed cache."""
    from mcsim.base.errors import ConfigError, mistakes_in
    from mcsim.policies.deployed_caches import deployed_given
    from mcsim.policies.deployed_sharing import DeployedSharing

    if order != "time":
        raise ConfigError("--order rates: not with --deployed, which replays requests by time")
    with mistakes_in("--deployed"):
        spec = deployed_given(deployed)
    reporter = reporter_asked()
    with reporter.live(), mistakes_in("--deployed"):
        return DeployedSharing.of(source.split(source.open(reporter), reporter), spec)


def tenants_read(source: Source) -> PrefixSharing:
    """Read the chain trace of tenants that share a KV cache."""
    from mcsim.cli.kv import file_of_chains
    from mcsim.locality.prefix_mix import PrefixSharing
    from mcsim.traces.chains import read_chains

    file = file_of_chains(source.files, source.reading.get("trace_dirs", []))
    reporter = reporter_asked()
    with reporter.live(), reporter.stage("read", total=1, unit="files"):
        return PrefixSharing.of(read_chains(file))


def heading_of_tenants(sharing: Sharing) -> str | None:
    """Describe the tenants of a KV cache in a line; None of other VMs."""
    from mcsim.locality.prefix_mix import PrefixSharing

    if not isinstance(sharing, PrefixSharing):
        return None
    return (
        f"{len(sharing.vms)} tenants, {len(sharing):,} tokens in {sharing.unique:,} distinct "
        "blocks; LRU, hits of prefixes"
    )


def cache_of(sharing: Sharing) -> str:
    """Return the name of the cache that the VMs share."""
    from mcsim.policies.deployed_sharing import DeployedSharing

    return str(sharing.spec) if isinstance(sharing, DeployedSharing) else "LRU"


def notes_on(sharing: Sharing) -> list[str]:
    """Return the notes on curves that come from replays."""
    return [] if cache_of(sharing) == "LRU" else [sharing.together.note]


def sharing_read(source: Source, order: Order) -> Sharing:
    """Read the traces and merge the references of all VMs in `order`."""
    from mcsim.locality.sharing import sharing
    from mcsim.references.blocks import Blocks
    from mcsim.references.objects import sized_for

    reporter = reporter_asked()
    with reporter.live():
        if order == "time":
            traces = source.open(reporter)
            _note_spans(traces, reporter)
            return sharing(source.split(traces, reporter), order)
        chosen = source.chosen(source.open(reporter))
        several = [Blocks.of(one, source.ops, source.block_bytes) for one in chosen]
        return sharing([sized_for(one, source.sizes) for one in several], order)


def _note_spans(traces: list[Trace], reporter: Reporter) -> None:
    """Warn if no two traces overlap in time, so that VMs never compete for the cache."""
    spans = sorted(
        (trace.metadata.counts.first_time, trace.metadata.counts.last_time) for trace in traces
    )
    apart = all(last < begin for (_, last), (begin, _) in itertools.pairwise(spans))
    if len(spans) > 1 and apart:
        reporter.note("no two traces overlap in time; --order rates has them all at once")
