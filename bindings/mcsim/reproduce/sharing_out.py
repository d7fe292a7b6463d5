"""The catalogue shared out: parts for shards, and tasks for the workers of an executor.

Figures that show the same runs stay together, or each process would run them; runs have names by
what they are of, so that it would do no harm.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from mcsim import _core
from mcsim.base.errors import ConfigError, HostError
from mcsim.base.progress import Reporter
from mcsim.experiment.environment import build_digest, check_program
from mcsim.reproduce import kept
from mcsim.reproduce.catalogue import chosen
from mcsim.reproduce.context import Context
from mcsim.reproduce.figure import Figure
from mcsim.sweeps.execute import Elsewhere, run_all
from mcsim.sweeps.selection import shard_given

__all__ = ["find_elsewhere", "shard_of"]

Group = Sequence[Figure]


def shard_of(figures: Iterable[Figure], shard: str, quick: bool) -> list[Figure]:
    """Return a part of figures; all parts take about as long, and together are all figures.

    Parameters
    ----------
    figures : iterable of Figure
    shard : str
        ``'i/n'``: the i-th of n parts, from 0. Which it is does not depend on what was found.
    quick : bool
        Whether the times are those of a sample.

    Raises
    ------
    ConfigError
        If it is no part.
    """
    index, count = shard_given(shard)
    every = list(figures)
    load = [0.0] * count
    mine: set[str] = set()
    for group in _together(every, quick):
        least = load.index(min(load))
        load[least] += _seconds(group, quick)
        if least == index:
            mine.update(figure.name for figure in group)
    return [figure for figure in every if figure.name in mine]


def _together(figures: Iterable[Figure], quick: bool) -> list[Group]:
    """Return figures in groups that show the same runs, those that take longest first."""
    groups: dict[str, list[Figure]] = {}
    for figure in figures:
        key = f"{figure.document}:{figure.runs}" if figure.runs else figure.name
        groups.setdefault(key, []).append(figure)
    return sorted(groups.values(), key=lambda group: -_seconds(group, quick))


def _seconds(group: Group, quick: bool) -> float:
    return sum(figure.estimate(quick) for figure in group)


@dataclass(frozen=True)
class Task:
    """All that another process needs to find figures.

    Attributes
    ----------
    causes : mapping of str to str
        What their findings come from, by the names of the figures.
    settings : mapping of str to Any
        Of the `Context`; workers see its folders by the same names.
    force : bool
        Find again what is kept.
    version, build : str
        Of mcsim.
    """

    causes: Mapping[str, str]
    settings: Mapping[str, Any]
    force: bool
    version: str
    build: str


def find_elsewhere(
    figures: Iterable[Figure],
    context: Context,
    executor: Executor,
    reporter: Reporter,
    *,
    force: bool = False,
) -> set[str]:
    """Have figures found by the workers of an executor, but for those that are kept.

    Returns
    -------
    set of str
        The names of those that were found.

    Raises
    ------
    ConfigError
        If a worker has another mcsim, or sees other traces or experiments.
    HostError
        If what runs them fails, or what workers kept is not seen here.
    """
    missing = [figure for figure in figures if force or kept.opened(figure, context) is None]
    if not missing:
        return set()
    found = 0

    def task(group: Group) -> Task:
        causes = {figure.name: kept.cause_of(figure, context) for figure in group}
        return Task(causes, context.settings(), force, _core.__version__, build_digest())

    with reporter.stage("figures", len(missing), "figures") as stage:

        def done(count: int) -> None:
            nonlocal found
            found += count
            stage.update(found)

        run_all(
            Elsewhere(executor, run_task, task, done), _together(missing, context.quick), _named
        )
    for figure in missing:
        if kept.opened(figure, context) is None:
            raise HostError(
                f"{kept.folder_of(figure, context)}: a worker kept what it found of {figure.name} "
                "there, and it is not to be seen here: all machines must see one folder by this "
                "name"
            )
    return {figure.name for figure in missing}


def run_task(task: Task) -> int:
    """Find figures in this process, but for those that are kept.

    Returns
    -------
    int
        How many figures it had.

    Raises
    ------
    ConfigError
        If this process has another mcsim, or sees other traces or experiments.
    """
    check_program(task.version, task.build, "the reproduction")
    context = Context(**task.settings)
    figures = chosen(task.causes)
    for figure in figures:
        if kept.cause_of(figure, context) != task.causes[figure.name]:
            raise ConfigError(
                f"{figure.name}: the traces or experiments that {platform.node()} sees are others "
                "than where the reproduction was begun"
            )
        kept.find(figure, context, force=task.force)
    return len(figures)


def _named(group: Group) -> tuple[str, str]:
    names = [figure.name for figure in group]
    return ", ".join(names), f"mcsim reproduce {' '.join(names)}"
