"""Fields of other rows in numpy: rows are looked up for a block, and their cells gathered.

Rows to which a column of handles leads are looked up for all rows at once, where that column is at
hand: tables are searched one after the other then, and each is in the cache meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable

from ecsgen.model.programs import (
    Exists,
    Expression,
    FieldValue,
    Local,
    Program,
    Referred,
    walk,
)
from ecsgen.model.scalars import SCALARS
from ecsgen.render.calls import call
from ecsgen.render.kernels.finding import OtherManagers, is_before
from ecsgen.render.numpy.expressions import Emitter
from ecsgen.render.numpy.values import Layout, Shape, Value
from ecsgen.render.numpy.views import FieldViews
from ecsgen.render.quoting import literal


class OtherCells:
    """What a kernel reads of other rows."""

    def __init__(
        self, managers: OtherManagers, program: Program, whole: Callable[[FieldValue], str]
    ) -> None:
        self._managers = managers
        self._program = program
        self._whole = whole
        self._columns: dict[str, str] = {}
        self._defaults: dict[tuple[object, ...], str] = {}
        self._found: dict[tuple[str, Expression], Value] = {}

    def layout(self, emit: Emitter, node: Referred | Exists) -> Layout:
        """The layout that the value will have."""
        if not self._column_of(node.handle) and emit.layout(node.handle) is Layout.UNIFORM:
            return Layout.UNIFORM
        if isinstance(node, Exists) or not node.type.shape:
            return Layout.ROWS
        return Layout.PLANES if self._is_split(node) else Layout.TOGETHER

    def value(self, emit: Emitter, node: Referred | Exists, target: Value | None) -> Value:
        """What another row has, or whether it is there, after the statements that look it up."""
        if isinstance(node, Exists):
            return self._exists(emit, node)
        column, default = self._column(emit, node), self._default(emit, node)
        rows = self.rows(emit, node)
        scalar, shape = node.type.scalar, node.type.shape
        if rows.is_uniform:
            return emit.uniform(f"other_cells({column}, {rows.text}, {default})", scalar, shape)
        layout = self.layout(emit, node)
        kind = scalar, shape, layout
        if target is not None and _is_whole(target, kind):
            out = target.held
        else:
            out = emit.working.take(*kind).value
        emit.run("take_others", column, rows.text, default, out.text)
        return out

    def rows(self, emit: Emitter, node: Referred | Exists) -> Value:
        """The rows that handles lead to, NIL where they lead to none; found once."""
        key = node.component, node.handle
        if key not in self._found:
            if whole := self._column_of(node.handle):
                self._found[key] = emit.cut("led", self._lookup(node, whole, 0), "i64")
                return self._found[key]
            handle = emit.value(node.handle)
            found = self._lookup(node, _several(handle), emit.indent)
            self._found[key] = emit.made("theirs", found, "i64", handle.is_uniform)
            emit.working.give_back(handle)
        return self._found[key]

    def _lookup(self, node: Referred | Exists, handles: str, indent: int) -> str:
        """The expression for the rows to which handles lead."""
        managers = self._managers
        manager, way = managers.manager(node.component), managers.way(node)
        if way == "id":
            return f"{manager}.resolve_many({handles})"
        clean = managers.clean(node.component)
        given = [manager, handles, *([clean] if clean else [])]
        found = "living_id_rows" if way in ("living_id", "direct_id") else "living_rows"
        if managers.is_sharded:
            found = f"{found}_here"
        return call(found, given, indent).lstrip()

    def _column_of(self, handle: Expression) -> str:
        """The expression for the handles of all rows; nothing where they differ as rows run."""
        if not isinstance(handle, FieldValue) or handle.text in self._program.effects.writes:
            return ""
        return self._whole(handle)

    def forget(self, target: FieldValue | Local) -> None:
        """Look rows up again whose handles are in a field or local that is assigned to."""
        self._found = {
            key: found for key, found in self._found.items() if target not in walk(key[1])
        }

    def _exists(self, emit: Emitter, node: Exists) -> Value:
        if node.component:
            rows = self.rows(emit, node)
            return emit.made("exists", f"{rows.text} != NIL", "bool", rows.is_uniform)
        handle = emit.value(node.handle)
        found = f"{self._managers.entities}.alive_many({_several(handle)})"
        made = emit.made("exists", found, "bool", handle.is_uniform)
        emit.working.give_back(handle)
        return made

    def _column(self, emit: Emitter, node: Referred) -> str:
        """The variable with a whole column: a copy if the kernel writes it."""
        managers = self._managers
        stem = managers.stem(node.component).replace("other", "_all", 1)
        name = f"{stem}_{node.name}"
        if name not in self._columns:
            component, holder = managers.components[node.component], managers.data(node.component)
            columns = f"{managers.manager(node.component)}.LAYOUT"
            given = FieldValue(node.type, node.name)
            is_copied = is_before(node, self._program, managers.is_world)
            rows = f" {holder}._n" if is_copied else ""
            text = FieldViews(component).column(given, holder, rows, columns)
            if is_copied:
                is_turned = text.startswith("rows_last(")
                text = f"{text[:-1]}.copy())" if is_turned else f"{text}.copy()"
            self._columns[name] = text
            emit.before.append(f"{name} = {text}")
        return name

    def _default(self, emit: Emitter, node: Referred) -> str:
        """What stands for a row that is not there."""
        if len({*map(repr, node.default)}) == 1:
            return literal(node.default[0])
        key = repr(node.default), node.type
        if key not in self._defaults:
            shape = ", ".join(map(str, (*node.type.shape, 1)))
            dtype = SCALARS[node.type.scalar].numpy
            array = f"{call('np.array', [literal(node.default), dtype], 0)}.reshape({shape})"
            made = emit.uniform(array, node.type.scalar, node.type.shape)
            self._defaults[key] = made.text
        return self._defaults[key]

    def _is_split(self, node: Referred) -> bool:
        fields = self._managers.components[node.component].fields
        return next(field for field in fields if field.name == node.name).split


def _is_whole(target: Value, kind: tuple[str, Shape, Layout]) -> bool:
    """Whether cells can be gathered there: a row of a matrix has another layout in memory."""
    is_part_of_matrix = target.shape and not target.text.isidentifier()
    return not is_part_of_matrix and (target.scalar, target.shape, target.layout) == kind


def _several(handle: Value) -> str:
    """The expression for handles as an array."""
    return f"np.atleast_1d({handle.text})" if handle.is_uniform else handle.text
