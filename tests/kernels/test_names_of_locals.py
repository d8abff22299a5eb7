"""Names of locals: those that managers, columns and functions have are free in kernels."""

from __future__ import annotations

import ast

import pytest

from ecsgen.config import BACKENDS, Backend
from ecsgen.kernels.operations import AGGREGATES, CONSTANTS, FUNCTIONS
from ecsgen.schema.names import FIELD_NAMES
from tests.support.interpreted_schemas import check, kernels
from tests.support.world_package import checked, load, sources

WORDS = {word for words in FIELD_NAMES.values() for word in words} | {"np", "list", "range", "tick"}
FREE = sorted((WORDS | {*FUNCTIONS, *AGGREGATES, *CONSTANTS}) - {"entity", "settings"})
OFTEN = ["n", "rows", "count", "data", "active", "next", "parent", "newer", "id_slot", "max", "np"]

STEPS = {
    "blocks": ("{0} = x * dt", "if {0} > 1: y = max(norm(v), {0} + 1)", "x = {0}"),
    "follow": ("{0} = friend", "{0}.Node.z += x", "y = {0}.Node.x"),
    "loop": ("{0} = x * dt", "for i in range(3): {0} += f64(i)", "y = max({0}, min(x, 2))"),
    "count": ("for {0} in range(3): y += f64({0})",),
    "send": ("{0} = Node.x + 1", "Node.friend.Node.z += {0}", "if {0} > 2: die()"),
}
"""Steps of each kernel with a local; with several, each step is done with all of them."""
KEYS = {"blocks": "args: {dt: f64}", "loop": "args: {dt: f64}, turns: rows", "send": "over: Node"}


def texts(number: int, names: list[str], *which: str) -> str:
    """Return kernels with locals of all these names."""
    text = ""
    for kernel in which:
        steps = [f"'{step.format(name)}'" for step in STEPS[kernel] for name in names]
        head = f"{KEYS[kernel]}, " if kernel in KEYS else ""
        text += f"  {kernel}_{number}: {{{head}steps: [{', '.join(steps)}]}}\n"
    return text


def schema_with(groups: list[list[str]]) -> str:
    fields = "{x: f64, y: f64, z: f64, v: 'f32[2]', friend: entity}"
    text = f"component: Node\nids: true\npartition: {{start: active}}\nfields: {fields}\nkernels:\n"
    for number, names in enumerate(groups):
        text += texts(number, names, "blocks", "follow", "loop", "count")
    text += "---\nworld: Play\nkernels:\n"
    return text + "".join(texts(number, names, "send") for number, names in enumerate(groups))


@pytest.mark.parametrize(
    ("backend", "groups"),
    [
        *((backend, [OFTEN]) for backend in BACKENDS),
        pytest.param("numpy", [FREE[k::8] for k in range(8)], marks=pytest.mark.soak),
    ],
)
def test_locals_have_names_of_managers_columns_and_functions(
    backend: Backend, groups: list[list[str]]
) -> None:
    text = schema_with(groups)
    for kernel in kernels(text):
        check(text, f"names_of_locals_{len(groups)}", backend, kernel, worlds=((0, 9),))


def test_blocks_give_each_variable_one_meaning() -> None:
    """A local is no variable of the method: to a type checker these have one type each."""
    text = sources(load(schema_with([["data"], ["rows"]])))["node.py"]
    methods = [m for m in ast.walk(ast.parse(text)) if isinstance(m, ast.FunctionDef)]
    for method in (m for m in methods if m.name in ("blocks_0", "blocks_1")):
        loops = [node for node in ast.walk(method) if isinstance(node, ast.For)]
        bound = {n.id for loop in loops for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
        assert bound.isdisjoint(("data", "rows")), method.name


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ("self = x\n      x = self", "kernels have 'self'"),
        ("settings = x\n      x = settings", "kernels have 'settings'"),
        ("for entity in range(3):\n          x += 1", "kernels have 'entity'"),
        ("Mood = x\n      x = Mood\n      mood = Mood.calm", "the kernel names an enum 'Mood'"),
        ("Node = x\n      x = Node\n      x = friend.Node.x + Node.x", "a component 'Node'"),
    ],
)
def test_what_stands_in_the_way_is_named(steps: str, why: str) -> None:
    enum = "enum: Mood\nvalues: [calm, afraid]\n---\n"
    fields = "{x: f64, mood: Mood, friend: entity}"
    head = f"{enum}component: Node\nfields: {fields}\nkernels:\n"
    first, *_ = checked(f"{head}  go:\n    steps: |\n      {steps}\n")[1]
    assert first.code == "E102"
    assert why in first.message


def test_names_that_the_kernel_does_not_mean_are_free() -> None:
    enum = "enum: Mood\nvalues: [calm, afraid]\n---\n"
    head = f"{enum}component: Node\nfields: {{x: f64}}\nkernels:\n"
    load(f"{head}  go: {{steps: ['Mood = x', 'Node = Mood * 2', 'x = Node']}}\n")


def test_parent_is_the_languages_own_word_where_rows_have_one() -> None:
    head = "component: Node\nfields: {x: f64}\n"
    kernels = "kernels: {go: {steps: ['parent = x * 2', 'x = parent']}}\n"
    load(head + kernels)
    first, *_ = checked(f"{head}hierarchy: {{orphans: root}}\n{kernels}")[1]
    assert first.code == "E805"
