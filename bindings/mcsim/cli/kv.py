"""`mcsim kv`: prefix hits of KV caches of language models."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

from mcsim.cli.help import Sectioned
from mcsim.cli.options import quiet_option, reporter_asked, sizes_given, trace_dirs_option
from mcsim.cli.output import Output, picture_options
from mcsim.cli.stream import Report, Source
from mcsim.cli.terminal import Form, Line
from mcsim.tables.column import column, percent
from mcsim.tables.result_table import ResultTable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa

    from mcsim.base.progress import Reporter
    from mcsim.figures.chart import Sheet
    from mcsim.locality.prefix_depths import FullHit
    from mcsim.locality.prefixes import Order, PrefixCurve
    from mcsim.policies.prefix_replays import Pin
    from mcsim.traces.chain_lines import IdRule
    from mcsim.traces.chains import ChainTrace


@click.command(cls=Sectioned)
@click.argument("file", metavar="TRACE", type=click.Path())
@click.option("--target-token-hits", "target", metavar="RATIO", help="Such as 0.8 or 80%.")
@click.option(
    "--sizes",
    metavar="SIZE,...",
    help="Rows of the table: 250000 (blocks), 10% (of the distinct blocks), log(FROM, TO, COUNT) "
    "or, with bytes per token, 100GiB.",
)
@click.option("--bytes-per-token", metavar="SIZE", help="Of all layers, such as 128KiB.")
@click.option(
    "--model",
    metavar="KEY=VALUE,...",
    help="Or the model: layers=32,kv_heads=8,head_size=128,value_bytes=2.",
)
@click.option("--block-tokens", metavar="N", type=click.IntRange(min=1), help="Tokens of a block.")
@click.option(
    "--ids",
    type=click.Choice(["auto", "prefix", "content"]),
    default="auto",
    hidden=True,
    help="What an id names: a prefix, or the content of a block.",
)
@click.option(
    "--field",
    "fields",
    metavar="ROLE=NAME",
    multiple=True,
    hidden=True,
    help="Field of ids, tokens, output, time, finish, block_tokens, tenant or session.",
)
@click.option(
    "--warm-up",
    "warm_up",
    metavar="LENGTH",
    default="0",
    help="First requests, not counted: a number, or a share such as 50%.",
)
@click.option(
    "--order",
    "touches",
    type=click.Choice(["tail-first", "head-first"]),
    default="tail-first",
    hidden=True,
    help="In which order a request touches its blocks.",
)
@click.option(
    "--full-hit",
    type=click.Choice(["all", "minus-one-block", "minus-one-token"]),
    default="all",
    show_default=True,
    help="What hits if all tokens of a request are cached.",
)
@click.option(
    "--policies",
    metavar="NAME[(PARAM=VALUE,...)],...",
    help="A row for each policy: leaf-lru, leaf-lfu, leaf-fifo, sieve, ..., and bound.",
)
@click.option(
    "--pin",
    type=click.Choice(["none", "arrival-to-finish"]),
    default="none",
    hidden=True,
    help="With --policies: when the blocks of a request cannot be evicted.",
)
@click.option("--per-tenant", is_flag=True, help="A row for each tenant of the shared cache.")
@click.option(
    "--rate",
    metavar="SHARE",
    hidden=True,
    help="Sample this share of the blocks; without error bands. Only for the curve.",
)
@click.option("--interval", metavar="LENGTH", help="A row for each interval, such as 1h.")
@click.option(
    "--sharing", is_flag=True, help="The tokens by the requests that have read them before."
)
@click.option("--partition", metavar="SIZE", help="Divide a cache of this size among tenants.")
@click.option(
    "--optimizer",
    metavar="NAME",
    default="exact",
    hidden=True,
    help="With --partition: how to divide, such as equal or greedy.",
)
@click.option(
    "--tiers", metavar="NAME=SIZE,...", help="A row for each tier: gpu=80GiB,host=1TiB,flash=8TiB."
)
@click.option(
    "--tier-rule",
    type=click.Choice(["exclusive", "inclusive", "copy-on-eviction"]),
    default="exclusive",
    hidden=True,
    help="Which tiers have a block.",
)
@click.option(
    "--bandwidth",
    metavar="NAME=SIZE,...",
    hidden=True,
    help="Bytes a second of loads from tiers: host=25GB,flash=6GB.",
)
@click.option(
    "--prefill",
    metavar="TOKENS",
    type=float,
    hidden=True,
    help="Tokens a second that are computed, for the time that hits save.",
)
@trace_dirs_option()
@quiet_option
@picture_options
def kv(
    file: str,
    target: str | None,
    sizes: str | None,
    policies: str | None,
    pin: Pin,
    per_tenant: bool,
    sharing: bool,
    partition: str | None,
    output: Output,
    form: Form,
    **given: Any,
) -> None:
    """Tabulate and draw the prefix hits of a KV cache with LRU over its size, for TRACE.

    TRACE is JSON Lines with a list of block ids in each line: Mooncake, Qwen-Bailian, LMCache, or
    logs of LiteLLM. A block hits if it and all blocks before it in its request are cached. Tails
    are evicted before heads, as in vLLM and SGLang.

    With --target-token-hits, the first line is the smallest cache that reaches the ratio. Exit code
    2 means that no cache is large enough; the message has the best possible value.

    With --policies, the table has token hits of replays: policies with leaf- in their name evict
    blocks without cached successors, others any block. No cache exceeds bound.

    With -o DIR, the command writes a picture, the table (.csv) and all steps of the curve (.arrow).

    \b
    mcsim kv chat.jsonl --target-token-hits 30%
    mcsim kv chat.jsonl --bytes-per-token 128KiB --sizes 100GiB,1TiB
    mcsim kv chat.jsonl --bytes-per-token 128KiB --tiers gpu=80GiB,host=1TiB
    mcsim kv chat.jsonl --policies leaf-lru,leaf-lfu,s3-fifo,bound --sizes 1%,10%
    """  # noqa: D301
    from mcsim.base.errors import ConfigError
    from mcsim.base.sizes import share_given
    from mcsim.cli.kv_options import check_together, options_given
    from mcsim.cli.kv_tables import check_bytes, parts_of

    check_together(options_given())
    ratio = None if target is None else share_given("--target-token-hits", target, zero=True)
    tiers = {name: given.pop(name) for name in ("tiers", "tier_rule", "bandwidth", "prefill")}
    modes = {"--policies": policies, "--sharing": sharing}
    modes |= {"--partition": partition, "--tiers": tiers["tiers"]}
    in_bytes = {"--sizes": sizes, "--tiers": tiers["tiers"], "--partition": partition}
    check_bytes(in_bytes, has_bytes=bool(given["bytes_per_token"] or given["model"]))
    sizes_given(sizes or "1", 1, 1)  # mistakes in them end the work at once
    reporter = reporter_asked()
    with reporter.live():
        reading = {name: value for name, value in given.items() if name != "optimizer"}
        if partition is not None:
            reading["interval"] = None  # of the divisions
        report = _read_and_counted(file, reporter, per_tenant=per_tenant, **reading)
        report.sizes, report.ratio = sizes, ratio
        options = {**given, **tiers, "pin": pin, "sizes": sizes}
        report.parts = parts_of(report.trace, report.curve, modes, options)
    report.show(form, output)
    if ratio is not None and report.answer_blocks is None:
        raise ConfigError(
            f"--target-token-hits: no cache reaches {target}: the best is "
            f"{percent(report.curve.ceiling)} % of the tokens; the others are first ones"
        )


def _read_and_counted(
    name: str,
    reporter: Reporter,
    *,
    trace_dirs: list[Path],
    per_tenant: bool,
    interval: str | None,
    bytes_per_token: str | None,
    model: str | None,
    block_tokens: int | None,
    ids: IdRule,
    fields: tuple[str, ...],
    warm_up: str,
    touches: Order,
    full_hit: FullHit,
    rate: str | None,
) -> _Prefixes:
    from mcsim.cli.kv_tables import token_bytes_given
    from mcsim.locality.prefixes import prefix_curve, prefix_curves
    from mcsim.traces.chains import read_chains

    token_bytes = token_bytes_given(bytes_per_token, model)
    file = file_of_chains([name], trace_dirs)
    with reporter.stage("read", total=1, unit="files"):
        trace = read_chains(file, ids=ids, block_tokens=block_tokens, fields=_fields(fields))
    for note in trace.notes:
        reporter.note(note)
    rules: dict[str, Any] = {
        "order": touches,
        "full_hit": full_hit,
        "warm_up": warm_up,
        "block_bytes": None if token_bytes is None else token_bytes * trace.block_tokens,
    }
    with reporter.stage("count", total=len(trace), unit="requests"):
        curve = prefix_curve(trace, rate=rate or 1, **rules)
        has_parts = per_tenant or interval is not None
        tenants = prefix_curves(trace, interval=interval, **rules) if has_parts else {}
    source = Source((str(file),), "4KiB", "reads", None, 1, 1, {}, seconds=reporter.seconds)
    by = "tenant" if interval is None else "interval"
    return _Prefixes(source, trace, curve, tenants=tenants, by=by)


def file_of_chains(names: Sequence[str], folders: list[Path]) -> Path:
    """Return the one file that TRACE names."""
    from mcsim.base.errors import ConfigError
    from mcsim.traces.find import files_of

    files = files_of(list(names), folders)
    if len(files) != 1 or not files[0].is_file():
        raise ConfigError(f"{names[0]}: expected one regular file of chains")
    return files[0]


def _fields(given: tuple[str, ...]) -> dict[str, str]:
    from mcsim.base.errors import ConfigError

    fields = {}
    for text in given:
        role, equals, name = text.partition("=")
        if not equals or not name:
            raise ConfigError(f"--field {text}: expected ROLE=NAME")
        fields[role] = name
    return fields


@dataclass
class _Prefixes(Report):
    """A row a capacity; with tenants, a row a tenant."""

    trace: ChainTrace
    curve: PrefixCurve
    sizes: str | None = None
    ratio: float | None = None
    tenants: dict[str, PrefixCurve] = field(default_factory=dict)
    by: str = "tenant"
    parts: ResultTable | None = None
    """Tiers, or parts of tenants."""

    suffix = "-kv"
    subject = "Prefix hits of LRU over cache size"

    def heading(self) -> str:
        of, curve = self.trace, self.curve
        after = f" after {len(of) - curve.requests:,}" if curve.requests < len(of) else ""
        return (
            f"{of.label}: {curve.requests:,} requests{after}, {curve.blocks:,} blocks of "
            f"{of.block_tokens:,} tokens, {of.distinct:,} distinct; at most "
            f"{percent(curve.ceiling)} % of the tokens hit"
        )

    @cached_property
    def capacities(self) -> list[int]:
        """The capacities of the table, in blocks."""
        if self.sizes is not None:
            return sizes_given(self.sizes, max(1, self.trace.distinct), self.curve.block_bytes)
        count = 5 if self.tenants else 14
        end = int(self.curve.capacities[-1]) if len(self.curve.capacities) else 1
        powers = [1 << k for k in range(64) if 1 << k < end][-count:]
        more = [] if self.answer_blocks is None else [self.answer_blocks]
        return sorted({*powers, end, *more})

    @cached_property
    def answer_blocks(self) -> int | None:
        """The smallest capacity that reaches the target."""
        return None if self.ratio is None else self.curve.capacity_for(self.ratio)

    @cached_property
    def rows(self) -> ResultTable:
        """The hits at the capacities."""
        return self.curve.table(self.capacities)

    def lines(self) -> list[Line]:
        from mcsim.base.units import format_size

        lines: list[Line] = []
        if self.ratio is not None and (blocks := self.answer_blocks) is not None:
            size = self.curve.block_bytes
            text = f"{blocks:,} blocks" + (f" ({format_size(blocks * size)})" if size else "")
            lines.append(f"{100 * self.ratio:.4g} % of the tokens: {text}")
        table = self._by_tenant() if self.tenants else self.parts or self.rows
        if table.kind == "prefix-policies":
            from mcsim.cli.kv_tables import by_policy

            table = by_policy(table)
        return [*lines, self.heading(), table]

    def _by_tenant(self) -> ResultTable:
        names = [f"{capacity:,}" for capacity in self.capacities]
        columns = [
            *(column(self.by, "text"), column("requests", "count"), column("tokens", "count")),
            *(column(name, name=f"size {at}") for at, name in enumerate(names)),
        ]
        every = {**self.tenants, "all": self.curve}
        rows = [
            [
                *(name, curve.requests, curve.tokens),
                *map(percent, curve.table(self.capacities).token_hit_ratio),
            ]
            for name, curve in every.items()
        ]
        notes = ["token hits in %, by blocks of the shared cache"]
        return ResultTable.of_rows(columns, rows, notes=notes)

    def data(self) -> pa.Table:
        import pyarrow as pa

        if not self.tenants:
            return (self.parts or self.rows).to_arrow()
        return pa.concat_tables(
            curve.table(self.capacities).to_arrow().append_column(
                self.by, pa.array([name] * len(self.capacities), pa.string())
            )
            for name, curve in self.tenants.items()
        )  # fmt: skip

    def whole(self) -> Any:
        known = ("requests", "blocks", "tokens", "distinct", "block_tokens", "block_bytes")
        return {
            "trace": self.trace.label,
            **{name: getattr(self.curve, name) for name in known},
            "ceiling": self.curve.ceiling,
            "target_token_hits": self.ratio,
            "target_blocks": self.answer_blocks,
            "notes": list(self.trace.notes),
            "stages": self.source.seconds,
            "rows": self.data().to_pylist(),
        }

    def tables(self, *, log: bool) -> dict[str, pa.Table]:
        return {".csv": self.data(), ".arrow": self.curve.table(self.curve.capacities).to_arrow()}

    def sheet(self, *, log: bool) -> Sheet:
        from mcsim.figures.locality import curves

        if self.parts is not None and self.parts.kind == "prefix-policies":
            from mcsim.figures.tables import prefix_policies

            return prefix_policies(self.parts, log=log, block_bytes=self.curve.block_bytes)
        if self.tenants:
            named = [(name, curve.of("tokens")) for name, curve in self.tenants.items()]
            return curves([*named, ("all", self.curve.of("tokens"))], log=log, together="all")
        of = self.curve.of
        return curves([("tokens", of("tokens")), ("blocks", of("blocks"))], log=log)
