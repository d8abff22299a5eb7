"""Values of reductions: of no rows, in radii and passes, and what tools show of them;
`interpreted/reduced_values.yaml` has them in kernels, tables and other reductions."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from ecsgen.cli import ecsgen
from ecsgen.config import BACKENDS, Backend
from ecsgen.model.reference_schema import world_schema
from tests.support.interpreted_schemas import TOPICS
from tests.support.world_package import load, world_package


@pytest.fixture(params=BACKENDS)
def backend(request: Any) -> Backend:
    return request.param  # type: ignore[no-any-return]


def town(backend: Backend, count: int = 60) -> Any:
    """A world whose managers have rows of dead entities, holes and inactive rows."""
    w = world_package(TOPICS["reduced_values"], f"reduced_values_{backend}", backend).Town()
    random = np.random.default_rng(3)
    entities = w.spawn(count, dust={"z": 0.5})
    w.person.create_many(
        entities,
        state=random.integers(0, 3, count),
        x=random.standard_normal(count) * 3,
        at=random.standard_normal((count, 2)) * 10,
        b=random.integers(0, 255, count),
    )
    w.hole.create_many(entities[::2], v=random.standard_normal((count + 1) // 2))
    w.part.create_many(entities[::3], k=random.integers(-9, 9, (count + 2) // 3))
    w.part.data.cells = random.standard_normal((w.part.data.n, 2))
    w.part.deactivate_many(np.arange(w.part.data.n) % 4 == 1)
    w.patch.data.k[7] = 2
    w.hole.remove_many(entities[20:30:2])
    w.entities.destroy_many(entities[:6])
    return w


def test_backends_add_in_the_same_order() -> None:
    """Of more rows than are added in their order."""
    worlds = [town(each, 20_000) for each in BACKENDS]
    for w in worlds:
        for name in ("compare", "join", "settle", "fall_ill"):
            getattr(w, name)()
    first, *others = ([manager.data.out.tobytes() for manager in (w.person,)] for w in worlds)
    assert all(other == first for other in others)
    assert len({w.person.data.seen.tobytes() for w in worlds}) == 1


def test_no_rows(backend: Backend) -> None:
    w = world_package(TOPICS["reduced_values"], f"reduced_values_{backend}", backend).Town()
    w.person.create_many(w.entities.create_many(2), x=-1)
    w.join()
    w.hole.create_many(w.entities.create_many(2))
    w.both.rows()
    w.person.clear()
    w.person.create_many(list(w.entities)[2:])
    w.join()
    assert np.isnan(w.person.data.out).all()  # the mean of no parts


@pytest.mark.parametrize("x", [0, -2, np.nan, np.inf])
def test_bad_radii_do_nothing(backend: Backend, x: float) -> None:
    w = town(backend)
    w.person.data.x = x
    for name in ("look", "draw"):
        with pytest.raises(ValueError, match=r"Town\.(look|draw): Person\.widest"):
            getattr(w, name)()
    assert not w.person.data.seen.any()
    w.patch.data.k = -1
    with pytest.raises(ValueError, match=r"Town\.grow: Patch\.high: wanted 0 or more, not -20"):
        w.grow()


def test_a_refused_call_is_not_counted(backend: Backend) -> None:
    worlds = [town(backend), town(backend)]
    worlds[0].person.data.x = 0
    with pytest.raises(ValueError, match="widest"):
        worlds[0].draw()
    for w in worlds:
        w.person.data.x = 1
        w.draw()
    assert (worlds[0].person.data.out == worlds[1].person.data.out).all()


def test_kernels_that_read_them_begin_a_pass(backend: Backend) -> None:
    """Those behind may share it; an argument may be called like the value."""
    w = town(backend)
    state = w.person.data.state.copy()
    w.step(person_ill=2)
    state += 1
    state += (state > 1).sum() - 2 + 1
    assert (w.person.data.state == state).all()
    doc = inspect.getdoc(w.step) or ""
    assert [line[:6] for line in doc.splitlines() if "pass " in line] == [
        "pass 1",
        "pass 2",
        "pass 2",
    ]
    assert "Person.ill()" in (inspect.getdoc(w.add_one) or "")


def test_layout_shows_what_they_read(tmp_path: Any) -> None:
    (tmp_path / "a.yaml").write_text(TOPICS["reduced_values"], encoding="utf-8")
    layout = ["layout", "--schemas", str(tmp_path), "--schedule", "step"]
    shown = CliRunner().invoke(ecsgen, layout).stdout
    _, heading, _, add_one, *_ = shown.splitlines()
    assert add_one[heading.index("of others") :].split()[0] == "Person.state"
    assert "pass 2: add_one reads Person.ill()" in shown


def test_generated_tests_have_the_reductions_that_kernels_read() -> None:
    components = world_schema(load(TOPICS["reduced_values"]))["components"]
    assert [*components["Person"]["reductions"]] == [
        *("ill", "total", "mean_x", "rich", "widest", "spread")
    ]
    assert "reductions" not in components["Dust"]
