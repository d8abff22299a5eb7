"""A naive model of a hierarchy, changed step by step together with a manager."""

from __future__ import annotations

import importlib
import pickle
from dataclasses import dataclass, field
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.support.hierarchy_package import COMPONENTS, manager_of
from tests.support.runtime_names import library_of

NIL = 0xFFFF_FFFF


@dataclass
class Node:
    """What the model knows of one row: its owner and its relatives, by serial number."""

    serial: int
    entity: int
    parent: int | None = None
    children: list[int] = field(default_factory=list)


class Subject:
    """A manager and its model, changed in the same way step by step."""

    def __init__(self, package: ModuleType, module: str) -> None:
        self.component = COMPONENTS[module]
        self.errors = importlib.import_module(f"{library_of(package.__name__)}.errors")
        self.entities = importlib.import_module(f"{package.__name__}.entities").EntityManager()
        manager = manager_of(package, module)
        self.owned = self.component.owner == "entity"
        self.manager = manager(self.entities) if self.owned else manager()
        self.nodes: dict[int, Node] = {}
        self.ids: dict[int, int] = {}
        self.alive: list[int] = []
        self.dead: list[int] = []
        self.released: list[int] = []
        self.serial = 0
        self._listen()

    # --- the model -------------------------------------------------------------------------------

    def gone(self, serials: list[int]) -> int:
        """Take nodes out of the model; return how many went."""
        going = dict.fromkeys(serials)
        if self.component.hierarchy == "destroy":
            pending = list(going)
            while pending:
                fresh = [c for c in self.nodes[pending.pop()].children if c not in going]
                going |= dict.fromkeys(fresh)
                pending += fresh
        for serial in going:
            node = self.nodes[serial]
            if node.parent is not None:
                self.nodes[node.parent].children.remove(serial)
            for child in node.children:
                self.nodes[child].parent = None
            node.children = []
        for serial in going:
            del self.nodes[serial]
        if self.component.release:
            assert sorted(self.released) == sorted(going)
            self.released.clear()
        return len(going)

    def attached(self, serial: int, parent: int | None) -> None:
        """Give a node another parent."""
        node = self.nodes[serial]
        if node.parent == parent:
            return
        if node.parent is not None:
            self.nodes[node.parent].children.remove(serial)
        node.parent = parent
        if parent is not None:
            self.nodes[parent].children.append(serial)

    def is_below(self, serial: int | None, ancestor: int) -> bool:
        """Whether a node is another or one of its descendants."""
        while serial is not None and serial != ancestor:
            serial = self.nodes[serial].parent
        return serial == ancestor

    def of(self, entities: list[int]) -> list[int]:
        return [s for s, node in self.nodes.items() if node.entity in entities]

    def rows(self) -> dict[int, int]:
        """The row of each serial number."""
        return {s: row for row, s in enumerate(self.manager.data.serial.tolist())}

    def row(self, serial: int | None) -> int:
        return NIL if serial is None else self.rows()[serial]

    def _listen(self) -> None:
        if self.component.release:
            self.manager.on_release(self._on_release)

    def _on_release(self, rows: Any) -> None:
        self.released += self.manager.data.serial[rows].tolist()
        with pytest.raises(self.errors.StructureLockedError):
            self.manager.set_parent(int(rows[0]), NIL)

    # --- steps -----------------------------------------------------------------------------------

    def step(self, random: Random) -> None:
        """Change manager and model by a random step, and compare them."""
        names = [name for name in dir(self) if name.startswith("do_")]
        getattr(self, random.choice(names))(random)
        self.check()

    def _born(self, count: int, random: Random) -> list[int]:
        """Return the entities for new nodes, which may evict those of dead ones."""
        if not self.owned:
            return [0] * count
        if len(self.alive) < 12:
            self.alive += self.entities.create_many(count).tolist()
        if self.component.instances == "many":
            return random.choices(self.alive, k=count) if self.alive else []
        free = [e for e in self.alive if not self.of([e])]
        return free[:count]

    def _evicted(self, entities: list[int]) -> None:
        if self.owned and self.component.lookup == "sparse":
            places = {self.entities.index(e): e for e in entities}
            victims = {
                node.entity
                for node in self.nodes.values()
                if places.get(node.entity & 0xFFFF_FFFF, node.entity) != node.entity
            }
            if victims:
                self.gone(self.of(list(victims)))

    def _create(self, entities: list[int]) -> None:
        serials = list(range(self.serial, self.serial + len(entities)))
        self.serial += len(entities)
        places = [(s, 1.0, 2.0) for s in serials]
        if len(entities) == 1:
            arguments = entities if self.owned else []
            self.manager.create(*arguments, serial=serials[0], place=places[0])
        else:
            given = np.array(entities, np.uint64) if self.owned else len(entities)
            shaped = np.array(places).reshape(-1, 3)
            self.manager.create_many(given, serial=serials, place=shaped)
        self._evicted(entities)
        self.nodes |= {s: Node(s, e) for s, e in zip(serials, entities, strict=True)}

    def do_create(self, random: Random) -> None:
        self._create(self._born(1, random))

    def do_create_many(self, random: Random) -> None:
        self._create(self._born(random.randrange(9), random))

    do_create_more = do_create_many

    def _parent(self, random: Random) -> int | None:
        """Return a parent to be: often one of few, so that families are large."""
        known = list(self.nodes)
        return random.choice([None, *(known if random.random() < 0.4 else known[:3])])

    def do_set_parent(self, random: Random) -> None:
        if not self.nodes:
            return
        serial = random.choice(list(self.nodes))
        parent = self._parent(random)
        version = self.manager.version
        same = self.nodes[serial].parent == parent
        if self.is_below(parent, serial):
            with pytest.raises(self.errors.HierarchyError):
                self.manager.set_parent(self.row(serial), self.row(parent))
        else:
            self.manager.set_parent(self.row(serial), self.row(parent))
            self.attached(serial, parent)
            version += not same
        assert self.manager.version == version

    do_set_parent_again = do_set_parent

    def do_set_parent_many(self, random: Random) -> None:
        count = random.randrange(len(self.nodes) + 1)
        serials = random.sample(list(self.nodes), count)
        parents = [self._parent(random) for _ in range(count)]
        if random.random() < 0.5:  # a tree that only the final state can tell
            parents = [random.choice([None, *serials[:k]]) for k in range(count)]
        one = random.random() < 0.3 and count > 0
        if one:
            parents = [self._parent(random)] * count
        final = {s: node.parent for s, node in self.nodes.items()}
        final |= dict(zip(serials, parents, strict=True))
        given = [self.row(s) for s in serials]
        wanted = self.row(parents[0]) if one else [self.row(p) for p in parents]
        version = self.manager.version
        if _has_cycle(final):
            with pytest.raises(self.errors.HierarchyError):
                self.manager.set_parent_many(given, wanted)
            assert self.manager.version == version
            return
        self.manager.set_parent_many(given, wanted)
        changed = [s for s in serials if self.nodes[s].parent != final[s]]
        for serial in changed:
            self.attached(serial, None)
        for serial in changed:
            self.attached(serial, final[serial])
        assert self.manager.version == version + bool(changed)

    do_set_parent_many_again = do_set_parent_many

    def do_destroy(self, random: Random) -> None:
        if self.nodes:
            serial = random.choice(list(self.nodes))
            self.manager.destroy(self.row(serial))
            self.gone([serial])

    def do_destroy_many(self, random: Random) -> None:
        most = random.choice([3, len(self.nodes)])
        serials = random.sample(list(self.nodes), random.randrange(min(most, len(self.nodes)) + 1))
        if self.component.ids and random.random() < 0.5:
            self.manager.destroy_id_many([self.ids[s] for s in serials])
        else:
            self.manager.destroy_many([self.row(s) for s in serials])
        self.gone(serials)

    def do_remove(self, random: Random) -> None:
        if self.alive:
            entity = random.choice(self.alive + self.dead)
            count = self.manager.remove(entity)
            assert count == self.gone(self.of([entity]))

    def do_remove_many(self, random: Random) -> None:
        if self.alive:
            entities = random.choices(self.alive + self.dead, k=random.randrange(4))
            count = self.manager.remove_many(np.array(entities, np.uint64))
            assert count == self.gone(self.of(entities))

    def do_destroy_entities(self, random: Random) -> None:
        entities = random.sample(self.alive, min(len(self.alive), random.randrange(4)))
        self.entities.destroy_many(np.array(entities, np.uint64))
        self.alive = [e for e in self.alive if e not in entities]
        self.dead = (self.dead + entities)[-9:]
        if self.component.destroy == "callback":
            self.gone(self.of(entities))

    def do_collect(self, random: Random) -> None:
        if not self.owned or self.component.destroy != "gc":
            return
        stale = [s for s, node in self.nodes.items() if node.entity not in self.alive]
        if random.random() < 0.5:
            assert self.manager.collect() == self.gone(stale)
            return
        before = set(self.nodes)
        count = self.manager.gc(random)
        left = set(self.manager.data.serial.tolist())
        assert self.gone([s for s in stale if s not in left]) == count
        assert left == before & set(self.nodes)

    def do_order(self, random: Random) -> None:
        kind = random.randrange(4)
        if kind == 0:
            self.manager.sort(-self.manager.data.serial)
        elif kind == 1 and not self.component.partition:
            order = list(range(len(self.nodes)))
            random.shuffle(order)
            self.manager.reorder(order)
        elif kind == 2:
            self.manager.shrink_to_fit()
        else:
            kept = pickle.loads(pickle.dumps((self.entities, self.manager)))
            self.entities, self.manager = kept
            self._listen()

    def do_activate(self, random: Random) -> None:
        if not self.component.partition or not self.nodes:
            return
        rows = random.sample(range(len(self.nodes)), random.randrange(1, len(self.nodes) + 1))
        many = [self.manager.activate_many, self.manager.deactivate_many]
        one = [self.manager.activate, self.manager.deactivate]
        if random.random() < 0.5:
            random.choice(many)(rows)
        else:
            random.choice(one)(rows[0])

    def do_clear(self, random: Random) -> None:
        if random.random() < 0.2:
            self.manager.clear()
            self.gone(list(self.nodes))

    # --- comparing -------------------------------------------------------------------------------

    def check(self) -> None:
        """Compare all that the manager says of its hierarchy with the model."""
        manager, rows = self.manager, self.rows()
        assert rows.keys() == self.nodes.keys()
        for serial, node in self.nodes.items():
            row = rows[serial]
            siblings = self.nodes[node.parent].children if node.parent is not None else [serial]
            place = siblings.index(serial)
            around = [None, *siblings, None]
            assert manager.place(row)[0] == serial
            assert manager.parent(row) == self.row(node.parent) == manager.data.parent[row]
            assert manager.children(row).tolist() == [rows[c] for c in node.children]
            assert manager.first_child(row) == self.row(next(iter(node.children), None))
            assert manager.previous_sibling(row) == self.row(around[place])
            assert manager.next_sibling(row) == self.row(around[place + 2])
            # circular backwards: where the next child is going to be attached
            last = rows[siblings[place - 1]]
            assert manager.data._previous_sibling_column[row] == last
            if self.owned:
                assert manager.entity(row) == node.entity
        roots = sorted(rows[s] for s, node in self.nodes.items() if node.parent is None)
        assert manager.roots().tolist() == roots
        self._check_levels(roots)
        if self.component.ids:
            self._check_ids(rows)

    def _check_levels(self, level: list[int]) -> None:
        serials = self.manager.data.serial.tolist()
        rows = self.rows()
        for found in self.manager.levels():
            assert found.tolist() == level
            children = [c for row in level for c in self.nodes[serials[row]].children]
            level = sorted(rows[c] for c in children)
        assert level == []
        assert self.manager.levels() is self.manager.levels()

    def _check_ids(self, rows: dict[int, int]) -> None:
        for serial, row in rows.items():
            self.ids.setdefault(serial, self.manager.id_of(row))
        for serial, stable in self.ids.items():
            assert self.manager.resolve(stable) == rows.get(serial, NIL)


def _has_cycle(parents: dict[int, int | None]) -> bool:
    for start in parents:
        here, steps = parents[start], 0
        while here is not None and steps <= len(parents):
            here, steps = parents[here], steps + 1
        if here is not None:
            return True
    return False
