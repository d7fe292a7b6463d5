"""The line of advice about sharing a cache or dividing it, and by which system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from mcsim.base.errors import ConfigError
from mcsim.base.files import replacing
from mcsim.base.suggest import some_of
from mcsim.base.threads import Pool
from mcsim.base.units import format_drive_exactly
from mcsim.experiment.experiment import Experiment
from mcsim.experiment.prepared import Prepared
from mcsim.experiment.stages import Stages
from mcsim.locality.mix import mix_of
from mcsim.policies.miniatures import rates_of
from mcsim.results.models import DAY_NS
from mcsim.results.output import RunOutput
from mcsim.searches.advice_case import EQUAL, Candidate, Case, Line, others, percent, points

DIVIDING = (
    *("static", "multicache", "steady", "exclusive", "centaur", "vcacheshare"),
    *("ri-shares", "s-cave", "cloudcache", "karma"),
)
"""Systems that divide one cache without targets for single VMs."""

_MOST_LEADERS = 4

_NAMED = 3

_LEAST_BLOCKS = 100
"""Blocks that a miniature has for each VM."""

_NEAR = 0.02
"""Allowed error of the estimated gain of a system."""

_INTERVALS = ("1s", "1min", "10min", "1h", "6h", "1d")
_INTERVAL_NS = (10**9, 60 * 10**9, 600 * 10**9, 3600 * 10**9, 6 * 3600 * 10**9, 86400 * 10**9)

_LONGEST_NS = 3 * 365 * 86400 * 10**9
"""Span from which some systems decide too often to replay them."""

_PARTS = 24
"""Intervals that a trace has at least, if the interval is not given."""


def advise_sharing(case: Case) -> Line:
    """Compare one cache for all VMs with systems that divide it."""
    vms = case.references.vms
    systems = _systems(case)
    if case.has_experiment:
        case.experiment = _document(case, systems[:1], case.commands.entries)
    if len(vms) == 1:
        return Line("sharing", f"{vms[0]} is the only VM, so there is nothing to divide.")
    text, command = _fixed_parts(case)
    if reason := _no_systems(case):
        return Line("sharing", f"share the cache; {text}; {reason}.", (command,))
    try:
        ratios, rest = _compared(case, systems)
    except ConfigError as error:
        return Line("sharing", f"share the cache; {text}; no system ran: {error}.", (command,))
    verdict = _verdict(case, systems[0].title, ratios)
    replayed = [system for system in systems if system.title in ratios]
    case.experiment = _document(case, replayed, case.commands.entries)
    return Line(
        "sharing", "; ".join([verdict, *rest, text]) + ".", (command, *case.commands.experiment())
    )


def _verdict(case: Case, together: str, ratios: dict[str, float]) -> str:
    """Choose between the shared cache and the best division, by their hit ratios."""
    shared = ratios[together]
    best = max((title for title in ratios if title != together), key=lambda title: ratios[title])
    divides = ratios[best] > shared + EQUAL
    case.sharing = best if divides else "share"
    chosen = best if divides else together
    case.rows += [
        Candidate("sharing", title, case.capacity, ratio, chosen=title == chosen)
        for title, ratio in ratios.items()
    ]
    if divides:
        return (
            f"divide by {best}: {percent(ratios[best])} hit, shared under {case.policy} "
            f"{percent(shared)} ({points(ratios[best] - shared)})"
        )
    what = "equal" if ratios[best] >= shared - EQUAL else "the best division"
    return (
        f"share the cache under {case.policy}: {percent(shared)} hit; {what}: {best}, "
        f"{percent(ratios[best])}"
    )


@dataclass(frozen=True)
class _System:
    """One system of the comparison."""

    title: str
    given: dict[str, Any]


def _systems(case: Case) -> list[_System]:
    """Return the shared cache, then all divisions under the advised policy and under LRU."""
    mode = {"writes": case.writes} if case.writes is not None else {}
    shared = {"name": "hierarchy", "label": f"shared {case.policy}", "policy": case.policy}
    found = [_System(shared["label"], shared | mode)]
    for policy in dict.fromkeys((case.policy, "lru")):
        for name in DIVIDING:
            title = f"{name} {policy}"
            given = {"name": name, "label": title, "policy": policy}
            found.append(_System(title, given | mode))
    return found


def _fixed_parts(case: Case) -> tuple[str, str]:
    """Describe what the best fixed parts of an LRU cache would hit."""
    with case.reporter.stage("mix"):
        (row,) = mix_of(case.references, [case.capacity])
    shared, parts = (1 - row[name] / row.accesses for name in ("shared", "parts"))
    case.rows += [
        Candidate("sharing", "shared lru, by curves", case.capacity, shared),
        Candidate("sharing", "best fixed parts of lru", case.capacity, parts),
    ]
    text = f"of lru the best fixed parts hit {percent(parts)}, shared {percent(shared)}"
    return text, case.commands.about("mix", "--sizes", case.commands.size)


def _no_systems(case: Case) -> str:
    """Return why no dividing systems can be replayed; empty if they can."""
    if case.blocks.kind == "objects":
        return "no systems are compared, because objects have no devices"
    if not case.blocks.has_clock:
        return "no systems are compared, because the trace has no clock, and they decide by time"
    if case.duration_ns == 0:
        return "no systems are compared, because all requests have one time"
    if case.duration_ns > _LONGEST_NS:
        years = case.duration_ns / (365.25 * DAY_NS)
        return f"no systems are compared, because requests of {years:.3g} years are too long"
    if _are_apart(case):
        return "no systems are compared, because no two VMs have requests at the same time"
    if case.blocks.ops_kept == "writes":
        return "no systems are compared, because they divide by reads"
    return ""


def _are_apart(case: Case) -> bool:
    """Whether each VM has its last request before the next VM has its first."""
    accesses = case.blocks.accesses
    _, first = np.unique(accesses.request_vm, return_index=True)
    _, last = np.unique(accesses.request_vm[::-1], return_index=True)
    times = accesses.request_time
    spans = sorted(zip(times[first].tolist(), times[::-1][last].tolist(), strict=True))
    return all(end < begin for (_, end), (begin, _) in pairwise(spans))


def _interval(case: Case) -> str:
    """Return the interval, by default a round length of which the trace has 24 or more."""
    if case.interval is not None:
        return case.interval
    duration = case.duration_ns
    fitting = [
        text
        for text, length in zip(_INTERVALS, _INTERVAL_NS, strict=True)
        if length * _PARTS <= duration
    ]
    return fitting[-1] if fitting else f"{max(1, duration // _PARTS)}ns"


def _document(
    case: Case, systems: Sequence[_System], vms: Sequence[Any], rate: float = 1.0
) -> dict[str, Any]:
    """Return the experiment of some systems, with a cache as large as a sample of this rate."""
    spec = case.machine.spec
    tier: dict[str, Any] = {"device": case.machine.tier.name}
    if spec.drive is not None:
        tier["drive"] = format_drive_exactly(spec.drive)
    tier["capacity"] = max(1, round(rate * case.capacity))
    return {
        "name": "advice",
        "description": "Systems that share or divide the cache of an advice.",
        "block_bytes": case.blocks.block_bytes,
        "ops": case.blocks.ops_kept,
        "interval": _interval(case),
        "seed": case.seed,
        "workload": {"vms": list(vms)},
        **({"devices": case.machine.own} if case.machine.own else {}),
        "tiers": [tier],
        "backend": case.machine.backend.name,
        "systems": [system.given for system in systems],
        "opt": False,
        "slowdowns": False,
    }


def _compared(case: Case, systems: Sequence[_System]) -> tuple[dict[str, float], list[str]]:
    """Return the hit ratios of the leaders, the shared cache first, and a note on the others."""
    least = _LEAST_BLOCKS * len(case.references.vms)
    (rate,) = rates_of([case.capacity], case.rate, 1, least)
    if rate == 1:
        return _replay(case, systems, 1.0), []
    estimated = _replay(case, systems, rate)
    divided = sorted(systems[1:], key=lambda each: -estimated[each.title])
    near = [s for s in divided if estimated[s.title] >= max(estimated.values()) - _NEAR]
    chosen = [systems[0], *(near[:_MOST_LEADERS] or divided[:1])]
    left = [system.title for system in divided if system not in chosen]
    case.rows += [
        Candidate("sharing", title, case.capacity, estimated[title], rate=rate) for title in left
    ]
    unsure = [system.title for system in near[_MOST_LEADERS:]]
    note = (
        f"within the sampling error, not replayed in full: {some_of(unsure, _NAMED)}"
        if unsure
        else others(len(left))
    )
    return _replay(case, chosen, 1.0), [note] if left else []


def _replay(case: Case, systems: Sequence[_System], rate: float) -> dict[str, float]:
    """Replay systems, in full or in miniature; return their hit ratios by title."""
    vms = [{"name": name} for name in case.references.vms]
    experiment = Experiment.load(_document(case, systems, vms, rate))
    workload = case.blocks.workload
    if rate < 1:
        workload = replace(workload, sample=rate, sample_seed=case.seeds[0])
    output = RunOutput(Path("advice"))
    prepared = Prepared(workload, case.reporter)
    Stages(experiment, prepared, output, case.reporter, Pool(case.threads)).execute()
    table = output.tables["vms"]
    of_system = np.array(table["system"].to_pylist())
    accesses, misses = (table[name].to_numpy() for name in ("accesses", "misses"))
    ratios = {}
    for system in systems:
        own = of_system == system.title
        ratios[system.title] = 1 - float(misses[own].sum() / accesses[own].sum())
    return ratios


def write_experiment(path: Path, experiment: Mapping[str, Any]) -> None:
    """Write an experiment as YAML; the file appears whole or not at all."""
    from ruamel.yaml import YAML

    with replacing(path) as file:
        yaml = YAML(typ="safe", pure=True)
        yaml.default_flow_style = False
        yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
        yaml.dump(dict(experiment), file)
