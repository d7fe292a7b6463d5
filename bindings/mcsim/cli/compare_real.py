"""`mcsim compare --against real`: compare policies and models with a real cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcsim.cli.compare import REAL, Gains
from mcsim.cli.stream import Source
from mcsim.tables.column import percent

if TYPE_CHECKING:
    from mcsim.experiment.code import Permission
    from mcsim.locality.hit_units import HitUnit


def against_real(
    source: Source,
    policies: str,
    sizes: str,
    memory: str | None,
    against: str,
    by: HitUnit | None,
    code: Permission,
) -> GainsOnReal:
    """Replay the requests of a cache device, and compare with what it did."""
    from mcsim.base.errors import ConfigError, mistakes_in
    from mcsim.base.specs import parse_spec
    from mcsim.cli.reading import in_words_of_the_shell
    from mcsim.policies.comparison import real_ratio_of
    from mcsim.references.blocks import Blocks
    from mcsim.traces.cache_counters import cache_counters
    from mcsim.traces.cache_device import cache_device, real_hit_ratio
    from mcsim.traces.find import files_of

    _, files = parse_spec(against, "baseline", [REAL])
    has_counters = set(files) == {"before", "after"}
    if not has_counters and (unknown := sorted(set(files) - {"origin", "cache"})):
        raise ConfigError(
            f"--against: {REAL} has origin and cache, or before and after, not {unknown[0]}"
        )
    if len(source.files) > 1:
        raise ConfigError("--against real: one TRACE, the events of the cache device")
    found_files = files_of([source.files[0]], source.reading["trace_dirs"])
    device = found_files[0] if len(found_files) == 1 else source.files[0]
    with mistakes_in("--against"):
        found = cache_counters(**files) if has_counters else cache_device(device, **files)
    unit: HitUnit = by or "requests"
    with in_words_of_the_shell({"against: ": "--against real: ", "by: ": "--by: "}):
        real_hit_ratio(found, source.ops, unit)  # checked before the work begins
        report = GainsOnReal.simulated(source, policies, sizes, memory, code=code)
        assert isinstance(report.blocks, Blocks)
        report.unit, report.real = unit, real_ratio_of(report.blocks, found, unit)
    return report


class GainsOnReal(Gains):
    """A row a policy, with its gain on a real cache of unknown size."""

    baseline = REAL
    real: float
    """Its hit ratio."""

    def own(self) -> list[float]:
        """Return the hit ratio, once for each size."""
        return [self.real] * len(self.capacities)

    def models(self) -> list[str]:
        """Return the deployed caches among the policies."""
        from mcsim.base.deployed import RULES

        return [name for name in self.policies if name.partition("(")[0] in RULES]

    def others(self) -> list[str]:
        """Return the policies that gain or lose; a model only differs."""
        models = self.models()
        return [name for name in super().others() if name not in models]

    def answer(self) -> str:
        """Compare models with the real cache, where they differ most, and then name gains."""
        sentences = []
        for name in self.models():
            points, at = max(
                zip(self.gains(name), self.capacities, strict=True), key=lambda of: abs(of[0])
            )
            size = " ".join(self.size_cells(at)[:1])
            sentences.append(
                f"Model `{name}` hits {percent(self.real + points)} %, the real cache "
                f"{percent(self.real)} % ({100 * points:+.2f} points at {size})."
            )
        if self.others() or not sentences:
            gains = super().answer()
            sentences.append(gains[0].upper() + gains[1:] if sentences else gains)
        return " ".join(sentences)

    def whole(self) -> Any:
        """Return the rows with the hit ratio."""
        return super().whole() | {"real": self.real}
