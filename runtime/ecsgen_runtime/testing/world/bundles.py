"""Bundles: spawning sets of components."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from ...errors import CapacityError
from ..subject import Roomy, same


class Cases(Roomy):
    """The bundles of a world."""

    world: ClassVar[Any]
    signature: ClassVar[Any]
    bundles: ClassVar[Mapping[str, tuple[str, ...]]]
    """By bundle, the components that it spawns."""

    def test_a_bundle_spawns_its_components(self) -> None:
        for bundle, modules in self.bundles.items():
            w = self.world()
            es = getattr(w, f"spawn_{bundle}")(3)
            flags = self.signature(0)
            for module in modules:
                flags |= self.signature[module.upper()]
            assert w.signatures(es).tolist() == [int(flags)] * 3
            assert self.signature[bundle.upper()] == flags
            for module in modules:
                if module in self.subjects:
                    manager = getattr(w, module)
                    rows = manager.require_many(es).tolist()
                    default = self.subjects[module].read({})
                    assert all(same(manager.row(row), default) for row in rows)

    def test_a_bundle_takes_columns_for_each_component(self) -> None:
        for bundle, modules in self.bundles.items():
            for module in modules:
                if module not in self.subjects:
                    continue
                subject = self.subjects[module]
                w = self.world()
                es = getattr(w, f"spawn_{bundle}")(3, **{module: subject.samples(3)})
                manager = getattr(w, module)
                for place, row in enumerate(manager.require_many(es).tolist()):
                    assert same(manager.row(row), subject.read(subject.sample(place)))

    def test_a_bundle_takes_rows(self) -> None:
        for bundle, modules in self.bundles.items():
            given = {
                module: subject.row(**subject.sample(1))
                for module, subject in self.subjects.items()
                if module in modules
            }
            w = self.world()
            es = getattr(w, f"spawn_{bundle}")(2, **given)
            for module, row in given.items():
                manager = getattr(w, module)
                expected = self.subjects[module].read(row._asdict())
                for place in manager.require_many(es).tolist():
                    assert same(manager.row(place), expected)

    def test_a_failing_bundle_changes_nothing(self) -> None:
        for bundle, modules in self.bundles.items():
            w = self.world()
            spawn = getattr(w, f"spawn_{bundle}")
            with pytest.raises(TypeError, match="'no_such_component'"):
                spawn(2, no_such_component={})
            with pytest.raises(ValueError, match="-1"):
                spawn(-1)
            for module in modules:
                with pytest.raises(TypeError):
                    spawn(2, **{module: {"no_such_field": 0}})
            assert len(w.entities) == 0
            assert len(spawn(0)) == 0

    def test_bundles_and_components_meet_in_one_world(self) -> None:
        w = self.world()
        everything: dict[int, Any] = {}
        for bundle in self.bundles:
            try:
                (e,) = getattr(w, f"spawn_{bundle}")(1).tolist()
            except CapacityError:  # the handles of this project are small
                break
            everything[e] = self.signature[bundle.upper()]
        for e, flags in everything.items():
            assert w.signature(e) == flags
