"""Options of `mcsim kv` on bytes, tiers and parts of tenants, and their tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mcsim.cli.terminal import Form
    from mcsim.locality.prefixes import PrefixCurve
    from mcsim.tables.result_table import ResultTable
    from mcsim.traces.chains import ChainTrace


def token_bytes_given(size: str | None, model: str | None) -> int | None:
    """Return the bytes of a token, of `--bytes-per-token` or `--model`."""
    from mcsim.base.errors import ConfigError, mistakes_in
    from mcsim.base.specs import parse_spec
    from mcsim.base.units import parse_bytes, parse_count
    from mcsim.locality.prefix_tables import kv_bytes_per_token

    if size is not None and model is not None:
        raise ConfigError("--bytes-per-token and --model: one at a time")
    if size is not None:
        with mistakes_in("--bytes-per-token"):
            return _checked(parse_bytes(size))
    if model is None:
        return None
    with mistakes_in("--model"):
        _, given = parse_spec(f"model({model})", "model", ["model"])
        known = ("layers", "kv_heads", "head_size", "value_bytes")
        if unknown := [key for key in given if key not in known]:
            raise ConfigError(f"unknown key {unknown[0]!r}; one of {', '.join(known)}")
        if missing := [key for key in known[:3] if key not in given]:
            raise ConfigError(f"{missing[0]} is missing")
        numbers = {key: parse_count(value) for key, value in given.items()}
        return _checked(kv_bytes_per_token(**numbers))


def check_bytes(given: dict[str, str | None], has_bytes: bool) -> None:
    """Raise ConfigError for the first size in bytes if no option has the bytes of a token."""
    from mcsim.base.errors import ConfigError

    for option, text in () if has_bytes else given.items():
        sizes = [size.strip() for size in re.findall(r"[^,()=]+", text or "")]
        if wrong := next(filter(_is_bytes, sizes), None):
            raise ConfigError(
                f"{option}: {wrong!r}: these blocks have no size in bytes; "
                "--bytes-per-token or --model gives it"
            )


def _is_bytes(text: str) -> bool:
    from mcsim.base.sizes import is_in_bytes

    try:
        return is_in_bytes(text)
    except ValueError:  # a name, or a mistake that is reported later
        return False


def _checked(token_bytes: int) -> int:
    if not 0 < token_bytes <= 1 << 30:
        raise ValueError(f"expected 1 B to 1 GiB for a token, got {token_bytes:,} B")
    return token_bytes


def _pairs(option: str, text: str) -> dict[str, str]:
    from mcsim.base.errors import ConfigError

    pairs = [item.partition("=") for item in text.split(",")]
    if any(not (name.strip() and value.strip()) for name, _, value in pairs):
        raise ConfigError(f"{option}: expected NAME=SIZE,..., got {text!r}")
    found = {name.strip(): value.strip() for name, _, value in pairs}
    if len(found) < len(pairs):
        raise ConfigError(f"{option}: a name occurs twice in {text!r}")
    return found


def parts_of(
    trace: ChainTrace, curve: PrefixCurve, modes: dict[str, Any], options: dict[str, Any]
) -> ResultTable | None:
    """Return the table of a mode in place of the curve's, if one was given."""
    from mcsim.locality.prefix_sharing import prefix_sharing

    if modes["--sharing"]:
        return prefix_sharing(trace)
    if modes["--tiers"] is not None:
        return _tiers(trace, curve, options)
    if modes["--partition"] is not None:
        return _partition(trace, curve, modes["--partition"], options)
    if modes["--policies"] is not None:
        return _replays(trace, curve, modes["--policies"], options)
    return None


def _tiers(trace: ChainTrace, curve: PrefixCurve, options: dict[str, Any]) -> ResultTable:
    from mcsim.base.errors import mistakes_in
    from mcsim.base.sizes import parse_capacity
    from mcsim.base.units import parse_bytes
    from mcsim.locality.prefix_parts import prefix_tiers

    with mistakes_in("--tiers"):
        sizes = {
            name: parse_capacity(value, curve.distinct, curve.block_bytes)
            for name, value in _pairs("--tiers", options["tiers"]).items()
        }
    bandwidth = options["bandwidth"]
    with mistakes_in("--bandwidth"):
        rates = {
            name: float(parse_bytes(value))
            for name, value in (_pairs("--bandwidth", bandwidth) if bandwidth else {}).items()
        }
    return prefix_tiers(
        curve,
        sizes,
        rule=options["tier_rule"],
        trace=trace,
        bandwidth=rates,
        prefill=options["prefill"],
        full_hit=options["full_hit"],
        warm_up=options["warm_up"],
    )


def _partition(
    trace: ChainTrace, curve: PrefixCurve, size: str, options: dict[str, Any]
) -> ResultTable:
    from mcsim.base.errors import mistakes_in
    from mcsim.base.sizes import parse_capacity
    from mcsim.locality.prefix_divisions import MOST_BLOCKS, prefix_partition

    with mistakes_in("--partition"):
        capacity = parse_capacity(size, curve.distinct, curve.block_bytes)
        if capacity > MOST_BLOCKS:
            raise ValueError(f"at most {MOST_BLOCKS:,} blocks, got {capacity:,}")
    return prefix_partition(
        trace,
        capacity,
        optimizer=options["optimizer"],
        interval=options["interval"],
        order=options["touches"],
        full_hit=options["full_hit"],
    )


def _replays(
    trace: ChainTrace, curve: PrefixCurve, policies: str, options: dict[str, Any]
) -> ResultTable:
    from mcsim.cli.options import sizes_given
    from mcsim.policies.prefix_replays import prefix_replay

    sizes = options["sizes"] or "1%,3%,10%"
    return prefix_replay(
        trace,
        policies,
        sizes_given(sizes, max(1, trace.distinct), curve.block_bytes),
        block_bytes=curve.block_bytes,
        order=options["touches"],
        full_hit=options["full_hit"],
        warm_up=options["warm_up"],
        pin=options["pin"],
    )


def by_policy(rows: ResultTable) -> ResultTable:
    """Return token hits in percent: a row for each policy, and a column for each size."""
    from mcsim.base.units import format_size
    from mcsim.tables.column import column, percent
    from mcsim.tables.result_table import ResultTable

    policies = list(dict.fromkeys(rows.policy))
    first = rows[rows.policy == policies[0]]
    heads = [f"{capacity:,}" for capacity in first.capacity]
    if "bytes" in rows.column_names:
        heads = [format_size(int(size)) for size in first.bytes]
    columns = [column("policy", "text")]
    columns += [column(head, name=f"size {at}") for at, head in enumerate(heads)]
    cells = [
        [policy, *map(percent, rows[rows.policy == policy].token_hit_ratio)] for policy in policies
    ]
    notes = ["token hits in %, by size of the cache"]
    return ResultTable.of_rows(columns, cells, notes=notes)


def size_of_chains(
    files: tuple[str, ...], target: str, trace_dirs: Sequence[Path], form: Form
) -> None:
    """Print the size of a KV cache, for `mcsim size --target-token-hits`."""
    import click

    from mcsim.base.errors import ConfigError
    from mcsim.cli.kv import kv
    from mcsim.cli.options import check_only

    check_only("--target-token-hits", ("files", "target_token_hits", "trace_dirs", "quiet", "form"))
    if len(files) != 1:
        raise ConfigError(f"--target-token-hits: expected one TRACE, got {len(files)}")
    options = {"target": target, "trace_dirs": trace_dirs, "form": form}
    click.get_current_context().invoke(kv, file=files[0], **options)
