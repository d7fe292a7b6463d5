"""Hit-ratio curves of many streams: their measurement, and one table of them all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mcsim.base.errors import ConfigError
from mcsim.base.progress import Reporter
from mcsim.base.specs import ParamValue, parse_spec, split_specs, title
from mcsim.base.threads import Pool, threads_given
from mcsim.locality.byte_curves import curve_by_bytes
from mcsim.locality.curve import HitRatioCurve
from mcsim.locality.estimators import Estimator, estimator_names
from mcsim.locality.hit_units import threads_for
from mcsim.locality.warm_up import curve_of_blocks
from mcsim.references.block_keys import SAMPLED_BY_KEY, keys_for
from mcsim.references.blocks import Blocks, References
from mcsim.references.given import blocks_in
from mcsim.references.objects import SizedObjects
from mcsim.references.pieces import Piece
from mcsim.tables.frames import Tabular

if TYPE_CHECKING:
    import pyarrow as pa


_LEAST_OF_A_THREAD = 1 << 16
"""References of several short streams that one thread measures together."""


class HitRatioCurves(dict[str | int, HitRatioCurve], Tabular):
    """Curves by VM or interval, such as `hit_ratio_curves` returns: a dict, with tables of all.

    Attributes
    ----------
    by : {'vm', 'begin'}
        Meaning of the keys: names of VMs, or begins of intervals after the first request, in ns
        or references.
    """

    def __init__(self, curves: Mapping[Any, HitRatioCurve], by: str) -> None:
        super().__init__(curves)
        self.by = by

    def _repr_html_(self) -> str:
        """Return the best ratio of each curve, for notebooks."""
        from mcsim.tables.formatted_table import FormattedTable

        rows = [
            [
                str(name),
                f"{curve.accesses:,}",
                f"{100 * curve.best_ratio:.2f} %",
                f"{curve.saturation:,}",
            ]
            for name, curve in self.items()
        ]
        heads = [self.by, "accesses", "most hits", "from blocks on"]
        title = f"{len(rows)} hit ratio curves"
        return FormattedTable(heads, rows, [False, True, True, True], title).to_html()

    def to_arrow(self) -> pa.Table:
        """Return all curves as one Arrow table, their names in a column `by` of their own.

        Returns
        -------
        pyarrow.Table
            A row for each step of each curve, in the order of the keys: the key, then the columns
            of `HitRatioCurve.to_arrow`, null where a curve has none.

        Examples
        --------
        >>> trace = mc.Trace.from_arrays([0, 1], [0, 0], 4096, vm=[0, 1], vms=["mail", "web"])
        >>> mc.hit_ratio_curves(trace).to_arrow().column_names[:3]
        ['vm', 'capacity', 'hits']
        """
        import pyarrow as pa

        kind = pa.string() if self.by == "vm" else pa.int64()
        tables = [
            pa.table({self.by: pa.array([], kind), "capacity": pa.array([], pa.int64())}),
            *(
                curve.to_arrow()
                .replace_schema_metadata()
                .add_column(0, self.by, pa.array([name] * len(curve.capacities)).cast(kind))
                for name, curve in self.items()
            ),
        ]
        return pa.concat_tables(tables, promote_options="default")


def hit_ratio_curves(
    references: References,
    per: str = "vm",
    *,
    estimator: str = "exact",
    seed: int = 1,
    threads: int | None = None,
    **params: ParamValue,
) -> HitRatioCurves:
    """Compute or estimate the hits of LRU for every single VM or interval.

    Parameters
    ----------
    references : Trace, sequence of Trace or Blocks
        As of `hit_ratio_curve`.
    per : str
        ``'vm'``, or the length of an interval: ``'1h'``, or ``'50000 references'`` of a trace
        without a clock. Adjacent intervals without references have one curve.
    estimator : str
        One of `estimator_names`.
    seed, threads, **params
        As in `estimate`; the number of curves computed at the same time.

    Returns
    -------
    HitRatioCurves
        A dict by the name of the VM, for those that have references; or by the begin of the
        interval after the first request, an integer of ns or references. It goes to Arrow,
        pandas and Polars as one table.

    Raises
    ------
    ConfigError
        As of `estimate` and `Trace.blocks`, or if `per` is neither, or if `references` are an
        array, which has no VMs.

    Examples
    --------
    >>> trace = mc.Trace.from_arrays(
    ...     [0, 1, 2], [0, 0, 0], 4096, vm=[0, 1, 0], vms=["mail", "web"], source="few"
    ... )
    >>> {vm: curve.at(1) for vm, curve in mc.hit_ratio_curves(trace, per="vm").items()}
    {'mail': 0.5, 'web': 0.0}
    """
    blocks = blocks_in(references, warm_up=True, addresses=estimator in SAMPLED_BY_KEY)
    if blocks is None:
        raise ConfigError("references: an array knows no VMs and no times; give a Trace or Blocks")
    spec = EstimatorSpec(estimator, {name: str(value) for name, value in params.items()})
    parts = blocks.by_vm() if per == "vm" else blocks.by_interval(per)
    tasks = [(part, spec) for part in parts]
    measured = measure(tasks, seed=seed, threads=threads_given(threads))
    return HitRatioCurves(
        {one.label if per == "vm" else int(one.label): one.curve for one in measured},
        "vm" if per == "vm" else "begin",
    )


@dataclass(frozen=True)
class EstimatorSpec:
    """An estimator and its parameters: `NAME` or `NAME(PARAM=VALUE,…)`."""

    name: str
    params: dict[str, str]

    def __str__(self) -> str:
        return title(self.name, self.params)

    def make(self, *, seed: int, threads: int, block_bytes: int | None) -> Estimator:
        """Make the estimator; ConfigError if its parameters are wrong."""
        return Estimator(
            self.name, seed=seed, threads=threads, block_bytes=block_bytes, **self.params
        )


def parse_estimator(text: str) -> EstimatorSpec:
    """Read `NAME` or `NAME(PARAM=VALUE,…)`.

    Raises
    ------
    ConfigError
        If there is no such estimator or parameter, or a value is missing or wrong.

    Examples
    --------
    >>> from mcsim.locality.measure import parse_estimator
    >>> str(parse_estimator("exact"))
    'exact'
    """
    spec = EstimatorSpec(*parse_spec(text, "estimator", estimator_names()))
    spec.make(seed=1, threads=1, block_bytes=1)
    return spec


def parse_estimators(text: str) -> list[EstimatorSpec]:
    """Read several, divided by commas, as the parameters of each are.

    Examples
    --------
    >>> from mcsim.locality.measure import parse_estimators
    >>> [str(spec) for spec in parse_estimators("exact,exact")]
    ['exact', 'exact']
    """
    return [parse_estimator(spec) for spec in split_specs(text)]


@dataclass(frozen=True)
class Measured:
    """A curve and what it took.

    Attributes
    ----------
    seconds : float
        The estimator's own, on a clock.
    bytes : int
        Memory that the estimator held at the end.
    """

    label: str
    curve: HitRatioCurve
    seconds: float
    bytes: int

    @property
    def rate(self) -> float:
        """References a second."""
        return self.curve.accesses / self.seconds if self.seconds else 0.0


def measure(
    tasks: Sequence[tuple[Blocks, EstimatorSpec]],
    *,
    seed: int,
    threads: int,
    reporter: Reporter | None = None,
    one_at_a_time: bool = False,
) -> list[Measured]:
    """Feed every stream to its estimator; empty streams share one curve for each estimator.

    Parameters
    ----------
    threads : int
        Number of streams at a time, or threads of one estimator.
    one_at_a_time : bool
        Whether estimators must not disturb each other's times; each is a stage of its own.
    """
    reporter = reporter or Reporter()
    empty: dict[str, Measured] = {}
    for stream, spec in tasks:
        if not len(stream) and str(spec) not in empty:
            empty[str(spec)] = _measure_one(stream, spec, seed, 1, lambda count: None)
    if empty and len(tasks) > 1:
        full = iter(
            measure(
                [(stream, spec) for stream, spec in tasks if len(stream)],
                seed=seed,
                threads=threads,
                reporter=reporter,
                one_at_a_time=one_at_a_time,
            )
        )
        return [
            next(full) if len(stream) else replace(empty[str(spec)], label=stream.label)
            for stream, spec in tasks
        ]
    if one_at_a_time or len(tasks) <= 1:
        measured = []
        for stream, spec in tasks:
            with reporter.stage(
                "estimate", total=len(stream), unit="refs", about=str(spec)
            ) as stage:
                done = _Total(stage.update).add
                measured.append(_measure_one(stream, spec, seed, threads, done))
        return measured
    total = sum(len(stream) for stream, _ in tasks)
    about = f"{len(tasks)} curves"
    with (
        reporter.stage("estimate", total=total, unit="refs", about=about) as stage,
        Pool(max(1, min(threads, len(tasks), total // _LEAST_OF_A_THREAD))) as pool,
    ):
        total_done = _Total(stage.update)

        def add(count: int) -> None:
            pool.check()
            total_done.add(count)

        running = [pool.submit(_measure_several, some, seed, add) for some in _groups(tasks)]
    return [measured for future in running for measured in future.result()]


def _groups(
    tasks: Sequence[tuple[Blocks, EstimatorSpec]],
) -> Iterator[list[tuple[Blocks, EstimatorSpec]]]:
    """Yield groups of streams that are worth a call of a thread."""
    group: list[tuple[Blocks, EstimatorSpec]] = []
    references = 0
    for stream, spec in tasks:
        group.append((stream, spec))
        references += len(stream)
        if references >= _LEAST_OF_A_THREAD:
            yield group
            group, references = [], 0
    if group:
        yield group


def _measure_several(
    tasks: Sequence[tuple[Blocks, EstimatorSpec]], seed: int, done: Callable[[int], None]
) -> list[Measured]:
    return [_measure_one(stream, spec, seed, 1, done) for stream, spec in tasks]


class _Total:
    """Adds up what several threads have done."""

    def __init__(self, update: Callable[[int], Any]) -> None:
        self._update = update
        self._lock = threading.Lock()
        self._done = 0

    def add(self, count: int) -> None:
        with self._lock:
            self._done += count
            self._update(self._done)


def _measure_one(
    stream: Blocks, spec: EstimatorSpec, seed: int, threads: int, done: Callable[[int], None]
) -> Measured:
    cores = threads if threads == 1 else threads_for(stream, spec.name, threads) or threads
    estimator = spec.make(seed=seed, threads=cores, block_bytes=stream.capacity_unit)
    seconds = 0.0
    if isinstance(stream, SizedObjects):
        begun = time.perf_counter()
        reported = 0

        def progress(so_far: int) -> None:
            nonlocal reported
            done(so_far - reported)
            reported = so_far

        by_bytes, held = curve_by_bytes(
            stream, spec.name, spec.params, seed=seed, progress=progress
        )
        progress(len(stream))
        return Measured(stream.label, by_bytes, time.perf_counter() - begun, held)

    key_of = keys_for(spec.name, stream)

    def process(piece: Piece) -> None:
        nonlocal seconds
        begun = time.perf_counter()
        estimator.process_piece(piece, key_of)
        seconds += time.perf_counter() - begun
        done(len(piece.keys))

    def curve_so_far() -> HitRatioCurve:
        nonlocal seconds
        begun = time.perf_counter()
        curve = estimator.curve()
        seconds += time.perf_counter() - begun
        return curve

    curve = curve_of_blocks(stream, process, curve_so_far)
    return Measured(stream.label, curve, seconds, estimator.bytes)
