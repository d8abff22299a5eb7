"""The examples of docs/how-do-i-say.md run, and do to a small world what their last line says.

That line is `# BEFORE → AFTER`: columns of the kernel's component or `Component.column`, and
arguments of the call. Entities are numbered as they come, cells as their rows; `~` is nobody.
`Bullet: 8` says how many rows a component has after the call.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from textwrap import indent
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import yaml

from ecsgen.config import Backend
from tests.house.test_docs import KIND, blocks
from tests.support.world_package import world_package

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-do-i-say.md"
OUTCOME = re.compile(r"^# (.*) → (.*)\n", re.MULTILINE)
TEXTS = [block.text for block in blocks(PAGE, "yaml")]
CONTEXT = [text for text in TEXTS if KIND.search(text)]
EXAMPLES = {text.partition(":")[0]: text for text in TEXTS if text not in CONTEXT}
HANDLES = {"friend", "goal", "hit_by", "cell", "bank", "one", "two"}
FIRST = 2**32
"""The handle of a world's first entity, and the id of a grid's first cell."""


@cache
def package(backend: Backend) -> ModuleType:
    """Build the page's schemas, with all examples as kernels of the world, which comes last."""
    schemas = "---\n".join(CONTEXT) + indent("".join(EXAMPLES.values()), "  ")
    return world_package(schemas, f"said_{backend}", backend)


def test_examples_are_many_and_short() -> None:
    assert len(EXAMPLES) == len(TEXTS) - len(CONTEXT) >= 40  # no two have the same name
    lengths = {name: OUTCOME.sub("", text).count("\n") for name, text in EXAMPLES.items()}
    assert not {name for name, length in lengths.items() if not 3 <= length <= 10}


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_do_what_their_last_lines_say(name: str, backend: Backend) -> None:
    kernel = yaml.safe_load(EXAMPLES[name])[name]
    outcome = OUTCOME.search(EXAMPLES[name])
    texts = outcome.groups() if outcome else ("", "")
    before, after = (yaml.safe_load(f"{{{text}}}") for text in texts)
    arguments = {key: to_handles(key, before.pop(key)) for key in kernel.get("args", {})}
    town = package(backend).Town()
    if not outcome:  # left to chance
        town.spawn(3, **{kernel["over"].lower(): {}})
    for key, values in before.items():
        component, column = place(key, kernel["over"])
        manager = getattr(town, component)
        if component == "knows" and not len(manager):
            manager.create_many(len(values))
        elif component != "patch" and not len(manager):
            town.spawn(len(values), **{component: {}})
        setattr(manager.data, column, to_handles(column, values))
    getattr(town, name)(**arguments)
    for key, expected in after.items():
        component, column = place(key, kernel["over"])
        if isinstance(expected, int):
            assert len(getattr(town, key.lower())) == expected
        else:
            values = getattr(getattr(town, component).data, column)
            np.testing.assert_allclose(values, to_handles(column, expected), 0, 1e-12)


def place(key: str, over: str) -> tuple[str, str]:
    """Return the attribute of the world and the column that a key of an outcome means."""
    component, _, column = key.rpartition(".")
    return (component or over).lower(), column


def to_handles(column: str, values: Any) -> Any:
    """Return values as they are, and numbers of entities and cells as handles."""
    if column not in HANDLES:
        return values
    if isinstance(values, list):
        return [to_handles(column, value) for value in values]
    return 0 if values is None else FIRST + values
