"""The line of advice about write modes, and the wear of the drive."""

from __future__ import annotations

import math
from typing import Any

from mcsim.base.units import format_drive, format_latency, format_size, format_span
from mcsim.config.latency import WriteMode
from mcsim.policies.tuning import tune
from mcsim.results.models import DAY_NS, lifetime_years
from mcsim.searches.advice_case import EQUAL_LATENCY, Candidate, Case, Line, percent
from mcsim.tables.result_table import ResultTable

_MOST_POLICIES = 2

_LONG = 100
"""Years from which wear does not matter."""

_ORDER: tuple[WriteMode, ...] = ("through", "around", "back")
"""Write modes, those without dirty blocks first."""


def advise_writes(case: Case) -> Line:
    """Choose the write mode with the least mean latency, and compute the life of the drive."""
    if reason := _no_modes(case):
        return Line("writes", reason)
    rows = _tuned(case)
    own = {row.writes: row for row in rows if row.policy == case.policy}
    case.writes = _chosen(own)
    for row in rows:
        chosen = (row.policy, row.writes) == (case.policy, case.writes)
        choice = f"{row.policy}, {row.writes}"
        case.rows.append(
            Candidate("writes", choice, case.capacity, row.hit_ratio, row.latency_ns, 1.0, chosen)
        )
    has_writes = _has_writes(case)
    parts = _modes(case, own, rows) if has_writes else ["the trace has no writes"]
    parts.append(_wear(case, own[case.writes]))
    if not has_writes:
        case.writes = None
    command = case.commands.tune(",".join(dict.fromkeys(rows.policy.tolist())), case.seed)
    # The first table of a run has years only if the size of the drive is given.
    options = () if case.machine.spec.drive else ("--per-vm",)
    years = case.commands.experiment(*options) if case.years is not None else ()
    return Line("writes", "; ".join(parts) + ".", (command, *years))


def _has_writes(case: Case) -> bool:
    return bool(case.blocks.accesses.request_op.any())


def _no_modes(case: Case) -> str:
    """Return why there is nothing to compare; empty if there is."""
    if case.blocks.kind == "objects":
        return "an object trace: devices read and write blocks, so there are no write modes."
    if case.blocks.ops_kept != "all":
        return f"not compared, because {case.blocks.ops_kept} alone are replayed; ops all has both."
    return ""


def _tuned(case: Case) -> ResultTable:
    """Replay the leading policies in full, under every write mode."""
    policies = case.leaders[:_MOST_POLICIES]
    block = case.blocks.block_bytes
    modes = _ORDER if _has_writes(case) else _ORDER[:1]
    total = len(modes) * len(policies)
    with case.reporter.stage("tune", total, "caches") as stage:
        return tune(
            case.blocks,
            case.capacity,
            policies=policies,
            block_bytes=[block],
            writes=modes,
            objective="latency",
            tier=case.machine.tier.name,
            backend=case.machine.backend.name,
            devices=case.machine.own,
            seed=case.seed,
            threads=case.threads,
            memory=case.memory,
            progress=stage.update,
        )


def _chosen(own: dict[str, Any]) -> WriteMode:
    """Return the mode with the least latency; the one without dirty blocks if they are equal."""
    least = min(row.latency_ns for row in own.values())
    modes = [mode for mode in _ORDER if mode in own]
    return next(mode for mode in modes if own[mode].latency_ns <= least * (1 + EQUAL_LATENCY))


def _modes(case: Case, own: dict[str, Any], rows: ResultTable) -> list[str]:
    assert case.writes is not None
    best = own[case.writes]
    others = sorted((own[mode] for mode in _ORDER if mode != case.writes), key=_latency)
    compared = ", ".join(f"{row.writes} {format_latency(row.latency_ns)}" for row in others)
    parts = [
        f"{case.writes} under {case.policy}: mean latency {format_latency(best.latency_ns)} "
        f"({compared})"
    ]
    if not case.blocks.accesses.request_op.all():
        parts.append(f"{percent(best.hit_ratio)} of reads hit")
    equal = [
        row.writes for row in others if row.latency_ns <= best.latency_ns * (1 + EQUAL_LATENCY)
    ]
    if equal:
        parts.append(f"equal within 1 %: {', '.join(equal)}")
    if case.writes == "back":
        parts.append("blocks that are not yet written back are lost with the drive")
    quickest = min(rows, key=_latency)
    if quickest.latency_ns < best.latency_ns * (1 - EQUAL_LATENCY):
        parts.append(
            f"{quickest.policy} hits less but serves faster, {quickest.writes}: "
            f"{format_latency(quickest.latency_ns)}"
        )
    return parts


def _latency(row: Any) -> float:
    return float(row.latency_ns)


def _wear(case: Case, row: Any) -> str:
    """Describe what is written to the drive, and how long it lasts."""
    written = f"{format_size(row.device_writes)} written to {case.machine.tier.name}"
    duration = case.duration_ns
    if not case.blocks.has_clock:
        return f"{written}; no years of wear, because the trace has no clock"
    if duration == 0:
        return f"{written}; no years of wear, because all requests have one time"
    a_day = row.device_writes * DAY_NS / duration
    spec = case.machine.spec
    days = f"in {format_span(duration)}"
    if spec.pe_cycles is None:
        return f"{written} {days}; {case.machine.tier.name} does not wear (has no pe_cycles)"
    size = case.capacity * case.blocks.block_bytes
    drive = spec.drive or size
    case.years = lifetime_years(drive, spec.pe_cycles, a_day, spec.write_amplification or 1)
    if spec.drive is None:
        of = f"a drive of the cache's size, {format_size(drive)},"
    else:
        of = f"a drive of {format_drive(drive)}"
    lasts = f"{written} {days}: {of} lasts {_years(case.years)}"
    if spec.drive and spec.drive < size:
        return f"{lasts}, but it is smaller than the cache"
    return lasts


def _years(years: float) -> str:
    if math.isinf(years) or years >= _LONG:
        return "over 100 years, so wear does not matter"
    return f"{_number(years)} years"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
