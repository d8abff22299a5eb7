"""Files that released versions wrote: they are loaded for ever.

`tests/snapshots/released/` has the schemas and a file of each version that was released, or is
going to be: `python -m tests.snapshots.test_released_snapshots` writes that of the present one.
What is loaded must be the world that is built here, to the byte.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecsgen import __version__
from tests.support.world_package import world_package

FOLDER = Path(__file__).parent / "released"
FILES = sorted(FOLDER.glob("*.snap"))
CODECS = {"*": (str.encode, bytes.decode)}

package = world_package((FOLDER / "town.yaml").read_text(encoding="utf-8"), "released_town")


def built() -> Any:
    """Return a world with something of everything, some of which is gone again."""
    w = package.Town()
    es = w.spawn(12, place={"at": np.arange(24).reshape(12, 2), "mood": 3})
    for manager in (w.speed, w.house, w.acre, w.loot, w.badge):
        values = {"number": np.arange(9)} if manager is w.badge else {}
        manager.create_many(es[:9], **values)
    w.sign.create_many(np.repeat(es[:4], 2), text=["Inn", "Bar"] * 4, paint=["red", None] * 4)
    ids = w.room.create_many(np.repeat(es[3:6], 3), area=np.linspace(0, 1, 9))
    w.room.data.next_door = w.room.id_of_many(ids[::-1])
    w.house.set_parent_many(np.arange(1, 9), [0, 0, 1, 1, 1, 2, 2, 7])
    w.loot.set_drop(3, 9)
    w.loot.set_thing(5, "sword")
    rocks = w.rock.create_many(7, mass=np.arange(7))
    w.rock.activate_many([1, 4, 6])
    w.echo.create_many(es[:3], loud=[True, False, True])
    w.echo.create_many(es[3:6])
    w.archetypes.create([package.Stall], 3, stall={"wares": ["fish", None, ""], "price": [1, 2, 3]})
    w.archetypes.create([package.Lamp, package.Stall], 2)
    w.destroy_many(es[[2, 7, 11]])
    w.rock.destroy_id(int(rocks[2]))
    w.acre.remove(int(es[4]))
    w.gc()
    w.spawn(2, house={}, speed={"by": 1})
    w.destroy_later(es[0])
    w.name = "Old Town"
    return w


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_released(path: Path) -> None:
    for options in ({}, {"mmap": True}):
        loaded = package.Town.load(path, codecs=CODECS, **options)
        assert loaded.to_bytes(codecs=CODECS) == built().to_bytes(codecs=CODECS)


def test_this_version_has_a_file() -> None:
    assert (FOLDER / f"{__version__}.snap") in FILES


if __name__ == "__main__":
    built().save(FOLDER / f"{__version__}.snap", codecs=CODECS)
