# Trusts: the same policy in Python, with its own random numbers.
"""The example of an eviction policy in a library of its own, built as others would build it."""

from __future__ import annotations

import functools
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from commands import python
from small import ROOT

import mcsim as mc

pytestmark = pytest.mark.slow

EXAMPLE = ROOT / "examples" / "out_of_tree_policy"
MASK = (1 << 64) - 1

# Loading is for ever: what loads is run in processes of its own.
BEGIN = """
import sys
import mcsim as mc
library, arguments = sys.argv[1], sys.argv[2:]
"""


@functools.cache
def _tools_are_here() -> bool:
    return all(shutil.which(tool) for tool in ("cmake", "ninja", "c++"))


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not _tools_are_here():
        pytest.skip("cmake, ninja or a C++ compiler is absent")
    build = tmp_path_factory.mktemp("example")
    for command in (
        # Not CMake's default, make, which a machine that builds mcsim need not have.
        ["cmake", "-G", "Ninja", "-S", EXAMPLE, "-B", build, f"-Dmcsim_DIR={mc.get_cmake_dir()}"],
        ["cmake", "--build", build],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return build / "libsampled_lru.so"


def run(script: str, library: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return python("-c", BEGIN + script, library, *arguments)


def mix64(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


class Xoshiro:
    """xoshiro256**, seeded as in `core/base/random.hpp`."""

    def __init__(self, seed: int) -> None:
        self.state = [mix64((seed + i) & MASK) for i in range(4)]

    def split(self, name: str) -> Xoshiro:
        seed = self.state[0]
        for letter in name.encode():
            seed = mix64(seed ^ letter)
        return Xoshiro(seed)

    def below(self, bound: int) -> int:
        s = self.state
        product = s[1] * 5 & MASK
        drawn = ((product << 7 | product >> 57) & MASK) * 9 & MASK
        shifted = s[1] << 17 & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = (s[3] << 45 | s[3] >> 19) & MASK
        return drawn * bound >> 64


def sampled_lru_hits(keys: list[int], capacity: int, sample: int, seed: int) -> int:
    random = Xoshiro(seed).split("drawn-lru")
    slots: list[int] = []
    last: dict[int, int] = {}
    hits = 0
    for now, key in enumerate(keys):
        if key in last:
            hits += 1
        elif len(slots) < capacity:
            slots.append(key)
        else:
            drawn = [random.below(capacity) for _ in range(sample)]
            slot = min(drawn, key=lambda slot: last[slots[slot]])
            del last[slots[slot]]
            slots[slot] = key
        last[key] = now
    return hits


def trace() -> np.ndarray:
    rng = np.random.default_rng(5)
    return (2000 * rng.random(20_000) ** 3).astype(np.int64)


def test_it_hits_as_its_twin(library: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "trace.npy", trace())
    done = run(
        """
import numpy as np
assert mc.load_policies(library) == ["drawn-lru"]
policies = ["drawn-lru", "drawn-lru(sample=5)"]
rows = mc.simulate(np.load(arguments[0]), policies, [10, 300], seed=7, threads=2)
print(rows.hits.tolist())
""",
        library,
        str(tmp_path / "trace.npy"),
    )
    keys = trace().tolist()
    expected = [sampled_lru_hits(keys, size, sample, 7) for sample in (2, 5) for size in (10, 300)]
    assert done.stdout == f"{expected}\n", done.stderr


def test_its_name_is_known_everywhere(library: Path) -> None:
    done = run(
        """
names = mc.policy_names()
mc.load_policies(library)
mc.load_policies(library)
assert mc.policy_names() == [*names, "drawn-lru"]
assert mc.simulate([1, 2, 1], "all", [2]).policy[-1] == "drawn-lru"
for wrong in ["drawn-lur", "drawn-lru(sampel=2)", "drawn-lru(sample=0)"]:
    try:
        mc.simulate([1], wrong, [1])
    except mc.ConfigError as error:
        print(error)
""",
        library,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("unknown eviction policy 'drawn-lur' (did you mean 'drawn-lru'?")
    assert lines[1:] == [
        "drawn-lru: unknown parameter 'sampel' (did you mean 'sample'?)",
        "drawn-lru: sample: 0 is outside [1, 1024]",
    ]


def command_line(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return python("-m", "mcsim", *arguments, cwd=cwd)


def test_commands(library: Path, tmp_path: Path) -> None:
    (tmp_path / "blocks.txt").write_text("\n".join(map(str, trace()[:3000].tolist())))
    plugin = ("--plugin", str(library))
    done = command_line("describe", "drawn-lru", *plugin, cwd=tmp_path)
    assert "sample = 2   1 to 1024" in done.stdout, done.stderr
    assert "drawn-lru" in command_line("list", *plugin, cwd=tmp_path).stdout
    done = command_line("describe", "drawn-lru", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    done = command_line(
        *("compare", "blocks.txt", "--policies", "lru,drawn-lru(sample=3)"),
        *plugin,
        cwd=tmp_path,
    )
    assert "drawn-lru(sample=3)" in done.stdout, done.stderr
    done = command_line("list", "--plugin", "blocks.txt", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("mcsim: --plugin: blocks.txt: cannot be loaded: ")


def test_experiments(library: Path, tmp_path: Path) -> None:
    (tmp_path / "libs").mkdir()
    shutil.copy(library, tmp_path / "libs")
    (tmp_path / "blocks.txt").write_text("1\n2\n1\n")
    text = """\
name: plugged
interval: 10 references
plugins: [libs/libsampled_lru.so]
workload: {vms: [{name: vm, trace: blocks.txt}]}
tiers: [{device: dram, capacity: 10}]
systems: [lru]
"""
    (tmp_path / "plugged.yaml").write_text(text)
    (tmp_path / "wrong.yaml").write_text(text.replace("libs/", ""))
    done = run(
        """
from pathlib import Path
from mcsim.experiment.experiment import Experiment
first = Experiment.load(arguments[0], allow_code=True)
assert mc.policy_names()[-1] == "drawn-lru"
print(first.run_id([]))
library = Path(arguments[0]).parent / "libs" / "libsampled_lru.so"
content = library.read_bytes()
library.unlink()  # what is loaded stays as it was
library.write_bytes(content + b" ")
print(first.run_id([]))
try:
    Experiment.load(arguments[1], allow_code=True)
except mc.ConfigError as error:
    print(error)
""",
        library,
        *(str(tmp_path / name) for name in ("plugged.yaml", "wrong.yaml")),
    )
    first, second, message = done.stdout.splitlines()
    assert first != second
    assert message.endswith("libsampled_lru.so: no such file")
    assert "wrong.yaml:3: plugins[0]: " in message


def test_it_serves_in_tiers(library: Path, tmp_path: Path) -> None:
    # A thousand draws of a few slots find the least recently used.
    (tmp_path / "blocks.txt").write_text("\n".join(map(str, (trace()[:3000] // 50).tolist())))
    (tmp_path / "tiers.yaml").write_text(f"""\
name: tiers
interval: 1000 references
plugins: [{library}]
workload: {{vms: [{{name: vm, trace: blocks.txt}}]}}
tiers: [{{device: dram, capacity: 4}}, {{device: flash, capacity: 8}}]
systems: [lru, {{name: hierarchy, label: mine, policy: drawn-lru(sample=1024)}}]
""")
    done = run(
        """
results = mc.run(arguments[0], out=arguments[1], figures=False, allow_code=[library])
hits = results.to_pandas("metrics").groupby(["system", "tier"]).hits.sum()
assert hits["lru"].tolist() == hits["mine"].tolist()
print(hits["mine"].tolist())
""",
        library,
        str(tmp_path / "tiers.yaml"),
        str(tmp_path / "out"),
    )
    assert done.returncode == 0, done.stderr
    assert min(map(int, done.stdout.strip("[]\n").split(","))) > 0


def test_the_headers_are_installed() -> None:
    assert (Path(mc.get_include()) / "core/engine/policy/export_policies.hpp").is_file()
    done = command_line("build-flags", "--include", cwd=EXAMPLE)
    assert done.stdout == f"{mc.get_include()}\n", done.stderr
    done = command_line("build-flags", cwd=EXAMPLE)
    assert done.stdout == f"{mc.get_include()}\n{mc.get_cmake_dir()}\n"


def test_an_arena_loads_a_library_in_its_processes(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(library.parent)
    keys = np.random.default_rng(5).zipf(1.3, 5000) % 700
    trace = mc.Trace.from_arrays(np.arange(len(keys)), 4096 * keys, 4096)
    sampled = {"name": "mine", "policy": "drawn-lru(sample=64)", "library": library.name}
    ranking = mc.arena(trace, [sampled, "lru", "fifo"], ["10%"], allow_code=True, threads=1)
    assert ranking.failure.tolist() == [""] * 3
    scores = dict(zip(ranking.candidate.tolist(), ranking.score.tolist(), strict=True))
    assert scores["fifo"] < scores["mine"]
    assert "drawn-lru" not in mc.policy_names()  # of this process
