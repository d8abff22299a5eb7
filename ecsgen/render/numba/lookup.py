"""The statements of a compiled loop that find a row. A function for them would take ten times as
long: numba counts references to the arrays that it is given."""

from __future__ import annotations

from typing import Protocol

from ecsgen.render.kernels.finding import OtherManagers, Way
from ecsgen.render.numba.values import Emitter


class Tables(Protocol):
    """The parameters by which rows are found."""

    managers: OtherManagers
    is_plain: bool
    tables: dict[str, str]

    def array(self, name: str, scalar: str, passed: str) -> str: ...

    def parameter(self, name: str, annotation: str, passed: str) -> str: ...

    def declared(self, row: str) -> str: ...

    def living_in(self, component: str, owner: str) -> str: ...

    @property
    def mask(self) -> str: ...


class Lookup:
    """One lookup: sets the variable `row` to the row that a handle leads to, or to NIL."""

    def __init__(
        self, tables: Tables, emit: Emitter, component: str, row: str, handle: str
    ) -> None:
        managers = tables.managers
        self._tables = tables
        self._emit = emit
        self._component = component
        self._row = row
        self._handle = handle
        self._stem = managers.stem(component) if component else "living"
        self._data = managers.data(component) if component else ""
        self._manager = managers.manager(component) if component else managers.entities

    def write(self, way: Way) -> None:
        """Write the statements."""
        match way:
            case "sparse" | "direct":
                self._by_index(way == "sparse")
            case "hash":
                made = "rows_of_living" if self._tables.is_plain else "living_table"
                self._in_table(f"{self._stem}_table", f"{made}({self._manager})")
            case "any" | "any_id" | "alive":
                keys = {"any": "living_keys", "any_id": "id_keys", "alive": "alive_keys"}[way]
                made = "as_dict" if self._tables.is_plain else "open_table"
                spread = "" if self._tables.is_plain else "*"
                name = f"{self._stem}_{'ids' if way == 'any_id' else 'table'}"
                self._in_table(name, f"{made}({spread}{keys}({self._manager}))")
            case "direct_id":
                self._by_direct_id()
            case _:
                self._by_id(way == "living_id")

    def _by_index(self, is_sparse: bool) -> None:
        """The index is the row, or a sparse array tells the row; whose it is decides."""
        row, handle, emit, owners = self._row, self._handle, self._emit, self._owners
        emit.write(f"{self._declared} = np.int64({handle} & {self._tables.mask})")
        if is_sparse:
            rows = self._tables.array(f"{self._stem}_rows", "u32", f"{self._manager}._sparse")
            emit.write(f"{row} = np.int64({rows}[{row}]) if {row} < len({rows}) else NIL")
        is_there = f"{row} < len({owners}) and {owners}[{row}] == {handle}"
        if not is_sparse:  # where rows are nobody's, the owner is 0
            is_there += f" and {handle} != 0"
        self._keep_if(f"{is_there} and {self._living(handle)}")

    def _in_table(self, name: str, made: str) -> None:
        """A table, which the method makes, tells the row."""
        row, handle, emit, tables = self._row, self._handle, self._emit, self._tables
        table, stem = f"_{name}", name.removesuffix("_table")
        tables.tables[table] = made
        if tables.is_plain:
            found = tables.parameter(name, "dict[int, int]", table)
            emit.write(f"{row} = {found}.get({handle}, NIL)")
            return
        keys = tables.array(f"{stem}_keys", "u64", f"{table}[0]")
        rows = tables.array(f"{stem}_rows", "i64", f"{table}[1]")
        shift = tables.parameter(f"{stem}_shift", "np.uint64", f"{table}[2]")
        emit.write(f"{row} = np.int64({handle} * TABLE_FACTOR >> {shift})")
        with emit.block(f"while {keys}[{row}] != {handle} and {keys}[{row}] != 0"):
            emit.write(f"{row} = ({row} + 1) % len({keys})")
        emit.write(f"{row} = {rows}[{row}]")

    def _by_id(self, is_owned: bool) -> None:
        """The slot's generation decides, and then whether the owner is alive."""
        row, handle, emit, tables = self._row, self._handle, self._emit, self._tables
        passed = f"{self._data}._id_row_column[:{self._data}._peak]"
        rows, generations = tables.array(f"{self._stem}_slots", "u32", passed), self._generations
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
        """Whether the row's owner is alive, which need not be asked if nobody is dead."""
        return self._tables.living_in(self._component, owner)

    def _keep_if(self, test: str) -> None:
        with self._emit.block(f"if not ({test})"):
            self._emit.write(f"{self._row} = NIL")

    @property
    def _declared(self) -> str:
        """The variable as it stands where it is first set."""
        return self._tables.declared(self._row)

    @property
    def _owners(self) -> str:
        """The parameter with the owners of the rows in use."""
        passed = f"{self._data}._entity_column[:{self._data}._n]"
        return self._tables.array(f"{self._stem}_owners", "u64", passed)

    @property
    def _generations(self) -> str:
        passed = f"{self._data}._id_generation_column"
        return self._tables.array(f"{self._stem}_generations", "u32", passed)
