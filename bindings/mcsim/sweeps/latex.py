"""A table of a sweep for a paper: an axis down, systems and other axes across."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from mcsim.figures.sweeps import main_axis, series

__all__ = ["latex_of"]

_SPECIAL = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
}


def latex_of(table: pa.Table, x: str | None = None, value: str = "hit_ratio") -> str:
    """Write a column of a joined table as LaTeX, for the package booktabs.

    Parameters
    ----------
    table : pyarrow.Table
        As of `mcsim.Sweep.table`.
    x : str, optional
        The axis that has a row for each value; `mcsim.figures.sweeps.main_axis` if not given.
    value : str
        The column: means over seeds, of all VMs together.
    """
    x = main_axis(table) if x is None else x
    at, found = series(table, x, value)
    rows = [[_escaped(f"{x}"), *(_escaped(of.label) for of in found)]]
    rows += [
        [_escaped(_shown(at[place])), *(_number(of.middle[place]) for of in found)]
        for place in range(len(at))
    ]
    head, *body = (_row(row) for row in rows)
    return "\n".join(
        [
            rf"\begin{{tabular}}{{r{'r' * len(found)}}}",
            r"\toprule",
            head,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _number(value: float) -> str:
    return "--" if math.isnan(value) else f"{value:.4g}"


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(letter, letter) for letter in text)
