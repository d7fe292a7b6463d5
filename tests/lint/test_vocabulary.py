"""One name for one thing, in the shell, in YAML and in Python.

Trusts: the table of concepts below.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import click
import pytest

import mcsim as mc
from mcsim.cli.main import cli
from mcsim.cli.schema import experiment_schema
from mcsim.config.profile import SyntheticProfile

# The name of each concept, with its former names and those that other projects use.
CONCEPTS: dict[str, tuple[str, ...]] = {
    "allow_code": ("trust", "unsafe"),
    "block_bytes": ("block_size", "page_size", "page_bytes"),
    "capacity": ("capacity_blocks", "cache_size"),
    "devices": ("device_types", "media"),
    "estimator": ("estimation", "profiler"),
    "interval": ("epoch_length", "step_length"),
    "limits": ("constraints", "bounds"),
    "mapping": ("columns", "column_mapping"),
    "memory": ("memory_limit", "max_memory"),
    "objective": ("goal", "criterion"),
    "on_bad_line": ("on_bad_row", "bad_lines", "on_error"),
    "ops": ("operations", "op_filter"),
    "optimizer": ("method", "optimiser"),
    "overrides": ("assignments", "changes"),
    "policies": ("algorithms", "evictions"),
    "price": ("dollars_per_gb", "cost_per_gb"),
    "seed": ("random_seed", "rng"),
    "sizes": ("cache_sizes",),
    "start": ("begin", "from_time"),
    "sub_block_bytes": ("sector_bytes", "sub_block_size"),
    "threads": ("jobs", "workers", "cores", "processes"),
    "trace_dirs": ("trace_folders", "trace_paths"),
    "vms": ("machines", "vm_names"),
    "writes": ("write_mode", "write_policy"),
}


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


def of_shell() -> Iterator[tuple[str, str]]:
    for called, command in commands(cli):
        for param in command.params:
            for option in param.opts if isinstance(param, click.Option) else ():
                yield option.lstrip("-").replace("-", "_"), f"mcsim {called} {option}"


def of_yaml() -> Iterator[tuple[str, str]]:
    # Systems and optimisers name their parameters in the core.
    schemas = [experiment_schema(), SyntheticProfile.model_json_schema()]
    for kind in ("system", "optimizer"):
        del schemas[0]["$defs"][kind]

    def keys(node: Any) -> Iterator[str]:
        inside = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        if isinstance(node, dict):
            yield from node.get("properties", {})
        for one in inside:
            yield from keys(one)

    for schema in schemas:
        yield from ((key, f"YAML {key}:") for key in keys(schema))


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in mc.__all__:
        public = getattr(mc, name)
        if inspect.isfunction(public):
            yield name, public
        elif inspect.isclass(public):
            for method, value in inspect.getmembers(public, callable):
                if method[0] != "_" and str(getattr(value, "__module__", "")).startswith("mcsim"):
                    yield f"{name}.{method}", value


def of_python() -> Iterator[tuple[str, str]]:
    for called, function in functions():
        for parameter in inspect.signature(function).parameters:
            yield parameter, f"mcsim.{called}({parameter}=)"


@cache
def used() -> dict[str, set[str]]:
    """Return where each name is used."""
    found: dict[str, set[str]] = {}
    for world in (of_shell, of_yaml, of_python):
        for name, place in world():
            found.setdefault(name, set()).add(place)
    return found


def test_the_worlds_are_walked() -> None:
    places = set().union(*used().values())
    for place in (
        "mcsim sweep run --threads",
        "YAML on_bad_line:",
        "mcsim.Trace.open(on_bad_line=)",
    ):
        assert place in places


def test_a_concept_has_one_name() -> None:
    others = {
        f"{other}: called {name!r} elsewhere": used()[other]
        for name, synonyms in CONCEPTS.items()
        for other in synonyms
        if other in used()
    }
    assert not others


def test_concepts_are_used() -> None:
    shell = {"allow_code", "trace_dirs", "overrides"}  # options that are in the singular, or --set
    assert set(CONCEPTS) - shell <= set(used())


@pytest.mark.parametrize("name", ["mix", "tune"])
def test_commands_and_functions_have_the_same_defaults(name: str) -> None:
    function = inspect.signature(getattr(mc, name)).parameters
    command = dict(commands(cli))[name]
    context = click.Context(command)
    compared = []
    for param in command.params:
        there = function.get(param.name or "")
        if there is None or param.required or there.default in (None, (), inspect.Parameter.empty):
            continue
        given = param.get_default(context)
        if isinstance(there.default, tuple):
            assert tuple(str(given).split(",")) == there.default, param.name
        else:
            assert given == there.default, param.name
        compared.append(param.name)
    assert len(compared) > 2, compared
