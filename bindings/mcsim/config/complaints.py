"""Messages about configurations that do not fit a schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from mcsim.base.suggest import did_you_mean, nearest, some_of
from mcsim.config.spec import WARM_UP_KINDS

if TYPE_CHECKING:
    from mcsim.base.errors import ConfigError
    from mcsim.config.load import Source


def complaints(source: Source, schema: type[BaseModel], errors: Iterable[Any]) -> list[str]:
    """Format validation errors in the order of the file, each with its line."""
    errors = [
        error | {"loc": tuple(step for step in error["loc"] if step not in WARM_UP_KINDS)}
        for error in errors
    ]
    # A misspelt key is reported as missing too: the misspelling is the cause.
    meant = {
        (*loc[:-1], nearest(str(loc[-1]), _keys_at(schema, loc[:-1])))
        for loc in (error["loc"] for error in errors if error["type"] == "extra_forbidden")
    }
    relevant = [e for e in errors if e["type"] != "missing" or e["loc"] not in meant]
    relevant.sort(key=lambda e: source.order(e["loc"]))
    # A value of a union has an error for each type, of which one is enough.
    by_place = {e["loc"]: e for e in reversed(relevant)}
    first = [e for e in relevant if by_place[e["loc"]] is e]
    return [str(_complaint(source, schema, error)) for error in first]


def _complaint(source: Source, schema: type[BaseModel], error: Mapping[str, Any]) -> ConfigError:
    where: Sequence[str | int] = error["loc"]
    match error["type"]:
        case "extra_forbidden":
            known = _keys_at(schema, where[:-1])
            near = did_you_mean(str(where[-1]), known) or _one_of(known)
            message = f"unknown key {where[-1]!r}{near}"
            return source.complain(where, message, about=where[:-1])
        case "missing":
            return source.complain(where[:-1], f"missing key {where[-1]!r}")
        case "value_error":
            return source.complain(where, str(error["ctx"]["error"]))
        case _:
            return source.complain(where, _reworded(error))


def _reworded(error: Mapping[str, Any]) -> str:
    expected = {
        "string_type": "text",
        "int_type": "a whole number",
        "list_type": "a list",
        "dict_type": "a map of keys to values",
        "model_type": "a map of keys to values",
        "literal_error": f"one of {error.get('ctx', {}).get('expected', '')}",
        "string_pattern_mismatch": "letters, digits, '-', '_' and '.', the first no '-_.'",
        "too_short": "at least one",
        "string_too_long": f"at most {error.get('ctx', {}).get('max_length', '')} letters",
    }.get(error["type"])
    if expected is None:
        return f"{error['msg'][0].lower()}{error['msg'][1:]}, got {error['input']!r}"
    return f"expected {expected}, got {error['input']!r}"


def _one_of(keys: Sequence[str]) -> str:
    return f" (one of {some_of(keys, 20)})" if keys else ""


def _keys_at(schema: type[BaseModel], where: Sequence[str | int]) -> list[str]:
    """The keys that the schema allows in the map at a location, of all maps that may be there."""
    annotation: Any = schema
    for step in where:
        annotation = _inside(annotation, step)
    return list(
        dict.fromkeys(key for model in _models_in(annotation) for key in model.model_fields)
    )


def _inside(annotation: Any, step: str | int) -> Any:
    """The type of what stands at a step into a value of a type; None if unknown."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        field = annotation.model_fields.get(str(step))
        return None if field is None else field.annotation
    parts: tuple[Any, ...] = getattr(annotation, "__args__", ())
    if getattr(annotation, "__origin__", None) in (list, tuple, dict):
        return parts[-1] if isinstance(step, str) else parts[0]
    return next((found for part in parts if (found := _inside(part, step)) is not None), None)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The maps that a type such as `list[TierSpec]` or `BackendSpec | None` is about."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        return
    for part in getattr(annotation, "__args__", ()):
        yield from _models_in(part)
