"""What a policy is given to say what becomes of it: the rows of before, and where they go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..facts import Columns, Facts, FieldFacts
from ..saved import Document
from .fields import FieldMaker
from .old import OldComponent
from .rows import RowPlan


@dataclass(frozen=True)
class Evolving:
    """A policy of a component of an old schema, and what is to become of it."""

    facts: Facts
    old: OldComponent
    doc: Document
    """What the new schema says of the component."""
    plan: RowPlan
    owners: NDArray[np.uint64]
    """In new rows, in the new handles."""

    @property
    def had(self) -> bool:
        """Whether the policy applied before."""
        return not self.old.is_chunked and self.facts.applies(self.old.doc)

    @property
    def stays(self) -> bool:
        """Whether all that it had stays as it is."""
        return self.had and self.plan.stays

    def number(self, name: str) -> int:
        """Return one of the policy's numbers as it was."""
        found: int = self.old.numbers.get(name, self.facts.numbers[name].at_first)
        return found


@dataclass(frozen=True)
class EvolvingField:
    """A policy of a field, and the field's cells in a new schema."""

    facts: FieldFacts
    maker: FieldMaker
    component: str
    name: str
    plan: RowPlan
    columns: Columns

    @property
    def had(self) -> bool:
        """Whether the policy applied before."""
        former = self.maker.names.former(self.component, self.name)
        return former is not None and bool(self._old.fields[former].get(self.facts.key))

    @property
    def is_untouched(self) -> bool:
        """Whether every cell stays as it is."""
        return self.maker.is_untouched(self.component, self.name)

    @property
    def cells(self) -> NDArray[Any]:
        """The cells of the instances, in the order of the new rows."""
        cells = self.columns[f"{self._doc['module']}.{self.name}"]
        return cells if self.plan.at is None else cells[self.plan.at]

    @property
    def type(self) -> str:
        """The new type of the field."""
        text: str = self._doc["fields"][self.name]["type"]
        return text

    def refuse(self, why: str, row: int) -> NoReturn:
        """Raise SnapshotError that names an old row."""
        self._old.saved.refuse(why, f"{self._old.module}.{self.name}", row)

    @property
    def _doc(self) -> Document:
        found: Document = self.maker.names.schema["components"][self.component]
        return found

    @property
    def _old(self) -> OldComponent:
        return self.maker.names.old(self.component)
