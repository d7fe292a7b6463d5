"""Compute verdicts: compare each measured number with the published one, and list the claims.

Numbers:

- *equal*: within 10 % of the published number. A published zero has an absolute tolerance.
- *same direction*: the same sign, with the ratio of the sizes. The sign of a gain is its direction.
  A plain quantity has one sign only, so its ratio is the verdict.
- *opposite*: the other sign, or no effect at all.
- *within the bound* or *outside the bound*, with the ratio to the bound.

Claims without a number, and published words: *holds* or *does not hold*. Without a measurement the
verdict is *cannot be checked*, with the reason. A row states whether the workload or the model was
built to produce the result (*by construction*). Recorded traces clear that mark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isnan

from mcsim.reproduce.catalogue import Found, Value
from mcsim.reproduce.published import Published, shown

_EQUAL = 0.1
"""Relative difference up to which two numbers are equal."""

NO_VALUE = "the run has no such value"
"""The reason where a number lacks both a value and a declared reason."""


class Verdict(StrEnum):
    """The class of a row."""

    EQUAL = "equal"
    SAME_DIRECTION = "same direction"
    OPPOSITE = "opposite"
    WITHIN = "within the bound"
    OUTSIDE = "outside the bound"
    HOLDS = "holds"
    FAILS = "does not hold"
    UNCHECKED = "cannot be checked"

    @property
    def is_failure(self) -> bool:
        """Whether the result contradicts the document."""
        return self in (Verdict.OPPOSITE, Verdict.OUTSIDE, Verdict.FAILS)


@dataclass(frozen=True)
class Row:
    """A published number or a claim, with its measurement.

    Attributes
    ----------
    item : str
        Description.
    published, measured : str
        Formatted values. For a claim `published` is empty, and `measured` has the numbers.
    verdict : Verdict
    ratio : float, optional
        Measured over published, or over the bound. None without two numbers, or for a zero.
    why : str
        Why it cannot be checked. Otherwise empty.
    construction : str
        How the workload or the model was built to produce the result. Empty if it was not.
    """

    item: str
    published: str
    measured: str
    verdict: Verdict
    ratio: float | None = None
    why: str = ""
    construction: str = ""

    @property
    def by_construction(self) -> bool:
        """Whether the workload or the model was built to produce the result."""
        return bool(self.construction)

    @property
    def times(self) -> str:
        """The size of the ratio, in two digits or more."""
        if self.ratio is None:
            return ""
        size = abs(self.ratio)
        return f"{size:.2g}" if size < 10 else f"{size:,.0f}"

    @property
    def described(self) -> str:
        """The verdict in words: class, ratio or reason, and whether it is by construction."""
        text = str(self.verdict)
        if self.verdict is Verdict.UNCHECKED:
            text = f"{text} because {self.why}"
        elif self.ratio is not None and self.verdict is not Verdict.EQUAL:
            is_bound = self.verdict in (Verdict.WITHIN, Verdict.OUTSIDE)
            text = f"{text}, {self.times} times {'the bound' if is_bound else 'as large'}"
        return f"{text}; by construction: {self.construction}" if self.construction else text


def judged(found: Found, published: Sequence[Published]) -> list[Row]:
    """Return a row for every published number of a figure, then one for every claim.

    A number has a row for each variant that was measured.
    """
    rows = [row for entry in published for row in _judge_entry(entry, found)]
    for check in found.checks:
        how = "" if found.recorded else check.construction
        if check.holds is None:
            rows.append(Row(check.claim, "", "", Verdict.UNCHECKED, why=check.detail))
        else:
            verdict = Verdict.HOLDS if check.holds else Verdict.FAILS
            rows.append(Row(check.claim, "", check.detail, verdict, construction=how))
    return rows


def counts(rows: Iterable[Row]) -> str:
    """Count rows by verdict, such as ``"3 equal (2 by construction), 1 does not hold"``."""
    return ", ".join(_counted(list(rows))) or "nothing to check"


def _counted(rows: Sequence[Row]) -> Iterator[str]:
    for verdict in Verdict:
        own = [row for row in rows if row.verdict is verdict]
        built = sum(row.by_construction for row in own)
        if own:
            yield f"{len(own)} {verdict}" + (f" ({built} by construction)" if built else "")


def _judge_entry(entry: Published, found: Found) -> Iterator[Row]:
    item, measured = entry.text or entry.item, found.values.get(entry.item)
    if isinstance(measured, Mapping):
        for variant, value in measured.items():
            yield _judge_number(f"{item}: {variant}", entry, value, found)
    else:
        yield _judge_number(item, entry, measured, found)


def _judge_number(item: str, entry: Published, value: Value | None, found: Found) -> Row:
    if isinstance(value, str) and (not isinstance(entry.value, str) or entry.kind == "bound"):
        return Row(item, entry.printed, "", Verdict.UNCHECKED, why=value)
    if value is None or (isinstance(value, float) and isnan(value)):
        why = entry.unmeasured or NO_VALUE
        return Row(item, entry.printed, "", Verdict.UNCHECKED, why=why)
    verdict, ratio = _verdict(entry, value)
    how = "" if found.recorded else entry.construction
    return Row(
        item, entry.printed, shown(value, entry.unit), verdict, ratio=ratio, construction=how
    )


def _verdict(entry: Published, value: float | str) -> tuple[Verdict, float | None]:
    if isinstance(value, str):
        return (Verdict.EQUAL if value == entry.value else Verdict.FAILS), None
    if entry.kind == "bound":
        which, bound = entry.bound()
        kept = value <= bound if which == "<=" else value >= bound
        return (Verdict.WITHIN if kept else Verdict.OUTSIDE), value / bound if bound else None
    if isinstance(entry.value, str):
        return Verdict.FAILS, None
    if entry.value == 0:
        return (Verdict.EQUAL if abs(value) <= entry.within else Verdict.FAILS), None
    ratio = value / entry.value
    # Rounding of decimal fractions may exceed the limit by a few units in the last place.
    if abs(ratio - 1) <= _EQUAL * (1 + 1e-9):
        return Verdict.EQUAL, ratio
    return (Verdict.SAME_DIRECTION if ratio > 0 else Verdict.OPPOSITE), ratio
