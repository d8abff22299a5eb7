"""Each kind of finding in each kind of kernel: where it is, whose, when; and nothing happens."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from operator import attrgetter
from typing import Any, NamedTuple

import pytest

from ecsgen.checked import CheckError, checked
from ecsgen.checked.findings import KINDS
from tests.support.generated_package import imported_package

EXPRESSIONS = {
    "null": "{p}friend.{of}x",
    "index": "{p}v[{p}k]",
    "zero": "{p}x / {p}z",
    "wrap": "u8({p}w)",
    "nan": "sqrt({p}low)",
    "infinite": "{p}b * {p}b",
}
"""Expressions that go wrong in the row of which a field has the value in `SPECIAL`."""
SPECIAL = {"friend": 0, "k": 3, "z": 0.0, "w": 300, "low": -1.0, "b": 1e200}
TICK = 12


class Kind(NamedTuple):
    """A kind of kernel: its text, and how it reads the fields of the row that is special."""

    home: str
    text: str
    """`EXPR` in it is what goes wrong, `STEP` a step that assigns it, or one that is lost."""
    prefix: str = ""
    row: int = 1
    """The first row that reads the special one."""
    without: frozenset[str] = frozenset()
    """Kinds of findings that cannot be."""


LOST = frozenset({"lost"})
LOST_OR_NULL = frozenset({"lost", "null"})
"""Reductions and tables have no references."""
KERNELS = {
    "component": Kind("Body", "{steps: [STEP]}"),
    "turns": Kind("Body", "{turns: random, steps: [STEP]}"),
    "where": Kind("Body", '{where: "f64(EXPR) != 7", steps: [out = 1]}', without=LOST),
    "acts": Kind("Body", "{where: x == 1, steps: [STEP]}"),
    "space": Kind("Body", '{near: 5, steps: ["out = sum(f64(EXPR))"]}', "other.", 0, LOST),
    "meet": Kind(
        "Body",
        "\n    near: 5\n    turns: rows\n"
        "    steps: |\n      for it in other:\n          out += f64(EXPR)",
        "it.", 0, LOST,
    ),
    "inner_loop": Kind("Body", "\n    steps: |\n      for i in range(2):\n          STEP"),
    "head": Kind(
        "Body",
        "\n    steps: |\n      if x == 7:\n          out = 2\n"
        "      elif f64(EXPR) != 7:\n          out = 3",
        without=LOST,
    ),
    "branch": Kind(
        "Body",
        "\n    steps: |\n      if x == 7:\n          out = 2\n      else:\n          STEP",
    ),
    "loop_head": Kind(
        "Body",
        "\n    at_most: 9\n    steps: |\n      while f64(EXPR) == 7:\n          out = 2",
        without=LOST,
    ),
    "grid": Kind(
        "Cell", '{near: {radius: 1}, steps: ["out = sum(f64(EXPR))"]}', "other.", 0, LOST
    ),
    "cell": Kind("Cell", "{steps: [STEP]}"),
    "world": Kind("", "{over: Body, steps: [STEP]}", "Body."),
    "world_turns": Kind("", "{over: Body, turns: rows, steps: [STEP]}", "Body."),
    "query": Kind("", "{over: bodies, steps: [STEP]}", "Body."),
    "network": Kind(
        "", '{over: Body, near: {via: Link}, steps: ["Body.out = sum(f64(EXPR))"]}',
        "other.Body.", 0, LOST,
    ),
    "chunk": Kind("", "{over: parts, steps: [STEP]}", "Part.", without=frozenset({"null"})),
    "birth": Kind(
        "", '{over: Body, steps: ["spawn(Body(out=f64(EXPR)), where=Body.x == 1)"]}', "Body.",
        without=LOST,
    ),
    "message": Kind(
        "", '{over: Body, steps: ["Body.peer.Body.out += f64(EXPR)"]}', "Body.", without=LOST
    ),
    "reduction": Kind("Body", '{sum: "f64(EXPR)"}', without=LOST_OR_NULL),
    "record": Kind("", '{noted: {max: "f64(EXPR)"}}', "Body.", without=LOST_OR_NULL),
}  # fmt: skip
"""Each has its kernels, reductions or tables, one for each kind of finding."""
FIELDS = """\
fields:
  {x: f64, z: f64, low: f64, w: i64, k: i64, b: f64, out: f64, v: "f64[3]",
  friend: FRIEND, peer: FRIEND}
"""


def names_of(kernel: str) -> dict[str, str]:
    """Return the names of the kernels of a kind by the kind of finding."""
    return {kind: f"{kernel}_{kind}" for kind in KINDS if kind not in KERNELS[kernel].without}


def expression(kernel: str, kind: str) -> str:
    """Return the part of a kernel that a finding is to point at."""
    home, _, prefix, *_ = KERNELS[kernel]
    if kind == "lost":
        return f"{prefix}b += 1"
    if kind == "null" and prefix.startswith("other."):
        prefix = prefix.removeprefix("other.")  # others have no references to follow
    of = "" if home == "Cell" else "Part." if kernel == "chunk" else "Body."
    return EXPRESSIONS[kind].format(p=prefix, of=of)


def texts(home: str, *kernels: str) -> str:
    """Return the lines of some kinds of kernels."""
    lines = []
    for kernel in kernels:
        _, text, prefix, *_ = KERNELS[kernel]
        assert KERNELS[kernel].home == home
        for kind, name in names_of(kernel).items():
            part = expression(kernel, kind)
            step = part if kind == "lost" else f"{prefix}out = f64({part})"
            step = step if "\n" in text else f'"{step}"'
            lines.append(f"  {name}: {text.replace('STEP', step).replace('EXPR', part)}\n")
    return "".join(lines)


def made_schema() -> str:
    """Return a schema with all kernels."""
    others = "reduction", "record"
    kernels = {
        home: texts(home, *(k for k in KERNELS if KERNELS[k].home == home and k not in others))
        for home in ("Body", "Cell", "")
    }
    fields = FIELDS.replace("FRIEND", "entity").replace("x:", 'at: "f64[2]", x:')
    settings = ["x", "z", "low", "w", "k", "b"]
    calls = {kind: f"set_{kind}" for kind in EXPRESSIONS if kind != "null"}
    entries = "".join(
        f'  {name}:\n    - {{set: settings.x, to: "f64({setting_expression(kind)})"}}\n'
        for kind, name in calls.items()
    )
    runs = "".join(f"  day_{kind}: [{names_of('world')[kind]}, tick]\n" for kind in KINDS)
    types = ", ".join(f"{n}: {'i64' if n in 'wk' else 'f64'}" for n in settings)
    return (
        f"component: Body\nspace: {{field: at}}\n{fields}kernels:\n{kernels['Body']}"
        f"reductions:\n{texts('Body', 'reduction')}---\n"
        f"component: Cell\ngrid: {{shape: [4]}}\n{FIELDS.replace('FRIEND', 'id<Cell>')}"
        f"kernels:\n{kernels['Cell']}---\n"
        "component: Link\nowner: none\nfields: {a: entity, b: entity}\n"
        "network: {between: [a, b]}\n---\n"
        f"component: Part\n{FIELDS.replace('FRIEND', 'entity')}---\n"
        "world: Town\narchetypes: {components: [Part]}\n"
        "queries: {bodies: {all: [Body]}, parts: {all: [Part]}}\n"
        f"kernels:\n{kernels['']}"
        f'settings: {{{types}, v: "f64[3]"}}\n'
        f"records:\n{texts('', 'record')}schedule:\n{runs}{entries}"
    )


def setting_expression(kind: str) -> str:
    return EXPRESSIONS[kind].format(p="settings.", of="")


SCHEMA = made_schema()


class Town(NamedTuple):
    """A world in a checked block that is open."""

    world: Any
    ids: dict[str, list[int]]
    """Entities or ids of rows, by component."""


@pytest.fixture(scope="module", params=["numpy", "numba"])
def town(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Town]:
    pytest.importorskip(request.param)
    folder, name = tmp_path_factory.mktemp("matrix"), f"matrix_of_{request.param}"
    with imported_package(folder, name, "town.yaml", SCHEMA, request.param) as module:
        world = module.Town()
        ids = fill(world)
        with checked(world, folder / "schemas", find=KINDS):
            yield Town(world, ids)


def fill(world: Any) -> dict[str, list[int]]:
    """Fill a world with rows of which the second is special; return their entities or ids."""
    world.tick = TICK
    bodies = world.spawn(3, body={"x": 1.0, "z": 1.0, "low": 1.0, "peer": 0})
    part = sys.modules[type(world).__module__.partition(".")[0]].Part
    parts = world.archetypes.create([part], n=3)
    cells = [world.cell.id_of(row) for row in range(4)]
    world.link.create_many(2, a=bodies[[0, 1]], b=bodies[[1, 2]])
    chunk = next(iter(world.archetypes.chunks())).part
    filled = (world.body.data, bodies), (world.cell.data, cells), (chunk, parts)
    for data, friends in filled:
        usual = {"x": 1.0, "z": 1.0, "low": 1.0, "friend": friends, "peer": friends}
        for field, value in usual.items():
            getattr(data, field)[:] = value
        for field, value in SPECIAL.items():
            getattr(data, field)[1] = value
    for field, value in ({"x": 1.0} | SPECIAL).items():
        if field != "friend":
            setattr(world.settings, field, value)
    return {"Body": bodies.tolist(), "Cell": cells, "Part": [int(part) for part in parts]}


def find(town: Town, method: str) -> Any:
    """Call a method of a world; return its finding, after a look at what is not to happen."""
    call, before = attrgetter(method)(town.world), pickle.dumps(town.world)
    for _ in range(2):
        with pytest.raises(CheckError) as raised:
            call()
        assert pickle.dumps(town.world) == before, method
    return raised.value.finding


def place(start: str, part: str) -> tuple[int, int]:
    """Return line and column of a part behind a text of the schema."""
    lines = SCHEMA[: SCHEMA.index(part, SCHEMA.index(f"  {start}:"))].split("\n")
    return len(lines), len(lines[-1]) + 1


@pytest.mark.parametrize("kernel", KERNELS)
def test_each_kind_of_finding(town: Town, kernel: str) -> None:
    home, _, prefix, first, _ = KERNELS[kernel]
    for kind, name in names_of(kernel).items():
        module = f"{home.lower()}." if home else "records." if kernel == "record" else ""
        finding = find(town, f"{module}{name}{'.write' if kernel == 'record' else ''}")
        part, component = expression(kernel, kind), home or (
            "Part" if kernel == "chunk" else "Body"
        )
        row = 1 if kind == "null" and prefix.startswith("other.") else first
        assert (finding.kind, finding.expression) == (kind, part), name
        assert (finding.line, finding.column) == place(name, part)
        assert (finding.component, finding.row, finding.tick) == (component, row, TICK)
        assert finding.entity == town.ids[component][row]
        assert finding.kernel == (f"{home}.{name}" if home else name)


@pytest.mark.parametrize("kind", KINDS)
def test_kernels_of_schedules(town: Town, kind: str) -> None:
    finding, name = find(town, f"day_{kind}"), names_of("world")[kind]
    assert (finding.kind, finding.kernel, finding.row) == (kind, name, 1)
    assert (finding.line, finding.column) == place(name, expression("world", kind))


@pytest.mark.parametrize("kind", [kind for kind in EXPRESSIONS if kind != "null"])
def test_settings_of_schedules(town: Town, kind: str) -> None:
    finding, part = find(town, f"set_{kind}"), setting_expression(kind)
    assert (finding.kind, finding.expression, finding.who) == (kind, part, "settings")
    assert (finding.line, finding.column, finding.tick) == (*place(f"set_{kind}", part), TICK)
