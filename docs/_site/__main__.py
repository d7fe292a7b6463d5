"""Build the site into build/docs; run by ``./mcsim docs``."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))


def build(target: Path) -> int:
    """Assemble the sources and run Sphinx, which treats warnings as errors.

    Parameters
    ----------
    target : Path
        Folder of the site: ``source`` and ``html`` in it are replaced.

    Returns
    -------
    int
        Exit code.
    """
    from sphinx.cmd.build import main as sphinx

    from _site import api, cli, experiments, notebooks, pictures, reference
    from _site.pages import copy_pages

    source = target / "source"
    for folder in (source, target / "html"):
        shutil.rmtree(folder, ignore_errors=True)
    copy_pages(ROOT, source)
    for writer in (reference, api, cli, experiments):
        writer.write(ROOT, source)
    notebooks.write(source)
    pictures.draw(source / "pictures")
    options = ["--fail-on-warning", "--keep-going", "--jobs", "auto", "--quiet"]
    return sphinx([*options, "-d", str(target / "doctrees"), str(source), str(target / "html")])


def main() -> int:
    """Parse the command line and build the site."""
    parser = argparse.ArgumentParser(prog="./mcsim docs", description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "docs")
    given = parser.parse_args()
    began = time.monotonic()
    code = build(given.output.resolve())
    page = given.output / "html" / "index.html"
    sys.stdout.write(f"{page}: {time.monotonic() - began:.0f} s\n" if code == 0 else "")
    return code


if __name__ == "__main__":
    sys.exit(main())
