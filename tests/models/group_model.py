"""A naive model of a world with groups: per component a dict from entity to value."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.support.runtime_names import library_of
from tests.support.world_package import world_package

NIL = 0xFFFF_FFFF

FIELDS = "k: i32, thing: object, at: {type: 'f32[2]', split: true}, pair: 'i16[2]'"
FAR = "far: {type: i32, tags: [cold]}, tale: {type: object, tags: [cold]}"


@dataclass(frozen=True)
class Policies:
    """The policies of a component, as in a schema."""

    lookup: str = "sparse"
    destroy: str = "gc"
    release: bool = False
    ids: bool = False
    hierarchy: str = ""
    cold: bool = False
    reserve: bool = False

    def text(self, name: str) -> str:
        """Return the component's document."""
        lines = [
            f"component: {name}",
            f"fields: {{{FIELDS}, {FAR}}}" if self.cold else f"fields: {{{FIELDS}}}",
            f"lookup: {self.lookup}",
            f"destroy: {self.destroy}",
            f"ids: {str(self.ids).lower()}",
            *(["release: true"] if self.release else []),
            *([f"hierarchy: {{orphans: {self.hierarchy}}}"] if self.hierarchy else []),
            *(["cold: indirect"] if self.cold else []),
            *(["growth: {reserve: 128}"] if self.reserve else []),
        ]
        return "\n".join(lines) + "\n"


def drawn(random: Random) -> Policies:
    """Return policies that a member may have, at random."""
    destroy = random.choice(["gc", "gc", "callback", "manual"])
    return Policies(
        lookup=random.choice(["sparse", "sparse", "hash"]),
        destroy=destroy,
        release=destroy == "callback" or random.random() < 0.4,
        ids=random.random() < 0.5,
        hierarchy=random.choice(["", "", "root", "destroy"]),
        cold=random.random() < 0.4,
        reserve=random.random() < 0.25,
    )


GROUPS = {"pairs": ("alpha", "beta"), "triples": ("delta", "gamma", "mu")}
MODULES = ("alpha", "beta", "delta", "gamma", "mu", "free")


class Kind:
    """A world of members with policies drawn from a seed."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.policies = {module: drawn(random) for module in MODULES}
        members = (f"{g}: [{', '.join(m.title() for m in ms)}]" for g, ms in GROUPS.items())
        head = (
            "world: Game\n"
            "entity: {index_bits: 7, generation_bits: 12, min_free: 1}\n"
            f"groups: {{{', '.join(members)}}}\n"
        )
        documents = [head, *(p.text(m.title()) for m, p in self.policies.items())]
        self.package = world_package("---\n".join(documents), f"groups_{seed}")
        self.errors = importlib.import_module(f"{library_of(self.package.__name__)}.base.errors")


def values(serial: int) -> dict[str, Any]:
    """Return a row's fields, all of which follow from one number."""
    return {"k": serial, "thing": str(serial), "at": (serial, -serial), "pair": (serial, 1)}


def columns(serials: Iterable[int]) -> dict[str, Any]:
    """Return the fields of several rows."""
    rows = [values(serial) for serial in serials]
    return {name: [row[name] for row in rows] for name in ("k", "thing", "at", "pair")}


@dataclass
class Rows:
    """The model's knowledge of a component."""

    policies: Policies
    serials: dict[int, int] = field(default_factory=dict)  # by entity
    parents: dict[int, int] = field(default_factory=dict)  # by entity; roots are not in it
    ids: dict[int, int] = field(default_factory=dict)  # the id by entity, where there are ids

    def drop(self, entities: Iterable[int]) -> set[int]:
        """Take entities' rows away, and their descendants if these go too; return whose went."""
        gone = {entity for entity in entities if entity in self.serials}
        if self.policies.hierarchy == "destroy":
            while more := {c for c, p in self.parents.items() if p in gone} - gone:
                gone |= more
        for entity in gone:
            del self.serials[entity]
            self.parents.pop(entity, None)
            self.ids.pop(entity, None)
        self.parents = {c: p for c, p in self.parents.items() if p not in gone}
        return gone


def check_rows(manager: Any, rows: Rows) -> None:
    """Compare a manager with its model: values, map, ids, links."""
    owners = manager.data.entity.tolist()
    assert len(set(owners)) == len(owners) == len(manager)
    assert set(owners) == set(rows.serials)
    serials = [rows.serials[entity] for entity in owners]
    data = manager.data
    assert data.k.tolist() == serials
    assert data.thing.tolist() == [str(serial) for serial in serials]
    assert data.at_x.tolist() == serials
    assert data.at_y.tolist() == [-serial for serial in serials]
    assert data.pair.tolist() == [[serial, 1] for serial in serials]
    assert manager.lookup_many(owners).tolist() == list(range(len(owners)))
    assert [manager.lookup(entity) for entity in owners] == list(range(len(owners)))
    assert all(cell is None for cell in data._thing_column[len(owners) :])
    if rows.policies.cold:
        _check_cold(manager, serials)
    if rows.policies.ids:
        ids = [rows.ids.setdefault(e, manager.id_of(r)) for r, e in enumerate(owners)]
        assert manager.resolve_many(ids).tolist() == list(range(len(owners)))
        assert manager.id_of_many(range(len(owners))).tolist() == ids
    if rows.policies.hierarchy:
        _check_links(manager, owners, rows.parents)


def _check_cold(manager: Any, serials: list[int]) -> None:
    cold = manager.data.cold
    far = {int(row): int(value) for row, value in zip(cold.row, cold.far, strict=True)}
    expected = {row: serial for row, serial in enumerate(serials) if serial % 3 == 0 and serial}
    assert far == expected
    assert cold.tale.tolist() == [[serials[row]] for row in cold.row]


def _check_links(manager: Any, owners: list[int], parents: dict[int, int]) -> None:
    for row, entity in enumerate(owners):
        parent = manager.parent(row)
        assert (None if parent == NIL else owners[parent]) == parents.get(entity)
        children = [owners[child] for child in manager.children(row)]
        assert sorted(children) == sorted(c for c, p in parents.items() if p == entity)


def check_groups(world: Any, model: dict[str, Rows]) -> None:
    """Are the members of each group aligned, and are all in it that should be?"""
    for name, members in GROUPS.items():
        group = getattr(world, name)
        n = group.n
        complete = set.intersection(*(set(model[module].serials) for module in members))
        assert n == len(group) == len(complete)
        assert set(group.entity.tolist()) == complete
        for module in members:
            manager, part = getattr(world, module), getattr(group, module)
            assert part.n == n
            assert manager.data.entity[:n].tolist() == group.entity.tolist()
            assert part.entity.tolist() == group.entity.tolist()
            assert part.k.tolist() == manager.data.k[:n].tolist()
