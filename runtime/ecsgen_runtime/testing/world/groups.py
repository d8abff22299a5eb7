"""Groups: the rows of entities that have all members, aligned in each, whatever happens."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from ...errors import BrokenManagerError, StructureLockedError
from ...handles import EntityArray
from ..base import INTERRUPTED, sortable
from ..fields import Object
from ..policies.objects import Thing
from ..reflection import check_shown
from ..roomy import Roomy
from ..runtime import handles_with
from ..subject import Subject, same
from .group import COPIES, Group
from .group_rules import SETTINGS as SETTINGS
from .group_rules import Rules as Rules


class Cases(Roomy, Group):
    """Joining, leaving, order, locks and copies, one at a time."""

    def bounded(self) -> Iterable[Subject]:
        return self.members.values()

    def filled(self, count: int, others: int = 1) -> tuple[Any, EntityArray]:
        """Return a world with a whole group, and entities that have one member before it."""
        w = self.world()
        for module in self.members:
            self.spawn(w, range(100, 100 + others), [module])
        return w, self.spawn(w, range(count), self.members)

    def check(self, w: Any, es: Iterable[int], ks: Sequence[int]) -> None:
        """Check who is in the group, in order, and that sample ks[i] is in row i of each."""
        self.check_aligned(w)
        assert self.grouped(w).entity.tolist() == [int(e) for e in es]
        for subject, manager in zip(
            self.members.values(), self.managers(w), strict=True
        ):
            for field in subject.fields:
                expected = [field.stored(field.sample(k)) for k in ks]
                assert same(subject.column(manager, field)[: len(ks)], expected)

    def test_who_has_all_members_is_in(self) -> None:
        w, es = self.filled(3, others=2)
        self.check(w, es, range(3))
        group = self.grouped(w)
        for e in w.entities:
            assert (e in group) == (e in es)
        assert "nobody" not in group

    def test_reprs_say_how_many(self) -> None:
        w, _ = self.filled(3, others=2)
        group = self.grouped(w)
        members = ", ".join(self.members)
        kind = type(group).__name__
        assert repr(group) == f"<{kind}: 3 entities with {members}>"
        for module in self.members:
            part = getattr(group, module)
            assert repr(part).startswith(
                f"<{type(part).__name__}: 3 rows of entity u64"
            )
            check_shown(part, 3)

    def test_the_last_member_joins(self) -> None:
        for module in self.members:
            w, es = self.filled(2, others=2)
            lacking = [other for other in self.members if other != module]
            new = self.spawn(w, [2, 3, 4], lacking)
            versions = [manager.version for manager in self.managers(w)]
            self.check(w, es, range(2))
            manager = getattr(w, module)
            row = manager.create(new[2], **self.members[module].sample(4))
            assert row == manager.lookup(new[2]) == 2
            self.check(w, [*es, new[2]], [0, 1, 4])
            for member, version in zip(self.managers(w), versions, strict=True):
                assert member.version == version + 1

    def test_many_join_in_the_order_given(self) -> None:
        for module in self.members:
            w, es = self.filled(2, others=2)
            lacking = [other for other in self.members if other != module]
            new = self.spawn(w, [2, 3, 4, 5], lacking)
            fresh = self.spawn(w, [6], [])
            some = self.spawn(w, [7], lacking[1:])
            order = [5, 1, 3, 4, 0]
            given = np.concatenate((new, fresh, some))[order]
            manager = getattr(w, module)
            versions = [member.version for member in self.managers(w)]
            rows = manager.create_many(
                given, **self.samples(module, [k + 2 for k in order])
            )
            assert rows.tolist() == manager.lookup_many(given).tolist()
            self.check(w, [*es, new[1], new[3], new[0]], [0, 1, 3, 5, 2])
            for member, version in zip(self.managers(w), versions, strict=True):
                assert member.version == version + 1

    def test_leaving_takes_the_last_into_the_hole(self) -> None:
        for module in self.members:
            w, es = self.filled(5, others=2)
            manager = getattr(w, module)
            lengths = [len(member) for member in self.managers(w)]
            versions = [member.version for member in self.managers(w)]
            manager.destroy(1)
            self.check(w, es[[0, 4, 2, 3]], [0, 4, 2, 3])
            manager.destroy_many([0, 2])
            self.check(w, es[[3, 4]], [3, 4])
            for member, length, version in zip(
                self.managers(w), lengths, versions, strict=True
            ):
                assert member.version == version + 2
                assert len(member) == length - (3 if member is manager else 0)

    def test_rows_behind_the_group_leave_nobody_out(self) -> None:
        for module in self.members:
            w, es = self.filled(3, others=4)
            manager = getattr(w, module)
            versions = [member.version for member in self.managers(w)]
            manager.destroy(len(manager) - 2)
            manager.destroy_many([3, 4])
            self.check(w, es, range(3))
            for member, version in zip(self.managers(w), versions, strict=True):
                assert member.version == version + 2 * (member is manager)

    def test_clearing_a_member_empties_the_group(self) -> None:
        for module in self.members:
            w, _ = self.filled(3)
            getattr(w, module).clear()
            assert self.grouped(w).n == 0
            for member in self.managers(w):
                assert len(member) == (0 if member is getattr(w, module) else 4)

    def test_joining_in_full_buffers(self) -> None:
        """A swap without a spare row."""
        w, es = self.filled(62)
        first, *others = self.members
        (late,) = self.spawn(w, [70], [first])
        for member in self.managers(w):
            member.shrink_to_fit()
        for module in others:
            getattr(w, module).create(late, **self.members[module].sample(70))
        self.check(w, [*es, late], [*range(62), 70])

    def test_columns_are_slices_of_the_first_rows(self) -> None:
        w, _ = self.filled(2, others=2)
        for module, subject in self.members.items():
            part, manager = getattr(self.grouped(w), module), getattr(w, module)
            for field in subject.whole:
                behind = subject.column(manager, field)[2:]
                setattr(part, field.name, [field.sample(7), field.sample(8)])
                expected = [field.stored(field.sample(k)) for k in (7, 8)]
                assert same(getattr(part, field.name).tolist(), expected)
                assert same(subject.column(manager, field), expected + behind)

    def alike(self) -> Iterator[tuple[str, str, str, str]]:
        """Return pairs of members with fields whose columns hold the same kind of values."""
        for (one, mine), (two, others) in permutations(self.members.items(), 2):
            for field, other in product(mine.whole, others.whole):
                w = self.world()
                data, theirs = getattr(w, one).data, getattr(w, two).data
                a, b = getattr(data, field.name), getattr(theirs, other.name)
                if (a.dtype, a.shape) == (b.dtype, b.shape) and a.dtype.kind == "f":
                    yield one, two, field.name, other.name

    def test_columns_of_another_member_are_read_before_its_rows_move(self) -> None:
        for module, mate, field, other in self.alike():
            w, es = self.filled(4)
            w.destroy(es[0])
            with handles_with(
                w.entities, MIN_FREE=0
            ):  # its successor drives its row out
                new = self.spawn(w, [0], [])
            manager = getattr(w, module)
            given = getattr(getattr(w, mate).data, other)[:1]
            expected = given.tolist()
            (row,) = manager.create_many(new, **{field: given})
            assert getattr(manager.data, field)[row : row + 1].tolist() == expected
            self.check_aligned(w)

    def test_sorting_by_a_key_sorts_all(self) -> None:
        for module in self.members:
            w, es = self.filled(4, others=2)
            versions = [member.version for member in self.managers(w)]
            self.grouped(w).sort(module, [2.0, np.nan, 1.0, 2.0])
            self.check(w, es[[2, 0, 3, 1]], [2, 0, 3, 1])
            self.grouped(w).reorder([1, 2, 3, 0])
            self.check(w, es[[0, 3, 1, 2]], [0, 3, 1, 2])
            for member, version in zip(self.managers(w), versions, strict=True):
                assert member.version == version + 2

    def test_sorting_by_a_field_sorts_all(self) -> None:
        for module, subject in self.members.items():
            for field in sortable(subject.fields):
                w, es = self.filled(4)
                stored = field.array([field.sample(k) for k in range(4)])
                order = np.argsort(stored, kind="stable")
                self.grouped(w).sort(module, field.name)
                self.check(w, es[order], order.tolist())

    def test_columns_are_not_replaced(self) -> None:
        w, _ = self.filled(2)
        group = self.grouped(w)
        for module in self.members:
            with pytest.raises(AttributeError, match=f"{module} is its"):
                setattr(group, module, 3)

    def test_what_a_group_is_not_sorted_by(self) -> None:
        w, es = self.filled(3)
        group, (module, *_) = self.grouped(w), self.members
        for given in ((module, "no_field"), (module, [1, 2]), ("no_member", [1, 2, 3])):
            with pytest.raises(ValueError, match=r"no_|shape"):
                group.sort(*given)
        for order in ([0, 1], [0, 1, 1], [0, 1, 2, 3]):
            with pytest.raises(ValueError, match="permutation"):
                group.reorder(order)
        for member in self.managers(w):
            for call in (member.sort, member.reorder):
                with pytest.raises(StructureLockedError, match=f"{self.group}.sort"):
                    call(range(len(member)))
        self.check(w, es, range(3))

    def refused(self, w: Any, holder: Any) -> None:
        """Check that a lock of one member holds for all, and that errors say whose it is."""
        for member in self.managers(w):
            with pytest.raises(StructureLockedError, match=type(holder).__name__):
                member.destroy(0)
            with pytest.raises(StructureLockedError):
                member.create_many([])
        group = self.grouped(w)
        with pytest.raises(StructureLockedError, match=type(holder).__name__):
            group.reorder([1, 0])
        with pytest.raises(StructureLockedError):
            group.sort(next(iter(self.members)), [1, 0])

    def test_a_lock_on_one_locks_all(self) -> None:
        w, es = self.filled(2)
        for holder in (*self.managers(w), *self.managers(w)):
            with holder.locked():
                self.refused(w, holder)
            for member in self.managers(w):
                member.create_many([])
            self.check(w, es, range(2))
        self.managers(w)[0].destroy(0)
        self.check(w, es[1:], [1])

    def test_a_callback_locks_all(self) -> None:
        w, _ = self.filled(len(self.members))
        managers = self.managers(w)
        for holder in managers:
            if not hasattr(holder, "on_release"):
                continue
            told = holder.on_release(lambda _, it=holder: self.refused(w, it))
            holder.destroy(0)
            told.cancel()
            other = managers[managers[0] is holder]
            with other.locked():
                self.refused(w, other)

    def test_a_lock_outlasts_those_within(self) -> None:
        w, es = self.filled(2)
        for locked in self.managers(w):
            with locked.locked():
                for member in self.managers(w):
                    with member.locked():
                        pass
                for member in self.managers(w):
                    with pytest.raises(StructureLockedError):
                        member.destroy(0)
            self.check(w, es, range(2))

    def test_a_swap_keeps_no_objects(self) -> None:
        for module, subject in self.members.items():
            names = [f.name for f in subject.fields if isinstance(f, Object)]
            w, _ = self.filled(1)
            things = {name: Thing() for name in names}
            watched = [weakref.ref(thing) for thing in things.values()]
            (new,) = self.spawn(w, [5], [module])
            manager = getattr(w, module)
            for name in names:
                getattr(manager, f"set_{name}")(manager.lookup(new), things[name])
            things.clear()
            for other in self.members:
                getattr(w, other).ensure(new)  # it joins, over the spare row
            manager.remove(new)
            gc.collect()
            assert [thing() for thing in watched] == [None] * len(names)

    def test_copies_have_groups_of_their_own(self) -> None:
        for copied in COPIES:
            w, es = self.filled(3)
            other = copied(w)
            self.check(other, es, range(3))
            self.managers(other)[0].destroy(0)
            self.grouped(other).reorder([1, 0])
            self.check(other, es[[1, 2]], [1, 2])
            self.check(w, es, range(3))
            self.managers(w)[-1].destroy(1)
            self.check(w, es[[0, 2]], [0, 2])

    def test_all_members_break_together(self) -> None:
        for module in self.members:
            w, _ = self.filled(3)
            members = self.managers(w)
            columns = [member.data for member in members]
            manager = getattr(w, module)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(
                    type(manager.data), "_version", INTERRUPTED, raising=False
                )
                with pytest.raises(ZeroDivisionError):
                    manager.destroy(3)
            for broken in (*members, *columns):
                with pytest.raises(BrokenManagerError):
                    _ = broken.n

    def test_a_member_on_its_own(self) -> None:
        w, es = self.filled(3)
        for member in self.managers(w):
            for alone in (type(member)(w.entities), *(copy(member) for copy in COPIES)):
                alone.clear()
                alone.create_many(es)
                alone.reorder([2, 0, 1])
                assert list(alone) == es[[2, 0, 1]].tolist()
        self.check(w, es, range(3))
