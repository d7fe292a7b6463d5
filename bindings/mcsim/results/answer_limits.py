"""Sentences of a summary about limits: OPT, the best fixed division, and the wear of drives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcsim.base.units import format_drive_exactly, format_number
from mcsim.results.answer_best import hits_everything, lead
from mcsim.results.counted_time import why_no_rates
from mcsim.results.demands import device_titles
from mcsim.results.models import devices
from mcsim.results.opt import why_no_opt
from mcsim.results.results import Results
from mcsim.results.yardsticks import yardsticks

LONG_LIFE = 20
"""Years after which wear does not matter."""


def bounds(results: Results) -> str | None:
    """Return the distance of the leading system to OPT and to the best fixed division."""
    best = lead(results)
    if best is None or hits_everything(results):
        return None
    row = next(r for r in yardsticks(results).to_pylist() if r["system"] == best.system)
    parts = [_opt(results, best.system, row), _division(results, best.system, best.writes, row)]
    found = "; ".join(filter(None, parts))
    return f"{found[0].upper()}{found[1:]}." if found else None


def _opt(results: Results, title: str, row: Mapping[str, Any]) -> str | None:
    known = dict(zip(*results.table("bounds").to_pydict().values(), strict=True))
    if row["share_of_opt"] is None:
        is_missing = not known and results.spec.opt is None
        return why_no_opt(results) if is_missing else None
    ratio = 100 * known[title] / results.standings.whole[title].accesses
    return f"OPT hits {ratio:.1f} %; `{title}` has {100 * row['share_of_opt']:.1f} % of its hits"


def _division(
    results: Results, title: str, writes: str | None, row: Mapping[str, Any]
) -> str | None:
    """Return the points to the best fixed division, if it is in the run."""
    system = next((of.title for of in results.spec.systems if of.name == "hindsight"), None)
    over = row.get("over_hindsight")
    if system is None or system == title or over is None:
        return None
    mode = results.standings.whole[system].writes
    of_mode = "" if mode == writes else f", written {mode},"
    if f"{abs(100 * over):.1f}" == "0.0":
        return f"the best fixed division (`{system}`){of_mode} hits as much"
    side = "less" if over > 0 else "more"
    return f"the best fixed division (`{system}`){of_mode} hits {abs(100 * over):.1f} points {side}"


def wear(results: Results) -> str | None:
    """Return the prices of drives, and how long they last, if their sizes are given."""
    tiers = results.spec.tiers
    drives = [k for k, tier in enumerate(tiers) if tier.drive and tier.pe_cycles is not None]
    best = lead(results)
    if best is None or results.kind == "objects":
        return None
    if not drives:
        return _prices(results)
    if (why := why_no_rates(results)) is not None:
        return f"How long drives last is unknown: {why}."
    lives: dict[int, dict[str, float]] = {}
    for row in devices(results).to_pylist():
        if row["tier"] in drives and row["lifetime_years"] is not None:
            lives.setdefault(row["tier"], {})[row["system"]] = row["lifetime_years"]
    parts = [
        _life(_drive(results, tier), best.system, of, results.foresight)
        for tier, of in lives.items()
        if best.system in of
    ]
    return f"{'; '.join(parts)}." if parts else None


def _prices(results: Results) -> str | None:
    """Return the prices of drives that do not wear."""
    priced = [k for k, tier in enumerate(results.spec.tiers) if tier.drive and tier.price]
    found = "; ".join(f"{_drive(results, k)} does not wear" for k in priced)
    return f"{found[0].upper()}{found[1:]}." if found else None


def _drive(results: Results, tier: int) -> str:
    """Return the name of a tier's drive, with its size and its price, if it has one."""
    placed = results.spec.tiers[tier]
    size = placed.drive or 0
    dollars = placed.dollars(0, 1)
    amount = f"{dollars:,.0f}" if dollars >= 100 else format_number(dollars)
    price = "" if placed.price is None else f", {amount} dollars"
    return f"the drive of {device_titles(results.spec)[tier]} ({format_drive_exactly(size)}{price})"


def _life(drive: str, title: str, lives: Mapping[str, float], foresight: Mapping[str, str]) -> str:
    years = lives[title]
    realisable = [name for name in lives if name not in foresight]
    shortest = min(realisable, key=lives.__getitem__, default=title)
    if years == float("inf"):
        text = f"Under `{title}`, {drive} is never written"
    else:
        matters = "" if years < LONG_LIFE else ": wear does not matter"
        text = f"Under `{title}`, {drive} lasts {format_years(years)}{matters}"
    if lives[shortest] < min(years, LONG_LIFE) and format_years(lives[shortest]) != format_years(
        years
    ):
        text += f" (shortest: {format_years(lives[shortest])}, `{shortest}`)"
    return text


def format_years(years: float) -> str:
    """Return a life in words.

    Examples
    --------
    >>> from mcsim.results.answer_limits import format_years
    >>> format_years(2849.6), format_years(3.14159), format_years(0.2)
    ('2,850 years', '3.1 years', '73 days')
    """
    if years < 1:
        return f"{365.25 * years:.{0 if years > 0.05 else 2}f} days"
    return f"{years:,.{0 if years >= 99.95 else 1}f} years"
