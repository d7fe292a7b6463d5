"""Write the reference of experiment files, from their JSON schema."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from _site.reference import cell


def write(root: Path, source: Path) -> None:
    """Write the page of all keys."""
    schema = json.loads((root / "experiments" / "schema.json").read_text(encoding="utf-8"))
    defs = {name: found for name, found in schema["$defs"].items() if "properties" in found}
    parts = [
        "# Experiment files",
        "An experiment is a YAML file. mcsim refuses unknown keys and impossible values, and names "
        "the file and the line. `mcsim schema` prints the JSON schema of these tables, with which "
        "editors complete and check keys.",
        section("Top level", schema, defs),
    ]
    parts += [section(heading(name), found, defs) for name, found in defs.items()]
    (source / "reference" / "experiments.md").write_text(
        "\n\n".join(parts) + "\n", encoding="utf-8"
    )


def heading(name: str) -> str:
    """Return the heading of a definition, as links spell it."""
    return name.removesuffix("Spec")


def section(title: str, schema: Mapping[str, Any], tables: Collection[str]) -> str:
    """Return the table of the keys of a mapping."""
    required = schema.get("required", ())
    lines = [f"## {title}", "", " ".join(schema.get("description", "").split()), ""]
    lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
    for key, found in schema["properties"].items():
        default = "**required**" if key in required else default_of(found)
        meaning = cell(" ".join(found.get("description", "").split()))
        lines.append(f"| `{key}` | {type_of(found, tables)} | {default} | {meaning} |")
    return "\n".join(lines)


def default_of(schema: Mapping[str, Any]) -> str:
    """Return the default of a key as YAML, or an example of its form."""
    default = schema.get("default")
    if default in (None, {}, [], ""):
        return ""
    if schema.get("examples"):
        return f"`{schema['examples'][0]}`"
    return f"`{json.dumps(default).strip(chr(34))}`"


def type_of(schema: Mapping[str, Any], tables: Collection[str]) -> str:
    """Return the types of a value in words, with links to other tables."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{heading(name)}](#{heading(name).lower()})" if name in tables else name
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(type_of(one, tables) for one in schema[key]))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"][:30])
    if schema.get("type") == "array":
        return f"list of {type_of(schema.get('items', {}), tables)}"
    found = schema.get("type", "any")
    return " or ".join(found) if isinstance(found, list) else str(found)
