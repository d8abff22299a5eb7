"""What an expression is in generated numpy code, and the working memory that holds it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

Shape = tuple[int, ...]


class Layout(Enum):
    """How the elements of a value lie in memory."""

    UNIFORM = "the same for every row"
    ROWS = "one number per row"
    TOGETHER = "a row's elements lie together, as in the columns of shaped fields"
    PLANES = "an element of all rows lies together, as in split fields"


@dataclass(frozen=True, slots=True)
class Slot:
    """Working memory of one block: `name` has the shape (*shape, rows)."""

    name: str
    scalar: str
    shape: Shape
    layout: Layout

    @property
    def value(self) -> Value:
        return Value(self.name, self.scalar, self.shape, self.layout, self)


@dataclass(frozen=True, slots=True)
class Value:
    """A value that the generated code has at hand."""

    text: str
    scalar: str
    shape: Shape
    layout: Layout
    slot: Slot | None = None  # the working memory that it lives in, if nobody else needs it
    is_literal: bool = False  # a Python number, which takes the type of what it meets

    @property
    def is_uniform(self) -> bool:
        return self.layout is Layout.UNIFORM

    @property
    def held(self) -> Value:
        """The same value, which is not used up by reading it."""
        return replace(self, slot=None)

    def is_free_for(self, scalar: str, shape: Shape, layout: Layout) -> bool:
        """Whether a result of that kind may take the place of this value."""
        slot = self.slot
        if slot is None or slot.name != self.text:
            return False
        return (slot.scalar, slot.shape, slot.layout) == (scalar, shape, layout)

    def element(self, *index: int) -> str:
        """The expression for an element."""
        return f"{self.text}[{', '.join(map(str, index))}]"

    def part(self, index: Shape) -> Value:
        """An element, or what is left of the shape behind a few indices."""
        shape = self.shape[len(index) :]
        if self.layout is Layout.UNIFORM:
            layout = Layout.UNIFORM
        else:
            layout = Layout.PLANES if shape else Layout.ROWS
        return Value(self.element(*index), self.scalar, shape, layout, self.slot)


@dataclass(slots=True)
class Working:
    """Gives out working memory, and takes it back for the next that fits."""

    stem: str = "_tmp"
    slots: list[Slot] = field(default_factory=list)
    _free: list[Slot] = field(default_factory=list)
    _unnamed: int = 0

    def take(self, scalar: str, shape: Shape, layout: Layout) -> Slot:
        """Memory for a value until it is given back."""
        for slot in self._free:
            if (slot.scalar, slot.shape, slot.layout) == (scalar, shape, layout):
                self._free.remove(slot)
                return slot
        self._unnamed += 1
        name = self.stem if self._unnamed == 1 else f"{self.stem}{self._unnamed}"
        return self.named(name, scalar, shape, layout)

    def named(self, name: str, scalar: str, shape: Shape, layout: Layout) -> Slot:
        """Memory for as long as the kernel runs."""
        slot = Slot(name, scalar, shape, layout)
        self.slots.append(slot)
        return slot

    def give_back(self, *values: Value) -> None:
        """Let the memory of values be used again."""
        for value in values:
            if value.slot is not None and value.slot not in self._free:
                self._free.append(value.slot)
