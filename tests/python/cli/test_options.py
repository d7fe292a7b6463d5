"""Trusts: what there is in the folders before and after; what commands print."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from commands import call, declared
from small import TINY

from mcsim.base.errors import HostError
from mcsim.base.files import check_writable
from mcsim.cli import main as cli


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "keys.txt"
    path.write_text("".join(f"{i % 7}\n" for i in range(500)), encoding="utf-8")
    blocks = "".join(f"{i},a,r,{4096 * (i % 7)},4096\n" for i in range(500))
    (tmp_path / "blocks.csv").write_text(f"time_s,vm,op,offset,length\n{blocks}", encoding="utf-8")
    return path


EXPERIMENT = f"""\
name: quiet
interval: 1h
workload: {{profile: {TINY}}}
tiers: [{{device: dram, capacity: 10}}]
systems: [lru]
"""


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    path = tmp_path / "quiet.yaml"
    path.write_text(EXPERIMENT, encoding="utf-8")
    return path


def commands(trace: Path, experiment: Path, out: Path) -> dict[str, list[object]]:
    """All commands that work for a while, writing into a folder."""
    return {
        "run": ["run", experiment, "--no-figures", "--results", out],
        "mrc": ["mrc", trace, "-o", out],
        "distances": ["distances", trace, "-o", out],
        "compare": ["compare", trace, "--policies", "lru", "-o", out],
        "tune": ["tune", trace.with_name("blocks.csv"), "--size", "64KiB", "-o", out],
        "advise": ["advise", trace, "--size", "10%", "-o", out],
        "convert": ["trace", "convert", trace, out / "t.csv"],
        "slice": ["trace", "slice", trace, out / "t.csv", "--ops", "reads"],
        "synth": ["trace", "synth", TINY, out / "t.csv"],
        "info": ["trace", "info", trace, "--save", out / "m.yaml"],
    }


NAMES = sorted(commands(Path("t"), Path(), Path()))


@pytest.mark.parametrize("name", NAMES)
def test_what_cannot_be_written_is_told_before_the_work(
    name: str, trace: Path, experiment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # No user, root included, can make a folder there.
    code, out, err = call(capsys, *commands(trace, experiment, Path("/proc/none"))[name])
    assert (code, out) == (3, "")
    assert err == "mcsim: /proc/none: cannot write there: No such file or directory\n"


@pytest.mark.parametrize("name", NAMES)
def test_quiet_commands_say_nothing_while_at_work(
    name: str, trace: Path, experiment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = call(capsys, *commands(trace, experiment, tmp_path / "a")[name])
    quiet = call(capsys, *commands(trace, experiment, tmp_path / "b")[name], "--quiet")
    assert (told[0], quiet[0]) == (0, 0)
    assert told[2] != ""
    assert quiet[2] == ""
    assert quiet[1].count("\n") == told[1].count("\n")


def test_a_folder_that_is_tried_is_left_as_it_was(tmp_path: Path) -> None:
    check_writable(tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "a").mkdir()
    check_writable(tmp_path / "a" / "b" / "c")
    assert list((tmp_path / "a").iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(HostError, match=r"file: cannot write there: (Not a directory|File exists)"):
        check_writable(tmp_path / "file")


def test_describe_does_not_mind_capitals(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "describe", "ARC") == call(capsys, "describe", "arc")
    code, _, err = call(capsys, "describe", "MULTICASHE")
    assert code == 2
    assert (
        err
        == "mcsim: nothing is called 'MULTICASHE' (did you mean 'multicache'?); see mcsim list\n"
    )


@pytest.mark.parametrize("command", ["advise", "mrc", "tune", "size", "whatif", "compare", "mix"])
def test_help_has_every_option_once_under_what_it_is_about(command: str) -> None:
    told = CliRunner().invoke(cli.cli, [command, "--help-all"]).output
    sections = told.partition("\nOptions:\n")[2].split("\n\n")
    headings = [section.splitlines()[0] for section in sections[1:]]
    assert headings == ["Input:", "Output:", "Execution:"]
    of_command = cli.cli.get_command(click.Context(cli.cli), command)
    assert of_command is not None
    for param in of_command.params:
        if isinstance(param, click.Option):
            lines = [line.split()[0].rstrip(",") for line in told.splitlines() if line[:3] == "  -"]
            assert lines.count(param.opts[0]) == 1, param.opts
    assert "--format" in next(of for of in sections if of.startswith("Input:"))
    assert "--help" in sections[-1]


def test_rare_options_are_in_the_whole_help_alone() -> None:
    short, whole = (CliRunner().invoke(cli.cli, ["mrc", word]) for word in ("--help", "--help-all"))
    assert (short.exit_code, whole.exit_code) == (0, 0)
    assert "--help-all" in short.output
    assert "--max-skipped" not in short.output
    assert "--max-skipped" in whole.output
    assert CliRunner().invoke(cli.cli, ["schema", "--help-all"]).exit_code == 2


def test_an_option_has_one_kind_of_value() -> None:
    """Names that two commands have, with the values that they take."""
    kinds: dict[str, set[str]] = {}
    for _, command in declared():
        for param in command.params:
            if isinstance(param, click.Option) and not param.is_flag:
                word = re.search(r"\w+", param.metavar or param.type.name)
                assert word is not None
                kinds.setdefault(max(param.opts, key=len), set()).add(word[0])
    several = {name: values for name, values in kinds.items() if len(values) > 1}
    assert several == {}


def test_short_help_is_whole() -> None:
    told = CliRunner().invoke(cli.cli, ["--help"]).output
    assert "experiments and others." in told
    assert "..." not in told.partition("Experiments:")[2]


def test_only_commands_that_allow_code_name_classes() -> None:
    for name in ("compare", "mrc", "tune", "advise"):
        told = CliRunner().invoke(cli.cli, [name, "--help"]).output
        assert ("module:Class" not in told) or ("--allow-code" in told), name


def test_each_format_of_tables_has_a_flag(capsys: pytest.CaptureFixture[str]) -> None:
    text = call(capsys, "list", "policies")
    assert call(capsys, "list", "policies", "--table-format", "text") == text
    for form in ("json", "csv", "markdown", "latex"):
        printed = call(capsys, "list", "policies", f"--{form}")
        assert printed[0] == 0
        assert printed == call(capsys, "list", "policies", "--table-format", form)
        assert printed != text
    code, _, err = call(capsys, "list", "--csv", "--table-format=latex")
    assert code == 2
    assert "--csv and --latex: one at a time" in err
    code, _, err = call(capsys, "list", "--table-format", "cvs")
    assert (code, "'cvs' is not one of" in err) == (2, True)


def test_a_policy_is_not_given_twice(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, said = call(capsys, "compare", trace, "--policies", "2q,lru,2q(kin=0.25)", "--sizes=9")
    assert code == 0
    code, _, said = call(capsys, "compare", trace, "--policies", "lru,2q,lru", "--sizes=9")
    assert (code, said) == (2, "mcsim: --policies: lru is given twice\n")
