# Trusts: the files themselves, read as PDF and SVG: what is in them, how wide, in which sizes.
"""Pictures of commands, as they go into papers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from paper import check_paper, shown_in

from mcsim.cli.main import main
from mcsim.traces.trace import Trace

SECOND = 10**9

COMMANDS = {
    "one": ("mrc", "made.arrow"),
    "by-vm": ("mrc", "made.arrow", "--per-vm"),
    "by-interval": ("mrc", "made.arrow", "--interval", "5min"),
    "estimators": ("mrc", "made.arrow", "--compare", "aet,shards"),
    "miniatures": (
        *("mrc", "made.arrow", "--policies", "lru,arc", "--mini", "0.5"),
        *("--sizes", "log(10%, 80%, 4)"),
    ),
    "linear": ("mrc", "made.arrow", "--linear"),
    "policies": ("compare", "made.arrow", "--policies", "lru,arc,opt"),
    "tuned": ("tune", "made.arrow", "--size", "1MiB", "--policies", "lru,arc"),
    "shared": ("mix", "made.arrow", "--sizes", "log(10%, 80%, 4)"),
    "judged": ("whatif", "made.arrow", "--size", "10%"),
    "changed": ("whatif", "made.arrow", "--size", "10%", "--to", "+50%", "--leaving", "scan"),
}

Call = Callable[..., list[Path]]


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """Call a command in a folder with a trace of two VMs; return the pictures that it names."""
    draw = np.random.default_rng(1)
    blocks = np.concatenate([draw.zipf(1.3, 3000) % 500, np.arange(1000)])
    order = draw.permutation(len(blocks))
    Trace.from_arrays(
        np.arange(len(blocks)) * SECOND,
        blocks[order] * 4096,
        4096,
        vm=(order >= 3000).astype(int),
        vms=("zipf", "scan"),
        source="made",
    ).save(folder / "made.arrow")

    def call(*arguments: str) -> list[Path]:
        main([*arguments, "-o", "out"])
        written = [
            Path(line) for line in capsys.readouterr().out.splitlines() if line[:4] == "out/"
        ]
        return [path for path in written if path.suffix not in (".csv", ".arrow")]

    return call


@pytest.mark.parametrize("name", COMMANDS)
def test_pictures_for_papers(run: Call, name: str) -> None:
    pdf, svg = run(*COMMANDS[name], "--style", "paper", "--figure-format", "pdf,svg")
    assert (pdf.suffix, svg.suffix, pdf.stem) == (".pdf", ".svg", svg.stem)
    check_paper(pdf, svg, ["made", "mcsim"], synthetic=False)


def test_pictures_of_screens_have_titles(run: Call) -> None:
    png, svg = run("mix", "made.arrow", "--sizes", "log(10%, 80%, 4)")
    assert (png.suffix, svg.suffix) == (".png", ".svg")
    shown = shown_in(svg)
    assert "A cache shared or divided: made" in shown
    assert any(text.startswith("mcsim ") for text in shown)
    (only,) = run("mix", "made.arrow", "--figure-format", "pdf", "--figure-format", "pdf")
    assert only.suffix == ".pdf"


def test_papers_are_told_that_a_workload_is_synthetic(run: Call) -> None:
    main(["trace", "synth", str(_profile()), "generated.arrow"])
    files = run("mrc", "generated.arrow", "--style", "paper", "--figure-format", "pdf,svg")
    check_paper(*files, ["generated", "mcsim"], synthetic=True)


def _profile() -> Path:
    file = Path("small.yaml")
    phases = "[{duration: 1h, requests: 2000, reads: pages, writes: pages}]"
    file.write_text(
        "name: small\nseed: 3\nvms:\n  one:\n"
        "    components: {pages: {zipf: {blocks: 500, alpha: 0.9}, sizes: 4KiB}}\n"
        f"    phases: {phases}\n",
        encoding="utf-8",
    )
    return file


@pytest.mark.parametrize(
    ("command", "option", "given"),
    [
        ("mix", "--figure-format", "png,gif"),
        ("results plot", "--figure-format", "gif"),
        ("reproduce", "--figure-format", "pdf,gif"),
    ],
)
def test_formats_that_there_are_not(
    command: str, option: str, given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([*command.split(), "made.arrow", option, given])
    told = f"Invalid value for '{option}': 'gif' is not one of png, pdf, svg."
    assert told in capsys.readouterr().err
