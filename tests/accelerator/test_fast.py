"""Methods in C: generated managers are the same with them, only faster."""

from __future__ import annotations

import copy
import importlib
import inspect
import os
import pickle
import shutil
import subprocess
import sys
import traceback
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import ecsgen_runtime
import pytest
from ecsgen_runtime.managers.manager import ManagerParts

import ecsgen
from tests.support.accelerated_packages import (
    METHODS,
    Packages,
    both,
    calls_of,
    filled,
    find_accelerator,
    need_layer,
)
from tests.support.generated_package import SCHEMAS, build

LIBRARY = Path(ecsgen_runtime.__file__).parent


def managers(package: ModuleType) -> Iterator[type[Any]]:
    for name in package.__all__:
        if name.endswith("Manager"):
            yield getattr(package, name)


def test_what_should_be_in_c_is(packages: Packages) -> None:
    quick, plain = packages
    for name, wanted in METHODS.items():
        assert set(wanted.split()) <= find_accelerator(getattr(quick, name)).keys(), name
        assert not find_accelerator(getattr(plain, name))


def test_a_field_of_many_columns_is_left_to_python(tmp_path: Path) -> None:
    """And all others of its component are not."""
    path = tmp_path / "spread.yaml"
    path.write_text(
        'component: Spread\nfields: {heat: f32, apart: {type: "f32[17]", split: true}}\n'
    )
    packages = both(path, ("spread", "spread_plain"))
    for package in packages:
        spread, _, owners = filled(package, "SpreadManager")
        spread.set_apart(1, range(17))
        spread.set_heat(1, 3)
        spread.destroy(0)
        assert [spread.heat(0), spread[owners[1]].heat] == [0, 3]
        assert spread.row(spread.lookup(owners[1])).apart == (*range(17),)
    assert {"heat", "set_heat", "destroy"} <= find_accelerator(packages[0].SpreadManager).keys()


def test_compiled_packages_have_the_same_methods(
    packages: Packages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where kernels are compiled as well: their columns have one more view each."""
    pytest.importorskip("numba")
    quick, _ = packages
    (tmp_path / "schemas").mkdir()
    for name in ("every_type", "point_mass", "scene_node", "sound_source", "spark", "tile"):
        shutil.copy(SCHEMAS / f"{name}.yaml", tmp_path / "schemas")
    build(tmp_path / "schemas", tmp_path / "compiled_yard", backend="numba", runtime="vendored")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("ECSGEN_PURE", "0")
    compiled = importlib.import_module("compiled_yard")
    importlib.import_module("compiled_yard._runtime.base.specialisation")
    kinds = [kind for kind in managers(compiled) if kind.__name__ != "EntityManager"]
    assert len(kinds) == 6
    for kind in kinds:
        same = getattr(quick, kind.__name__)
        assert find_accelerator(kind).keys() == find_accelerator(same).keys() != set(), kind


def test_methods_look_like_the_generated_ones(packages: Packages) -> None:
    quick, plain = packages
    for kind in managers(quick):
        for name, method in find_accelerator(kind).items():
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


def test_what_is_patched_is_called(quick: ModuleType) -> None:
    manager, _, owners = filled(quick, "EnergyManager")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quick.EnergyManager, "_destroy_row", lambda self, row: 7)
        assert manager.remove(owners[0]) == 7
    assert manager.remove(owners[0]) == 1


def test_whatever_is_patched_all_is_python(quick: ModuleType) -> None:
    """C does the work of many methods of the library: if one is another, it leaves all to them."""
    kind = quick.EnergyManager
    manager, _, owners = filled(quick, "EnergyManager")
    library = {name: m for base in kind.__mro__[1:-1] for name, m in vars(base).items()}
    methods = [name for name, m in library.items() if inspect.isfunction(m) and name[:2] != "__"]
    assert {"_require_row", "_evict_stale", "collect", "lookup_many"} <= set(methods)
    assert calls_of(partial(manager.lookup, owners[0])) == []
    for name in methods:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kind, name, lambda *arguments: None)
            assert name == "lookup" or calls_of(partial(manager.lookup, owners[0])), name
    assert calls_of(partial(manager.lookup, owners[0])) == []


def test_subclasses(quick: ModuleType) -> None:
    """A method that is patched is called, and others go on in C."""

    class Loud(quick.EnergyManager):  # type: ignore[name-defined, misc]
        told: list[int]

    def lookup(self: Any, entity: int, /) -> int:
        self.told.append(entity)
        return int(quick.EnergyManager.lookup(self, entity))

    setattr(Loud, "lookup", lookup)  # noqa: B010  # mypy knows no method of that name

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


def test_classes_go(packages: Packages, tmp_path: Path) -> None:
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
    folder = str(Path(packages[0].__path__[0]).parent)
    paths = os.pathsep.join([folder, *sys.path])  # wherever the library is installed
    environment = {**os.environ, "ECSGEN_PURE": "0", "PYTHONPATH": paths}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert (ran.stdout, ran.stderr) == ("None\n", "")


def test_without_methods_in_c(packages: Packages, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the reason, there is one, and Python does it all."""
    from ecsgen_runtime.accelerator import install

    fast = importlib.import_module("quick._runtime.base.specialisation")
    for is_pure in ("", "0"):
        monkeypatch.setenv("ECSGEN_PURE", is_pure)
        assert fast.find_accelerator() == (install, "")
    monkeypatch.setattr(ecsgen_runtime, "__version__", "1000.0")
    assert fast.find_accelerator() == (
        None,
        f"this is {ecsgen.__version__}, and ecsgen-runtime 1000.0",
    )
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "ecsgen_runtime", None)  # as where there is none
    assert fast.find_accelerator()[0] is None
    monkeypatch.setenv("ECSGEN_PURE", "1")
    assert fast.find_accelerator() == (None, "left out by ECSGEN_PURE")


SAID = {
    "there": "methods in C: yes\n",
    "not compiled": "methods in C: no (not compiled)\n",
    "broken": "methods in C: no (the linker was drunk)\n",
}


@pytest.mark.parametrize("case", SAID)
def test_the_library_says_what_it_has(case: str, tmp_path: Path) -> None:
    environment = {**os.environ, "ECSGEN_PURE": "0"}
    if case == "there":
        need_layer()
    else:
        without = shutil.ignore_patterns("_fast.*", "__pycache__")
        shutil.copytree(LIBRARY, tmp_path / "ecsgen_runtime", ignore=without)
        environment["PYTHONPATH"] = str(tmp_path)
    if case == "broken":
        extension = tmp_path / "ecsgen_runtime" / "accelerator" / "_fast.py"
        extension.write_text("raise ImportError('the linker was drunk')")
    command = [sys.executable, "-m", "ecsgen_runtime"]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert process.stdout.splitlines()[0] == f"ecsgen-runtime {ecsgen_runtime.__version__}"
    assert process.stdout.endswith(SAID[case])
    assert process.stderr == ""


def test_classes_of_the_library_itself_have_them() -> None:
    """Not only those of copies in a package, and those that inherit from them."""
    need_layer()
    code = """
from generated.entities import EntityManager
from ecsgen_runtime.world.queries.query import QueryJoin
entities = EntityManager()
entity = entities.create()
print(entities.alive(entity), type(EntityManager.create), type(QueryJoin._join))
"""
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "ECSGEN_PURE": "0", "PYTHONPATH": str(LIBRARY.parents[1])},
        capture_output=True,
        text=True,
    )
    method = "<class 'ecsgen_runtime.accelerator._fast.Method'>"
    assert (ran.stdout, ran.stderr) == (f"True {method} {method}\n", "")


def test_a_class_of_no_known_kind_is_an_error(packages: Packages) -> None:
    from ecsgen_runtime.accelerator import install

    class Other:
        """A kind of class that asks for methods in C some day."""

    with pytest.raises(LookupError, match="no known kind"):
        install(Other)


def test_code_of_which_nothing_is_said_stays() -> None:
    """Parts of policies that are not known are those of test_fast_known.py."""
    need_layer()
    from ecsgen_runtime.accelerator.supported import STEPS, supports_all_steps

    class Silent:
        PARTS: ClassVar = ManagerParts()

    assert not any(supports_all_steps(Silent, method) for method in STEPS)


def test_a_hole_belongs_to_nobody(packages: Packages) -> None:
    for package in packages:
        manager, _, owners = filled(package, "TransformManager")
        manager.remove_many(owners[:2])
        assert (manager.remove_many([0]), manager.remove(0), len(manager)) == (0, 0, 1)
        assert manager.lookup_many([0]).tolist() == [package.NIL]
        assert not manager.has(0)


def test_visitors_from_other_shards_are_among_the_entities(tmp_path: Path) -> None:
    """Their handles have another shard's indices, which Python alone finds."""
    path = tmp_path / "isles.yaml"
    path.write_text("world: Isles\nshards: {}\n---\ncomponent: Rare\nfields: {x: f32}\n")
    for package in both(path, ("quick_shards", "plain_shards")):
        here, there = package.Isles(0), package.Isles(1)
        visitors = there.spawn(3, rare={})
        natives = here.spawn(3, rare={})
        here.absorb(there.extract(visitors))
        assert all(entity in here.entities for entity in [*natives.tolist(), *visitors.tolist()])
        assert not any(entity in there.entities for entity in visitors.tolist())
