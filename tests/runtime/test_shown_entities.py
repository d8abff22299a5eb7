"""How messages show entities, for wide and for narrow handles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.entities_package import entity_manager
from tests.support.policies_package import MANAGERS, attached, package


def entities(index_bits: int, generation_bits: int) -> Any:
    return entity_manager(index_bits, generation_bits)()


@pytest.mark.parametrize(
    ("bits", "entity", "shown"),
    [
        ((32, 32), 1 << 32 | 5, "5v1 (4294967301)"),
        ((32, 32), 0, "0v0 (0)"),
        ((32, 32), np.uint64(2**64 - 1), "4294967295v4294967295 (18446744073709551615)"),
        ((16, 4), 3 << 16 | 7, "7v3 (196615)"),
        ((16, 4), 1 << 20, "1048576"),
        ((16, 4), -1, "-1"),
        pytest.param((32, 32), 10**5000, "<int>", id="huge"),
    ],
)
def test_index_and_generation_with_the_number_behind(
    bits: tuple[int, int], entity: Any, shown: str
) -> None:
    em = entities(*bits)
    for call in (em.destroy, em.require):
        with pytest.raises(LookupError) as raised:
            call(entity)
        assert str(raised.value) == f"entity {shown} is not alive"
    with pytest.raises(LookupError) as raised:
        em.require_many([entity])
    assert str(raised.value) == f"entity {shown} at position 0 is not alive"


def test_an_entity_that_is_given_twice() -> None:
    em = entities(32, 32)
    e = em.create()
    with pytest.raises(LookupError, match=r"^entity 0v1 \(4294967296\) at position 1 is repeated$"):
        em.destroy_many([e, e])


@pytest.mark.parametrize("name", [n for n in MANAGERS if hasattr(getattr(package, n), "lookup")])
def test_managers_show_the_same(name: str) -> None:
    em = package.EntityManager()
    m = attached(name, em)
    e = em.create()
    with pytest.raises(LookupError) as raised:
        m.require(e)
    assert str(raised.value) == f"{name}: entity 0v1 ({e}) has no instance"
    with pytest.raises(IndexError) as stale:
        m.row(e)
    assert str(stale.value) == (
        f"{name}: row {e} is not in use; there are no rows; "
        "that is the entity 0v1; lookup(entity) gives its row"
    )
    with pytest.raises(IndexError, match=r"row NIL is not in use; there are no rows$"):
        m.row(package.NIL)
