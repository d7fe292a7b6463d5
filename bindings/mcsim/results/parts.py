"""What is kept of a run before it is finished, in files that tell whether they are whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcsim.results.seals import digest_of_bytes


@dataclass(frozen=True)
class Part:
    """Contents by name, and facts.

    Its bytes are a line with the SHA-256 of all that follows; a line of JSON with the build that
    made it, the facts, and the length of every content; the contents.
    """

    files: Mapping[str, bytes]
    facts: Mapping[str, Any]

    def to_bytes(self, build: str) -> bytes:
        """Return the content of a file."""
        lengths = {name: len(content) for name, content in self.files.items()}
        head = json.dumps({"build": build, "facts": self.facts, "files": lengths})
        content = b"\n".join([head.encode(), b"".join(self.files.values())])
        return digest_of_bytes(content).encode() + b"\n" + content

    @classmethod
    def from_bytes(cls, data: bytes, build: str) -> Part | None:
        """Read what `to_bytes` returned; None if another build made it.

        Raises
        ------
        ValueError
            If it is not whole.
        """
        digest, _, content = data.partition(b"\n")
        if digest != digest_of_bytes(content).encode():
            raise ValueError("not what its checksum is of")
        line, _, rest = content.partition(b"\n")
        head = json.loads(line)
        if head["build"] != build:
            return None
        files, begin = {}, 0
        for name, length in head["files"].items():
            files[name] = rest[begin : begin + length]
            begin += length
        return cls(files, head["facts"])
