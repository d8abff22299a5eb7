"""The statements of a loop that find a row. A function for them would take ten times as long: numba
counts references to the arrays that it is given."""

from __future__ import annotations

from ecsgen.kernels.form import Find
from ecsgen.render.kernels.sources import OtherManagers, Way
from ecsgen.render.loops.code import Code, Level, Names, infix
from ecsgen.render.loops.columns import Columns
from ecsgen.render.loops.values import Emitter


class Lookups:
    """What a function finds rows by."""

    def __init__(
        self,
        columns: Columns,
        names: Names,
        managers: OtherManagers,
        setup: list[str],
        is_plain: bool,
    ) -> None:
        self.tables: dict[str, str] = {}
        """What the method calls tables that rows are found in, and how it makes them."""
        self.columns = columns
        self.managers = managers
        self.is_plain = is_plain
        self._names = names
        self._setup = setup
        self._annotated: set[str] = set()
        self._last_handle = ""

    def way(self, one: Find) -> Way:
        """How a row is found: in tables where entities and ids may come from elsewhere."""
        if not self.managers.is_sharded:
            return self.managers.way(one)
        return "any" if one.handle.type.kind == "entity" else "any_id"

    def declared(self, row: str) -> str:
        """The variable of a row where it is set; mypy refuses a second annotation."""
        if row in self._annotated:
            return row
        self._annotated.add(row)
        return f"{row}: Any"

    # --- who is alive ----------------------------------------------------------------------------

    def alive(self, emit: Emitter, entity: str) -> Code:
        """Whether an entity is alive, perhaps after statements."""
        if not self.managers.is_sharded:
            return self.living(entity)
        place = self._names.take(*numbered("living_place"))
        Lookup(self, emit, "", place, entity).write("alive")
        return infix("!=", Level.COMPARISON, Code(place), Code("NIL"))

    def living(self, entity: str) -> Code:
        """Whether an entity is alive; the last cell of handles stands for those behind it."""
        passed = f"{self.managers.entities}._handles"
        handles = self.columns.other_array("handles", "u64", passed)
        if not self._last_handle:
            self._last_handle = self._names.kept("last_handle")
            self._setup.append(f"{self._last_handle} = np.uint64(len({handles}) - 1)")
        place = f"min({entity} & {self.mask}, {self._last_handle})"
        return Code(f"{handles}[{place}] == {entity}", Level.COMPARISON)

    def living_in(self, component: str, owner: str) -> str:
        """Whether the owner of a component's row is alive, which need not be asked if nobody is
        dead."""
        clean, living = self.managers.clean(component), self.living(owner).text
        if not clean:
            return living
        return f"({self.columns.parameter('is_clean', 'bool', clean)} or {living})"

    @property
    def mask(self) -> str:
        """The parameter with the bits of an entity that are its index."""
        return self.columns.parameter("handle_mask", "np.uint64", "np.uint64(INDEX_MASK)")


class Lookup:
    """One lookup: sets the variable `row` to the row that a handle leads to, or to NIL."""

    def __init__(
        self, lookups: Lookups, emit: Emitter, component: str, row: str, handle: str
    ) -> None:
        managers = lookups.managers
        self._lookups = lookups
        self._columns = lookups.columns
        self._emit = emit
        self._component = component
        self._row = row
        self._handle = handle
        self._stem = managers.stem(component) if component else "living"
        self._data = managers.data(component) if component else ""
        self._manager = managers.manager(component) if component else managers.entities

    def write(self, way: Way) -> None:
        """Write the statements."""
        is_plain = self._lookups.is_plain
        match way:
            case "sparse" | "direct":
                self._by_index(way == "sparse")
            case "hash":
                made = "rows_of_living" if is_plain else "living_table"
                self._in_table(f"{self._stem}_table", f"{made}({self._manager})")
            case "any" | "any_id" | "alive":
                keys = {"any": "living_keys", "any_id": "id_keys", "alive": "alive_keys"}[way]
                made = "as_dict" if is_plain else "open_table"
                spread = "" if is_plain else "*"
                name = f"{self._stem}_{'ids' if way == 'any_id' else 'table'}"
                self._in_table(name, f"{made}({spread}{keys}({self._manager}))")
            case "direct_id":
                self._by_direct_id()
            case _:
                self._by_id(way == "living_id")

    def _by_index(self, is_sparse: bool) -> None:
        """The index is the row, or a sparse array tells the row; whose it is decides."""
        row, handle, emit, owners = self._row, self._handle, self._emit, self._owners
        emit.write(f"{self._declared} = np.int64({handle} & {self._lookups.mask})")
        if is_sparse:
            passed = f"{self._manager}._sparse"
            rows = self._columns.other_array(f"{self._stem}_rows", "u32", passed)
            emit.write(f"{row} = np.int64({rows}[{row}]) if {row} < len({rows}) else NIL")
        is_there = f"{row} < len({owners}) and {owners}[{row}] == {handle}"
        if not is_sparse:  # where rows are nobody's, the owner is 0
            is_there += f" and {handle} != 0"
        self._keep_if(f"{is_there} and {self._living(handle)}")

    def _in_table(self, name: str, made: str) -> None:
        """A table, which the method makes, tells the row."""
        row, handle, emit, columns = self._row, self._handle, self._emit, self._columns
        table, stem = f"_{name}", name.removesuffix("_table")
        self._lookups.tables[table] = made
        if self._lookups.is_plain:
            found = columns.parameter(name, "dict[Any, int]", table)
            emit.write(f"{row} = {found}.get({handle}, NIL)")
            return
        keys = columns.other_array(f"{stem}_keys", "u64", f"{table}[0]")
        rows = columns.other_array(f"{stem}_rows", "i64", f"{table}[1]")
        shift = columns.parameter(f"{stem}_shift", "np.uint64", f"{table}[2]")
        emit.write(f"{row} = np.int64({handle} * TABLE_FACTOR >> {shift})")
        with emit.block(f"while {keys}[{row}] != {handle} and {keys}[{row}] != 0"):
            emit.write(f"{row} = ({row} + 1) % len({keys})")
        emit.write(f"{row} = {rows}[{row}]")

    def _by_id(self, is_owned: bool) -> None:
        """The slot's generation decides, and then whether the owner is alive."""
        row, handle, emit = self._row, self._handle, self._emit
        passed = f"{self._data}._id_row_column[:{self._data}._peak]"
        rows = self._columns.other_array(f"{self._stem}_slots", "u32", passed)
        generations = self._generations
        emit.write(f"{self._declared} = np.int64({handle} & np.uint64(0xFFFFFFFF))")
        is_there = f"{row} < len({rows}) and {generations}[{row}] == {handle} >> np.uint64(32)"
        with emit.block(f"if {is_there}"):
            emit.write(f"{row} = np.int64({rows}[{row}])")
        with emit.block("else"):
            emit.write(f"{row} = NIL")
        if is_owned:
            owner = f"{self._owners}[{row}]"
            self._keep_if(f"{row} != NIL and {self._living(owner)}")

    def _by_direct_id(self) -> None:
        """An id names the row itself."""
        row, handle, owners = self._row, self._handle, self._owners
        self._emit.write(f"{self._declared} = np.int64({handle} & np.uint64(0xFFFFFFFF))")
        generation = f"{self._generations}[{row}] == {handle} >> np.uint64(32)"
        living = f"{owners}[{row}] != 0 and {self._living(f'{owners}[{row}]')}"
        self._keep_if(f"{row} < len({owners}) and {generation} and {living}")

    def _living(self, owner: str) -> str:
        return self._lookups.living_in(self._component, owner)

    def _keep_if(self, test: str) -> None:
        with self._emit.block(f"if not ({test})"):
            self._emit.write(f"{self._row} = NIL")

    @property
    def _declared(self) -> str:
        """The variable as it stands where it is first set."""
        return self._lookups.declared(self._row)

    @property
    def _owners(self) -> str:
        """The parameter with the owners of the rows in use."""
        passed = f"{self._data}._entity_column[:{self._data}._n]"
        return self._columns.other_array(f"{self._stem}_owners", "u64", passed)

    @property
    def _generations(self) -> str:
        passed = f"{self._data}._id_generation_column"
        return self._columns.other_array(f"{self._stem}_generations", "u32", passed)


def numbered(name: str) -> tuple[str, ...]:
    """A name, and numbered ones for when it is taken."""
    return (name, *(f"{name}{number}" for number in range(2, 100)))
