"""Code that an experiment names: permission, search, and errors.

An experiment file is data, until it names a class (`module:Class`) or a library of policies. Such
code has all rights of its user. So mcsim imports, loads and calls it only with a `Permission`.
Modules are found in the experiment's folder, or must be named. A class is checked for its kind
before it is created. Errors inside such code are reported as errors of that code.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from mcsim.base.errors import ConfigError, McsimError
from mcsim.base.inputs import resolved
from mcsim.base.suggest import did_you_mean
from mcsim.base.threads import run_in_main_thread
from mcsim.experiment.sources import digest_of_sources, file_of, files_for, is_library

# A class of Python among the policies of a data path: `lru / my_policies:Lifo`.
_PYTHON_POLICY = re.compile(r"(?<![\w.])[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def is_class(name: str) -> bool:
    """Return whether a component's name is a class of Python, `module:Class`."""
    return ":" in name


def python_policies(policy: object) -> list[str]:
    """List the classes of Python that a policy of a data path names."""
    return _PYTHON_POLICY.findall(policy) if isinstance(policy, str) else []


def with_classes_named(spec: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, type[Any]]]:
    """Write names for the classes that a spec built in Python has among its systems.

    Returns
    -------
    spec : dict
        With ``module:Class`` in their place.
    classes : dict of str to type
        The classes by these names.
    """
    classes: dict[str, type[Any]] = {}

    def named(value: Any) -> Any:
        if isinstance(value, type):
            name = f"{value.__module__}:{value.__qualname__}"
            classes[name] = value
            return name
        if isinstance(value, Mapping):
            return {key: named(inside) for key, inside in value.items()}
        return value

    systems = spec.get("systems")
    if not isinstance(systems, (list, tuple)):
        return dict(spec), classes
    return {**spec, "systems": [named(system) for system in systems]}, classes


class Kind(NamedTuple):
    """Kinds of classes, with their required base or methods."""

    what: str
    methods: tuple[str, ...] = ()
    bases: tuple[type[Any], ...] = ()

    def objection(self, made: type[Any]) -> str | None:
        """Return what the class lacks; empty if nothing."""
        missing = [name for name in self.methods if not callable(getattr(made, name, None))]
        if missing:
            return f"is no {self.what}: it has no method {missing[0]}()"
        if self.bases and not issubclass(made, self.bases):
            named = " or ".join(f"mcsim.{base.__name__}" for base in self.bases)
            return f"does not derive from {named}"
        return None


@dataclass(frozen=True)
class Permission:
    """Code that an experiment may use.

    Attributes
    ----------
    own : bool
        Modules and libraries in the experiment's folder.
    named : frozenset of str
        Modules, and paths of libraries, relative to the working directory.
    """

    own: bool = False
    named: frozenset[str] = frozenset()

    @classmethod
    def of(cls, allowed: AllowCode) -> Permission:
        """Read what `mcsim.run` is given."""
        if isinstance(allowed, Permission):
            return allowed
        if isinstance(allowed, bool):
            return cls(own=allowed)
        if isinstance(allowed, str):
            raise ConfigError(f"allow_code: expected True or a list of names, got {allowed!r}")
        return cls(named=frozenset(allowed))

    def names_library(self, path: Path) -> bool:
        """Whether a library was named."""
        return any(resolved(name) == path for name in self.named)


AllowCode = bool | Iterable[str] | Permission
"""True: what is in the experiment's folder. Names: these modules and libraries, wherever."""


class _Found(NamedTuple):
    made: type[Any]
    digest: str


@dataclass
class Code:
    """The classes and libraries of one experiment.

    Attributes
    ----------
    folder : Path
        Folder of the experiment.
    permission : Permission
    given : mapping
        Classes that were handed over as such, by name: they are the caller's own.
    """

    folder: Path
    permission: Permission = Permission()
    given: Mapping[str, type[Any]] = field(default_factory=dict)
    _found: dict[str, _Found] = field(default_factory=dict)

    def class_named(self, name: str, kind: Kind) -> type[Any]:
        """Find the class `module:Class`, which is not made yet.

        Raises
        ------
        ConfigError
            If it was not let in, is not there, or is of another kind.
        """
        made = self._class(name).made
        if (objection := kind.objection(made)) is not None:
            raise ConfigError(f"{name} {objection}")
        return made

    def digest_of(self, name: str) -> str:
        """Return a digest of the sources of a class, in hexadecimal.

        It covers the module and, transitively, imported modules that are no libraries.
        """
        return self._class(name).digest

    def library(self, name: str) -> Path:
        """Find a library of policies, which is not loaded yet.

        Raises
        ------
        ConfigError
            If it was not let in.
        """
        path = resolved(self.folder / name)
        own = path.is_relative_to(self.folder)
        if not (own and self.permission.own) and not self.permission.names_library(path):
            raise ConfigError(self._refusal(f"{name!r} is a library", str(path), own))
        return path

    def _class(self, name: str) -> _Found:
        if name not in self._found:
            given = self.given.get(name)
            self._found[name] = self._find(name) if given is None else _of_caller(given)
        return self._found[name]

    def _find(self, name: str) -> _Found:
        module_name, _, class_name = name.partition(":")
        module, loaded = self._module(module_name)
        made = getattr(module, class_name, None)
        if not isinstance(made, type):
            known = [key for key, value in vars(module).items() if isinstance(value, type)]
            near = did_you_mean(class_name, known)
            raise ConfigError(f"no class {class_name!r} in {module_name}{near}")
        return _Found(made, digest_of_sources(module, loaded))

    def _module(self, name: str) -> tuple[ModuleType, set[Path]]:
        """Import a module; return it and the files of the folder that were loaded for it."""
        top = name.partition(".")[0]
        own = PathFinder.find_spec(top, [str(self.folder)]) is not None
        allowed = name in self.permission.named or (own and self.permission.own)
        if not allowed:
            raise ConfigError(self._refusal(f"{name!r} is a module", name, own))
        try:
            with blamed(f"importing {name}"):
                if not own:
                    return importlib.import_module(name), set()
                with _importable(self.folder) as loaded:
                    module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            raise ConfigError(str(error)) from None
        file = file_of(module)
        if file is None or not resolved(file).is_relative_to(self.folder):
            raise ConfigError(
                f"{name!r} is a module of this process already, {file or 'built in'}: give the "
                "one of the experiment another name"
            )
        return module, loaded

    def _refusal(self, what: str, name: str, own: bool) -> str:
        if own:
            return (
                f"{what} in the experiment's folder, code that does not run unasked: if you "
                f"trust it, say --allow-code (in Python: allow_code=True)"
            )
        near = did_you_mean(name, [file.stem for file in self.folder.glob("*.py")])
        return (
            f"{what} that is not in the experiment's folder, {self.folder}{near}: if you trust "
            f"it, say --code {name} (in Python: allow_code=[{name!r}])"
        )


@contextmanager
def _importable(folder: Path) -> Iterator[set[Path]]:
    """Import modules from a folder, as they are now; yield a set that collects their files.

    None stays behind in `sys.modules`, so that other experiments import their own modules.
    """
    before = set(sys.modules)
    loaded: set[Path] = set()
    writes_none = sys.dont_write_bytecode
    # Bytecode is found by the size and the second of the source: it may be that of older source.
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield loaded
    finally:
        sys.dont_write_bytecode = writes_none
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            file = file_of(sys.modules[name])
            if file is not None and file in files_for(name, folder):
                loaded.add(file)
                del sys.modules[name]
            elif file is None and _is_namespace_of(sys.modules[name], folder):
                del sys.modules[name]


def _is_namespace_of(module: ModuleType, folder: Path) -> bool:
    """Whether it is a package without a file, a part of which is in a folder."""
    return any(Path(place).is_relative_to(folder) for place in getattr(module, "__path__", ()))


def _of_caller(made: type[Any]) -> _Found:
    """A class passed as an object, identified by its file or its methods."""
    module = sys.modules.get(made.__module__)
    if module is not None and made.__module__ != "__main__" and file_of(module):
        return _Found(made, digest_of_sources(module, set()))
    digest = hashlib.sha256()
    methods = [
        value for base in made.__mro__ for value in vars(base).values() if inspect.isfunction(value)
    ]
    for method in methods:
        try:
            digest.update(inspect.getsource(method).encode())
        except OSError:
            raise ConfigError(
                f"{made.__qualname__}: its source cannot be read, so results could not be told "
                "from those of another version: put the class into a file"
            ) from None
    return _Found(made, digest.hexdigest())


@contextmanager
def blamed(doing: str, *, surely: bool = True) -> Iterator[None]:
    """Report errors in an experiment's code with their place.

    Parameters
    ----------
    doing : str
        Operation, for the message: ``importing demand``.
    surely : bool
        That nothing else is called. If False, a fault is the code's if it was seen to fail.

    Raises
    ------
    ConfigError
        For any exception but mcsim's own, a missing module, exhausted memory and Ctrl-C.
    """
    try:
        yield
    except (McsimError, KeyboardInterrupt, MemoryError):
        raise
    except ModuleNotFoundError as error:
        raise ConfigError(f"{doing}: {error}{_place_of(error)}") from error
    except (Exception, SystemExit) as error:
        place = _place_of(error)
        if not surely and not place:
            raise
        kind = type(error).__name__
        said = f"{kind}: {error}" if str(error) else kind
        raise ConfigError(f"{doing} raised {said}{place}") from error


class Solving:
    """Wrapper of an optimiser that reports its errors."""

    def __init__(self, optimizer: Any, name: str) -> None:
        self._optimizer = optimizer
        self._name = name

    def optimize(self, problem: Any) -> Any:
        """Call the optimiser; called by the core."""
        with blamed(f"{self._name}: optimize()"):
            return run_in_main_thread(lambda: self._optimizer.optimize(problem))


def _place_of(error: BaseException) -> str:
    """Return the place of an error in the experiment's code; empty if it is elsewhere."""
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({error.filename}:{error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not is_library(Path(frame.filename))]
    return f" ({own[-1].filename}:{own[-1].lineno})" if own else ""
