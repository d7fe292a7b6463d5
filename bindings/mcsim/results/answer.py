"""Summary of a run: at most six sentences computed from its tables.

Each function computes one sentence:

1. Function `best` names the best system, or the best of each write mode.
2. Function `deployed` computes what deployed caches save, as installed and with other settings.
3. Function `set_apart` names VMs that make most accesses, and hit nearly equally under all systems.
4. Function `changes` names the VMs that gain and lose most.
5. Function `bounds` computes the distance to OPT and to the best fixed division.
6. Function `wear` computes the price and the life of drives.

Percentages of latency are shares of the latency of one baseline, as in the column `latency_gain`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mcsim.base.suggest import some_of
from mcsim.base.units import format_drive_exactly, format_number
from mcsim.results.answer_best import (
    against,
    base_title,
    best,
    equal_best,
    hits_everything,
    in_mode_of_baseline,
    lead,
    measured,
)
from mcsim.results.answer_deployed import deployed
from mcsim.results.counted_time import why_no_rates
from mcsim.results.demands import device_titles
from mcsim.results.models import devices
from mcsim.results.results import Results
from mcsim.results.standings import Standing
from mcsim.results.yardsticks import why_no_opt, yardsticks

_MOST_VMS = 3


def set_apart(results: Results) -> str | None:
    """Return the VMs that make most accesses with hardly different hits, and means with them."""
    standings, best = results.standings, lead(results)
    if not standings.apart or best is None:
        return None
    low, high = (f"{100 * ratio:.1f}" for ratio in standings.hit_range_of_apart())
    hits = f"{high} %" if low == high else f"{low} to {high} %"
    is_one = len(standings.apart) == 1
    who = (
        f"VM {standings.apart[0]} makes"
        if is_one
        else (f"VMs {some_of(standings.apart, _MOST_VMS)} make")
    )
    whole, base = standings.whole[best.system], standings.whole[base_title(results)]
    gap = "" if whole is base else f", {against(whole, base, base.system)}"
    return (
        f"{who} {100 * standings.share_of_apart():.1f} % of the accesses and "
        f"{'hits' if is_one else 'together hit'} {hits} whatever the system; "
        f"with {'it' if is_one else 'them'}, "
        f"`{best.system}` has {measured(whole)}{gap}."
    )


def changes(results: Results) -> str | None:
    """Return the VMs that gain and lose most under the leading system, against the baseline.

    If the baseline leads, they are those of the next system.
    """
    standings, best = results.standings, lead(results)
    base = standings.others[base_title(results)]
    others = [of for of in standings.realisable() if not of.is_equal(base, base)]
    if best is None or base.is_yardstick or not others:
        return None
    next_best = ""
    if best is base:
        same_mode = [of for of in others if of in in_mode_of_baseline(results)]
        best, next_best = (same_mode or others)[0], "the next, " if same_mode else ""
    compared = [
        (of.excess(before, before), vm, of, before)
        for (system, vm), of in standings.by_vm.items()
        if system == best.system and (before := standings.by_vm[base.system, vm]).accesses
    ]
    if len(compared) < 2:
        return None
    is_same_mode = best in in_mode_of_baseline(results)
    mode = "" if is_same_mode else f" ({best.writes} instead of {base.writes})"
    under = f"Under {next_best}`{best.system}`{mode},"
    least, most = (choose(compared, key=lambda each: each[0]) for choose in (min, max))
    gains, loses = _is_seen(least[0], -1), _is_seen(most[0], 1)
    if not gains and not loses:
        return None
    gain = f"VM {least[1]} gains most: {_changed(*least[2:])}" if gains else "no VM gains"
    loss = f"VM {most[1]} loses most: {_changed(*most[2:])}" if loses else "no VM loses"
    return f"{under} against `{base.system}`, {gain}; {loss}."


def _is_seen(excess: float, sign: int) -> bool:
    """Whether an excess of this sign is not shown as 0.0 %."""
    return sign * excess > 0 and f"{abs(100 * excess):.1f}" != "0.0"


def _changed(of: Standing, before: Standing) -> str:
    """Return the change of hits, and of latency if there is one."""
    points = 100 * (of.hit_ratio - before.hit_ratio)
    first, then = f"{100 * before.hit_ratio:.1f}", f"{100 * of.hit_ratio:.1f}"
    is_changed = f"{abs(points):.1f}" != "0.0"
    hits = f"hit ratio {first} % as before"
    if is_changed:
        hits = f"hit ratio {first} to {then} % ({points:+.1f} points)"
    if of.latency_ns is None or not before.latency_ns:
        return hits
    return f"{hits}, latency {against(of, before)}"


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
    >>> from mcsim.results.answer import format_years
    >>> format_years(2849.6), format_years(3.14159), format_years(0.2)
    ('2,850 years', '3.1 years', '73 days')
    """
    if years < 1:
        return f"{365.25 * years:.{0 if years > 0.05 else 2}f} days"
    return f"{years:,.{0 if years >= 99.95 else 1}f} years"


_SENTENCES: Sequence[Callable[[Results], str | None]] = (
    best,
    deployed,
    set_apart,
    changes,
    bounds,
    wear,
)


def rank(results: Results) -> list[str]:
    """Return the titles of the systems, the best first, yardsticks last.

    Best is the least mean latency; without latencies, the highest hit ratio. VMs that are set
    apart do not count.
    """
    return [of.system for of in results.standings.ranked()]


def winners(results: Results) -> set[str]:
    """Return the titles of the best systems of each write mode; none if all are equal."""
    modes = results.standings.by_mode()
    best = {of.system for ranked in modes.values() for of in equal_best(results, ranked)}
    return best if len(best) < sum(map(len, modes.values())) or len(modes) > 1 else set()


def answer(results: Results) -> str:
    """Describe a run in at most six sentences, each on a line."""
    return "\n".join(sentences(results))


def sentences(results: Results) -> list[str]:
    """Compute the sentences; a sentence that does not apply is left out."""
    if lead(results) is None:
        return ["No access was counted."]
    return [sentence for make in _SENTENCES if (sentence := make(results)) is not None]
