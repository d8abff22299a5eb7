"""Random schemas with three networks, whose ends and links die in any way, and random kernels that
ask those to whom links lead, in any order of turns."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from numpy.random import Generator

from tests.support.world_package import checked

NETWORKS = {
    "Tie": (["owner: none\n"], "network: {between: [a, z]}"),
    "Tip": (
        ["", "partition: {start: active}\n", "destroy: callback\n"],
        "network: {from: entity, to: a}",
    ),
    "Debt": (["", "lookup: hash\n", "lookup: direct\nids: true\n"], "network: {from: a, to: z}"),
}
"""Policies of the links, one of which is drawn, and their ends."""
POLICIES = "", "partition: {start: active}\n", "lookup: hash\n", "destroy: callback\n"
"""Those of the nodes."""
NODE = """\
fields: {x: f64, k: i32, mate: entity, b: bool, at: 'f32[2]'}
space: {field: at}
derived: {double: x * 2}
---
component: Job
fields: {y: f64}
---
world: World
queries: {both: {all: [Node, Job]}}
kernels:
"""
ASKED = (
    *("sum(<field>)", "mean(<field>)", "f64(count(<met>))", "(max(<field>, none=1.5) + 0)"),
    *("f64(count(<met>, where=<field> > 0))", "max_by(<field>, <field>, <field>)"),
    *("choice(<field>, weight=<field>)", "sum(<field>, where=Node.x > 0 and <field> < 3)"),
)
STEPS = (
    *("Node.x = <asked>", "Node.x += <asked>", "Node.k = i32(count(<met>))", "Node.at += 0.5"),
    *("Node.mate = choice(<met>)", "Node.mate = max_by(<met>, <field>)", "die(where=Node.x > 5)"),
    *("destroy(choice(<met>), where=random() < 0.3)", "Node.x += random()"),
    *("destroy(choice(<met>.link), where=random() < 0.4)", "remove(Job, where=Node.b)"),
    *("spawn(Tie(a=entity, z=choice(<met>), w=Node.x), where=Node.b)", "add(Job(y=Node.x))"),
    "for o in <met>:\n  if <test>:\n    Node.x += o.link.w\n    o.<written> += 1\n  Node.k += 1",
    "for o in <met>:\n  if <test>:\n    destroy(<dead>)\n    continue\n  Node.x += random()",
)
TURNS = "", "", "rows", "random", "{by: Node.x}", "{random: 7}"


def schema(seed: int, count: int) -> str:
    """Return a schema with as many random kernels as have no error."""
    random = Random(seed)
    head = "".join(
        f"component: {name}\n{random.choice(policies)}fields:\n"
        f"  a: {{type: entity, on_delete: {random.choice(['keep', 'clear', 'cascade'])}}}\n"
        f"  z: entity\n  w: f64\n  k: i32\n{ends}\n---\n"
        for name, (policies, ends) in NETWORKS.items()
    )
    head += f"component: Node\n{random.choice(POLICIES)}{NODE}"
    kernels: list[str] = []
    while len(kernels) < count:
        kernel = _kernel(random, len(kernels))
        if checked(head + kernel)[0] is not None:
            kernels.append(kernel)
    return head + "".join(kernels)


def _kernel(random: Random, number: int) -> str:
    via, among = random.choice([*NETWORKS]), random.choice(["Node", "Node", "Job", "both"])
    near = f"{{via: {via}, among: {among}}}"
    if via != "Tie" and random.random() < 0.4:
        near = f"{near[:-1]}, back: true}}"
    met = random.choice(["other", "friends"])
    if met == "friends":
        near = f"{{friends: {near}, around: {{radius: 2, among: Node}}}}"
    fields = ["Job.y"] if among == "Job" else ["Node.x", "Node.double"]
    words = {
        "asked": [*ASKED, *(["f64(count(around.Node.x > 1))"] if met == "friends" else [])],
        "field": [f"{met}.{field}" for field in fields]
        + [f"{'' if met == 'other' else 'friends.'}link.w"],
        "met": [met],
        "test": ["Node.b", "o.link.w > 0", "random() < 0.5"],
        "written": ["Job.y" if among == "Job" else "Node.x"],
        "dead": ["o", "o.link"],
    }
    steps = "\n".join(random.choice(STEPS) for _ in range(random.randint(1, 3)))
    where = random.choice(["", "", "Node.b", "Node.x > -1", "count(<met>) > 0"])
    turns = random.choice(TURNS)
    lines = [f"  k{number}:", f"    over: {random.choice(['Node', 'both'])}", f"    near: {near}"]
    lines += [f"    turns: {turns}"] if turns else []
    lines += [f"    where: {_filled(where, words, random)}"] if where else []
    lines += [
        "    steps: |",
        *(f"      {line}" for line in _filled(steps, words, random).split("\n")),
    ]
    return "\n".join(lines) + "\n"


def _filled(text: str, words: dict[str, list[str]], random: Random) -> str:
    """Replace each `<word>`, the first of them first, by what is drawn for it."""
    while "<" in text and (end := text.find(">", text.find("<") + 2)) > 0:
        start = text.rfind("<", 0, end)
        word = text[start + 1 : end]
        if word not in words:
            head, tail = text[: end + 1], text[end + 1 :]
            return head + _filled(tail, words, random)
        text = text[:start] + random.choice(words[word]) + text[end + 1 :]
    return text


def populated(module: Any, random: Generator) -> Any:
    """Return a world with up to 14 entities, some of whom are dead, and links of any ends."""
    world, count = module.World(), int(random.choice([0, 1, 2, 9, 14]))
    es = world.entities.create_many(count)
    if not count:
        return world
    nodes = es[random.random(count) < 0.8]
    n = len(nodes)
    values: dict[str, Any] = {"x": random.integers(-3, 4, n) / 2, "k": random.integers(-3, 4, n)}
    values |= {"b": random.random(n) < 0.5, "at": random.integers(0, 4, (n, 2))}
    world.node.create_many(nodes, mate=random.choice(es, n), **values)
    world.job.create_many(es[random.random(count) < 0.7], y=1.25)
    ends, k = np.append(es, np.uint64(0)), 3 * count
    weights = random.integers(-3, 4, k) / 2
    world.tie.create_many(k, a=random.choice(ends, k), z=random.choice(ends, k), w=weights)
    some = es[random.random(count) < 0.7]
    world.tip.create_many(some, a=random.choice(ends, len(some)), w=0.5)
    some = es[random.random(count) < 0.7]
    a, z = random.choice(ends, (2, len(some)))
    world.debt.create_many(some, a=a, z=z, w=-1)
    for part in (world.node, world.tip):
        if hasattr(part, "deactivate_many"):
            part.deactivate_many(random.random(len(part)) < 0.3)
    world.entities.destroy_many(es[random.random(count) < 0.15])
    return world
