"""What there is to choose from, as `mcsim list` and `mcsim describe` tell it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

__all__ = ["catalogue", "describe_entry"]


def catalogue() -> dict[str, Sequence[Mapping[str, Any]]]:
    """Everything that experiments may name, by kind."""
    from mcsim._core import engine, locality, optimizers, policies
    from mcsim.config.devices import CATALOGUE
    from mcsim.traces.parsed import trace_formats

    return {
        "systems": engine.describe_systems(),
        "optimizers": optimizers.describe(),
        "eviction policies": policies.describe(),
        "admission filters": engine.describe_admission(),
        "estimators": locality.describe_estimators(),
        "meters": locality.describe_meters(),
        "trace formats": trace_formats(),
        "devices": [
            {
                "name": device.name,
                "summary": device.summary,
                "reference": device.reference,
                "params": list(device.describe()),
            }
            for device in CATALOGUE.values()
        ],
    }


def describe_entry(kind: str, entry: Mapping[str, Any]) -> None:
    """Describe one component: what it is, where it is from, its parameters."""
    click.secho(entry["name"], bold=True, nl=False)
    singular = f"{kind.removesuffix('ies')}y" if kind.endswith("ies") else kind.removesuffix("s")
    click.echo(f" ({singular})")
    click.echo(f"  {entry['summary']}")
    click.echo(f"  Reference: {entry['reference']}")
    for param in entry["params"]:
        click.echo(f"\n  {param['name']} = {_default_of(param)}{_allowed(param)}")
        click.echo(f"      {param['help']}")


def _default_of(param: Mapping[str, Any]) -> str:
    from mcsim.base.units import format_duration

    default = param["default"]
    if param["kind"] == "duration":
        return format_duration(default)
    if isinstance(default, bool):
        return str(default).lower()
    if param["kind"] == "per-vm":
        return "{}"
    return str(default)


def _allowed(param: Mapping[str, Any]) -> str:
    """What else the parameter may be."""
    if param["choices"]:
        return f"   one of {', '.join(param['choices'])}"
    if param["kind"] not in ("integer", "real"):
        return ""
    low, high = param["min"], param["max"]
    if low == float("-inf") and high == float("inf"):
        return ""
    if high == float("inf"):
        return f"   at least {low:g}"
    return f"   {low:g} to {high:g}"
