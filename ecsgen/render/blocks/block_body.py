"""Lowered kernels as ufuncs over blocks of rows: a method for each kind of statement.

A whole column of handles is looked up at once: each table is searched while it is in the cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import zip_longest
from textwrap import indent
from typing import Final

from ecsgen.kernels import statements as form
from ecsgen.kernels.random_numbers import count_draws
from ecsgen.model import typed_tree as tree
from ecsgen.model.typed_program import Program
from ecsgen.model.types import BOOL, Type
from ecsgen.render.blocks.array_values import (
    ArrayValue,
    Constants,
    ElementOrder,
    Views,
    cell_array,
    column_kind,
    kind_of,
    other_column,
)
from ecsgen.render.blocks.block_expressions import BlockEmitter, as_typed
from ecsgen.render.blocks.cell_questions import CellQuestions, is_of_cells_alone
from ecsgen.render.blocks.message_buffers import Outbox, make_outboxes
from ecsgen.render.blocks.pair_expressions import PAIRS, PairEmitter
from ecsgen.render.kernel_methods.kernel_method import COMMANDS
from ecsgen.render.kernel_methods.row_sources import ChunkSource, NeighbourJoin, RowSource
from ecsgen.render.text.formatting import call
from ecsgen.render.text.name_shadowing import add_placeholder
from ecsgen.render.text.quoting import comment_text, literal

_MASK: Final = "bool", (), ElementOrder.ROWS
_OF_METHODS: Final = ("data", "rows")
"""Variables of methods without an underscore, beside arguments and views."""
LIVING: Final = "_living"
"""Variable with the mask of a block's live rows."""

QUIET = 'with np.errstate(all="ignore"):'


class BlockBody:
    """Statements of a block: of a kernel, or of those of a pass one after the other."""

    def __init__(
        self,
        source: RowSource | ChunkSource,
        is_quiet: bool,
        asked: NeighbourJoin | None = None,
        taken: Iterable[str] = (),
    ) -> None:
        """`is_quiet`: numpy may warn of all statements; `taken`: names that fields do not get."""
        components = {**source.components, **(asked.components if asked is not None else {})}
        if asked is not None and asked.near.via is not None:
            components |= asked.links.components
        self.views = Views(components, source.managers, set(taken))
        self._has_whole = (
            isinstance(source, RowSource) and asked is None and source.variable == "_n"
        )
        """True if the rows are the first ones of several managers, in their order."""
        self.is_quiet = is_quiet
        self.gathered: set[tree.FieldValue] = set()
        """Fields of which the old value is needed; others are only overwritten."""
        self.written: set[str] = set()
        self._managers, self._source = source.managers, source
        self._arguments: dict[str, str] = {}
        self.constants, indent = Constants(), 16 if is_quiet else 12
        self.emit = BlockEmitter(self._view, self._arguments, self.constants, indent)
        self.pairs = PairEmitter(self.emit)
        self._rows: dict[form.RowVariable, ArrayValue] = {}
        self._columns: dict[str, str] = {}
        self._defaults: dict[str, str] = {}
        self._outboxes: list[Outbox] = []
        self._senders = ""
        self.stencils: Mapping[str, str] = {}
        """Expressions for the stencils of grids, by the name of the neighbourhood."""
        self.picked = ""
        """Index of the rows that a call names, after an array of all rows."""
        self._answers: set[str] = set()
        """Locals that hold aggregates over cells, which no step overwrites."""

    def add(
        self,
        kernel: form.LoweredKernel,
        arguments: Mapping[str, str],
        where: str = "",  # as the schema has it
        key: str = "_key",
        is_last: bool = True,
    ) -> None:
        """Write the statements of one kernel; `is_last`: none of another one follow."""
        program, emit = kernel.program, self.emit
        self._form, self._written = kernel, {step.target for step in program.actions}
        self._arguments.update(arguments)
        emit.locals_.clear()
        self._local_slots: dict[str, ArrayValue] = {}
        self._outboxes = make_outboxes(kernel.messages, self._managers)
        for outbox in self._outboxes:
            outbox.begin(emit, self._managers, program.paired_neighbourhood is not None)
        self._seen: dict[tree.FieldValue, None] = {}
        first = len(emit.lines)
        draws = program.stream_field is not None and program.effects.draws
        is_late = program.where is not None and not count_draws([program.where])
        if draws and not is_late:
            self._write_row_key(program, key)
        self._running = self._last = ""
        """Mask of rows that still run, "" if all live ones do; statement that restores cells."""
        self._masks: list[str] = []
        """Masks of the rows that still run, from the outermost block inwards."""
        self._depth = 0
        if program.has_commands:
            self._begin_commands(program)
        if kernel.where is not None:
            self._mask(kernel.head, kernel.where, where)
        statements = kernel.statements if kernel.where is None else kernel.body
        if kernel.where is not None and is_last:
            emit.write("if not _where.any():")
            emit.write("    continue")
        in_test = kernel.where is not None and not is_last
        with self.inside("if _where.any():") if in_test else nullcontext():
            first = len(emit.lines) if in_test else first
            if draws and is_late:  # rows that are left out need no numbers
                self._write_row_key(program, key)
            self._body(statements, first)
        self.written.update(program.effects.writes)
        self.gathered.update(field for field in self._seen if _needs_old_value(program, field))

    @contextmanager
    def inside(self, head: str) -> Iterator[None]:
        """Indent what is written meanwhile, below the head of a compound statement."""
        self.emit.write(head)
        self.emit.indent += 4
        yield
        self.emit.indent -= 4

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Turn off numpy's warnings for what is written meanwhile, before the loop as well."""
        before, first = self.emit.before, len(self.emit.before)
        with self.inside(QUIET):
            yield
        before[first:] = [f"{QUIET}\n{indent(line, '    ')}" for line in before[first:]]

    def _body(self, statements: Sequence[form.Statement], first: int) -> None:
        """Write the statements after the mask; `first`: the line where the block of code begins."""
        emit = self.emit
        if self._form.program.has_blocks:
            self._begin_masks()
        self._senders, self._heard = self._running, ""
        self._run(statements)
        if self._last:
            emit.write(self._last)
        for outbox in self._outboxes:
            outbox.end(emit, "" if self._are_picked else self._senders)
        if self._form.program.actions:
            self._pass_if_idle(first)

    @property
    def fields(self) -> list[tree.FieldValue]:
        """Fields that blocks have, those of parents last."""
        return sorted(self.views.seen, key=lambda field: field.owner == tree.PARENT)

    @property
    def values(self) -> list[ArrayValue]:
        """Values of the fields in a block."""
        return [self.views.value(field) for field in self.fields]

    def _view(self, field: tree.FieldValue) -> ArrayValue:
        if field.type.is_handle and field.name == tree.CELL_ID:
            field = replace(field, type=Type("u64"))
        elif field.type.is_handle and field.name == tree.ID_SLOT:
            slots = self._view(replace(field, type=Type("u32")))
            return self.emit.materialise("id", self._ids_of(slots, field.owner), "u64", False)
        self._seen[field] = None
        return self.views.value(field)

    def _write_row_key(self, program: Program, key: str) -> None:
        """Write the key of each row's random stream, before steps change the field."""
        field = program.stream_field
        assert field is not None
        for name in ("_row_keys", "_word", "_bits"):
            self.emit.working.named(ArrayValue(name, "u64", (), ElementOrder.ROWS))
        column = self._view(field).text
        if field.name == tree.ID_SLOT:
            column = self._ids_of(self._view(field), field.owner)
        self.emit.run("derive_stream_keys", column, key, "_row_keys", "_bits")

    def _ids_of(self, slots: ArrayValue, owner: str) -> str:
        return f"ids_of({slots.text}, {self._managers.data(owner)}._id_generation_column)"

    def _mask(self, head: Sequence[form.Statement], where: tree.Expression, text: str) -> None:
        """Write the mask of the rows that match, before the first step changes them."""
        slot = self._mask_slot("_where")
        self.emit.write(f"# where {comment_text(text)}")
        self._run(head)
        if self._form.program.has_commands:
            self._narrow("logical_and", self.emit.value(where))
        else:
            self._fill(where, slot)
            self._running = slot.text

    def _run(self, statements: Sequence[form.Statement]) -> None:
        for statement, following in zip_longest(statements, statements[1:]):
            match statement:
                case form.Comment():
                    self.emit.write(f"# {comment_text(statement.text)}")
                case form.FindRow():
                    self._rows[statement.row] = self._find_rows(statement)
                case form.RowExists():
                    self.emit.locals_[statement.to.name] = self._row_exists(statement)
                case form.ReadField():
                    self.emit.locals_[statement.to.name] = self._read(statement, following)
                case form.AggregateNeighbours() if statement.aggregate.near in self.stencils:
                    self.emit.locals_[statement.to.name] = self._aggregate_cells(statement)
                case form.AggregateNeighbours():
                    self.emit.locals_[statement.to.name] = self._aggregate(statement)
                case form.ChooseRandom():
                    self.emit.locals_[statement.to.name] = self._choose(statement)
                case form.SetLocal():
                    self._set(statement)
                case form.QueueDespawnSelf():
                    self._despawn(statement, is_last=statement is statements[-1])
                case form.QueueDespawn():
                    self._despawn_rows(statement)
                case form.QueueSpawn():
                    self._spawn(statement)
                case form.WriteField():
                    self._write_field(statement)
                case form.CheckAlive():
                    self._check_alive(statement)
                case form.SendMessage():
                    self._send(statement)
                case form.If():
                    self._branch(statement)
                case form.Jump():  # `return`: blocks have no loops
                    self._end_rows(self._running)

    # Branches

    @property
    def _are_picked(self) -> bool:
        """True if each message is sent by the rows that run then: some may have ended before."""
        return self._form.program.has_commands or self._form.program.has_blocks

    def _begin_masks(self) -> None:
        """Write the mask of the rows that run, if some may end early."""
        program = self._form.program
        statements = tree.walk_nested(self._form.body)
        if not (program.has_commands or any(isinstance(s, form.Jump) for s in statements)):
            return
        mask = self._mask_slot("_where").text
        if not self._running:
            self.emit.write(f"{mask}[...] = {LIVING if program.has_commands else 'True'}")
        self._running, self._masks = mask, [mask]

    def _mask_slot(self, name: str) -> ArrayValue:
        return self.emit.working.named(ArrayValue(name, *_MASK))

    def _branch(self, branch: form.If) -> None:
        """Write both sides, each for the rows that take it, if there are any."""
        emit, outer = self.emit, self._running
        self._depth += 1
        depth = self._depth if self._depth > 1 else ""
        then = self._mask_slot(f"_then{depth}")
        test = emit.value(branch.test, then)
        if outer:
            emit.run("np.logical_and", outer, as_typed(test), f"out={then.text}")
        elif test.text != then.text:
            emit.write(f"{then.text}[...] = {test.text}")
        emit.working.release(test)
        sides = [(then.text, branch.body)]
        if branch.otherwise:
            other = self._mask_slot(f"_else{depth}").text
            arguments = ["np.greater", outer] if outer else ["np.logical_not"]
            emit.run(*arguments, then.text, f"out={other}")
            sides.append((other, branch.otherwise))
        for self._running, block in sides:
            self._side(block)
        self._depth -= 1
        self._running = outer

    def _side(self, block: Sequence[form.Statement]) -> None:
        """Write a block for the rows that run, if there are any."""
        with self.inside(f"if {self._running}.any():"):
            first = len(self.emit.lines)
            self._masks.append(self._running)
            self._run(block)
            self._masks.pop()
            self._pass_if_idle(first)

    def _pass_if_idle(self, first: int) -> None:
        """Write `pass` if no step since the first line does anything, as in `x = x`."""
        if all(line.lstrip().startswith("#") for line in self.emit.lines[first:]):
            self.emit.write("pass")

    def _end_rows(self, ended: str) -> None:
        """Write that some rows run no further statement, in any block around."""
        for mask in self._masks:
            if mask != ended:  # of a block that ends here nothing follows
                self.emit.run("np.greater", mask, ended, f"out={mask}")

    def _fill(self, node: tree.Expression, slot: ArrayValue, mask: str = "") -> None:
        """Write a value, where a mask is true if there is one."""
        value = self.emit.value(node, None if mask else slot)
        if mask:
            self.emit.run("put_where", slot.text, mask, value.text)
        elif value.text != slot.text:
            self.emit.write(f"{slot.text}[...] = {value.text}")
        if value.text != slot.text:
            self.emit.working.release(value)

    def _set(self, statement: form.SetLocal) -> None:
        emit, layout = self.emit, self.emit.layout(statement.value)
        if statement.index or statement.items or self._is_set_apart(statement.to):
            self._set_for_some(statement)
            return
        is_alias = self._is_fixed(statement.value) or self._is_answer(statement)
        if layout is ElementOrder.UNIFORM or is_alias:
            emit.locals_[statement.to.name] = emit.value(statement.value).held
            return
        slot = self._slot_of(statement.to, layout)
        self._fill(statement.value, slot)
        emit.locals_[statement.to.name] = slot

    def _is_set_apart(self, local: tree.Local) -> bool:
        """Check that rows get a local from different statements, so that it needs memory."""
        program = self._form.program
        actions = [step for step in program.actions if step.target == local]
        is_in_parts = any(step.changes_part for step in actions)
        return is_in_parts or (program.has_blocks and len(actions) > 1)

    def _set_for_some(self, statement: form.SetLocal) -> None:
        """Write a local, or an element of it, for the rows that run."""
        local = statement.to
        slot = self._slot_of(local, kind_of(local.type)[2])
        if statement.items:
            self._put_item(statement, slot)
            return
        mask = "" if statement.is_new else self._running
        target = slot.part(statement.index) if statement.index else slot
        self._fill(statement.value, target, mask)
        self.emit.locals_[local.name] = slot

    def _slot_of(self, local: tree.Local, layout: ElementOrder) -> ArrayValue:
        """Return the memory of a local: that which it has, or one that fits its first value."""
        before, local_slot = self.emit.locals_.get(local.name), self._local_slots.get(local.name)
        if before is not None and local_slot is not None and before.text == local_slot.text:
            return local_slot
        type_ = local.type
        names = [f"_{number}_of_{local.name}" for number in range(2, 1000)]
        if local.name not in {*self._arguments, *_OF_METHODS}:  # of other kernels of the pass too
            names.insert(0, add_placeholder(local.name))
        kinds = (ArrayValue(name, type_.scalar, type_.shape, layout) for name in names)
        taken = {slot.text: slot for slot in self.emit.working.slots}
        wanted = next(value for value in kinds if taken.get(value.text, value) == value)
        self._local_slots[local.name] = self.emit.working.named(wanted)
        return wanted

    def _is_answer(self, statement: form.SetLocal) -> bool:
        """Check that a local is set once, to an aggregate over cells: another name for it."""
        targets, value = [step.target for step in self._form.program.actions], statement.value
        is_once = targets.count(statement.to) == 1
        return is_once and isinstance(value, tree.Local) and value.name in self._answers

    def _is_fixed(self, node: tree.Expression) -> bool:
        """Check that a value is a field that no step changes: a local is another name for it."""
        base = node.base if isinstance(node, tree.Element) else node
        return isinstance(base, tree.FieldValue) and base not in self._written

    def _target(self, statement: form.WriteField) -> ArrayValue:
        target = self._view(statement.to)
        return target.part(statement.index) if statement.index else target

    def _write_field(self, statement: form.WriteField) -> None:
        if statement.items:
            self._put_item(statement, self._view(statement.to))
        else:
            self._fill(statement.value, self._target(statement), self._running)

    def _put_item(self, statement: form.WriteField | form.SetLocal, target: ArrayValue) -> None:
        """Write an element at computed indices of each row that runs."""
        emit = self.emit
        parts = [emit.value(part) for part in (statement.value, *statement.items)]
        value, *indices = map(as_typed, parts)
        emit.run("put_items", target.text, value, self._running or "True", *indices)
        emit.working.release(*parts)

    def _aggregate_cells(self, statement: form.AggregateNeighbours) -> ArrayValue:
        """Compute an aggregate over cells, of whole columns before the loop if it can be."""
        emit, aggregate = self.emit, statement.aggregate

        def column(node: tree.NeighbourField) -> str:
            return self.views.column(
                tree.FieldValue(node.type, node.name, node.owner), is_kept=False
            )

        parts = self._grid(aggregate), self.stencils[aggregate.near], self.picked
        if is_of_cells_alone(aggregate):
            self._answers.add(statement.to.name)
        return CellQuestions(emit, column, *parts).answer(aggregate)

    def _grid(self, aggregate: tree.NeighbourAggregate) -> str:
        on = self._form.program.neighbourhood(aggregate.near).on
        assert on is not None
        return self._managers.manager(on.grid)

    def _find_rows(self, statement: form.FindRow) -> ArrayValue:
        """Write the rows of handles, NIL if there is none; of entities, whether they are alive."""
        emit, handle = self.emit, statement.handle
        if statement.row.component == tree.SETTINGS:
            return ArrayValue("ALL_ROWS", "i64", (), ElementOrder.UNIFORM)
        writes = self._form.program.effects.writes
        is_whole = self._has_whole and statement.row.component
        if isinstance(handle, tree.FieldValue) and is_whole and handle.text not in writes:
            all_handles = self.views.column(handle, "_n")
            rows = f"{self._lookup(statement, all_handles, 0)}{self.picked}"
            return emit.slice_per_block("led", rows, "i64")
        value = emit.value(handle)
        handles = f"np.atleast_1d({value.text})" if value.is_uniform else value.text
        if statement.row.component:
            rows = self._lookup(statement, handles, emit.indent)
            array = emit.materialise("theirs", rows, "i64", value.is_uniform)
        else:
            living = f"{self._managers.entities}.alive_many({handles})"
            array = emit.materialise("exists", living, "bool", value.is_uniform)
        emit.working.release(value)
        return array

    def _lookup(self, statement: form.FindRow, handles: str, indent: int) -> str:
        managers, component = self._managers, statement.row.component
        manager, kind = managers.manager(component), managers.lookup_kind(statement)
        if kind == "cell":
            return f"rows_of_cells({handles}, len({manager}))"
        if kind == "id":
            return f"{manager}.resolve_many({handles})"
        clean = managers.no_dead_test(component)
        arguments = [manager, handles, *([clean] if clean else [])]
        whose = "ids" if kind in ("living_id", "direct_id") else "entities"
        return call(f"rows_of_live_{whose}", arguments, indent).lstrip()

    def _row_exists(self, statement: form.RowExists) -> ArrayValue:
        rows = self._rows[statement.row]
        if not statement.row.component:
            return rows
        return self.emit.materialise("exists", f"{rows.text} != NIL", "bool", rows.is_uniform)

    def _read(self, statement: form.ReadField, following: form.Statement | None) -> ArrayValue:
        emit, type_, rows = self.emit, statement.field.type, self._rows[statement.field.row]
        if items := statement.field.items:
            field = replace(statement.field, items=())
            cells = self._read(replace(statement, field=field), None)
            return emit.item(statement.to.type, cells, items)
        column, default = self._column(statement), self._default(statement)
        if rows.is_uniform:
            arguments = ", ".join([column, rows.text, default])
            return emit.uniform(f"other_cells({arguments})", type_.scalar, type_.shape)
        out = self._gathered_into(statement, following)
        emit.run("take_others", column, rows.text, default, out.text)
        return out

    def _gathered_into(
        self, statement: form.ReadField, following: form.Statement | None
    ) -> ArrayValue:
        """Return the array for cells: the target of the next statement if it fits, and is written
        for all rows."""
        type_ = statement.field.type
        component = self._managers.components[statement.field.row.component]
        kind = column_kind(component, statement.field.name, type_)
        target: ArrayValue | None = None
        match following:
            case form.WriteField(value=statement.to) if not self._running:
                target = self._target(following)
            case form.SetLocal(value=statement.to) if not self._running:
                target = self._slot_of(following.to, kind[2])
        if target is None or target.kind != kind:
            return self.emit.working.acquire(kind)
        # a row of a matrix has another layout in memory
        is_part_of_matrix = target.shape and not target.text.isidentifier()
        return self.emit.working.acquire(kind) if is_part_of_matrix else target.held

    def _column(self, statement: form.ReadField) -> str:
        """Return the variable with a whole column: a copy if the kernel writes it."""
        managers, field = self._managers, statement.field
        component = field.row.component
        name = f"{managers.column_prefix(component).replace('other', '_all', 1)}_{field.name}"
        if name not in self._columns:
            rows = f" {managers.data(component)}._n" if statement.from_copy else ""
            text = other_column(managers, component, field, rows)
            if statement.from_copy:
                is_turned = text.startswith("rows_last(")
                text = f"{text[:-1]}.copy())" if is_turned else f"{text}.copy()"
            self._columns[name] = text
            self.emit.before.append(f"{name} = {text}")
        return name

    def _default(self, statement: form.ReadField) -> str:
        """Return the value that is read of a row that does not exist."""
        type_ = statement.field.type
        if len({*map(repr, statement.default)}) == 1:
            return literal(statement.default[0])
        array = cell_array(statement.default, type_)
        if array not in self._defaults:
            self._defaults[array] = self.emit.uniform(array, type_.scalar, type_.shape).text
        return self._defaults[array]

    def _choose(self, statement: form.ChooseRandom) -> ArrayValue:
        """Write a random choice of rows, which are listed when the first block needs them."""
        emit, manager = self.emit, self._managers.manager(statement.chosen.component)
        chooser = emit.uniform(f"Choosing({manager})", "u64").text
        out = emit.working.acquire(kind_of(statement.to.type))
        arguments = ["_row_keys", str(statement.chosen.number), out.text, "_word", "_bits"]
        emit.run(f"{chooser}.choose", *arguments)
        return out

    def _begin_commands(self, program: Program) -> None:
        """Write the mask of live rows: rows of dead entities do not run."""
        identity = program.identity
        assert identity is not None  # a column that every row has
        arguments = [self._view(identity).text]
        if program.may_be_dead:
            component = self._managers.components[identity.owner]
            clean = self._managers.no_dead_test(component.name)
            is_known = clean and component.lookup != "direct"
            arguments.append(self.emit.uniform(clean, "bool").text if is_known else "False")
            targets = dict.fromkeys(step.target for step in program.actions)
            fields = [field for field in targets if isinstance(field, tree.FieldValue)]
            if fields and program.where is None and not program.has_blocks:
                # all rows run: nearly always none is dead, and masks take several times as long
                arguments += [self._view(field).text for field in fields]
                self._last = f"{COMMANDS}.restore_dead_cells()"
        self.emit.run(f"{LIVING} = {COMMANDS}.begin_block", *arguments)
        mortal = "", *program.components_with_row_despawns
        self._kinds = {name: number for number, name in enumerate(mortal)}
        """Numbers of components, "" for entities, with which their despawns are queued."""

    def _narrow(self, ufunc: str, by: ArrayValue) -> None:
        slot = self._mask_slot("_where")
        self.emit.run(f"np.{ufunc}", self._running or LIVING, as_typed(by), f"out={slot.text}")
        self._running = slot.text
        self.emit.working.release(by)

    def _both(self, left: ArrayValue, right: ArrayValue) -> ArrayValue:
        mask = self.emit.working.acquire(("bool", (), ElementOrder.ROWS))
        self.emit.run("np.logical_and", left.text, right.text, f"out={mask.text}")
        self.emit.working.release(left, right)
        return mask

    def _queue(self, method: str, number: int, test: ArrayValue, *values: str) -> None:
        """Write a command for the rows that still run and pass a test."""
        arguments = [str(number), self._running or LIVING, as_typed(test), *values]
        self.emit.run(f"{COMMANDS}.{method}", *arguments)

    def _despawn(self, statement: form.QueueDespawnSelf, is_last: bool) -> None:
        """Queue the death of the row or its entity; none of the row's steps follows."""
        identity = self._form.program.identity
        assert identity is not None
        is_row = identity.name != tree.ENTITY
        entities = "None" if is_row else self._view(identity).text
        test = self.emit.value(statement.test)
        self._queue("despawn", self._kinds[identity.owner] if is_row else 0, test, entities)
        if self._masks:
            self._end_rows(self._both(ArrayValue(self._running, *_MASK), test).text)
        elif is_last:
            self.emit.working.release(test)
        else:
            self._narrow("greater", test)

    def _despawn_rows(self, statement: form.QueueDespawn) -> None:
        """Queue the death of another row, if it exists; after its own a row has no steps."""
        emit, identity, rows = self.emit, self._form.program.identity, self._rows[statement.row]
        assert identity is not None
        component, own_rows = statement.row.component, ""
        exists = form.RowExists(tree.Local(BOOL, ""), statement.row)
        targets, test = rows.text, self._row_exists(exists)
        if not component:
            targets = emit.value(statement.handle).text
            own_rows = self._view(identity).text if identity.name == tree.ENTITY else ""
        elif component in self._source.components:
            assert isinstance(self._source, RowSource)
            members = f"member_row_array({self._source.rows(component)}){self.picked}"
            own_rows = emit.slice_per_block("own_rows", members, "i64").text
        mask = self._both(test, emit.value(statement.test))
        self._queue("despawn", self._kinds[component], mask, targets)
        if own_rows:
            is_own = self._both(mask, ArrayValue(f"{targets} == {own_rows}", *_MASK))
            if self._masks:
                self._end_rows(self._both(ArrayValue(self._running, *_MASK), is_own).text)
            else:
                self._narrow("greater", is_own)
        else:
            emit.working.release(mask)

    def _spawn(self, statement: form.QueueSpawn) -> None:
        spawned = (value for row in statement.instances for _, value in row.values)
        parts = [*([] if statement.handle is None else [statement.handle]), *spawned]
        values = [self.emit.value(part) for part in parts]
        test = self.emit.value(statement.test)
        self._queue("spawn", statement.number, test, *(as_typed(value) for value in values))
        self.emit.working.release(test, *values)

    def _aggregate(self, statement: form.AggregateNeighbours) -> ArrayValue:
        emit, pairs, aggregate = self.emit, self.pairs, statement.aggregate
        pairs.indent = emit.indent
        out = emit.working.acquire(kind_of(statement.to.type))
        selected, arguments = self._selected_pairs(aggregate), list[str]()
        method = "choice" if aggregate.is_random else aggregate.function
        if aggregate.weight is not None:
            arguments.append("0")  # a single one is left
        elif aggregate.is_random:
            drawn = emit.working.acquire(("i64", (), ElementOrder.ROWS))
            operands = [f"{selected}.counts", drawn.text, "_word", "_bits"]
            emit.run("draw_range", "_row_keys", str(aggregate.number), *operands)
            arguments.append(drawn.text)
            emit.working.release(drawn)
        value = None if aggregate.value is None else pairs.value(aggregate.value)
        arguments.append("True" if value is None else value.text)
        emit.run(f"{selected}.{method}", *arguments, out.text)
        if value is not None:
            pairs.working.release(value)
        if aggregate.none is not None:
            none = emit.value(aggregate.none)
            emit.run("put_where", out.text, f"{selected}.counts == 0", none.text)
            emit.working.release(none)
        return out

    def _selected_pairs(self, aggregate: tree.NeighbourAggregate) -> str:
        """Return the variable with the pairs of an aggregate: all, or selected ones."""
        selected, pairs = PAIRS, self.pairs
        if aggregate.where is not None:
            value = pairs.value(aggregate.where)
            self.emit.write(f"_selected = {selected}.where({value.text})")
            pairs.working.release(value)
            selected = "_selected"
        choose = "np.fmax" if aggregate.function == "max_by" else "np.fmin"
        for number, key in enumerate(aggregate.keys):
            value = pairs.value(key)
            arguments = [choose, as_typed(value), str(number == 0)]
            self.emit.write(f"_selected = {selected}.best({', '.join(arguments)})")
            pairs.working.release(value)
            selected = "_selected"
        if aggregate.weight is not None:
            drawn = self.emit.working.acquire(("f64", (), ElementOrder.ROWS))
            parts = ["_row_keys", str(aggregate.number), drawn.text, "_word", "_bits"]
            self.emit.run("draw_random", *parts)
            weight = pairs.value(aggregate.weight)
            self.emit.write(f"_selected = {selected}.weighted({as_typed(weight)}, {drawn.text})")
            pairs.working.release(weight)
            self.emit.working.release(drawn)
            selected = "_selected"
        return selected

    def _check_alive(self, statement: form.CheckAlive) -> None:
        """Write the mask of senders: neither rows that `where` leaves out, nor of dead entities."""
        managers, component = self._managers, statement.identity.owner
        living = f"{managers.entities}.alive_many({self._view(statement.identity).text})"
        living = f"{self._senders} & {living}" if self._senders else living
        clean = managers.no_dead_test(component) if component else ""
        if clean and managers.components[component].lookup != "direct":
            everyone = self._senders or self._form.program.has_blocks or None
            living = f"{everyone} if {clean} else {living}"
        self._senders = self.emit.materialise("heard", living, "bool", False).text
        self._heard = self._senders if self._form.program.has_blocks else ""

    def _send(self, statement: form.SendMessage) -> None:
        emit, rows = self.emit, self._rows[statement.to.row]
        identity = self._form.program.identity
        assert identity is not None
        identities = self._view(identity).text  # a column that every row has
        to = f"np.broadcast_to({rows.text}, {identities}.shape)" if rows.is_uniform else rows.text
        value, senders = emit.value(statement.value), self._senders
        if self._are_picked:
            living = LIVING if self._form.program.has_commands else ""
            masks = " & ".join(filter(None, (self._running or living, self._heard)))
            to, senders = f"np.where({masks}, {to}, NIL)" if masks else to, ""
        for outbox in self._outboxes:
            if statement in outbox.sends:
                outbox.send(emit, statement, to, value, senders)
        emit.working.release(value)


def _needs_old_value(program: Program, field: tree.FieldValue) -> bool:
    """Check that a kernel depends on a row's old value: it does not if it only overwrites it."""
    if field == program.stream_field or (field == program.identity and program.may_be_dead):
        return True
    parts = any(step.target == field and step.changes_part for step in program.actions)
    has_mask = program.where is not None or program.has_commands or program.has_blocks
    return parts or has_mask or field.text in program.effects.reads
