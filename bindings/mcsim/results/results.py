"""Results of a run: a folder of plain files, either complete or absent.

The files of the folder `results/<run_id>/` are declared in `mcsim.results.files`.

A run is written elsewhere and becomes `<run_id>/` by one rename, when all of it is on the disk:

    results/<run_id>.partial/
      <host>.<job>.<process>.<random>/   a folder of each process that works on it
        parts/                finished systems, and derived data of the workload
        run/                  the folder that becomes `<run_id>/`

A folder belongs to one process on one host. If the process has ended, or gave no sign of life for
three minutes, the next one of the same run takes its folder over. It uses undamaged parts of the
same build. Work of less than a second is not saved. Several processes may work on one run at a
time: the first to finish moves it to its final name, and the others use that. The files that DONE
lists have the same bytes on every host, except environment.json, which describes the host.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from mcsim.base.arguments import file_given
from mcsim.base.errors import ConfigError
from mcsim.base.inputs import note_input
from mcsim.base.limits import limits_named
from mcsim.base.suggest import did_you_mean
from mcsim.config.spec import ExperimentSpec
from mcsim.results.files import DONE, declared, write_json
from mcsim.results.foresight import foresight_of_run
from mcsim.results.run_folder import RunFolder
from mcsim.results.run_tables import RunTables
from mcsim.results.schemas import SCHEMAS
from mcsim.results.seals import read_list

if TYPE_CHECKING:
    from mcsim.results.standings import Standings
    from mcsim.tables.result_table import ResultTable


@dataclass(frozen=True)
class Results(RunTables):
    """Results of a finished run.

    Every table is an Arrow table, read at its first use.

    Attributes
    ----------
    path : Path
        The run's folder.

    Examples
    --------
    >>> results = mc.run("tiny")
    >>> results.spec.name, results.kind, results.synthetic
    ('tiny', 'blocks', True)
    """

    path: Path

    @classmethod
    @limits_named()
    def open(cls, path: str | os.PathLike[str]) -> Results:
        """Open a finished run, in a folder of its own or in a pack of a sweep.

        Parameters
        ----------
        path : path-like
            The run's folder, ``results/<run_id>``; a run of a pack is named in the same way.

        Returns
        -------
        Results
            Each table is read at its first use.

        Raises
        ------
        ConfigError
            If the folder is not there or its run did not finish.

        Examples
        --------
        >>> path = mc.run("tiny").path
        >>> mc.Results.open(path).run_id == path.name
        True
        """
        path = file_given("path", path)
        note_input(path / DONE)
        if not os.path.lexists(path / DONE):
            from mcsim.results.packs import packed

            # A folder of its id may have figures of it all the same.
            if (found := packed(path)) is not None:
                return found
            if not path.is_dir():
                raise ConfigError(f"{path}: no such run; open_run() takes the id of a run")
            raise ConfigError(f"{path}: not a finished run (there is no DONE in it)")
        sums = read_list(path / DONE)
        if "run_ids.txt" in sums:
            raise ConfigError(f"{path}: a pack of runs; name one of those in its run_ids.txt")
        if not sums:
            raise ConfigError(f"{path / DONE}: damaged, or of an earlier mcsim: {RunFolder.remedy}")
        return cls(path)

    @classmethod
    def of(cls, path: Path, **values: Any) -> Results:
        """Return results with some properties that need not be read.

        Parameters
        ----------
        path : Path
            The run's folder.
        **values
            Cached properties by name, such as ``spec``.

        Returns
        -------
        Results
            Results that are not checked for being finished, unlike those of `open`.
        """
        results = cls(path)
        vars(results).update(values)
        return results

    def __reduce__(self) -> tuple[Any, ...]:
        return Results.open, (self.path,)

    @cached_property
    def _stored(self) -> tuple[RunFolder, int]:
        """The folder that has its files, and its number there."""
        return RunFolder(self.path), 0

    @property
    def folder(self) -> Path:
        """The folder that has its files: its own, or one that runs of a sweep share."""
        return self._stored[0].path

    def _repr_html_(self) -> str:
        """Return the summary and the table over all VMs as HTML, for notebooks."""
        from mcsim.results.views import overview

        return overview(self)._repr_html_()

    @property
    def run_id(self) -> str:
        """Name of the experiment and hash of all that can change a result."""
        return self.path.name

    def check(self) -> None:
        """Verify the checksum of every file.

        Raises
        ------
        ConfigError
            If a file is not as the run wrote it; the message names the file.
        """
        self._stored[0].check()

    def digest(self, table: str) -> str | None:
        """Return the checksum of a table's file, as the run wrote it.

        Parameters
        ----------
        table : str
            Name of a table, one of `SCHEMAS`.

        Returns
        -------
        str or None
            SHA-256 in hexadecimal; None if the run has no such file of its own.
        """
        return self.sums.get(f"{table}.parquet")

    @cached_property
    def spec(self) -> ExperimentSpec:
        """The experiment, every default written out."""
        folder, number = self._stored
        return folder.spec(number)

    @cached_property
    def environment(self) -> dict[str, Any]:
        """Versions, host and traces of the run, as in `environment.json`."""
        folder, number = self._stored
        return folder.environment(number)

    @property
    def version(self) -> int:
        """Version of its numbers, as of `RESULTS_VERSION`; 0 if the run did not record one."""
        return int(self.environment.get("results_version", 0))

    @property
    def timings(self) -> dict[str, Any]:
        """Seconds per stage and system."""
        folder, number = self._stored
        return folder.timings(number)

    @property
    def synthetic(self) -> bool:
        """Whether the workload was generated instead of recorded."""
        return bool(self.environment["synthetic"])

    @property
    def title(self) -> str:
        """How tables and figures call this run."""
        return self.spec.name + (" (synthetic workload)" if self.synthetic else "")

    def table(self, name: str) -> pa.Table:
        """Return a table as it is in its file.

        Parameters
        ----------
        name : {'metrics', 'vms', 'curves', 'reuse_intensity', 'decisions', 'bounds', 'alone'}
            Which table, one of `SCHEMAS`.

        Returns
        -------
        pyarrow.Table
            All rows. Tables by interval have the intervals of the warm-up too, unmarked; see
            `to_arrow`.

        Raises
        ------
        ConfigError
            If there is no such table, or its file is not what the run wrote.
        """
        if name not in self._tables:
            if name not in SCHEMAS:
                raise ConfigError(
                    f"no table {name!r}{did_you_mean(name, SCHEMAS)}; there are "
                    f"{', '.join(SCHEMAS)}"
                )
            self._tables[name] = self._read(name)
        return self._tables[name]

    def _read(self, name: str) -> pa.Table:
        """Read a table; columns and tables that an earlier mcsim lacked are null or empty."""
        folder, number = self._stored
        if name in ("bounds", "alone") and f"{name}.parquet" not in folder.sums:
            return SCHEMAS[name].empty_table()
        table = folder.table(name, number)
        if name == "decisions" and "infeasible" not in table.column_names:
            table = table.append_column("infeasible", pa.nulls(len(table), pa.string()))
        return table

    @cached_property
    def _tables(self) -> dict[str, pa.Table]:
        return {}

    @property
    def sums(self) -> dict[str, str]:
        """The checksums that the run wrote, by file; none if it shares its files."""
        return self._stored[0].sums if self.folder == self.path else {}

    def measured(self, name: str) -> pa.Table:
        """Return a table by interval or window without the warm-up.

        Parameters
        ----------
        name : {'metrics', 'vms', 'decisions', 'reuse_intensity'}
            Which table; `reuse_intensity` keeps the windows that end after the warm-up.

        Returns
        -------
        pyarrow.Table
            The rows of counted intervals.

        Raises
        ------
        ConfigError
            As of `table`.
        """
        table, warm_up = self.table(name), self.spec.warm_up_intervals
        if not warm_up:
            return table
        if name == "reuse_intensity":
            begin = pc.min(self.measured("vms")["begin_ns"])
            return table.filter(pc.greater(table["window_end_ns"], begin))
        return table.filter(pc.greater_equal(table["interval"], warm_up))

    def to_arrow(self, name: str) -> pa.Table:
        """Return a table with its warm-up marked.

        Parameters
        ----------
        name : {'metrics', 'vms', 'curves', 'reuse_intensity', 'decisions', 'bounds', 'alone'}
            Which table.

        Returns
        -------
        pyarrow.Table
            The rows of `table`. Tables by interval have a last column ``warm_up``: true where the
            interval only filled the caches. Tables and figures of the run leave those rows out.

        Raises
        ------
        ConfigError
            As of `table`.

        Examples
        --------
        >>> mc.run("tiny").to_arrow("vms").column_names[:3]
        ['system', 'interval', 'vm']
        """
        table = self.table(name)
        if "interval" not in table.column_names:
            return table
        return table.append_column(
            "warm_up", pc.less(table["interval"], self.spec.warm_up_intervals)
        )

    @cached_property
    def standings(self) -> Standings:
        """Counts of each system over all VMs, and over those whose hits the systems decide."""
        from mcsim.results.standings import Standings
        from mcsim.results.tables import compared

        return Standings.of(compared(self))

    def __str__(self) -> str:
        """Return the answer and the table over all VMs."""
        return repr(self.overview())

    @property
    def answer(self) -> str:
        """The best system, what no system changes, and what was possible, in six sentences."""
        from mcsim.results.answer import answer

        return answer(self)

    def overview(self) -> ResultTable:
        """Return one row a system over all VMs, the best first.

        Returns
        -------
        ResultTable
            Hit ratios in [0, 1] and latencies in ns; its ``answer`` sums them up.

        Examples
        --------
        >>> best = mc.run("tiny").overview()[0]
        >>> best.system, round(best.hit_ratio, 2)
        ('lru', 0.63)
        """
        from mcsim.results.views import overview

        return overview(self)

    def _shown(self, name: str) -> ResultTable:
        from mcsim.results.views import result_table

        return result_table(self, name)

    @property
    def kind(self) -> str:
        """``'blocks'``, or ``'objects'``, for which no device is modelled."""
        return str(self.environment.get("kind", "blocks"))

    @property
    def foresight(self) -> dict[str, str]:
        """Foresight of systems by title: the ``'next'`` interval or the ``'whole'`` trace.

        Systems with foresight are yardsticks, which are not realisable.
        """
        return foresight_of_run(self.spec.systems, self.environment)

    def record_seconds(self, stage: str, seconds: float) -> None:
        """Write the time of a stage that works on the finished run into a file of its own.

        A folder that runs share stays as it is.

        Parameters
        ----------
        stage : str
            Name of the stage, such as ``'figures'``.
        seconds : float
            Time that the stage took.
        """
        if self.folder == self.path:
            write_json(self.path / declared(f"seconds-{stage}.json"), {"seconds": seconds})
