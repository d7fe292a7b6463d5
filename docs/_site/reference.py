"""Write a page for each system, policy, filter, estimator, optimiser and meter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from _site.sources import components, measured, tests_of
from mcsim.experiment.catalogue import catalogue, default_of, range_of


@dataclass(frozen=True)
class Kind:
    """A kind of component, with a folder of pages.

    Attributes
    ----------
    folder : str
        Folder of its pages, and of its notes in docs/notes.
    title : str
    source : str
        Folder of its headers.
    tests : tuple of str
        Folders of the tests that compare its results.
    intro : str
        First paragraph of the list.
    """

    folder: str
    title: str
    source: str
    tests: tuple[str, ...]
    intro: str


KINDS = {
    "systems": Kind(
        "systems",
        "Systems",
        "policies/allocation",
        ("tests/policies", "tests/python/experiment", "tests/python/naive_"),
        "A system decides how requests become accesses, which tiers serve them and how the VMs "
        "share the space. Name it under `systems:` in an experiment.",
    ),
    "eviction policies": Kind(
        "policies",
        "Eviction policies",
        "policies/eviction",
        ("tests/policies", "tests/support"),
        "An eviction policy chooses the block that leaves a full cache. Name it with "
        "`mcsim compare --policies`, or as `policy:` of a system.",
    ),
    "admission filters": Kind(
        "admission",
        "Admission filters",
        "policies/hosts",
        ("tests/policies/hosts", "tests/core/engine", "tests/support"),
        "An admission filter decides which missed blocks enter a tier. Name it as `admission:` of "
        "a system.",
    ),
    "prefetchers": Kind(
        "prefetch",
        "Prefetchers",
        "policies/prefetch",
        ("tests/python/experiment", "tests/python/naive_"),
        "A prefetcher decides which blocks a tier reads before they are accessed. Name it as "
        "`prefetch:` of a system.",
    ),
    "estimators": Kind(
        "estimators",
        "Estimators",
        "core/locality/estimators",
        ("tests/core/locality", "tests/python/locality", "tests/support"),
        "An estimator computes the hit ratio curve of LRU. Name it with `mcsim mrc --estimator`.",
    ),
    "optimizers": Kind(
        "optimizers",
        "Optimisers",
        "optimizers",
        ("tests/optimizers", "tests/python/optimizers", "tests/support"),
        "An optimiser divides space among VMs, given the utility of each size. Name it as "
        "`optimizer:` of a system, or pass it to `mcsim.optimize`.",
    ),
    "meters": Kind(
        "meters",
        "Meters",
        "core/locality/profile",
        ("tests/core", "tests/support", "tests/python/policies"),
        "A meter measures accesses between two decisions of a system. An allocator in Python "
        "names the meters that it needs.",
    ),
}
"""Kinds with a page for each component, by the names of the catalogue."""


def write(root: Path, source: Path) -> None:
    """Write all generated pages of the reference."""
    every = catalogue()
    for kind, about in KINDS.items():
        folder = source / "reference" / about.folder
        folder.mkdir(parents=True, exist_ok=True)
        for entry in every[kind]:
            page = component_page(root, about, entry)
            (folder / f"{entry['name']}.md").write_text(page, encoding="utf-8")
        (folder / "index.md").write_text(index_page(about, every[kind]), encoding="utf-8")
    for name, entries in (("devices", every["devices"]), ("formats", every["trace formats"])):
        (source / "reference" / f"{name}.md").write_text(list_page(name, entries), encoding="utf-8")
    page = libraries_page(every["libraries"])
    (source / "reference" / "libraries.md").write_text(page, encoding="utf-8")


def index_page(about: Kind, entries: Any) -> str:
    """Return the list of the components of a kind."""
    lines = [
        f"# {about.title}",
        "",
        about.intro,
        "",
        "| name | summary | source |",
        "|---|---|---|",
    ]
    for entry in entries:
        name = entry["name"]
        lines.append(
            f"| [`{name}`]({name}.md) | {cell(entry['summary'])} | {cell(entry['reference'])} |"
        )
    names = "\n".join(entry["name"] for entry in entries)
    return "\n".join([*lines, "", f"```{{toctree}}\n:hidden:\n\n{names}\n```", ""])


def component_page(root: Path, about: Kind, entry: Mapping[str, Any]) -> str:
    """Return the page of a component.

    Raises
    ------
    ValueError
        If docs/notes has no notes about it.
    """
    name = entry["name"]
    notes = notes_of(root, about.folder)
    if name not in notes:
        raise ValueError(f"docs/notes/{about.folder}.md has no section `{name}`")
    parts = [f"# `{name}`", entry["summary"], f"**Source:** {text(entry['reference'])}"]
    found = components(root)
    component = found.get((about.source, name)) or next(
        (c for (_, n), c in found.items() if n == name and c.header.startswith(about.source[:8])),
        None,
    )
    if component is not None and component.comment:
        parts += ["## Behaviour", component.comment]
    parts.append(notes[name])
    if others := differences(root).get(name) if about.folder == "policies" else None:
        parts += ["## Differences", others]
    common = data_path_parameters() if about.folder == "systems" else frozenset()
    parts += ["## Parameters", parameters([p for p in entry["params"] if p["name"] not in common])]
    if shared := [p for p in entry["params"] if p["name"] in common]:
        parts += [
            "## Parameters of the data path",
            "All systems with tiers have these.",
            parameters(shared),
        ]
    if about.folder == "policies" and (figures := measured(root).get(name)):
        parts += ["## Measured", measurement(figures)]
    if component is not None:
        parts += ["## Code and tests", f"`{component.header}`, tested by:"]
        used = tests_of(root, name, component.class_name, about.tests)
        parts.append("\n".join(f"- `{path}`" for path in used))
    return "\n\n".join(parts) + "\n"


@cache
def data_path_parameters() -> frozenset[str]:
    """Return the parameters of the data path, which `hierarchy` has beside its own."""
    (found,) = [entry for entry in catalogue()["systems"] if entry["name"] == "hierarchy"]
    return frozenset(p["name"] for p in found["params"]) - {"groups", "shares", "line"}


@cache
def notes_of(root: Path, kind: str) -> dict[str, str]:
    """Return the written notes about the components of a kind, by name."""
    text = (root / "docs" / "notes" / f"{kind}.md").read_text(encoding="utf-8")
    sections = re.split(r"^## `(.+)`$", text, flags=re.MULTILINE)[1:]
    bodies = [body.strip() for body in sections[1::2]]
    headed = [body if body.startswith("### ") else f"### Rules\n\n{body}" for body in bodies]
    return {
        name: body.replace("### ", "## ") for name, body in zip(sections[::2], headed, strict=True)
    }


@cache
def differences(root: Path) -> dict[str, str]:
    """Return how other programs differ, from the table in policies/README.md, by policy."""
    text = (root / "policies" / "README.md").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    for names, other, how in re.findall(
        r"^\| (`[^|]+`) \| ([^|`]+) \| (.+) \|$", text, re.MULTILINE
    ):
        for name in re.findall(r"`([^`]+)`", names):
            found.setdefault(name, []).append(f"- **{other}:** {how}")
    return {name: "\n".join(lines) for name, lines in found.items()}


def measurement(figures: Mapping[str, float]) -> str:
    """Return measured speed and memory of a policy as a sentence."""
    said = (
        f"{figures['rate'] / 1e6:.0f} million accesses per second and core, and "
        f"{figures['state']:.0f} bytes for each block of the capacity"
    )
    ratio = figures.get("ratio")
    times = f"; {ratio:.1f} times the speed of libCacheSim on the same accesses" if ratio else ""
    return f"{said}{times} (see [all policies](../../how-to/policies-in-depth.md))."


def parameters(params: Any) -> str:
    """Return a table of parameters."""
    if not params:
        return "None."
    lines = ["| parameter | default | values | meaning |", "|---|---|---|---|"]
    for param in params:
        allowed = ", ".join(f"`{choice}`" for choice in param.get("choices", ())) or range_of(param)
        default = default_of(param)
        shown = f"`{default}`" if str(default) else "empty"
        lines.append(f"| `{param['name']}` | {shown} | {cell(allowed)} | {cell(param['help'])} |")
    return "\n".join(lines)


def list_page(name: str, entries: Any) -> str:
    """Return one page with a section for each device or format."""
    title, intro = {
        "devices": (
            "Devices",
            "Devices of the catalogue. A tier names one; `devices:` in an experiment adds others.",
        ),
        "formats": (
            "Trace formats",
            "mcsim recognises formats by content. `format:` of a VM or `--format` names one. "
            "[Traces](../traces.md) explains mappings, pipes and conversion.",
        ),
    }[name]
    parts = [f"# {title}", intro]
    for entry in entries:
        parts += [
            f"## `{entry['name']}`",
            text(entry["summary"]),
            f"**Source:** {text(entry['reference'])}",
        ]
        if entry["params"]:
            parts.append(parameters(entry["params"]))
    return "\n\n".join(parts) + "\n"


def libraries_page(entries: Any) -> str:
    """Return the table of cache libraries."""
    lines = [
        "# Libraries",
        "",
        "A name of this table stands for a policy wherever one is named. "
        "[Which policy does my library have](../how-to/libraries.md) explains the differences.",
        "",
        "| name | library | version | policy | difference | source |",
        "|---|---|---|---|---|---|",
    ]
    for entry in entries:
        policy = f"`{entry['policy']}`" if entry["policy"] else "none"
        cells = [f"`{entry['name']}`", cell(entry["summary"]), entry["version"], policy]
        cells += [cell(entry["difference"]), cell(entry["reference"])]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def text(value: str) -> str:
    """Return a sentence whose characters have no meaning in Markdown."""
    escaped = value.replace("<", "\\<").replace("*", "\\*").replace("_", "\\_").replace("$", "\\$")
    return escaped[:1].upper() + escaped[1:] + ("" if escaped.endswith((".", ")")) else ".")


def cell(value: str) -> str:
    """Return text for a cell of a table."""
    escaped = value.replace("|", "\\|").replace("<", "\\<").replace("$", "\\$")
    return escaped if "`" in value else escaped.replace("*", "\\*").replace("_", "\\_")
