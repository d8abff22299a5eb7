"""Kernels that tests leave to Python draw what compiled ones draw."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.world_package import world_package

SCHEMA = """
component: Body
fields: {seen: f64, coin: i64}
kernels:
  shake:
    turns: rows
    steps: |
      seen = normal() + random()
      for i in range(3):
          coin += randrange(1000)
          seen += exponential(2.0)
"""


def test_draws_keep_their_type() -> None:
    pytest.importorskip("numba")
    bits = []
    for backend in ("numpy", "numba"):
        package: Any = world_package(SCHEMA, f"drawn_{backend}", backend, compiled=False)
        entities = package.EntityManager()
        bodies = package.BodyManager(entities)
        bodies.create_many(entities.create_many(50))
        bodies.shake()
        assert len(np.unique(bodies.data.coin)) > 25
        bits.append((bodies.data.seen.tobytes(), bodies.data.coin.tobytes()))
    assert bits[0] == bits[1]
