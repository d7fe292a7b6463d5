"""Summary of a run: at most five sentences computed from its tables.

Each function computes one sentence:

1. Function `best` names the best system, or the best of each write mode.
2. Function `set_apart` names VMs that make most accesses, and hit nearly equally under all systems.
3. Function `changes` names the VMs that gain and lose most.
4. Function `bounds` computes the distance to OPT and to the best fixed division.
5. Function `wear` computes the price and the life of drives.

Percentages of latency are shares of the latency of one baseline, as in the column `latency_gain`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mcsim.results.answer_best import best, equal_best, lead
from mcsim.results.answer_limits import bounds, wear
from mcsim.results.answer_vms import changes, set_apart
from mcsim.results.results import Results

_SENTENCES: Sequence[Callable[[Results], str | None]] = (best, set_apart, changes, bounds, wear)


def rank(results: Results) -> list[str]:
    """Return the titles of the systems, the best first, yardsticks last.

    Best is the least mean latency; without latencies, the highest hit ratio. VMs that are set
    apart do not count.
    """
    return [of.system for of in results.standings.ranked()]


def winners(results: Results) -> set[str]:
    """Return the titles of the best systems of each write mode; none if all are equal."""
    modes = results.standings.by_mode()
    best = {of.system for ranked in modes.values() for of in equal_best(results, ranked)}
    return best if len(best) < sum(map(len, modes.values())) or len(modes) > 1 else set()


def answer(results: Results) -> str:
    """Describe a run in at most five sentences, each on a line."""
    return "\n".join(sentences(results))


def sentences(results: Results) -> list[str]:
    """Compute the sentences; a sentence that does not apply is left out."""
    if lead(results) is None:
        return ["No access was counted."]
    return [sentence for make in _SENTENCES if (sentence := make(results)) is not None]
