"""`mcsim trace misses`: what reaches the backend of a cache or a hierarchy, as a trace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from mcsim.cli.help import Sectioned
from mcsim.cli.options import (
    block_bytes_option,
    code_options,
    file_to_write,
    overrides_option,
    reporter_asked,
    seed_option,
)
from mcsim.cli.reading import open_trace, reading_options

if TYPE_CHECKING:
    from mcsim.experiment.code import Permission
    from mcsim.traces.trace import Trace

_OF_EXPERIMENTS = ("system", "overrides")
_OF_TRACES = (
    *("policy", "writes", "ops", "block_size", "seed", "format", "options", "mapping"),
    *("vm_name", "on_bad_line", "on_unsorted", "max_skipped", "cache_dir"),
)


@click.command(cls=Sectioned, short_help="Write what reaches the backend of a cache as a trace.")
@click.argument("source")
@click.argument("out", type=click.Path(path_type=Path), callback=file_to_write)
@click.option(
    "--size",
    help="Size of the cache, if SOURCE is a trace: 1GiB, 250000 (blocks) or 10% (of the distinct "
    "blocks).",
)
@click.option(
    "--policy",
    metavar="NAME[(PARAM=VALUE,...)]",
    default="lru",
    show_default=True,
    help="Its eviction policy (see mcsim list).",
)
@click.option(
    "--writes",
    metavar="MODE",
    default="through",
    show_default=True,
    help="Its write mode: through, back or around.",
)
@click.option(
    "--ops", type=click.Choice(["all", "reads", "writes"]), default="all", show_default=True
)
@block_bytes_option
@seed_option("Of a policy that draws random numbers.")
@click.option("--system", metavar="TITLE", help="System of the experiment, if it has several.")
@overrides_option("Change a value of the experiment, such as tiers.0.capacity=1e6; repeatable.")
@code_options
@reading_options
def misses(
    source: str,
    out: Path,
    size: str | None,
    policy: str,
    writes: str,
    ops: Any,
    block_size: str,
    seed: int,
    system: str | None,
    overrides: tuple[str, ...],
    code: Permission,
    **reading: Any,
) -> None:
    """Write the requests that reach the backend as OUT (see convert): reads that miss, writes.

    SOURCE is an experiment (see mcsim run), with any hierarchy, or a trace for one cache of --size,
    which all VMs share. Each row has the time of the request that causes it.

    \b
    mcsim trace misses web misses.arrow --system static
    mcsim trace misses web_0.csv.gz misses.csv.zst --size 1GiB --policy arc --writes back
    """  # noqa: D301
    from mcsim.base.errors import ConfigError
    from mcsim.exchange.written import format_of
    from mcsim.experiment.misses import misses as find_misses

    format_of(out)
    _check_form(click.get_current_context(), source, size)
    reporter = reporter_asked()
    if size is None:
        found = find_misses(
            source,
            system=system,
            overrides=overrides,
            allow_code=code,
            trace_dirs=reading["trace_dirs"],
            reporter=reporter,
        )
    else:
        with reporter.live():
            requests = open_trace(source, reporter, **reading)
        found = find_misses(
            requests,
            size,
            policy=policy,
            writes=writes,
            ops=ops,
            block_bytes=block_size,
            seed=seed,
            reporter=reporter,
        )
    if found.request_count == 0:
        raise ConfigError(f"{source}: no request reaches the backend: {out} is not written")
    found.save(out)
    click.echo(_summary(found, out))


def _check_form(ctx: click.Context, source: str, size: str | None) -> None:
    """Check that SOURCE is what the options are for: a trace, or an experiment."""
    from mcsim.base.errors import ConfigError
    from mcsim.base.package import find_file

    # A name without an ending is an experiment if no trace was meant, which has a --size.
    named = source if size is not None else find_file("experiment", source) or source
    is_experiment = Path(named).suffix in (".yaml", ".yml")
    if size is None and not is_experiment:
        raise ConfigError(
            f"{source}: a trace needs --size, the size of its cache; an experiment is a .yaml file "
            "or a name of mcsim list"
        )
    if size is not None and is_experiment:
        raise ConfigError(f"{source}: --size is for traces: an experiment has its own tiers")
    foreign = _OF_TRACES if size is None else _OF_EXPERIMENTS
    for parameter in ctx.command.params:
        name = parameter.name or ""
        given = ctx.get_parameter_source(name) == ParameterSource.COMMANDLINE
        if given and name in foreign:
            kind = "traces" if size is None else "experiments"
            raise ConfigError(f"{parameter.opts[0]}: only for {kind}")


def _summary(found: Trace, out: Path) -> str:
    counts = found.metadata.counts
    discards = f", {counts.discards:,} discards" if counts.discards else ""
    writes = counts.requests - counts.reads
    return f"{counts.reads:,} reads, {writes:,} writes{discards} to {out}"
