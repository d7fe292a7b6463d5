"""`mcsim whatif`: what a larger cache, or other VMs in it, would change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from mcsim.cli.help import Sectioned
from mcsim.cli.output import Output, picture_options
from mcsim.cli.reading import vms_named
from mcsim.cli.sharing import (
    cache_of,
    deployed_read,
    notes_on,
    shared_source,
    sharing_options,
    sharing_read,
)
from mcsim.cli.stream import Report
from mcsim.cli.terminal import Form, Line
from mcsim.tables.column import column
from mcsim.tables.result_table import ResultTable

if TYPE_CHECKING:
    import pyarrow as pa

    from mcsim.figures.chart import Sheet
    from mcsim.locality.sharing import Order, Sharing
    from mcsim.locality.size_verdict import SizeVerdict
    from mcsim.locality.whatif import Situation, WhatIf
    from mcsim.tables.formatted_table import RowStyle


@click.command(cls=Sectioned)
@click.argument("files", metavar="TRACE...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--size",
    required=True,
    help="Of the cache: 1GiB, 250000 (blocks), or 10% (of the distinct blocks).",
)
@click.option("--to", metavar="SIZE", help="Its size after the change: 2GiB, +1GiB, -1GiB, +50%.")
@click.option("--leaving", metavar="NAME,...", help="VMs to remove (names or patterns).")
@click.option("--joining", metavar="NAME,...", help="VMs that are not there before it.")
@sharing_options
@picture_options
def whatif(
    files: tuple[str, ...],
    size: str,
    to: str | None,
    leaving: str | None,
    joining: str | None,
    block_size: str,
    ops: Any,
    vms: str | None,
    order: Order,
    deployed: str | None,
    output: Output,
    form: Form,
    **reading: Any,
) -> None:
    """Predict the hit ratio of an LRU cache after a change of its size or of the VMs that share it.

    Every VM of the TRACEs shares the cache before and after the change, except those of --leaving
    and --joining. Without a change, the size of the cache is rated by its distance from the knees
    of the hit ratio curve, and by the hits of an infinite cache.

    The gain is that of the VMs present before and after the change. The effect of the changed
    population on the hit ratio of all VMs is shown separately.

    With --deployed, a deployed cache is replayed at several sizes, those of the change included.

    A VM is thrashed by the others if it has fewer hits than in an equal part of the cache. All
    results are exact without a replay, because they follow from reuse distances.

    \b
    mcsim whatif web_*.csv.gz --size 10%
    mcsim whatif web_*.csv.gz --size 10% --to +50%
    mcsim whatif web_*.csv.gz --size 4MiB --leaving web_3
    mcsim whatif web_*.csv.gz --size 4MiB --to 8MiB --joining web_2 --order rates
    """  # noqa: D301
    from mcsim.locality.whatif import change, changed_size

    source = shared_source(files, block_size, ops, vms, reading)
    if deployed is None:
        sharing = sharing_read(source, order)
    else:
        of_deployed = deployed_read(source, order, deployed)
        before = of_deployed.size("--size", size)
        sharing = of_deployed.with_sizes([before, changed_size(of_deployed, before, to)])
    found = change(
        sharing,
        size,
        to=to,
        leaving=[] if leaving is None else vms_named("--leaving", leaving, sharing.vms),
        joining=[] if joining is None else vms_named("--joining", joining, sharing.vms),
    )
    _Answer(source, found).show(form, output)


_CAUSES = ("compulsory", "discarded", "capacity", "interference")


@dataclass
class _Answer(Report):
    """Report on a change of a cache, or on a cache without a change."""

    found: WhatIf

    subject = "What a cache hits, shared by its VMs"
    suffix = "-whatif"

    def heading(self) -> str:
        sharing = self.found.before.sharing
        return self.source.heading(sharing, f"shared by {cache_of(sharing)}")

    @property
    def changes(self) -> bool:
        before, after = self.found.before, self.found.after
        return before.size != after.size or before.sharing is not after.sharing

    @property
    def same_vms(self) -> bool:
        """Whether no VM leaves or joins."""
        return self.found.before.sharing.vms == self.found.after.sharing.vms

    def gains(self) -> list[str]:
        """Return lines with the changes of hit ratios."""
        found = self.found
        others = [
            f"without VM {found.before.dominant}: {100 * found.gain_of(found.others):+.2f} points"
        ]
        if self.same_vms:
            together = f"all VMs together hit {100 * found.gain:+.2f} points after the change"
            return [together, *(others if found.others else [])]
        count = len(found.staying)
        which = "VM hits" if count == 1 else f"{count} VMs hit"
        total = found.after.ratio - found.before.ratio
        lines = (
            [f"the same {which} {100 * found.gain:+.2f} points after the change"] if count else []
        )
        of_them = f", {100 * found.population:+.2f} of them" if count else ", all of them"
        return [
            *lines,
            *(others if found.others else []),
            f"all VMs together: {100 * total:+.2f} points{of_them} because other VMs are counted",
        ]

    def situations(self) -> list[tuple[str, Situation]]:
        """Return the situations to describe, with their names."""
        if not self.changes:
            return [("now", self.found.before)]
        return [("before", self.found.before), ("after", self.found.after)]

    def lines(self) -> list[Line]:
        """Return the table and what follows from it."""
        lines: list[Line] = [*self.gains()] if self.changes else []
        sharing = self.found.before.sharing
        lines += [self.heading(), *notes_on(sharing), self._table()]
        if not self.changes and cache_of(sharing) == "LRU":
            lines += ["misses by cause, % of the accesses:", self._causes()]
        for when, situation in self.situations():
            begin = f"{when}: " if self.changes else ""
            lines.append(f"{begin}{said_of(situation)}")
            thrashed = [
                f"{row.vm} ({_percent(row.shared)} instead of {_percent(row.part)})"
                for row in situation.rows[situation.rows.thrashed]
            ]
            if thrashed:
                hits = "hits" if len(thrashed) == 1 else "hit"
                lines.append(
                    f"{begin}thrashed by the others, {hits} less than in an equal part alone: "
                    f"{', '.join(thrashed)}"
                )
        return lines

    def _table(self) -> ResultTable:
        """Return the hit ratios of the VMs, and of all together."""
        when = [f"{when}: " if self.changes else "" for when, _ in self.situations()]
        parts = "equal part %" if self.changes else "equal part alone %"
        ratios = [
            of
            for at in when
            for of in (
                column(f"{at}shared %", "share"),
                column(parts, "share", name=f"{at}{parts}"),
            )
        ]
        last = column("change", "points") if self.changes else column("all of it alone %", "share")
        counts = [column("accesses", "count"), column("blocks", "count")]
        rows = [self._row(str(row.vm)) for row in self.found]
        others = not self.same_vms and bool(self.found.staying)
        rows += [*([self._staying()] if others else []), self._total()]
        styles: list[RowStyle] = ["" if i < len(self.found) else "total" for i in range(len(rows))]
        columns = [column("VM", "text"), *counts, *ratios, last]
        return ResultTable.of_rows(columns, rows, styles=styles)

    def _causes(self) -> ResultTable:
        """Return a table of the misses of each VM now, by cause."""
        rows = self.found.before.rows
        has_discards = self.found.before.sharing.discards is not None
        names = [name for name in _CAUSES if has_discards or name != "discarded"]
        means = [float((rows[n] * rows.accesses).sum() / rows.accesses.sum()) for n in names]
        cells = [[str(row.vm), 1 - row.shared, *(row[n] for n in names)] for row in rows]
        columns = [column("VM", "text"), *(column(name, "share") for name in ("misses", *names))]
        styles: list[RowStyle] = ["total" if i == len(cells) else "" for i in range(len(cells) + 1)]
        every = [*cells, ["all", sum(means), *means]]
        return ResultTable.of_rows(columns, every, styles=styles)

    def _row(self, vm: str) -> list[Any]:
        """Return the row of a VM; None where it does not share the cache."""
        rows = [situation.row_of(vm) for _, situation in self.situations()]
        known = [row for row in rows if row is not None]
        ratios = [None if row is None else row[of] for row in rows for of in ("shared", "part")]
        if self.changes:
            ratios.append(known[1].shared - known[0].shared if len(known) == 2 else None)
        else:
            ratios.append(known[0].alone)
        return [vm, known[0].accesses, known[0].distinct, *ratios]

    def _staying(self) -> list[Any]:
        """Return the row of the VMs before and after the change."""
        names = self.found.staying
        rows = [row for row in self.found.before.rows if row.vm in names]
        counts = (sum(row[name] for row in rows) for name in ("accesses", "distinct"))
        ratios = [of for _, now in self.situations() for of in (now.ratio_of(names), None)]
        return ["before and after", *counts, *ratios, self.found.gain]

    def _total(self) -> list[Any]:
        of = self.found.before.sharing
        ratios = [of for _, now in self.situations() for of in (now.ratio, now.parted)]
        gain = self.found.gain if self.changes and self.same_vms else None
        return ["all", len(of), of.unique, *ratios, gain]

    def whole(self) -> dict[str, Any]:
        """Return all numbers."""
        told = {
            when: {
                "blocks": situation.size,
                "hit_ratio": situation.ratio,
                "verdict": situation.verdict.to_dict(),
                "vms": situation.rows.to_arrow().to_pylist(),
            }
            for when, situation in self.situations()
        }
        change: dict[str, Any] = {}
        if self.changes:
            found = self.found
            known = found.gain if found.staying else None
            change["change"] = {
                "vms": list(found.staying),
                "gain": known,
                "population": None if known is None else found.population,
            }
        return {"trace": self.source.name, **told, **change}

    def sheet(self, *, log: bool) -> Sheet:
        """Draw the curve of all VMs, and the hit ratio of each."""
        from mcsim.figures.tables import before_and_after

        return before_and_after(self.situations(), log=log)

    def data(self) -> pa.Table:
        """Return a row a VM, before and after the change."""
        import pyarrow as pa

        tables = [
            situation.rows.to_arrow().add_column(0, "when", pa.array([when] * len(situation.rows)))
            for when, situation in self.situations()
        ]
        return self.source.marked(pa.concat_tables(tables))


def _percent(ratio: float) -> str:
    return f"{100 * ratio:.2f} %"


def said_of(situation: Situation) -> str:
    """Rate the size of a cache in a few lines, with the reasons."""
    verdict, of = situation.verdict, situation.sharing
    if situation.dominant is not None:
        return _without_verdict(situation)
    judged = f"{_sized(of, situation.size)} is {_JUDGED[verdict.judgement]}"
    if verdict.best == 0:
        return judged
    any_cache = "any cache does" if cache_of(of) == "LRU" else "it does at most"
    lines = [
        f"{judged}: it hits {_percent(verdict.ratio)}, {100 * verdict.of_best:.0f} % of what "
        f"{any_cache}",
        f"half of it hits {_percent(verdict.halved)}, twice as much {_percent(verdict.doubled)}",
    ]
    return "\n  ".join([*lines, *_distances(verdict, situation)])


def _without_verdict(situation: Situation) -> str:
    """State which VM decides the total, and what the others hit."""
    from mcsim.locality.dominant import share_text

    of, vm = situation.sharing, str(situation.dominant)
    others = [name for name in of.vms if name != vm]
    shared, part = (_percent(situation.ratio_of(others, name)) for name in ("shared", "part"))
    return (
        f"{_sized(of, situation.size)}: no verdict, because one VM decides the total\n"
        f"  {share_text(of, vm, situation.size)}\n"
        f"  the others hit {shared} shared, and {part} in equal parts alone"
    )


_JUDGED = {
    "good": "a good size",
    "too small": "too small",
    "too large": "too large",
    "on a plateau": "on a plateau",
    "nothing to hit": "no better than none: no block is accessed twice",
}


def _distances(verdict: SizeVerdict, situation: Situation) -> list[str]:
    """Describe the distance to the knees and to the highest hit ratio."""
    of, lines = situation.sharing, []
    if verdict.knee_below is not None:
        knee = verdict.knee_below
        lines.append(f"knee at {_sized(of, knee.capacity)}: {_percent(knee.ratio)}")
    if verdict.knee_above is not None:
        knee = verdict.knee_above
        lines.append(
            f"next knee at {_sized(of, knee.capacity)}, {knee.capacity / verdict.size:.3g} times "
            f"the size: {_percent(knee.ratio)}, {100 * (knee.ratio - verdict.ratio):+.2f} points"
        )
    most = f"needs {_sized(of, verdict.saturation)}: {_percent(verdict.best)}"
    gain = f"{100 * (verdict.best - verdict.ratio):+.2f} points"
    if cache_of(of) != "LRU":
        lines.append(f"the highest hit ratio {most}, {gain}")
    elif verdict.ratio < verdict.best:
        others = "first ones" if of.discards is None else "first ones, or of discarded blocks"
        lines.append(f"all there is to hit {most}, {gain}; other accesses are {others}")
    else:
        lines.append(f"all there is to hit would fit into {_sized(of, verdict.saturation)}")
    return lines


def _sized(of: Sharing, capacity: int) -> str:
    from mcsim.base.units import format_capacity

    return format_capacity(capacity, of.block_bytes)
