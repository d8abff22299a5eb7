"""Settings that kernels and schedules change, within bounds; `interpreted/sent_settings.yaml` has
them at once, in turns and over chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from ecsgen.render.kernel_printers import loop_reasons
from tests.support.interpreted_schemas import TOPICS
from tests.support.world_package import load, world_package

SCHEMA = TOPICS["sent_settings"]


@pytest.fixture(scope="module", params=BACKENDS)
def package(request: Any) -> Any:
    backend: Backend = request.param
    pytest.importorskip(backend)
    return world_package(SCHEMA, f"sent_settings_{backend}", backend)


def test_at_once_numpy_sends_in_blocks() -> None:
    reasons = {kernel.name: loop_reasons(kernel.program) for kernel in load(SCHEMA).world.kernels}
    assert reasons["send"] == reasons["add"] == reasons["sum_up"] == ()
    assert all(reasons[name] for name in ("turn", "look"))


def test_bounds_clip_the_outcome_and_in_turns_each_assignment(package: Any) -> None:
    w = package.Game()
    entities = w.spawn(3, body={"x": [60.0, -30.0, 5.0], "k": [3, 4, 1], "b": [200, 0, 4]})
    w.send()
    assert (w.settings.total, w.settings.most, w.settings.level) == (36, 4, 1)
    assert (w.settings.last, w.settings.any_) == (entities[2], True)
    assert w.settings.counts.tolist() == [0, 1, 0, 1]
    assert w.body.data.x.tolist() == [1, 1, 1]
    w.body.data.x = 100
    w.add()
    assert w.settings.total == 50
    w.body.data.x = np.nan
    w.add()
    assert np.isnan(w.settings.total)


def test_schedules_set_settings(package: Any) -> None:
    w = package.Game()
    w.spawn(2, body={"x": [4.0, -3.0]})
    w.step()
    assert (w.settings.total, w.settings.most, w.body.data.k.tolist()) == (15, 10, [15, 15])
    assert w.settings.any_
    assert w.settings.counts.tolist() == [0, -2, 0, 0]
    w.body.data.x = 0.5
    w.step()
    assert (w.settings.total, w.settings.most) == (50, 20)
    assert w.settings.counts.tolist() == [0, -2, 0, 0]
    w.step()
    assert w.settings.counts.tolist() == [0, 21, 0, 0]
