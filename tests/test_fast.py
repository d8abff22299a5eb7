"""One-row methods in C: generated managers are the same with them, only faster."""

from __future__ import annotations

import copy
import gc
import importlib
import importlib.util
import inspect
import math
import os
import pickle
import shutil
import subprocess
import sys
import tomllib
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, cast

import numpy as np
import pytest

import ecsgen

ROOT = Path(__file__).parent.parent
METHODS = {
    "PositionManager": "create _destroy_row remove destroy lookup has require row value set_value",
    "PointMassManager": "create _destroy_row remove lookup label set_label mass set_mass mass_of",
    "TransformManager": "create _destroy_row remove destroy lookup rotation set_rotation",
    "SoundSourceManager": "create lookup next previous first clip set_clip",
    "StatusEffectManager": "create _destroy_row remove destroy_id resolve id_of",
    "SparkManager": "create _destroy_row destroy_id resolve position set_position",
    "EveryTypeManager": "lookup has mode set_mode title set_title targets set_targets",
    "EntityManager": "create destroy alive require __contains__",
}
"""What must be in C, so that nothing falls out unnoticed."""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ModuleType, ModuleType]]:
    """The generated package with methods in C, and without."""
    if importlib.util.find_spec("ecsgen_fast") is None:
        if os.environ.get("CI"):
            pytest.fail("ecsgen-fast is not there: `make fast` needs a C compiler")
        pytest.skip("ecsgen-fast is not there: `make fast` compiles it")
    folder = tmp_path_factory.mktemp("fast")
    ignored = shutil.ignore_patterns("tests", "__pycache__")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        found: list[Any] = []
        for name, wish in (("quick", "1"), ("plain", "0")):
            shutil.copytree(ROOT / "generated", folder / name, ignore=ignored)
            patch.setenv("ECSGEN_FAST", wish)
            found.append(importlib.import_module(name))
        yield found[0], found[1]


@pytest.fixture
def quick(packages: tuple[ModuleType, ModuleType]) -> ModuleType:
    return packages[0]


def managers(package: ModuleType) -> Iterator[type[Any]]:
    for name in package.__all__:
        if name.endswith("Manager"):
            yield getattr(package, name)


def methods_in_c(kind: type[Any]) -> dict[str, Any]:
    return {name: m for name, m in vars(kind).items() if type(m).__name__ == "Method"}


def filled(package: ModuleType, name: str, count: int = 3) -> tuple[Any, Any, list[int]]:
    entities = package.EntityManager()
    manager = getattr(package, name)(entities)
    owners = entities.create_many(count).tolist()
    manager.create_many(owners)
    return manager, entities, owners


def outcome(call: Callable[[], Any]) -> tuple[Any, ...]:
    """Return what a call gives, or what it raises."""
    try:
        value = call()
    except Exception as error:
        return type(error).__name__, str(error).replace("quick", "plain")
    return type(value).__name__, repr(value)


def test_what_should_be_in_c_is(packages: tuple[ModuleType, ModuleType]) -> None:
    quick, plain = packages
    for name, wanted in METHODS.items():
        assert set(wanted.split()) <= methods_in_c(getattr(quick, name)).keys(), name
        assert not methods_in_c(getattr(plain, name))


def test_methods_look_like_the_generated_ones(packages: tuple[ModuleType, ModuleType]) -> None:
    quick, plain = packages
    for kind in managers(quick):
        for name, method in methods_in_c(kind).items():
            generated = getattr(getattr(plain, kind.__name__), name)
            assert inspect.signature(method) == inspect.signature(generated)
            for attribute in ("__name__", "__qualname__", "__doc__", "__annotations__"):
                assert getattr(method, attribute) == getattr(generated, attribute)
            assert method.__module__ == generated.__module__.replace("plain", "quick")
            assert inspect.isroutine(method)
            assert inspect.getsource(method) == inspect.getsource(generated)
            assert copy.deepcopy(method) is method


def test_methods_pickle_by_name(quick: ModuleType) -> None:
    manager, _, owners = filled(quick, "EnergyManager")
    method = quick.EnergyManager.create
    assert pickle.loads(pickle.dumps(method)) is method
    bound = pickle.loads(pickle.dumps(manager.lookup))
    assert [bound(owner) for owner in owners] == [0, 1, 2]


def test_managers_pickle_and_copy(quick: ModuleType) -> None:
    manager, _, owners = filled(quick, "PositionManager")
    for other in (pickle.loads(pickle.dumps(manager)), copy.deepcopy(manager)):
        assert other.remove(owners[0]) == 1
        assert (other.lookup(owners[0]), other.lookup(owners[2])) == (quick.NIL, 0)
        assert manager.lookup(owners[0]) == 0


def test_what_is_patched_is_called(quick: ModuleType) -> None:
    manager, _, owners = filled(quick, "EnergyManager")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quick.EnergyManager, "lookup", lambda self, entity: quick.NIL)
        assert not manager.has(owners[0])
        with pytest.raises(quick.MissingInstanceError):
            manager.require(owners[0])
    assert manager.has(owners[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quick.EnergyManager, "_destroy_row", lambda self, row: 7)
        assert manager.remove(owners[0]) == 7
    assert manager.remove(owners[0]) == 1


def test_subclasses_override(quick: ModuleType) -> None:
    class Loud(quick.EnergyManager):  # type: ignore[name-defined, misc]
        told: list[int]

        def lookup(self, entity: int, /) -> int:
            self.told.append(entity)
            return int(super().lookup(entity))

    class Plain(quick.EnergyManager):  # type: ignore[name-defined, misc]
        def total(self) -> float:
            return float(sum(self.stored(row) for row in range(len(self))))

    entities = quick.EntityManager()
    entity = entities.create()
    loud, plain = Loud(entities), Plain(entities)
    loud.told = []
    loud.create(entity)
    assert (loud.has(entity), loud.require(entity), loud.told) == (True, 0, [entity, entity])
    plain.create(entity, stored=2.5)
    assert (plain.total(), plain.remove(entity), len(plain)) == (2.5, 1, 0)


def test_a_broken_manager_says_so(quick: ModuleType) -> None:
    manager, _, owners = filled(quick, "EnergyManager")
    lookup, create = manager.lookup, quick.EnergyManager.create
    manager._break()
    for call in (partial(lookup, owners[0]), partial(create, manager, 1)):
        with pytest.raises(quick.BrokenManagerError):
            call()


def test_warnings_and_tracebacks_name_the_right_lines(quick: ModuleType) -> None:
    manager, entities, _ = filled(quick, "EnergyManager", 64)
    view = manager.data.stored
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        manager.create(entities.create())
    assert len(view) == 64
    assert [w.filename for w in caught] == [__file__]
    with pytest.raises(quick.StaleEntityError) as raised:
        manager.create(12345)
    frames = traceback.extract_tb(raised.value.__traceback__)
    assert frames[1].name == "create"
    assert frames[1].filename.endswith("energy.py")


class Number(int):
    """An int that is none by its type."""


class Index:
    """Something that is an index."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


ODD: tuple[Any, ...] = (
    *(0, 1, 2, 3, -1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 2**64, 2**70, -(2**70)),
    *(True, False, None, 1.0, "1", b"1", (), [1], np.uint64(1), np.int8(-1), np.float32(1)),
    *(Number(1), Index(1), Index(2**65), np.array(1), np.array([1])),
)


@pytest.mark.parametrize("name", sorted(METHODS.keys() - {"SparkManager", "EntityManager"}))
def test_odd_arguments_have_the_same_outcome(
    packages: tuple[ModuleType, ModuleType], name: str
) -> None:
    outcomes = []
    for package in packages:
        manager, entities, owners = filled(package, name)
        dead, gone = owners[1], owners[2]
        entities.destroy(dead)
        manager.remove(gone)
        handles = (*ODD, *owners, dead, Number(owners[0]), np.uint64(owners[0]), owners[0] + 2**32)
        found: list[Any] = []
        for method in methods_in_c(getattr(packages[0], name)):
            if method.startswith(("_", "set_", "create")):
                continue
            for argument in handles:
                one = copy.deepcopy(manager)
                found.append(
                    (method, outcome(partial(getattr(one, method), argument)), one.version)
                )
        for argument in handles:
            one = copy.deepcopy(manager)
            found.append(("create", outcome(partial(one.create, argument)), one.version))
        found.append((outcome(manager.lookup), outcome(partial(manager.lookup, 1, 2))))
        found.append((outcome(partial(manager.create, gone, nonsense=1)), outcome(manager.create)))
        outcomes.append(found)
    assert outcomes[0] == outcomes[1]


VALUES: tuple[Any, ...] = (
    *ODD,
    *(0.1, -0.0, math.inf, -math.inf, math.nan, 1e38, 3.4028235677973366e38, 3.5e38, 1e308),
    *(127, 128, -128, -129, 255, 256, 32767, 32768, -32769, 65535, 65536, 2**31 - 1, -(2**31) - 1),
    *(2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), -(2**63) - 1, 10**400),
    *(
        "",
        "abc",
        "é" * 8,
        "é" * 9,
        "a" * 17,
        "a\0b",
        "\ud800",
        b"",
        b"abcd",
        b"abcde",
        bytearray(b"ab"),
    ),
    *((1.0, 2.0, 3.0), [1.0, 2, 3.5], (1.0, 2.0), (1.0, "x", 2.0), (1.0, math.inf, 0.0), (1, 2, 3)),
    *((True, False), [False, True], (0, 1), (1, 2), [1, 2], (2**64, 1), np.zeros(2), np.ones(3)),
    *(((1.0, 2.0, 3.0), (4.0, 5.0, 6.0)), ((1, 2), (3, 4)), np.arange(6.0).reshape(2, 3)),
)


def test_values_have_the_same_outcome(packages: tuple[ModuleType, ModuleType]) -> None:
    outcomes = []
    for package in packages:
        manager, _, _ = filled(package, "EveryTypeManager")
        values = (*VALUES, *package.Mode, *package.Access, ~package.Access(0), package.Element(1))
        found: list[Any] = []
        for field in manager._CONVERTERS:
            getter, setter = getattr(manager, field), getattr(manager, f"set_{field}")
            for value in values:
                found.append((field, outcome(partial(setter, 1, value))))
                found.append((field, outcome(partial(getter, 1))))
        found.append(outcome(partial(manager.row, 1)))
        outcomes.append(found)
    for one, other in zip(*outcomes, strict=True):
        assert one == other


def test_values_of_new_rows_have_the_same_outcome(
    packages: tuple[ModuleType, ModuleType],
) -> None:
    outcomes = []
    for package in packages:
        found: list[Any] = []
        for name in ("PointMassManager", "StatusEffectManager", "AiStateManager"):
            manager, entities, _ = filled(package, name, 0)
            for field in manager._CONVERTERS:
                for value in VALUES:
                    found.append(
                        outcome(partial(manager.create, entities.create(), **{field: value}))
                    )
            found += [outcome(partial(manager.row, row)) for row in range(len(manager))]
        outcomes.append(found)
    for one, other in zip(*outcomes, strict=True):
        assert one == other


def test_bytes_that_are_no_text(packages: tuple[ModuleType, ModuleType]) -> None:
    outcomes = []
    for package in packages:
        manager, _, _ = filled(package, "PointMassManager")
        manager.data._label_column[0] = b"\xff\xfe"
        outcomes.append((outcome(partial(manager.label, 0)), outcome(partial(manager.row, 0))))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0][0] == "UnicodeDecodeError"


def test_accessors_of_an_entity(packages: tuple[ModuleType, ModuleType]) -> None:
    """Methods that look an entity up and read or write a field, in one call."""
    outcomes = []
    for package in packages:
        manager, entities, owners = filled(package, "EnergyManager")
        entities.destroy(owners[1])
        manager.remove(owners[2])
        found: list[Any] = []
        for entity in (*owners, entities.create(), *ODD):
            found.append(outcome(partial(manager.stored_of, entity)))
            for value in VALUES:
                found.append(outcome(partial(manager.set_stored_of, entity, value)))
                found.append(outcome(partial(manager.stored_of, entity)))
        found.append(outcome(partial(manager.stored_of, owners[0], 1)))
        outcomes.append(found)
    assert {"stored_of", "set_stored_of"} <= methods_in_c(packages[0].EnergyManager).keys()
    assert outcomes[0] == outcomes[1]


def test_accessors_of_an_entity_look_it_up_their_way(quick: ModuleType) -> None:
    """A subclass that finds rows differently is asked."""

    class Nowhere(quick.EnergyManager):  # type: ignore[name-defined, misc]
        def lookup(self, entity: int, /) -> int:
            return int(quick.NIL)

    entities = quick.EntityManager()
    manager, entity = Nowhere(entities), entities.create()
    manager.create(entity)
    for call in (partial(manager.stored_of, entity), partial(manager.set_stored_of, entity, 1.0)):
        with pytest.raises(quick.MissingInstanceError):
            call()


def test_an_entity_that_somebody_is_told_of(packages: tuple[ModuleType, ModuleType]) -> None:
    """Rows go with their entities, and callbacks are told, whatever was patched on the way."""
    for package in packages:
        manager, entities, owners = filled(package, "SkinnedMeshManager")
        told: list[list[int]] = []
        entities.on_destroy(lambda dead, told=told: told.append(dead.tolist()))
        entities.destroy(owners[1])
        assert (told, manager.has(owners[1]), len(entities)) == ([owners[1:2]], False, 2)
        freed: list[int] = []
        quiet = package.EntityManager()
        entity = quiet.create()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                package.EntityManager,
                "_free_index",
                lambda self, e, index, freed=freed: freed.append(e),
            )
            quiet.destroy(entity)
        assert freed == [entity]


def exercise(package: ModuleType, name: str) -> None:
    """Use every method in C, its unusual cases too."""
    manager, entities, owners = filled(package, name, 40)
    fields = manager._CONVERTERS
    for owner in owners:
        row = manager.lookup(owner)
        _ = owner in manager, manager.has(owner), manager.require(owner), manager.row(row)
        for field in fields:
            getattr(manager, f"set_{field}")(row, getattr(manager, field)(row))
    for owner in owners[:20]:
        manager.remove(owner)
        entities.destroy(owner)
    row = manager.lookup(owners[-1])
    for _ in range(40):
        entity = entities.create()
        row = manager.create(entity, **{f: getattr(manager, f)(row) for f in list(fields)[:2]})
        with pytest.raises((TypeError, package.EcsError)):
            manager.lookup("x")
        with pytest.raises(package.EcsError):
            manager.create(owners[0])
    manager.destroy(manager.lookup(owners[-1]))


@pytest.mark.parametrize("name", sorted(METHODS.keys() - {"SparkManager", "EntityManager"}))
def test_nothing_leaks(quick: ModuleType, name: str) -> None:
    for _ in range(20):
        exercise(quick, name)
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(20):
        exercise(quick, name)
    gc.collect()
    assert sys.getallocatedblocks() - before < 200  # an object per call would be thousands


def test_classes_go(packages: tuple[ModuleType, ModuleType], tmp_path: Path) -> None:
    """Plans, methods and classes are cycles that the collector finds."""
    code = """
import gc, sys, weakref
import quick
kind = weakref.ref(quick.EnergyManager)
for name in [name for name in sys.modules if name.partition(".")[0] == "quick"]:
    del sys.modules[name]
del quick
gc.collect()
print(kind())
"""
    paths = os.pathsep.join(sys.path)  # both packages, wherever the layer is installed
    environment = {**os.environ, "ECSGEN_FAST": "1", "PYTHONPATH": paths}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert (ran.stdout, ran.stderr) == ("None\n", "")


def test_without_the_layer(
    packages: tuple[ModuleType, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.import_module("quick._runtime.fast")._found
    monkeypatch.setitem(sys.modules, "ecsgen_fast", None)
    monkeypatch.delenv("ECSGEN_FAST", raising=False)
    assert found() is None
    monkeypatch.setenv("ECSGEN_FAST", "1")
    with pytest.raises(ImportError, match=r"neither a compiled quick\._fast nor ecsgen_fast"):
        found()


def test_code_that_is_not_known_stays(
    packages: tuple[ModuleType, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A method with a step that the layer does not know is left alone; so is a class that lacks
    what it wants."""
    from ecsgen_fast import install
    from ecsgen_fast.known import CREATE, uses_only

    def create(self: Any, entity: int) -> int:
        return int(self._new_step(entity))

    assert not uses_only(cast(FunctionType, create), CREATE)

    class Manager:
        LAYOUT = ()

    with pytest.warns(RuntimeWarning, match="does without ecsgen_fast"):
        install(Manager)


def test_versions_agree() -> None:
    fast = tomllib.loads((ROOT / "fast/pyproject.toml").read_text())["project"]["version"]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert fast == ecsgen.__version__
    assert extras["optional-dependencies"]["fast"] == [f"ecsgen-fast=={fast}"]


@pytest.mark.parametrize("schemas", ["schemas", "tests/fast.yaml"])
def test_generated_tests_pass(
    packages: tuple[ModuleType, ModuleType], tmp_path: Path, schemas: str
) -> None:
    """All direct cases, and a few examples of each state machine; `fast/sanitize` runs them all."""
    folder = ROOT
    if schemas != "schemas":
        folder = tmp_path
        (tmp_path / "schemas").mkdir()
        shutil.copy(ROOT / schemas, tmp_path / "schemas")
        build = [sys.executable, "-m", "ecsgen", "build", str(tmp_path / "schemas")]
        subprocess.run([*build, "-o", str(tmp_path / "generated")], check=True, cwd=tmp_path)
    environment = {**os.environ, "ECSGEN_FAST": "1", "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "tests.fewer_examples"]
    options += ["-k", "not Archetypes and not kernel and not Chunk"]  # which have nothing in C
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(folder / "generated" / "tests")],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout[-3000:]


def test_a_package_with_its_own_sources(tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    made = tmp_path / "made"
    build = [sys.executable, "-m", "ecsgen", "build", str(ROOT / "schemas"), "-o", str(made)]
    ran = subprocess.run([*build, "--compiled"], check=True, capture_output=True, text=True)
    assert f"to compile: python {made / '_fast/compile.py'}" in ran.stdout
    subprocess.run([sys.executable, str(made / "_fast" / "compile.py")], check=True)
    code = "import made, sys; print('ecsgen_fast' in sys.modules, made.World().spawn(2).tolist())"
    environment = {**os.environ, "ECSGEN_FAST": "1", "PYTHONPATH": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert (ran.stdout[:6], ran.stderr) == ("False ", "")
