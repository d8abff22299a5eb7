"""Makes the module of one component: the manager's template, filled with its features' blocks."""

from __future__ import annotations

import re
from typing import Any

from ecsgen import features
from ecsgen.layout import table
from ecsgen.model import Component
from ecsgen.render.component_spelling import ComponentSpelling
from ecsgen.render.environment import NOTHING, environment
from ecsgen.render.imports import import_lines

MARKER = "<<imports>>"


def component_module(component: Component) -> str:
    """Return the unformatted module of a component."""
    steps = Steps(component)
    text = environment().get_template("manager.py.j2").render(steps.context)
    text = re.sub(f"^ *{NOTHING}\n", "", text, flags=re.MULTILINE)
    return text.replace(MARKER, import_lines(text, steps.spelling.enums))


class Steps:
    """The active features' blocks: `step("moved_one", 8)` is their text, one after another,
    indented.

    A feature with a role (`map`, `instances`, `placement`) can be called by it: `map.set_one(…)`.
    """

    def __init__(self, component: Component) -> None:
        self.spelling = ComponentSpelling(component)
        self.modules: dict[str, Any] = {}
        self.roles: dict[str, Any] = {}
        self.context: dict[str, Any] = {
            "c": self.spelling,
            "step": self,
            "imports_marker": MARKER,
            "layout_table": _indented(table(component).removesuffix("\n"), 4),
            **{role: Role(self, role) for role in features.ROLES},
        }
        for feature in features.active(component):
            blocks = Blocks(
                self._module(feature.name), self._module(feature.base) if feature.base else None
            )
            self.modules[feature.name] = blocks
            self.roles |= dict.fromkeys(feature.roles, blocks)

    def _module(self, name: str) -> Any:
        template = environment().get_template(f"features/{name}.py.j2")
        return template.make_module(self.context)

    def __call__(self, block: str, indent: int) -> str:
        """Return one block of every active feature that has it."""
        modules = (module for module in self.modules.values() if hasattr(module, block))
        text = "".join(_indented(getattr(module, block)(), indent) for module in modules)
        return text.removesuffix("\n") or " " * indent + NOTHING

    def inline(self, block: str, before: str = "") -> str:
        """Return one-line blocks as a part of a line, with `before` in front of each."""
        modules = (module for module in self.modules.values() if hasattr(module, block))
        return "".join(before + getattr(module, block)().strip() for module in modules)

    def names(self, block: str) -> list[str]:
        """Return the names that a block of annotations declares."""
        return sorted(line.split(":")[0] for line in self(block, 0).splitlines() if ":" in line)


class Blocks:
    """The blocks of a feature's template, and of its base where the template has none."""

    def __init__(self, module: Any, base: Any) -> None:
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


def _indented(text: str, indent: int) -> str:
    pad = " " * indent
    return "".join(pad + line if line.strip() else line for line in text.splitlines(keepends=True))
