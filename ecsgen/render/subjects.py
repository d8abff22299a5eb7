"""What the templates of some policies lay out beside the component, there called `it`.

Made here and not by the policies: they lie below the layout, and know nothing of rendering.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from ecsgen.model import Component
from ecsgen.render.printers import FlatColumns, drawing_lines, texts_of
from ecsgen.render.spacing import Spacing

_BY_POLICY: Final[dict[str, Callable[[Component], object]]] = {
    "kernels": texts_of,
    "flat_columns": FlatColumns,
    "seeded": lambda component: drawing_lines(component.kernels, component.name),
    "spaced": Spacing,
}


def subject_of(policy: str, component: Component) -> object:
    """Return the subject of a policy's template; None for those that need none."""
    make = _BY_POLICY.get(policy)
    return None if make is None else make(component)


def attributes_of(subjects: Iterable[object]) -> list[str]:
    """Return the attributes that these subjects give the class of a component's columns."""
    return [name for subject in subjects for name in getattr(subject, "attributes", ())]
