"""Folders and files that other users can neither read nor write, such as the cache."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from mcsim.base.errors import ConfigError

_OTHERS_READ = 0o077
_OTHERS_WRITE = 0o022


def why_untrusted(path: Path) -> str | None:
    """Return why a path may have content of another user; None if it is of this user or root.

    Raises
    ------
    OSError
        If it cannot be examined.
    """
    found = path.stat()
    for owner in (path.lstat().st_uid, found.st_uid):
        if owner not in (0, os.geteuid()):
            return f"of another user, number {owner}"
    if found.st_mode & _OTHERS_WRITE:
        return "other users may write it"
    return None


def check_trusted_folder(folder: Path, remedy: str) -> None:
    """Check that no other user but root can write a folder.

    Raises
    ------
    ConfigError
        If one can; the message has the remedy.
    OSError
        If the folder cannot be examined.
    """
    if (why := why_untrusted(folder)) is not None:
        raise ConfigError(f"{folder}: {why}; {remedy}")


def make_private_folder(folder: Path, remedy: str, *, is_own: bool) -> None:
    """Create a folder for this user alone, or check an existing one.

    Parameters
    ----------
    folder : Path
    remedy : str
        As of `check_trusted_folder`.
    is_own : bool
        Whether the folder has no other use, so that its permissions may be reduced.

    Raises
    ------
    ConfigError, OSError
        As of `check_trusted_folder`, or if it cannot be created.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)
    if is_own:
        make_private(folder)
    check_trusted_folder(folder, remedy)


def make_private(path: Path) -> None:
    """Remove the permissions of other users, if the path is of this user."""
    found = path.lstat()
    is_own = found.st_uid == os.geteuid() and not stat.S_ISLNK(found.st_mode)
    if is_own and found.st_mode & _OTHERS_READ:
        path.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS_READ)
