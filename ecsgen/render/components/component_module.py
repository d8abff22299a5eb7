"""Module of one component: its template, with the statements of its policies."""

from __future__ import annotations

from typing import Any

from ecsgen import policies
from ecsgen.layout.layout_tables import format_layout
from ecsgen.model import Component
from ecsgen.render.components.component_code import ComponentCode
from ecsgen.render.components.component_features import CodeFeature, collect_features
from ecsgen.render.components.step_code import StepRenderer, indented, slot_words
from ecsgen.render.text.formatting import call
from ecsgen.render.text.jinja_environment import environment, rendered_module
from ecsgen.render.text.library_imports import COMPILED, SHARDS, locate_public_names
from ecsgen.render.text.name_shadowing import add_class_placeholder, make_component_name


def render_component_module(component: Component) -> str:
    """Return the unformatted module of a component."""
    active = policies.select_policies(component)
    parts = collect_features(component, active)
    subjects = {
        part.name: part.context(component) if isinstance(part, CodeFeature) else None
        for part in parts
        if part.template
    }
    c = ComponentCode(component, active)
    step = StepRenderer(
        component,
        parts,
        words={"views": c.views, **slot_words(component)},
        pieces={
            "again": lambda indent: call(
                "return self._evict_and_create", ["*_evicted", *c.create_arguments], indent
            ),
            "below": lambda indent: call(
                "return self._create_child", ["parent", "self.create", *c.create_arguments], indent
            ),
            "created_below": lambda indent: call(
                "return self._create_children",
                ["parents", "self._create_many", *c.create_many_arguments],
                indent,
            ),
            "move_row": lambda indent: c.move_lines("data", indent),
        },
    )
    context: dict[str, Any] = {
        "c": c,
        "step": step,
        "layout_table": indented(format_layout(c.layout).removesuffix("\n"), 4),
    }
    for name, subject in subjects.items():
        template = environment().get_template(f"component_features/{name}.py.j2")
        step.templates[name] = template.make_module({**context, "it": subject})
    names = dict.fromkeys(c.enums, ".enums")
    if component.on is not None:
        grid = make_component_name(component.on.grid)
        names[f"{grid.name}Manager"] = f".{grid.module}"
    if component.settings:
        names[add_class_placeholder(component.settings)] = ".settings"
    if component.is_sharded:
        names |= locate_public_names(SHARDS)
    if component.backend == "numba":
        names |= locate_public_names(COMPILED)
    return rendered_module("component.py.j2", context, names)
