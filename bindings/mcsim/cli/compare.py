"""`mcsim compare`: hit ratios of eviction policies over cache size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mcsim.base.threads import threads_given
from mcsim.cli.compare_each import Choice, compare_each
from mcsim.cli.help import Sectioned
from mcsim.cli.options import code_options, plugin_option
from mcsim.cli.output import Output, picture_options
from mcsim.cli.policy_report import PolicyReport, memory_option, policies_option
from mcsim.cli.stream import Source, stream_options, warm_up_option
from mcsim.cli.terminal import Form, Line
from mcsim.policies import bound_among, has_foresight
from mcsim.tables.column import Column, column, percent
from mcsim.tables.result_table import ResultTable

if TYPE_CHECKING:
    import pyarrow as pa

    from mcsim.experiment.code import Permission
    from mcsim.figures.chart import Sheet
    from mcsim.locality.hit_units import HitUnit
    from mcsim.tables.formatted_table import RowStyle


@click.command(cls=Sectioned)
@click.argument("files", metavar="TRACE...", nargs=-1, required=True, type=click.Path())
@policies_option("all", classes=True)
@click.option(
    "--sizes",
    metavar="SIZE,...",
    default="0.1%,1%,10%",
    show_default=True,
    help="Of the caches: 1GiB, 250000 (blocks), 10% (of the distinct blocks) or "
    "log(FROM, TO, COUNT). If one is in bytes, objects take their sizes of the caches.",
)
@click.option(
    "--by",
    type=click.Choice(["blocks", "requests", "bytes"]),
    help="Hit ratio in the table and the picture. A request hits if all its blocks do.  [default: "
    "blocks; with --against real: requests]",
)
@click.option(
    "--against",
    metavar="NAME[(PARAM=VALUE,...)]",
    help="Show how many points of hit ratio every policy gains on this one, such as lru; or on a "
    "real cache, real(origin=FILE,cache=FILE). With --each: the baseline of reductions; lru if not "
    "given.",
)
@click.option(
    "--each",
    is_flag=True,
    help="Give each TRACE caches of its own, and show the miss ratio reduction over traces.",
)
@click.option(
    "--dry-run", is_flag=True, help="With --each: show traces and sizes of caches; replay nothing."
)
@warm_up_option
@memory_option
@code_options
@plugin_option
@stream_options(
    seed="Of policies that draw.", threads="Caches replayed at a time; all cores if not given."
)
@picture_options
def compare(
    files: tuple[str, ...],
    policies: str,
    sizes: str,
    by: HitUnit | None,
    against: str | None,
    each: bool,
    dry_run: bool,
    warm_up: str | None,
    memory: str | None,
    code: Permission,
    block_size: str,
    ops: Any,
    vms: str | None,
    seed: int,
    threads: int | None,
    output: Output,
    form: Form,
    **reading: Any,
) -> None:
    """Tabulate and draw the hit ratio of eviction policies for the references of TRACEs.

    Every policy has a cache of every size to itself, which all VMs share. The table has the best
    policy of each size in bold, except opt: it has foresight, and no policy that inserts every
    block can beat it. No policy at all can beat opt(refuse=true). With --against, table and picture
    have the differences of hit ratios.

    Deployed caches, such as dm-cache(block_kib=64), replay the requests at each size. Their units
    of space are below the table.

    A policy in Python is `module:Class`, of the working directory with --allow-code.

    With --each, every TRACE has caches of its own, and shares such as 1% are of its own blocks. The
    table has the mean and median miss ratio reduction against a baseline, the 95 % interval of the
    mean, and the share of traces won. A TRACE without requests of the chosen kind is left out.

    The memory of every cache is printed before the replay. Several sizes of lru or mru are
    replayed in one pass over the trace.

    With --against real, TRACE has the events of a dm-cache or bcache device, and FILEs those of its
    origin and its cache, as for mcsim trace cache-device. A deployed cache among the policies is a
    model of the real one. Or real(before=FILE,after=FILE) has its
    counters, as for mcsim trace counters.

    The data of --json, --csv and -o have the hit ratios of blocks, of requests and of bytes.

    \b
    mcsim compare web_0.csv.gz
    mcsim compare web_*.csv.gz --policies lru,arc,s3-fifo,opt --sizes 1GiB,4GiB,16GiB
    mcsim compare web_0.csv.gz --policies arc,s3-fifo --against lru --sizes 'log(1%, 100%, 10)'
    mcsim compare *.csv.gz --each --against lru --sizes 1%,3%,10%
    mcsim compare web_0.csv.gz --policies 'arc,arc(step=integer)' --ops all
    mcsim compare web_0.csv.gz --policies 'lru,talus,slide(policy=2q(kin=0.1)),switching'
    """  # noqa: D301
    source = Source(
        files, block_size, ops, vms, seed, threads_given(threads), reading, warm_up=warm_up
    )
    if each:
        compare_each(
            source,
            Choice(policies, sizes, against or "lru", memory, by or "blocks", code),
            form,
            output,
            dry_run=dry_run,
        )
        return
    if dry_run:
        from mcsim.base.errors import ConfigError

        raise ConfigError("--dry-run: only with --each")
    if against is not None and against.partition("(")[0].strip() == REAL:
        from mcsim.cli.compare_real import against_real

        report: PolicyReport = against_real(source, policies, sizes, memory, against, by, code)
    else:
        report = _report(source, policies, sizes, memory, against, code)
        report.unit = by or "blocks"
    report.show(form, output)


REAL = "real"
"""The baseline that is a real cache."""


def _report(
    source: Source,
    policies: str,
    sizes: str,
    memory: str | None,
    against: str | None,
    code: Permission,
) -> PolicyReport:
    """Replay the merged traces."""
    if against is None:
        return Comparison.simulated(source, policies, sizes, memory, code=code)
    from mcsim.base.errors import mistakes_in
    from mcsim.policies.specs import policies_given

    with mistakes_in("--against"):
        (baseline,) = map(str, policies_given([against], sizes=True))
    report = Gains.simulated(source, with_policy(policies, baseline), sizes, memory, code=code)
    report.baseline = baseline
    return report


class Comparison(PolicyReport):
    """A row a policy."""

    suffix = "-policies"

    def lines(self) -> list[Line]:
        """Return the summary, the heading and the table."""
        return [self.answer(), self.heading(), self.table()]

    def best(self) -> dict[int, float | None]:
        """Return the best ratio at each size; `opt`, which has foresight, does not count."""
        ratios = self.ratios(self.rows)
        is_rival = [not has_foresight(policy) for policy in self.rows.policy]
        return {
            capacity: max(ratios[chosen].tolist(), default=None)
            for capacity in self.capacities
            for chosen in [(self.rows.capacity == capacity) & is_rival]
        }

    def answer(self) -> str:
        """Name the policies with most hits, and at how many sizes."""
        best = self.best()
        wins: dict[str, int] = {}
        for row, ratio in zip(self.rows, self.ratios(self.rows).tolist(), strict=True):
            if not has_foresight(row.policy) and ratio == best[row.capacity]:
                wins[row.policy] = wins.get(row.policy, 0) + 1
        if len(wins) < 2 and len(self.policies) < 2:
            return f"One policy, `{self.policies[0]}`, at {len(self.capacities)} sizes."
        ranked = sorted(wins.items(), key=lambda each: -each[1])
        of = len(self.capacities)
        most = "most hits or as many" if sum(wins.values()) > of else "most hits"
        parts = [
            f"`{name}` {f'has {most} at {count} of {of} sizes' if i == 0 else f'at {count}'}"
            for i, (name, count) in enumerate(ranked[:3])
        ]
        return f"{', '.join(parts)}."

    def table(self) -> ResultTable:
        """Return the ratios by policy and size, and the speed and state of the caches."""
        from mcsim.tables.formatted_table import Strong

        best = self.best()
        cells = []
        for policy in self.policies:
            rows = self.of(policy)
            rate = rows.accesses.sum() / max(rows.seconds.sum(), 1e-9) / 1e6
            ratios = []
            for capacity, ratio in zip(rows.capacity, self.ratios(rows).tolist(), strict=True):
                wins = not has_foresight(policy) and ratio == best[capacity]
                ratios.append(Strong(percent(ratio)) if wins else percent(ratio))
            cells.append([policy, *ratios, f"{rate:.1f}", int(rows.bytes.max())])
        last = [column("M accesses/s"), column("state", "bytes")]
        what = "state: memory of the largest cache, or of the one pass"
        notes = [f"hit ratio{self.of_unit}, %; {what}", *self.units()]
        return ResultTable.of_rows([*self.by_size(), *last], cells, notes=notes)

    def units(self) -> list[str]:
        """Return the units of deployed caches."""
        from mcsim.policies.deployed_caches import unit_notes

        return unit_notes(self.policies)

    def by_size(self) -> list[Column]:
        """Return the column of policies, and one for each size."""
        unit = self.size_heads[-1]
        sizes = ["\n".join(self.size_cells(c)) + f" {unit}" for c in self.capacities]
        return [column("policy", "text"), *map(column, sizes)]

    @property
    def of_unit(self) -> str:
        """Words for a unit that is not the default."""
        return "" if self.unit == "blocks" else f" of {self.unit}"


def with_policy(policies: str, one: str) -> str:
    """Add a policy to others as the first, if it is missing."""
    from mcsim.base.specs import split_specs
    from mcsim.policies.specs import policies_given

    names = [item.strip() for item in split_specs(policies)]
    known = [name for name in names if ":" not in name.partition("(")[0]]
    return policies if one in map(str, policies_given(known, sizes=True)) else f"{one},{policies}"


class Gains(Comparison):
    """A row a policy, with what it gains on one of them at each size."""

    suffix = "-policies-gains"
    subject = "Gain of eviction policies over cache size"
    baseline = ""

    def gains(self, policy: str) -> list[float]:
        """Return the differences of hit ratios, by size."""
        gains: list[float] = (self.ratios(self.of(policy)) - self.own()).tolist()
        return gains

    def others(self) -> list[str]:
        """Return the policies that gain or lose."""
        return [name for name in self.policies if name != self.baseline and not has_foresight(name)]

    def answer(self) -> str:
        """Name the largest gain and loss, and count policies that gain or lose at all sizes."""
        others = self.others()
        if not others:
            return f"No policy to compare with `{self.baseline}`."
        gains = {name: self.gains(name) for name in others}
        parts = []
        for which, word, sign in ((max, "gain", 1), (min, "loss", -1)):
            points, name, at = which(
                (points, name, at)
                for name, of in gains.items()
                for points, at in zip(of, self.capacities, strict=True)
            )
            if sign * points > 0:
                size = " ".join(self.size_cells(at)[:1])
                parts.append(f"largest {word}: `{name}`, {100 * points:+.2f} points at {size}")
        always = {
            word: sum(all(sign * points > 0 for points in of) for of in gains.values())
            for word, sign in (("more", 1), ("less", -1))
        }
        at_all = [f"{count} hit {word}" for word, count in always.items() if count]
        many = f"{' and '.join(at_all)} than `{self.baseline}` at every size, of {len(others)} "
        many += "policies"
        if len(others) == 1:
            (word,) = [word for word, count in always.items() if count] or [""]
            many = f"`{others[0]}` hits {word} than `{self.baseline}` at every size"
        return "; ".join([*parts, *([many] if at_all else [])] or ["No difference"]) + "."

    def own(self) -> list[float]:
        """Return the hit ratios of the baseline, by size."""
        ratios: list[float] = self.ratios(self.of(self.baseline)).tolist()
        return ratios

    def table(self) -> ResultTable:
        """Return the differences, and the ratios of the policy that others are compared with."""
        own = [percent(ratio) for ratio in self.own()]
        others = [name for name in self.policies if name != self.baseline]
        gains = [[name, *(f"{100 * gain:+.2f}" for gain in self.gains(name))] for name in others]
        what = "hit ratio" + self.of_unit
        notes = [
            f"{self.baseline}: {what}, %; others: difference from it in points",
            *self.units(),
        ]
        rows = [[self.baseline, *own], *gains]
        styles: list[RowStyle] = ["total" if i == 0 else "" for i in range(len(rows))]
        return ResultTable.of_rows(self.by_size(), rows, notes=notes, styles=styles)

    def data(self) -> pa.Table:
        """Return all counts, a row a cache, and what it gains."""
        import pyarrow as pa

        gains = [gain for policy in self.policies for gain in self.gains(policy)]
        return super().data().append_column("gain", pa.array(gains, pa.float64()))

    def sheet(self, *, log: bool) -> Sheet:
        """Draw the differences."""
        from mcsim.figures.tables import hit_ratios

        gains = {policy: self.gains(policy) for policy in self.policies if policy != self.baseline}
        return hit_ratios(
            self.capacities,
            self.blocks.capacity_unit,
            gains,
            log=log,
            bound=bound_among(gains),
            against=self.baseline,
        )
