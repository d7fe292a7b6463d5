"""What is to be said of each published number and claim: computed, never written by hand.

- *equal*: what was measured is what is printed, as precisely as it is printed;
- *shape holds*: it is not, but every claim about the figure's shape holds; or a bound is kept, or a
  sign is the printed one;
- *shape fails*: a claim does not hold, a bound is broken, a sign is the other;
- *cannot be checked here*: nothing was measured, or nobody claims anything of the shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isnan

from mcsim.reproduce.figure import Found
from mcsim.reproduce.published import Published, shown

__all__ = ["Row", "Verdict", "judged", "summary"]

ABOUT = 0.1
"""What is "about" a number is within a tenth of it."""


class Verdict(StrEnum):
    """How a measured number stands to the published one, or a claim to what was found."""

    EQUAL = "equal"
    HOLDS = "shape holds"
    FAILS = "shape fails"
    UNCHECKED = "cannot be checked here"


@dataclass(frozen=True)
class Row:
    """A published number or a claim, beside what was found.

    Attributes
    ----------
    item : str
        What it is, in words.
    published, measured : str
        As they are shown; of a claim `published` is empty and `measured` has the numbers.
    verdict : Verdict
    why : str
        Why it cannot be checked; otherwise empty.
    """

    item: str
    published: str
    measured: str
    verdict: Verdict
    why: str = ""


def judged(found: Found, published: Sequence[Published]) -> list[Row]:
    """Judge every published number of a figure, then every claim about it."""
    shape = _shape_of(found)
    rows = [_judge_number(entry, found, shape) for entry in published]
    for check in found.checks:
        if check.holds is None:
            rows.append(Row(check.claim, "", "", Verdict.UNCHECKED, check.detail))
        else:
            verdict = Verdict.HOLDS if check.holds else Verdict.FAILS
            rows.append(Row(check.claim, "", check.detail, verdict))
    return rows


def summary(rows: Sequence[Row]) -> Verdict:
    """Return what is to be said of a whole figure: that it fails if anything of it does.

    It is equal if every published number is, and no claim fails.
    """
    said = {row.verdict for row in rows}
    if Verdict.FAILS in said:
        return Verdict.FAILS
    if said <= {Verdict.UNCHECKED}:
        return Verdict.UNCHECKED
    numbers = {row.verdict for row in rows if row.published}
    return Verdict.EQUAL if numbers == {Verdict.EQUAL} else Verdict.HOLDS


def _shape_of(found: Found) -> tuple[Verdict, str]:
    """Return the verdict of all claims of a figure together, and why there is none."""
    holding = [check.holds for check in found.checks if check.holds is not None]
    if holding:
        return (Verdict.HOLDS if all(holding) else Verdict.FAILS), ""
    if found.checks:
        return Verdict.UNCHECKED, found.checks[0].detail
    return Verdict.UNCHECKED, "another number, and nothing is claimed of the shape"


def _judge_number(entry: Published, found: Found, shape: tuple[Verdict, str]) -> Row:
    item = entry.text or entry.item
    value = found.values.get(entry.item)
    if value is None or (isinstance(value, float) and isnan(value)):
        return Row(item, entry.printed, "", Verdict.UNCHECKED, "nothing here measures it")
    verdict, why = _verdict(entry, value, shape)
    return Row(item, entry.printed, shown(value, entry.unit), verdict, why)


def _verdict(
    entry: Published, value: float | str, shape: tuple[Verdict, str]
) -> tuple[Verdict, str]:
    if isinstance(value, str):
        if not isinstance(entry.value, str) or entry.kind == "bound":
            return Verdict.UNCHECKED, value
        return (Verdict.EQUAL, "") if value == entry.value else (Verdict.FAILS, "")
    if entry.kind == "bound":
        which, bound = entry.bound()
        kept = value <= bound if which == "<=" else value >= bound
        return (Verdict.HOLDS if kept else Verdict.FAILS), ""
    if isinstance(entry.value, str):
        return Verdict.FAILS, ""
    if entry.kind == "sign":
        alike = (value > 0) == (entry.value > 0) and (value < 0) == (entry.value < 0)
        return (Verdict.HOLDS if alike else Verdict.FAILS), ""
    apart = abs(value - entry.value)
    allowed = ABOUT * abs(entry.value) if entry.kind == "about" else _half_a_digit(entry.value)
    # What is computed of decimal fractions may miss the edge by a few units in the last place.
    return (Verdict.EQUAL, "") if apart <= allowed * (1 + 1e-9) else shape


def _half_a_digit(printed: float) -> float:
    """Return by how much a number may differ and still be printed so."""
    digits = f"{printed:.10f}".rstrip("0").partition(".")[2]
    return 0.5 * 10.0 ** -len(digits)
