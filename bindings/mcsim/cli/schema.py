"""`mcsim schema`: the JSON schema of experiment files, for editors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

import click

from mcsim.cli.help import Sectioned

Schema = dict[str, Any]

_CLASS = {"type": "string", "pattern": r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"}
_PER_TIER = ("policy", "writes", "admission", "prefetch")
_TYPES = {"bool": "boolean", "integer": "integer", "real": "number", "text": "string"}


@click.command(cls=Sectioned)
def schema() -> None:
    """Print the JSON schema of experiment files, for editors.

    Editors with a YAML language server read it from the file that an experiment names in a
    comment: `# yaml-language-server: $schema=schema.json`.
    """
    found = experiment_schema()
    definitions = _lines(found.pop("$defs"))
    click.echo("{" + _lines(found) + ',\n"$defs": {' + definitions + "\n}\n}")


def experiment_schema() -> Schema:
    """Return the schema, with entries for all systems, optimisers, policies and devices."""
    from mcsim.config import ExperimentSpec
    from mcsim.experiment.catalogue import catalogue
    from mcsim.searches.asked import Asked

    every = catalogue()
    found = ExperimentSpec.model_json_schema()
    definitions = found["$defs"]
    search = Asked.model_json_schema()
    definitions |= search.pop("$defs")
    for kind, spec in (("system", "SystemSpec"), ("optimizer", "ComponentSpec")):
        common = definitions[spec]["properties"]
        definitions[spec] = {"anyOf": [{"$ref": f"#/$defs/{kind}"}, _in_python(common)]}
        definitions[kind] = _one_of(_component(entry, common) for entry in every[f"{kind}s"])
    definitions["policy"] = _named([*every["eviction policies"], *every["libraries"]])
    definitions["device"] = _named(every["devices"])
    for spec in ("TierSpec", "BackendSpec"):
        definitions[spec]["properties"]["device"] = {"$ref": "#/$defs/device"}
    systems = [entry["name"] for entry in every["systems"]]
    found["properties"]["systems"]["items"] = {
        "anyOf": [{"enum": systems}, _CLASS, {"$ref": "#/$defs/SystemSpec"}]
    }
    found["properties"]["backend"]["anyOf"][0] = {"$ref": "#/$defs/device"}
    found["properties"] |= {
        "extends": {"type": "string", "description": "another experiment, whose maps are merged"},
        "sweep": _sweep(),
        "search": search,
    }
    # The other keys may be in the experiment that is extended.
    required = {"required": found.pop("required")}
    found |= {"if": {"required": ["extends"]}, "then": {}, "else": required}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | found


def _lines(entries: Mapping[str, Any]) -> str:
    """Write the entries of a JSON object, a line each."""
    return ",".join(f"\n{json.dumps(key)}: {json.dumps(of)}" for key, of in entries.items())


def _one_of(entries: Iterable[Schema]) -> Schema:
    return {"anyOf": list(entries)}


def _component(entry: Mapping[str, Any], common: Mapping[str, Any]) -> Schema:
    """Return the schema of a map with the name and the parameters of a component."""
    own = {param["name"]: _parameter(param) for param in entry["params"]}
    return {
        "title": entry["name"],
        "description": f"{entry['summary']} ({entry['reference']})",
        "type": "object",
        "properties": dict(common) | own | {"name": {"const": entry["name"]}},
        "required": ["name"],
        "additionalProperties": False,
    }


def _in_python(common: Mapping[str, Any]) -> Schema:
    return {
        "title": "in Python",
        "description": "a class of Python; other keys are its arguments",
        "type": "object",
        "properties": dict(common) | {"name": _CLASS},
        "required": ["name"],
    }


def _parameter(param: Mapping[str, Any]) -> Schema:
    from mcsim.base.units import format_duration

    kind, default = param["kind"], param["default"]
    found: Schema = {"description": param["help"], "default": default}
    if kind == "choice":
        return found | {"enum": param["choices"]}
    if kind == "duration":
        # Lengths in references are text, too.
        return found | {"type": ["string", "integer"], "default": format_duration(default)}
    if kind == "per-vm":
        number = {"type": "number"}
        return found | {"anyOf": [number, {"type": "object", "additionalProperties": number}]}
    if kind == "text" and param["name"] in _PER_TIER:
        one = {"$ref": "#/$defs/policy"} if param["name"] == "policy" else {"type": "string"}
        return found | {"anyOf": [one, {"type": "array", "items": one}]}
    limits = {"minimum": param["min"], "maximum": param["max"]}
    return (
        found
        | {"type": _TYPES[kind]}
        | {key: limit for key, limit in limits.items() if isfinite(limit)}
    )


def _named(entries: Sequence[Mapping[str, Any]]) -> Schema:
    """Return the schema of a text, with the names of entries as examples."""
    return _one_of([*map(_name, entries), {"type": "string"}])


def _name(entry: Mapping[str, Any]) -> Schema:
    params = ", ".join(_declared(param) for param in entry["params"])
    about = f"{entry['summary']} ({entry['reference']})"
    return {"const": entry["name"], "description": f"{about}; {params}" if params else about}


def _declared(param: Mapping[str, Any]) -> str:
    allowed = f" of {', '.join(param['choices'])}" if param["choices"] else ""
    return f"{param['name']} = {param['default']}{allowed}"


def _sweep() -> Schema:
    values = {
        "anyOf": [
            {"type": "array", "minItems": 1},
            {"type": "object", "minProperties": 1},
            {
                "type": "string",
                "examples": ["log(1MiB, 1GiB, 11)", "linear(0.1, 0.9, 5)", "5 seeds"],
            },
        ]
    }
    axes = {"type": "object", "additionalProperties": values}
    return {
        "type": "object",
        "description": "axes of a grid, by dotted path, and their values: mcsim sweep",
        "properties": {
            "zip": {"anyOf": [axes, {"type": "array", "items": axes}]},
            "exclude": {"type": "array", "items": {"type": "object"}},
        },
        "additionalProperties": values,
    }
