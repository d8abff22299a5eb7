"""`ecsgen check-run` and `ecsgen time`: programs whose worlds are checked, or measured."""

from __future__ import annotations

import json
import sys

import pytest

from tests.support.command_project import Project

SCHEMA = """\
component: Person
fields: {pay: f64, hours: i64}
kernels:
  work: {steps: [pay = pay / hours]}
"""
PROGRAM = """\
import sys
from ran_town import World
early = World()
def bad():
    world = World()
    world.spawn(2, person={"hours": [1, 0]})
    world.person.work()
def copies():
    import copy, pickle
    for twin in (copy.deepcopy(early), pickle.loads(pickle.dumps(early))):
        twin.spawn(1, person={"hours": 0})
        twin.person.work()
def steps():
    early.spawn(1, person={"hours": 1})
    yield
    early.person.work()
def fails():
    raise KeyError(3)
def nothing():
    pass
def exits(code=None):
    steps_world = World()
    steps_world.spawn(1, person={"hours": 1})
    steps_world.person.work()
    sys.exit(code)
def several():
    for _ in range(3):
        world = World()
        world.spawn(1, person={"hours": 1})
        world.person.work()
def exits_with_3():
    exits(3)
def finds_and_fails():
    bad()
    raise KeyError(3)
def is_told():
    world = World()
    world.spawn(2, person={"hours": [1, 0], "pay": 1})
    world.entities.on_destroy(lambda entities: world.person.work())
    world.destroy(next(iter(world.entities)))
"""


@pytest.fixture
def ecsgen(project: Project) -> Project:
    project.put("schemas/person.yaml", SCHEMA)
    project.put("pyproject.toml", '[tool.ecsgen]\noutput = "ran_town"\n')
    assert project("build").status == 0
    project.put("program.py", PROGRAM)
    return project


def test_findings(ecsgen: Project) -> None:
    ran = ecsgen("check-run", "program:bad")
    assert ran.status == 1
    assert ran.err.startswith("schemas/person.yaml:4:24: zero: 0.0 / 0\n")
    (entry,) = json.loads(ecsgen("check-run", "program:bad", "--format", "json").out)
    assert (entry["kind"], entry["row"], entry["operands"]) == ("zero", 1, {"pay": 0, "hours": 0})
    ran = ecsgen("check-run", "program:bad", "--keep-going", "--format", "github")
    assert ran.out.startswith("::error file=schemas/person.yaml,line=4,col=24,endColumn=35,")
    assert ecsgen("check-run", "program:bad", "--find", "null,wrap").status == 0


def test_generators_and_worlds_of_the_module(ecsgen: Project) -> None:
    ran = ecsgen("check-run", "program:steps")
    assert (ran.status, ran.out) == (0, "1 calls, nothing found\n")
    ran = ecsgen("time", "program:steps")
    assert ran.status == 0
    assert ran.out.split("\n")[1].startswith("Person.work ")


def test_ends_of_programs(ecsgen: Project) -> None:
    """`sys.exit()` is one; findings are shown though a program or a callback fails."""
    assert ecsgen("check-run", "program:exits").status == 0
    ran = ecsgen("check-run", "program:finds_and_fails", "--keep-going")
    assert (ran.status, "KeyError: 3" in ran.err, "zero: 0.0 / 0" in ran.err) == (2, True, True)
    ran = ecsgen("check-run", "program:is_told", "--format", "json")
    (entry,) = json.loads(ran.out, parse_constant=pytest.fail)
    assert (ran.status, entry["value"]) == (1, "Infinity")


def test_times_of_several_worlds_are_one_line(ecsgen: Project) -> None:
    ran = ecsgen("time", "program:several")
    line, end = ran.out.split("\n")[1:]
    assert (line.split()[:2], end) == (["Person.work", "3"], "")


def test_copies_and_pickles(ecsgen: Project) -> None:
    ran = ecsgen("check-run", "program:copies", "--keep-going", "--format", "json")
    (entry,) = json.loads(ran.out)
    assert (entry["kind"], entry["count"]) == ("zero", 2)
    kind = sys.modules["ran_town"].World
    assert "__setstate__" not in vars(kind)  # the class is as before


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("check-run program:fails", "KeyError: 3\nError: program:fails failed: see above\n"),
        (
            "check-run program:exits_with_3",
            "Error: program:exits_with_3 ended with sys.exit(3)\n",
        ),
        ("time program:exits_with_3", "Error: program:exits_with_3 ended with sys.exit(3)\n"),
        ("check-run program:nothing", "Error: program:nothing ran no kernel of the package"),
        ("time program:nothing", "program:nothing ran no kernel of the package"),
        ("check-run program:other", "the module 'program' has no 'other': wanted a function"),
        ("check-run program:early", "program:early is no function: World"),
        ("check-run other:run", "there is no module 'other'"),
        ("check-run program:bad --find lots", "--find: 'lots' is none of null, index"),
    ],
)
def test_what_is_no_program_to_run(ecsgen: Project, arguments: str, text: str) -> None:
    ran = ecsgen(*arguments.split())
    assert ran.status == 2
    assert text in ran.err


def test_other_schemas(ecsgen: Project) -> None:
    ecsgen.put("schemas/person.yaml", SCHEMA + "# other\n")
    ran = ecsgen("check-run", "program:bad")
    assert (ran.status, "run `ecsgen build`" in ran.err) == (2, True)
