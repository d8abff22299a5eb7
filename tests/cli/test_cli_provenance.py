"""Origins of results: `World.provenance()`, records, sweeps, and the commands."""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime import sweep

from tests.support.command_project import Project
from tests.support.sweep_models import AtOnce

SCHEMA = """\
component: Bird
fields: {tired: f64, nest: object}
kernels:
  fly: {steps: [tired += random()]}
---
world: Sky
records: {flock: {birds: {count: Bird}}}
schedule: {step: [Bird.fly, flock, tick]}
"""
PROGRAM = """\
from origin_sky import Sky
def run():
    sky = Sky()
    sky.seed = 7
    sky.spawn(3, bird={"nest": [object(), None, {1}]})
    for _ in range(5):
        sky.step()
    return sky
def model(seed, n):
    sky = Sky()
    sky.seed = seed
    sky.spawn(n, bird={})
    sky.step()
    return {"tired": sum(sky.bird.data.tired.tolist())}
"""
SAVED = "provenance.json"


@pytest.fixture
def ecsgen(project: Project) -> Project:
    sys.path.insert(0, str(project.folder))
    project.put("schemas/bird.yaml", SCHEMA)
    project.put("pyproject.toml", '[tool.ecsgen]\noutput = "origin_sky"\n')
    assert project("build").status == 0
    project.put("flights.py", PROGRAM)
    return project


def program() -> Any:
    return importlib.import_module("flights")


def altered(ecsgen: Project, part: str, name: str, value: str) -> None:
    """Write what a run here came from, but with another digest or version."""
    saved = json.loads(ecsgen("provenance").out)
    saved[part][name] = value
    ecsgen.put(SAVED, json.dumps(saved))


def test_a_world(ecsgen: Project) -> None:
    world = program().run()
    saved = world.provenance()
    assert saved == json.loads(json.dumps(saved)) == program().run().provenance()
    data = world.to_bytes(codecs={"bird.nest": None})
    state = {"seed": 7, "tick": 5, "fingerprint": world.FINGERPRINT}
    assert saved["world"] == state | {"digest": hashlib.sha256(data).hexdigest()}
    assert saved["versions"]["numpy"] == np.__version__
    assert saved["versions"]["ecsgen"] == importlib.import_module("origin_sky").__ecsgen__
    assert saved["code"].keys() == {"package origin_sky", "schema bird.yaml"}
    world.bird.data.tired[0] += 1
    assert world.provenance()["world"]["digest"] != saved["world"]["digest"]


def test_a_world_without_numbers(ecsgen: Project) -> None:
    ecsgen.put("schemas/bird.yaml", "component: Bird\nfields: {tired: f64}\n")
    assert ecsgen("build").status == 0
    world = importlib.import_module("origin_sky").World()
    world.seed = np.random.default_rng(3)  # an attribute of the user's own
    state = world.provenance()["world"]
    assert (state["seed"], state["tick"]) == (None, None)


def test_a_world_of_several_processes(ecsgen: Project) -> None:
    text = SCHEMA.replace(", nest: object", "").replace("world: Sky\n", "world: Sky\nshards: {}\n")
    ecsgen.put("schemas/bird.yaml", text)
    assert ecsgen("build").status == 0
    world = importlib.import_module("origin_sky").Sky()
    world.seed = 3
    world.spawn(2, bird={})
    digest = hashlib.sha256(world.to_bytes()).hexdigest()
    assert world.provenance()["world"]["digest"] == digest
    world.records.open("out", "csv")
    world.records.close()
    assert ecsgen("verify", "out/0/provenance.jsonl").status == 0


def test_inside_a_callback(ecsgen: Project) -> None:
    package = importlib.import_module("origin_sky")
    world = package.Sky()
    world.entities.on_destroy(lambda gone: world.provenance())
    with pytest.raises(ExceptionGroup) as raised:
        world.destroy(world.spawn(1)[0])
    (error,) = raised.value.exceptions
    assert isinstance(error, package.StructureLockedError)


def test_nothing_differs(ecsgen: Project) -> None:
    assert ecsgen("provenance", "flights:run", "-o", SAVED) == (0, "", "")
    assert json.loads(ecsgen.text(SAVED)) == program().run().provenance()
    same = (0, f"{SAVED}: nothing differs here\n", "")
    assert ecsgen("verify", SAVED) == same
    here = json.loads(ecsgen("provenance").out)
    ecsgen.put(SAVED, json.dumps(here))
    assert ecsgen("verify", SAVED, "origin_sky") == same
    here["code"]["package models.origin_sky"] = here["code"].pop("package origin_sky")
    del here["versions"]["numba"], here["versions"]["platform"]
    ecsgen.put(SAVED, json.dumps(here))
    assert ecsgen("verify", SAVED) == same


@pytest.mark.parametrize(
    ("part", "name", "value", "text"),
    [
        ("code", "package origin_sky", "0", "package origin_sky is another one"),
        ("code", "schema bird.yaml", "0", "schema bird.yaml is another one"),
        ("code", "schema gone.yaml", "0", "schema gone.yaml is another one"),
        ("versions", "numpy", "1.0", f"numpy 1.0 then, {np.__version__} now"),
        ("versions", "numba", "0.1", "numba 0.1 then, "),
    ],
)
def test_something_differs(ecsgen: Project, part: str, name: str, value: str, text: str) -> None:
    altered(ecsgen, part, name, value)
    ran = ecsgen("verify", SAVED)
    assert (ran.status, ran.err) == (1, "")
    assert ran.out.startswith(text)
    assert ran.out.count("\n") == 1


def test_an_edited_package(ecsgen: Project) -> None:
    """Of which generated tests do not count."""
    ecsgen("provenance", "-o", SAVED)
    assert ecsgen.files("origin_sky/tests")
    ecsgen.put("origin_sky/tests/test_more.py", "# mine\n")
    assert ecsgen("verify", SAVED).status == 0
    ecsgen.put("origin_sky/bird.py", ecsgen.text("origin_sky/bird.py") + "# mine\n")
    assert ecsgen("verify", SAVED).out == "package origin_sky is another one\n"


def test_a_vendored_package(ecsgen: Project) -> None:
    assert ecsgen("build", "--vendor").status == 0
    saved = program().run().provenance()
    assert "ecsgen-runtime" not in saved["versions"]
    ecsgen.put(SAVED, json.dumps(saved))
    assert ecsgen("verify", SAVED).status == 0
    path = "origin_sky/_runtime/base/handles.py"
    ecsgen.put(path, ecsgen.text(path) + "# mine\n")
    assert ecsgen("verify", SAVED).out == "package origin_sky is another one\n"


def test_records(ecsgen: Project) -> None:
    world = program().run()
    world.records.open("out", "csv")
    world.step()
    world.records.close()
    world.records.open("out", "csv", append=True)
    world.records.close()
    lines = [json.loads(line) for line in ecsgen.text("out/provenance.jsonl").splitlines()]
    assert [line["world"]["tick"] for line in lines] == [5, 6]
    assert lines[1] == world.provenance()
    assert ecsgen("verify", "out/provenance.jsonl").status == 0
    lines[0]["versions"]["numpy"] = "1.0"
    ecsgen.put(SAVED, "\n".join(map(json.dumps, lines)))
    assert ecsgen("verify", SAVED).out == f"numpy 1.0 then, {np.__version__} now\n"


def test_a_sweep(ecsgen: Project) -> None:
    sweep(program().model, {"n": [1, 2]}, path="runs.jsonl", executor=AtOnce(), progress=False)
    ran = ecsgen("verify", "runs.jsonl")
    assert (ran.status, ran.out) == (0, "runs.jsonl: nothing differs here\n")
    assert ran.err == "not compared, for nothing is imported: Sky, model, the model\n"
    head, *runs = ecsgen.text("runs.jsonl").splitlines()
    later = json.loads(head)
    later["sweep"]["versions"]["Python"] = "2.7"
    ecsgen.put("runs.jsonl", "\n".join([head, *runs, json.dumps(later), *runs]))
    assert ecsgen("verify", "runs.jsonl").out.startswith("Python 2.7 then, ")


def test_another_package(ecsgen: Project) -> None:
    altered(ecsgen, "code", "package origin_sky", "0")
    ecsgen.put(SAVED, ecsgen.text(SAVED).replace("origin_sky", "origin_sea"))
    ran = ecsgen("verify", SAVED)
    assert (ran.status, ran.out) == (2, "")
    assert f"{SAVED} is of the package origin_sea, and here is origin_sky: give its" in ran.err


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (None, "can't read provenance.json: No such file or directory"),
        ("", "provenance.json has no provenance: Expecting value"),
        ('{"code": {', "provenance.json has no provenance: Expecting property name"),
        ('{"sweep": {"code": \n', "provenance.json has no provenance: Expecting value"),
        ('{"sweep": 3}\n', "wanted what `ecsgen provenance` writes"),
        ("[1, 2]", "wanted what `ecsgen provenance` writes"),
        ('{"code": {"a": 1}, "versions": {}}', "wanted what `ecsgen provenance` writes"),
        ('{"code": {}, "versions": []}', "wanted what `ecsgen provenance` writes"),
        ('{"parameters": {}}\n', "wanted what `ecsgen provenance` writes"),
        pytest.param("[" * 100_000, "has no provenance: ", id="deep"),
        ("\udcff", "has no provenance: "),
    ],
)
def test_no_provenance(ecsgen: Project, text: str | None, error: str) -> None:
    if text is not None:
        (ecsgen.folder / SAVED).write_text(text, errors="surrogateescape")
    ran = ecsgen("verify", SAVED)
    assert (ran.status, ran.out) == (2, "")
    assert error in ran.err


def test_no_package(ecsgen: Project) -> None:
    ecsgen("provenance", "-o", SAVED)
    assert ecsgen("provenance", "flights:none").status == 2
    ran = ecsgen("verify", SAVED, "sky")
    assert ran.err.startswith("Error: there is no package in sky: wanted the folder")
    ecsgen.put("origin_sky/.ecsgen.json", "{")
    assert ecsgen("provenance").err.startswith("Error: origin_sky/.ecsgen.json: ")
    code = program().run().provenance()["code"]
    assert [*code] == ["package origin_sky"]
