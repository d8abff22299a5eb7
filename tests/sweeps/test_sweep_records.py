"""Models that return a table of `world.records`."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.generated_package import build
from tests.support.sweep_models import same, swept

SCHEMAS = """
enum: Mood
values: {calm: 2, cross: 5}
---
component: Beast
fields: {weight: f32, mood: Mood, friend: entity}
kernels:
  grow: {steps: [weight += 1.5]}
---
world: Farm
records:
  herd: {heads: {count: Beast}, weight: {mean: Beast.weight}}
  each: {rows: Beast, fields: [weight, mood, friend]}
schedule: {step: [Beast.grow, herd, {run: each, every: 2}, tick]}
"""
MODELS = """
from farm import Farm, Mood

def farm(n):
    world = Farm()
    world.spawn(n, beast={"mood": [Mood.calm, Mood.cross, Mood.calm][:n]})
    for _ in range(3):
        world.step()
    return world

def herd(seed, n):
    return farm(n).records.herd

def each(seed, n):
    return farm(n).records.each
"""


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "farm.yaml").write_text(SCHEMAS)
    build(tmp_path / "schemas", tmp_path / "farm")
    (tmp_path / "farm_models.py").write_text(MODELS)
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module("farm_models")
    for name in [name for name in sys.modules if name.split(".")[0] in ("farm", "farm_models")]:
        del sys.modules[name]


def test_lines_of_reductions(models: Any) -> None:
    sweep = import_module("farm").sweep
    s = sweep(models.herd, {"n": [3, 0]}, workers=1, progress=False)
    assert [*s.columns] == ["n", "replicate", "seed", "tick", "heads", "weight"]
    assert s.columns["tick"].tolist() == [0, 1, 2] * 2
    assert s.columns["heads"].tolist() == [3] * 3 + [0] * 3
    assert s.columns["weight"][:3].tolist() == [1.5, 3, 4.5]
    assert np.isnan(s.columns["weight"][3:]).all()


def test_lines_of_rows_with_enums_by_name(models: Any, tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    s, again = (swept(models.each, {"n": [2, 0, 3]}, path=path) for _ in range(2))
    assert s.columns["n"].tolist() == [2] * 4 + [3] * 6
    assert s.columns["mood"].tolist() == ["calm", "cross"] * 2 + ["calm", "cross", "calm"] * 2
    assert s.columns["weight"].tolist() == [1.5] * 2 + [4.5] * 2 + [1.5] * 3 + [4.5] * 3
    assert s.columns["entity"].dtype == np.uint64
    assert same(s, again)
    none = swept(models.each, {"n": [0]})
    assert none.columns["mood"].dtype == s.columns["mood"].dtype


def test_runs_of_another_package_are_refused(models: Any, tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    swept(models.herd, {"n": [2]}, path=path)
    schemas = tmp_path / "schemas" / "farm.yaml"
    schemas.write_text(SCHEMAS.replace("weight += 1.5", "weight += 2.5"))  # nothing that is saved
    build(tmp_path / "schemas", tmp_path / "farm")
    with pytest.raises(ValueError, match="another model: package farm is another one"):
        swept(models.herd, {"n": [2]}, path=path)


def test_a_package_that_only_the_model_imports(models: Any, tmp_path: Path) -> None:
    def inside(seed: int, n: int) -> dict[str, int]:
        from farm import World  # type: ignore[import-not-found]  # it is built above

        return {"y": len(World().entities)}

    for name in [name for name in sys.modules if name.partition(".")[0] == "farm"]:
        del sys.modules[name]
    for _ in range(2):
        assert len(swept(inside, {"n": [2]}, path=tmp_path / "runs.jsonl")) == 1
