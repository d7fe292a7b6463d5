"""Odd values, and every place of a command line or a file that takes a value.

A place is an option or argument of a command, a key of an experiment or of a synthetic profile, or
a parameter of a component. `all_cases` puts every odd value into every place.
"""

from __future__ import annotations

import copy
import io
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from ruamel.yaml import YAML

from mcsim.base.inputs import printable
from mcsim.cli.main import cli
from mcsim.experiment.catalogue import catalogue

__all__ = ["EXPERIMENTS", "PROFILES", "SET_UP", "Case", "all_cases", "write_inputs"]

TEXTS = [
    *(
        "",
        " ",
        ",",
        ":",
        "=",
        "/",
        "%",
        "*",
        "[",
        "{",
        "''",
        "\n",
        "\t",
        "--",
        "-",
        "..",
        "../..",
        ".",
    ),
    *("0", "-0", "-1", "1", "2", "3", "0.5", "-0.5", "1.5", "1e-400", "1e308", "1e309", "-1e309"),
    *("1e1000000", "-1e1000000", "1e999999999", "1e-999999999", "1e9999999999999999999"),
    *("nan", "NaN", "inf", "-inf", "Infinity", "null", "true", "false", "None"),
    *(str(2**31), str(2**32), str(2**53 + 1), str(2**63 - 1), str(2**63), str(2**63 + 1)),
    *(str(2**64 - 1), str(2**64), str(-(2**63)), str(-(2**63) - 1), "1_000", "1__0", "0x10"),
    *(
        "1e1000000B",
        "1e30GiB",
        "1e-30GiB",
        "-1KiB",
        "1GiB",
        "1e999999999s",
        "1e30 s",
        "0s",
        "1ns",
        "nan s",
    ),
    *("1%", "0%", "-1%", "101%", "1e9%", "nan%", "1e999999999%", "1/0", "1/3", "1e999999999/3"),
    *(
        "1:2",
        "1:2:3:4",
        "1%:100%:1e9",
        "1:1e308:3",
        "1%:100%:-1",
        "log(100%, 1%, 2)",
        "log(1, 1e999999999, 5)",
    ),
    *("1e30 per s", "5 per 0s", "lru", "lru,lru", "lru:", "lru:a=1", "lru:=", "lru(((((", "shards"),
    *("٣", "²", "é", "\udcff", "$(id)", "<b>", "{vm}", "{0}", "%s", "=HYPERLINK(1)"),
    *("9" * 5_000, "x" * 100_000, "(" * 2_000, "1," * 2_000, "a.b" * 1_000, "[" * 3_000),
]
"""Odd values for a command line."""

_LONG = {str(2**31), str(2**32)}  # legal numbers of requests, which take minutes

NODES: list[Any] = [
    *(None, True, False, [], {}, [1], [None], {"a": 1}, [[]], {"": ""}, [[[[1]]]], {"name": None}),
    *(0, -1, 1, 0.5, 2**32 + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64, -(2**63) - 1, 10**400),
    *(float("nan"), float("inf"), float("-inf"), 1e308, 5e-324, -0.0),
    "a\x00b",
    *(text for text in TEXTS if "\udcff" not in text and len(text) < 10_000 and text not in _LONG),
]
"""Odd values for a YAML file; strings are quoted."""


@dataclass(frozen=True)
class Case:
    """One command with an odd value.

    Attributes
    ----------
    place : str
        Place of the value.
    value : Any
        The odd value.
    arguments : sequence of str
        The command.
    files : mapping
        Files that are written before it, by name: texts, or documents to be written as YAML.
    blamed : sequence of str
        One of these is named by the error, if there is one.
    """

    place: str
    value: Any
    arguments: Sequence[str]
    files: Mapping[str, Any] = field(default_factory=dict)
    blamed: Sequence[str] = ()

    def text_of(self, name: str) -> str:
        """Return what a file has."""
        content = self.files[name]
        return content if isinstance(content, str) else _yaml(content)

    def __str__(self) -> str:
        shown = repr(self.value)
        return f"{self.place} {shown if len(shown) < 60 else shown[:60] + '…'}"


# --- Inputs -------------------------------------------------------------------------------------

_VMS: dict[str, Any] = {
    "a": {
        "components": {
            "hot": {
                "zipf": {"blocks": 50, "alpha": 0.9},
                "sizes": {"4KiB": 3, "8KiB": 1},
                "class": 0,
            },
            "deep": {"stack": {"curve": [[10, 0.2], [90, 0.7]], "over": "log"}, "class": 1},
        },
        "requests": 300,
        "phases": [
            {
                "start": "1s",
                "duration": "200s",
                "requests": 200,
                "read_share": 0.7,
                "reads": {"hot": 2, "deep": 1},
                "writes": "hot",
                "diurnal": {"amplitude": 0.5, "peak": "2h"},
                "bursts": {
                    "period": "50s",
                    "length": "5s",
                    "share": 0.2,
                    "reads": "deep",
                    "writes": "hot",
                },
            },
            {"duration": "100s", "rate": "1 per s", "reads": "hot"},
        ],
    },
    "b": {
        "components": {
            "sweep": {"loop": {"blocks": 60}, "class": 2},
            "new": {"scan": {}, "class": 7},
        },
        "phases": [{"duration": "300s", "requests": 200, "reads": {"sweep": 1, "new": 1}}],
    },
    "c": {
        "client": {"cache_blocks": 20, "hit": "1ms", "miss": "6ms", "write": "5ms"},
        "components": {"own": {"loop": {"blocks": 30}, "class": 3}},
        "phases": [{"duration": "10s", "think": "50ms", "reads": "own"}],
    },
}

PROFILES: dict[str, Any] = {
    "profile.yaml": {
        "name": "odd", "description": "small", "block_bytes": "4KiB", "seed": 1, "vms": _VMS,
    }
}  # fmt: skip

_ONE_HOST: dict[str, Any] = {
    "name": "odd",
    "description": "every key of an experiment on one host",
    "seed": 3,
    "block_bytes": "4KiB",
    "ops": "all",
    "interval": "60s",
    "warm_up": "60s",
    "workload": {
        "profile": "profile.yaml",
        "seed": 2,
        "align": "start",
        "window": {"start": "1s", "end": "300s"},
        "sample": "1/2",
        "vms": [{"name": "a", "arrives": "10s", "departs": "200s"}, "b"],
    },
    "devices": {
        "nvm": {
            "read": "1us", "write": "2us", "price": 5, "pe_cycles": 1000, "drive": "1GB",
            "write_amplification": 2, "iops": 1e6, "bandwidth": "1GB/s",
            "watts": 5, "idle_watts": 1,
        }
    },
    "tiers": [
        {"device": "nvm", "capacity": 20, "over": "link", "read": "1us", "write": "2us"},
        {
            "device": "flash", "capacity": "80 blocks", "price": 2, "delayed_hits": True,
            "pe_cycles": 3000, "write_amplification": 1, "iops": 5e4, "bandwidth": "500MB/s",
            "drive": "1GB",
            "watts": 3, "idle_watts": 0.1,
        },
    ],
    "backend": {
        "device": "hdd", "read": "5ms", "write": "6ms", "price": 0.1, "pe_cycles": 9,
        "drive": "1GB",
        "write_amplification": 1, "iops": 140, "bandwidth": "180MB/s",
        "watts": 9, "idle_watts": 8, "vms": {"b": "9ms"},
    },
    "link": {"latency": "100us", "bandwidth": "1GB/s"},
    "plugins": [],
    "systems": [{"name": "multicache", "label": "mine", "optimizer": {"name": "greedy"}}],
    "opt": True,
    "writes": "through",
    "slowdowns": True,
    "figures": ["occupancy"],
    "page": True,
    "figure_formats": ["svg"],
}  # fmt: skip

_SEVERAL_HOSTS = {
    "name": "hosts",
    "interval": "100s",
    "workload": {"profile": ["profile.yaml"]},
    "tiers": [{"device": "dram", "capacity": 20}],
    "hosts": {
        "names": ["one", "two"], "vms": {"a": "two"}, "link": {"latency": "100us", "rate": 1000.0},
    },
    "systems": ["cloudcache"],
}  # fmt: skip

_COLUMNS = {
    "time": "time", "time_unit": "s", "vm": "vm", "op": "op", "offset": "offset",
    "length": "length",
}  # fmt: skip

_RECORDED = {
    "name": "recorded",
    "interval": "100s",
    "warm_up": {
        "profile": None, "align": "clock", "vms": [{"name": "a", "trace": "two.csv", "vm": "a_0"}],
        "window": {"start": "1s", "end": "100s"},
    },
    "workload": {
        "vms": [
            {
                "name": "a", "trace": "own.csv", "vm": "a", "format": "csv", "options": _COLUMNS,
                "on_bad_line": "skip", "max_skipped": "5%", "on_unsorted": "sort",
            },
            {"name": "{vm}-2", "trace": "own.csv", "vms": "b", "mapping": "mapping.yaml"},
            {"name": "joined", "trace": ["nameless.csv", "nameless-2.csv"]},
        ]
    },
    "tiers": [{"device": "dram", "capacity": 40}],
    "systems": ["lru"],
}  # fmt: skip

_STARTED = {
    "name": "started",
    "interval": "100s",
    "warm_up": {"state": "states"},
    "workload": {"profile": "profile.yaml"},
    "tiers": [{"device": "dram", "capacity": 20}],
    "systems": ["lru"],
}

_DUMPED = {
    "name": "dumped",
    "interval": "100s",
    "warm_up": {"cache_dump": "dump.xml"},
    "workload": {"vms": [{"name": "a", "trace": "nameless.csv"}]},
    "tiers": [{"device": "flash", "capacity": "64KiB"}],
    "systems": ["dm-cache"],
}

_TENANTS = {
    "name": "tenants",
    "interval": "100s",
    "workload": {
        "chains": {
            "block_tokens": 16, "duration": "300s",
            "tenants": {
                "a": {"requests": 20, "sessions": 2, "instructions": 3, "turn": [1, 2],
                      "longest": 9},
                "b": {"requests": 20, "sessions": 3, "turn": [1, 4], "longest": 9,
                      "start": "10s", "end": "200s"},
            },
        }
    },
    "tiers": [{"device": "dram", "capacity": 20}],
    "systems": ["static"],
}  # fmt: skip

_CHAINS = {
    "name": "chains",
    "interval": "100s",
    "workload": {
        "chains": {
            "file": "kv.jsonl", "ids": "prefix", "fields": {"tenant": "tenant"},
            "block_tokens": 512,
        }
    },
    "tiers": [{"device": "dram", "capacity": 20}],
    "systems": ["lru"],
}  # fmt: skip

_DUMP = """\
<superblock uuid="" block_size="64" nr_cache_blocks="2" policy="smq" hint_width="4">
  <mappings><mapping cache_block="0" origin_block="1" dirty="false"/></mappings>
  <hints><hint cache_block="0" data="AwAAAA=="/></hints>
</superblock>
"""

_SWEEP = {
    "name": "sweep",
    "interval": "100s",
    "workload": {"profile": "profile.yaml"},
    "tiers": [{"device": "dram", "capacity": 20}],
    "systems": ["lru"],
    "sweep": {
        "tiers.0.capacity": "log(10, 40, 2)",
        "zip": {"interval": ["100s", "150s"], "ops": ["reads", "all"]},
        "exclude": [{"interval": "100s", "tiers.0.capacity": [10]}],
    },
}

_SEARCH = {
    "name": "search",
    "interval": "100s",
    "workload": {"profile": "profile.yaml"},
    "tiers": [
        {"device": "dram", "capacity": 10}, {"device": "flash", "capacity": 40},
    ],
    "systems": ["hierarchy"],
    "search": {
        "sizes": "5,10 / 20,40", "policies": ["lru"], "objective": "latency",
        "limits": {
            "dollars": 1.0, "years": 0.001, "device_writes": 100_000, "latency": "100ms",
            "hit_ratio": 0.01,
        },
    },
}  # fmt: skip

_EXTENDING = {"extends": "one.yaml", "seed": 5}

_RUN = ("run", "--no-figures", "--no-page", "--quiet", "--results", "runs")

EXPERIMENTS: dict[str, tuple[Any, Sequence[str]]] = {
    "one.yaml": (_ONE_HOST, _RUN),
    "hosts.yaml": (_SEVERAL_HOSTS, _RUN),
    "recorded.yaml": (_RECORDED, _RUN),
    "started.yaml": (_STARTED, _RUN),
    "dumped.yaml": (_DUMPED, _RUN),
    "tenants.yaml": (_TENANTS, _RUN),
    "chains.yaml": (_CHAINS, _RUN),
    "sweep.yaml": (_SWEEP, ("sweep", "run", "--dry-run", "--quiet", "--results", "runs")),
    "search.yaml": (_SEARCH, ("search", "--quiet")),
    "extending.yaml": (_EXTENDING, _RUN),
}
"""Experiments that have every key, and the command that each is for."""


def _yaml(root: Any) -> str:
    text = io.StringIO()
    writer = YAML(typ="safe")
    writer.default_flow_style = False
    writer.dump(root, text)
    return text.getvalue()


def write_inputs(folder: Path) -> None:
    """Write the files that cases read."""
    requests = [
        (i, "ab"[i % 2], ("Read", "Write")[i % 5 == 0], (i * i % 97) * 4096, 4096 * (1 + i % 2))
        for i in range(400)
    ]
    as_msr = [
        f"{130 * 10**15 + i * 10**7},{vm},0,{op},{at},{size},100\n"
        for i, vm, op, at, size in requests
    ]
    own = ["time,vm,op,offset,length\n"] + [
        ",".join(map(str, request)) + "\n" for request in requests
    ]
    (folder / "two.csv").write_text("".join(as_msr))
    request = '{"timestamp": 0, "input_length": 9, "hash_ids": [1], "tenant": "a"}\n'
    (folder / "kv.jsonl").write_text(request)
    (folder / "own.csv").write_text("".join(own))
    for name, first in (("nameless.csv", 0), ("nameless-2.csv", 400)):
        rows = [f"{i + first},{at},{size}\n" for i, _, _, at, size in requests]
        (folder / name).write_text("time_s,offset,length\n" + "".join(rows))
    # A queued read of sector 8 on device 8,0.
    event = struct.pack("<IIQQIIIIIHH", 0x65617407, 0, 1, 8, 4096, 1 << 16 | 1, 1, 8 << 20, 0, 0, 0)
    (folder / "dm-1.blktrace.0").write_bytes(event)
    (folder / "counters.txt").write_text("cache_hits:1\ncache_misses:2\n", encoding="utf-8")
    (folder / "dump.xml").write_text(_DUMP, encoding="utf-8")
    (folder / "mapping.yaml").write_text(_yaml({"format": "csv"} | _COLUMNS))
    for name, profile in PROFILES.items():
        (folder / name).write_text(_yaml(profile))
    for name, (experiment, _) in EXPERIMENTS.items():
        (folder / name).write_text(_yaml(experiment))


# --- Places -------------------------------------------------------------------------------------

_SAVES = ("started.yaml", "--set", "warm_up=100s", "--no-figures", "--no-page", "-q")

SET_UP = [
    ("run", "hosts.yaml", "-q"),
    ("run", *_SAVES, "--save-state", "states"),
    ("sweep", "run", "sweep.yaml", "-q"),
]
"""Commands that other cases need: their results are read."""

_BASES: dict[str, Sequence[str]] = {
    "advise": ("two.csv", "--size", "10%", "--policies", "arc", "-q"),
    "arena": ("two.csv", "--policies", "arc", "--sizes", "10%", "--threads", "1", "-q"),
    "cache ls": ("--cache-dir", "kept"),
    "cache rm": ("--all", "--cache-dir", "kept"),
    "cache verify": ("--cache-dir", "kept"),
    "compare": ("two.csv", "--policies", "lru,arc", "--sizes", "10%,50%", "-q"),
    "build-flags": (),
    "distances": ("two.csv", "-q"),
    "describe": ("lru",),
    "kv": ("kv.jsonl", "-q"),
    "list": (),
    "mix": ("two.csv", "--sizes", "10%", "-q"),
    "mrc": ("two.csv", "-q"),
    "reproduce": ("multicache/table1", "--quick", "-q", "--results", "reproduced"),
    "results diff": ("hosts", "hosts"),
    "results gc": ("--dry-run",),
    "results ls": (),
    "results page": ("hosts", "-o", "page.html"),
    "results plot": ("hosts", "--list"),
    "results rm": ("nothing", "--yes"),
    "results show": ("hosts",),
    "results verify": (),
    "run": ("one.yaml", "--no-figures", "--no-page", "-q"),
    "schema": (),
    "search": ("search.yaml", "-q"),
    "size": ("two.csv", "--target-hit-ratio", "0.1", "-q"),
    "sweep run": ("sweep.yaml", "--dry-run", "-q"),
    "sweep status": ("sweep.yaml",),
    "trace cache-device": ("dm-1.blktrace.0",),
    "trace catalogue": (),
    "trace counters": ("counters.txt", "counters.txt"),
    "trace convert": ("two.csv", "out.csv", "-q"),
    "trace info": ("two.csv", "-q"),
    "trace map": ("own.csv",),
    "trace misses": ("two.csv", "missed.csv", "--size", "8KiB", "-q"),
    "trace slice": ("two.csv", "cut.csv", "--start", "10s", "-q"),
    "trace synth": ("profile.yaml", "made.csv", "-q"),
    "tune": ("two.csv", "--size", "1MiB", "--policies", "lru", "-q"),
    "watch": ("two.csv", "-q"),
    "whatif": ("two.csv", "--size", "10%", "--to", "20%", "-q"),
}
"""By command: arguments with which it does something in a moment."""

_INSTEAD: dict[tuple[str, str], Sequence[str]] = {
    ("mrc", "--mini"): ("two.csv", "--policies", "lru", "--sizes", "10%", "-q"),
    ("mrc", "--seeds"): (
        "two.csv", "--policies", "lru", "--mini", "0.5", "--sizes", "10%", "-q",
    ),
    ("mrc", "--sizes"): ("two.csv", "--policies", "lru", "-q"),
    ("mrc", "--memory"): ("two.csv", "--policies", "lru", "--sizes", "10%", "-q"),
    ("mrc", "--pieces"): ("two.csv", "--shard", "0/2", "-q"),
    ("mrc", "--policies"): ("two.csv", "--sizes", "10%", "-q"),
    ("size", "--target-latency"): ("two.csv", "-q"),
    ("size", "--tier"): ("two.csv", "--target-latency", "4ms", "-q"),
    ("size", "--backend"): ("two.csv", "--target-latency", "4ms", "-q"),
    ("size", "--writes"): ("two.csv", "--target-latency", "4ms", "--ops", "all", "-q"),
    ("tune", "--seeds"): (
        "two.csv", "--size", "1MiB", "--policies", "lru", "--mini", "0.5", "-q",
    ),
    ("trace misses", "--set"): ("one.yaml", "missed.csv", "-q"),
    ("trace misses", "--system"): ("one.yaml", "missed.csv", "-q"),
    ("run", "--save-state"): _SAVES,
    ("search", "--seeds"): ("search.yaml", "--mini", "0.5", "-q"),
    ("results plot", "--only"): ("hosts", "-o", "drawn"),
    ("results plot", "--output"): ("hosts", "--only", "curves"),
    ("results plot", "--value"): ("sweep", "-o", "drawn"),
    ("results plot", "--vms"): ("sweep", "-o", "drawn"),
    ("results plot", "--x"): ("sweep", "-o", "drawn"),
    ("results plot", "--y"): ("sweep", "-o", "drawn"),
    ("results show", "--value"): ("sweep",),
    ("results show", "--x"): ("sweep",),
    ("trace convert", "--block-bytes"): ("two.csv", "out.lcs", "-q"),
    ("whatif", "--leaving"): ("two.csv", "--size", "10%", "-q"),
    ("whatif", "--joining"): ("two.csv", "--size", "10%", "-q"),
}  # fmt: skip
"""Arguments for options that need others."""

_ALSO: dict[str, Sequence[str]] = {"--max-skipped": ("--on-bad-line", "skip")}
"""Arguments that an option needs in every command."""

# Options that write or read far from the folder, or wait for a cluster: left out.
_SKIPPED = {("mrc", "--dask"), ("sweep run", "--dask")}


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield all commands by their names."""
    context = click.Context(cli)

    def below(
        command: click.Command, names: tuple[str, ...]
    ) -> Iterator[tuple[str, click.Command]]:
        if not isinstance(command, click.Group):
            yield " ".join(names), command
            return
        for name in command.list_commands(context):
            inside = command.get_command(context, name)
            assert inside is not None
            yield from below(inside, (*names, name))

    return below(cli, ())


def _of_options() -> Iterator[Case]:
    for name, command in commands():
        for param in command.params:
            called = max(param.opts, key=len)
            if getattr(param, "is_flag", False) or (name, called) in _SKIPPED:
                continue
            if isinstance(param, click.Argument):
                yield from _of_argument(name, command, param)
                continue
            base = [*_INSTEAD.get((name, called), _BASES[name]), *_ALSO.get(called, ())]
            if called == "--vm-name":
                base = ["nameless.csv" if word == "two.csv" else word for word in base]
            short = called.removeprefix("--")
            names = [called, short, short.replace("-", "_"), "sub-block", *param.opts]
            if called == "--mini":
                names.append("rate")
            if called in ("--only", "--cells"):
                names.append("figure")
            if called == "--set":
                names += [word for word in base if word.endswith(".yaml")]
            if called == "--block-bytes":
                names += ["one block of", "a block of"]
            if called == "--held-out":
                names.append("own.csv")  # which a pattern finds
            if called == "--option":
                names.append("msr:")  # the format has no such parameter
            if name == "search":
                names.append("search.yaml")  # which the option changes
            # The last of two equal options counts. A search of `/` takes long.
            for text in TEXTS if called != "--trace-dir" else [t for t in TEXTS if t != "/"]:
                arguments = (*name.split(), *base, f"{called}={text}")
                shown = [printable(text)[:20]] if text.strip() and _is_path(param) else []
                yield Case(f"{name} {called}", text, arguments, blamed=(*names, *shown))


def _is_path(param: click.Parameter) -> bool:
    return isinstance(param.type, click.Path) or param.metavar in ("DIR", "FILE", "LIBRARY")


def _of_argument(name: str, command: click.Command, param: click.Parameter) -> Iterator[Case]:
    """Cases of an argument: the base has the arguments first, in their order."""
    base = list(_BASES[name])
    place = [one for one in command.params if isinstance(one, click.Argument)].index(param)
    for text in TEXTS:
        given = [*base[:place], *base[place + 1 :]]
        arguments = (*name.split(), *given[place:], "--", *given[:place], text)
        # One that looks for more arguments has those after it first.
        if place == 0 and len([p for p in command.params if isinstance(p, click.Argument)]) > 1:
            arguments = (*name.split(), *given[1:], "--", text, given[0])
        yield Case(
            f"{name} {param.name}",
            text,
            arguments,
            blamed=(
                *(param.name, param.name.upper(), printable(text)[:20], repr(text)[1:20]),
                *([".csv"] if text == "*" else []),  # a pattern stands for files that are there
            ),
        )


def _nodes(root: Any, where: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of all nodes of a document, but the root."""
    inside = (
        root.items()
        if isinstance(root, dict)
        else enumerate(root)
        if isinstance(root, list)
        else ()
    )
    for key, value in inside:
        yield (*where, key)
        yield from _nodes(value, (*where, key))


def _with(root: Any, where: Sequence[Any], value: Any) -> Any:
    """Return a document with another value at a place; other parts are shared."""
    if not where:
        return value
    changed = copy.copy(root)
    changed[where[0]] = _with(root[where[0]], where[1:], value)
    return changed


def _of_files() -> Iterator[Case]:
    documents = [(name, root, (*command, name)) for name, (root, command) in EXPERIMENTS.items()]
    for name, root in PROFILES.items():
        documents.append((name, root, ("trace", "synth", name, "made.csv", "-q")))
    for name, root, arguments in documents:
        for where in _nodes(root):
            place = ".".join(map(str, where))
            for value in NODES:
                changed = _with(root, where, value)
                # A file that is named there may be at fault.
                others = [str(value)[:20]] if isinstance(value, str) and _FILES & set(where) else []
                blamed = (name, "own.csv", "two.csv", "nameless", *others)
                yield Case(f"{name} {place}", value, arguments, {name: changed}, blamed)
        for text in _TEXTS_OF_FILES:
            yield Case(name, text, arguments, {name: text}, (name,))


_FILES = {"extends", "profile", "trace", "mapping", "vms", "plugins"}

_TEXTS_OF_FILES = [
    *(
        "",
        "\n",
        "a",
        "[",
        "{" * 100_000,
        "[" * 100_000,
        "- " * 1_000,
        "a: &a [*a]",
        "\x00",
        "name: [1",
        "\t",
    ),
    *(
        "name: 1\nname: 2",
        "%YAML 9.9\n---\na: 1",
        "!!python/object:os.system x",
        "? [1]\n: 2",
        "a: b: c",
    ),
    *(
        "---\n---\n",
        "name: odd\n" + "x: [1]\n" * 3,
        "1: 2",
        "null: 1",
        "true: 1",
        "1.5: 2",
        "<<: 1",
    ),
]


def _of_parameters() -> Iterator[Case]:
    entries = catalogue()
    for entry in entries["eviction policies"]:
        for param in entry["params"]:
            for text in TEXTS:
                spec = f"{entry['name']}:{param['name']}={text}"
                place = f"policy {entry['name']} {param['name']}"
                arguments = (
                    "compare",
                    "two.csv",
                    "--sizes",
                    "10%",
                    "-q",
                    f"--policies={spec}",
                )
                yield Case(place, text, arguments, blamed=(entry["name"], "--policies"))
    for entry in entries["estimators"]:
        for param in entry["params"]:
            for text in TEXTS:
                spec = f"{entry['name']}:{param['name']}={text}"
                arguments = ("mrc", "two.csv", "-q", f"--estimator={spec}")
                place = f"estimator {entry['name']} {param['name']}"
                yield Case(place, text, arguments, blamed=(entry["name"], "--estimator"))
    for entry in entries["trace formats"]:
        for param in entry["params"]:
            for text in TEXTS:
                arguments = ("trace", "info", "two.csv", "-q", f"--format={entry['name']}")
                yield Case(
                    f"format {entry['name']} {param['name']}", text,
                    (*arguments, f"--option={param['name']}={text}"),
                    blamed=("two.csv", f"{entry['name']}: {param['name']}", "options: "),
                )  # fmt: skip
    yield from _of_systems(entries)


def _of_systems(entries: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[Case]:
    plain = _ONE_HOST | {"opt": False, "workload": {"profile": "profile.yaml"}, "ops": "reads"}
    run = (*_RUN, "one.yaml")
    for kind in ("systems", "optimizers"):
        for entry, param in ((e, p) for e in entries[kind] for p in e["params"]):
            for value in NODES:
                odd = {"name": entry["name"], param["name"]: value}
                system = odd if kind == "systems" else {"name": "multicache", "optimizer": odd}
                place = f"{kind.removesuffix('s')} {entry['name']} {param['name']}"
                root = plain | {"systems": [system]}
                yield Case(place, value, run, {"one.yaml": root}, ("one.yaml",))


def all_cases() -> list[Case]:
    """Return every odd value in every place."""
    return [*_of_options(), *_of_files(), *_of_parameters()]
