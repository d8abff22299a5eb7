"""Names of the library that every generated package has, as type checkers see them.

Nothing runs this module: a package loads the names one by one, when they are used
(`package.EXPORTED`).
"""

from __future__ import annotations

from .base.errors import BrokenManagerError as BrokenManagerError
from .base.errors import CapacityError as CapacityError
from .base.errors import DuplicateInstanceError as DuplicateInstanceError
from .base.errors import DuplicateValueError as DuplicateValueError
from .base.errors import EcsError as EcsError
from .base.errors import HierarchyError as HierarchyError
from .base.errors import MissingInstanceError as MissingInstanceError
from .base.errors import SnapshotError as SnapshotError
from .base.errors import StaleEntityError as StaleEntityError
from .base.errors import StaleIdError as StaleIdError
from .base.errors import StaleInstanceError as StaleInstanceError
from .base.errors import StaleViewWarning as StaleViewWarning
from .base.errors import StructureLockedError as StructureLockedError
from .base.handles import NIL as NIL
from .base.handles import NULL_ENTITY as NULL_ENTITY
from .base.handles import Entity as Entity
from .base.handles import EntityArray as EntityArray
from .base.handles import Id as Id
from .base.handles import Instance as Instance
from .base.handles import RowArray as RowArray
from .snapshots.migration_view import Snapshot as Snapshot
from .snapshots.migration_view import SnapshotTable as SnapshotTable
from .tables.changes import ChangeReader as ChangeReader
from .tables.changes import Changes as Changes
from .values.field_tables import FieldInfo as FieldInfo
