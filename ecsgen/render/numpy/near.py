"""A kernel that asks neighbours: cell by cell, on rows that are gathered."""

from __future__ import annotations

from ecsgen.model.programs import ENTITY, Argument, FieldValue
from ecsgen.render.calls import call, collection
from ecsgen.render.kernels.method import for_macro
from ecsgen.render.numpy.method import KernelMethod, cells_of
from ecsgen.render.numpy.questions import PairEmitter
from ecsgen.render.numpy.values import Slot
from ecsgen.render.quoting import literal


class NearMethod(KernelMethod):
    """The method of such a kernel. All fields are working memory of a block."""

    made = "NearBlocks"
    is_quiet = True

    @property
    def names(self) -> list[str]:
        fields = [self._views.value(field).text for field in self.fields]
        slots = [slot.name for slot in (*self.slots, *self._paired)]
        each = [argument.text for argument in self.each]
        return ["_pairs", *fields, *self._asked.asked.values(), *slots, *each]

    @property
    def blocks(self) -> str:
        values = [f"rows_last({argument.whole})" for argument in self.each]
        return f"_blocks.beside({', '.join(values)})" if values else "_blocks"

    @property
    def views(self) -> list[str]:
        return []

    @property
    def lookup(self) -> list[str]:
        named = f"None if rows is None else {self.chosen}.rows"
        if self.each:
            named = "None if _chosen is None else _chosen.rows"
        given = [literal(self.name), self._radius, self.stamp, named]
        found = call("_search = self._search", given, 8)
        given = ["_search", *(["self._owners_near()"] if self._takes_owners else [])]
        return [
            for_macro(found).lstrip(),
            f"_blocks = data._{self.name}_blocks({', '.join(given)})",
        ]

    @property
    def kept(self) -> list[str]:
        return []

    @property
    def good(self) -> str:
        return "good for one call"

    @property
    def cut_parameters(self) -> str:
        return f"self, search: NearSearch{', owners: EntityArray' if self._takes_owners else ''}"

    @property
    def _takes_owners(self) -> bool:
        """Whether owners of rows and ghosts come from the manager."""
        return self._component.hides_owners and any(one.name == ENTITY for one in self._asked.asked)

    @property
    def cut_body(self) -> list[str]:
        given = ["search", "columns", "others", "working", "paired"]
        return [
            for_macro(collection("columns = ", [self._column(one) for one in self.fields], 8)),
            for_macro(collection("others: tuple[OtherColumn, ...] = ", self._others, 8)),
            self.working,
            cells_of("paired", self._paired),
            for_macro(call("return NearBlocks", given, 8)),
        ]

    @property
    def _asked(self) -> PairEmitter:
        questions = self.statements.questions
        assert questions is not None
        return questions.pairs

    @property
    def _paired(self) -> list[Slot]:
        """The working memory of pairs."""
        return self._asked.working.slots

    @property
    def _radius(self) -> str:
        near = self._program.near
        assert near is not None
        if isinstance(near.radius, Argument):
            return next(one.text for one in self.arguments if one.name == near.radius.name)
        return literal(near.radius)

    def _column(self, field: FieldValue) -> str:
        is_written = field.text in self._program.effects.writes
        used = [literal(self.is_gathered(field)), literal(is_written)]
        cells = self._views.column(field, self._holder(field.owner))
        return f"NearColumn({', '.join([cells, *used])})"

    def _holder(self, component: str) -> str:
        return "self"

    @property
    def _others(self) -> list[str]:
        """The neighbours' columns."""
        fields = [FieldValue(one.type, one.name, one.owner) for one in self._asked.asked]
        return [self._other(field) for field in fields]

    def _other(self, field: FieldValue) -> str:
        cells = self._views.column(field, self._holder(field.owner))
        return f"OtherColumn({self._owners(field) or cells})"

    def _owners(self, field: FieldValue) -> str:
        """The expression for owners of rows and ghosts, where one column does not have them."""
        return "owners" if field.name == ENTITY and self._takes_owners else ""
