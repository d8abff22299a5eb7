"""Times in kernels of every kind: both backends do what the interpreter does, to the bit."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from ecsgen_testing.kernel_cases import check_kernel
from ecsgen_testing.reference.schema import Schema

from ecsgen.model.reference_schema import make_reference_schema
from tests.support.world_package import checked, load, world_package

SCHEMA = """\
component: Event
fields:
  at: {type: "datetime[ms]", default: "1969-12-31T23:59:59.500"}
  took: "timedelta[ms]"
  k: i32
  big: u64
  late: bool
  flags: "bool[2]"
  share: f64
  work: entity
derived:
  until: at + took
kernels:
  shift:
    args: {by: "timedelta[ms]", each_at: {type: "datetime[ms]", each: true}}
    steps: |
      before = at
      at += by * k - took * big
      took = abs(-(at - min(at, until, each_at)))
      late = at > before + by or not (at == at) or at <= each_at
      flags[0] = at != before
      flags[1] = at < before and took >= by
      share = took / by
      k = i32(i64(took) % 1000) + (1 if before == max(at, before) else 2)
reductions:
  newest: {max: i64(at)}
  mean_took: {mean: took / took, where: took == took}
  n_late: {count: at > until}
---
component: Job
fields:
  due: "datetime[ms]"
  spent: {type: "timedelta[ms]", default: 0}
  begun: "datetime[ms]"
  seen: i64
  n_near: i64
  place: "f32[2]"
space: {field: place}
---
component: Task
fields: {at: "datetime[us]", took: "timedelta[us]"}
---
component: Bone
hierarchy: {orphans: root}
fields: {at: "datetime[s]", delay: {type: "timedelta[s]", default: 60}}
kernels:
  follow:
    steps: ["at = parent.at + delay if parent.at == parent.at else at - parent.delay"]
---
component: Field
grid: {shape: [4, 3], wrap: true}
fields: {sown: "datetime[s]", ripe: "timedelta[s]", count_: i64}
---
component: Follows
instances: many
fields: {whom: entity, since: "datetime[ms]"}
network: {from: entity, to: whom}
---
world: Times
settings:
  now: {type: "datetime[ms]", default: 2024-01-01}
  step: {type: "timedelta[ms]", default: 1000}
  never: "timedelta[ms]"
archetypes: {chunk: 2048, components: [Task]}
queries:
  busy: {all: [Event, Job]}
  tasks: {all: [Task]}
kernels:
  run:
    over: Event
    where: Event.at <= settings.now
    steps: |
      Event.work.Job.spent += Event.took
      Event.work.Job.begun = min(Event.work.Job.begun, Event.at)
      Event.work.Job.due = Event.work.Job.begun - Event.took
  again:
    over: Event
    steps: |
      Event.work.Job.begun += settings.step * 2
      Event.work.Job.begun -= Event.took
      Event.work.Job.spent = max(Event.work.Job.spent, abs(settings.never))
  join:
    over: busy
    args: {since: "datetime[ms]"}
    steps: |
      if Event.work.Job.due > since:
          Job.due = Event.at + settings.step
      elif Event.until == Job.begun:
          return
      else:
          Job.spent -= Event.took
  clock:
    over: Job
    turns: rows
    steps: |
      settings.now += settings.step
      if Job.due < settings.now:
          Job.due = settings.now
      for i in range(2):
          Job.spent += settings.step * i
          spawn(Job(due=Job.due + settings.step, spent=Job.spent))
  look:
    over: Job
    near: {around: {radius: 2}}
    steps: |
      Job.n_near = count(around.Job.due > Job.due - settings.step)
      Job.seen = max(i64(around.Job.due - Job.begun), where=around.Job.due == around.Job.due)
  visit:
    over: Job
    turns: {by: i64(Job.due)}
    near: {around: {radius: 2}}
    steps: |
      for other in around:
          if other.Job.due < Job.due:
              other.Job.due = Job.due
              Job.spent += settings.step
  meet:
    over: Event
    near: {friends: {via: Follows, among: Event}}
    steps: |
      Event.k = i32(count(friends.link.since < friends.Event.at))
      Event.share = sum((friends.Event.at - Event.at) / settings.step)
  advance:
    over: tasks
    args: {by: "timedelta[us]"}
    steps:
      - Task.at += by
      - "Task.took = by if Task.at < Task.at - Task.took else Task.took * 3"
  grow:
    over: Field
    args: {days: {type: "timedelta[s]"}}
    near: {around: {radius: 1, among: Field}}
    steps: |
      Field.count_ = count(around.sown + around.ripe > Field.sown)
      Field.ripe = Field.ripe - days if Field.ripe > days else days
  born:
    over: Event
    where: Event.took > settings.step
    steps: ["spawn(Event(at=Event.at + Event.took, took=-Event.took))", "add(Job(due=Event.at))"]
"""
KERNELS = [
    *("Event.shift", "Bone.follow", "run", "again", "join", "clock", "look", "visit", "meet"),
    *("advance", "grow", "born"),
]


@pytest.fixture(scope="module", params=["numpy", "numba"])
def package(request: pytest.FixtureRequest) -> Any:
    return world_package(SCHEMA, f"time_kernels_{request.param}", request.param)


@pytest.mark.parametrize("kernel", KERNELS)
def test_both_backends_do_what_the_interpreter_does(package: Any, kernel: str) -> None:
    schema = Schema(make_reference_schema(load(SCHEMA)))
    for seed in range(4):
        check_kernel(package.Times, schema, kernel, 4 + 7 * seed, seed)


def test_times_are_numpys_and_nat_passes_on(package: Any) -> None:
    w = package.Times()
    w.spawn(3, event={"at": ["2024-01-01", None, "2024-03-01"], "took": np.timedelta64(90, "s")})
    each = ["2023-12-31", "2024-01-01", "2025-01-01"]
    w.event.shift(by=timedelta(hours=1), each_at=each)
    w.event.data.k = [1, 2, 3]
    w.event.shift(by=timedelta(hours=1), each_at=each)
    at = w.event.data.at
    assert at.astype(str).tolist() == ["2024-01-01T01:00:00.000", "NaT", "2024-03-01T03:00:00.000"]
    assert w.event.newest() == at[2].astype(np.int64)
    assert w.event.n_late() == 0
    assert w.event.data.took.tolist() == [timedelta(hours=25), None, timedelta(0)]
    assert np.array_equal(w.event.data.share, [25, np.nan, 0], equal_nan=True)
    with pytest.raises(TypeError, match=r"shift.by: wanted timedelta\[ms\], not 3600 \(int\)"):
        w.event.shift(by=3600, each_at=each)


ONE_KERNEL = """\
component: Trip
fields: {{at: "datetime[ms]", day: "datetime[s]", took: "timedelta[ms]", k: i32, x: f64, b: bool}}
space: {{field: x}}
kernels:
  move:
    near: {{radius: 2}}
    steps:
    - "{step}"
"""


@pytest.mark.parametrize(
    ("step", "marked", "message"),
    [
        ("at += 5", "5", "'+' takes a datetime and a timedelta, or two timedeltas, not datetime"),
        ("b = at + at == at", "at + at", "not datetime[ms] and datetime[ms]"),
        ("took = at - day", "at - day", "'-' takes times of one unit, not datetime[ms] and"),
        ("took = took - at", "took - at", "not timedelta[ms] and datetime[ms]"),
        ("took = took * 1.5", "took * 1.5", "'*' takes a timedelta and an integer, not timedelta"),
        ("x = took / 2", "took / 2", "'/' takes two timedeltas, not timedelta[ms] and a number"),
        ("k = i32(took % took)", "took % took", "'%' takes numbers, not timedelta[ms]"),
        ("at = -at", "-at", "'-' takes a timedelta, not datetime[ms]"),
        ("at = took", "took", "timedelta[ms] cannot be assigned to datetime[ms]"),
        ("k = at", "at", "datetime[ms] cannot be assigned to i32"),
        ("x = f64(at)", "f64(at)", "datetime[ms] is a time, not a number"),
        ("b = at > 0", "at > 0", "'>' takes two of one kind, not datetime[ms] and a number"),
        ("b = day == at", "day == at", "'==' takes times of one unit, not datetime[s] and"),
        ("at = at if b else day", "at if b else day", "'else' takes two of one kind"),
        ("b = at and b", "at and b", "'and' takes conditions, not datetime[ms]"),
        ("b = max(other.at) > at", "other.at", "a question has no time as its value"),
        ("b = nearest(other.at) > at", "other.at", "a question has no time"),
        ("at = '2024-01-01'", "'2024-01-01'", "this is not part of the language of kernels"),
        ("x = sqrt(took)", "sqrt(took)", "'sqrt' takes numbers, not timedelta[ms]"),
    ],
)
def test_what_makes_no_sense_is_an_error_with_its_place(
    step: str, marked: str, message: str
) -> None:
    text = ONE_KERNEL.format(step=step)
    project, diagnostics = checked(text)
    (diagnostic,) = diagnostics
    assert project is None
    assert diagnostic.code == ("E801" if "language" in message else "E803")
    assert message in diagnostic.message
    mark = diagnostic.mark
    assert text.splitlines()[mark.line - 1][mark.column - 1 :].startswith(marked.split()[0])


@pytest.mark.parametrize("key", ["{max: at}", "{sum: took}", "{mean: at}"])
def test_reductions_have_no_times_as_their_value(key: str) -> None:
    text = ONE_KERNEL.format(step="k = 1") + f"reductions: {{last: {key}}}\n"
    _, diagnostics = checked(text)
    (diagnostic,) = diagnostics
    assert (diagnostic.code, diagnostic.hint) == ("E803", "write i64(…), which counts its units")
