"""One column of a result table: heading, unit, format and meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from mcsim.base import units

if TYPE_CHECKING:
    import pyarrow as pa


def percent(share: float) -> str:
    """Write a share in percent."""
    return f"{100 * share:.2f}"


def _signed(value: float, digits: int) -> str:
    """Write a difference; a value that rounds to zero has no sign."""
    rounded = round(value, digits)
    return f"{rounded:+.{digits}f}" if rounded else f"{0:.{digits}f}"


def _plain(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _first_of(names: Sequence[str], most: int) -> str:
    more = f" +{len(names) - most:,}" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _nanoseconds(ns: float) -> str:
    return "0" if 0 <= ns < 0.01 else units.format_latency(ns)


# By unit: the Arrow type, and the text of a value. The heading names the unit of percentages.
_UNITS: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "": ("string", lambda value: _plain(value) if type(value) in (int, float) else str(value)),
    "text": ("string", str),
    "cell": ("string", lambda text: text),
    "names": ("string", lambda names: _first_of(names, 3)),
    "time": ("timestamp[us]", lambda time: f"{time.astimezone():%Y-%m-%d %H:%M}"),
    "mark": ("bool", lambda value: "*" if value else ""),
    "flag": ("bool", lambda value: "yes" if value else "no"),
    "count": ("int64", _plain),
    "blocks": ("int64", units.format_count),
    "bytes": ("int64", units.format_size),
    "bytes/day": ("double", lambda size: f"{size * 1e-9:.3g}"),
    "share": ("double", percent),
    "points": ("double", lambda difference: _signed(100 * difference, 2)),
    "relative": ("double", lambda change: _signed(100 * change, 1)),
    "factor": ("double", lambda factor: f"{factor:.2f}×"),
    "index": ("double", "{:.3f}".format),
    "number": ("double", units.format_number),
    "dollars": ("double", "{:.4g}".format),
    "years": ("double", units.format_number),
    "ns": ("double", _nanoseconds),
    "s": ("double", "{:.2f} s".format),
    "1/s": ("double", lambda rate: f"{units.format_count(rate)}/s"),
    "J": ("double", lambda joules: f"{joules / 1e3:.3g}"),
}


@dataclass(frozen=True)
class Column:
    """One column of a result table.

    Attributes
    ----------
    name : str
        Name in Arrow tables, CSV and Python.
    heading : str
        Heading for people. If the column is by tier, the name of the tier comes before it.
    unit : str
        A key of the units above, which has the type and the format.
    help : str
        Its meaning, in a sentence without a full stop.
    better : {'', 'more', 'less'}
        Which values are better.
    by : {'', 'tier', 'vm', 'tenth'}
        The dimension of lists; empty for single values.
    optional : bool
        Whether it is left out for people where all values are shown as 0.
    rare : bool
        Whether only some tables have it: runs with several hosts, devices with a limit.
    shown : bool
        Whether people are shown it if they name no columns.
    is_first : bool
        Whether people see it before columns that are declared before it.
    stored : str
        Its Arrow type where that is not the one of its unit.
    """

    name: str
    heading: str
    unit: str
    help: str
    better: Literal["", "more", "less"] = ""
    by: Literal["", "tier", "vm", "tenth"] = ""
    optional: bool = False
    rare: bool = False
    shown: bool = True
    is_first: bool = False
    stored: str = ""

    def format(self, value: Any) -> str:
        """Return the text of a value; a dash for None and NaN, nothing in columns of cells."""
        if value is None or value != value:
            return "" if self.unit == "cell" else "–"
        if isinstance(value, float) and value in (float("inf"), -float("inf")):
            return "∞" if value > 0 else "−∞"
        return _UNITS[self.unit][1](value)

    def is_nonzero(self, value: Any) -> bool:
        """Whether a number is known, and is not shown as 0."""
        is_known = value is not None and value == value
        return is_known and self.format(value) != self.format(0 * value)

    @property
    def is_numeric(self) -> bool:
        """Whether it stands to the right."""
        return self.unit not in ("", "text", "flag", "mark", "names", "time")

    def is_informative(self, values: Sequence[Any]) -> bool:
        """Whether people are shown a column with these values."""
        known = [value for value in values if value is not None and value == value]
        if self.optional:
            return any(map(self.is_nonzero, known))
        return any(known) if self.unit in ("text", "mark") else bool(known)

    @property
    def arrow_type(self) -> pa.DataType:
        """The type in Arrow tables."""
        import pyarrow as pa

        if self.unit == "time":
            return pa.timestamp("us", "UTC")
        kind = pa.type_for_alias(self.stored or _UNITS[self.unit][0])
        return pa.list_(kind) if self.by or self.unit == "names" else kind


def counts(unit: str, *named: tuple[str, str], rare: bool = False) -> list[Column]:
    """Return raw counts: columns with their names as headings."""
    return [Column(name, name.replace("_", " "), unit, text, rare=rare) for name, text in named]


def column(heading: str, unit: str = "cell", *, name: str = "") -> Column:
    """Return a column that one table alone has, by default of text aligned to the right."""
    return Column(name or heading, heading, unit, "")


def hidden(column: Column) -> Column:
    """Return a column that people are not shown unless they name it."""
    return replace(column, shown=False)
