"""Generated packages as wholes: whether this library serves them, and their names.

A package asks for both in its `__init__`; its modules are loaded when somebody uses one of their
names (PEP 562).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from operator import attrgetter
from typing import Any, Final

from .base.version import INTERFACES, __version__

PACKAGES: Final[set[str]] = set()
"""Names of the generated packages that are loaded."""
EXPORTED: Final = {
    ".values.field_tables": "FieldInfo",
    ".base.errors": "BrokenManagerError CapacityError DuplicateInstanceError DuplicateValueError"
    " EcsError HierarchyError MissingInstanceError SnapshotError StaleEntityError"
    " StaleIdError StaleInstanceError StaleViewWarning StructureLockedError",
    ".base.handles": "NIL NULL_ENTITY Entity EntityArray Id Instance RowArray",
    ".snapshots.migration_view": "Snapshot SnapshotTable",
    ".tables.changes": "ChangeReader Changes",
    ".": "Sweep sweep",
}
"""Public names of the library that every package has, by module; `.` is the library itself."""
SOME_EXPORT: Final = {
    ".base.errors": "FullCellError",
    ".base.handles": "Neighbours",
    ".kernels.seeding": "Draws",
    ".managers.policies.networks": "Links",
    ".shards.parcels": "ParcelError ShardError",
}
"""Public names of the library that only packages with certain schemas have, by module."""

_LIBRARY: Final = __name__.rpartition(".")[0]


def require(package: str, *, interface: int, made_by: str) -> None:
    """Raise ImportError unless this library serves packages of an interface.

    `interface`: counted up whenever what generated modules use of the library changes. `made_by`:
    the version of ecsgen that made the package. O(1).
    """
    if interface in INTERFACES:
        PACKAGES.add(package)
        return
    newer = interface > INTERFACES[-1]
    served = " and ".join(map(str, INTERFACES))
    raise ImportError(
        f"{package} was made by ecsgen {made_by} for interface {interface} of ecsgen-runtime; "
        f"{__version__} is installed, which serves {served}: run `ecsgen build` with ecsgen "
        f'{__version__}, or pip install "ecsgen-runtime{">=" if newer else "=="}{made_by}"',
        name=package,
    )


def is_generated(module: str) -> bool:
    """Return whether a module is one of the library or of a generated package, tests apart."""
    of_package = module in PACKAGES or module.rpartition(".")[0] in PACKAGES
    return of_package or f"{module}.".startswith(f"{_LIBRARY}.")


def outside_level() -> int:
    """Return the stacklevel of a warning of the caller's for the first frame that is the user's."""
    level = 2
    frame = sys._getframe(level)
    while frame.f_back is not None and is_generated(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
        level += 1
    return level


def lazy_names(
    package: str, places: Mapping[str, str], also: str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return the `__getattr__`, `__dir__` and `__all__` of a package.

    `places`: the names that its modules have for users, with spaces between, by module; `also`:
    what it has of the library besides EXPORTED. Its modules are attributes as well. What is found
    stays in the package, so that only the first use of a name costs more than any attribute.
    """
    wanted = set(also.split())
    optional = {module: names for module, names in SOME_EXPORT.items() if wanted & {*names.split()}}
    found_in = {
        name: (module, anchor)
        for tables, anchor in ((EXPORTED, _LIBRARY), (optional, _LIBRARY), (places, package))
        for module, names in tables.items()
        for name in names.split()
    }
    members = vars(sys.modules[package])

    def getattr(name: str) -> Any:
        if name in found_in:
            members[name] = attrgetter(name)(import_module(*found_in[name]))
            return members[name]
        if f".{name}" in places:
            return import_module(f".{name}", package)
        message = f"module {package!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[package])

    def dir() -> list[str]:
        return sorted({*members, *found_in, *(module[1:] for module in places)})

    return getattr, dir, sorted(found_in)
