"""Options of `mcsim kv` that need others, and those that exclude each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

TABLES = ("--policies", "--per-tenant", "--interval", "--sharing", "--partition", "--tiers")
"""Options that select the table: one at a time, except that --partition may have an --interval."""

_OF_TIERS = "of which tiers? --tiers has them"

NEEDED: Mapping[str, tuple[str, str]] = {
    "--pin": ("--policies", "of which policies? --policies has them"),
    "--optimizer": ("--partition", "of what? --partition divides a cache"),
    "--tier-rule": ("--tiers", _OF_TIERS),
    "--bandwidth": ("--tiers", _OF_TIERS),
    "--prefill": ("--tiers", _OF_TIERS),
}
"""By option: the one that it needs, and the message."""

_SAMPLE = "a sample estimates the curve of the whole cache alone"
_UNLIMITED = "it counts all tokens, in a cache without limit"
_OWN_SIZES = "its table has sizes of its own"

APART: Mapping[tuple[str, str], str] = {
    ("--policies", "--target-token-hits"): "a target is of the curve of LRU",
    **{(table, "--rate"): _SAMPLE for table in TABLES if table != "--tiers"},
    ("--order", "--rate"): "single blocks can be sampled with tail-first alone",
    ("--sharing", "--warm-up"): _UNLIMITED,
    ("--sharing", "--full-hit"): _UNLIMITED,
    ("--sharing", "--order"): _UNLIMITED,
    ("--sharing", "--sizes"): _UNLIMITED,
    ("--partition", "--sizes"): _OWN_SIZES,
    ("--tiers", "--sizes"): _OWN_SIZES,
    ("--partition", "--warm-up"): "it counts all requests",
    ("--tiers", "--order"): "tiers touch tails first",
    ("--pin", "--order"): "policies with leaf- in their names do not depend on the order",
}
"""Options that exclude each other, with the reasons."""


def options_given() -> dict[str, Any]:
    """Return the options of the current command that differ from their defaults."""
    context = click.get_current_context()
    return {
        max(param.opts, key=len): value
        for param in context.command.params
        if (value := context.params.get(param.name or "")) not in (None, False, ())
        and value != param.get_default(context)
    }


def check_together(given: Mapping[str, Any]) -> None:
    """Raise ConfigError for options that do not go together."""
    from mcsim.base.errors import ConfigError

    tables = [option for option in TABLES if option in given]
    if len(tables) > 1 and tables != ["--interval", "--partition"]:
        raise ConfigError(f"{tables[0]} and {tables[1]}: one at a time")
    for option, (needed, reason) in NEEDED.items():
        if option in given and needed not in given:
            raise ConfigError(f"{option}: {reason}")
    for (one, other), reason in APART.items():
        if one in given and other in given:
            raise ConfigError(f"{one} and {other}: not together: {reason}")
    if "--bandwidth" in given and not {"--bytes-per-token", "--model"} & given.keys():
        raise ConfigError("--bandwidth: of how many bytes? --bytes-per-token or --model has them")
    if given.get("--tier-rule") == "copy-on-eviction" and "--rate" in given:
        raise ConfigError("--tier-rule copy-on-eviction and --rate: not together: it is replayed")
    if {"--partition", "--interval", "--order"} <= given.keys():
        raise ConfigError(
            "--partition with --interval, and --order: not together: they touch tails first"
        )
