"""Traces and pauses of checked runs."""

from __future__ import annotations

import io
import pdb
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ecsgen.checked import checked
from tests.support.generated_package import imported_package

SCHEMA = """\
enum: State
values: [well, ill]
---
component: Household
owner: none
fields: {ill: i32}
---
component: Person
space: {field: at}
fields: {state: State, home: id<Household>, work: f64, k: i64, friend: entity, at: "f64[2]"}
kernels:
  age:
    args: {last: i64}
    at_most: 9
    steps: |
      total = 0
      for i in range(last):
          if i % 2 == 0:
              total += i * k
          elif i > 2:
              return
          else:
              continue
      while total > 3:
          total -= 2
      k = total
  meet:
    near: {radius: 2}
    turns: rows
    steps: |
      for other in other:
          other.k += 1
      if k > 100:
          k = 0
---
world: Town
kernels:
  catch:
    over: Person
    args: {at_home: f64}
    where: Person.state == State.well
    steps:
      - force = at_home * Person.home.ill + 0.25 * Person.work
      - Person.state = State.ill if random() < force else Person.state
      - Person.home.ill += 1
      - Person.work += 2 * force
      - kid = spawn(Person(work=force, home=Person.home), where=force > 9)
      - Person.friend = kid if kid != 0 else Person.friend
      - Person.friend.Person.k += Person.k
      - settings.births += 1
  greet:
    over: Person
    near: {many: {radius: 3}, close: {radius: 1.5}}
    turns: rows
    where: Person.k == 2
    steps: |
      for many in many:
          many.Person.k += 1
      for it in many:
          it.Person.k += 1
      for it in close:
          it.Person.k += 2
settings: {births: i64}
schedule:
  day: [catch, tick]
"""
CATCH = """\
tick 0 · catch · Person 1v1 (row 1)
  41  where Person.state == …          true
  43  force = at_home * …              0.5 * 2 + 0.25 * 4 = 2
  44  Person.state = State.ill if …    State.ill  (was State.well)
  45  Person.home.ill += 1             → Household 0x100000000
  46  Person.work += 2 * force         4 + 2 * 2 = 8  (was 4)
  47  kid = spawn(Person(work=force,…  0
  48  Person.friend = kid if kid != …  0v1  (was 0v1)
  49  Person.friend.Person.k += …      2 → Person 0v1
  50  settings.births += 1             → settings
"""
LEFT_OUT = """\
tick 0 · catch · Person 2v1 (row 2)
  41  where Person.state == …          false
"""
AGE = """\
tick 0 · Person.age · Person 1v1 (row 1)
  16  total = 0                        0
  17  for i in range(last):            i = 0
  18  if i % 2 == 0:                   true
  19  total += i * k                   0 + 0 * 2 = 0  (was 0)
  17  for i in range(last):            i = 1
  18  if i % 2 == 0:                   false
  20  elif i > 2:                      false
  23  continue
  17  for i in range(last):            i = 2
  18  if i % 2 == 0:                   true
  19  total += i * k                   0 + 2 * 2 = 4  (was 0)
  24  while total > 3:                 true
  25  total -= 2                       4 - 2 = 2  (was 4)
  26  k = total                        2  (was 2)
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("traces")
    with imported_package(folder, "traced_town", "town.yaml", SCHEMA) as module:
        yield module


@pytest.fixture
def world(package: Any) -> Any:
    return town(package)


def town(package: Any) -> Any:
    world = package.Town()
    world.seed = 1
    home = world.household.create_many(1, ill=2)[0]
    people = world.spawn(
        4,
        person={
            "home": home,
            "work": 4.0,
            "k": [1, 2, 3, 4],
            "state": [0, 0, 1, 0],
            "at": [[0, 0], [1, 0], [9, 9], [20, 0]],
        },
    )
    world.person.data.friend[:] = people[0]
    return world


def schemas(world: Any) -> Path:
    module = sys.modules[type(world).__module__.partition(".")[0]]
    return Path(str(module.__file__)).parent.parent / "schemas"


def traced(world: Any, kernel: str, call: Callable[[], Any], **who: Any) -> str:
    """Return the lines of one call, which leaves what it leaves without a trace."""
    lines = list[str]()
    with checked(world, schemas(world)) as check:
        trace = check.trace(kernel, to=lines.append, **who)
        call()
        count = len(lines)
        trace.cancel()
        trace.cancel()
        call()
        assert len(lines) == count
    return "".join(f"{line}\n" for line in lines)


def test_each_step_has_a_line(package: Any) -> None:
    world, twin = town(package), town(package)
    text = traced(world, "catch", lambda: world.day(at_home=0.5), row=[1, 2])
    assert text == CATCH + LEFT_OUT
    for _ in range(2):
        twin.day(at_home=0.5)
    assert pickle.dumps(world) == pickle.dumps(twin)


def test_branches_and_passes(world: Any) -> None:
    who = int(world.person.data.entity[1])
    assert traced(world, "Person.age", lambda: world.person.age(3), who=who) == AGE
    text = traced(world, "Person.age", lambda: world.person.age(4), who=who)
    assert text.splitlines()[-2:] == ["  20  elif i > 2:                      true", "  21  return"]


def test_neighbours_by_name_and_turns_that_find_others_changed(world: Any) -> None:
    lines = traced(world, "Person.meet", world.person.meet, row=1).splitlines()
    assert lines[1] == "  31  for other in other:              other = Person 0v1"
    assert lines[2] == "  32  other.k += 1                     → Person 0v1"
    assert lines[-1] == "  33  if k > 100:                      false"


def test_without_a_choice_it_is_the_first_row_that_acts(world: Any) -> None:
    world.person.data.state[:2] = 1
    text = traced(world, "catch", lambda: world.catch(0.5))
    assert text.splitlines()[0].startswith("tick 0 · catch · Person 3v1 (row 3)")
    assert text.count("catch") == 1


def test_several_and_a_reference_that_leads_nowhere(world: Any) -> None:
    world.person.data.friend[0] = 0
    lines = list[str]()
    with checked(world, schemas(world), find="zero") as check:
        check.trace("catch", who=world.person.data.entity[[0, 3]], to=lines.append)
        world.catch(0.5)
    assert [line[:26] for line in lines if "·" in line] == [
        "tick 0 · catch · Person 0v",
        "tick 0 · catch · Person 3v",
    ]
    assert lines[8].endswith("  → nobody")


@pytest.mark.parametrize(
    ("kernel", "options", "error", "text"),
    [
        ("cach", {}, ValueError, "there is no kernel 'cach'; did you mean 'catch'\\?"),
        ("age", {}, ValueError, "there is no kernel 'age'"),
        ("catch", {"who": "me"}, TypeError, "who: wanted numbers, not 'me'"),
        ("catch", {"row": 0.5}, TypeError, "row: wanted numbers"),
    ],
)
def test_what_cannot_be_followed(
    world: Any, kernel: str, options: dict[str, Any], error: type[Exception], text: str
) -> None:
    with checked(world, schemas(world)) as check:
        for follow in (check.trace, check.pause):
            with pytest.raises(error, match=text):
                follow(kernel, **options)


@pytest.mark.parametrize(
    ("kernel", "when", "line", "names"),
    [
        ("catch", "", 43, {"at_home"}),
        ("catch", "force > 1", 44, {"at_home", "force"}),
        ("catch", "Person.state == State.ill and force > 0", 45, {"at_home", "force"}),
        ("Person.age", "total > 2 and i > 0", 24, {"last", "total", "i"}),
        ("Person.age", "k == 77", None, set[str]()),
        ("greet", "many.Person.k == 1", 58, set[str]()),
        ("greet", "many.Person.k == 2", None, set[str]()),
        ("greet", "it.Person.k == 2", 60, set[str]()),
        ("greet", "it.Person.k == 3 and it.distance < 1.5", 62, set[str]()),
        ("greet", "count(many) > 0", 57, set[str]()),
    ],
)
def test_a_pause_has_the_names_of_the_step(
    world: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kernel: str,
    when: str,
    line: int | None,
    names: set[str],
) -> None:
    frames = list[dict[str, Any]]()

    def stop() -> None:
        frame = sys._getframe(1)
        row = frame.f_locals["row"]
        work = getattr(row, "Person", row).work  # which no step has read
        line = frame.f_lineno + (sys.version_info < (3, 13))  # where pdb stops
        frames.append({**frame.f_locals, "line": line, "work": work})
        frame.f_locals["show"]()

    monkeypatch.setattr(sys, "breakpointhook", stop)
    with checked(world, schemas(world)) as check:
        check.pause(kernel, row=1, when=when)
        {
            "catch": lambda: world.catch(0.5),
            "Person.age": lambda: world.person.age(3),
            "greet": world.greet,
        }[kernel]()
    assert len(frames) == (line is not None)
    for frame in frames:
        others = {"tick", "row", "show", "line", "work", "__name__", "__builtins__"}
        assert frame.keys() - others == names
        row = frame["row"]
        assert frame["tick"] == 0
        person = row if "." in kernel else row.Person
        assert person.k == 2
        assert frame["work"] == 4
        assert dir(row) == ["Person"] if "." not in kernel else "k" in dir(row)
        assert repr(person).startswith("<Person: ")
        assert "k=2" in repr(person)
        with pytest.raises(AttributeError, match="has no 'nothing'"):
            person.nothing  # noqa: B018
        shown = capsys.readouterr().out.splitlines()
        assert shown[0].endswith("Person 1v1 (row 1)")
        assert frame["line"] == line


def test_a_condition_alone_is_asked_of_all_rows(
    world: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each call pauses once, in the first row in which it is true."""
    rows = list[int]()

    def stop() -> None:
        frame = sys._getframe(1)
        rows.append(frame.f_locals["row"].k)
        frame.f_locals["show"]()

    monkeypatch.setattr(sys, "breakpointhook", stop)
    with checked(world, schemas(world)) as check:
        for when in ("total == 0 and k == 7", "k == 7"):
            pause = check.pause("Person.age", when=when)
            for last in (0, 1):
                world.person.data.k = [0, 0, 7, 7]
                world.person.age(last)
            pause.cancel()
    assert rows == [7] * 4
    shown = capsys.readouterr().out.splitlines()
    assert [line.partition(" (")[2] for line in shown if "·" in line] == ["row 2)"] * 4


@pytest.mark.parametrize(
    ("kernel", "when", "text"),
    [
        (
            "catch",
            "forse > 1",
            "when:1:1: error\\[E802\\]: unknown name 'forse'; did you mean 'force'",
        ),
        ("catch", "force >", "when:1:1: error\\[E112\\]"),
        ("catch", "force", "when:1:1: error\\[E803\\]: a condition is a bool, not f64"),
        ("greet", "it.Person.kk > 1", "when:1:1: error\\[E802\\]: Person has no field 'kk'"),
        ("catch", "kid == State.il", "when:1:8: error\\[E802\\]: State has no member 'il'"),
    ],
)
def test_what_is_no_condition(world: Any, kernel: str, when: str, text: str) -> None:
    with checked(world, schemas(world)) as check, pytest.raises(ValueError, match=text):
        check.pause(kernel, when=when)


def test_quitting_the_debugger_ends_the_call(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """pdb shows the schema's line, and nothing of the kernel has happened."""
    before, out = pickle.dumps(world), io.StringIO()
    debugger = pdb.Pdb(stdin=io.StringIO("p force\nq\n"), stdout=out, nosigint=True, readrc=False)
    debugger.use_rawinput = False
    monkeypatch.setattr(sys, "breakpointhook", lambda: debugger.set_trace(sys._getframe(1)))
    with checked(world, schemas(world)) as check:
        check.pause("catch", when="force > 0")
        with pytest.raises(KeyboardInterrupt):
            world.catch(0.5)
    assert pickle.dumps(world) == before
    shown = out.getvalue()
    assert "town.yaml(44)" in shown
    assert "-> - Person.state = State.ill if" in shown
    assert "\n(Pdb) 2.0\n" in shown
