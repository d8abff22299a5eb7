"""The schemas in `kernels/interpreted/`, each about one topic, and what the interpreter says of a
kernel of any schema."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np
import pytest
import yaml
from ecsgen_testing.drawn_worlds import DrawnWorld
from ecsgen_testing.kernel_cases import KernelComparison, check_kernel

from ecsgen.config import Backend
from tests.reference.world_comparison import Match
from tests.support.reference_schemas import read
from tests.support.world_package import world_package

FILES = sorted((Path(__file__).parents[1] / "kernels" / "interpreted").glob("*.yaml"))
TOPICS = {path.stem: path.read_text(encoding="utf-8") for path in FILES}
IN_TURNS = {
    f"{topic}_in_turns": re.sub(r"(over: \w+)(, |\n +)", r"\1\2turns: rows\2", TOPICS[topic])
    for topic in ("additions", "items")
}
"""Schemas of the same kernels, in row order."""
IN_LOOPS = {
    f"{topic}_in_loops": re.sub(
        r"(    steps: \|\n)((?: {6}.*\n)+)",
        lambda block: f"{block[1]}      for turn in range(1):\n{indent(block[2], '  ')}",
        TOPICS[topic],
    )
    for topic in ("vector_functions",)
}
"""Schemas of the same steps in a loop of one pass: then nothing is at once any more."""
CHANGES = re.compile(r"\b(spawn|die|destroy|add|remove)\(")
WORLDS = (0, 17), (1, 2), (2, 33)
"""Seeds of worlds, and how many rows each has: first as many as are several blocks."""
IN_WORLDS = pytest.mark.parametrize(
    "worlds", [WORLDS[:1], pytest.param(WORLDS[1:], marks=pytest.mark.soak)]
)


def kernels(text: str) -> list[str]:
    """Return the names of a schema's kernels, those of components behind these."""
    return [
        f"{document['component']}.{name}" if "component" in document else name
        for document in yaml.load_all(text, yaml.CBaseLoader)
        for name in document.get("kernels", {})
    ]


def world_of(text: str, name: str, backend: Backend) -> Any:
    """Return the class of a schema's world, in a package of this name."""
    return getattr(world_package(text, f"{name}_{backend}", backend), read(text).world_name)


def check(
    text: str, name: str, backend: Backend, kernel: str, worlds: Sequence[tuple[int, int]]
) -> None:
    """Compare a kernel with the interpreter, in worlds drawn at random."""
    world, schema = world_of(text, name, backend), read(text)
    for seed, rows in worlds:
        check_kernel(world, schema, kernel, rows, seed)
    has_chunks = any(component.is_chunked for component in schema.components.values())
    if not has_chunks and CHANGES.search(schema.kernel(kernel).text):
        for seed, rows in worlds:
            check_changes(world, text, kernel, rows, seed)


def check_changes(world: Any, text: str, name: str, rows: int, seed: int) -> None:
    """Compare who is born and dies, and which components come and go, with what the interpreter
    makes of it: `check_kernel` leaves that to the library."""
    schema = read(text)
    kernel = schema.kernel(name)
    drawn = DrawnWorld(world, schema, [kernel], np.random.default_rng(seed))
    drawn.add_rows(rows)
    keywords = KernelComparison(drawn, kernel, seed).call().keywords
    arguments = {key: value for key, value in keywords.items() if not kernel.args[key].is_each}
    Match(drawn.world, text, seed).play(name, **arguments)
