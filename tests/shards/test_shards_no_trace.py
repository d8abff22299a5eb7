"""Without `shards` a generated module has not one word of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ecsgen import schema
from ecsgen.config import Backend
from ecsgen.diagnostics import Diagnostics
from ecsgen.render import runtime
from tests.support.world_package import load, sources

ROOT = Path(__file__).resolve().parents[2]
TRACES = re.compile(
    r"shard|ghost|ghost_state|visit(or|ed)|parcel|nearby|absorb|lockstep", re.IGNORECASE
)
SHARDS = re.compile(r"^shards:\n(  .*\n)+", re.MULTILINE)


@pytest.fixture(scope="module")
def everything() -> str:
    """Return schemas with every policy, of one world."""
    text = (ROOT / "tests" / "sharded.yaml").read_text("utf-8")
    return SHARDS.sub("", text)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_no_file_speaks_of_it(everything: str, backend: Backend) -> None:
    shipped = schema.load(ROOT / "schemas", Diagnostics())
    assert shipped is not None
    for project in (shipped, load(everything)):
        for path, text in sources(project, backend).items():
            assert not TRACES.search(path), path
            assert not (found := TRACES.search(text)), (path, found)


def test_a_generator_that_knows_nothing_of_it_makes_the_same(
    everything: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = load(everything)
    found = sources(project)
    without = {path: text for path, text in runtime.sources().items() if "/shards/" not in path}
    with monkeypatch.context() as patch:
        patch.setattr(runtime, "sources", lambda: without)
        runtime.origins.cache_clear()
        assert sources(project) == found
    runtime.origins.cache_clear()
    sharded = (ROOT / "tests" / "sharded.yaml").read_text("utf-8")
    texts = sources(load(sharded)).values()
    assert any("from ecsgen_runtime.shards." in text for text in texts)


def test_with_it_the_library_is_copied_as_it_is() -> None:
    text = (ROOT / "tests" / "sharded.yaml").read_text("utf-8")
    found = sources(load(text), runtime="vendored")
    library = runtime.sources()
    copied = found.keys() & library.keys()
    assert "_runtime/shards/managers.py" in copied
    assert [path for path in copied if found[path] != library[path]] == []
