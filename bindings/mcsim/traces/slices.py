"""Slices of traces: spans of time, VMs and operations."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

from mcsim.base.arguments import whole_number
from mcsim.base.errors import mistakes_in
from mcsim.base.suggest import check_choice, names_matching
from mcsim.base.units import parse_duration, parse_references
from mcsim.traces.batches import Ops, Selection, batch_of, clamped
from mcsim.traces.made import MadeOfColumns
from mcsim.traces.metadata import Counts

_MOST_TIME = 2**400


class Sliceable(MadeOfColumns):
    """Traces of which a part is a trace again."""

    def slice(
        self,
        start: int | str | None = None,
        end: int | str | None = None,
        vms: str | Sequence[str] | None = None,
        ops: Ops = "all",
    ) -> Self:
        """Return the requests of a span of time, of some VMs, of one operation.

        Parameters
        ----------
        start, end : int or str, optional
            Requests from `start` on and before `end`, counted from the trace's first
            request: ``'2h'``, or a number of nanoseconds. If `time_base` is ``'index'``,
            ``'5000 references'`` or their number.
        vms : str or sequence of str, optional
            Names of the VMs to keep and patterns such as ``'web_*'``; they are numbered anew
            in their old order.
        ops : {'all', 'reads', 'writes'}
            Operation of the requests; discards are always among them.

        Returns
        -------
        Trace
            The requests, cut out anew at every use; times stay as they are.

        Raises
        ------
        ConfigError
            If the trace has no such VM, there is no such choice of operations, or a time has no
            unit or another one than the trace.

        Examples
        --------
        >>> trace = mc.Trace.from_arrays([0, 10**9], [0, 8192], 4096, vm=[0, 1], vms=["a", "b"])
        >>> trace.slice("1s").request_count, trace.slice(vms="a").vms
        (1, ('a',))
        """
        check_choice("ops", ops, ("all", "reads", "writes"))
        metadata = self._metadata
        start, end = self._time("start", start), self._time("end", end)
        origin = metadata.counts.first_time
        chosen = dict.fromkeys(metadata.vms if vms is None else names_matching(vms, metadata.vms))
        kept = tuple(name for name in metadata.vms if name in chosen)
        numbers = {name: number for number, name in enumerate(kept)}
        selection = Selection(
            batches=self._batches,
            begin=None if start is None else clamped(origin + start),
            end=None if end is None else clamped(origin + end),
            vm_numbers=tuple(numbers.get(name, -1) for name in metadata.vms),
            op={"all": None, "reads": 0, "writes": 1}[ops],
        )
        counts = Counts()
        for record_batch in selection:
            counts = counts.plus(batch_of(record_batch), metadata.kind)
        how = repr((metadata.digest, start, end, kept, ops))
        digest = hashlib.sha256(how.encode()).hexdigest()
        return type(self)(selection, replace(metadata, digest=digest, vms=kept, counts=counts))

    def _time(self, name: str, value: int | str | None) -> int | None:
        """Parse a time since the first request, in the unit of `time_base`."""
        if isinstance(value, str):
            with mistakes_in(name):
                is_clock = self._metadata.time_base == "clock"
                return parse_duration(value) if is_clock else parse_references(value)
        return None if value is None else whole_number(name, value, -_MOST_TIME, _MOST_TIME)
