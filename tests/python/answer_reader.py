"""Reads each sentence of an answer from its first word to its last, and recomputes its numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from plain_run import BYTES, EQUAL, NS, Count, PlainRun, quantity

GAP = (
    r"(?:equal to (?:`(?P<same>[^`]+)`|it)"
    r"|(?P<gap>[\d.]+) (?P<unit>%|points) (?P<side>above|below))"
)
LIFE = (
    r"lasts (?P<life>[\d.,]+) (?P<unit>years|days)(?P<fine>: wear does not matter)?"
    r"|is never written"
)
RULE = r"\(less than 0\.05 (?P<of>% of latency|points) apart\)"


class Reader:
    """A text that is taken piece by piece."""

    def __init__(self, text: str, run: PlainRun) -> None:
        self.text, self.run, self.at = text, run, 0
        self.apart = run.apart()
        self.base = run.base

    def take(self, pattern: str) -> re.Match[str] | None:
        found = re.compile(pattern).match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    def need(self, pattern: str) -> re.Match[str]:
        found = self.take(pattern)
        assert found is not None, f"no {pattern!r} at {self.text[self.at :]!r} of {self.text!r}"
        return found

    def of(self, title: str, *, everything: bool = False) -> Count:
        return self.run.whole(title, frozenset() if everything else self.apart)

    def measured(self, count: Count, *, brief: bool = False) -> None:
        """Read a mean latency and a hit ratio."""
        before, after = ("", " hits") if brief else ("mean latency ", "")
        latency = self.take(rf"{before}([\d.]+ (?:ns|us|ms|s)), (?=hit|\d)")
        assert (latency is None) == (count.latency is None)
        if latency is not None and count.latency is not None:
            assert abs(quantity(latency[1], NS) - count.latency) <= 0.0051 * count.latency
        ratio = self.need(rf"{'' if brief else 'hit ratio '}([\d.]+) %{after}")
        near(ratio[1], 100 * count.ratio)

    def gap(self, count: Count, base: Count) -> None:
        """Read the distance to the baseline."""
        found, percent = self.need(GAP), 100 * count.over(base, base)
        if found["gap"] is None:
            assert abs(percent) <= 0.0501
            return
        near(found["gap"], abs(percent))
        is_above = percent > 0 if found["unit"] == "%" else percent < 0
        assert found["side"] == ("above" if is_above else "below")
        assert (found["unit"] == "%") == (bool(base.latency) and count.latency is not None)

    def names(self) -> list[str]:
        """Read systems: a, b and c; ends with None if there are others."""
        found = [self.need(r"`([^`]+)`")[1]]
        while (more := self.take(r"(?:, | and )`([^`]+)`")) is not None:
            found.append(more[1])
        if (others := self.take(r" and (\d+) more")) is not None:
            found += [""] * int(others[1])
        return found

    def equals(self, titles: list[str]) -> list[str]:
        """The systems that are equal to the best of some."""
        best = min((self.of(title) for title in titles), key=lambda of: of.loss)
        base = self.of(self.base)
        return [title for title in titles if abs(self.of(title).over(best, base)) < EQUAL]

    def is_best(self, names: list[str], titles: list[str]) -> None:
        equal = self.equals(titles)
        assert len(names) == len(equal)
        assert {name for name in names if name} <= set(equal)

    def where(self) -> None:
        """Read the VMs that are set apart, if there are any."""
        if self.apart:
            self.need(re.escape(f" without {self.named()}"))

    def named(self) -> str:
        """The VMs that are set apart, that with most accesses first."""
        accesses = {vm: of.accesses for vm, of in self.run.counts[self.base].items()}
        names = sorted(self.apart, key=lambda vm: -accesses[vm])
        more = f" and {len(names) - 3} more" if names[3:] else ""
        return f"VM{'s' if names[1:] else ''} {', '.join(names[:3])}{more}"

    def leaders(self, titles: list[str] | None = None) -> list[str]:
        """The systems that the answer may be about: the best in the mode of the baseline."""
        titles = (self.run.realisable or self.run.titles) if titles is None else titles
        same = [title for title in titles if self.run.mode(title) == self.run.mode(self.base)]
        is_alone = (self.run.realisable != titles and same) or len(same) > 1
        return self.equals(same if is_alone else titles)


def near(text: str, value: float) -> None:
    """A number of the text is a value, rounded to its digits."""
    digits = len(text.partition(".")[2])
    assert abs(float(text.replace(",", "")) - value) <= 0.5001 * 10**-digits, (text, value)


def check(sentences: list[str], run: PlainRun) -> set[str]:
    """Read all sentences; return the kinds that there were."""
    assert 1 <= len(sentences) <= 5
    kinds = [_kind(sentence) for sentence in sentences]
    order = ["best", "apart", "changes", "bounds", "wear"]
    assert sorted(set(kinds), key=order.index) == kinds
    assert ("apart" in kinds) == bool(run.apart())
    readers = {
        "best": _best,
        "apart": _apart,
        "changes": _changes,
        "bounds": _bounds,
        "wear": _wear,
    }
    for kind, sentence in zip(kinds, sentences, strict=True):
        reader = Reader(sentence, run)
        readers[kind](reader)
        assert reader.at == len(sentence), f"not read: {sentence[reader.at :]!r} of {sentence!r}"
    return set(kinds)


def _kind(sentence: str) -> str:
    if re.match(r"VMs? .* of the accesses and", sentence):
        return "apart"
    if re.match(r"Under (?:the next, )?`[^`]+`(?: \(.*?\))?, against", sentence):
        return "changes"
    if re.match(r"Under `[^`]+`, the drive|How long drives|The drive of", sentence):
        return "wear"
    return "bounds" if re.match("OPT|The best fixed", sentence) else "best"


def _best(text: Reader) -> None:
    run, base = text.run, text.of(text.base)
    modes: dict[str | None, list[str]] = {}
    for title in run.realisable:
        modes.setdefault(run.mode(title), []).append(title)
    if text.take("No access was counted"):
        assert not any(text.of(title, everything=True).accesses for title in run.titles)
    elif len(run.realisable) < 2:
        text.need(r"`([^`]+)`(?: is a yardstick)?: ")
        text.measured(base)
    elif text.take("Best per write mode"):
        assert len(modes) > 1
        _modes(text, modes)
    else:
        assert len(modes) == 1
        _one_mode(text, base)
    text.need(r"\.")


def _one_mode(text: Reader, base: Count) -> None:
    run, titles = text.run, text.run.realisable
    equal = text.equals(titles)
    if text.take("There is nothing to hit"):
        assert not any(text.of(title).hits for title in titles)
        _latencies(text, equal)
        return
    if text.take("All systems hit all there is to hit: "):
        assert run.hits_everything()
        near(text.need(r"hit ratio ([\d.]+) %")[1], 100 * text.of(equal[0]).ratio)
        _latencies(text, equal)
        return
    assert not run.hits_everything()
    if (every := text.take(r"All (\d+) systems are equal")) is not None:
        assert int(every[1]) == len(titles) == len(equal)
        text.where()
        text.need(" " + RULE + ": ")
        text.measured(text.of(equal[0]))
        return
    names = text.names()
    text.is_best(names, titles)
    if len(names) == len(titles):
        text.need(" are equal")
        text.where()
        text.need(" " + RULE + ": ")
        text.measured(text.of(names[0]))
        return
    if len(names) > 1:
        text.need(" are equal " + RULE + " and best")
    else:
        text.need(" is best")
    text.where()
    text.need(": ")
    text.measured(text.of(names[0]))
    if text.base not in equal:
        text.need(", ")
        text.gap(text.of(names[0]), base)
        text.need(f" `{text.base}`")
    others = [title for title in titles if title not in equal]
    following = min(text.of(title).loss for title in others)
    if (then := text.take("; next is `([^`]+)`, ")) is not None:
        assert text.of(then[1]).loss == following
        text.gap(text.of(then[1]), base)
    else:
        assert base.loss == following


def _latencies(text: Reader, equal: list[str]) -> None:
    """Read which systems have the lowest latency."""
    titles = text.run.realisable
    if text.take(", and all have the same latency, "):
        assert len(equal) == len(titles)
        _latency(text, text.of(equal[0]))
        text.need(" " + RULE)
    elif text.take("; "):
        text.is_best(text.names(), titles)
        text.need(" ha(?:s|ve) the lowest latency, ")
        _latency(text, text.of(equal[0]))
        if text.take(", "):
            text.gap(text.of(equal[0]), text.of(text.base))
            text.need(f" `{text.base}`")
    else:
        assert text.of(equal[0]).latency is None


def _latency(text: Reader, of: Count) -> None:
    assert of.latency is not None
    shown = quantity(text.need(r"[\d.]+ (?:ns|us|ms|s)")[0], NS)
    assert abs(shown - of.latency) <= 0.0051 * of.latency


def _modes(text: Reader, modes: dict[str | None, list[str]]) -> None:
    run, base = text.run, text.of(text.base)
    text.where()
    text.need(f", against `{text.base}`")
    separator, seen = ": ", []
    while (mode := text.take(separator + r"([a-z ]+): (?=`)")) is not None:
        titles, separator = modes[mode[1]], "; "
        seen.append(mode[1])
        names = text.names()
        text.is_best(names, titles)
        text.need(r" \(")
        text.measured(text.of(names[0]), brief=True)
        if text.take(r", (?=[\d.]+ (?:%|points) |equal)"):
            text.gap(text.of(names[0]), base)
        else:
            assert text.base in text.equals(titles)
        assert (text.take(", the only one") is not None) == (len(titles) == 1)
        text.need(r"\)")
    assert seen[0] == run.mode(text.base)
    left = text.take(r"; (\d+) more modes?")
    assert len(seen) + (int(left[1]) if left else 0) == len(modes)
    if text.take("; no system runs in two modes, so part of the gaps may be the mode's"):
        assert not _pairs(run)
        return
    pairs = sorted(_pairs(run), key=lambda pair: text.base not in pair)[0]
    known = [title for title in pairs if run.mode(title) == run.mode(text.base)]
    ordered = sorted(pairs, key=lambda title: text.of(title).loss)
    first = known[0] if known else ordered[-1]
    second = next(title for title in ordered if title != first)
    fast, slow = sorted((first, second), key=lambda title: text.of(title).loss)
    worth = text.need(r"; the mode alone is worth ([\d.]+) (%|points) ")[1]
    near(worth, 100 * text.of(slow).over(text.of(fast), base))
    text.need(re.escape(f"(`{fast}` instead of `{slow}`)"))


def _pairs(run: PlainRun) -> list[list[str]]:
    """Systems that differ in their write mode alone."""
    found: dict[str, list[str]] = {}
    for title, of in zip(run.titles, run.spec["systems"], strict=True):
        if title in run.realisable:
            key = {name: of[name] for name in sorted(of) if name not in ("writes", "label")}
            same = found.setdefault(repr(key), [])
            if run.mode(title) not in map(run.mode, same):
                same.append(title)
    return [pair for pair in found.values() if len(pair) > 1]


def _apart(text: Reader) -> None:
    run, apart = text.run, text.apart
    text.need(re.escape(text.named()) + " makes? ")
    first = run.counts[text.base]
    share = sum(first[vm].accesses for vm in apart) / text.of(text.base, everything=True).accesses
    near(text.need(r"([\d.]+) % of the accesses and (?:together hit|hits) ")[1], 100 * share)
    ratios = []
    for title in run.realisable:
        own = [run.counts[title][vm] for vm in apart]
        ratios.append(sum(of.hits for of in own) / sum(of.accesses for of in own))
    pattern = r"(?:([\d.]+) to )?([\d.]+) % whatever the system; "
    low, high = text.need(pattern).groups()
    near(high, 100 * max(ratios))
    near(low or high, 100 * min(ratios))
    title = text.need("with (?:it|them), `([^`]+)` has ")[1]
    assert title in text.leaders()
    of, base = (text.of(name, everything=True) for name in (title, text.base))
    text.measured(of)
    if title != text.base:
        text.need(", ")
        text.gap(of, base)
        text.take(f" `{text.base}`")
    text.need(r"\.")


def _changes(text: Reader) -> None:
    run = text.run
    following, title = text.need("Under (the next, )?`([^`]+)`").groups()
    unit = text.of(text.base)
    others = [title for title in run.realisable if abs(text.of(title).over(unit, unit)) >= EQUAL]
    is_led = text.base in text.leaders()
    is_same_mode = run.mode(title) == run.mode(text.base)
    assert (is_led and is_same_mode) == (following is not None)
    assert title in (text.leaders(others) if is_led else text.leaders())
    assert title != text.base
    if (mode := text.take(r" \(([a-z ]+) instead of ([a-z ]+)\)")) is not None:
        assert (mode[1], mode[2]) == (run.mode(title), run.mode(text.base))
    else:
        assert run.mode(title) == run.mode(text.base)
    own, before = run.counts[title], run.counts[text.base]
    over = {vm: own[vm].over(of, of) for vm, of in before.items() if of.accesses}
    text.need(f", against `{text.base}`, ")
    for verb, extreme in (("gains", min(over.values())), ("loses", max(over.values()))):
        if text.take(f"no VM {verb}"):
            assert extreme * (-1 if verb == "gains" else 1) <= 0.000501
        else:
            vm = text.need(rf"VM (.+?) {verb} most: ")[1]
            assert abs(over[vm] - extreme) < 1e-9
            assert (extreme < 0) == (verb == "gains")
            _changed(text, own[vm], before[vm])
        if verb == "gains":
            text.need("; ")
    text.need(r"\.")


def _changed(text: Reader, of: Count, before: Count) -> None:
    if (same := text.take(r"hit ratio ([\d.]+) % as before")) is not None:
        near(same[1], 100 * before.ratio)
        assert abs(100 * (of.ratio - before.ratio)) <= 0.0501
        _gap_of_latency(text, of, before)
        return
    hits = text.need(r"hit ratio ([\d.]+) to ([\d.]+) % \(([+-])([\d.]+) points\)")
    near(hits[1], 100 * before.ratio)
    near(hits[2], 100 * of.ratio)
    near(f"{hits[3]}{hits[4]}", 100 * (of.ratio - before.ratio))
    _gap_of_latency(text, of, before)


def _gap_of_latency(text: Reader, of: Count, before: Count) -> None:
    if of.latency is not None and before.latency:
        text.need(", latency ")
        text.gap(of, before)


def _bounds(text: Reader) -> None:
    run = text.run
    if text.take("OPT was not computed: `--set opt=true` adds it"):
        assert not run.opt
    elif (
        opt := text.take(r"OPT hits ([\d.]+) %; `([^`]+)` has ([\d.]+) % of its hits")
    ) is not None:
        title = opt[2]
        assert title in text.leaders()
        near(opt[1], 100 * run.opt[title] / text.of(title, everything=True).accesses)
        near(opt[3], 100 * run.hits_of_tiers(title) / run.opt[title])
    text.take("; ")
    division = text.take(r"[Tt]he best fixed division \(`([^`]+)`\)(?:, written ([a-z ]+),)? hits ")
    names = [of["name"] for of in run.spec["systems"]]
    if division is not None:
        assert run.titles[names.index("hindsight")] == division[1]
        assert division[2] in (None, run.mode(division[1]))
        bound = text.of(division[1], everything=True).ratio
        gaps = {text.of(title, everything=True).ratio - bound for title in text.leaders()}
        found = text.need(r"as much|([\d.]+) points (less|more)")
        shown = float(found[1] or 0) * (-1 if found[2] == "more" else 1)
        assert any(abs(100 * gap - shown) <= 0.0501 for gap in gaps)
    text.need(r"\.")


def _drive(text: Reader, tier: Mapping[str, Any]) -> None:
    """The name of a drive, its size and its price."""
    shown = text.need(r"[^`;]+? \(([\d.]+[KMGT]?i?B)(?:, (<?[\d.,]+) dollars)?\) ")
    size = quantity(tier["drive"], BYTES)
    assert quantity(shown[1], BYTES) == size
    assert (tier.get("price") is None) == (shown[2] is None)
    if shown[2] is not None:
        dollars = tier["price"] * size / 1e9
        if shown[2] == "<0.001":
            assert 0 < dollars < 0.001
        else:
            near(shown[2], dollars)


def _wear(text: Reader) -> None:
    run = text.run
    if text.take("The drive of "):
        tiers = [of for of in run.spec["tiers"] if of.get("drive") and of.get("price")]
        for number, tier in enumerate(tiers):
            if number:
                text.need("; the drive of ")
            assert tier.get("pe_cycles") is None
            _drive(text, tier)
            text.need("does not wear")
        text.need(r"\.")
        return
    if text.take("How long drives last is unknown: "):
        assert run.environment.get("counted_ns") is None or "references" in run.spec["interval"]
        text.need(r".+\.")
        return
    drives = [k for k, tier in enumerate(run.spec["tiers"]) if tier.get("drive")]
    for tier in drives:
        title = text.need("(?:; )?Under `([^`]+)`, the drive of ")[1]
        _drive(text, run.spec["tiers"][tier])
        assert title in text.leaders()
        life, years = text.need(LIFE), run.years(title, tier)
        if life["life"] is None:
            assert years == float("inf")
        else:
            near(life["life"], years * (365.25 if life["unit"] == "days" else 1))
            assert (years >= 20) == (life["fine"] is not None)
        lives = {each: run.years(each, tier) for each in run.realisable}
        if (other := text.take(r" \(shortest: ([\d.,]+) (years|days), `([^`]+)`\)")) is not None:
            assert lives[other[3]] == min(lives.values()) < 20
            near(other[1], lives[other[3]] * (365.25 if other[2] == "days" else 1))
    text.need(r"\.")
