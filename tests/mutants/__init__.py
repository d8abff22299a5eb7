"""Ways to break what is generated: a module per storage policy or family of them, per feature of
the world, and for each file that everybody shares. Each has `GROUPS`; nothing else names them."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

from tests.mutants._base import Group, Mutant, Targets

__all__ = ["Group", "Mutant", "Targets", "every"]


def every() -> list[Group]:
    """Return all groups of mutants, in the order of their modules."""
    module_names = [m.name for m in walk_packages(__path__, f"{__name__}.") if not m.ispkg]
    modules = [name for name in module_names if not name.rpartition(".")[2].startswith("_")]
    groups: list[Group] = [group for name in modules for group in import_module(name).GROUPS]
    return groups
