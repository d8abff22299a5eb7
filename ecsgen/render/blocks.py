"""Blocks: what each active feature's template says at a step, put one after another."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ecsgen.render.environment import NOTHING


class Step:
    """The active features' blocks: `step("moved_one", 8)` is their text, one after another,
    indented."""

    def __init__(self) -> None:
        self.modules: dict[str, Any] = {}

    def __call__(self, block: str, indent: int) -> str:
        """Return one block of every active feature that has it."""
        text = "".join(indented(macro(), indent) for macro in self._macros(block))
        return text.removesuffix("\n") or " " * indent + NOTHING

    def inline(self, block: str, before: str = "") -> str:
        """Return one-line blocks as a part of a line, with `before` in front of each."""
        return "".join(before + macro().strip() for macro in self._macros(block))

    def names(self, block: str) -> list[str]:
        """Return the names that a block of annotations declares."""
        return sorted(line.split(":")[0] for line in self(block, 0).splitlines() if ":" in line)

    def _macros(self, block: str) -> list[Callable[[], str]]:
        return [getattr(m, block) for m in self.modules.values() if hasattr(m, block)]


def indented(text: str, indent: int) -> str:
    """Return a text whose lines stand further in."""
    pad = " " * indent
    return "".join(pad + line if line.strip() else line for line in text.splitlines(keepends=True))


def without_nothing(text: str) -> str:
    """Return a text without the lines at which no feature had anything to say."""
    return re.sub(f"^ *{NOTHING}\n", "", text, flags=re.MULTILINE)
