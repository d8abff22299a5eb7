"""Forms as ufuncs over blocks of rows: a method for each kind of statement.

Rows to which a column of handles leads are looked up for all rows at once, where that column is at
hand: tables are searched one after the other then, and each is in the cache meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import zip_longest
from textwrap import indent
from typing import Final

from ecsgen.kernels import statements as form
from ecsgen.kernels.random_numbers import count_draws
from ecsgen.model import typed_tree as tree
from ecsgen.model.types import BOOL
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
from ecsgen.render.blocks.block_expressions import PAIRS, BlockEmitter, PairEmitter, as_typed
from ecsgen.render.blocks.message_buffers import Outbox, make_outboxes
from ecsgen.render.kernel_methods.kernel_method import COMMANDS
from ecsgen.render.kernel_methods.row_sources import ChunkSource, NeighbourJoin, RowSource
from ecsgen.render.text.formatting import call
from ecsgen.render.text.name_shadowing import add_placeholder
from ecsgen.render.text.quoting import comment_text, literal

LIVING: Final = "_living"
"""The variable with the mask of a block's rows that are not of the dead."""

QUIET = 'with np.errstate(all="ignore"):'


class BlockBody:
    """The statements of a block: of a kernel, or of those of a pass one after the other."""

    def __init__(
        self,
        source: RowSource | ChunkSource,
        is_quiet: bool,
        asked: NeighbourJoin | None = None,
        taken: Iterable[str] = (),
    ) -> None:
        """`is_quiet`: numpy may warn of all of it; `taken`: names that fields do not get."""
        components = {**source.components, **(asked.components if asked is not None else {})}
        self.views = Views(components, source.managers, set(taken))
        self._has_whole = (
            isinstance(source, RowSource) and asked is None and source.variable == "_n"
        )
        """Whether the rows are the first ones of several managers, in their order."""
        self.is_quiet = is_quiet
        self.gathered: set[tree.FieldValue] = set()
        """Fields of which a row's own value counts, and not only what is written over it."""
        self.written: set[str] = set()
        self._managers, self._source = source.managers, source
        self._arguments: dict[str, str] = {}
        self.constants, indent = Constants(), 16 if is_quiet else 12
        self.emit = BlockEmitter(self._view, self._arguments, self.constants, indent)
        self.pairs = PairEmitter(self.emit)
        self._rows: dict[form.RowVariable, ArrayValue] = {}
        self._columns: dict[str, str] = {}
        self._defaults: dict[str, str] = {}
        self._posts: list[Outbox] = []
        self._heard = ""
        self.stencils: Mapping[str, str] = {}
        """What cells around are asked by, by the name of their neighbourhood."""
        self.picked = ""
        """What picks the rows that a call names out of all."""
        self._answers: set[str] = set()
        """Locals that nobody writes over: answers of cells around."""

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
        self._form, self._written = kernel, {step.target for step in program.steps}
        self._arguments.update(arguments)
        emit.locals_.clear()
        self._own: dict[str, ArrayValue] = {}
        sends = [one for one in kernel.body if isinstance(one, form.SendMessage)]
        self._posts = make_outboxes(sends, self._managers)
        for post in self._posts:
            post.begin(emit, self._managers, program.single_neighbourhood is not None)
        self._seen: dict[tree.FieldValue, None] = {}
        first = len(emit.lines)
        draws = program.stream_field is not None and program.effects.draws
        is_late = program.where is not None and not count_draws([program.where])
        if draws and not is_late:
            self._write_row_key(program, key)
        self._running = self._last = ""
        """The mask of the rows that have steps, nothing if all that live have; and the statement
        that puts back cells of others."""
        if program.has_commands:
            self._begin_fates(program)
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
        self.gathered.update(field for field in self._seen if _counts(program, field))

    @contextmanager
    def inside(self, head: str) -> Iterator[None]:
        """Write what follows behind the head of a compound statement."""
        self.emit.write(head)
        self.emit.indent += 4
        yield
        self.emit.indent -= 4

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Write what numpy may warn of, while what surrounds it is not quiet, nor what is done
        before the loop."""
        before, first = self.emit.before, len(self.emit.before)
        with self.inside(QUIET):
            yield
        before[first:] = [f"{QUIET}\n{indent(line, '    ')}" for line in before[first:]]

    def _body(self, statements: Sequence[form.Statement], first: int) -> None:
        """What stands behind the mask; `first`: the line with which the block of code begins."""
        emit = self.emit
        self._heard = self._running
        self._run(statements)
        if self._last:
            emit.write(self._last)
        for post in self._posts:
            post.end(emit, "" if self._form.program.has_commands else self._heard)
        is_idle = all(line.lstrip().startswith("#") for line in emit.lines[first:])
        if is_idle and self._form.program.steps:
            emit.write("pass")  # no step does anything, as in `x = x`

    @property
    def fields(self) -> list[tree.FieldValue]:
        """The fields that blocks have, those of parents behind."""
        return sorted(self.views.seen, key=lambda field: field.owner == tree.PARENT)

    @property
    def values(self) -> list[ArrayValue]:
        """What they are there."""
        return [self.views.value(field) for field in self.fields]

    def _view(self, field: tree.FieldValue) -> ArrayValue:
        self._seen[field] = None
        return self.views.value(field)

    def _write_row_key(self, program: tree.Program, key: str) -> None:
        """What tells rows apart is read before the steps, which may change it."""
        who = program.stream_field
        assert who is not None
        for name in ("_stem", "_word", "_bits"):
            self.emit.working.named(ArrayValue(name, "u64", (), ElementOrder.ROWS))
        found = self._view(who).text
        if who.name == tree.ID_SLOT:
            holder = self._managers.data(who.owner)
            found = f"ids_of({found}, {holder}._id_generation_column)"
        self.emit.run("derive_stream_keys", found, key, "_stem", "_bits")

    def _mask(self, head: Sequence[form.Statement], where: tree.Expression, text: str) -> None:
        """Which rows match: found before the first step, whatever the steps change."""
        slot = self.emit.working.named(ArrayValue("_where", "bool", (), ElementOrder.ROWS))
        self.emit.write(f"# where {comment_text(text)}")
        self._run(head)
        if self._form.program.has_commands:
            self._narrow("logical_and", self.emit.value(where))
        else:
            self._fill(where, slot)
            self._running = slot.text

    def _run(self, statements: Sequence[form.Statement]) -> None:
        for one, following in zip_longest(statements, statements[1:]):
            match one:
                case form.Comment():
                    self.emit.write(f"# {comment_text(one.text)}")
                case form.FindRow():
                    self._rows[one.row] = self._find(one)
                case form.RowExists():
                    self.emit.locals_[one.to.name] = self._there(one)
                case form.ReadField():
                    self.emit.locals_[one.to.name] = self._fetch(one, following)
                case form.AggregateNeighbours(question=question) if question.near in self.stencils:
                    self.emit.locals_[one.to.name] = self._ask_around(one)
                case form.AggregateNeighbours():
                    self.emit.locals_[one.to.name] = self._ask(one)
                case form.ChooseRandom():
                    self.emit.locals_[one.to.name] = self._pick(one)
                case form.SetLocal():
                    self._set(one)
                case form.QueueDespawnSelf():
                    self._despawn(one, is_last=one is statements[-1])
                case form.QueueDespawn():
                    self._despawn_rows(one)
                case form.QueueSpawn():
                    self._spawn(one)
                case form.WriteField():
                    self._fill(one.value, self._target(one), self._running)
                case form.CheckAlive():
                    self._check_alive(one)
                case form.SendMessage():
                    self._send(one)

    # --- the row's own values --------------------------------------------------------------------

    def _fill(self, node: tree.Expression, slot: ArrayValue, mask: str = "") -> None:
        """Write a value, where a mask is true if there is one."""
        found = self.emit.value(node, None if mask else slot)
        if mask:
            self.emit.run("put_where", slot.text, mask, found.text)
        elif found.text != slot.text:
            self.emit.write(f"{slot.text}[...] = {found.text}")
        if found.text != slot.text:
            self.emit.working.release(found)

    def _set(self, one: form.SetLocal) -> None:
        emit, layout = self.emit, self.emit.layout(one.value)
        if layout is ElementOrder.UNIFORM or self._is_fixed(one.value) or self._is_answer(one):
            emit.locals_[one.to.name] = emit.value(one.value).held
            return
        slot = self._slot_of(one.to, layout)
        self._fill(one.value, slot)
        emit.locals_[one.to.name] = slot

    def _slot_of(self, local: tree.Local, layout: ElementOrder) -> ArrayValue:
        """The memory of a local: what it has, or some that fits its first value."""
        before, own = self.emit.locals_.get(local.name), self._own.get(local.name)
        if before is not None and own is not None and before.text == own.text:
            return own
        type_ = local.type
        names = [f"_{number}_of_{local.name}" for number in range(2, 1000)]
        if local.name not in self._arguments:  # of another kernel of the pass
            names.insert(0, add_placeholder(local.name))
        kinds = (ArrayValue(name, type_.scalar, type_.shape, layout) for name in names)
        taken = {slot.text: slot for slot in self.emit.working.slots}
        wanted = next(one for one in kinds if taken.get(one.text, one) == one)
        self._own[local.name] = self.emit.working.named(wanted)
        return wanted

    def _is_answer(self, one: form.SetLocal) -> bool:
        """Whether a local that is set once may be another name for an answer of cells around."""
        targets = [step.target for step in self._form.program.steps]
        is_once = targets.count(one.to) == 1
        return is_once and isinstance(one.value, tree.Local) and one.value.name in self._answers

    def _is_fixed(self, node: tree.Expression) -> bool:
        """Whether a local may be another name for a field that no step changes."""
        base = node.base if isinstance(node, tree.Element) else node
        return isinstance(base, tree.FieldValue) and base not in self._written

    def _target(self, one: form.WriteField) -> ArrayValue:
        target = self._view(one.to)
        return target.part(one.index) if one.index else target

    # --- cells around ----------------------------------------------------------------------------

    def _ask_around(self, one: form.AggregateNeighbours) -> ArrayValue:
        """What is asked of cells around, of whole columns before the loop."""
        emit, question = self.emit, one.question
        around = emit.uniform(self.stencils[question.near], "u8").text
        made, scalar = f"{around}.counts", "u8"
        if question.value is not None:
            assert isinstance(question.value, tree.NeighbourField)
            value, type_ = question.value, one.to.type
            field = tree.FieldValue(value.type, value.name, value.owner)
            column = f"{self.views.column(field, is_kept=False)}[: len({self._grid(question)})]"
            made = f"{around}.{question.function}({column})"
            scalar = "u8" if question.function == "count" else type_.scalar
        self._answers.add(one.to.name)
        return emit.slice_per_block("around", f"{made}{self.picked}", scalar)

    def _grid(self, question: tree.NeighbourAggregate) -> str:
        on = self._form.program.neighbourhood(question.near).on
        assert on is not None
        return self._managers.manager(on.grid)

    # --- other rows ------------------------------------------------------------------------------

    def _find(self, one: form.FindRow) -> ArrayValue:
        """The rows that handles lead to, NIL where they lead to none, or whether who they are is
        alive."""
        emit, handle = self.emit, one.handle
        writes, is_whole = self._form.program.effects.writes, self._has_whole and one.row.component
        if isinstance(handle, tree.FieldValue) and is_whole and handle.text not in writes:
            whole = self.views.column(handle, "_n")
            return emit.slice_per_block("led", self._lookup(one, whole, 0), "i64")
        found = emit.value(handle)
        handles = f"np.atleast_1d({found.text})" if found.is_uniform else found.text
        if one.row.component:
            rows = self._lookup(one, handles, emit.indent)
            made = emit.materialise("theirs", rows, "i64", found.is_uniform)
        else:
            living = f"{self._managers.entities}.alive_many({handles})"
            made = emit.materialise("exists", living, "bool", found.is_uniform)
        emit.working.release(found)
        return made

    def _lookup(self, one: form.FindRow, handles: str, indent: int) -> str:
        """The expression for the rows to which handles lead."""
        managers, component = self._managers, one.row.component
        manager, way = managers.manager(component), managers.lookup_kind(one)
        if way == "id":
            return f"{manager}.resolve_many({handles})"
        clean = managers.no_dead_test(component)
        given = [manager, handles, *([clean] if clean else [])]
        found = "rows_of_live_ids" if way in ("living_id", "direct_id") else "rows_of_live_entities"
        return call(found, given, indent).lstrip()

    def _there(self, one: form.RowExists) -> ArrayValue:
        rows = self._rows[one.row]
        if not one.row.component:
            return rows
        return self.emit.materialise("exists", f"{rows.text} != NIL", "bool", rows.is_uniform)

    def _fetch(self, one: form.ReadField, following: form.Statement | None) -> ArrayValue:
        emit, type_, rows = self.emit, one.place.type, self._rows[one.place.row]
        column, default = self._column(one), self._default(one)
        if rows.is_uniform:
            given = ", ".join([column, rows.text, default])
            return emit.uniform(f"other_cells({given})", type_.scalar, type_.shape)
        out = self._gathered_into(one, following)
        emit.run("take_others", column, rows.text, default, out.text)
        return out

    def _gathered_into(self, one: form.ReadField, following: form.Statement | None) -> ArrayValue:
        """Where cells go: at once to where the next statement has them, if that is as good."""
        type_ = one.place.type
        component = self._managers.components[one.place.row.component]
        kind = column_kind(component, one.place.name, type_)
        target: ArrayValue | None = None
        match following:
            case form.WriteField(value=one.to) if not self._running:
                target = self._target(following)
            case form.SetLocal(value=one.to):
                target = self._slot_of(following.to, kind[2])
        if target is None or target.kind != kind:
            return self.emit.working.acquire(kind)
        # a row of a matrix has another layout in memory
        is_part_of_matrix = target.shape and not target.text.isidentifier()
        return self.emit.working.acquire(kind) if is_part_of_matrix else target.held

    def _column(self, one: form.ReadField) -> str:
        """The variable with a whole column: a copy if the kernel writes it."""
        managers, place = self._managers, one.place
        component = place.row.component
        name = f"{managers.column_prefix(component).replace('other', '_all', 1)}_{place.name}"
        if name not in self._columns:
            rows = f" {managers.data(component)}._n" if one.from_copy else ""
            text = other_column(managers, component, place, rows)
            if one.from_copy:
                is_turned = text.startswith("rows_last(")
                text = f"{text[:-1]}.copy())" if is_turned else f"{text}.copy()"
            self._columns[name] = text
            self.emit.before.append(f"{name} = {text}")
        return name

    def _default(self, one: form.ReadField) -> str:
        """What stands for a row that is not there."""
        type_ = one.place.type
        if len({*map(repr, one.default)}) == 1:
            return literal(one.default[0])
        array = cell_array(one.default, type_)
        if array not in self._defaults:
            self._defaults[array] = self.emit.uniform(array, type_.scalar, type_.shape).text
        return self._defaults[array]

    # --- chance, births and deaths ---------------------------------------------------------------

    def _pick(self, one: form.ChooseRandom) -> ArrayValue:
        """One of all rows, which are listed when the first block needs them."""
        emit, manager = self.emit, self._managers.manager(one.chosen.component)
        choosing = emit.uniform(f"Choosing({manager})", "u64").text
        out = emit.working.acquire(kind_of(one.to.type))
        emit.run(f"{choosing}.choose", "_stem", str(one.chosen.number), out.text, "_word", "_bits")
        return out

    def _begin_fates(self, program: tree.Program) -> None:
        """Rows of the dead do not run."""
        bearer = program.identity
        assert bearer is not None  # a column that every row has
        given = [self._view(bearer).text]
        if program.may_be_dead:
            component = self._managers.components[bearer.owner]
            clean = self._managers.no_dead_test(component.name)
            is_known = clean and component.lookup != "direct"
            given.append(self.emit.uniform(clean, "bool").text if is_known else "False")
            targets = dict.fromkeys(step.target for step in program.steps)
            fields = [one for one in targets if isinstance(one, tree.FieldValue)]
            if fields and program.where is None:
                # all rows run: nearly always nobody is dead, and masks take several times as long
                given += [self._view(one).text for one in fields]
                self._last = f"{COMMANDS}.restore_dead_cells()"
        self.emit.run(f"{LIVING} = {COMMANDS}.begin_block", *given)
        self._kinds = {"": 0, **{name: 1 + k for k, name in enumerate(program.mortal_rows)}}
        """Of rows of a component, or of entities, by the number that they are noted with."""

    def _narrow(self, ufunc: str, by: ArrayValue) -> None:
        slot = self.emit.working.named(ArrayValue("_where", "bool", (), ElementOrder.ROWS))
        self.emit.run(f"np.{ufunc}", self._running or LIVING, as_typed(by), f"out={slot.text}")
        self._running = slot.text
        self.emit.working.release(by)

    def _both(self, one: ArrayValue, other: ArrayValue) -> ArrayValue:
        mask = self.emit.working.acquire(("bool", (), ElementOrder.ROWS))
        self.emit.run("np.logical_and", one.text, other.text, f"out={mask.text}")
        self.emit.working.release(one, other)
        return mask

    def _note(self, how: str, number: int, test: ArrayValue, *values: str) -> None:
        """Note who of the rows that still have steps, and pass a test, dies or bears somebody."""
        given = [str(number), self._running or LIVING, as_typed(test), *values]
        self.emit.run(f"{COMMANDS}.{how}", *given)

    def _despawn(self, one: form.QueueDespawnSelf, is_last: bool) -> None:
        """The row's own entity dies, or its row: the turn's number; none of its steps follows."""
        bearer = self._form.program.identity
        assert bearer is not None
        is_row = bearer.name != tree.ENTITY
        who, test = "None" if is_row else self._view(bearer).text, self.emit.value(one.test)
        self._note("despawn", self._kinds[bearer.owner] if is_row else 0, test, who)
        if is_last:
            self.emit.working.release(test)
        else:
            self._narrow("greater", test)

    def _despawn_rows(self, one: form.QueueDespawn) -> None:
        """Another one dies, if there is such; of oneself none of the steps follows."""
        emit, bearer, rows = self.emit, self._form.program.identity, self._rows[one.row]
        assert bearer is not None
        component, own = one.row.component, ""
        who, test = rows.text, self._there(form.RowExists(tree.Local(BOOL, ""), one.row))
        if not component:
            who = emit.value(one.handle).text
            own = self._view(bearer).text if bearer.name == tree.ENTITY else ""
        elif component == bearer.owner:
            assert isinstance(self._source, RowSource)
            whole = f"member_row_array({self._source.rows(component)})"
            own = emit.slice_per_block("own_rows", whole, "i64").text
        mask = self._both(test, emit.value(one.test))
        self._note("despawn", self._kinds[component], mask, who)
        if own:
            is_own = ArrayValue(f"{who} == {own}", "bool", (), ElementOrder.ROWS)
            self._narrow("greater", self._both(mask, is_own))
        else:
            emit.working.release(mask)

    def _spawn(self, one: form.QueueSpawn) -> None:
        values = [self.emit.value(value) for born in one.instances for _, value in born.values]
        test = self.emit.value(one.test)
        self._note("spawn", one.number, test, *(as_typed(value) for value in values))
        self.emit.working.release(test, *values)

    # --- neighbours and messages -----------------------------------------------------------------

    def _ask(self, one: form.AggregateNeighbours) -> ArrayValue:
        emit, pairs, question = self.emit, self.pairs, one.question
        pairs.indent = emit.indent
        out = emit.working.acquire(kind_of(one.to.type))
        met, given = self._those(question), []
        how = "choice" if question.is_random else question.function
        if question.is_random:
            drawn = emit.working.acquire(("i64", (), ElementOrder.ROWS))
            places = [f"{met}.counts", drawn.text, "_word", "_bits"]
            emit.run("draw_range", "_stem", str(question.number), *places)
            given.append(drawn.text)
            emit.working.release(drawn)
        found = None if question.value is None else pairs.value(question.value)
        given.append("True" if found is None else found.text)
        emit.run(f"{met}.{how}", *given, out.text)
        if found is not None:
            pairs.working.release(found)
        return out

    def _those(self, question: tree.NeighbourAggregate) -> str:
        """The variable with the pairs that are asked: all, or some of them."""
        met, pairs = PAIRS, self.pairs
        if question.where is not None:
            found = pairs.value(question.where)
            self.emit.write(f"_some = {met}.where({found.text})")
            pairs.working.release(found)
            met = "_some"
        choose = "np.fmax" if question.function == "max_by" else "np.fmin"
        for number, key in enumerate(question.keys):
            found = pairs.value(key)
            given = [choose, as_typed(found), str(number == 0)]
            self.emit.write(f"_some = {met}.best({', '.join(given)})")
            pairs.working.release(found)
            met = "_some"
        return met

    def _check_alive(self, one: form.CheckAlive) -> None:
        """No one hears the rows that `where` leaves out, nor those of dead entities."""
        managers, component = self._managers, one.identity.owner
        living = f"{managers.entities}.alive_many({self._view(one.identity).text})"
        living = f"{self._heard} & {living}" if self._heard else living
        clean = managers.no_dead_test(component) if component else ""
        if clean and managers.components[component].lookup != "direct":
            living = f"{self._heard or None} if {clean} else {living}"
        self._heard = self.emit.materialise("heard", living, "bool", False).text

    def _send(self, one: form.SendMessage) -> None:
        emit, rows = self.emit, self._rows[one.to.row]
        bearer = self._form.program.identity
        assert bearer is not None
        bearers = self._view(bearer).text  # a column that every row has
        to = f"np.broadcast_to({rows.text}, {bearers}.shape)" if rows.is_uniform else rows.text
        value, heard = emit.value(one.value), self._heard
        if self._form.program.has_commands:  # steps later some of them may have died
            to, heard = f"np.where({self._running or LIVING}, {to}, NIL)", ""
        for post in self._posts:
            if one in post.sends:
                post.send(emit, one, to, value, heard)
        emit.working.release(value)


def _counts(program: tree.Program, field: tree.FieldValue) -> bool:
    """Whether a row's own value counts: not if a kernel only overwrites it."""
    if field == program.stream_field or (field == program.identity and program.may_be_dead):
        return True
    parts = any(step.target == field and step.index for step in program.steps)
    has_mask = program.where is not None or program.has_commands
    return parts or has_mask or field.text in program.effects.reads
