"""Statements of a loop that find a row. A function for them would take ten times as long: numba
counts references to the arrays that it is given."""

from __future__ import annotations

from ecsgen.kernels.statements import FindRow
from ecsgen.model.typed_tree import HANDLE, Despawn
from ecsgen.render.kernel_methods.kernel_method import COMMANDS
from ecsgen.render.kernel_methods.row_sources import LookupKind
from ecsgen.render.loops.function_builder import array_type
from ecsgen.render.loops.loop_grids import GridParameters
from ecsgen.render.loops.row_loop import RowLoop
from ecsgen.render.loops.scalar_code import Code, Precedence, infix
from ecsgen.render.text.quoting import literal


class Lookups:
    """Lookups of a loop: handles to rows, and tests of what was despawned since."""

    def __init__(self, emit: RowLoop, grids: GridParameters) -> None:
        self.grids = grids
        self._emit = emit
        self._builder = emit.builder
        self.managers = emit.builder.source.managers
        self.known_rows: dict[str, tuple[str, str]] = {}
        """Component and row by the variables with handles that led to an existing row."""
        program = emit.builder.program
        self._mortal_rows = program.components_with_row_despawns
        targets = [step.target for step in program.actions]
        despawns = [target for target in targets if isinstance(target, Despawn)]
        self._despawns_entities = not all(despawn.component for despawn in despawns)

    def entity_alive_test(self, entity: str, slot: str = "") -> str:
        """Return the test that an entity has not been despawned since; "" if none is."""
        if not (self.grids.is_live and self._despawns_entities):
            return ""
        return f"not {self.marks('')}[{slot or self.slot_of(entity)}]"

    def despawned_rows(self, component: str) -> str:
        """Return the parameter with the marks of rows despawned since; "" if none is."""
        is_mortal = self.grids.is_live and component in self._mortal_rows
        return self.marks(component) if is_mortal else ""

    def marks(self, component: str) -> str:
        """Return the parameter with the marks of despawned entities by slot, or of rows."""
        if not component:
            return self._builder.handles("is_despawned", f"{COMMANDS}.is_despawned", "bool")
        module = self.managers.components[component].module
        passed = f"{COMMANDS}.is_row_despawned[{literal(module)}]"
        return self._builder.handles(f"{module}_gone", passed, "bool")

    def alive(self, entity: str, is_owner: bool = False) -> Code:
        """Return the test that an entity is alive; may write lines. `is_owner`: it has a row."""
        if self.managers.is_sharded:
            slot = self.slot_of(entity)
            alive = infix("!=", Precedence.COMPARISON, Code(slot), Code("NIL"))
            still = self.entity_alive_test(entity, slot)
        else:
            alive = self._current(entity, is_owner)
            still = self.entity_alive_test(entity)
        return infix("and", Precedence.AND, alive, Code(still)) if still else alive

    def slot_of(self, entity: str) -> str:
        """Return the expression for the slot of an entity that was alive before the kernel."""
        if not self.managers.is_sharded:
            return self._builder.number(f"{entity} & {self.mask}")
        slot = self._builder.names.allocate("living_slot")
        self._in_table("alive", "", slot, entity)
        return slot

    def _current(self, entity: str, is_owner: bool) -> Code:
        """Return the test that an entity was alive before the kernel; indices beyond the table read
        its last element."""
        passed = f"{self.managers.entities}.handles"
        handles = self._builder.handles("handles", passed)
        index = f"{entity} & {self.mask}"
        is_plain = self._builder.is_plain
        if not (is_owner and is_plain):  # compiled loops check no bounds
            last = f"len({handles}) - 1" if is_plain else f"np.uint64(len({handles}) - 1)"
            index = f"min({index}, {self._builder.hoist('last_handle', last)})"
        return Code(f"{handles}[{index}] == {entity}", Precedence.COMPARISON)

    def owner_alive_test(self, component: str, owner: str) -> str:
        """Return the test that a row's owner is alive, not computed if no entity is dead."""
        if self.managers.is_sharded:
            return f"({self.alive(owner).text})"
        alive = self._current(owner, is_owner=True).text
        clean = self.managers.no_dead_test(component)
        if self._builder.is_plain and not self.managers.is_world:
            clean = "self.are_all_alive()"  # takes less time than ten of these tests
        if clean:
            clean = self._builder.parameter("is_clean", "bool", clean)
            if self.managers.components[component].lookup == "direct":  # rows may be unowned
                clean += f" and {owner} != 0"
            alive = f"({clean} or {alive})"
        still = self.entity_alive_test(owner)
        return f"({alive} and {still})" if still else alive

    @property
    def mask(self) -> str:
        """Parameter with the bits of an entity that are its index."""
        kind, passed = "np.uint64", "np.uint64(INDEX_MASK)"
        if self._builder.is_plain:
            kind, passed = "int", "INDEX_MASK"
        return self._builder.parameter("handle_mask", kind, passed)

    def find(self, lookup: FindRow, row: str, handle: str, is_own: bool) -> None:
        """Set the variable `row` to the row that a handle leads to, or to NIL. Shards look up
        tables, since entities and ids may come from elsewhere. `is_own`: `handle` is Python's own
        number."""
        kind, component = self.managers.lookup_kind(lookup), lookup.row.component
        if self.known_rows.get(handle, ("", ""))[0] == component:
            self._emit.write(f"{self._builder.declared(row)} = {self.known_rows[handle][1]}")
            if test := self.entity_alive_test(handle):
                self._keep_if(f"{handle} != 0 and {test}", row)
            self._skip_despawned(component, row)
            return
        if self.managers.is_sharded:
            kind = "any" if lookup.handle.type.kind == "entity" else "any_id"
        match kind:
            case "sparse" | "direct":
                self._by_index(kind == "sparse", component, row, handle)
            case "cell":
                self._by_cell(component, row, handle, is_own)
            case "occupant":
                self._by_occupant(component, row, handle)
            case "id" | "living_id" | "direct_id":
                self._by_id(kind, component, row, handle)
            case _:
                self._in_table(kind, component, row, handle)
                if kind in ("hash", "any") and (test := self.entity_alive_test(handle)):
                    self._keep_if(f"{row} != NIL and {test}", row)
        self._skip_despawned(component, row, lookup.handle.type.kind == "entity")

    def _skip_despawned(self, component: str, row: str, is_of_entity: bool = True) -> None:
        """Skip rows despawned since: of several rows of an entity the next one is taken."""
        if not (marks := self.despawned_rows(component)):
            return
        head, instead = "if", "NIL"
        if self.has_many(component) and is_of_entity:
            head, instead = "while", self.next_of(component, row)
        with self._emit.block(f"{head} {row} != NIL and {marks}[{row}]"):
            self._emit.write(f"{row} = {instead}")

    def knows_chosen_row(self, component: str) -> bool:
        """Return True if the row of a randomly chosen entity is known."""
        return self.has_one(component) and not self.managers.is_sharded

    def has_one(self, component: str) -> bool:
        model = self.managers.components[component]
        return (model.owner, model.instances) == ("entity", "one")

    def has_many(self, component: str) -> bool:
        """Return True if an entity may have several rows of a component."""
        return self.managers.components[component].instances == "many"

    def next_of(self, component: str, row: str) -> str:
        """Return the expression for the next row of the same entity."""
        rows = self._array(component, "next", "u32", "{data}._next_column")
        return self._builder.number(f"{rows}[{row}]")

    def owner_of(self, component: str, row: str) -> str:
        return f"{self._owners(component)}[{row}]"

    def row_of_entity(self, component: str, name: str, entity: str) -> str:
        """Set a new variable `…_name` to the row of an entity that is alive, or to NIL."""
        row = self.first_row_before(component, name, entity)
        self._skip_despawned(component, row)
        return row

    def first_row_before(self, component: str, name: str, entity: str) -> str:
        """Set a new variable to the first row that an entity had before the kernel."""
        row = self._builder.names.allocate(f"{self.managers.components[component].module}_{name}")
        kind = self.managers.components[component].lookup
        if self.managers.is_sharded:
            self._in_table("any", component, row, entity)
        elif kind == "hash":
            self._in_table(kind, component, row, entity)
        else:
            self._by_index(kind == "sparse", component, row, entity)
        return row

    def null_despawned(self, component: str, handle: str, row: str) -> None:
        """Set the variable `handle` to 0 if its entity or row was despawned after the first
        turn."""
        marks = self.despawned_rows(component)
        tests = [self.entity_alive_test(handle)]
        if self.managers.components[component].owner == "none":
            prefix = self.managers.column_prefix(component)
            tests, row = [], self._builder.names.allocate(f"{prefix}_row")
            if marks:
                self._by_id("id", component, row, handle)
        if marks and row:
            tests.append(f"{row} != NIL and not {marks}[{row}]")
        if test := " and ".join(filter(None, tests)):
            with self._emit.block(f"if not ({test})"):
                self._emit.write(f"{handle} = {self._builder.zero(HANDLE).text}")

    def _by_cell(self, component: str, row: str, handle: str, is_own: bool) -> None:
        """Set `row` to the cell that the id names; Python's own numbers need no call."""
        cell = f"{handle} - FIRST_CELL" if is_own else f"cell_number({handle})"
        self._emit.write(f"{self._builder.declared(row)} = {cell}")
        self._keep_if(f"0 <= {row} < {self.grids.cells(component)}", row)

    def _by_occupant(self, component: str, row: str, handle: str) -> None:
        grids, on = self.grids, self.managers.components[component].on
        assert on is not None
        occupancy, cells = grids.occupancy(component), grids.cells(on.grid)
        occupant = f"first_occupant_{grids.when}({occupancy}, {handle}, {cells})"
        self._emit.write(f"{self._builder.declared(row)} = {occupant}")
        self._keep_if(f"{row} >= 0", row)

    def _by_index(self, is_sparse: bool, component: str, row: str, handle: str) -> None:
        """Set `row` from the index in `handle`, or a sparse array, if its owner is the handle."""
        emit, owners = self._emit, self._owners(component)
        number = self._builder.number
        emit.write(f"{self._builder.declared(row)} = {number(f'{handle} & {self.mask}')}")
        if is_sparse:
            rows = self._array(component, "rows", "u32", "{manager}._sparse")
            emit.write(f"{row} = {number(f'{rows}[{row}]')} if {row} < len({rows}) else NIL")
        is_there = f"{row} < len({owners}) and {owners}[{row}] == {handle}"
        self._keep_if(f"{is_there} and {self.owner_alive_test(component, handle)}", row)

    def _in_table(self, kind: LookupKind, component: str, row: str, handle: str) -> None:
        builder, emit, is_plain = self._builder, self._emit, self._builder.is_plain
        prefix = self.managers.column_prefix(component) if component else "living"
        manager = self.managers.manager(component) if component else self.managers.entities
        if kind == "hash":
            expression = f"{'live_row_map' if is_plain else 'live_row_table'}({manager})"
        else:
            keys = {"any": "living_keys", "any_id": "id_keys", "alive": "alive_keys"}[kind]
            expression = f"{keys}({manager})"
            expression = f"as_dict({expression})" if is_plain else f"open_table(*{expression})"
        name = f"{prefix}_{'ids' if kind == 'any_id' else 'table'}"
        table, prefix = f"_{name}", name.removesuffix("_table")
        builder.tables[table] = expression
        if is_plain:
            mapping = builder.parameter(name, "dict[Any, int]", table)
            emit.write(f"{row} = {mapping}.get({handle}, NIL)")
            return
        keys = builder.parameter(f"{prefix}_keys", array_type("u64"), f"{table}[0]")
        rows = builder.parameter(f"{prefix}_rows", array_type("i64"), f"{table}[1]")
        shift = builder.parameter(f"{prefix}_shift", "np.uint64", f"{table}[2]")
        emit.write(f"{builder.declared(row)} = np.int64({handle} * TABLE_FACTOR >> {shift})")
        with emit.block(f"while {keys}[{row}] != {handle} and {keys}[{row}] != 0"):
            emit.write(f"{row} = ({row} + 1) % len({keys})")
        emit.write(f"{row} = {rows}[{row}]")

    def _by_id(self, kind: LookupKind, component: str, row: str, handle: str) -> None:
        """Set `row` from an id: the slot's generation must match, and then the owner be alive; a
        direct id names the row itself."""
        emit = self._emit
        if kind == "direct_id":
            cells = self._owners(component)
        else:
            cells = self._array(component, "slots", "u32", "{data}._id_row_column[:{data}._peak]")
        generations = self._array(component, "generations", "u32", "{data}._id_generation_column")
        number = self._builder.number
        lower, upper = "0xFFFFFFFF", "32"
        if not self._builder.is_plain:
            lower, upper = f"np.uint64({lower})", f"np.uint64({upper})"
        emit.write(f"{self._builder.declared(row)} = {number(f'{handle} & {lower}')}")
        is_there = f"{row} < len({cells}) and {generations}[{row}] == {handle} >> {upper}"
        if kind == "direct_id":
            alive = self.owner_alive_test(component, f"{cells}[{row}]")
            self._keep_if(f"{is_there} and {alive}", row)
            return
        with emit.block(f"if {is_there}"):
            emit.write(f"{row} = {number(f'{cells}[{row}]')}")
        with emit.block("else"):
            emit.write(f"{row} = NIL")
        if kind == "living_id":
            alive = self.owner_alive_test(component, f"{self._owners(component)}[{row}]")
            self._keep_if(f"{row} != NIL and {alive}", row)

    def _keep_if(self, test: str, row: str) -> None:
        with self._emit.block(f"if not ({test})"):
            self._emit.write(f"{row} = NIL")

    def _owners(self, component: str) -> str:
        return self._array(component, "owners", "u64", "{data}._entity_column[:{data}._n]")

    def _array(self, component: str, name: str, scalar: str, passed: str) -> str:
        """Return the parameter for an array of a component's manager, or of its columns."""
        manager, data = self.managers.manager(component), self.managers.data(component)
        name = f"{self.managers.column_prefix(component)}_{name}"
        return self._builder.handles(name, passed.format(manager=manager, data=data), scalar)
