"""A package of a world with `shards` that has every policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.world_package import world_package

NAME = "sharded_isles"

package: Any = world_package((Path(__file__).parents[1] / "sharded.yaml").read_text("utf-8"), NAME)
Isles: Any = package.Isles
