"""Worlds with groups of any policies, step by step beside a model that knows nothing of rows."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.models.group_model import (
    GROUPS,
    MODULES,
    NIL,
    Kind,
    Rows,
    check_groups,
    check_rows,
)
from tests.models.group_model import columns as columns_of
from tests.support.soak import examples

SEEDS = (1, 2, 3, 4)
MATES = {module: members for members in GROUPS.values() for module in members}
modules = st.sampled_from(MODULES)


@cache
def kind(seed: int) -> Kind:
    return Kind(seed)


class Machine(RuleBasedStateMachine):
    """One world. What callbacks do is drawn once, so that a failing run can be repeated."""

    seed = 0

    @initialize(trouble=st.booleans(), data=st.data())
    def start(self, trouble: bool, data: st.DataObject) -> None:
        self.kind = kind(self.seed)
        self.trouble = trouble
        self.serial = 0
        self.model = {module: Rows(p) for module, p in self.kind.policies.items()}
        self.world = self.kind.package.Game()
        self.listen()
        for module in MODULES:
            self.spawn(data.draw(st.integers(0, 5)), [m for m in MODULES if m >= module])

    # --- helpers -----------------------------------------------------------------------------

    def manager(self, module: str) -> Any:
        return getattr(self.world, module)

    def listen(self) -> None:
        """Have every release looked at, and some fail."""
        for module, policies in self.kind.policies.items():
            if policies.release:
                self.manager(module).on_release(lambda rows, m=module: self.released(m, rows))

    def released(self, module: str, rows: Any) -> None:
        """Rows about to go are whole, and nothing in the group can move them."""
        manager = self.manager(module)
        owners = manager.data.entity[rows].tolist()
        serials = [self.before[module].get(entity) for entity in owners]
        assert manager.data.k[rows].tolist() == serials
        for mate in MATES.get(module, (module,)):
            with pytest.raises(self.kind.errors.StructureLockedError):
                self.manager(mate).clear()
        if self.trouble and len(rows) % 2:
            raise OSError

    def changed(self, call: Callable[[], Any]) -> Any:
        """Make a call whose callbacks may fail, and see that versions tell of all moves."""
        self.before = {module: dict(rows.serials) for module, rows in self.model.items()}
        managers = [self.manager(module) for module in MODULES]
        before = [(m.version, m.data.entity.tolist()) for m in managers]
        result = None
        try:
            result = call()
        except* OSError:
            assert self.trouble
        for manager, (version, owners) in zip(managers, before, strict=True):
            moved = manager.data.entity.tolist() != owners
            assert manager.version > version if moved else manager.version >= version
        return result

    def serials(self, count: int) -> list[int]:
        self.serial += count
        return list(range(self.serial - count + 1, self.serial + 1))

    def given(self, module: str, serials: list[int]) -> dict[str, Any]:
        columns = columns_of(serials)
        if self.kind.policies[module].cold:
            columns["far"] = [serial if serial % 3 == 0 else 0 for serial in serials]
            columns["tale"] = [[serial] if serial % 3 == 0 else None for serial in serials]
        return columns

    def add(self, module: str, entities: list[int], serials: list[int]) -> None:
        """Let the model have new rows, after those that they drive out."""
        rows = self.model[module]
        if self.kind.policies[module].lookup == "sparse":
            mask = (1 << 7) - 1
            indices = {entity & mask for entity in entities}
            rows.drop([e for e in rows.serials if e & mask in indices])
        rows.serials |= dict(zip(entities, serials, strict=True))

    def died(self) -> None:
        """Drop the rows that go with their entities."""
        for module, policies in self.kind.policies.items():
            if policies.destroy == "callback":
                self.drop_dead(module)

    def dead(self, module: str) -> list[int]:
        alive = self.world.entities.alive
        return [entity for entity in self.model[module].serials if not alive(entity)]

    def drop_dead(self, module: str) -> int:
        return len(self.model[module].drop(self.dead(module)))

    def owners(self, data: st.DataObject, module: str) -> list[int]:
        """Draw distinct owners of rows."""
        owners = self.manager(module).data.entity.tolist()
        return data.draw(st.lists(st.sampled_from(owners), unique=True)) if owners else []

    # --- entities and rows come ------------------------------------------------------------

    @rule(count=st.integers(0, 9), chosen=st.lists(modules, unique=True, max_size=6))
    def spawn(self, count: int, chosen: list[str]) -> None:
        if len(self.world.entities) + count > 100:
            return
        serials = {module: self.serials(count) for module in chosen}
        given = {module: self.given(module, serials[module]) for module in chosen}
        known = set(self.world.entities)
        entities = self.changed(lambda: self.world.spawn(count, **given))
        if entities is None:  # callbacks of what the new rows drove out failed
            entities = [e for e in self.world.entities if e not in known]
            found = self.manager(chosen[0]) if chosen else None
            entities.sort(key=lambda e: found.k(found.lookup(e)) if found else e)
        for module in chosen:
            self.add(module, list(map(int, entities)), serials[module])

    @rule(module=modules, data=st.data())
    def create(self, module: str, data: st.DataObject) -> None:
        lacking = [e for e in self.world.entities if e not in self.model[module].serials]
        if not lacking:
            return
        entity = data.draw(st.sampled_from(lacking))
        (serial,) = self.serials(1)
        given = {name: column[0] for name, column in self.given(module, [serial]).items()}
        name = data.draw(st.sampled_from(["create", "ensure"]))
        manager = self.manager(module)
        row = self.changed(lambda: getattr(manager, name)(entity, **given))
        assert row in (None, manager.lookup(entity))
        self.add(module, [entity], [serial])

    @rule(module=modules, data=st.data())
    def create_many(self, module: str, data: st.DataObject) -> None:
        lacking = [e for e in self.world.entities if e not in self.model[module].serials]
        if not lacking:
            return
        entities = data.draw(st.lists(st.sampled_from(lacking), unique=True))
        serials = self.serials(len(entities))
        manager = self.manager(module)
        given = self.given(module, serials)
        rows = self.changed(lambda: manager.create_many(entities, **given))
        if rows is not None:
            assert rows.tolist() == manager.lookup_many(entities).tolist()
        self.add(module, entities, serials)

    @rule(group=st.sampled_from(sorted(GROUPS)), data=st.data())
    def create_for_the_owners_of_a_view(self, group: str, data: st.DataObject) -> None:
        """The argument is a column of a mate, whose rows move meanwhile."""
        first, second = GROUPS[group][:2]
        owners = self.manager(first).data.entity
        fit = self.world.entities.alive_many(owners) & ~self.manager(second).has_many(owners)
        start = data.draw(st.integers(0, len(owners)))
        end = start + int(np.argmin(np.append(fit[start:], False)))
        view = owners[start:end]
        entities = view.tolist()
        serials = self.serials(len(entities))
        given = self.given(second, serials)
        del owners
        self.changed(lambda: self.manager(second).create_many(view, **given))
        self.add(second, entities, serials)

    # --- and go ------------------------------------------------------------------------------

    @rule(module=modules, data=st.data(), by_entity=st.booleans())
    def destroy(self, module: str, data: st.DataObject, by_entity: bool) -> None:
        manager = self.manager(module)
        if not len(manager):
            return
        entity = data.draw(st.sampled_from(manager.data.entity.tolist()))
        if by_entity:
            self.changed(lambda: manager.remove(entity))
        else:
            self.changed(lambda: manager.destroy(manager.lookup(entity)))
        self.model[module].drop([entity])

    @rule(module=modules, data=st.data(), by_entity=st.booleans())
    def destroy_many(self, module: str, data: st.DataObject, by_entity: bool) -> None:
        manager, entities = self.manager(module), self.owners(data, module)
        if by_entity:
            self.changed(lambda: manager.remove_many([*entities, *entities[:1]]))
        else:
            self.changed(lambda: manager.destroy_many(manager.lookup_many(entities)))
        self.model[module].drop(entities)

    @rule(module=modules)
    def clear(self, module: str) -> None:
        self.changed(self.manager(module).clear)
        self.model[module].drop(list(self.model[module].serials))

    @precondition(lambda self: len(self.world.entities) > 0)
    @rule(data=st.data())
    def destroy_entities(self, data: st.DataObject) -> None:
        alive = list(self.world.entities)
        entities = data.draw(st.lists(st.sampled_from(alive), unique=True))
        if len(entities) == 1:
            self.changed(lambda: self.world.destroy(entities[0]))
        else:
            self.changed(lambda: self.world.destroy_many(entities))
        self.died()

    @rule()
    def collect(self) -> None:
        self.changed(self.world.collect)
        for module, policies in self.kind.policies.items():
            if policies.destroy == "gc":
                self.drop_dead(module)

    @rule()
    def gc(self) -> None:
        self.changed(self.world.gc)
        for module in MODULES:
            rows = self.model[module]
            gone = set(rows.serials) - set(self.manager(module).data.entity.tolist())
            assert not gone or self.kind.policies[module].destroy == "gc"
            dead = set(self.dead(module))
            assert rows.drop(gone & dead) == gone

    # --- order, links, memory ------------------------------------------------------------------

    @rule(group=st.sampled_from(sorted(GROUPS)), data=st.data())
    def sort(self, group: str, data: st.DataObject) -> None:
        module = data.draw(st.sampled_from(GROUPS[group]))
        sorted_group = getattr(self.world, group)
        key = data.draw(st.sampled_from(["k", None]))
        if key is None:
            values = data.draw(
                st.lists(st.integers(0, 3), min_size=sorted_group.n, max_size=sorted_group.n)
            )
            expected = sorted_group.entity[np.argsort(values, kind="stable")].tolist()
            self.changed(lambda: sorted_group.sort(module, values))
            assert sorted_group.entity.tolist() == expected
        else:
            self.changed(lambda: sorted_group.sort(module, key))
            column = getattr(sorted_group, module).k
            assert bool((column[1:] >= column[:-1]).all())

    @rule(group=st.sampled_from(sorted(GROUPS)), data=st.data())
    def reorder(self, group: str, data: st.DataObject) -> None:
        ordered = getattr(self.world, group)
        order = data.draw(st.permutations(range(ordered.n)))
        expected = ordered.entity[order].tolist()
        self.changed(lambda: ordered.reorder(order))
        assert ordered.entity.tolist() == expected

    @rule(module=modules, data=st.data())
    def set_parent(self, module: str, data: st.DataObject) -> None:
        manager, rows = self.manager(module), self.model[module]
        owners = manager.data.entity.tolist()
        if not rows.policies.hierarchy or not owners:
            return
        child = data.draw(st.sampled_from(owners))
        parent = data.draw(st.sampled_from([None, *owners]))
        above = parent
        while above is not None and above != child:
            above = rows.parents.get(above)
        if above == child:
            return
        row = NIL if parent is None else manager.lookup(parent)
        manager.set_parent(manager.lookup(child), row)
        rows.parents.pop(child, None)
        if parent is not None:
            rows.parents[child] = parent

    @rule(module=modules)
    def shrink(self, module: str) -> None:
        self.changed(self.manager(module).shrink_to_fit)

    @rule(module=modules)
    def locks_hold_all(self, module: str) -> None:
        error = self.kind.errors.StructureLockedError
        before = [self.manager(m).version for m in MODULES]
        with self.manager(module).locked():
            for mate in MATES.get(module, (module,)):
                manager = self.manager(mate)
                with pytest.raises(error):
                    manager.clear()
                with pytest.raises(error):
                    manager.create_many([])
        assert before == [self.manager(m).version for m in MODULES]

    @rule(copied=st.sampled_from([copy.deepcopy, lambda w: pickle.loads(pickle.dumps(w))]))
    def save_and_load(self, copied: Callable[[Any], Any]) -> None:
        versions = [self.manager(module).version for module in MODULES]
        self.world = copied(self.world)
        assert versions == [self.manager(module).version for module in MODULES]
        self.listen()

    # --- what always holds ---------------------------------------------------------------------

    @invariant()
    def rows_agree(self) -> None:
        for module, rows in self.model.items():
            check_rows(self.manager(module), rows)

    @invariant()
    def groups_agree(self) -> None:
        check_groups(self.world, self.model)


@pytest.mark.parametrize("seed", SEEDS)
def test_groups_of_any_policies(seed: int) -> None:
    made = type(f"Machine{seed}", (Machine,), {"seed": seed})
    run_state_machine_as_test(
        made,
        settings=settings(
            max_examples=examples(15),
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
