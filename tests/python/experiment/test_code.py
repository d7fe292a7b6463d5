# Trusts: files that code would leave behind if it ran; the lines one counts in the texts below.
from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from commands import python
from small import TINY, small_experiment

import mcsim
from mcsim.base.errors import ConfigError
from mcsim.experiment.experiment import Experiment
from mcsim.experiment.runner import run


def written(folder: Path, systems: str, more: str = "", **modules: str) -> Path:
    """An experiment in a folder with modules; its systems begin in line 6."""
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
    path = folder / "mine.yaml"
    lines = [
        "name: mine",
        "interval: 30min",
        f"workload: {{profile: {TINY}}}",
        "tiers: [{device: dram, capacity: 400}, {device: flash, capacity: 1600}]",
        "systems:",
        *(f"  - {system}" for system in systems.splitlines()),
        more,
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def complaint(path: Path, allow_code: Any = True) -> str:
    with pytest.raises(ConfigError) as error:
        run(path, out=path.parent / "results", figures=False, allow_code=allow_code)
    return str(error.value).replace(f"{path.parent}/", "")


def shell(folder: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "mcsim", *arguments, env=env, cwd=folder, timeout=120)


DEMAND = """
    class Demand:
        def __init__(self, floor=1):
            self.floor = floor

        def allocate(self, seen):
            weight = seen.unique_blocks + self.floor
            return seen.capacities[:, None] * weight // weight.sum()
    """

# A module that writes a file when it is imported, with a class of each kind.
TOUCHES = """
    from pathlib import Path
    Path(__file__).with_name("ran").touch()
    import mcsim

    class Any(mcsim.PriorityPolicy):
        def allocate(self, seen): ...
        def optimize(self, problem): ...
        def priority(self, accesses, last, inserted, now): return last
    """


@pytest.mark.parametrize("allow_code", [False, True, ["subprocess"]])
def test_a_file_cannot_run_a_command(tmp_path: Path, allow_code: Any) -> None:
    ran = tmp_path / "ran"
    path = written(
        tmp_path, f'{{name: "subprocess:Popen", args: "touch {ran}", shell: true, cwd: /tmp}}'
    )
    said = complaint(path, allow_code)
    if allow_code == ["subprocess"]:
        expected = "subprocess:Popen is no allocator: it has no method allocate()"
    else:
        expected = "'subprocess' is a module that is not in the experiment's folder"
    assert said.startswith(f"mine.yaml:6: systems[0]: {expected}")
    assert not ran.exists()


@pytest.mark.parametrize(
    "systems",
    [
        '"touches:Any"',
        '{name: multicache, optimizer: "touches:Any"}',
        '{name: hierarchy, policy: "touches:Any"}',
        '{name: hierarchy, policy: "lru / touches:Any"}',
    ],
)
def test_code_beside_a_file_runs_only_if_it_is_let_in(tmp_path: Path, systems: str) -> None:
    path = written(tmp_path, systems, touches=TOUCHES)
    said = complaint(path, allow_code=False)
    assert "mine.yaml:6: systems[0]" in said
    assert "'touches' is a module in the experiment's folder, code that does not run unasked" in (
        said
    )
    assert said.endswith("say --allow-code (in Python: allow_code=True)")
    assert "'touches' is a module" in complaint(path, allow_code=["others"])
    assert not (tmp_path / "ran").exists()
    Experiment.load(path, allow_code=["touches"])
    assert (tmp_path / "ran").exists()


def test_a_library_of_policies_is_loaded_only_if_it_is_let_in(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "own.so").write_bytes(b"no library")
    (tmp_path / "other.so").write_bytes(b"no library")
    path = written(folder, "lru", "plugins: [own.so]")
    assert "mine.yaml:7: plugins[0]: 'own.so' is a library in the experiment's folder" in (
        complaint(path, allow_code=False)
    )
    assert "invalid ELF header" in complaint(path) or "too short" in complaint(path)
    path = written(folder, "lru", "plugins: [../other.so]")
    said = complaint(path)
    assert "'../other.so' is a library that is not in the experiment's folder" in said
    assert f"say --code {tmp_path}/other.so" in said
    named = complaint(path, allow_code=[str(tmp_path / "other.so")])
    assert "is a library" not in named


def test_a_class_of_another_kind_is_not_made(tmp_path: Path) -> None:
    kinds = """
        from pathlib import Path

        class Plain:
            def __init__(self):
                Path(__file__).with_name("made").touch()
        """
    for systems, expected in (
        ('"kinds:Plain"', "kinds:Plain is no allocator: it has no method allocate()"),
        (
            '{name: multicache, optimizer: "kinds:Plain"}',
            "kinds:Plain is no optimizer: it has no method optimize()",
        ),
        (
            '{name: hierarchy, policy: "kinds:Plain"}',
            "kinds:Plain does not derive from mcsim.Policy or mcsim.PriorityPolicy",
        ),
        ('"kinds:Plan"', "no class 'Plan' in kinds (did you mean 'Plain'?)"),
        ('"kinds.more:Plain"', "importing kinds.more: No module named 'kinds.more'"),
    ):
        assert expected in complaint(written(tmp_path, systems, kinds=kinds))
    assert not (tmp_path / "made").exists()


def test_the_documented_allocator_runs_with_one_word(tmp_path: Path) -> None:
    written(tmp_path, '{name: "demand:Demand", floor: 16}', demand=DEMAND)
    refused = shell(tmp_path, "run", "mine.yaml", "--no-figures")
    assert refused.returncode == 2
    assert refused.stderr.startswith("mcsim: mine.yaml:6: systems[0]: 'demand' is a module in the")
    for words in (["--allow-code"], ["--code", "demand"]):
        assert shell(tmp_path, "run", "mine.yaml", "--no-figures", *words).returncode == 0


class Handed:
    def __init__(self, share: int = 2) -> None:
        self.share = share

    def allocate(self, seen: mcsim.Observation) -> Any:
        return seen.current // self.share


def test_a_class_may_be_handed_over_and_is_the_callers_own(tmp_path: Path) -> None:
    spec = small_experiment(
        Handed,
        {"name": Handed, "share": 4, "label": "quarter"},
        tiers={"dram": 400},
        name="mine",
        interval="30min",
    )
    results = run(spec, out=tmp_path, figures=False)
    rows = results.metrics().to_arrow().filter(pc.field("interval") == 1).to_pylist()
    name = f"{Handed.__module__}:Handed"
    assert [system.name for system in results.spec.systems] == [name, name]
    assert [row["target"] for row in rows] == [67, 66, 66, 33, 33, 33]
    # Its remaining file is an ordinary file.
    with pytest.raises(ConfigError, match="code"):
        run(results.spec, out=tmp_path, figures=False, force=True)


def test_each_experiment_has_the_code_of_its_own_folder(tmp_path: Path) -> None:
    ids = []
    for share in (2, 3):
        folder = tmp_path / str(share)
        folder.mkdir()
        split = """
            from shares import SHARE
            class Split:
                def allocate(self, seen):
                    return seen.capacities[:, None] // SHARE * (seen.current[:1] * 0 + 1) // 2
            """
        path = written(folder, '"split:Split"', split=split, shares=f"SHARE = {share}")
        results = run(path, out=folder / "results", figures=False, allow_code=True)
        ids.append(results.run_id)
        assert results.metrics().to_arrow()["target"].to_pylist()[-2] == 400 // share // 2
    assert "split" not in sys.modules
    assert "shares" not in sys.modules


HELPED = """
    from shares import SHARE
    class Split:
        def allocate(self, seen):
            return seen.capacities[:, None] // SHARE * (seen.current[:1] * 0 + 1)
    """


@pytest.mark.parametrize(
    ("split", "modules"),
    [
        (HELPED, {"shares": "SHARE = {}"}),
        (HELPED, {"shares": "from deep import SHARE", "deep": "SHARE = {}"}),
        (HELPED, {"shares": "from pack.sub import SHARE", "pack/sub": "SHARE = {}"}),
        (HELPED, {"shares": "from pack import SHARE", "pack/__init__": "SHARE = {}"}),
        (
            HELPED,
            {
                "shares": "from pack import SHARE",
                "pack/__init__": "from .sub import SHARE",
                "pack/sub": "SHARE = {}",
            },
        ),
        (
            HELPED.replace("from shares import SHARE", "SHARE = __import__('shares').SHARE"),
            {"shares": "SHARE = {}"},
        ),
        (
            HELPED.replace("from shares import SHARE\n", "\n").replace(
                "(self, seen):", "(self, seen):\n            from shares import SHARE"
            ),
            {"shares": "SHARE = {}"},
        ),
    ],
    ids=["direct", "transitive", "module", "package", "relative", "dynamic", "late"],
)
def test_a_module_that_a_class_imports_is_part_of_the_run(
    tmp_path: Path, split: str, modules: dict[str, str]
) -> None:
    (tmp_path / "pack").mkdir()
    ids = []
    for share in (20, 30, 20):
        texts = {name: text.format(share) for name, text in modules.items()}
        path = written(tmp_path, '"split:Split"', split=split, **texts)
        experiment = Experiment.load(path, allow_code=True)
        ids.append(experiment.run_id([]))
    assert ids[0] == ids[2] != ids[1]


def test_a_module_elsewhere_that_a_class_imports_is_part_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module on the path imports another; neither is in the experiment's folder."""
    ids = []
    for place, share in (("one", 20), ("two", 30), ("three", 20)):
        elsewhere = tmp_path / place
        elsewhere.mkdir()
        monkeypatch.syspath_prepend(elsewhere)
        (elsewhere / "shares_elsewhere.py").write_text("from deep_elsewhere import SHARE\n")
        (elsewhere / "deep_elsewhere.py").write_text(f"SHARE = {share}\n")
        folder = tmp_path / f"of {place}"
        folder.mkdir()
        split = HELPED.replace("shares", "shares_elsewhere")
        experiment = Experiment.load(written(folder, '"split:Split"', split=split), allow_code=True)
        ids.append(experiment.run_id([]))
        monkeypatch.undo()
        for name in ("shares_elsewhere", "deep_elsewhere"):
            del sys.modules[name]
    assert ids[0] == ids[2] != ids[1]


def test_a_module_edited_within_a_second_is_imported_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    targets = []
    for share in (2, 4):
        texts = {"split": HELPED, "shares": f"SHARE = {share} * 3"}
        path = written(tmp_path, '"split:Split"', **texts)
        os.utime(tmp_path / "shares.py", (10**9, 10**9))
        results = run(path, out=tmp_path / "results", figures=False, allow_code=True)
        targets.append(results.metrics().to_arrow()["target"].to_pylist()[-2])
    assert targets == [400 // 6, 400 // 12]


def test_a_module_that_a_class_handed_over_imports_is_part_of_the_run(tmp_path: Path) -> None:
    script = """
        import mcsim
        from split import Split
        from mcsim.experiment.code import Code, with_classes_named
        spec, classes = with_classes_named({"systems": [Split]})
        print(Code(folder=None, given=classes).digest_of("split:Split"))
        """
    said = []
    for share in (2, 3, 2):
        texts = {"split": HELPED, "shares": f"SHARE = {share}", "script": script}
        written(tmp_path, "lru", **texts)
        said.append(python("script.py", cwd=tmp_path, timeout=60).stdout)
    assert said[0] == said[2] != said[1]


def test_a_module_of_another_name_is_not_taken_for_that_of_the_folder(tmp_path: Path) -> None:
    path = written(tmp_path, '"json:Demand"', json=DEMAND)
    assert "'json' is a module of this process already" in complaint(path)


FAULTS = {
    "raises": ("def allocate(self, seen):\n        return 1 / 0", "raised ZeroDivisionError"),
    "strings": (
        "def allocate(self, seen):\n        return [['a', 'b', 'c']] * 2",
        "expected whole numbers of blocks, an array of 2 tiers x 3 VMs, got [['a', 'b', 'c'], ",
    ),
    "ragged": (
        "def allocate(self, seen):\n        return [[1, 2, 3], [1]]",
        "an array of 2 tiers x 3 VMs, got rows of different lengths",
    ),
    "nan": (
        "def allocate(self, seen):\n        return seen.current * float('nan')",
        "an array of 2 tiers x 3 VMs, got nan",
    ),
    "half": ("def allocate(self, seen):\n        return seen.current * 0 + .5", "VMs, got 0.5"),
    "shape": (
        "def allocate(self, seen):\n        return seen.current.T",
        "got an array of shape (3, 2)",
    ),
    "exits": ("def allocate(self, seen):\n        exit(3)", "raised SystemExit: 3"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_allocator_at_fault_is_told_so(tmp_path: Path, fault: str) -> None:
    body, expected = FAULTS[fault]
    path = written(tmp_path, '"bad:Bad"', bad=f"class Bad:\n    {body}\n")
    said = complaint(path)
    assert said.startswith("mine.yaml:6: systems[0]: bad:Bad: allocate() of interval 0")
    assert expected in said
    if "raised" in expected:
        assert said.endswith("(bad.py:3)")


def test_an_optimizer_and_policies_at_fault_are_told_so(tmp_path: Path) -> None:
    bad = """
        import mcsim

        class Optimizer:
            def optimize(self, problem):
                raise ValueError("no idea")

        class Victims(mcsim.Policy):
            def accessed(self, slots, blocks, hits): ...
            def victims(self, count):
                return self.queue.pop()

        class Priority(mcsim.PriorityPolicy):
            def priority(self, accesses, last, inserted, now):
                raise KeyError("age")

        class Made:
            def __init__(self, size):
                raise RuntimeError("not today")
            def allocate(self, seen): ...
        """
    for systems, expected in (
        (
            '{name: multicache, optimizer: "bad:Optimizer"}',
            "bad:Optimizer: optimize() raised ValueError: no idea (bad.py:6)",
        ),
        (
            '{name: hierarchy, policy: "bad:Victims"}',
            "raised AttributeError: 'Victims' object has no attribute 'queue' (bad.py:11)",
        ),
        ('{name: hierarchy, policy: "bad:Priority"}', "raised KeyError: 'age' (bad.py:15)"),
        ('{name: "bad:Made", size: 1}', "raised RuntimeError: not today (bad.py:19)"),
        ('{name: "bad:Made", sizes: 1}', "unexpected keyword argument 'sizes'"),
    ):
        assert expected in complaint(written(tmp_path, systems, bad=bad))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1\nraise SystemExit", "importing bad raised SystemExit (bad.py:2)"),
        ("import nothing_of_the_kind", "importing bad: No module named 'nothing_of_the_kind'"),
        ("def f(:", "importing bad raised SyntaxError: "),
        ("1 / 0", "importing bad raised ZeroDivisionError: division by zero (bad.py:1)"),
    ],
)
def test_a_module_that_cannot_be_imported_says_why(
    tmp_path: Path, text: str, expected: str
) -> None:
    said = complaint(written(tmp_path, '"bad:Bad"', bad=text))
    assert said.startswith(f"mine.yaml:6: systems[0]: {expected}")


def test_faults_of_the_users_class_end_in_a_line_and_exit_code_2(tmp_path: Path) -> None:
    written(tmp_path, '"bad:Bad"', bad="class Bad:\n    def allocate(self, seen): seen.nothing")
    ended = shell(tmp_path, "run", "mine.yaml", "--allow-code", "--no-figures")
    assert ended.returncode == 2
    last = ended.stderr.splitlines()[-1]
    doing = "mine.yaml:6: systems[0]: bad:Bad: allocate() of interval 0"
    assert last.startswith(f"mcsim: {doing} raised AttributeError: ")
    assert "Traceback" not in ended.stderr
