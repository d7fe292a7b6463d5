"""`mcsim trace cache-device` and `trace counters`: what a real cache did."""

from __future__ import annotations

import click

from mcsim.cli.help import Sectioned
from mcsim.cli.options import table_option
from mcsim.cli.reading import in_words_of_the_shell
from mcsim.cli.terminal import Form, print_result


@click.command(
    "cache-device", cls=Sectioned, short_help="Show what a real cache did, from blktrace."
)
@click.argument("device")
@click.option(
    "--origin",
    metavar="FILE",
    help="Events of the device behind the cache; of bcache, its backing device.",
)
@click.option("--cache", metavar="FILE", help="Events of the device that caches.")
@table_option
def cache_device(device: str, origin: str | None, cache: str | None, form: Form) -> None:
    """Show the hits, promotions, write-backs and latencies of a real cache.

    DEVICE has the events of a dm-cache or bcache device, as blktrace wrote them; a quoted pattern
    names the files of all processors. The three devices must be recorded at the same time. A
    value that the files do not show is a dash, with the reason.

    \b
    mcsim trace cache-device dm-3.blktrace.0 --origin dm-2.blktrace.0 --cache dm-0.blktrace.0
    """  # noqa: D301
    from mcsim.traces.cache_device import cache_device as cache_device_of

    with in_words_of_the_shell({"origin: ": "--origin: ", "cache: ": "--cache: ", "device: ": ""}):
        found = cache_device_of(device, origin, cache)
    print_result(form, found, found.answer)


@click.command(cls=Sectioned, short_help="Show what a real cache counted between two moments.")
@click.argument("before", type=click.Path())
@click.argument("after", type=click.Path())
@table_option
def counters(before: str, after: str, form: Form) -> None:
    """Show the hits and misses that a real cache counted from BEFORE to AFTER.

    Both are text: of `dmsetup status NAME` for dm-cache and dm-writecache, of
    `grep . /sys/block/bcache0/bcache/stats_total/*` for bcache, of
    /proc/spl/kstat/zfs/arcstats for ZFS. Lines below the table name events without a counter.

    \b
    mcsim trace counters before.txt after.txt
    """  # noqa: D301
    from mcsim.traces.cache_counters import cache_counters

    with in_words_of_the_shell({"after: ": ""}):
        found = cache_counters(before, after)
    print_result(form, found, found.answer)
