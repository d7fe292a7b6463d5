"""Documents, their code blocks, and a folder with the files that their examples name."""

from __future__ import annotations

import gzip
import os
import re
import struct
from pathlib import Path

from block_devices import write_back
from small import ROOT, TINY

import mcsim
from mcsim.exchange.proposal import propose
from mcsim.traces.mapping import write_mapping
from mcsim.traces.synth import synth_trace

PROFILE = """
name: web
seed: 1
vms:
"""
MACHINE = """
  {name}:
    components:
      pages: {{zipf: {{blocks: 4000, alpha: 1.3}}, sizes: {{4KiB: 3, 16KiB: 1}}}}
    phases:
      - {{duration: 3h, requests: 3000, read_share: 0.8, reads: pages, writes: pages}}
"""


def blocks_of(document: Path, language: str) -> list[str]:
    """The code blocks of a document in a language."""
    text = document.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def example(document: str, language: str, containing: str) -> str:
    """The one code block of a document that contains a text."""
    (found,) = [b for b in blocks_of(ROOT / document, language) if containing in b]
    return found


def write_stand_ins(folder: Path) -> None:
    """Write traces and experiments as the documents name them, and parse the traces."""
    names = [f"web_{k}" for k in range(4)]
    profile = folder / "web.yaml"
    profile.write_text(PROFILE + "".join(MACHINE.format(name=name) for name in names))
    trace = synth_trace(profile, cache_dir=folder / "cache")
    profile.unlink()
    for name in names:
        trace.slice(vms=[name]).save(folder / f"{name}.csv.gz")
    (folder / "experiments").symlink_to(ROOT / "experiments")
    synth_trace(TINY, cache_dir=folder / "cache").save(folder / "tiny.csv.gz")
    for seed in (1, 2, 3, 4):
        synth_trace(TINY, seed=seed, cache_dir=folder / "cache").save(folder / f"t{seed}.csv.gz")
    tiny = (ROOT / "experiments/tiny.yaml").read_text()
    mine = tiny.replace("workloads/", "experiments/workloads/")
    (folder / "mine.yaml").write_text(mine)
    (folder / "sizes.yaml").write_text(example("docs/sweeps.md", "yaml", "name: sizes"))
    here = Path.cwd()
    try:
        os.chdir(folder)
        exec(example("docs/tutorials/cdn-cache.md", "python", 'open("cdn.csv"'), {})
        exec(example("docs/tutorials/cache-library.md", "python", 'open("app.csv"'), {})
        exec(example("docs/tutorials/kv-cache.md", "python", 'open("chat.jsonl"'), {})
    finally:
        os.chdir(here)
    write_cases(folder)
    write_back().written(folder)
    status = "0 65536 cache 8 27/1024 64 10/512 {} 0 0 0 0 1 writeback 0 smq 0 rw -\n"
    for name, counts in (("before", "10 90 0"), ("after", "70 130 0")):
        (folder / f"{name}.txt").write_text(status.format(counts))
    cached = example("docs/how-to/lvmcache-or-bcache.md", "yaml", "name: cached")
    (folder / "cached.yaml").write_text(cached)


def write_cases(folder: Path) -> None:
    """Write the small traces of public formats that docs/traces.md names."""
    cases = ROOT / "tests" / "data" / "cases"
    for case, name in (
        ("alibaba_io_traces.csv", "io_traces.csv"),
        ("hourly/2016022219-LUN4.csv", "2016022219-LUN4.csv"),
        ("hourly/2016022220-LUN4.csv", "2016022220-LUN4.csv"),
    ):
        (folder / f"{name}.gz").write_bytes(gzip.compress((cases / case).read_bytes()))
    rows = [f"{i},{i * i % 97 * 4096},4096,{'RW'[i % 3 == 0]}\n" for i in range(400)]
    objects = [struct.pack("<IQI2x", i, i * i % 7, 100) for i in range(400)]
    mcsim.Trace.from_arrays([0, 1, 2], [0, 0, 4096], 4096).save(folder / "misses.arrow")
    (folder / "requests.bin").write_bytes(b"".join(objects))
    (folder / "requests.csv").write_text("time_ms,offset,length,op\n" + "".join(rows))
    (found,) = propose(folder / "requests.csv")
    write_mapping(folder / "requests.map.yaml", found.format, found.options)
