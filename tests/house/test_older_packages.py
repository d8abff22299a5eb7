"""Packages that an earlier ecsgen made run with this library, or say clearly that they do not, by
the number of the interface that they ask for.

`tests/released_packages/interface_N.zip` is what the first build for an interface wrote, imported
as it is, with its schema beside it; of one that is no longer served, what refuses. It is never
built anew.
"""

from __future__ import annotations

import importlib
import pickle
import sys
from pathlib import Path
from types import ModuleType

import ecsgen_runtime
import numpy as np
import pytest
from ecsgen_runtime import exported, package

from tests import interface
from tests.support.generated_package import build

SCHEMA = "component: Mote\nfields: {weight: f32}\n"
CHANGED = """\
What generated packages use of the library is not what it was. If packages that were made before
still run with it, or with two ways of it, `INTERFACES` in base/version.py of the library gets a
number more; if they don't, it is replaced by the next one. Then: python -m tests.interface
"""


def test_another_surface_has_another_number() -> None:
    assert interface.listing() == interface.LISTED.read_text(encoding="utf-8"), CHANGED


def test_type_checkers_see_what_there_is() -> None:
    homes = {name: module for module, names in package.EXPORTED.items() for name in names.split()}
    seen = [name for name in vars(exported) if name[0].isupper()]
    assert {*seen, "Sweep", "sweep"} == homes.keys()
    for name in seen:
        home = importlib.import_module(homes[name], "ecsgen_runtime")
        assert getattr(exported, name) is getattr(home, name), name


@pytest.mark.parametrize(
    ("wanted", "remedy"), [(0, '"ecsgen-runtime==0.0.1"'), (1000, '"ecsgen-runtime>=0.0.1"')]
)
def test_a_package_of_another_interface_says_what_to_do(
    wanted: int, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "a.yaml").write_text(SCHEMA, encoding="utf-8")
    name = f"other_{wanted}"
    build(tmp_path / "schemas", tmp_path / name)
    file = tmp_path / name / "__init__.py"
    text = file.read_text(encoding="utf-8")
    text = text.replace('__ecsgen__ = "', '__ecsgen__ = "0.0.1"  # "')
    file.write_text(text.replace("interface=", f"interface={wanted} + 0 * "), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError) as raised:
        importlib.import_module(name)
    says = str(raised.value)
    assert f"{name} was made by ecsgen 0.0.1 for interface {wanted} of ecsgen-runtime" in says
    assert f"{ecsgen_runtime.__version__} is installed, which serves" in says
    assert "run `ecsgen build`" in says
    assert f"pip install {remedy}" in says
    assert (raised.value.name, name in sys.modules) == (name, False)


ROOT = Path(__file__).parents[2]
PACKAGES = sorted((Path(__file__).parents[1] / "released_packages").glob("interface_*.zip"))
NAME = "dust"


def test_the_page_for_updates_has_each_interface() -> None:
    page = (ROOT / "docs" / "moving-on.md").read_text(encoding="utf-8")
    assert f"Interfaces 1 to {ecsgen_runtime.INTERFACES[-1]} came between" in page


def imported(archive: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import the package of an archive, and nothing that was imported under its name before."""
    for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(archive)
    return importlib.import_module(NAME)


@pytest.mark.parametrize("archive", PACKAGES, ids=lambda archive: archive.stem)
def test_it_runs_or_says_that_it_does_not(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if int(archive.stem.rpartition("_")[2]) not in ecsgen_runtime.INTERFACES:
        with pytest.raises(ImportError, match=r"run `ecsgen build`.*pip install"):
            imported(archive, monkeypatch)
        return
    dust = imported(archive, monkeypatch)
    w = dust.World()
    motes = w.spawn_pair(4, mote={"mass": 2.0, "velocity": [1, 0, 0]}, bond={"strength": 0.5})
    assert w.bond.set_to(0, motes[1]) is None
    w.mote.drift(0.5)
    assert w.mote.position(w.mote.lookup(motes[0])) == (0.5, 0.0, 0.0)
    w.mote.data.position = [(0, 0, 0), (0, 4, 0), (0, 0, 0), (0, 0, 0)]
    w.pull()
    assert w.mote.velocity(0) == (1.0, 2.0, 0.0)
    assert w.mote.weight() == 8.0
    assert [row.mote for row in w.bound] == [0, 1, 2, 3]
    second = w.bond.create(motes[0], strength=2.0)
    id = w.bond.id_of(second)
    assert (w.bond.count(motes[0]), w.bond.resolve(id)) == (2, second)
    gone = []
    w.bond.on_release(lambda rows: gone.append(len(rows)))
    w.destroy_many(motes[2:])
    assert (w.collect(), sum(gone), len(w.mote), len(w.bond)) == (2, 2, 2, 3)
    rooms = w.room.create_many(3, name="hall", size=np.arange(3))
    w.room.deactivate(w.room.resolve(int(rooms[0])))
    assert w.room.n_active == 2
    with pytest.raises(dust.StaleEntityError, match="is not alive"):
        w.mote.create(motes[3])
    if hasattr(w, "patch"):
        w.patch.set_height(3, 7)
        assert w.patch.rows_of_height(7).tolist() == [3]
    if hasattr(w.mote, "share"):
        w.mote.share()
        assert (w.mote.data.grains.sum(), abs(w.mote.data.grains).sum()) in ((0, 0), (0, 2))
    if hasattr(w.mote, "grow_old"):
        w.mote.grow_old(np.timedelta64(2**63 - 1, "ms"))
        w.mote.grow_old(np.timedelta64(2, "ms"))
        assert w.mote.data.age[0] == np.timedelta64(1 - 2**63, "ms")
    w.save(tmp_path / "dust.snap")
    loaded = (dust.World.load(tmp_path / "dust.snap"), pickle.loads(pickle.dumps(w)))
    next_one = w.spawn(1, mote={}).tolist()
    for again in loaded:
        assert again.mote.row(0) == w.mote.row(0)
        assert again.bond.resolve(id) == w.bond.resolve(id)
        assert again.spawn(1, mote={}).tolist() == next_one
