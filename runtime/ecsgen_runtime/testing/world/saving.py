"""Worlds saved and loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from ...errors import CapacityError, SnapshotError, StructureLockedError
from ..subject import CODECS, Roomy, handles_with


class Cases(Roomy):
    """A world goes into a file, and comes back as it was."""

    world: ClassVar[Any]

    def loaded(self, source: Any, **options: Any) -> Any:
        """Return a world made of a snapshot."""
        return type(self.world()).load(source, codecs=CODECS, **options)

    def filled(self) -> Any:
        """Return a world with a few rows of everything, some of which are gone again."""
        w = self.world()
        es = w.entities.create_many(4).tolist()
        for module, subject in self.subjects.items():
            manager = getattr(w, module)
            for k, entity in enumerate(es):
                manager.create(entity, **subject.sample(k))
            manager.remove(es[1])
        for module, subject in self.unowned.items():
            manager = getattr(w, module)
            ids = [manager.create(**subject.sample(k)) for k in range(4)]
            manager.destroy_id(ids[1])
        w.destroy(es[3])
        one = w.entities.create()
        with handles_with(w.entities, LAST_GENERATION=one - w.entities.index(one)):
            w.destroy(one)  # the last one of its index
        w.destroy_later(es[0])
        w.turns = 3
        return w

    def test_an_empty_world(self) -> None:
        w = self.world()
        data = w.to_bytes(codecs=CODECS)
        again = self.loaded(data)
        assert again.to_bytes(codecs=CODECS) == data

    def test_it_comes_back_as_it_was(self) -> None:
        w = self.filled()
        data = w.to_bytes(codecs=CODECS)
        again = self.loaded(data)
        assert again.to_bytes(codecs=CODECS) == data
        assert again.turns == 3
        assert [*again.entities] == [*w.entities]
        assert len(again.entities) == len(w.entities)
        for module in w.MANAGERS:
            manager, other = getattr(w, module), getattr(again, module)
            assert [*other] == [*manager]
            assert other.version == manager.version
        assert again.flush() == w.flush() == 1

    def test_saving_goes_on_alike(self) -> None:
        w = self.filled()
        again = self.loaded(w.to_bytes(codecs=CODECS))
        for each in (w, again):
            each.gc()
            each.collect()
            each.spawn(3, **{module: {} for module in self.plain()})
        assert again.to_bytes(codecs=CODECS) == w.to_bytes(codecs=CODECS)

    @pytest.mark.parametrize("verify", [None, False])
    def test_picks_go_on_alike(self, verify: bool | None) -> None:
        w = self.world()
        try:
            es = w.spawn(8, **{module: {} for module in self.plain()})
        except CapacityError:
            pytest.skip("the handles of this project are too small")
        w.gc()
        w.destroy_many(es[:5])
        again = self.loaded(w.to_bytes(codecs=CODECS), verify=verify)
        for _ in range(3):
            assert again.gc() == w.gc()
            for module in self.plain():
                assert [*getattr(again, module)] == [*getattr(w, module)]

    def plain(self) -> list[str]:
        """Return the components that any number of entities can have by default."""
        return [m for m, s in self.subjects.items() if s.takes_repeats]

    def test_paths_and_files(self, tmp_path: Path) -> None:
        w = self.filled()
        w.save(tmp_path / "world.snap", codecs=CODECS)
        data = (tmp_path / "world.snap").read_bytes()
        assert data == w.to_bytes(codecs=CODECS)
        with open(tmp_path / "other.snap", "wb") as file:
            w.save(file, codecs=CODECS)
        with open(tmp_path / "other.snap", "rb") as file:
            again = self.loaded(file)
        assert again.to_bytes(codecs=CODECS) == data

    def test_mapped(self, tmp_path: Path) -> None:
        w = self.filled()
        path = tmp_path / "world.snap"
        w.save(path, codecs=CODECS)
        data = path.read_bytes()
        for verify in (None, True):
            again = self.loaded(path, mmap=True, verify=verify)
            assert again.to_bytes(codecs=CODECS) == data
            again.spawn(3, **{module: {} for module in self.plain()})
            again.collect()
        assert path.read_bytes() == data
        with pytest.raises(ValueError, match="mapped"):
            self.loaded(data, mmap=True)

    def test_locked_and_told(self) -> None:
        w = self.world()
        with pytest.raises(StructureLockedError):
            w.entities.dispatch.run(w.to_bytes, codecs=CODECS)
        for module in w.MANAGERS:
            with getattr(w, module).locked():
                assert w.to_bytes(codecs=CODECS) == w.to_bytes(codecs=CODECS)

    def test_damage_is_noticed(self) -> None:
        data = bytearray(self.filled().to_bytes(codecs=CODECS))
        with pytest.raises(SnapshotError, match="<bytes>"):
            self.loaded(data[:-1])
        for place in range(0, len(data), max(1, len(data) // 50)):
            broken = data.copy()
            broken[place] ^= 4
            with pytest.raises(SnapshotError):
                self.loaded(broken)
