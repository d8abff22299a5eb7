"""Names of schemas that generated code may need for something else.

Most names of generated code begin with an underscore or are reserved, so only builtins, imports,
`self` and `n` can be shadowed. A schema's name that is one of these has a placeholder wherever it
is bare: as a parameter, an item of a class, a class. What the code has under the name without
placeholder gets another one: see `module_names`.
"""

from __future__ import annotations

import builtins
from bisect import bisect_left
from dataclasses import dataclass
from functools import cache
from typing import Final

from ecsgen.render.text.formatting import PLACEHOLDER
from ecsgen.render.text.library_imports import COMPILED, RUNTIME, SHARDS, locate_public_names
from ecsgen.render.text.module_names import INSTALLED, PACKAGE, STANDARD
from ecsgen.schema.names import module_name

_CODE_NAMES: Final = frozenset(["self", "n", "np"])
"""Further names of generated modules without an underscore."""
_OF_TESTS: Final = frozenset(["MEMBERS", "SUBJECTS", "UNOWNED"])


@cache
def _known() -> frozenset[str]:
    """Return the names that generated modules may import or define."""
    of_runtime = {
        *locate_public_names(RUNTIME),
        *locate_public_names(COMPILED),
        *locate_public_names(SHARDS),
    }
    return frozenset(vars(builtins)).union(
        _CODE_NAMES, _OF_TESTS, STANDARD, INSTALLED, PACKAGE, of_runtime
    ) - {"super"}


@cache
def _known_classes() -> list[str]:
    return sorted(name for name in _known() if name[0].isupper())


def may_be_shadowed(name: str) -> bool:
    """Check that generated code may use this name for something else."""
    return name in _known()


def add_placeholder(name: str) -> str:
    """Return a schema's bare name, with a placeholder if generated code may use it."""
    return PLACEHOLDER + name if may_be_shadowed(name) else name


def add_class_placeholder(name: str) -> str:
    """Return a component's bare name, which is also a prefix of its classes' names."""
    known = _known_classes()
    index = bisect_left(known, name)
    return PLACEHOLDER + name if index < len(known) and known[index].startswith(name) else name


@dataclass(frozen=True, slots=True)
class ComponentName:
    """Names of a component in other modules: they change with nothing else of it."""

    name: str
    module: str

    @property
    def bare_name(self) -> str:
        """Bare name of its module: as a parameter, or an item of a class."""
        return add_placeholder(self.module)


def make_component_name(component: str) -> ComponentName:
    """Return the names of a component for other modules."""
    return ComponentName(add_class_placeholder(component), module_name(component))
