"""The storage policies, one file each: a new file here and its template is a new policy."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ecsgen.features._base import ROLES, Feature
from ecsgen.model import Component

__all__ = ["ROLES", "Feature", "active", "every"]


@cache
def every() -> tuple[Feature, ...]:
    """Return all features, in the order in which their blocks stand."""
    modules = (m.name for m in iter_modules(__path__) if not m.name.startswith("_"))
    found: list[Feature] = [import_module(f"{__name__}.{name}").FEATURE for name in modules]
    return tuple(sorted(found, key=lambda feature: (feature.order, feature.name)))


def active(component: Component) -> tuple[Feature, ...]:
    """Return the features that a component's schema asks for."""
    return tuple(feature for feature in every() if feature.applies(component))
