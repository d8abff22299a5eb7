"""Makes the module of one component: its template, filled with what its policies do."""

from __future__ import annotations

from typing import Any

from ecsgen import policies
from ecsgen.layout_text import table
from ecsgen.model import Component
from ecsgen.render.calls import call, literal_names
from ecsgen.render.class_parts import ClassPart, with_parts
from ecsgen.render.component_spelling import ComponentSpelling
from ecsgen.render.environment import environment
from ecsgen.render.giving_way import named
from ecsgen.render.runtime import COMPILED, MARKER, SHARDS, origins, with_imports
from ecsgen.render.step_texts import Steps, indented, slot_words


def component_module(component: Component) -> str:
    """Return the unformatted module of a component."""
    active = policies.active(component)
    parts = with_parts(component, active)
    subjects = {
        part.name: part.subject(component) if isinstance(part, ClassPart) else None
        for part in parts
        if part.template
    }
    c = ComponentSpelling(component, active)
    step = Steps(
        component,
        parts,
        words={"views": f", {literal_names(c.views)}" if c.views else "", **slot_words(component)},
        pieces={
            "again": lambda indent: call("return self._make_way", ["*_gone", *c.handed_on], indent),
            "below": lambda indent: call(
                "return self._create_below", ["parent", "self.create", *c.handed_on], indent
            ),
            "created_below": lambda indent: call(
                "return self._create_children",
                ["parents", "self._create_many", *c.given_many],
                indent,
            ),
            "move_row": lambda indent: c.move_lines("data", indent),
        },
    )
    context: dict[str, Any] = {
        "c": c,
        "step": step,
        "imports_marker": MARKER,
        "layout_table": indented(table(c.layout).removesuffix("\n"), 4),
    }
    for name, subject in subjects.items():
        template = environment().get_template(f"policies/{name}.py.j2")
        step.templates[name] = template.make_module({**context, "it": subject})
    text = environment().get_template("component.py.j2").render(context)
    names = dict.fromkeys(c.enums, ".enums")
    if component.on is not None:
        grid = named(component.on.grid)
        names[f"{grid.name}Manager"] = f".{grid.module}"
    if component.sharded:
        names |= origins(SHARDS)
    if component.backend == "numba":
        names |= origins(COMPILED)
    return with_imports(text, names)
