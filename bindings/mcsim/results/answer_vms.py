"""Sentences of a summary about VMs: those set apart, and those that gain and lose most."""

from __future__ import annotations

from mcsim.base.suggest import some_of
from mcsim.results.answer_best import against, base_title, in_mode_of_baseline, lead, measured
from mcsim.results.results import Results
from mcsim.results.standings import Standing

_MOST_VMS = 3


def set_apart(results: Results) -> str | None:
    """Return the VMs whose hits hardly differ and that make most accesses, and means with them."""
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
