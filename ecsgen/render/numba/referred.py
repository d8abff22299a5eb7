"""Fields of other rows in compiled loops: the lookup is part of the loop, which waits for memory
alone."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from ecsgen.model.columns import split_parts
from ecsgen.model.programs import Exists, Expression, FieldValue, Local, Program, Referred, walk
from ecsgen.model.scalars import SCALARS
from ecsgen.render.kernels.finding import OtherManagers, Way, is_before
from ecsgen.render.numba.code import Code, Level, Names, infix
from ecsgen.render.numba.fields import Parameter, sum_text
from ecsgen.render.numba.lookup import Lookup
from ecsgen.render.numba.values import UNROLLED, Emitter, Value
from ecsgen.render.quoting import literal


class OtherRows:
    """What a loop reads of other rows, and the parameters that it needs for that."""

    def __init__(
        self,
        managers: OtherManagers,
        program: Program,
        names: Names,
        setup: list[str],
        is_plain: bool = False,
        annotated: AbstractSet[str] = frozenset(),
    ) -> None:
        self.parameters: dict[str, Parameter] = {}  # by what the method passes
        self.tables: dict[str, str] = {}
        """What the method calls tables that rows are found in, and how it makes them."""
        self.annotated = {*annotated}
        """The variables that have a type already, in this loop or one before it."""
        self.managers = managers
        self.is_plain = is_plain
        self._program = program
        self._names = names
        self._setup = setup
        self._last_handle = ""
        self._rows: dict[tuple[str, Expression], Code] = {}

    def value(self, emit: Emitter, node: Referred | Exists) -> Value:
        """What another row has, or whether it is there, after the statements that look it up."""
        if isinstance(node, Exists):
            found = self.row(emit, node)
            if node.component:
                found = infix("!=", Level.COMPARISON, found, Code("NIL"))
            return Value(node.type, lambda place: found)
        row = self.row(emit, node)
        there, default = self.cells(node, row.text, is_read=True), self._default(emit, node)
        held = emit.variables(node.type, *_wishes(f"their_{node.name}"))
        with emit.block(f"if {row.text} == NIL"):
            emit.store(default, held)
        with emit.block("else"):
            emit.store(there, held)
        return held

    def row(self, emit: Emitter, node: Referred | Exists) -> Code:
        """The variable with the row that a handle leads to; whether an entity is alive."""
        key = node.component, node.handle
        if key not in self._rows:
            handle = emit.kept(emit.value(node.handle)).at(0).text
            if node.component:
                name = self._names.take(*_wishes(f"{self.managers.stem(node.component)}_row"))
                self._rows[key] = Code(name)
                Lookup(self, emit, node.component, name, handle).write(self._way(node))
            else:
                self._rows[key] = emit.assign(self.alive(emit, handle), *_wishes("is_alive"))
        return self._rows[key]

    def _way(self, node: Referred | Exists) -> Way:
        """How a row is found: in tables where entities and ids may come from elsewhere."""
        if not self.managers.is_sharded:
            return self.managers.way(node)
        return "any" if node.handle.type.kind == "entity" else "any_id"

    def forget(self, target: FieldValue | Local) -> None:
        """Look rows up again whose handles are in a field or local that is assigned to."""
        if self._program.takes_turns and isinstance(target, FieldValue):
            self.forget_all()
        self._rows = {key: row for key, row in self._rows.items() if target not in walk(key[1])}

    def forget_all(self) -> None:
        """Look all rows up again: any handle may have changed."""
        self._rows = {}

    # --- parameters ------------------------------------------------------------------------------

    def alive(self, emit: Emitter, entity: str) -> Code:
        """Whether an entity is alive, perhaps after statements."""
        if not self.managers.is_sharded:
            return self.living(entity)
        place = self._names.take(*_wishes("living_place"))
        Lookup(self, emit, "", place, entity).write("alive")
        return infix("!=", Level.COMPARISON, Code(place), Code("NIL"))

    def living(self, entity: str) -> Code:
        """Whether an entity is alive; the last cell of handles stands for those behind it."""
        handles = self.array("handles", "u64", f"{self.managers.entities}._handles")
        if not self._last_handle:
            self._last_handle = self._names.take("last_handle")
            self._setup.append(f"{self._last_handle} = np.uint64(len({handles}) - 1)")
        place = f"min({entity} & {self.mask}, {self._last_handle})"
        return Code(f"{handles}[{place}] == {entity}", Level.COMPARISON)

    def has_holes(self, component: str) -> bool:
        """Whether rows may be nobody's."""
        return self.managers.components[component].lookup == "direct"

    def living_in(self, component: str, owner: str) -> str:
        """Whether the owner of a component's row is alive."""
        clean, living = self.managers.clean(component), self.living(owner).text
        return f"({self.parameter('is_clean', 'bool', clean)} or {living})" if clean else living

    @property
    def mask(self) -> str:
        """The parameter with the bits of an entity that are its index."""
        return self.parameter("handle_mask", "np.uint64", "np.uint64(INDEX_MASK)")

    def array(self, name: str, scalar: str, passed: str) -> str:
        """The parameter for an array."""
        return self.parameter(name, f"NDArray[{SCALARS[scalar].numpy}]", passed)

    def parameter(self, name: str, annotation: str, passed: str) -> str:
        """The parameter for what the method passes."""
        if passed not in self.parameters:
            self.parameters[passed] = Parameter(self._names.take(name), annotation, passed)
        return self.parameters[passed].name

    def declared(self, row: str) -> str:
        """The variable of a row where it is set; mypy refuses a second annotation."""
        if row in self.annotated:
            return row
        self.annotated.add(row)
        return f"{row}: Any"

    # --- cells -----------------------------------------------------------------------------------

    def cells(self, node: Referred, row: str, is_read: bool = False) -> Value:
        """The elements of a field in a row; to be read as they were before the kernel."""
        type_, managers = node.type, self.managers
        field = next(
            one for one in managers.components[node.component].fields if one.name == node.name
        )
        stem, columns = managers.stem(node.component), f"{managers.data(node.component)}._"
        if field.split:
            arrays = [
                self._column(node, is_read, f"{stem}_{part.name}", f"{columns}{part.name}_column")
                for part in split_parts(field)
            ]
            return Value(type_, lambda place: Code(f"{arrays[int(place)]}[{row}]"), True)
        name = f"{stem}_{field.name}"
        if not type_.shape:
            array = self._column(node, is_read, name, f"{columns}{field.name}_column")
            return Value(type_, lambda place: Code(f"{array}[{row}]"))
        array = self._column(node, is_read, name, f"{columns}{field.name}_flat")
        first = f"{type_.elements} * {row}"
        return Value(type_, lambda place: Code(f"{array}[{sum_text(first, place)}]"))

    def _column(self, node: Referred, is_read: bool, name: str, passed: str) -> str:
        """The parameter for a column; for reading a copy if the kernel writes it."""
        if is_read and is_before(node, self._program, self.managers.is_world):
            count = f"{self.managers.data(node.component)}._n"
            if passed.endswith("_flat"):
                count = f"{node.type.elements} * {count}"
            name, passed = f"{name}_before", f"{passed}[: {count}].copy()"
        return self.array(name, node.type.scalar, passed)

    def _default(self, emit: Emitter, node: Referred) -> Value:
        """What stands for a row that is not there."""
        type_ = node.type
        numbers = [emit.constants.of(one, type_.scalar) for one in node.default]
        if len({*map(repr, node.default)}) == 1:
            return Value(type_, lambda place: numbers[0])
        if len(numbers) <= UNROLLED:
            return Value(type_, lambda place: numbers[int(place)])
        array = self._names.take(f"without_{node.name}")
        elements = f"{literal(node.default)}, {SCALARS[type_.scalar].numpy}"
        emit.arrays.append(f"{array} = np.array({elements})")
        return Value(type_, lambda place: Code(f"{array}[{place}]"))


def _wishes(name: str) -> tuple[str, ...]:
    """A name, and numbered ones for when it is taken."""
    return (name, *(f"{name}{number}" for number in range(2, 100)))
