"""Random kernels that ask ghosts: what they leave is the same on one rank and on several."""

from __future__ import annotations

import re
from random import Random
from textwrap import indent
from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from tests.support.bytecode_cache import uncompiled
from tests.support.threaded_ranks import ThreadComm, run
from tests.support.world_package import checked, world_package

SIZE, COUNT, REACH = 12.0, 60, 2.6
FIELDS = {
    "Mote": {"a": "i64", "b": "u8", "f": "f64", "g": "f32", "on": "bool"},
    "Part": {"c": "i32", "d": "f64"},
}


class GhostKernel:
    """Text of one kernel, which asks what depends on no order: in turns, and in loops over
    neighbours, it reads of others only what it does not write."""

    def __init__(self, random: Random, name: str) -> None:
        self.random, self.pick = random, random.choice
        over, turns = self.pick(["Mote", "both"]), self.pick(
            ["", "", "turns: rows", "turns: random"]
        )
        members = ["Mote"] if over == "Mote" else ["Mote", "Part"]
        fields = [(owner, name) for owner in members for name in FIELDS[owner]]
        self.written = random.sample(fields, self.pick([1, 2, 3]))
        names = self.pick([["other"], ["here"], ["here", "around"]])
        self.near = {name: self.pick([over, "Mote", "both"]) for name in names}
        self.known = [each for each in fields if each not in self.written]
        self.asked = self.known if turns else fields
        steps = [line for _ in range(self.pick([1, 1, 2, 3])) for line in self.step()]
        if not turns and random.random() < 0.2:
            steps.append(f"die(where={self.question()} > 4)")
        hoods = [
            f"radius: {self.pick(['1.0', '1.5', '2.5'])}, among: {a}" for a in self.near.values()
        ]
        named = ", ".join(f"{n}: {{{hood}}}" for n, hood in zip(names, hoods, strict=True))
        head = [f"over: {over}", turns, f"near: {{{hoods[0] if names == ['other'] else named}}}"]
        head += ["parallel: true"] * (not turns and random.random() < 0.2)
        text = "\n".join([*filter(None, head), "steps: |", *(f"  {step}" for step in steps)])
        self.text = f"  {name}:\n{indent(text, '    ')}\n"

    def number(self, near: str, fields: list[tuple[str, str]], spelled: str, depth: int = 1) -> str:
        """A number of a neighbour and of the row."""
        if depth and self.random.random() < 0.4:
            parts = [self.number(near, fields, spelled, 0) for _ in range(2)]
            return f"({parts[0]} {self.pick('+-*')} {parts[1]})"
        distance = "distance" if spelled == "other" else f"{spelled}.distance"
        of_near = [f for f in fields if f[0] == "Mote" or self.near[near] == "both"]
        owner, name = self.pick([*of_near, ("", "")])
        leaf = f"{spelled}.{owner}.{name}" if owner else distance
        leaves = [leaf, leaf, distance, self.pick(["1", "2", "0.5", "settings.q", "tick"])]
        leaves += [".".join(self.pick(fields))] * bool(fields)
        text = self.pick(leaves)
        return f"i64({text})" if text.endswith(".on") else text

    def question(self) -> str:
        near = self.pick([*self.near])
        number = [self.number(near, self.asked, near) for _ in range(4)]
        distance = "distance" if near == "other" else f"{near}.distance"
        where = f", where={number[0]} {self.pick(['<', '>=', '!='])} {distance}"
        where *= self.random.random() < 0.4
        value = f"({number[1]} + {distance})"
        return self.pick(
            [
                f"count({value} > {number[2]}{where})",
                f"{self.pick(['min', 'max', 'nearest'])}({value}{where})",
                f"sum(i64(floor({value})){where})",
                f"{self.pick(['min_by', 'max_by'])}({value}, {number[2]}, {near}.Mote.key{where})",
            ]
        )

    def step(self) -> list[str]:
        target, kind = ".".join(field := self.pick(self.written)), FIELDS[field[0]][field[1]]
        way = self.random.randrange(5)
        if way == 0:
            near = self.pick([*self.near])
            value = self.number(near, self.known, "one")
            line = f"{target} = max({target}, {kind}({value}))"
            if kind == "bool":
                line = f"{target} = {target} or {value} > 1"
            elif kind[0] in "iu":
                line = f"{target} += {kind}(floor({value}))"
            within = [f"if one.distance < {value}:", f"    {line}"]
            return [
                f"for one in {near}:",
                *indent("\n".join(self.pick([[line], within])), "    ").split("\n"),
            ]
        value = self.question()
        line = (
            f"{target} = {value} > 1"
            if kind == "bool"
            else f"{target} {self.pick(['=', '+='])} {kind}({value})"
        )
        return [f"if {self.question()} > 1:", f"    {line}"] if way == 1 else [line]


def schema(number: int, count: int) -> str:
    """Return a schema with so many kernels that make sense."""
    random = Random(number)
    pick = random.choice
    axes, wrap = pick([1, 2, 2, 3]), pick(["", f", wrap: [{SIZE:g}%s]"])
    policies = pick(["", "lookup: hash\n", "ids: true\n", "partition: {start: active}\n"])
    others = pick(["", "lookup: hash\n", "lookup: direct\n", "partition: {start: active}\n"])
    sets = pick(["groups: {both: [Mote, Part]}", "queries: {both: {all: [Mote, Part]}}"])
    if sets.startswith("groups"):
        policies = others = ""
    at = pick(["f32", "f64"]) + (f"[{axes}]" if axes > 1 else "")
    wrap %= f", {SIZE:g}" * (axes - 1) if wrap else ()
    parts = [
        f'component: Mote\n{policies}space: {{field: at{wrap}}}\nfields: {{at: "{at}", key: u64, ',
        f"{str(FIELDS['Mote'])[1:]}\n---\ncomponent: Part\n{others}fields: {FIELDS['Part']}\n---\n",
        "world: Moor\nshards: {ghosts: {Mote: [at, key, a, b, f, g, on], Part: [c, d]}}\n",
        f"settings: {{q: {{type: i64, default: 2}}}}\n{sets}\nkernels:\n",
    ]
    kernels: list[str] = []
    for k in range(4 * count):
        text = GhostKernel(random, f"k{k}").text
        if len(kernels) < count and checked("".join([*parts, text]))[0] is not None:
            kernels.append(text)
    return "".join([*parts, *kernels])


def begin(world: Any, random: np.random.Generator) -> None:
    """Spawn all, by their keys; some are inactive where they may be."""
    keys = np.arange(1, COUNT + 1)
    at = random.random((COUNT, len(world.mote.wrap))) * SIZE
    values: dict[str, dict[str, Any]] = {"Mote": {}, "Part": {}}
    for component, fields in FIELDS.items():
        for name, kind in fields.items():
            values[component][name] = (
                random.integers(0, 9, COUNT) > 4 if kind == "bool" else random.integers(0, 9, COUNT)
            )
    es = world.spawn(
        COUNT,
        mote=values["Mote"] | {"at": at if at.shape[1] > 1 else at[:, 0], "key": keys},
        part=values["Part"],
    )
    for manager, among in ((world.mote, es[::5]), (world.part, es[::4])):
        if hasattr(manager, "deactivate_many"):
            manager.deactivate_many(manager.lookup_many(among))


def state(world: Any) -> dict[int, tuple[str, ...]]:
    """Return the fields of all that live, by key."""
    cells = {}
    for e in world.entities.live().tolist():
        rows = [manager.row(manager.lookup(e)) for manager in (world.mote, world.part)]
        fields = [
            (row, name) for row, names in zip(rows, FIELDS.values(), strict=True) for name in names
        ]
        cells[rows[0].key] = tuple(repr(getattr(row, name)) for row, name in fields)
    return cells


def played(
    package: Any, names: list[str], size: int, number: int
) -> list[dict[int, tuple[str, ...]]]:
    """Return what is there after each kernel of two rounds, on so many ranks."""

    def rank(comm: ThreadComm) -> list[dict[int, tuple[str, ...]]]:
        world, states = package.Moor(), []
        # words wrap where Python runs compiled loops
        with np.errstate(all="ignore"), package.Shards(world, comm, check=True) as shards:
            if comm.rank == 0:
                begin(world, np.random.default_rng(number))
            axes = len(world.mote.wrap)
            is_periodic = any(world.mote.wrap)
            space = package.Blocks((0,) * axes, (SIZE,) * axes, size, periodic=is_periodic)
            for kernel in names * 2:
                at = np.array(world.mote.data.at).reshape(-1, axes)
                shards.migrate(world.mote.data.entity, space.owner(at))
                at = np.array(world.mote.data.at).reshape(-1, axes)
                rows, ranks = space.borders(at, REACH, comm.rank)
                shards.refresh(world.mote.data.entity[rows], ranks)
                getattr(world, kernel)()
                world.collect()
                states.append(state(world))
        return states

    together = zip(*run(size, rank), strict=True)
    return [dict(row for part in parts for row in part.items()) for parts in together]


def compare(number: int, backend: Backend) -> None:
    text = schema(number, 6)
    with uncompiled():
        package = world_package(text, f"ghosts_{number}_{backend}", backend)
    names = re.findall(r"^  (k\d+):", text, re.MULTILINE)
    alone = played(package, names, 1, number)
    for size in (2, 3):
        assert played(package, names, size, number) == alone, text


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("backend", BACKENDS)
def test_ghosts(backend: Backend, number: int) -> None:
    compare(number, backend)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(3, 60))
@pytest.mark.parametrize("backend", BACKENDS)
def test_many_ghosts(backend: Backend, number: int) -> None:
    compare(number, backend)
