"""`mcsim size`: the smallest cache that reaches a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from mcsim.base.threads import threads_given
from mcsim.cli.curve_report import ratio_text
from mcsim.cli.sections import Sectioned
from mcsim.cli.shared import sized
from mcsim.cli.stream import (
    Source,
    curve_options,
    estimator_option,
    make_curves,
    print_plainly,
    share_given,
    table_of,
)
from mcsim.cli.terminal import print_json

if TYPE_CHECKING:
    from mcsim.config.devices import Device
    from mcsim.locality.curve import HitRatioCurve

__all__ = ["size"]


@click.command(cls=Sectioned)
@click.argument("file", metavar="TRACE", type=click.Path())
@click.option("--target-hit-ratio", metavar="RATIO", help="Such as 0.8 or 80%.")
@click.option("--target-latency", metavar="TIME", help="Mean latency of an access, such as 2ms.")
@click.option(
    "--tier",
    default="flash",
    show_default=True,
    help="Device of the cache (see mcsim list).",
)
@click.option("--backend", default="hdd", show_default=True, help="Device behind the cache.")
@estimator_option
@curve_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON: sizes in blocks, times in ns.")
def size(
    file: str,
    target_hit_ratio: str | None,
    target_latency: str | None,
    tier: str,
    backend: str,
    estimator: str,
    block_size: str,
    ops: Any,
    vms: str | None,
    seed: int,
    threads: int | None,
    as_json: bool,
    **reading: Any,
) -> None:
    """Find the smallest LRU cache for TRACE that reaches a hit ratio or a mean latency.

    An access takes the cache device's time to read a block if it hits, and the backend's if
    it misses. Also shown are the knees of the curve: sizes after which more space is worth
    much less.

    Exit code 2 says that no cache is large enough, and what the best one reaches.

    \b
    mcsim size web_0.csv.gz --target-hit-ratio 80%
    mcsim size web_0.csv.gz --target-latency 2ms --tier flash --backend hdd
    """  # noqa: D301
    from mcsim.base.errors import ConfigError
    from mcsim.config.devices import device_named
    from mcsim.locality.measure import parse_estimator

    latency = _Latency(device_named("--tier", tier), device_named("--backend", backend))
    target = _target(target_hit_ratio, target_latency, latency)
    spec = parse_estimator(estimator)
    source = Source((file,), block_size, ops, vms, seed, threads_given(threads), reading)
    blocks, (measured,) = make_curves(source, [spec], lambda of: [of])
    answer = _Answer(measured.curve, target, latency)
    if as_json:
        print_json(answer.to_dict() | {"trace": source.name})
    else:
        answer.show(source.heading(blocks, str(spec)))
    if answer.blocks is None:
        raise ConfigError(answer.refusal())


@dataclass(frozen=True)
class _Latency:
    """The mean latency of an access that hits in one device or reads from another."""

    tier: Device
    backend: Device

    def __post_init__(self) -> None:
        from mcsim.base.errors import ConfigError

        if self.hit_ns >= self.miss_ns:
            raise ConfigError(
                f"--tier: {self.tier.name} is not faster than the backend {self.backend.name}"
            )

    @property
    def hit_ns(self) -> float:
        return self.tier.read_ns.middle

    @property
    def miss_ns(self) -> float:
        return self.backend.read_ns.middle

    def of(self, ratio: float) -> float:
        return ratio * self.hit_ns + (1 - ratio) * self.miss_ns

    def ratio_for(self, ns: float) -> float:
        """Return the hit ratio at which the mean latency is so long; perhaps none has it."""
        return (self.miss_ns - ns) / (self.miss_ns - self.hit_ns)


@dataclass(frozen=True)
class _Target:
    """What is wanted, in words and as the hit ratio that it takes."""

    text: str
    ratio: float
    latency_ns: int | None = None


def _target(ratio: str | None, latency: str | None, model: _Latency) -> _Target:
    from mcsim.base.errors import ConfigError, mistakes_in
    from mcsim.base.units import parse_duration

    if (ratio is None) == (latency is None):
        raise ConfigError("give one of --target-hit-ratio and --target-latency")
    if ratio is not None:
        value = share_given("--target-hit-ratio", ratio)
        return _Target(f"a hit ratio of {value:g}", value)
    with mistakes_in("--target-latency"):
        ns = parse_duration(latency)
    return _Target(f"a mean latency of {latency}", max(0.0, model.ratio_for(ns)), ns)


@dataclass(frozen=True)
class _Answer:
    """The smallest cache that reaches a target, and the knees of the curve."""

    curve: HitRatioCurve
    target: _Target
    latency: _Latency

    @property
    def blocks(self) -> int | None:
        return self.curve.capacity_for(self.target.ratio) if self.target.ratio <= 1 else None

    @property
    def range(self) -> tuple[int | None, int | None] | None:
        if self.target.ratio > 1:
            return None
        return self.curve.capacity_range_for(self.target.ratio)

    def refusal(self) -> str:
        """Say that no size will do, and what the best one reaches."""
        from mcsim.base.units import format_blocks, format_latency

        best = self.curve.best_ratio
        if self.target.ratio > 1:
            return (
                f"no cache reaches {self.target.text}: {self.latency.tier.name} itself takes "
                f"{format_latency(self.latency.hit_ns)}"
            )
        reached = f"hit ratio {best:.4f}"
        if self.target.latency_ns is not None:
            reached = f"{format_latency(self.latency.of(best))} ({reached})"
        return (
            f"no cache reaches {self.target.text}: the best is {reached}, at "
            f"{format_blocks(self.curve.saturation)}; the other accesses are first ones"
        )

    def to_dict(self) -> dict[str, Any]:
        curve = self.curve
        return {
            "target_hit_ratio": self.target.ratio,
            "target_latency_ns": self.target.latency_ns,
            "tier": self.latency.tier.name,
            "backend": self.latency.backend.name,
            "estimator": curve.estimator,
            "block_bytes": curve.block_bytes,
            "blocks": self.blocks,
            "blocks_range": self.range,
            "resolved": None if self.blocks is None else self.blocks >= curve.resolved_from,
            "best_hit_ratio": curve.best_ratio,
            "best_latency_ns": self.latency.of(curve.best_ratio),
            "saturation_blocks": curve.saturation,
            "knees": [
                {
                    "blocks": knee.capacity,
                    "hit_ratio": knee.ratio,
                    "latency_ns": self.latency.of(knee.ratio),
                }
                for knee in curve.knees()
            ],
            "note": curve.note,
        }

    def show(self, heading: str) -> None:
        say = print_plainly
        say(heading)
        if self.blocks is not None:
            say(f"{self.target.text}: {sized(self.curve, self.blocks)}")
            if self.blocks < self.curve.resolved_from:
                say(
                    f"~ that is below what {self.curve.estimator} resolves, "
                    f"{sized(self.curve, round(self.curve.resolved_from))}"
                )
        if self.range is not None:
            ends = ("no size" if end is None else sized(self.curve, end) for end in self.range)
            low, high = ends
            say(f"by its 95 % band: from {low} to {high}")
        if self.curve.note:
            say(self.curve.note)
        say(self._table())

    def _table(self) -> Any:
        from mcsim.base.units import format_latency, format_size

        assert self.curve.block_bytes is not None
        marked = {knee.capacity: "knee" for knee in self.curve.knees()}
        marked.setdefault(self.curve.saturation, "all there is to hit")
        if self.blocks is not None:
            marked[self.blocks] = "the target"
        device = f"{self.latency.tier.name}, {self.latency.backend.name}"
        table = table_of(["size", "blocks", "hit ratio", f"mean latency ({device})", ""])
        for blocks in sorted(marked):
            ratio = self.curve.at(blocks)
            table.add_row(
                format_size(blocks * self.curve.block_bytes),
                f"{blocks:,}",
                ratio_text(self.curve, blocks),
                format_latency(self.latency.of(ratio)),
                marked[blocks],
                style="bold" if blocks == self.blocks else "",
            )
        table.columns[-1].justify = "left"
        return table
