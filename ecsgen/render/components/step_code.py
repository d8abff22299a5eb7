"""Statements of the active policies at each step of a method, and expressions for slots."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ecsgen.model import Component
from ecsgen.policies.policy import ComponentFeature, Policy
from ecsgen.policies.steps import STEPS

# Replacements of `{…}` in statements of policies. With shards, an entity has a slot in the entity
# manager, as another shard's index may be in use here; and ids have a shard.
_BY_INDEX: Final = {
    "slot_of_row": "data._entity_cells[row] & INDEX_MASK",
    "slot_of_dst": "data._entity_cells[dst] & INDEX_MASK",
    "is_worn_out": "data._id_generation_cells[row] == EXHAUSTED_GENERATION",
    "next_generation": "data._id_generation_cells[row] += 1",
    "next_generations": "data._id_generation_column[rows] += 1",
}
_BY_SLOT: Final = {
    "slot_of_row": "self._entities.slot(data._entity_cells[row])",
    "slot_of_dst": "self._entities.slot(data._entity_cells[dst])",
    "is_worn_out": "data._is_exhausted(row)",
    "next_generation": "data._next_generation(row)",
    "next_generations": "data._next_generations(rows)",
}


def slot_words(component: Component) -> Mapping[str, str]:
    """Return the replacements of `{…}` in statements of policies."""
    return _BY_SLOT if component.is_sharded else _BY_INDEX


ONE_ROW = {n: n.lstrip("_") for n in ("accessors", "create", "create_many", "_destroy_row")}
"""Names of methods in `ManagerParts`, by their names in `STEPS`."""

_PLACEHOLDER = re.compile(r"^( *)<(\w+)>$")


class StepRenderer:
    """Renderer of steps: `step("update_moved_one", 8)` is the text of all policies there, indented.

    `words` replace `{…}` in the policies' statements, `pieces` lines `<…>` that are no steps.
    """

    def __init__(
        self,
        component: Component,
        parts: Sequence[ComponentFeature],
        words: Mapping[str, str],
        pieces: Mapping[str, Callable[[int], str]],
    ) -> None:
        self.templates: dict[str, Any] = {}
        """Templates of features, by the features' names."""
        self._component = component
        self._parts = parts
        self._words = words
        self._pieces = pieces

    def __call__(self, step: str, indent: int) -> str:
        return "".join(self._texts(step, indent))

    def features_by_method(self) -> dict[str, list[str]]:
        """Return the features that have a step in each method for one row."""
        names_by_method: dict[str, list[str]] = {}
        for part in self._parts:
            for method in dict.fromkeys(s.method for s in STEPS if self._acts(part, s.name)):
                names_by_method.setdefault(method, []).append(part.name)
        return {name: names_by_method.get(key, []) for key, name in ONE_ROW.items()}

    def _acts(self, part: ComponentFeature, step: str) -> bool:
        block = getattr(self.templates.get(part.name), step, None)
        return block is not None or bool(self._call(part, step))

    def _call(self, part: ComponentFeature, step: str) -> str:
        return part.code_for(step, self._component) if isinstance(part, Policy) else ""

    def _texts(self, step: str, indent: int) -> list[str]:
        texts = []
        for part in self._parts:
            if call := self._call(part, step):
                texts += [self._line(line, indent) for line in call.splitlines()]
            if block := getattr(self.templates.get(part.name), step, None):
                texts.append(indented(block(), indent))
        return texts

    def _line(self, line: str, indent: int) -> str:
        """Return one line of a call, or the text of its placeholder."""
        placeholder = _PLACEHOLDER.match(line)
        if placeholder is None:
            for word, text in self._words.items():
                line = line.replace(f"{{{word}}}", text)
            return f"{' ' * indent}{line}\n" if line else "\n"
        pad, name = placeholder.groups()
        indent += len(pad)
        piece = self._pieces.get(name)
        return self(name, indent) if piece is None else f"{piece(indent)}\n"


def indented(text: str, indent: int) -> str:
    """Return a text with its lines indented further."""
    pad = " " * indent
    return "".join(pad + line if line.strip() else line for line in text.splitlines(keepends=True))
