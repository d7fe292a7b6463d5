"""Random components of systems, and the warning about a seed that changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from mcsim.config.spec import ExperimentSpec, SystemSpec
from mcsim.experiment.code import Code, is_class
from mcsim.experiment.components import data_path_of, python_policies
from mcsim.traces.workload import Workload

_RANDOM_COMPONENTS = frozenset(
    (
        *("cacheus", "hyperbolic", "lecar", "random", "slide", "switching", "talus", "w-tinylfu"),
        "probability",  # admission
        *("annealing", "annealing-legacy"),  # optimisers
    )
)
"""Eviction policies, admission filters and optimisers that draw random numbers, by name."""


def seed_warning(spec: ExperimentSpec, workload: Workload, code: Code) -> str | None:
    """Return the warning for a stated seed that changes nothing; None if there is no such seed."""
    if spec.seed is None or spec.workload.sample is not None:
        return None
    sections: Mapping[str, Any] = {"workload": spec.workload, "warm_up": spec.warm_up_traces}
    profiles = {
        name: of
        for name, of in sections.items()
        if workload.synthetic and of is not None and of.profiles
    }
    if any(of.seed is None for of in profiles.values()):
        return None
    if spec.plugins or any(draws_random_numbers(system, code) for system in spec.systems):
        return None
    drawn = " and ".join(f"{name}.seed" for name in profiles)
    why = f"{drawn} draws the synthetic workload" if drawn else "the workload is recorded"
    return f"seed: it changes nothing: {why}, and no system draws random numbers"


def draws_random_numbers(system: SystemSpec, code: Code) -> bool:
    """Whether the policies, the admission filter or the optimiser of a system are random."""
    data_path = data_path_of(system, code)
    texts = [str(data_path.get(name, "")) for name in ("policy", "admission")]
    if any(map(python_policies, texts)):  # `start` receives the seed
        return True
    if system.optimizer is not None and not is_class(system.optimizer.name):
        texts.append(system.optimizer.name)
    return not _RANDOM_COMPONENTS.isdisjoint(_words(texts))


def _words(texts: Iterable[str]) -> Iterable[str]:
    return (word for text in texts for word in re.findall(r"[\w.-]+", text))
