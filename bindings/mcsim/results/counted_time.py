"""The time in which the requests of a run are counted, and rates over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcsim.results.results import Results

if TYPE_CHECKING:
    from mcsim._core import engine


class CountedTime(NamedTuple):
    """Times of the first and the last counted request, in ns since the first interval began."""

    first_ns: int
    last_ns: int

    @classmethod
    def of(cls, accesses: engine.Accesses, first: int) -> CountedTime:
        """Return the time from the request `first` on."""
        times = accesses.request_time
        begin = int(times[accesses.warm_up])
        return cls(int(times[first]) - begin, int(times[-1]) - begin)

    @property
    def duration_ns(self) -> int:
        """Time from the first counted request to the last."""
        return self.last_ns - self.first_ns

    def rates(
        self, counts: NDArray[Any], first_interval: int, length_ns: int
    ) -> NDArray[np.float64]:
        """Divide counts by the time of their intervals.

        The first and the last interval are as long as the part of them that is counted. If that is
        less than half of an interval, the interval and its neighbour have their common rate.

        Parameters
        ----------
        counts : array
            A value for each counted interval.
        first_interval : int
            Number of the first counted interval.
        length_ns : int
            Length of an interval.

        Returns
        -------
        array
            Counts per ns, for each interval.
        """
        begins = (first_interval + np.arange(len(counts))) * length_ns
        since = np.maximum(self.first_ns - begins, 0)
        until = np.minimum(self.last_ns - begins, length_ns)
        lengths = np.maximum(until - since, 0)
        starts = np.flatnonzero(2 * lengths >= length_ns)
        starts = np.append(0, starts[1:])
        together = np.add.reduceat(counts, starts) / np.add.reduceat(lengths, starts)
        return np.repeat(together, np.diff(starts, append=len(counts)))


def counted_time(results: Results) -> CountedTime | None:
    """Return the time in which a run counts; None if there are no rates over it."""
    if why_no_rates(results) is not None:
        return None
    return CountedTime(*results.environment["counted_ns"])


def why_no_rates(results: Results) -> str | None:
    """Return why a run has no rates over time; None if it has."""
    if results.spec.interval.by_reference:
        return "the trace has no clock"
    counted = results.environment.get("counted_ns")
    if counted is None:
        return "an earlier mcsim did not record the time of the trace: run it again"
    if CountedTime(*counted).duration_ns == 0:
        return "all counted requests have one time"
    return None
