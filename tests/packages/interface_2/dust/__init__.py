"""Dust: generated component managers, each with its columns in one buffer.

A module is loaded when one of its names is used for the first time.
"""

from typing import TYPE_CHECKING

from ecsgen_runtime.package import lazy_names as _lazy_names
from ecsgen_runtime.package import require as _require

__ecsgen__ = "0.1.0"
_require(__name__, interface=2, made_by=__ecsgen__)

if TYPE_CHECKING:
    from ecsgen_runtime.exported import *

    from .bond import Bond as Bond
    from .bond import BondColumns as BondColumns
    from .bond import BondData as BondData
    from .bond import BondFields as BondFields
    from .bond import BondManager as BondManager
    from .bond import BondRef as BondRef
    from .entities import EntityManager as EntityManager
    from .mote import Mote as Mote
    from .mote import MoteColumns as MoteColumns
    from .mote import MoteData as MoteData
    from .mote import MoteFields as MoteFields
    from .mote import MoteManager as MoteManager
    from .mote import MoteRef as MoteRef
    from .room import Room as Room
    from .room import RoomData as RoomData
    from .room import RoomFields as RoomFields
    from .room import RoomManager as RoomManager
    from .room import RoomRef as RoomRef
    from .world import BoundQuery as BoundQuery
    from .world import BoundRow as BoundRow
    from .world import BoundRows as BoundRows
    from .world import Dust as Dust
    from .world import EntityView as EntityView
    from .world import Signature as Signature
    from .world import World as World
else:
    __getattr__, __dir__, __all__ = _lazy_names(
        __name__,
        {
            ".bond": "Bond BondColumns BondData BondFields BondManager BondRef",
            ".entities": "EntityManager",
            ".mote": "Mote MoteColumns MoteData MoteFields MoteManager MoteRef",
            ".room": "Room RoomData RoomFields RoomManager RoomRef",
            ".world": "BoundQuery BoundRow BoundRows Dust EntityView Signature World",
        },
        "",
    )
