"""Catalogue of names: systems, policies and devices with their parameters, and shipped files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import indent
from typing import Any

from mcsim.base.arguments import text as check_text
from mcsim.base.deployed import ALIASES, IN_USE, RULES
from mcsim.base.errors import ConfigError
from mcsim.base.package import Kind, shipped_files
from mcsim.base.suggest import did_you_mean
from mcsim.config.devices import CATALOGUE
from mcsim.config.load import Source


def catalogue() -> dict[str, Sequence[Mapping[str, Any]]]:
    """Return all entries by kind."""
    from mcsim._core import engine, locality, optimizers, policies
    from mcsim.traces.mapping import trace_formats

    return {
        "systems": engine.describe_systems(),
        "optimizers": optimizers.describe(),
        "eviction policies": policies.describe(),
        "libraries": policies.describe_libraries(),
        "admission filters": engine.describe_admission(),
        "prefetchers": engine.describe_prefetchers(),
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
        "experiments": _shipped("experiment"),
        "profiles": _shipped("profile"),
    }


def _shipped(kind: Kind) -> list[dict[str, Any]]:
    """Return the entries of the experiments or profiles that mcsim has."""
    entries = []
    for name, path in shipped_files(kind).items():
        root = Source.read(path).root
        run = "sweep" if "sweep" in root else "run"
        command = f"{run} {name}" if kind == "experiment" else f"trace synth {name} {name}.csv.gz"
        entries.append(
            {
                "name": name,
                "summary": str(root.get("description", "")),
                "file": str(path),
                "command": f"mcsim {command}",
            }
        )
    return entries


def groups(
    every: Mapping[str, Sequence[Mapping[str, Any]]],
) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """Yield the headings of `mcsim list` and their entries: deployed systems stand apart."""
    for kind, entries in every.items():
        deployed = [entry for entry in entries if kind == "systems" and entry["name"] in RULES]
        yield kind, [entry for entry in entries if entry not in deployed]
        if deployed:
            yield f"{kind}, deployed", deployed


def system_names() -> list[str]:
    """List the systems, which `run` compares.

    Returns
    -------
    list of str
        Names for the key ``systems`` of an experiment.

    Examples
    --------
    >>> mc.system_names()[:2]
    ['lru', 'single-tier']
    """
    return _names("systems")


def format_names() -> list[str]:
    """List the formats of traces.

    Returns
    -------
    list of str
        Names for the parameter `format` of `Trace.open`.

    Examples
    --------
    >>> "csv" in mc.format_names()
    True
    """
    return _names("trace formats")


def experiment_names() -> list[str]:
    """List the experiments that mcsim has, which `run`, `sweep` and `search` take by name.

    Returns
    -------
    list of str
        Names without ``.yaml``, in the order of the alphabet.

    Examples
    --------
    >>> "tiny" in mc.experiment_names()
    True
    """
    return list(shipped_files("experiment"))


def device_names() -> list[str]:
    """List the devices of the catalogue.

    Returns
    -------
    list of str
        Names for tiers and backends of experiments, and for `tune` and `advise`.

    Examples
    --------
    >>> mc.device_names()[:3]
    ['dram', 'flash', 'hdd']
    """
    return list(CATALOGUE)


def _names(kind: str) -> list[str]:
    return [entry["name"] for entry in catalogue()[kind]]


class Description(str):
    """Text that notebooks and the interpreter show as lines."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def describe(name: str) -> Description:
    """Describe a system, optimiser, policy, estimator, meter, format, device or experiment.

    Parameters
    ----------
    name : str
        Its name, in any case. Names of caches in use, such as `zfs`, show what is nearest here.

    Returns
    -------
    Description
        Source and parameters as text, with types, defaults and ranges.

    Raises
    ------
    ConfigError
        If nothing has that name.

    Examples
    --------
    >>> mc.describe("hdd")  # doctest: +ELLIPSIS
    hdd (device)
      hard disk
      Reference: Multi-Cache (Table I)
    ...
    """
    every = catalogue()
    asked = check_text("name", name).lower()
    lowered = ALIASES.get(asked, asked)
    found = [
        (kind, entry)
        for kind, entries in every.items()
        for entry in entries
        if entry["name"].lower() == lowered
    ]
    lines = [line for of in found for line in _lines(*of)]
    if asked in IN_USE:
        lines += [*([""] if lines else []), *_lines_in_use(asked)]
    if not lines:
        names = [entry["name"] for entries in every.values() for entry in entries]
        names += IN_USE
        raise ConfigError(f"nothing is called {name!r}{did_you_mean(name, names)}; see mcsim list")
    return Description("\n".join(lines))


def _lines_in_use(name: str) -> Iterator[str]:
    yield f"{name} (cache in use)"
    yield f"  Nearest: {IN_USE[name]}"
    yield '  Unit, write mode and what is not modelled: page "I use X today" (how-to/caches-in-use)'


def _lines(kind: str, entry: Mapping[str, Any]) -> Iterator[str]:
    singular = f"{kind.removesuffix('ies')}y" if kind.endswith("ies") else kind.removesuffix("s")
    yield f"{entry['name']} ({singular})"
    yield f"  {entry['summary']}"
    if "file" in entry:
        yield f"  File: {entry['file']}"
        yield f"  Command: {entry['command']}"
        return
    yield f"  Reference: {entry['reference']}"
    if kind == "libraries":
        yield f"  Policy: {entry['policy'] or 'none'}"
        yield f"  Difference: {entry['difference']}"
    if kind == "systems" and (known := _foreseen(entry["name"])):
        yield f"  A yardstick: it knows {known} beforehand, and tables say so."
    if kind == "systems" and (rules := RULES.get(entry["name"])):
        yield "\n" + indent(rules, "  ")
    for param in entry["params"]:
        yield f"\n  {param['name']} = {default_of(param)}   {range_of(param)}".rstrip()
        yield f"      {param['help']}"


def _foreseen(name: str) -> str | None:
    """Return the foresight of a system, by its meters; None if it has none."""
    from mcsim._core import engine
    from mcsim.experiment.checks import foresight_of
    from mcsim.results.foresight import FORESEEN

    devices = [engine.Device("any", ns, ns, 1.0) for ns in (1.0, 2.0, 3.0)]
    machine = engine.Machine([(devices[0], 1 << 10), (devices[1], 1 << 10)], devices[2])
    try:
        return FORESEEN.get(foresight_of(engine.System(name, {}, machine)))
    except ConfigError:
        return None  # a system that needs more parameters


def default_of(param: Mapping[str, Any]) -> str:
    """Return the default of a parameter as users write it."""
    from mcsim.base.units import format_duration

    default = param["default"]
    if param["kind"] == "duration":
        return format_duration(default)
    if isinstance(default, bool):
        return str(default).lower()
    if param["kind"] == "per-vm":
        return "{}"
    return str(default)


def range_of(param: Mapping[str, Any]) -> str:
    """Return the values that a parameter may have; empty for text and times."""
    if param["choices"]:
        return f"one of {', '.join(param['choices'])}"
    if param["kind"] not in ("integer", "real"):
        return ""
    low, high = param["min"], param["max"]
    if low == float("-inf") and high == float("inf"):
        return ""
    if high == float("inf"):
        return f"at least {low:g}"
    return f"{low:g} to {high:g}"
