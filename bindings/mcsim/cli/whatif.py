"""`mcsim whatif`: what a larger cache, or other VMs in it, would change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from mcsim.cli.output import Output, picture_options
from mcsim.cli.sections import Sectioned
from mcsim.cli.shared import shared_source, sharing_options, sharing_read, sized
from mcsim.cli.stream import Report, print_plainly, table_of
from mcsim.cli.terminal import print_json
from mcsim.cli.trace import vms_named

if TYPE_CHECKING:
    from mcsim.locality.sharing import Order
    from mcsim.locality.verdict import SizeVerdict
    from mcsim.locality.whatif import Situation, WhatIf

__all__ = ["whatif"]


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
@click.option("--json", "as_json", is_flag=True, help="Print JSON: sizes in blocks.")
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
    as_json: bool,
    output: Output,
    **reading: Any,
) -> None:
    """Tell what a larger or smaller LRU cache would hit, or one that other VMs share.

    Every VM of the TRACEs shares the cache, but for those who leave after the change, or join
    by it. Without a change, the cache is judged as it is: by how far its size is from the knees
    of the hit ratio curve, and what an infinite one would hit.

    The gain is that of the VMs that are there before and after the change. The effect of the
    changed population on the hit ratio of all VMs is shown separately.

    A VM that hits less than it would in an equal part of the cache is said to be thrashed by
    the others. Nothing is replayed: all follows exactly from reuse distances. DIR gets the
    table (.csv) and a picture of the curves and of each VM.

    \b
    mcsim whatif web_*.csv.gz --size 10%
    mcsim whatif web_*.csv.gz --size 10% --to +50%
    mcsim whatif web_*.csv.gz --size 4MiB --leaving web_3
    mcsim whatif web_*.csv.gz --size 4MiB --to 8MiB --joining web_2 --order rates
    """  # noqa: D301
    from mcsim.locality.whatif import change

    source = shared_source(files, block_size, ops, vms, reading)
    sharing = sharing_read(source, order)
    found = change(
        sharing,
        size,
        to=to,
        leaving=[] if leaving is None else vms_named("--leaving", leaving, sharing.vms),
        joining=[] if joining is None else vms_named("--joining", joining, sharing.vms),
    )
    answer = _Answer(source, found)
    answer.print_json() if as_json else answer.show()
    answer.write(output, told=not as_json)


@dataclass
class _Answer(Report):
    """What is said of a change, or of a cache as it is."""

    found: WhatIf

    subject = "What a cache hits, shared by its VMs"
    suffix = "-whatif"

    def heading(self) -> str:
        return self.source.heading(self.found.before.sharing)

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
        if self.same_vms:
            return [f"all of them hit {100 * found.gain:+.2f} points after the change"]
        count = len(found.staying)
        which = "VM hits" if count == 1 else f"{count} VMs hit"
        total = found.after.ratio - found.before.ratio
        lines = (
            [f"the same {which} {100 * found.gain:+.2f} points after the change"] if count else []
        )
        of_them = f", {100 * found.population:+.2f} of them" if count else ", all of them"
        return [
            *lines,
            f"all VMs together: {100 * total:+.2f} points{of_them} because other VMs are counted",
        ]

    def situations(self) -> list[tuple[str, Situation]]:
        """Return what there is to tell of, with what it is called."""
        if not self.changes:
            return [("now", self.found.before)]
        return [("before", self.found.before), ("after", self.found.after)]

    def show(self) -> None:
        """Print the table and what follows from it."""
        before = self.found.before.sharing
        print_plainly(self.source.heading(before, "shared by LRU"), self._table())
        if self.changes:
            print_plainly(*self.gains())
        else:
            print_plainly("misses by cause, as shares of the accesses:", self._causes())
        for when, situation in self.situations():
            begin = f"{when}: " if self.changes else ""
            print_plainly(f"{begin}{said_of(situation)}")
            thrashed = [
                f"{row.vm} ({row.shared:.4f} instead of {row.part:.4f})"
                for row in situation.rows[situation.rows.thrashed]
            ]
            if thrashed:
                hits = "hits" if len(thrashed) == 1 else "hit"
                print_plainly(
                    f"{begin}thrashed by the others, {hits} less than in an equal part alone: "
                    f"{', '.join(thrashed)}"
                )

    def _table(self) -> Any:
        headings = ["VM", "accesses", "blocks"]
        if self.changes:
            for when, _ in self.situations():
                headings += [f"{when}: shared", "equal part"]
            headings.append("change")
        else:
            headings += ["shared", "equal part alone", "all of it alone"]
        table = table_of(headings, left=1)
        for row in self.found.rows:
            table.add_row(*self._cells(str(row.vm)))
        if not self.same_vms and self.found.staying:
            table.add_row(*self._staying(), style="bold")
        table.add_row(*self._total(), style="bold")
        return table

    def _causes(self) -> Any:
        """Return a table of the misses of each VM now, by cause."""
        names = ("compulsory", "capacity", "interference")
        table = table_of(["VM", "misses", *names], left=1)
        rows = self.found.before.rows
        for row in rows:
            table.add_row(str(row.vm), f"{1 - row.shared:.4f}", *(f"{row[n]:.4f}" for n in names))
        means = [float((rows[n] * rows.accesses).sum() / rows.accesses.sum()) for n in names]
        table.add_row("all", *(f"{x:.4f}" for x in (sum(means), *means)), style="bold")
        return table

    def _cells(self, vm: str) -> list[str]:
        cells: list[str] = []
        of_vm: list[Any] = []
        for _, situation in self.situations():
            rows = situation.rows[situation.rows.vm == vm]
            of_vm += list(rows)
            shown = ("shared", "part", *(() if self.changes else ("alone",)))
            cells += [f"{rows[0][name]:.4f}" if len(rows) else "-" for name in shown]
        if self.changes:
            both = len(of_vm) == 2
            cells.append(f"{100 * (of_vm[1].shared - of_vm[0].shared):+.2f}" if both else "-")
        return [vm, f"{of_vm[0].accesses:,}", f"{of_vm[0].distinct:,}", *cells]

    def _staying(self) -> list[str]:
        """Return the row of the VMs before and after the change."""
        names = self.found.staying
        rows = [row for row in self.found.before.rows if row.vm in names]
        cells = []
        for _, situation in self.situations():
            cells += [f"{situation.ratio_of(names):.4f}", ""]
        counts = (f"{sum(row[name] for row in rows):,}" for name in ("accesses", "distinct"))
        return ["before and after", *counts, *cells, f"{100 * self.found.gain:+.2f}"]

    def _total(self) -> list[str]:
        cells: list[str] = []
        for _, situation in self.situations():
            cells += [f"{situation.ratio:.4f}", f"{situation.parted:.4f}"]
        if self.changes:
            cells.append(f"{100 * self.found.gain:+.2f}" if self.same_vms else "-")
        of = self.found.before.sharing
        return ["all", f"{len(of):,}", f"{of.unique:,}", *cells]

    def print_json(self) -> None:
        """Print all there is to know."""
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
        print_json({"trace": self.source.name, **told, **change})

    def write(self, output: Output, *, told: bool) -> None:
        """Write picture and table, and print their names if that is wanted."""
        import pyarrow as pa

        from mcsim.figures.sharing import before_and_after

        tables = [
            situation.rows.to_arrow().add_column(0, "when", pa.array([when] * len(situation.rows)))
            for when, situation in self.situations()
        ]
        self.write_files(
            output,
            lambda: before_and_after(self.situations(), log=output.log),
            {".csv": self.source.marked(pa.concat_tables(tables))},
            told=told,
        )


def said_of(situation: Situation) -> str:
    """Say in a few lines whether the size of a cache is a good one, and how that is known."""
    verdict, of = situation.verdict, situation.sharing
    judged = f"{sized(of, situation.size)} is {_JUDGED[verdict.judgement]}"
    if verdict.best == 0:
        return judged
    lines = [
        f"{judged}: it hits {verdict.ratio:.4f}, {100 * verdict.of_best:.0f} % of what any cache "
        "does",
        f"half of it hits {verdict.halved:.4f}, twice as much {verdict.doubled:.4f}",
    ]
    return "\n  ".join([*lines, *_distances(verdict, situation)])


_JUDGED = {
    "good": "a good size",
    "too small": "too small",
    "too large": "too large",
    "on a plateau": "on a plateau",
    "nothing to hit": "no better than none: no block is accessed twice",
}


def _distances(verdict: SizeVerdict, situation: Situation) -> list[str]:
    """Say how far it is to the knees and to all there is to hit."""
    of, lines = situation.sharing, []
    if verdict.knee_below is not None:
        knee = verdict.knee_below
        lines.append(f"knee at {sized(of, knee.capacity)}: {knee.ratio:.4f}")
    if verdict.knee_above is not None:
        knee = verdict.knee_above
        lines.append(
            f"next knee at {sized(of, knee.capacity)}, {knee.capacity / verdict.size:.3g} times "
            f"the size: {knee.ratio:.4f}, {100 * (knee.ratio - verdict.ratio):+.2f} points"
        )
    if verdict.ratio < verdict.best:
        lines.append(
            f"all there is to hit needs {sized(of, verdict.saturation)}: {verdict.best:.4f}, "
            f"{100 * (verdict.best - verdict.ratio):+.2f} points; other accesses are first ones"
        )
    else:
        lines.append(f"all there is to hit would fit into {sized(of, verdict.saturation)}")
    return lines
