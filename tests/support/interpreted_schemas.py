"""The schemas in `kernels/interpreted/`, each about one topic, and what the interpreter says of a
kernel of any schema."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from textwrap import indent
from typing import Any

import yaml
from ecsgen_testing.kernel_cases import check_kernel

from ecsgen.config import Backend
from tests.support.reference_schemas import read
from tests.support.world_package import world_package

FILES = sorted((Path(__file__).parents[1] / "kernels" / "interpreted").glob("*.yaml"))
TOPICS = {path.stem: path.read_text(encoding="utf-8") for path in FILES}
IN_TURNS = {
    f"{topic}_in_turns": re.sub(r"(over: \w+)(, |\n +)", r"\1\2turns: rows\2", TOPICS[topic])
    for topic in ("additions", "items")
}
"""The same kernels, in row order."""
IN_LOOPS = {
    f"{topic}_in_loops": re.sub(
        r"(    steps: \|\n)((?: {6}.*\n)+)",
        lambda block: f"{block[1]}      for turn in range(1):\n{indent(block[2], '  ')}",
        TOPICS[topic],
    )
    for topic in ("vector_functions",)
}
"""The same steps in a loop of one pass: what is at once then no more is."""
SIZES = 2, 33, 33
"""How many rows there are, by the seed of a world."""


def kernels(text: str) -> list[str]:
    """The names of a schema's kernels, those of components behind these."""
    return [
        f"{document['component']}.{name}" if "component" in document else name
        for document in yaml.load_all(text, yaml.CBaseLoader)
        for name in document.get("kernels", {})
    ]


def world_of(text: str, name: str, backend: Backend) -> Any:
    """The class of a schema's world, in a package of this name."""
    return getattr(world_package(text, f"{name}_{backend}", backend), read(text).world_name)


def check(
    text: str, name: str, backend: Backend, kernel: str, sizes: Sequence[int] = SIZES
) -> None:
    """Compare a kernel with the interpreter, in worlds drawn at random."""
    world = world_of(text, name, backend)
    for seed, rows in enumerate(sizes):
        check_kernel(world, read(text), kernel, rows, seed)
