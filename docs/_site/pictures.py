"""Draw the pictures of the site with the commands that its pages show."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

COMMANDS = """
mcsim trace synth tiny tiny.csv.gz
mcsim mrc tiny.csv.gz --compare shards,aet -o .
mcsim distances tiny.csv.gz -o .
mcsim compare tiny.csv.gz --policies lru,arc,s3-fifo,opt --sizes 'log(1%, 100%, 12)' -o .
mcsim trace synth tiny t1.csv.gz --seed 1
mcsim trace synth tiny t2.csv.gz --seed 2
mcsim trace synth tiny t3.csv.gz --seed 3
mcsim trace synth tiny t4.csv.gz --seed 4
mcsim compare t1.csv.gz t2.csv.gz t3.csv.gz t4.csv.gz --each --policies arc,s3-fifo,lirs,opt \
--against lru --sizes 1%,3%,10% --style paper -o .
mcsim run tiny --quiet
mcsim results plot tiny --only hit-ratio --figure-format svg -o run
mcsim results plot tiny --only occupancy --figure-format svg -o run
mcsim reproduce cloudphysics/adapting --quiet --figure-format svg --results reproduced
"""
"""Commands in one empty folder; the SVG files that they write are the pictures."""


def draw(folder: Path) -> None:
    """Run the commands and copy their pictures.

    Parameters
    ----------
    folder : Path
        Folder of the pictures.

    Raises
    ------
    subprocess.CalledProcessError
        If a command fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "experiments").symlink_to(ROOT / "experiments")
        for line in COMMANDS.strip().splitlines():
            subprocess.run(
                [str(Path(sys.executable).with_name("mcsim")), *shlex.split(line)[1:]],
                cwd=place,
                check=True,
                stdout=subprocess.DEVNULL,
                env=os.environ | {"MCSIM_CACHE_DIR": str(place / "cache")},
            )
        for picture in sorted(place.rglob("*.svg")):
            if "experiments" not in picture.parts:
                shutil.copyfile(picture, folder / picture.name)
