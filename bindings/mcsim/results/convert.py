"""Convert packs of earlier versions, which were zip files, into folders."""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from pathlib import Path

from mcsim.base.errors import ConfigError, HostError, host_faults
from mcsim.base.inputs import open_regular
from mcsim.results.packs import IN_PACKS, old_packs, put_pack
from mcsim.results.seals import digest_of_bytes, parsed

# Exceptions of `zipfile` for damaged directories, headers and checksums.
_DAMAGE = (
    *(OSError, KeyError, ValueError, RuntimeError, EOFError, OverflowError, struct.error),
    *(zlib.error, zipfile.BadZipFile),
)


def convert(out: str | os.PathLike[str] = "results") -> tuple[list[Path], list[str]]:
    """Convert the zip files in `packs` of a folder of results, and remove them.

    Returns
    -------
    folders : list of Path
        The new packs.
    faults : list of str
        Names of files that are damaged or not of mcsim, and the reason. They stay.

    Raises
    ------
    HostError
        If a file cannot be read or written; the next call continues.
    """
    folders, faults = [], []
    for path in old_packs(Path(out)):
        try:
            content = _content_of(path)
        except ConfigError as error:
            faults.append(str(error))
            continue
        folder = path.with_suffix("")
        put_pack(folder, content)
        path.unlink(missing_ok=True)
        folders.append(folder)
    return folders, faults


def _content_of(path: Path) -> dict[str, bytes]:
    try:
        with host_faults(path), open_regular(path) as opened, zipfile.ZipFile(opened) as file:
            # Packs are not compressed, so no content is larger than its file.
            for info in file.infolist():
                if info.filename not in IN_PACKS or info.compress_type != zipfile.ZIP_STORED:
                    raise ValueError(f"{info.filename} in it is not of a pack")
            content = {name: file.read(name) for name in file.namelist()}
        sums = {name: digest_of_bytes(data) for name, data in content.items() if name != "DONE"}
        if parsed(content["DONE"]) != sums:
            raise ValueError("the content does not fit its checksums")
    except HostError:
        raise
    except _DAMAGE as error:
        raise ConfigError(f"{path}: not converted: {error}") from None
    return content
