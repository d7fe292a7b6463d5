"""`mcsim trace synth`: generate a synthetic trace from a profile."""

from __future__ import annotations

from pathlib import Path

import click

from mcsim.cli.options import file_to_write, quiet_option, reporter_asked, seed_option


@click.command(short_help="Generate a synthetic trace from a profile.")
@click.argument("profile", type=click.Path(dir_okay=False, path_type=Path))
@click.argument(
    "out",
    required=False,
    type=click.Path(dir_okay=False, path_type=Path),
    callback=file_to_write,
)
@seed_option("Instead of the profile's seed.", None)
@quiet_option
def synth(profile: Path, out: Path | None, seed: int | None) -> None:
    """Generate the requests of PROFILE, a YAML file, unless that was done before.

    They are written as OUT, whose name says how (see convert), or kept in the cache.

    The same profile and seed give the same bytes. The trace says of itself that
    it is synthetic, and so does everything made from it.
    """
    from mcsim.traces.synth import synth_trace

    reporter = reporter_asked()
    with reporter.live(), reporter.stage("generate", unit="requests", about=profile.name) as stage:
        trace = synth_trace(profile, progress=stage.update_of, seed=seed)
    counts = trace.metadata.counts
    click.echo(
        f"synthetic trace of {len(trace.vms)} VMs: {counts.requests:,} requests "
        f"({counts.reads:,} reads), {counts.blocks:,} accesses to blocks of 4 KiB"
    )
    click.echo(str(trace.store_path if out is None else trace.save(out)))
