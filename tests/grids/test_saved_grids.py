"""Snapshots of grids, and of rows that stand on them; and what breaks them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.errors import FullCellError, SnapshotError
from ecsgen_runtime.snapshots.content_checks import checked_documents
from ecsgen_runtime.snapshots.documents import json_text
from ecsgen_runtime.snapshots.reading import SnapshotFile, read_snapshot
from ecsgen_runtime.snapshots.snapshot_format import SnapshotFormat

from ecsgen.config import BACKENDS
from tests.schema.test_breaking import breaks
from tests.support.schema_evolution import loaded, package
from tests.support.world_package import world_package

PATCH = """\
component: Patch
grid: {{shape: {shape}, wrap: [true, false]}}
fields: {{{fields}}}
---
"""
GRASS = 'grass: {type: f32, default: 1}, kind: {type: "str[4]", default: hay}, at: "i16[2]"'


def patch(fields: str = GRASS, shape: str = "[4, 5]", keys: str = "") -> str:
    return PATCH.format(fields=fields, shape=shape).replace("---\n", f"{keys}---\n")


def sheep(
    on: str | None = "{field: cell, capacity: 1}", keys: str = "", owner: str = "entity"
) -> str:
    """The cells that rows name, `on` them or not."""
    standing = f"on: {on}\n" if on else ""
    ids = "ids: true\n" if owner == "entity" and "ids" in keys else ""
    keys = keys.replace("ids: true\n", "")
    return (
        f"component: Sheep\nowner: {owner}\n{ids}{keys}{standing}"
        "fields: {cell: id<Patch>, x: {type: i16, default: 3, tags: [cold]}}\n"
    )


C = 2**32
OLD = patch() + sheep()
POLICIES = {
    "one": "",
    "none": "owner: none",
    "ids": "ids: true\n",
    "hash": "lookup: hash\n",
    "callback": "destroy: callback\n",
    "manual": "destroy: manual\n",
    "hierarchy": "ids: true\nhierarchy: {orphans: root}\n",
    "die": "hierarchy: {orphans: die}\n",
    "indirect": "cold: indirect\n",
    "ring": "ring: 8\n",
    "reserve": "growth: {reserve: 4096}\n",
}


def lived(text: str = OLD) -> Any:
    """A world whose grid is of another shape than the schema's, with rows and dead ones."""
    world = package(text).World(patch=(3, 4))
    world.patch.data.grass = np.arange(12)
    world.patch.data.kind[5] = b"moor"
    world.patch.wrap = (False, True)
    if hasattr(world, "sheep") and hasattr(world.sheep, "create_many"):
        cells = [C + 3, C, 0, C + 11]
        if "owner: none" in text:
            world.sheep.create_many(4, cell=cells, x=[1, 2, 3, 4])
        else:
            es = world.spawn(4, sheep={"cell": cells, "x": [1, 2, 3, 4]})
            world.entities.destroy(int(es[1]))
    return world


def refused(old: Any, text: str, **options: Any) -> str:
    with pytest.raises(SnapshotError) as caught:
        loaded(old, text, **options)
    return str(caught.value).removeprefix("<bytes>: ")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("mapped", [False, True])
def test_grids_are_loaded_as_they_were(tmp_path: Path, backend: Any, mapped: bool) -> None:
    world = lived()
    world.save(tmp_path / "a.snap")
    kind = world_package(OLD, f"saved_grid_{backend}", backend).World
    new = kind.load(tmp_path / "a.snap", mmap=mapped)
    assert (new.patch.grid.shape, new.patch.wrap) == ((3, 4), (False, True))
    assert new.patch.data.grass.tolist() == [*range(12)]
    assert new.patch.data.kind[4:6].tolist() == [b"hay", b"moor"]
    assert new.sheep.data.cell.tolist() == [C + 3, C, 0, C + 11]
    assert new.sheep.near([C + 3, C], 0).rows.tolist() == [0]
    assert new.to_bytes() == world.to_bytes()
    with pytest.raises(FullCellError):
        new.spawn(1, sheep={"cell": C + 3})
    new.spawn(1, sheep={"cell": C})  # whose row is dead
    new.patch.data.grass[0] = 9
    assert kind.load(tmp_path / "a.snap").patch.data.grass[0] == 0


@pytest.mark.parametrize("policy", POLICIES)
def test_rows_of_every_policy_stand_where_they_stood(policy: str) -> None:
    owner = "none" if policy == "none" else "entity"
    keys = "" if policy == "none" else POLICIES[policy]
    text = patch() + sheep(keys=keys, owner=owner)
    world, again = lived(text), lived(text)
    new = package(text).World.load(world.to_bytes())
    assert new.to_bytes() == world.to_bytes()
    for saved_world in (new, again):
        if policy != "none":
            saved_world.spawn(1, sheep={"cell": C + 7, "x": 9})
            saved_world.collect()
        saved_world.sheep.data.cell = [*reversed(saved_world.sheep.data.cell.tolist())]
    assert new.to_bytes() == again.to_bytes()
    every_cell = new.patch.id_of_many(np.arange(12))
    assert new.sheep.near(every_cell, 0).starts.tolist() == (
        again.sheep.near(every_cell, 0).starts.tolist()
    )


def test_verifying_finds_who_stands_nowhere_or_too_close() -> None:
    world = lived()
    for cell, why in (
        (C + 12, r"sheep.cell\[2\]: 0x10000000c is no cell of PatchManager"),
        (7, r"sheep.cell\[2\]: 0x7 is no cell of PatchManager"),
        (C + 3, r"sheep.cell\[0\]: 1 may stand on a cell, and more do on 0x100000003 of Patch"),
    ):
        world.sheep.data._cell_column[2] = cell
        with pytest.raises(SnapshotError, match=f"{why}.*; verify=False saves it all the same"):
            world.to_bytes()
        data = world.to_bytes(verify=False)
        with pytest.raises(SnapshotError, match=why):
            type(world).load(data)
        assert len(type(world).load(data, verify=False).sheep) == 4
    world.sheep.data._cell_column[2] = C  # where the dead one stood
    assert type(world).load(world.to_bytes()).sheep.near([C], 0).rows.tolist() == [2]


def test_fields_of_cells_change_as_others_do() -> None:
    fields = 'grass: f64, way: {type: i8, default: 4}, tint: {type: "str[9]", renamed_from: [kind]}'
    new = loaded(lived(), patch(fields, "[9, 9]", "removed: [at]\n") + sheep(keys="ids: true\n"))
    assert (new.patch.grid.shape, new.patch.wrap) == ((3, 4), (False, True))
    assert new.patch.data.grass.tolist() == [*range(12)]
    assert new.patch.data.way.tolist() == [4] * 12
    assert new.patch.data.tint[5] == b"moor"
    assert new.sheep.data.cell.tolist() == [C + 3, C, 0, C + 11]
    assert refused(lived(), patch("grass: f32, at: 'i16[2]'") + sheep()).startswith(
        "not in the schemas: patch.kind"
    )


def test_a_grid_under_another_name() -> None:
    text = (
        (patch() + sheep())
        .replace("Patch", "Spot")
        .replace("fields: {grass", "renamed_from: [Patch]\nfields: {grass", 1)
    )
    new = loaded(lived(), text)
    assert new.spot.grid.shape == (3, 4)
    assert new.sheep.near([C + 11], 0).rows.tolist() == [3]


OTHERS = {
    "axes": (patch(shape="[3, 4, 1]").replace("[true, false]", "false"), "cells of 3 axes"),
    "off": ("component: Patch\nowner: none\nfields: {grass: f32}\n---\n", "no cells"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_cells_that_are_others_are_refused_or_dropped(other: str) -> None:
    text, what = OTHERS[other]
    rows = sheep(None if other == "off" else "cell")
    assert refused(lived(), text + rows) == (
        f"patch: its 12 rows are cells of 2 axes, and now {what}: "
        'drop=["patch"] loads without them'
    )
    new = loaded(lived(), text + rows, drop=["patch"])
    assert new.sheep.data.cell.tolist() == [0] * 4  # ids of other cells
    assert new.sheep.data.x.tolist() == [1, 2, 3, 4]
    assert len(new.patch) == (0 if other == "off" else 12)
    if other == "axes":
        assert new.patch.grid.shape == (3, 4, 1)
        assert new.patch.data.grass.tolist() == [1] * 12
        assert new.patch.data.kind.tolist() == [b"hay"] * 12


def test_rows_become_no_cells() -> None:
    flat = "component: Patch\nowner: none\nfields: {grass: f32}\n---\n" + sheep(None)
    old = package(flat).World()
    gone = old.patch.create(grass=2)
    old.spawn(1, sheep={"cell": gone})
    assert refused(old, patch("grass: f32") + sheep()) == (
        "patch: its 1 rows are no cells, and now cells of 2 axes: "
        'drop=["patch"] loads without them'
    )
    old.patch.destroy_id(gone)
    new = loaded(old, patch("grass: f32") + sheep())
    assert (len(new.patch), new.sheep.data.cell.tolist()) == (20, [0])


def test_cells_may_be_taken_away_in_migrate() -> None:
    def migrate(old: Any) -> None:
        del old["Patch"]

    new = loaded(lived(), OLD, migrate=migrate)
    assert len(new.patch) == 12  # the same schemas: nothing to migrate
    new = loaded(lived(), patch(shape="[2, 2]", fields="grass: f64") + sheep(), migrate=migrate)
    assert (len(new.patch), new.sheep.data.cell.tolist()) == (4, [0] * 4)


def test_fewer_may_stand_on_a_cell() -> None:
    free = lived(patch() + sheep(None))
    free.spawn(2, sheep={"cell": [C + 3, 5]})
    assert refused(free, OLD) == "sheep.cell[5]: 0x5 is no cell of PatchManager"
    free.sheep.set_cell(5, 0)
    assert refused(free, OLD).startswith("sheep.cell[0]: 1 may stand on a cell, and more do on")
    new = loaded(free, patch() + sheep("{field: cell, capacity: 2}"))
    assert new.sheep.near([C + 3], 0).rows.tolist() == [0, 4]
    for text in (patch() + sheep("cell"), patch() + sheep(None)):
        assert len(loaded(new, text).sheep) == 6
    assert "sheep.cell[0]: 1 may" in refused(new, OLD)


def changed(world: Any, what: str, change: Callable[[Any], object]) -> Any:
    """A file in which a document says something else."""
    file = read_snapshot(world.to_bytes(), map_pages=False)
    document = json.loads(file.metadata[what])
    change(document)
    saved = object.__new__(SnapshotFile)
    saved.__dict__.update(file.__dict__)
    saved.metadata = {**file.metadata, what: json_text(document)}
    return saved


def said(path: str, value: Any) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        *above, last = path.split(".")
        for key in above:
            document = document[key]
        if value is ...:
            del document[last]
        else:
            document[last] = value

    return change


STATES = [
    ("patch.shape", ..., "state.patch: there is no shape"),
    ("patch.wrap", ..., "state.patch: there is no wrap"),
    ("patch.shape", [12], r"state.patch.shape: \[12\], wanted 2 sizes"),
    ("patch.shape", [4, 4], r"state.patch.shape: \[4, 4\] is not of 12 cells"),
    ("patch.shape", [-3, -4], "is not of 12 cells"),
    ("patch.shape", [3.0, 4], "wanted 2 sizes"),
    ("patch.shape", [True, 12], "wanted 2 sizes"),
    ("patch.shape", "ab", "wanted 2 sizes"),
    ("patch.wrap", [1, 0], "state.patch.wrap: .*, wanted 2 booleans"),
    ("patch.wrap", [True], "wanted 2 booleans"),
    ("patch.n", 13, r"is not of 13 cells"),
    ("patch.peak", 1, "state.patch: 'peak' is not known"),
    ("sheep.shape", [1], "state.sheep: 'shape' is not known"),
    ("world", {"tick": 2**63}, "state.world.tick: "),
    ("world", {"tick": 1.0}, "state.world.tick: "),
    ("sheep.tick", 1, "state.sheep: 'tick' is not known"),
]


@pytest.mark.parametrize(("path", "value", "why"), STATES)
def test_states_that_no_grid_has(path: str, value: Any, why: str) -> None:
    file = changed(lived(), "state", said(path, value))
    with pytest.raises(SnapshotError, match=why):
        checked_documents(file, SnapshotFormat(), None)


SCHEMAS = [
    ("Patch.grid", 4, "schema.components.Patch.grid: 4, wanted 1 to 3"),
    ("Patch.grid", 0, "wanted 1 to 3"),
    ("Patch.grid", [2], "wanted 1 to 3"),
    ("Patch.ids", True, "a grid has fields"),
    ("Patch.partition", "active", "a grid has fields"),
    ("Patch.cold", "indirect", "a grid has fields"),
    ("Patch.on", 1, "a grid has fields"),
    ("Patch.fields", {}, "a grid has fields"),
    ("Patch.in", "archetypes", "a grid has fields"),
    ("Patch.owner", "entity", "a grid has fields"),
    ("Patch.lookup", "direct", "goes with nothing that orders rows"),
    ("Sheep.on", -1, "schema.components.Sheep.on: "),
    ("Sheep.on", True, "schema.components.Sheep.on: "),
    ("Patch.grid", ..., "'owner: none' has ids"),
]


@pytest.mark.parametrize(("path", "value", "why"), SCHEMAS)
def test_schemas_that_no_grid_has(path: str, value: Any, why: str) -> None:
    file = changed(lived(), "schema", said(f"components.{path}", value))
    with pytest.raises(SnapshotError, match=why):
        checked_documents(file, SnapshotFormat(), None)


FLAT = "component: Patch\nowner: none\nfields: {grass: f32}\n---\n"
CUBE = patch("grass: f32", "[1, 2, 3]").replace("[true, false]", "true")
BREAKING = {
    "another shape": (patch(shape="[9, 9]") + sheep(), OLD, ""),
    "axes": (patch("grass: f32") + sheep(), CUBE + sheep(), "E903:2 E952:2"),
    "grid off": (patch("grass: f32") + sheep(None), FLAT + sheep(None), "E903:1 E953:1"),
    "grid on": (FLAT + sheep(None), patch("grass: f32") + sheep(None), "E903:2 E953:2"),
    "on": (patch() + sheep(None), patch() + sheep("cell"), "E902:7 E953:7"),
    "off": (patch() + sheep("cell"), patch() + sheep(None), "E953:5"),
    "fewer": (patch() + sheep("cell"), OLD, "E902:7 E953:7"),
    "fewer than before": (
        patch() + sheep("{field: cell, capacity: 3}"),
        patch() + sheep("{field: cell, capacity: 2}"),
        "E902:7 E953:7",
    ),
    "more": (OLD, patch() + sheep("{field: cell, capacity: 2}"), ""),
    "any number": (OLD, patch() + sheep("cell"), ""),
    "nobody's fewer": (
        patch() + sheep("cell", owner="none"),
        patch() + sheep(owner="none"),
        "E902:7 E953:7",
    ),
    "nobody's off": (
        patch() + sheep("cell", owner="none"),
        patch() + sheep(None, owner="none"),
        "E953:5",
    ),
}


@pytest.mark.parametrize("case", BREAKING)
def test_what_breaks(case: str) -> None:
    old, new, wanted = BREAKING[case]
    errors = breaks(old, new).errors
    assert " ".join(f"{error.code}:{error.mark.line}" for error in errors) == wanted, errors


def test_what_breaks_is_said() -> None:
    errors = breaks(patch("grass: f32") + sheep("cell"), CUBE + sheep()).errors
    axes = "'Patch' has a grid of 3 axes, and had a grid of 2 axes"
    assert [(error.message, error.hint) for error in errors] == [
        (f"{axes}: saved rows are not its cells", "go back to a grid of 2 axes"),
        (f"{axes}: coordinates are others", "go back to a grid of 2 axes"),
        (
            "'Sheep' has 'on' and 'capacity: 1', and had 'on': "
            "saved rows may not stand where they do",
            "go back to 'on'",
        ),
        (
            "'Sheep' has 'on' and 'capacity: 1', and had 'on': "
            "code may find cells full, and no column to write to",
            "go back to 'on'",
        ),
    ]
    *_, gone = breaks(*BREAKING["grid on"][:2]).errors
    assert gone.message.endswith(
        "no grid: no create, create_many, destroy, destroy_many, clear, reserve, shrink_to_fit, "
        "sort, reorder, destroy_id, destroy_id_many any more"
    )
