"""Compare policies on traces: merged, or each trace alone."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from mcsim.base.arguments import list_of, seed_given, shortened
from mcsim.base.errors import ConfigError, NoReferencesError, brief, mistakes_in
from mcsim.base.inputs import stem_of
from mcsim.base.sizes import parse_capacity, steps_in
from mcsim.base.suggest import check_choice
from mcsim.locality.hit_units import HitUnit
from mcsim.policies.python_policies import PolicyFactory
from mcsim.policies.reductions import RATIOS, OverTraces, over_traces
from mcsim.policies.simulation import simulate
from mcsim.policies.specs import PolicyChoice, policies_given
from mcsim.references.blocks import Blocks
from mcsim.references.objects import sized_for, whole_of
from mcsim.tables.result_table import ResultTable
from mcsim.traces.batches import Ops
from mcsim.traces.cache_device import real_hit_ratio
from mcsim.traces.trace import Trace

AnyTrace = Trace | Blocks | str | os.PathLike[str]
Named = tuple[str, Callable[[], Blocks]]
"""The name of a trace, and a function that reads its references."""

_log = logging.getLogger(__name__)


@brief
def compare(
    traces: AnyTrace | Sequence[AnyTrace],
    policies: PolicyChoice = "all",
    sizes: str | Sequence[int | str] = ("0.1%", "1%", "10%"),
    *,
    each: bool = False,
    against: str | PolicyFactory | ResultTable | None = None,
    ops: Ops = "reads",
    block_bytes: int | str = 4096,
    by: HitUnit = "blocks",
    seed: int = 1,
    threads: int | None = None,
    memory: int | str | None = None,
    progress: Callable[[int], object] | None = None,
) -> ResultTable:
    """Compare eviction policies on traces, merged into one or each alone.

    Parameters
    ----------
    traces : Trace, Blocks, path, or a sequence
        Blocks have their own `ops` and `block_bytes`. Option `each` allows traces with and without
        a clock, of blocks and of objects, in one call.
    policies, threads, memory
        As in `simulate`.
    sizes : str or sequence of int or str
        As in `simulate`. Shares are of the distinct blocks of each trace if `each` is set.
    each : bool
        Whether every trace has its own caches. The result has statistics over traces.
    against : str, class, function or ResultTable, optional
        The baseline, added to the policies if it is missing. Default is LRU if `each` is set. Or
        a table of `cache_device` or `cache_counters`: what a real cache did with the requests.
    ops : {'reads', 'all', 'writes'}
        Requests to replay. Others are skipped.
    block_bytes : int or str
        Size of a block.
    by : {'blocks', 'requests', 'bytes'}
        Unit of the hit ratios in gains and reductions. All units are in the result.
    seed : int
        Seed of policies. The bootstrap has the same one.
    progress : callable, optional
        Function ``progress(traces_done)`` if `each` is set. Otherwise as in `simulate`.

    Returns
    -------
    ResultTable
        Rows of `simulate`, with ``gain`` if there is a baseline. An `OverTraces` if `each` is
        set, with a row for each size and policy. Its columns have the mean ``hit_ratio``, and the
        ``mean`` and ``median`` miss ratio reduction. The 95 % interval of the mean is ``low`` to
        ``high``. Shares of traces are ``won`` against the baseline, and ``best`` of all but opt.
        Attribute ``by_trace`` has a row for each cache.

    Raises
    ------
    ConfigError
        As in `simulate`. Also if no trace has requests of the chosen kind, or two are equal.

    Notes
    -----
    Reductions of miss ratios are between -1 and 1. The reduction from m0, of the baseline, to m
    is (m0 - m) / max(m0, m). It changes its sign if both are swapped (Yang et al., *FIFO queues
    are all you need for cache eviction*, SOSP 2023). The interval is a percentile bootstrap of the
    mean. All rows share its 10,000 samples of traces.

    Examples
    --------
    >>> at = np.arange(20)
    >>> loops = [mc.Trace.from_arrays(at, 4096 * (at % n), 4096) for n in (3, 4, 5)]
    >>> rows = mc.compare(loops, ["lru", "mru"], ["50%"], each=True, against="lru")
    >>> rows[["size", "policy", "traces", "won"]].tolist()
    [('50%', 'mru', 3, 1.0), ('50%', 'lru', 3, 0.0)]
    """
    check_choice("by", by, get_args(HitUnit))
    options: dict[str, Any] = {"seed": seed_given(seed), "threads": threads, "memory": memory}
    is_one = isinstance(traces, (Trace, Blocks, str, os.PathLike))
    given: list[Any] = [traces] if is_one else list_of("traces", traces, "traces")
    if each:
        if isinstance(against, ResultTable):
            raise ConfigError("against: a real cache is of one trace, not of each")
        named = named_traces(given, ops, block_bytes)
        chosen = with_baseline(policies, "lru" if against is None else against)
        return caches_of_each(named, *chosen, sizes, unit=by, progress=progress, **options)
    blocks = given[0] if len(given) == 1 and isinstance(given[0], Blocks) else None
    if blocks is None:
        blocks = Blocks.of([_opened(one) for one in given], ops, block_bytes)
    texts = [sizes] if isinstance(sizes, str) else sizes
    if against is None:
        return simulate(blocks, policies, texts, progress=progress, **options)
    if isinstance(against, ResultTable):
        real = real_ratio_of(blocks, against, by)
        rows = simulate(blocks, policies, texts, progress=progress, **options)
        return _with_gain(rows, rows[RATIOS[by]] - real)
    listed, baseline = with_baseline(policies, against)
    rows = simulate(blocks, listed, texts, progress=progress, **options)
    ratios = rows[RATIOS[by]]
    own = ratios[rows.policy == baseline]
    return _with_gain(rows, ratios - np.tile(own, len(rows) // len(own)))


def _with_gain(rows: ResultTable, gain: NDArray[np.float64]) -> ResultTable:
    return ResultTable(rows.columns() | {"gain": gain}, rows.kind, title=rows.title)


def real_ratio_of(blocks: Blocks, found: ResultTable, by: HitUnit) -> float:
    """Return the hit ratio of a real cache for the requests of blocks.

    Raises
    ------
    ConfigError
        If the files of the real cache do not show it, or have other requests.
    """
    if blocks.warm_up:
        raise ConfigError("against: a real cache has no warm-up that is not counted")
    ratio = real_hit_ratio(found, blocks.ops_kept, by)
    there = sum(vm.trace.request_count for vm in blocks.workload.vms)
    every = {row["kind"]: row["requests"] for row in found.to_arrow().to_pylist()}
    if every["all requests"] not in (None, there):
        raise ConfigError(
            f"against: the real cache had {every['all requests']:,} requests, the trace {there:,}"
        )
    return ratio


def with_baseline(
    policies: PolicyChoice, against: str | PolicyFactory
) -> tuple[list[str | PolicyFactory], str]:
    """Return policies with the baseline, as the first if it is missing, and its name."""
    listed: list[Any] = list(policies) if isinstance(policies, (list, tuple)) else [policies]
    with mistakes_in("against"):
        found = policies_given([against], sizes=True)
        if len(found) != 1:
            raise ValueError(f"expected one policy, got {shortened(against)}")
    name = str(found[0])
    is_there = name in map(str, policies_given(listed, sizes=True))
    return (listed if is_there else [against, *listed]), name


def caches_of_each(
    named: Iterable[Named],
    policies: Sequence[str | PolicyFactory],
    against: str,
    sizes: str | Sequence[int | str],
    *,
    unit: HitUnit,
    seed: int,
    progress: Callable[[int], object] | None = None,
    note: Callable[[str], object] = _log.warning,
    **options: Any,
) -> OverTraces:
    """Replay each trace through caches of its own; compute the statistics over traces.

    Parameters
    ----------
    named : iterable of (str, callable)
        Names, and functions that read the references. Names are unique.
    policies : sequence
        Policies, including `against`.
    progress, note : callable
        Functions ``progress(traces_done)``, and ``note(text)`` for a trace that is left out.
    **options
        As in `simulate`.
    """
    tables = []
    readable = Readable(named, progress, note)
    for name, blocks in readable:
        tables.append(_of_trace(name, blocks, policies, sizes, seed=seed, **options))
    return over_traces(_concatenated(tables), against, unit, seed, readable.left_out)


def sizes_of_each(
    named: Iterable[Named],
    sizes: str | Sequence[int | str],
    *,
    progress: Callable[[int], object] | None = None,
    note: Callable[[str], object] = _log.warning,
) -> ResultTable:
    """Return the accesses and distinct blocks of each trace, and its capacities by size."""
    tables = []
    for name, blocks in Readable(named, progress, note):
        blocks, steps = steps_of(name, blocks, sizes)
        capacities = [
            parse_capacity(size, whole_of(blocks), blocks.capacity_unit) for _, size in steps
        ]
        columns: dict[str, Any] = {
            "trace": np.full(len(steps), name),
            "accesses": np.full(len(steps), len(blocks)),
            "distinct": np.full(len(steps), blocks.unique),
            "size": np.array([label for label, _ in steps]),
            "capacity": np.array(capacities),
        }
        tables.append(ResultTable(columns))
    return ResultTable(_concatenated(tables).columns(), "by-trace")


@dataclass
class Readable:
    """References of named traces; traces without requests of the chosen kind are left out.

    Attributes
    ----------
    left_out : list of (str, str)
        Names and reasons; complete after the iteration.
    """

    named: Iterable[Named]
    progress: Callable[[int], object] | None
    note: Callable[[str], object]
    left_out: list[tuple[str, str]] = field(default_factory=list)

    def __iter__(self) -> Iterator[tuple[str, Blocks]]:
        seen: dict[object, str] = {}
        for done, (name, read) in enumerate(self.named, 1):
            try:
                blocks = read()
            except NoReferencesError as error:
                self.left_out.append((name, str(error).rpartition(": ")[2]))
                self.note(f"left out: {error}")
            else:
                same = seen.setdefault(identity_of(blocks), name)
                if same != name:
                    raise ConfigError(f"traces: {same} and {name} have the same requests")
                yield name, blocks
            if self.progress is not None:
                self.progress(done)
        if not seen:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in self.left_out)
            raise ConfigError(f"traces: none is left to compare ({reasons or 'none given'})")


def _concatenated(tables: Sequence[ResultTable]) -> ResultTable:
    names = tables[0].column_names
    return ResultTable({name: np.concatenate([table[name] for table in tables]) for name in names})


def steps_of(
    name: str, blocks: Blocks, sizes: str | Sequence[int | str]
) -> tuple[Blocks, list[tuple[str, int | str]]]:
    """Return what caches of these sizes count, and their names and sizes, each name once."""
    with mistakes_in(f"sizes: {name}"):
        blocks = sized_for(blocks, sizes)
        texts = [sizes] if isinstance(sizes, str) else list_of("sizes", sizes, "sizes")
        steps = [step for size in texts for step in steps_in(size, blocks.capacity_unit)]
    if not steps:
        raise ConfigError("sizes: expected at least one")
    return blocks, list(dict(steps).items())


def _of_trace(
    name: str,
    blocks: Blocks,
    policies: Sequence[str | PolicyFactory],
    sizes: str | Sequence[int | str],
    **options: Any,
) -> ResultTable:
    """Return a row for each size and policy, of caches that one trace has to itself."""
    blocks, steps = steps_of(name, blocks, sizes)
    rows = simulate(blocks, policies, [size for _, size in steps], **options)
    count = len(rows) // len(steps)
    # Rows of a table over traces are by size, then by policy.
    order = np.arange(len(rows)).reshape(count, len(steps)).T.ravel()
    columns: dict[str, NDArray[Any]] = {
        "trace": np.full(len(rows), name),
        "size": np.repeat([label for label, _ in steps], count),
    }
    return ResultTable(columns | rows[order].columns())


def identity_of(blocks: Blocks) -> object:
    """Return what two references to the same requests have in common."""
    vms = [(vm.trace.digest, vm.only, vm.begin, vm.end) for vm in blocks.workload.vms]
    return tuple(vms), blocks.ops_kept, len(blocks)


def named_traces(given: Sequence[AnyTrace], ops: Ops, block_bytes: int | str) -> list[Named]:
    """Return a name and a function that reads the references, of each trace."""

    def reader(one: AnyTrace) -> Callable[[], Blocks]:
        if isinstance(one, Blocks):
            return lambda: one
        return lambda: Blocks.of(_opened(one), ops, block_bytes)

    stems = [_name(one) for one in given]
    names = names_once(
        stems, [str(one) if isinstance(one, (str, os.PathLike)) else "" for one in given]
    )
    return [(name, reader(one)) for name, one in zip(names, given, strict=True)]


def names_once(stems: Sequence[str], paths: Sequence[str]) -> list[str]:
    """Return unique names of traces: stems, or paths and numbers if stems are equal.

    Examples
    --------
    >>> from mcsim.policies.comparison import names_once
    >>> names_once(["web", "a", "web", "a"], ["x/web.csv", "a.csv", "y/web.csv", "a.csv"])
    ['x/web.csv', 'a.csv', 'y/web.csv', 'a.csv (2)']
    """
    longer = [
        path if path and stems.count(stem) > 1 else stem
        for stem, path in zip(stems, paths, strict=True)
    ]
    return [
        name if (before := longer[:i].count(name)) == 0 else f"{name} ({before + 1})"
        for i, name in enumerate(longer)
    ]


def _opened(one: AnyTrace) -> Trace:
    if isinstance(one, Blocks):
        raise ConfigError("traces: blocks are compared alone, or with each=True")
    return one if isinstance(one, Trace) else Trace.open(one)


def _name(one: AnyTrace) -> str:
    if isinstance(one, Blocks):
        return one.label
    return stem_of(one.metadata.source if isinstance(one, Trace) else one)
