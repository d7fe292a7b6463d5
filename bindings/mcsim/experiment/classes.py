"""Classes of Python that an experiment names as `module:Class`."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcsim.base.suggest import did_you_mean
from mcsim.config import Source
from mcsim.config.load import Location
from mcsim.config.spec import SystemSpec
from mcsim.policies.python_policies import Policy, PriorityPolicy, put_policy

__all__ = ["digest_of_code", "find_class", "policy_of", "put_policies", "python_policies"]


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Let modules of a folder be imported."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def find_class(name: str, source: Source, where: Location) -> type[Any]:
    """Import `module:Class`, from the experiment's folder or from what is installed."""
    module_name, _, class_name = name.partition(":")
    try:
        with _importable(source.folder):
            module = importlib.import_module(module_name)
    except ImportError as error:
        raise source.complain((*where, "name"), str(error), about=where) from None
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        known = [key for key, value in vars(module).items() if isinstance(value, type)]
        message = f"no class {class_name!r} in {module_name}{did_you_mean(class_name, known)}"
        raise source.complain((*where, "name"), message, about=where)
    return found


# A class of Python among the policies of a data path: `lru / my_policies:Lifo`.
_PYTHON_POLICY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def policy_of(system: SystemSpec, source: Source) -> object:
    """What a system, or the class that allocates, says of the policies of its data path."""
    if ":" not in system.name:
        return system.params.get("policy")
    return getattr(find_class(system.name, source, ()), "data_path", {}).get("policy")


def python_policies(policy: object) -> list[str]:
    """List the classes of Python that a policy of a data path names."""
    return _PYTHON_POLICY.findall(policy) if isinstance(policy, str) else []


def put_policies(policy: object, source: Source, where: Location) -> None:
    """Let the core find the policies that are classes of Python."""
    for name in python_policies(policy):
        try:
            made = find_class(name, source, where)
            if not issubclass(made, (Policy, PriorityPolicy)):
                message = f"{name} does not derive from mcsim.Policy or mcsim.PriorityPolicy"
                raise source.complain((*where, "policy"), message, about=where)
            put_policy(name, made)
        except TypeError as error:
            raise source.complain((*where, "policy"), f"{name}: {error}", about=where) from None


def digest_of_code(name: str, source: Source) -> str:
    """Return the digest of the file that a class is in."""
    file = inspect.getsourcefile(find_class(name, source, ()))
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""
