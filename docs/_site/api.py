"""Write the pages of the Python API, from docstrings."""

from __future__ import annotations

import inspect
from pathlib import Path

import mcsim

GROUPS = {
    "Traces": ["Trace", "Blocks", "in_bytes", "cache_counters", "cache_device"],
    "Hit ratio curves": [
        "hit_ratio_curve",
        "hit_ratio_curves",
        "estimate",
        "reuse_distances",
        "distance_histogram",
        "HitRatioCurve",
        "HitRatioCurves",
    ],
    "KV caches": [
        *("read_chains", "ChainTrace", "prefix_curve", "prefix_curves", "PrefixCurve"),
        *("prefix_replay", "prefix_tiers", "prefix_partition", "prefix_sharing"),
    ],
    "Caches and policies": [
        "simulate",
        "simulate_lines",
        "compare",
        "arena",
        "Ranking",
        "miniature",
        "misses",
        "memory_needed",
        "load_policies",
        "Policy",
        "PriorityPolicy",
    ],
    "Experiments": ["run", "sweep", "Results", "Sweep", "ResultTable", "report", "ExperimentSpec"],
    "Dividing space": [
        "optimize",
        "Solution",
        "Allocator",
        "Observation",
        "Decision",
        "Migration",
    ],
    "Sizing": [
        *("advise", "Advice", "search", "Found", "search_settings", "FoundSettings", "tune"),
        *("mix", "Mix", "what_if", "WhatIf"),
    ],
    "Published figures": ["reproduce", "Reproduction"],
    "Names": [
        "describe",
        "device_names",
        "estimator_names",
        "experiment_names",
        "format_names",
        "library_versions",
        "policy_names",
        "system_names",
        "wrapper_names",
    ],
    "Errors": [
        "McsimError",
        "ConfigError",
        "TraceError",
        "HostError",
        "OutOfMemoryError",
        "MissingOutputError",
        "InternalError",
    ],
    "Building against mcsim": ["get_include", "get_cmake_dir"],
}
"""Public names by subject; a build fails if one is missing."""


def write(root: Path, source: Path) -> None:
    """Write a page for each public name and their list.

    Raises
    ------
    ValueError
        If `GROUPS` and ``mcsim.__all__`` differ.
    """
    del root
    grouped = {name for names in GROUPS.values() for name in names}
    if difference := grouped ^ (set(mcsim.__all__) - {"__version__"}):
        raise ValueError(f"docs/_site/api.py: GROUPS and mcsim.__all__ differ: {difference}")
    folder = source / "reference" / "api"
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["# Python API", "", "`import mcsim as mc` gives all names of this page."]
    for title, names in GROUPS.items():
        lines += ["", f"## {title}", "", "| name | summary |", "|---|---|"]
        for name in names:
            (folder / f"{name}.md").write_text(page(name), encoding="utf-8")
            lines.append(f"| [`{name}`]({name}.md) | {summary(name)} |")
    every = "\n".join(name for names in GROUPS.values() for name in names)
    lines += ["", f"```{{toctree}}\n:hidden:\n\n{every}\n```", ""]
    (folder / "index.md").write_text("\n".join(lines), encoding="utf-8")


def summary(name: str) -> str:
    """Return the first paragraph of a docstring."""
    said = inspect.getdoc(getattr(mcsim, name)) or ""
    return " ".join(said.split("\n\n")[0].split()).replace("|", "\\|")


def page(name: str) -> str:
    """Return the page of a public name."""
    what = getattr(mcsim, name)
    if inspect.isclass(what):
        options = "   :members:\n   :inherited-members: BaseModel, dict, tuple"
        directive = f".. autoclass:: mcsim.{name}\n{options}"
        if issubclass(what, Exception):
            directive = f".. autoexception:: mcsim.{name}"
    else:
        directive = f".. autofunction:: mcsim.{name}"
    return f"# mcsim.{name}\n\n```{{eval-rst}}\n{directive}\n```\n"
