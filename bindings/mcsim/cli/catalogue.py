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
    if kind == "systems" and (known := _foreseen(entry["name"])):
        click.echo(f"  A yardstick: it knows {known} beforehand, and tables say so.")
    for param in entry["params"]:
        click.echo(f"\n  {param['name']} = {_default_of(param)}{_allowed(param)}")
        click.echo(f"      {param['help']}")


def _foreseen(name: str) -> str | None:
    """Return what a system knows that nobody can, by the meters that it asks for."""
    from mcsim._core import engine
    from mcsim.base.errors import ConfigError
    from mcsim.experiment.checks import foresight_of
    from mcsim.results.foresight import FORESEEN

    devices = [engine.Device("any", ns, ns, 1.0) for ns in (1.0, 2.0, 3.0)]
    machine = engine.Machine([(devices[0], 1 << 10), (devices[1], 1 << 10)], devices[2])
    try:
        return FORESEEN.get(foresight_of(engine.System(name, {}, machine)))
    except ConfigError:
        return None  # that it wants more to be said makes it no yardstick


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
