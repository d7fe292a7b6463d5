"""The exceptions of mcsim: a small family, each also the built-in one expects."""

from __future__ import annotations

__all__ = [
    "CORE_IS_MISSING",
    "ConfigError",
    "HostError",
    "InternalError",
    "McsimError",
    "OutOfMemoryError",
    "TraceError",
]

CORE_IS_MISSING = (
    "the compiled core of mcsim is missing: run `pip install .` in the source tree, or use its "
    "launcher `./mcsim`"
)


class McsimError(Exception):
    """Base of everything mcsim raises on purpose."""

    exit_code = 70


class ConfigError(McsimError, ValueError):
    """The user asked for something that cannot be (exit code 2)."""

    exit_code = 2


class TraceError(McsimError, ValueError):
    """A trace file contradicts its format (exit code 2)."""

    exit_code = 2


class HostError(McsimError, OSError):
    """The operating system refused (exit code 3)."""

    exit_code = 3


class OutOfMemoryError(McsimError, MemoryError):
    """There is not enough memory (exit code 3)."""

    exit_code = 3


class InternalError(McsimError, RuntimeError):
    """A law the engine must keep was broken: please report (exit code 70)."""
