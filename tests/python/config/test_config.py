# Trusts: the schema's prose (config/spec.py) and the line numbers one counts in the text below.
from __future__ import annotations

import json
import os
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import complaints
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from small import EXPERIMENTS

from mcsim._core import engine
from mcsim.base.errors import ConfigError
from mcsim.config import ExperimentSpec, Source, check_spec
from mcsim.config.sweep import take_sweep
from mcsim.experiment.code import Code
from mcsim.experiment.experiment import Experiment, source_of

GOOD = textwrap.dedent("""\
    name: pair
    block_bytes: 4KiB
    interval: 1h
    workload:
      vms: [a, {name: b, trace: b_file, format: msr}]
    tiers:
      - {device: dram, capacity: 2.5e5 blocks}
      - device: flash
        capacity: 1GiB
    systems:
      - lru
      - {name: lru, label: lru-legacy, legacy: true}
    """)


def check(tmp_path: Path, text: str, *overrides: str) -> ExperimentSpec:
    path = tmp_path / "web.yaml"
    path.write_text(text, encoding="utf-8")
    source = Source.read(path)
    for override in overrides:
        source.override(override)
    return check_spec(source)


def complaint(tmp_path: Path, text: str, *overrides: str, of: Any = check) -> str:
    return complaints.complaint(of, tmp_path, text, *overrides).replace(f"{tmp_path}/", "")


def test_units_shorthands_and_parameters_are_read(tmp_path: Path) -> None:
    spec = check(tmp_path, GOOD)
    assert spec.interval.length == 3600 * 10**9
    assert [tier.capacity for tier in spec.tiers] == [250_000, 262_144]
    assert [(vm.name, vm.trace, vm.format) for vm in spec.workload.vms] == [
        ("a", None, None),
        ("b", "b_file", "msr"),
    ]
    assert [(s.name, s.title, s.params) for s in spec.systems] == [
        ("lru", "lru", {}),
        ("lru", "lru-legacy", {"legacy": True}),
    ]
    assert spec.backend.device == "hdd"


def test_expanding_reaches_a_fixed_point(tmp_path: Path) -> None:
    spec = check(tmp_path, GOOD)
    again = ExperimentSpec.model_validate(spec.expanded())
    assert again == spec
    assert again.expanded() == spec.expanded()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "dram, capacity",
            "dram, capacty",
            "web.yaml:7: tiers[0]: unknown key 'capacty' (did you mean 'capacity'?)",
        ),
        ("    capacity: 1GiB\n", "", "web.yaml:8: tiers[1]: missing key 'capacity'"),
        ("1GiB", "1000 B", "web.yaml:9: tiers[1].capacity: '1000 B' is less than a block of 4096"),
        ("4KiB", "0", "web.yaml:2: block_bytes: expected more than nothing, got 0"),
        ("1h", "3600", "web.yaml:3: interval: expected a length of time such as 60s, got 3600"),
        ("name: b", "nme: b", "web.yaml:5: workload.vms[1]: unknown key 'nme' (did you mean"),
        ("- lru", "- [lru]", "web.yaml:11: systems[0]: expected a map of keys to values"),
        ("name: pair", "name: a/b", "web.yaml:1: name: expected letters, digits,"),
        ("name: pair", "nam: pair", "web.yaml:1: unknown key 'nam' (did you mean 'name'?)"),
        ("interval: 1h", "name: twice", "web.yaml:3: duplicate key 'name'"),
        ("interval: 1h", "seed: '3'", "web.yaml:3: seed: expected a whole number, got '3'"),
        ("interval: 1h", "ops: none", "expected one of 'reads', 'all' or 'writes', got 'none'"),
        ("interval: 1h", "backend: {device: 3}", "web.yaml:3: backend.device: expected text"),
        ("interval: 1h", "figures: [", "not YAML: "),
        ("interval: 1h", "tiers: x", "duplicate key 'tiers'"),
        (
            "interval: 1h",
            "backend: {device: hdd, iops: many}",
            "web.yaml:3: backend.iops: expected a number above 0, got 'many'",
        ),
        (
            "interval: 1h",
            "backend: {device: hdd, bandwidth: 180}",
            "web.yaml:3: backend.bandwidth: expected bytes a second such as 180MB/s, got 180",
        ),
        (
            "interval: 1h",
            "backend: {device: hdd, bandwidth: 0B/s}",
            "web.yaml:3: backend.bandwidth: expected more than nothing, got '0B/s'",
        ),
        (GOOD, "- a list", "web.yaml:1: expected keys such as 'name:' and 'workload:'"),
        (GOOD, "", "web.yaml:1: expected keys"),
    ],
)
def test_mistakes_are_named_with_their_line(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    assert old in GOOD
    assert expected in complaint(tmp_path, GOOD.replace(old, new, 1))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: No such file or directory"):
        Source.read(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"name: caf\xe9\n")
    with pytest.raises(ConfigError, match=r"latin\.yaml: not UTF-8 text \(byte 9\)"):
        Source.read(tmp_path / "latin.yaml")


def test_overrides_take_the_path_of_the_file(tmp_path: Path) -> None:
    spec = check(
        tmp_path,
        GOOD,
        "tiers.0.capacity=1e6 blocks",
        "systems.0.legacy=true",
        "workload.vms.0.format=csv",
        "seed=7",
    )
    assert spec.tiers[0].capacity == 1_000_000
    assert spec.systems[0].params == {"legacy": True}
    assert (spec.workload.vms[0].name, spec.workload.vms[0].format) == ("a", "csv")
    assert spec.seed == 7


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("seed", "--set seed: expected key=value, such as seed=2"),
        ("sed=2", "--set sed=2: unknown key 'sed' (did you mean 'seed'?)"),
        ("seed=two", "--set seed=two: seed: expected a whole number, got 'two'"),
        ("seed=[", "--set seed=[: not YAML: "),
        ("tiers.2.device=hdd", "tiers has no item '2' (2 items, counted from 0)"),
        ("tiers.0.device.x=3", "tiers[0].device is a value, it has no 'x'"),
        ("tiers.0.capcity_blocks=3", "tiers[0]: unknown key 'capcity_blocks' (did you mean"),
    ],
)
def test_a_wrong_override_is_blamed_and_not_the_file(
    tmp_path: Path, override: str, expected: str
) -> None:
    message = complaint(tmp_path, GOOD, override)
    assert message.startswith(f"--set {override}: ")
    assert expected in message


def test_overrides_do_not_reach_the_callers_dictionary() -> None:
    given_spec = {
        "name": "x",
        "workload": {"vms": ["a"]},
        "tiers": [{"device": "dram", "capacity": 5}],
        "systems": ["lru"],
    }
    source = Source("spec", given_spec, Path())
    source.override("tiers.0.capacity=6")
    assert check_spec(source).tiers[0].capacity == 6
    assert given_spec["tiers"] == [{"device": "dram", "capacity": 5}]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda children: (
            st.lists(children, max_size=4)
            | st.dictionaries(st.sampled_from(["name", "device", "x"]), children, max_size=4)
        ),
        max_leaves=8,
    ),
    st.sampled_from(["name", "workload", "tiers", "systems", "interval", "seed", "devices"]),
)
def test_any_value_anywhere_is_accepted_or_refused_in_lines(value: object, key: str) -> None:
    spec: dict[str, object] = {
        "name": "x",
        "workload": {"vms": ["a"]},
        "tiers": [{"device": "dram", "capacity": 5}],
        "systems": ["lru"],
    }
    spec[key] = value
    source = Source("spec", spec, Path())
    try:
        checked = check_spec(source)
    except ConfigError:
        with pytest.raises(ConfigError, match=r"\A(spec: .+\n)*spec: .+\Z"):
            check_spec(source)
    else:
        assert ExperimentSpec.model_validate(checked.expanded()) == checked


def test_the_published_schema_knows_every_key() -> None:
    schema = ExperimentSpec.model_json_schema()
    assert set(schema["properties"]) == set(ExperimentSpec.model_fields)
    assert schema["additionalProperties"] is False
    tiers = schema["$defs"]["TierSpec"]
    assert {"device", "capacity"} <= set(tiers["required"])
    assert all("description" in field for field in tiers["properties"].values())


COMPONENTS = textwrap.dedent("""\
    name: pair
    interval: 1h
    workload:
      vms: [a, b]
    tiers:
      - {device: dram, capacity: 10}
      - {device: flash, capacity: 100}
    systems:
      - lru
      - name: multicache
        ri_window: 30 s
        optimizer: {name: annealing, iterations: 50}
    """)


def test_all_mistakes_of_the_schema_are_told_at_once(tmp_path: Path) -> None:
    wrong = """\
name: web
intervall: 1h
workload: {vms: [a]}
tiers:
  - {device: dram, capacty: 5}
  - {device: flash, capacity: lots}
systems: [lru]
seed: many
"""
    lines = complaint(tmp_path, wrong).splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        "web.yaml:2",
        "web.yaml:5",
        "web.yaml:6",
        "web.yaml:8",
    ]
    assert lines[1].endswith("unknown key 'capacty' (did you mean 'capacity'?)")


def test_a_key_that_is_unknown_hides_no_other_that_is_missing(tmp_path: Path) -> None:
    wrong = """\
nme: web
colour: red
workload: {vms: [a]}
tiers:
  - {capacty: 5, speed: 3}
"""
    lines = [line.partition(" (one of ")[0] for line in complaint(tmp_path, wrong).splitlines()]
    assert lines == [
        "web.yaml:1: missing key 'systems'",
        "web.yaml:1: unknown key 'nme' (did you mean 'name'?)",
        "web.yaml:2: unknown key 'colour'",
        "web.yaml:5: tiers[0]: missing key 'device'",
        "web.yaml:5: tiers[0]: unknown key 'capacty' (did you mean 'capacity'?)",
        "web.yaml:5: tiers[0]: unknown key 'speed'",
    ]


def test_all_mistakes_beyond_the_schema_are_told_at_once(tmp_path: Path) -> None:
    wrong = """\
name: web
interval: 1h
workload: {vms: [a, a]}
tiers:
  - {device: dramm, capacity: 5}
  - {device: flashh, capacity: 5}
systems: [lru]
figures: [path]
"""
    found = complaint(tmp_path, wrong, of=load).splitlines()
    for line, begin in zip(
        found,
        [
            "web.yaml:3: workload.vms[1]: a second VM 'a'",
            "web.yaml:8: figures[0]: unknown figure 'path'",
            "web.yaml:5: tiers[0].device: unknown device 'dramm' (did you mean 'dram'?); one of ",
            "web.yaml:6: tiers[1].device: unknown device 'flashh' (did you mean 'flash'?); one of ",
        ],
        strict=True,
    ):
        assert line.startswith(begin)
    of_systems = wrong.replace("dramm", "dram").replace("flashh", "flash").replace("a, a", "a")
    of_systems = of_systems.replace("figures: [path]\n", "").replace(
        "systems: [lru]",
        "systems:\n  - arc\n  - {name: multicache, ri_windw: 1s, kapa: 2}\n  - lur\n",
    )
    assert complaint(tmp_path, of_systems, of=load).splitlines() == [
        "web.yaml:8: systems[0]: unknown system 'arc': it is an eviction policy; "
        "{name: hierarchy, policy: arc} is a system of it",
        "web.yaml:9: systems[1]: unknown key 'ri_windw' (did you mean 'ri_window'?)",
        "web.yaml:9: systems[1]: unknown key 'kapa'",
        "web.yaml:10: systems[2]: unknown system 'lur' (did you mean 'lru'?)",
    ]


def load(tmp_path: Path, text: str, *overrides: str) -> ExperimentSpec:
    (tmp_path / "web.yaml").write_text(text, encoding="utf-8")
    return Experiment.load(tmp_path / "web.yaml", overrides, allow_code=True).spec


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("- lru", "- lur", "web.yaml:9: systems[0]: unknown system 'lur' (did you mean 'lru'?)"),
        (
            "ri_window",
            "ri_windw",
            "web.yaml:11: systems[1]: unknown key 'ri_windw' (did you mean 'ri_window'?)",
        ),
        ("ri_window: 30 s", "lable: x", "systems[1]: unknown key 'lable' (did you mean 'label'?)"),
        (
            "ri_window: 30 s",
            "ri_mode: gatd",
            "web.yaml:11: systems[1]: multicache: ri_mode: unknown choice 'gatd' "
            "(one of literal, gated, linear)",
        ),
        ("30 s", "30", "web.yaml:11: systems[1].ri_window: expected a length of time"),
        ("30 s", "0 s", "web.yaml:11: systems[1]: multicache: ri_window: 0 is outside [1, inf]"),
        ("30 s", "9 references", "systems[1].ri_window: expected a length of time, as in `interv"),
        ("30 s", "[1, 2]", "systems[1].ri_window: expected a length such as 1h or"),
        ("ri_window: 30 s", "grid: [1]", "systems[1].grid: expected a single value, got [1]"),
        ("ri_window: 30 s", "grid: 1.5", "multicache: grid: expected a whole number, got 1.5"),
        ("ri_window: 30 s", "grid: 1", "multicache: grid: 1 is outside [2, 1000000]"),
        ("ri_window: 30 s", "priorities: {c: 1}", "web.yaml:11: systems[1].priorities: no VM 'c'"),
        ("ri_window: 30 s", "priorities: {a: x}", "systems[1].priorities.a: expected a number"),
        ("annealing", "anealing", "unknown optimizer 'anealing' (did you mean 'annealing'?)"),
        (
            "iterations",
            "iteration",
            "web.yaml:12: systems[1].optimizer: unknown key 'iteration' (did you mean",
        ),
        ("50}", "-1}", "web.yaml:12: systems[1].optimizer: annealing: iterations: -1 is outside"),
        ("- lru", "- {name: lru, optimizer: exact}", "this system uses no optimizer"),
        ("dram", "dram2", "web.yaml:6: tiers[0].device: unknown device 'dram2' (did you mean 'dr"),
        ("[a, b]", "[a, a]", "web.yaml:4: workload.vms[1]: a second VM 'a'"),
        ("[a, b]", "[]", "web.yaml:3: workload: neither VMs nor a profile"),
        ("name: multicache", "name: static", "web.yaml:11: systems[1]: unknown key 'ri_window'"),
        ("- lru", "- multicache", "a second system; give it a label of its own, not 'multicache'"),
        ("1h", "9 references", "systems[1].ri_window: expected references, as in `interval`"),
        (
            "- lru",
            "- {name: static, writes: 'back, c=around'}",
            "web.yaml:9: systems[0]: static: writes: no VM 'c' (did you mean 'a'?)",
        ),
        (
            "- lru",
            "- {name: hierarchy, groups: {a: 1, c: 2}}",
            "web.yaml:9: systems[0].groups: no VM 'c'",
        ),
        (
            "- lru",
            "- nowhere:Class",
            "web.yaml:9: systems[0]: 'nowhere' is a module that is not in the experiment's folder",
        ),
        (
            "- lru",
            "- textwrap:TextWrapper",
            "web.yaml:9: systems[0]: 'textwrap' is a module that is not in the experiment's folder",
        ),
    ],
)
def test_components_are_judged_by_their_declarations(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    assert old in COMPONENTS
    assert expected in complaint(tmp_path, COMPONENTS.replace(old, new, 1), of=load)


def test_where_references_are_counted_no_default_length_of_time_is_used(tmp_path: Path) -> None:
    text = COMPONENTS.replace("1h", "50 references")
    with pytest.raises(ConfigError, match="ri_window: the default of 1min means nothing"):
        load(tmp_path, text.replace("    ri_window: 30 s\n", ""))
    spec = load(tmp_path, text.replace("30 s", "9 references"))
    assert spec.systems[1].params["ri_window"] == "9 references"


def test_loading_writes_out_devices_parameters_and_optimizers(tmp_path: Path) -> None:
    spec = load(tmp_path, COMPONENTS, "tiers.1.read=30us")
    assert spec.tiers[0].quantities == (30, 30, 10.0)  # Table I of the Multi-Cache paper
    assert spec.tiers[1].quantities == (30_000, 200_000, 2.0)
    assert spec.backend.quantities == (6_500_000, 6_500_000, 0.075)
    declared = {d["name"]: d for d in engine.describe_systems()}
    multicache = spec.systems[1]
    assert set(multicache.params) == {p["name"] for p in declared["multicache"]["params"]}
    assert multicache.params["ri_window"] == "30s"
    assert multicache.optimizer is not None
    assert multicache.optimizer.params["iterations"] == 50
    assert spec.systems[0].params == {"legacy": False, "writes": "through"}


def test_devices_say_what_they_can_do_only_if_they_are_given_it(tmp_path: Path) -> None:
    assert load(tmp_path, COMPONENTS).backend.can_do == (0, 0)
    given = (
        "backend.device=hdd",
        "backend.iops=140",
        "backend.bandwidth=180MB/s",
        "tiers.1.bandwidth=1GiB/s",
    )
    spec = load(tmp_path, COMPONENTS, *given)
    assert spec.backend.can_do == (140, 180e6)
    assert spec.tiers[1].can_do == (0, 2**30)
    assert Experiment.load(spec).spec == spec
    assert "iops" not in spec.expanded()["tiers"][0]


def test_a_loaded_experiment_written_out_loads_as_the_same(tmp_path: Path) -> None:
    spec = load(tmp_path, COMPONENTS)
    assert Experiment.load(spec).spec == spec
    with (tmp_path / "again.yaml").open("w", encoding="utf-8") as file:
        YAML().dump(spec.expanded(), file)
    assert Experiment.load(tmp_path / "again.yaml").spec == spec
    assert Experiment.load(json.loads(json.dumps(spec.expanded()))).spec == spec


@pytest.mark.parametrize("path", sorted(EXPERIMENTS.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_experiments_of_the_repository_load(path: Path) -> None:
    source, _ = source_of(path, ())
    if (grid := take_sweep(source)) is None:
        assert Experiment.load(path).spec.name == path.stem
        return
    code = Code(source.folder)
    for cell in grid.cells():
        assert Experiment.of(grid.varied(cell), code).spec.name == path.stem


def test_the_data_path_of_an_allocator_is_judged_by_the_vms_of_the_workload(
    tmp_path: Path,
) -> None:
    (tmp_path / "my_paths.py").write_text(
        textwrap.dedent("""\
            class Back:
                data_path = {"writes": "vm_b=back"}

                def allocate(self, seen):
                    return None
            """)
    )
    text = COMPONENTS.replace("[a, b]", "[vm_a, vm_b]").replace("- lru", "- my_paths:Back")
    load(tmp_path, text)
    said = complaint(tmp_path, text.replace("vm_b]", "vm_c]"), of=load)
    assert "web.yaml:9: systems[0]: Back.data_path: writes: no VM 'vm_b' (did you mean 'vm_" in said


LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LAUGHS, "web.yaml:7: more than 1,000,000 values, aliases written out"),
        ("name: " + "[" * 5000 + "]" * 5000, "web.yaml:1: nested more than 50 deep"),
        ("name: " + "{a: " * 60 + "1" + "}" * 60, "web.yaml:1: nested more than 50 deep"),
        ("#" * (5 << 20), "web.yaml: no experiment: it has more than 4MiB"),
    ],
    ids=["aliases", "deep", "deeper", "large"],
)
def test_what_multiplies_or_never_ends_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    assert complaint(tmp_path, text) == expected


def test_a_spec_of_python_that_contains_itself_is_refused() -> None:
    spec: dict[str, object] = {"name": "x"}
    spec["systems"] = [spec]
    with pytest.raises(ConfigError, match=r"^spec: a value that contains itself$"):
        Experiment.load(spec)


def test_an_alias_of_what_it_is_in_is_a_value_like_no_other(tmp_path: Path) -> None:
    text = GOOD.replace("workload:\n", "workload: &w\n").replace("vms: [a,", "vms: [a, *w,")
    assert complaint(tmp_path, text).startswith("web.yaml:4: workload.vms[1]: expected a map")
    said = complaint(tmp_path, GOOD, "workload={vms: &v [a, *v]}")
    assert said.startswith("--set workload={vms: &v [a, *v]}: workload.vms[1]: expected a map")


def test_an_override_may_not_multiply_either(tmp_path: Path) -> None:
    said = complaint(tmp_path, GOOD, f"workload={{vms: {'[' * 60}{']' * 60}}}")
    assert said.endswith(": nested more than 50 deep")


def test_a_device_is_refused_and_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="/dev/zero: not a regular file"):
        Source.read("/dev/zero")
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    with pytest.raises(ConfigError, match=r"pipe\.yaml: nothing comes through this pipe"):
        Source.read(pipe)
    with ThreadPoolExecutor(1) as pool:
        fed = pool.submit(pipe.write_text, GOOD)
        assert check_spec(Source.read(pipe)).name == "pair"
        fed.result()


@pytest.mark.parametrize("size", ["1TiB", "4GiB"])
def test_blocks_are_smaller_than_4_gib(tmp_path: Path, size: str) -> None:
    assert complaint(tmp_path, GOOD.replace("4KiB", size)) == (
        f"web.yaml:2: block_bytes: expected less than 4GiB, got '{size}'"
    )
