"""Copy written pages to the site's sources, and rewrite links that leave the site."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

PAGES_FROM_ELSEWHERE = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "core/README.md": "explanation/architecture.md",
    "policies/README.md": "how-to/policies-in-depth.md",
}
"""Files outside of docs/ that are pages of the site."""

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def copy_pages(root: Path, source: Path) -> None:
    """Copy all Markdown pages and pictures of the documentation.

    Parameters
    ----------
    root : Path
        The repository.
    source : Path
        Folder that Sphinx reads.
    """
    places = {root / name: source / place for name, place in PAGES_FROM_ELSEWHERE.items()}
    for path in sorted((root / "docs").rglob("*")):
        inside = path.relative_to(root / "docs")
        if path.is_file() and inside.parts[0] not in ("_site", "notes") and path.suffix != ".pyc":
            places[path] = source / inside
    for path, place in places.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            text = path.read_text(encoding="utf-8")
            place.write_text(rewritten(text, path, place, places, root), encoding="utf-8")
        else:
            shutil.copyfile(path, place)


def rewritten(text: str, path: Path, place: Path, places: dict[Path, Path], root: Path) -> str:
    """Return a page whose links to files outside of the site are file names instead.

    Raises
    ------
    ValueError
        If a link names a file that does not exist.
    """

    def link(match: re.Match[str]) -> str:
        picture, label, target, anchor = match.groups()
        file = Path(os.path.normpath(path.parent / target))
        if file in places:
            inside = os.path.relpath(places[file], place.parent)
            return f"{picture}[{label}]({inside}{anchor or ''})"
        if target.startswith(
            ("generated/", "../reference/", "reference/", "pictures/", "../pictures/")
        ):
            return match[0]
        if not file.exists():
            raise ValueError(f"{path}: link to {target}, which does not exist")
        name = f"`{file.relative_to(root)}`"
        return name if label.strip("`") in str(file) else f"{label} ({name})"

    return _LINK.sub(link, text)
