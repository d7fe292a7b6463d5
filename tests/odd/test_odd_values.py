# Trusts: the rules of exit codes alone; the cases come from the commands and schemas themselves.
"""A sample of `./mcsim odd-values`, and that its files have every key there is."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from odd_cases import EXPERIMENTS, PROFILES, all_cases, commands
from odd_values import judged
from pydantic import BaseModel

from mcsim.config.profile import SyntheticProfile
from mcsim.config.spec import ExperimentSpec

SECONDS = 40


def test_a_sample_ends_well() -> None:
    cases = all_cases()
    random.Random(1).shuffle(cases)
    found = list(judged(cases, SECONDS))
    faults = [f"{case}: {fault.what}: {fault.said[-200:]}" for case, fault in found if fault]
    if faults:
        pytest.fail("\n".join(faults))
    assert len(found) > 100


def test_every_command_has_cases() -> None:
    places = {case.place for case in all_cases()}
    for name, command in commands():
        for param in command.params:
            called = param.name if param.param_type_name == "argument" else max(param.opts, key=len)
            is_flag = getattr(param, "is_flag", False)
            assert is_flag or called == "--dask" or f"{name} {called}" in places


def keys_of(
    model: type[BaseModel], seen: frozenset[type] = frozenset()
) -> Iterator[tuple[str, str]]:
    """Yield the keys of a schema and of those inside it, with the names of their classes."""
    for name, field in model.model_fields.items():
        yield model.__name__, field.alias or name
        for inside in models_in(field.annotation):
            if inside not in seen:
                yield from keys_of(inside, seen | {inside})


def models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in models_in(part)]


def all_keys(node: Any) -> set[str]:
    if isinstance(node, dict):
        return {str(key) for key in node} | {key for of in node.values() for key in all_keys(of)}
    return {key for of in node for key in all_keys(of)} if isinstance(node, list) else set()


@pytest.mark.parametrize(
    ("schema", "documents"),
    [
        (ExperimentSpec, [root for root, _ in EXPERIMENTS.values()]),
        (SyntheticProfile, list(PROFILES.values())),
    ],
)
def test_every_key_has_cases(schema: type[BaseModel], documents: list[Any]) -> None:
    there = all_keys(documents)
    assert [key for key in keys_of(schema) if key[1] not in there] == []
