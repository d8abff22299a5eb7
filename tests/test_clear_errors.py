"""Calls with the wrong thing say what the right one is."""

from __future__ import annotations

import pytest

from tests.policies_package import MANAGERS, attached, package


@pytest.mark.parametrize("name", MANAGERS)
def test_room_for_less_than_nothing(name: str) -> None:
    m = attached(name, package.EntityManager())
    with pytest.raises(ValueError, match=rf"{name}: can't reserve -1 rows"):
        m.reserve(-1)


@pytest.mark.parametrize("name", [n for n in MANAGERS if hasattr(getattr(package, n), "lookup")])
@pytest.mark.parametrize("given", [3, None, "entities"])
def test_managers_take_the_entity_manager(name: str, given: object) -> None:
    with pytest.raises(TypeError, match=f"{name} takes the EntityManager .*{type(given).__name__}"):
        getattr(package, name)(given)


@pytest.mark.parametrize("name", MANAGERS)
def test_there_are_no_rows(name: str) -> None:
    m = attached(name, package.EntityManager())
    with pytest.raises(IndexError, match=f"{name}: row 0 is not in use; there are no rows"):
        m.row(0)


@pytest.mark.parametrize("name", MANAGERS)
def test_columns_are_not_replaced(name: str) -> None:
    m = attached(name, package.EntityManager())
    data = m.data
    message = f"{name}.data is its {type(data).__name__} and can't be replaced"
    with pytest.raises(AttributeError, match=message):
        m.data = None
    with pytest.raises(AttributeError, match=message):
        del m.data
    assert m.data is data
