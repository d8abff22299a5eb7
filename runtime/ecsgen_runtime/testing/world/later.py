"""Deaths that wait until somebody flushes."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from ...errors import StaleEntityError, StructureLockedError
from ..subject import handles_with
from . import base


class Cases(base.Cases):
    """Entities are noted, and die together."""

    def crowd(self, w: Any) -> list[int]:
        """Return a few entities with all components."""
        es: list[int] = self.spawn(w, 4, list(self.subjects)).tolist()
        return es

    def test_nobody_was_noted(self) -> None:
        w = self.world()
        assert w.flush() == w.collect() == 0

    @pytest.mark.parametrize("times", [1, 20])
    def test_noted_entities_die_together(self, times: int) -> None:
        w = self.world()
        es = self.crowd(w)
        died: list[list[int]] = []
        w.entities.on_destroy(lambda gone: died.append(gone.tolist()))
        w.destroy_later(es[2])
        w.destroy_later(np.array(es[:1], np.uint64))
        for _ in range(times):
            w.destroy_later([es[2], 0, 2**70])
        assert w.gc() == 0
        assert w.entities.alive_many(es).all()
        assert w.flush() == 2
        assert died[0] == [es[2], es[0]]
        assert w.flush() == 0

    @pytest.mark.parametrize("is_clean", [False, True])
    def test_collect_flushes(self, is_clean: bool) -> None:
        w = self.world()
        es = self.crowd(w)
        if is_clean:
            w.collect()
        w.destroy_later(es[0])
        w.collect()
        assert not w.entities.alive(es[0])
        for manager in self.managers(w).values():
            if hasattr(manager, "collect"):
                assert es[0] not in manager

    def test_successors_are_not_meant(self) -> None:
        w = self.world()
        (entity,) = w.spawn(1).tolist()
        w.destroy_later(entity)
        w.destroy(entity)
        with handles_with(w.entities, MIN_FREE=0):
            (successor,) = w.spawn(1).tolist()
        assert w.flush() == 0
        assert w.entities.alive(successor)

    def test_notes_are_saved(self) -> None:
        w = self.world()
        es = w.spawn(2).tolist()
        w.destroy_later(es[0])
        other = pickle.loads(pickle.dumps(w))
        w.destroy_later(es[1])
        assert (other.flush(), w.flush()) == (1, 2)

    def test_notes_stay_while_nobody_may_die(self) -> None:
        for module, manager in self.managers(self.world()).items():
            if not hasattr(manager, "_before_destroy"):
                continue
            w = self.world()
            es = self.crowd(w)
            w.destroy_later(es[0])
            with getattr(w, module).locked():
                for call in (w.flush, w.collect):
                    with pytest.raises(StructureLockedError):
                        call()
            assert w.entities.alive_many(es).all()
            assert w.flush() == 1

    def test_failures_of_callbacks_stop_no_collection(self) -> None:
        w = self.world()
        es = self.crowd(w)

        def fail(_: object) -> None:
            raise ZeroDivisionError

        w.entities.on_destroy(fail)
        w.destroy_later(es)
        with pytest.raises(ExceptionGroup):
            w.collect()
        for manager in self.managers(w).values():
            if hasattr(manager, "collect"):
                assert len(manager) == 0

    def test_entities_given_twice_die_once(self) -> None:
        w = self.world()
        es = self.crowd(w)
        with pytest.raises(StaleEntityError):
            w.destroy_many([es[0], es[0]])
        w.destroy_many([es[0], es[1], es[0]], repeats=True)
        assert w.entities.alive_many(es).tolist() == [False, False, True, True]
