"""A sweep that was planned, and its results, as far as they are there."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from mcsim.base.arguments import file_given
from mcsim.base.errors import ConfigError
from mcsim.base.limits import limits_named
from mcsim.base.suggest import did_you_mean
from mcsim.results.files import read_parquet, write_parquet
from mcsim.results.results import Results
from mcsim.sweeps.store import finished, joined
from mcsim.tables.csv import write_csv
from mcsim.tables.frames import Tabular
from mcsim.tables.result_table import ResultTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mcsim.config.spec import FigureFormat
    from mcsim.figures.chart import Sheet
    from mcsim.figures.style import Style

PLAN = "plan.parquet"
TABLES = ("table.parquet", "table.csv")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Sweep(Tabular):
    """Results of a sweep, complete or partial.

    Attributes
    ----------
    path : Path
        Folder of the plan and the tables.
    plan : pyarrow.Table
        Cells: number, run id, a column for each axis.
    """

    path: Path
    plan: pa.Table

    @classmethod
    @limits_named()
    def open(cls, path: str | os.PathLike[str]) -> Sweep:
        """Open a sweep that was planned.

        Parameters
        ----------
        path : path-like
            Folder of the sweep, such as ``results/sweeps/<name>``.

        Returns
        -------
        Sweep
            All cells of the plan, also those without results.

        Raises
        ------
        ConfigError
            If the folder has no plan, or it cannot be read.
        """
        path = file_given("path", path)
        file = path / PLAN
        if not file.is_file():
            raise ConfigError(f"{path}: no sweep (there is no {PLAN} in it)")
        try:
            return cls(path, read_parquet(file))
        except (OSError, pa.ArrowException) as error:
            raise ConfigError(f"{file}: cannot be read ({error}): run the sweep again") from None

    @classmethod
    def named(cls, name: str, out: str | os.PathLike[str] = "results") -> Sweep:
        """Open a sweep by its name.

        Parameters
        ----------
        name : str
            Its name, a prefix that no other sweep has, or the path of its folder.
        out : path-like
            The folder of all results.

        Returns
        -------
        Sweep
            As of `open`.

        Raises
        ------
        ConfigError
            If there is none, or several.
        """
        if os.sep in name or (Path(name) / PLAN).is_file():
            return cls.open(name)
        known = [sweep.path.name for sweep in sweeps_in(out)]
        begun = [name] if name in known else [one for one in known if one.startswith(name)]
        if len(begun) > 1:
            raise ConfigError(f"{name!r} may be {', '.join(begun[:3])}: give more letters")
        if not begun:
            raise ConfigError(f"{out}: no sweep {name!r}{did_you_mean(name, known)}")
        return cls.open(Path(out) / "sweeps" / begun[0])

    def write_plan(self) -> None:
        """Write down the plan, from which the sweep can be opened."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_parquet(self.path / PLAN, self.plan)

    @property
    def axes(self) -> list[str]:
        """The names of the axes."""
        return list(self.plan.column_names[2:])

    @property
    def _out(self) -> Path:
        return self.path.parent.parent

    def finished(self) -> list[bool]:
        """Check which cells have results.

        Returns
        -------
        list of bool
            One for each row of `plan`.

        Examples
        --------
        >>> mc.sweep("tiny", {"tiers.0.capacity": [100, 200]}, cells="0").finished()
        [True, False]
        """
        run_ids = self.plan["run_id"].to_pylist()
        there = finished(self._out, run_ids)
        return [run_id in there for run_id in run_ids]

    def to_arrow(self) -> pa.Table:
        """Return one table of all finished cells.

        Returns
        -------
        pyarrow.Table
            A row for each cell, system and VM, and for each cell and system over all VMs, where
            ``vm`` is null. Columns are ``cell``, ``run_id``, the axes, those of
            `Results.comparison`, ``opt_hits`` and ``synthetic``.
        """
        return self._table

    @property
    def answer(self) -> str:
        """Summary: the best systems at the points of the grid, in at most five sentences."""
        return self.overview().answer

    def overview(self, over: str | None = None) -> ResultTable:
        """Return one row for each point of the grid and system, over all VMs.

        Parameters
        ----------
        over : str, optional
            An axis over which means are taken, such as ``'workload'``.

        Returns
        -------
        ResultTable
            A column for each axis, then hit ratios in [0, 1] and latencies in ns.

        Raises
        ------
        ConfigError
            If there is no such axis.
        """
        from mcsim.sweeps.views import overview

        return overview(self, over)

    def __str__(self) -> str:
        """Return the summary and the table over all VMs."""
        return repr(self.overview())

    def _repr_html_(self) -> str:
        """Return the summary and the table over all VMs as HTML, for notebooks."""
        return self.overview()._repr_html_()

    def write_tables(self) -> pa.Table:
        """Write `table.parquet` and `table.csv` into the sweep's folder.

        Returns
        -------
        pyarrow.Table
            The table of `to_arrow`, as it was written.
        """
        table = self.to_arrow()
        parquet, csv = (self.path / name for name in TABLES)
        write_parquet(parquet, table)
        write_csv(csv, table)
        return table

    @cached_property
    def _table(self) -> pa.Table:
        return joined(self._out, self.plan)

    def plot(
        self,
        x: str | None = None,
        y: str | None = None,
        value: str = "hit_ratio",
        vm: str | None = None,
        style: Style = "screen",
        over: str | None = None,
    ) -> Figure:
        """Plot a column over an axis, or as a map over two.

        Parameters
        ----------
        x : str, optional
            Axis of the lines; the one with the most values if absent.
        y : str, optional
            A second axis: a map for each system instead of a line.
        value : str
            A column of the table.
        vm : str, optional
            Name of a VM; all VMs together if absent.
        style : {'screen', 'paper'}
            As of `mcsim.figures.plot`.
        over : str, optional
            An axis over which means are taken, such as ``'workload'``; bands are 95 % intervals.

        Returns
        -------
        matplotlib.figure.Figure
            Lines or maps by system; ratios are in percent.

        Raises
        ------
        ConfigError
            If an axis, a column or a VM is unknown, or one figure cannot show all values.
        """
        from mcsim.figures.style import styled

        with styled(style):
            return self._framed(self._sheet(x, y, value, vm, over))

    def draw(
        self,
        path: Path,
        formats: Sequence[FigureFormat],
        x: str | None = None,
        y: str | None = None,
        value: str = "hit_ratio",
        vm: str | None = None,
        style: Style = "screen",
        over: str | None = None,
    ) -> list[Path]:
        """Write the figure of `plot` to files.

        Parameters
        ----------
        path : Path
            Path of the files without their endings.
        formats : sequence of {'png', 'pdf', 'svg'}
            A file for each.
        x, y, value, vm, style, over
            As of `plot`.

        Returns
        -------
        list of Path
            The files, in the order of `formats`.

        Raises
        ------
        ConfigError
            As of `plot`.
        """
        from mcsim.figures.style import save, styled

        with styled(style):
            sheet = self._sheet(x, y, value, vm, over)
            figure = self._framed(sheet)
        path.parent.mkdir(parents=True, exist_ok=True)
        mark = " (synthetic workload)" if self._synthetic else ""
        return save(figure, path, sheet.title, f"mcsim sweep {self.path.name}{mark}", formats)

    def _sheet(
        self, x: str | None, y: str | None, value: str, vm: str | None, over: str | None
    ) -> Sheet:
        from mcsim.figures.sweeps import main_axis, over_axis, over_two_axes

        table = self.to_arrow()
        if y is None:
            return over_axis(table, x, value, vm, over)
        return over_two_axes(table, x or main_axis(table, over), y, value, vm, over)

    def _framed(self, sheet: Sheet) -> Figure:
        from mcsim.figures.chart import synthetic_mark
        from mcsim.figures.style import drawn

        title = sheet.title + synthetic_mark(self._synthetic)
        footer = f"mcsim sweep {self.path.name}"
        return drawn(sheet, title, footer, synthetic=self._synthetic)

    @property
    def _synthetic(self) -> bool:
        return bool(pc.any(self.to_arrow()["synthetic"]).as_py())

    def results(self, cell: int) -> Results:
        """Open all results of a cell.

        Parameters
        ----------
        cell : int
            Number of the cell in `plan`.

        Returns
        -------
        Results
            The cell's run.

        Raises
        ------
        ConfigError
            If there is no such cell, or its run did not finish.

        Examples
        --------
        >>> sizes = mc.sweep("tiny", {"tiers.0.capacity": [100, 500]})
        >>> sizes.results(1).spec.tiers[0].capacity
        500
        """
        numbers = self.plan["cell"].to_pylist()
        if cell not in numbers:
            raise ConfigError(f"cell: no cell {cell}; there are {len(numbers)}")
        return Results.open(self._out / self.plan["run_id"][numbers.index(cell)].as_py())


def sweeps_in(out: str | os.PathLike[str] = "results") -> list[Sweep]:
    """Return the sweeps that were planned in a folder of results, by name.

    A damaged plan is skipped with a warning of the logger ``mcsim``.
    """
    found = []
    for plan in sorted((Path(out) / "sweeps").glob(f"*/{PLAN}")):
        try:
            found.append(Sweep.open(plan.parent))
        except ConfigError as error:
            _log.warning("%s", error)
    return found
