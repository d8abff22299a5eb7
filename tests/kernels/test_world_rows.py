"""Rows that a call of the world's kernels names, against the same kernels of the component."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.errors import StaleInstanceError

from ecsgen.config import BACKENDS, Backend
from tests.support.soak import COMPILED
from tests.support.world_package import world_package

KERNELS = """\
  plain: {where: k != 4, steps: ["v += 1", "sum = sum * 2 + v.y"]}
  valued: {args: {by: {type: f64, each: true}}, where: k > 1, steps: ["v.x += by"]}
  send: {args: {by: {type: f64, each: true}},
    steps: ["boss.Body.sum -= by * k", "v.x = boss.Body.sum"]}
  meet: {near: 2.5, args: {by: {type: f64, each: true}},
    steps: ["seen = count(other.k > 2)", "sum += sum(other.k * offset.x) + by"]}
  turn: {turns: rows, args: {by: {type: f64, each: true}}, where: k > 2,
    steps: ["boss.Body.sum = boss.Body.sum * 2 + by", "v.x = boss.Body.sum"]}
  sorted_: {turns: {by: -k}, steps: ["boss.Body.sum = boss.Body.sum * 2 + k"]}
  meet_now: {turns: rows, near: 2.5,
    steps: ["sum += sum(other.sum) + 1", "at.x += 0.5 if count() > 3 else -0.25"]}
  loop: {steps: ["for i in range(k): sum = sum * 0.5 + f64(i)"]}
"""
FIELDS = ["k", "sum", "v", "at", "seen", "boss"]


def of_the_world(text: str) -> str:
    """Return the same kernels, with the fields' component."""
    text = re.sub(rf"(?<![.\w])({'|'.join(FIELDS)})\b(?!\()", r"Body.\1", text)
    text = re.sub(r"other\.(?=\w)", "other.Body.", text)
    return re.sub(r"^  (\w+): \{", r"  \1: {over: Body, ", text, flags=re.MULTILINE)


SCHEMA = f"""\
component: Body
partition: {{start: active}}
space: {{field: at}}
fields: {{k: i32, sum: f64, v: "f64[2]", at: "f32[2]", seen: i64, boss: entity}}
kernels:
{KERNELS}
---
world: Game
queries: {{both: {{all: [Body, Tag]}}}}
kernels:
{of_the_world(KERNELS)}
  draw: {{over: Body, turns: random,
    steps: ["Body.boss.Body.sum = Body.k", "Body.seen += randrange(9)"]}}
  kills: {{over: Meeting, where: Meeting.turn < 9, steps: [
    "destroy(Meeting.with_, where=Meeting.turn > 1)", "Meeting.turn += 10 + Meeting.who.Body.k"]}}
  dies: {{over: Body, steps: ["die(where=Body.k > 2)"]}}
  pairs: {{over: both, steps: ["Body.k += 1"]}}
---
component: Meeting
owner: none
fields: {{who: entity, with_: id<Meeting>, turn: i32}}
---
component: Tag
fields: {{t: i32}}
"""
ROWS = 23
NAMED = [7, 2, 21, 3, 12, 4]
VALUES = [0.5, 2.0, 3.25, -4.0, 5.0, 7.5]


def filled(backend: Backend, compiled: bool = COMPILED) -> Any:
    w = world_package(SCHEMA, f"world_rows_{backend}{compiled}", backend, compiled=compiled).World()
    at = np.stack([np.arange(ROWS) * 3 % 7, np.arange(ROWS) % 5], axis=1)
    born = w.spawn(ROWS, body={"k": np.arange(ROWS) % 6, "sum": np.arange(ROWS), "at": at})
    w.body.data.boss = born[3]
    w.body.deactivate_many([21, 22])
    return w


@pytest.mark.parametrize("backend", BACKENDS)
def test_as_those_of_the_component(backend: Backend) -> None:
    mask = np.zeros(ROWS, np.bool_)
    mask[[1, 5, 8, 22]] = True
    for chosen, values in ((NAMED, VALUES), (mask, VALUES[:4]), ([], []), (None, None)):
        for name in re.findall(r"^  (\w+):", KERNELS, re.MULTILINE):
            of_world, of_component = filled(backend, False), filled(backend, False)
            takes_values = name in ("valued", "send", "meet", "turn")
            for holder, count in ((of_world, ROWS - 2), (of_component.body, ROWS)):
                each = np.arange(count) if values is None else values
                getattr(holder, name)(*[each] if takes_values else [], rows=chosen)
            for field in FIELDS:
                result, wanted = (getattr(w.body.data, field) for w in (of_world, of_component))
                assert result.tobytes() == wanted.tobytes(), (name, field, chosen)


@pytest.mark.parametrize("backend", BACKENDS)
def test_only_named_rows_run(backend: Backend) -> None:
    w = filled(backend)
    w.draw(rows=NAMED)
    assert {*w.body.data.seen.nonzero()[0].tolist()} <= {7, 2, 3, 12, 4}
    assert w.body.data.seen.any()
    dead = w.body.data.entity[[3, 4]].copy()
    w.dies(rows=[2, 3, 4])
    assert len(w.body) == ROWS - 2
    assert not w.entities.are_alive(dead).any()


@pytest.mark.parametrize("backend", BACKENDS)
def test_named_rows_refer_and_destroy(backend: Backend) -> None:
    w = filled(backend)
    ids = w.meeting.create_many(9, who=w.body.data.entity[:9], turn=np.arange(9) % 5)
    w.meeting.data.with_ = ids[[0, 1, 2, 7, 4, 8, 6, 3, 5]]
    w.kills(rows=[8, 3, 2, 0])
    assert len(w.meeting) == 9 - 3
    turns = {int(w.meeting.id_of(row)): int(w.meeting.data.turn[row]) for row in range(6)}
    wanted = {0: 10, 1: 1, 3: 3 + 10 + 3, 4: 4, 6: 1, 8: 3 + 10 + 2}
    assert turns == {int(ids[row]): turn for row, turn in wanted.items()}


@pytest.mark.parametrize("backend", BACKENDS)
def test_wrong_rows_change_nothing(backend: Backend) -> None:
    w = filled(backend)
    for wrong in ([1, 1], [ROWS]):
        with pytest.raises(StaleInstanceError):
            w.plain(rows=wrong)
    with pytest.raises(ValueError, match="by"):
        w.valued([1.0, 2.0], rows=[1, 2, 3])
    assert not w.body.data.v.any()


def test_queries_take_no_rows() -> None:
    with pytest.raises(TypeError, match="rows"):
        filled("numpy").pairs(rows=[1])
