"""Makes the module of one component: the manager's template, filled with its features' blocks."""

from __future__ import annotations

from typing import Any

from ecsgen import features
from ecsgen.layout import table
from ecsgen.model import Component
from ecsgen.render.blocks import Step, indented, without_nothing
from ecsgen.render.component_spelling import ComponentSpelling
from ecsgen.render.environment import environment
from ecsgen.render.imports import compiled_names, import_lines
from ecsgen.render.subjects import subject_of

MARKER = "<<imports>>"


def component_module(component: Component) -> str:
    """Return the unformatted module of a component."""
    steps = Steps(component)
    text = environment().get_template("manager.py.j2").render(steps.context)
    text = without_nothing(text)
    own = dict.fromkeys(steps.spelling.enums, ".enums")
    if component.backend == "numba":
        own |= dict.fromkeys(compiled_names(), "._compiled")
    return text.replace(MARKER, import_lines(text, own))


class Steps(Step):
    """The blocks of a component's features.

    A feature with a role (`map`, `instances`, `placement`) can be called by it: `map.set_one(…)`.
    """

    def __init__(self, component: Component) -> None:
        super().__init__()
        self.spelling = ComponentSpelling(component)
        self.roles: dict[str, Any] = {}
        self.context: dict[str, Any] = {
            "c": self.spelling,
            "step": self,
            "imports_marker": MARKER,
            "layout_table": indented(table(component).removesuffix("\n"), 4),
            **{role: Role(self, role) for role in features.ROLES},
        }
        for feature in features.active(component):
            context = {**self.context, "it": subject_of(feature.name, component)}
            names = (feature.name, feature.base) if feature.base else (feature.name,)
            blocks = Blocks(*(self._module(name, context) for name in names))
            self.modules[feature.name] = blocks
            self.roles |= dict.fromkeys(feature.roles, blocks)

    def _module(self, name: str, context: dict[str, Any]) -> Any:
        return environment().get_template(f"features/{name}.py.j2").make_module(context)


class Blocks:
    """The blocks of a feature's template, and of its base where the template has none."""

    def __init__(self, module: Any, base: Any = None) -> None:
        self._module = module
        self._base = base

    def __getattr__(self, block: str) -> Any:
        own = getattr(self._module, block, None)
        return own or getattr(self._base, block)


class Role:
    """Whichever feature plays a role; known only when all are loaded."""

    def __init__(self, steps: Steps, role: str) -> None:
        self._steps = steps
        self._role = role

    def __getattr__(self, block: str) -> Any:
        return getattr(self._steps.roles[self._role], block)
