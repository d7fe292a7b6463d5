"""Differences between two runs: in their configurations and in their results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mcsim.results.data_paths import FIELDS, differing_fields
from mcsim.results.results import Results
from mcsim.results.schemas import SCHEMAS, with_every_interval
from mcsim.results.tables import comparison

Sameness = Literal["equal bytes", "equal values", "different"]

# Keys for people or for figures, on which no result depends.
NO_CAUSE = ("name", "description", "figures", "page", "figure_formats")


@dataclass(frozen=True)
class Change:
    """A key of the configuration that differs between two runs.

    Attributes
    ----------
    key : str
        Key as of `--set`, but systems and VMs by their names: ``'systems.lru.legacy'``.
    a, b : object
        Values in the two runs; None if a run lacks the key.
    """

    key: str
    a: Any
    b: Any


@dataclass(frozen=True)
class Difference:
    """Differences between two runs, as `difference` finds them.

    Attributes
    ----------
    configuration : sequence of Change
        Changes of all that can change a result: the experiment, the requests
        (``traces.VM.digest``), the code that it names, and the versions of mcsim and of results.
    tables : mapping of str to {'equal bytes', 'equal values', 'different'}
        Comparison of each table of `SCHEMAS`, by name.
    results : sequence of mapping
        Rows by ``system`` and ``vm`` (None: all together) with different numbers. The columns
        ``hit_ratio``, ``mean_latency_ns``, and ``writes``, ``policy`` and ``chain`` of
        `data_paths` are pairs. A value is None if its run has no such row.
    builds : tuple of str
        Build of each run. Results of different builds may differ.
    """

    configuration: Sequence[Change]
    tables: Mapping[str, Sameness]
    results: Sequence[Mapping[str, Any]]
    builds: tuple[str, str]

    @property
    def same_results(self) -> bool:
        """Return whether every table has the same values."""
        return all(sameness != "different" for sameness in self.tables.values())

    @property
    def warnings(self) -> list[str]:
        """Return a warning for each system with different write modes in the two runs."""
        modes = {row["system"]: row["writes"] for row in self.results if all(row["writes"])}
        return [
            f"warning: write modes differ: {system} ({a} in A, {b} in B)"
            for system, (a, b) in modes.items()
            if a != b
        ]

    def differing_fields(self) -> dict[str, str]:
        """Return the columns of data paths, with headings, that differ between rows."""
        return differing_fields(
            {name: row[name][run] for name in FIELDS} for row in self.results for run in (0, 1)
        )

    def __bool__(self) -> bool:
        """Return whether anything differs."""
        return bool(self.configuration) or not self.same_results


def difference(a: Results, b: Results) -> Difference:
    """Find the differences between two runs, after verifying the checksums of all files.

    Raises
    ------
    ConfigError
        If a file of either run is damaged.
    """
    a.check()
    b.check()
    return Difference(
        list(_changes(_causes(a), _causes(b))),
        {name: _sameness(name, a, b) for name in SCHEMAS},
        list(_compared(a, b)),
        (str(a.environment.get("build")), str(b.environment.get("build"))),
    )


def _causes(of: Results) -> dict[str, Any]:
    """Return all configuration that a result may depend on, by dotted keys."""
    spec = {key: value for key, value in of.spec.expanded().items() if key not in NO_CAUSE}
    environment = of.environment
    measured = ("vm", "requests", "accesses", "unique_blocks")
    traces = {
        entry["vm"]: {key: value for key, value in entry.items() if key not in measured}
        for entry in environment.get("traces", [])
    }
    # Systems and VMs are compared by name, because their order may differ.
    titles = [system.title for system in of.spec.systems]
    spec["systems"] = dict(zip(titles, spec["systems"], strict=True))
    version = {
        "mcsim": environment.get("mcsim"),
        "results_version": of.version,
        "code": environment.get("code", {}),
    }
    return dict(_flat("", spec | {"traces": traces} | version))


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from _flat(f"{prefix}.{key}" if prefix else str(key), below)
    elif isinstance(value, list):
        for index, below in enumerate(value):
            named = below.get("name") if isinstance(below, Mapping) else None
            yield from _flat(f"{prefix}.{named or index}", below)
    else:
        yield prefix, value


def _changes(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Change]:
    for key in dict.fromkeys([*a, *b]):
        if a.get(key) != b.get(key):
            yield Change(key, a.get(key), b.get(key))


def _sameness(name: str, a: Results, b: Results) -> Sameness:
    digest = a.digest(name)
    if digest is not None and digest == b.digest(name):
        return "equal bytes"
    ours, theirs = (with_every_interval(of.table(name), of.spec.interval.length) for of in (a, b))
    return "equal values" if ours.equals(theirs) else "different"


def _compared(a: Results, b: Results) -> Iterator[dict[str, Any]]:
    rows_a, rows_b = (
        {(row["system"], row["vm"]): row for row in comparison(of).to_pylist()} for of in (a, b)
    )
    for system, vm in dict.fromkeys([*rows_a, *rows_b]):
        pair = [rows.get((system, vm), {}) for rows in (rows_a, rows_b)]
        numbers = {
            name: tuple(row.get(name) for row in pair) for name in ("hit_ratio", "mean_latency_ns")
        }
        if any(left != right for left, right in numbers.values()):
            paths = {name: tuple(row.get(name) for row in pair) for name in FIELDS}
            yield {"system": system, "vm": vm, **numbers, **paths}
