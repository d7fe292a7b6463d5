"""The effect of a larger cache, or of other VMs in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from mcsim.base.arguments import list_of
from mcsim.base.deployed import RULES
from mcsim.base.errors import ConfigError
from mcsim.base.suggest import names_matching
from mcsim.locality.dominant import dominant_vm
from mcsim.locality.sharing import Order, Sharing, SharingReferences, sharing
from mcsim.locality.size_verdict import SizeVerdict, verdict
from mcsim.tables.result_table import ResultTable

_THRASHED_FROM = 0.005
"""Half a point: a VM that loses less to the others is not reported as thrashed."""


@dataclass(frozen=True, eq=False)
class Situation:
    """VMs and the cache that they share, under LRU.

    Attributes
    ----------
    sharing : Sharing
    size : int
        Blocks.
    """

    sharing: Sharing
    size: int

    @property
    def ratio(self) -> float:
        """Hit ratio of all VMs."""
        return self.sharing.together.at(self.size)

    @property
    def parted(self) -> float:
        """Hit ratio of all VMs with equal parts of the cache."""
        rows = self.rows
        return float((rows.part * rows.accesses).sum() / rows.accesses.sum())

    def ratio_of(
        self, vms: Sequence[str], column: Literal["shared", "part", "alone"] = "shared"
    ) -> float:
        """Return the hit ratio of some VMs together, by a column of `rows`; nan of none."""
        chosen = np.isin(self.rows.vm, list(vms))
        accesses = self.rows.accesses[chosen]
        if not accesses.size:
            return float("nan")
        return float((self.rows[column][chosen] * accesses).sum() / accesses.sum())

    @cached_property
    def dominant(self) -> str | None:
        """The VM that makes most accesses and hardly hits, and so decides totals; or None."""
        return dominant_vm(self.sharing, self.size)

    @cached_property
    def verdict(self) -> SizeVerdict:
        """Whether the size is a good one for all of them together."""
        found = verdict(self.sharing.together, self.size)
        return found if self.dominant is None else replace(found, judgement="decided by one VM")

    @cached_property
    def rows(self) -> ResultTable:
        """A row a VM.

        ``vm``, ``accesses``, ``distinct`` (blocks), ``alone`` (its hit ratio if it had the
        whole cache to itself), ``part`` (if it had an equal part of it to itself), ``shared``
        (as it is), and ``thrashed``: whether it hits less than in the equal part, by more than
        half a point. No VM hits more than in the whole cache alone.

        Misses by cause, which add up to ``1 - shared``: ``compulsory`` (first accesses to a
        block), ``discarded`` (accesses to a block that was discarded), ``capacity`` (the other
        misses in the whole cache alone) and ``interference`` (what it loses by sharing). They are
        nan for deployed caches.
        """
        names, sharing, size = self.sharing.vms, self.sharing, self.size
        own = [sharing.alone[name] for name in names]
        columns = {
            "vm": np.array(names, dtype=np.str_),
            "accesses": np.array([curve.accesses for curve in own]),
            "distinct": np.array([round(curve.distinct or 0) for curve in own]),
            "alone": np.array([curve.at(size) for curve in own]),
            "part": np.array([curve.at(size // len(names)) for curve in own]),
            "shared": np.array([sharing.shared[name].at(size) for name in names]),
        }
        most_hits = np.array([round(curve.hits[-1]) for curve in own])
        after_discards = columns["accesses"] - most_hits - columns["distinct"]
        causes = {
            "compulsory": columns["distinct"] / columns["accesses"],
            "discarded": after_discards / columns["accesses"],
            "capacity": most_hits / columns["accesses"] - columns["alone"],
            "interference": columns["alone"] - columns["shared"],
        }
        if sharing.together.estimator.partition("(")[0] in RULES:  # its hits have other causes
            causes = {name: np.full(len(names), np.nan) for name in causes}
        thrashed = columns["shared"] < columns["part"] - _THRASHED_FROM
        return ResultTable(
            columns | {"thrashed": thrashed} | causes, "situation", title="VMs of a shared cache"
        )

    def row_of(self, vm: str) -> Any:
        """Return the row of a VM; None if it does not share the cache."""
        return self._row_by_vm.get(vm)

    @cached_property
    def _row_by_vm(self) -> dict[str, Any]:
        return {row.vm: row for row in self.rows}

    @property
    def thrashed(self) -> list[str]:
        """VMs that lose more by sharing than by an equal part of the cache."""
        return [str(row.vm) for row in self.rows if row.thrashed]


class WhatIf(ResultTable):
    """A cache and its VMs, before and after a change.

    A row a VM: ``vm``, ``hit_ratio_before`` and ``hit_ratio_after``; nan where it is absent.

    Attributes
    ----------
    before, after : Situation
    """

    def __init__(self, before: Situation, after: Situation) -> None:
        sides = [
            dict(zip(side.rows.vm.tolist(), side.rows.shared.tolist(), strict=True))
            for side in (before, after)
        ]
        names = list(dict.fromkeys([*sides[0], *sides[1]]))
        ratios = [np.array([side.get(name, np.nan) for name in names]) for side in sides]
        columns = {
            "vm": np.array(names, np.str_),
            "hit_ratio_before": ratios[0],
            "hit_ratio_after": ratios[1],
        }
        self.before, self.after = before, after
        answer = "No VM is there before and after the change."
        if self.staying:
            answer = f"VMs before and after the change hit {100 * self.gain:+.2f} points."
        if self.others:
            answer += (
                f" Without VM {before.dominant}: {100 * self.gain_of(self.others):+.2f} points."
            )
        title = "What a cache hits, shared by its VMs"
        super().__init__(columns, "whatif", title=title, answer=answer)

    @property
    def staying(self) -> tuple[str, ...]:
        """VMs before the change that are there after it."""
        after = set(self.after.sharing.vms)
        return tuple(vm for vm in self.before.sharing.vms if vm in after)

    @property
    def gain(self) -> float:
        """Change of the hit ratio of the `staying` VMs together; nan if there are none."""
        return self.gain_of(self.staying)

    def gain_of(self, vms: Sequence[str]) -> float:
        """Compute the change of the hit ratio of some VMs together.

        Parameters
        ----------
        vms : sequence of str
            Names of VMs that share the cache before and after the change.

        Returns
        -------
        float
            Hit ratio after, minus that before, in [-1, 1]; nan without VMs.

        Examples
        --------
        >>> change = mc.what_if({"a": [1, 2] * 4, "b": range(8)}, 2, leaving="b", order="rates")
        >>> change.gain_of(["a"])
        0.75
        """
        return self.after.ratio_of(vms) - self.before.ratio_of(vms)

    @property
    def others(self) -> tuple[str, ...]:
        """The `staying` VMs but the dominant one; empty if no VM is dominant."""
        dominant = self.before.dominant
        return tuple(vm for vm in self.staying if dominant not in (None, vm))

    @property
    def population(self) -> float:
        """The rest of the change of the hit ratio of all VMs, due to other VMs being counted.

        After a VM with few hits leaves, the mean of the others is higher than the mean of all was.
        No VM gains by that.
        """
        return self.after.ratio - self.before.ratio - self.gain


def what_if(
    references: SharingReferences,
    size: int | str,
    *,
    to: int | str | None = None,
    leaving: str | Sequence[str] = (),
    joining: str | Sequence[str] = (),
    order: Order = "time",
) -> WhatIf:
    """Compute the effect on each VM of resizing an LRU cache, or of removing or adding VMs.

    The result is exact without a replay: all sizes and all VMs follow from the reuse distances of
    the references before and after the change.

    Parameters
    ----------
    references : Trace, sequence of Trace, Blocks or mapping
        References of all VMs concerned; see `mcsim.locality.sharing.sharing`.
    size : int or str
        Size of the cache: blocks, ``'1GiB'``, or ``'10%'`` of the distinct blocks of the VMs that
        share it before the change.
    to : int or str, optional
        Size after the change. A size such as ``'+1GiB'``, ``'-1GiB'`` or ``'+50%'`` is relative.
        If absent, the size does not change.
    leaving : str or sequence of str
        VMs to remove: names, or patterns such as ``'web_*'``.
    joining : str or sequence of str
        VMs to add: those that do not share the cache before the change.
    order : {'time', 'rates'}
        How references of several VMs follow each other; see
        `mcsim.locality.sharing.sharing`.

    Returns
    -------
    WhatIf

    Raises
    ------
    ConfigError
        If a size is invalid, a VM is unknown, no VM is left, or as of `sharing`.

    References
    ----------
    R. L. Mattson et al., *Evaluation techniques for storage hierarchies*, IBM Systems
    Journal 9(2), 1970.

    Examples
    --------
    >>> change = mc.what_if({"a": [1, 2] * 4, "b": range(8)}, 2, leaving="b", order="rates")
    >>> change.tolist(), change.before.thrashed
    ([('a', 0.0, 0.75), ('b', 0.0, nan)], [])
    """
    return change(sharing(references, order), size, to=to, leaving=leaving, joining=joining)


def change(
    everybody: Sharing,
    size: int | str,
    *,
    to: int | str | None = None,
    leaving: str | Sequence[str] = (),
    joining: str | Sequence[str] = (),
) -> WhatIf:
    """Compute `what_if` from references that are in order."""
    come = _names("joining", joining, everybody)
    there = everybody.without(come)
    leave = _names("leaving", leaving, there)
    blocks = there.size("size", size)
    before = Situation(there, blocks)
    left = everybody.without(leave) if leave or come else there
    return WhatIf(before, Situation(left, changed_size(there, blocks, to)))


def _names(what: str, given: str | Sequence[str], of: Sharing) -> list[str]:
    patterns = (
        ([given] if given else []) if isinstance(given, str) else list_of(what, given, "names")
    )
    return names_matching(patterns, of.vms)


def changed_size(of: Sharing, size: int, to: int | str | None) -> int:
    """Return the size of a cache in blocks after a change, as `what_if` is given it."""
    if to is None:
        return size
    relative = re.fullmatch(r"\s*([+-])\s*(.*)", to) if isinstance(to, str) else None
    if relative is None:
        return of.size("to", to)
    sign, by = relative[1], relative[2]
    if percent := re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]*)?|\.[0-9]+)\s*%", by):
        difference = round(size * float(percent[1]) / 100)
    else:
        difference = of.size("to", by)
    changed = size + difference if sign == "+" else size - difference
    if changed < 1:
        raise ConfigError(f"to: {to} leaves nothing of {size:,} blocks")
    return changed
