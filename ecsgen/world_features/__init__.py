"""What a world can do, one file each: a new file here and its template is a new ability.

What all worlds with it do alike is real Python in `runtime/ecsgen_runtime/`; what names components
is laid out by a template.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ecsgen.model import Project
from ecsgen.world_features.feature import WorldFeature

__all__ = ["WorldFeature", "active", "every"]

_NOT_FEATURES = ("feature", "members")


@cache
def every() -> tuple[WorldFeature, ...]:
    """Return all features, in the order in which their blocks stand."""
    names = (m.name for m in iter_modules(__path__) if m.name not in _NOT_FEATURES)
    found: list[WorldFeature] = [import_module(f"{__name__}.{name}").FEATURE for name in names]
    return tuple(sorted(found, key=lambda feature: (feature.order, feature.name)))


def active(project: Project) -> tuple[WorldFeature, ...]:
    """Return the features that a project's schemas ask for."""
    return tuple(feature for feature in every() if feature.applies(project))
