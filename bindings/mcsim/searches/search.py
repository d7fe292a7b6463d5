"""Search for the best hierarchy of two tiers with few replays.

Curves and miniatures predict every hierarchy first (`mcsim.searches.guides`).
Then the most promising is replayed in full, what is expected of others is corrected by how wrong
that was, and so on until nothing promises more.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mcsim.base.arguments import whole_number
from mcsim.base.errors import ConfigError
from mcsim.base.limits import limits_named
from mcsim.base.progress import Reporter
from mcsim.base.sizes import share_given
from mcsim.base.threads import threads_given
from mcsim.config.spec import SystemSpec
from mcsim.experiment.chain_checks import refuse_chains
from mcsim.experiment.code import AllowCode, Code, Permission
from mcsim.experiment.experiment import Experiment, Given, source_of
from mcsim.experiment.prepared import Prepared
from mcsim.experiment.states import refuse_states
from mcsim.references.opened import open_workload
from mcsim.searches.asked import Asked, take_search
from mcsim.searches.replays import Replays
from mcsim.searches.search_state import Found, SearchState, place_of_hierarchy
from mcsim.searches.space import Objective
from mcsim.traces.find import trace_dirs_given


@limits_named()
def search(
    given: Given,
    *,
    sizes: str | Sequence[Sequence[int | str]] | None = None,
    policies: str | Sequence[str] | None = None,
    objective: Objective | None = None,
    limits: Mapping[str, Any] | None = None,
    refine: bool = True,
    most: int | None = None,
    exhaustive: bool = False,
    rate: float | str = 0.02,
    seeds: int = 3,
    overrides: Iterable[str] = (),
    allow_code: AllowCode = False,
    trace_dirs: Sequence[str | os.PathLike[str]] | None = None,
    threads: int | None = None,
    reporter: Reporter | None = None,
) -> Found:
    """Find the best hierarchy of two tiers for an experiment's workload with few replays.

    Parameters
    ----------
    given : path, name, mapping or ExperimentSpec
        An experiment of two tiers. Its first system `hierarchy` defines how the tiers work; if it
        has none, one with defaults does. A key ``search`` may have the next four parameters.
    sizes : str or sequence of two sequences of int, float or str, optional
        Sizes by tier: blocks, bytes, shares of the distinct blocks or ``'log(FROM, TO, COUNT)'``.
        A single text separates the tiers by ``/`` between spaces. If absent, sizes are from an
        eighth to eight times the experiment's own.
    policies : str or sequence of str, optional
        Eviction policies, all pairs of which are candidates, or pairs such as ``'arc / lru'``. The
        hierarchy's own if not given.
    objective : {'latency', 'hit-ratio', 'per-dollar', 'dollars'}, optional
        Value to optimise: the mean latency of an access, the hit ratio of both tiers, accesses
        a second of one client and dollar, or the price. The first if not given.
    limits : mapping, optional
        Limits to keep: ``dollars``, ``device_writes`` (blocks or bytes written to tiers that
        wear, after the warm-up) and ``latency`` at most, ``years`` (until a tier is worn out) and
        ``hit_ratio`` at least. If not given, the price of the experiment's own tiers, for
        objectives but the price.
    refine : bool
        Look also between those sizes: where the curve of LRU has its knees, and where a limit of
        money is just kept.
    most : int, optional
        Replays in full. If not given, a fifth of the grid, or all of it where that is quicker than
        the miniatures, as for short traces.
    exhaustive : bool
        Replay the whole grid instead, and nothing but that.
    rate : float
        Share of the blocks in a sample of a miniature, in (0, 1); higher where the workload or a
        tier is small.
    seeds : int
        Samples of which the mean is taken.
    overrides, allow_code, trace_dirs, threads, reporter
        As of `mcsim.run`.

    Returns
    -------
    Found

    Raises
    ------
    ConfigError, TraceError
        For mistakes in the experiment or its traces, if there are not two tiers, or if nothing
        can keep the limits.

    Notes
    -----
    That few points at knees of curves are enough is of T. Estro et al., *Guiding Simulations of
    Multi-Tier Storage Caches Using Knee Detection*, MASCOTS 2023, where sizes are chosen by the
    knees of miss ratio curves, one tier after the other. Here every point is looked at in
    miniature, or by the exact curve, which is cheap, and few are replayed.
    """
    reporter = reporter or Reporter()
    experiment, asked = _load(
        given,
        {"sizes": sizes, "policies": policies, "objective": objective, "limits": limits},
        overrides,
        allow_code,
    )
    source = experiment.source
    if (rate := share_given("rate", rate)) == 1:
        raise ConfigError("rate: expected less than 1")
    seeds = whole_number("seeds", seeds, 1, 10_000)
    with reporter.live():
        dirs = trace_dirs_given(trace_dirs)
        workload = open_workload(experiment.spec, source, dirs, reporter)
        experiment.check_workload(workload)
        prepared = Prepared(workload, reporter)
        replays = Replays(experiment, _hierarchy_of(experiment), prepared)
        if experiment.shares:
            replays.experiment = experiment.sized(replays.all.accesses.id_count)
        with source.blaming(("search",)):
            state = SearchState(replays, asked, threads_given(threads), reporter)
        if exhaustive:
            state.simulate_all(state.grid)
        else:
            state.expect(rate, seeds, refine=refine, in_full=most is None)
            state.simulate_promising(most)
    with source.blaming(("search",)):
        return state.found()


def _load(
    given: Given, instead: Mapping[str, Any], overrides: Iterable[str], allow_code: AllowCode
) -> tuple[Experiment, Asked]:
    source, handed = source_of(given, overrides)
    asked = take_search(source, instead)
    code = Code(source.code_folder, Permission.of(allow_code), handed)
    experiment = Experiment.of(source, code)
    refuse_states(experiment.spec, source, "a search")
    refuse_chains(experiment.spec, source, "a search")
    if len(experiment.spec.tiers) != 2:
        raise source.complain(
            ("tiers",), f"a search is over two tiers, there are {len(experiment.spec.tiers)}"
        )
    return experiment, asked


def _hierarchy_of(experiment: Experiment) -> SystemSpec:
    index = place_of_hierarchy(experiment)
    if index is not None:
        return experiment.spec.systems[index]
    alone = experiment.spec.expanded() | {"systems": ["hierarchy"]}
    return Experiment.load(alone).spec.systems[0]
