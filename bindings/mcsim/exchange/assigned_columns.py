"""Columns of a sample, assigned to fields by their names and values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from mcsim.base.errors import ConfigError
from mcsim.exchange.column_roles import (
    Role,
    clock_unit,
    is_operation,
    is_rising,
    is_switch,
    role_rank,
    time_unit_of_name,
    words_of,
)
from mcsim.exchange.samples import Sample, is_date, is_number, number_of

BY_NAME = "by its name"

_SURE_OPERATIONS = {"op", "operation", "rwbs", "rw", "iotype", "optype", "opcode", "command", "cmd"}

# Fields in the order in which columns are assigned to them.
_ROLES: Sequence[Role] = ("response", "repeat", "time", "op", "key", "offset", "length", "vm")


class Columns:
    """The columns of a sample, and the fields that they were assigned to."""

    def __init__(self, path: Path, sample: Sample) -> None:
        self.path = path
        self.sample = sample
        self.roles: dict[Role, int] = {}
        self.reasons: dict[Role, str] = {}
        self.numbers = {
            column: [number_of(value) for value in values]
            for column in range(sample.width)
            if (values := sample.values(column)) and all(map(is_number, values))
        }

    def name(self, column: int) -> str:
        """Return the name of a column; empty without one."""
        return "" if self.sample.names is None else self.sample.names[column]

    def take(self, role: Role, column: int, reason: str) -> None:
        """Assign a column to a field."""
        self.roles[role], self.reasons[role] = column, reason

    def free(self) -> list[int]:
        """Return the columns without a field."""
        return [c for c in range(self.sample.width) if c not in self.roles.values()]

    def assign(self) -> None:
        """Assign columns to the fields other than references, by their names or their values."""
        for role in _ROLES:
            if (column := self._best(role)) is not None:
                self.take(role, column, BY_NAME)
        if "op" not in self.roles:
            self._take_operation()
        if "time" not in self.roles:
            self._take_time()
        self._check_operation()

    def _best(self, role: Role) -> int | None:
        ranked = [
            (rank, column)
            for column in self.free()
            if (rank := role_rank(role, self.name(column))) is not None and self._fits(role, column)
        ]
        return min(ranked)[1] if ranked else None

    def _fits(self, role: Role, column: int) -> bool:
        """Return whether the values of a column can be those of a field."""
        values = self.sample.values(column)
        if role == "time":
            return column in self.numbers or bool(values and all(map(is_date, values)))
        if role == "op":
            is_sure = bool(_SURE_OPERATIONS & set(words_of(self.name(column))))
            is_named = role_rank("op", self.name(column)) is not None
            return is_operation(values) or (is_named and (is_switch(values) or is_sure))
        if role in ("offset", "length", "response", "repeat"):
            return column in self.numbers
        return True

    def _take_operation(self) -> None:
        for column in self.free():
            if column not in self.numbers and is_operation(self.sample.values(column)):
                self.take("op", column, "its values are words for operations")
                return

    def _take_time(self) -> None:
        """Find the time by its values; of columns without names, the first that only rises."""
        references = [c for c in self.free() if c in self.numbers]
        for column in self.free():
            values = self.sample.values(column)
            unit = clock_unit(values)
            if unit is not None and (unit == "iso" or is_rising(values)):
                self.take("time", column, f"its values are dates after 1970: {values[0]}")
                return
        for column in self.free():
            values = self.sample.values(column)
            is_last = not self._has_place() and references == [column]
            if not is_rising(values) or is_last:
                continue
            has_fractions = any("." in value for value in values)
            has_names = {"key", "offset", "length"} & set(self.roles)
            is_named = time_unit_of_name(self.name(column)) is not None
            if not self.name(column) or is_named or has_fractions or not has_names:
                self.take("time", column, "its values never decrease")
                return

    def has_times_of_day(self, label: str) -> bool:
        """Return whether a column has times without a date, such as 12:30:00."""
        column = next(c for c in range(self.sample.width) if self.sample.label(c) == label)
        values = self.sample.values(column)
        return bool(values) and all(re.match(r"\d{1,2}:\d\d", value) for value in values)

    def _has_place(self) -> bool:
        return "offset" in self.roles or "key" in self.roles

    def _check_operation(self) -> None:
        if "op" not in self.roles:
            return
        values = set(self.sample.values(self.roles["op"]))
        if is_operation(values) or is_switch(values):
            return
        label = self.sample.label(self.roles["op"])
        shown = ", ".join(sorted(values)[:6])
        raise ConfigError(
            f"{self.path}: op: column {label} has the values {shown}: state which of them read and "
            f"write: --option op={label} --option read=... --option write=..., or op=none"
        )
