"""Typed programs to lowered kernels: when rows are looked up, which messages are deferred."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count

from ecsgen.kernels import statements
from ecsgen.kernels.random_numbers import count_draws, range_of_draws
from ecsgen.model import typed_tree as tree
from ecsgen.model.typed_program import Program, expressions_of


def lower_kernel(
    program: Program, home: str, occupancy_fields: Mapping[str, str]
) -> statements.LoweredKernel:
    """Return the statements of a program.

    `home`: the component of the kernel, or nothing; `occupancy_fields`: component → cell reference.
    """
    return _Lowering(program, home, occupancy_fields).lower()


_Statements = tuple[statements.Statement, ...]
_Rows = dict[tuple[str, tree.Expression], statements.RowVariable]


class _Lowering:
    """The statements so far, and which of their results are still valid."""

    def __init__(self, program: Program, home: str, occupancy: Mapping[str, str]) -> None:
        self._program = program
        self._home = home
        self._occupancy_fields = occupancy
        self._out: list[statements.Statement] = []
        self._numbers, self._spawns, self._whiles = count(1), count(), count()
        self._rows: _Rows = {}
        """The row for each component and handle, as the handle is written."""
        self._listed: frozenset[str] = frozenset()
        """The neighbourhoods whose lists are still valid."""
        self._locals: set[str] = set()
        targets = [step.target for step in program.actions]
        self._sent = [target.text for target in targets if isinstance(target, tree.ReferencedField)]
        self._n_sent = {text: count() for text in self._sent}
        self._is_checked = False

    def lower(self) -> statements.LoweredKernel:
        program = self._program
        for near in () if program.takes_turns else program.neighbourhoods:
            if near == program.paired_neighbourhood or any(
                _reads(near, field) for field in program.effects.writes
            ):
                self._list(near.name)
        where = None if program.where is None else self._pure(program.where)
        head, self._out = self._out, []
        if program.has_blocks and self._sent:
            self._check_sender()
        self._steps(program.steps)
        return statements.LoweredKernel(program, (*head,), where, (*self._out,))

    def _pure(self, node: tree.Expression) -> tree.Expression:
        match node:
            case tree.ReferencedField():
                return self._read_field(node, self._name(node))
            case tree.Item(base=tree.ReferencedField() as field):
                return self._read_field(field, self._name(node), node.indices)
            case tree.Exists():
                row, local = self._row(node), self._name(node)
                self._out.append(statements.RowExists(local, row))
                return local
            case tree.NeighbourAggregate():
                self._list(node.near)
                aggregate = tree.map_children(node, self._pure)
                assert isinstance(aggregate, tree.NeighbourAggregate)
                local = self._name(node)
                self._out.append(statements.AggregateNeighbours(local, aggregate))
                return local
            case tree.RandomChoice():
                local = self._name(node)
                self._out.append(statements.ChooseRandom(local, node))
                return local
        return tree.map_children(node, self._pure)

    def _read_field(
        self,
        node: tree.ReferencedField,
        local: tree.Local,
        indices: tuple[tree.Expression, ...] = (),
    ) -> tree.Local:
        items = tuple(map(self._pure, indices))
        source = statements.FieldOfRow(self._row(node), node.name, node.type, (), items)
        from_copy = self._reads_from_copy(node)
        self._out.append(statements.ReadField(local, source, node.default, from_copy))
        return local

    def _name(self, like: tree.Expression) -> tree.Local:
        return tree.Local(like.type, f"_{next(self._numbers)}")

    def _row(
        self, node: tree.ReferencedField | tree.Exists | tree.Despawn
    ) -> statements.RowVariable:
        """Return the row for a handle; looked up once for handles that are written alike."""
        assert node.handle is not None  # not a despawn of the row itself
        key = node.component, node.handle
        if key not in self._rows:
            handle = self._pure(node.handle)
            row = statements.RowVariable(next(self._numbers), node.component)
            self._rows = {**self._rows, key: row}
            self._out.append(statements.FindRow(row, handle))
        return self._rows[key]

    def _list(self, near: str) -> None:
        if near not in self._listed:
            self._out.append(statements.ListNeighbours(near))
            self._listed |= {near}

    def _steps(self, steps: Iterable[tree.AnyStep]) -> None:
        for step in steps:
            if not isinstance(step, tree.Jump) and step.text:
                self._out.append(statements.Comment(step.text))
            match step:
                case tree.Step():
                    self._step(step)
                case tree.Branch():
                    self._branch(step)
                case tree.RangeLoop():
                    start, stop = self._pure(step.start), self._pure(step.stop)
                    self._forget_all()
                    body, *_ = self._block(step.body)
                    draws = count_draws(expressions_of(None, step.body)) > 0
                    self._out.append(statements.For(step.counter, start, stop, draws, body))
                case tree.NeighbourLoop():
                    self._list(step.near)
                    self._forget_all()
                    body, *_ = self._block(step.body)
                    nodes = tree.walk(*expressions_of(None, step.body))
                    needs_offset = any(
                        isinstance(node, tree.Offset | tree.Distance) and node.near == step.near
                        for node in nodes
                    )
                    drawn = range_of_draws(expressions_of(None, step.body))
                    parts = step.near, drawn, step.whom, needs_offset, body
                    self._out.append(statements.ForNeighbours(*parts))
                case tree.WhileLoop():
                    self._while(step)
                case tree.Jump():
                    self._out.append(statements.Jump(step.kind))
                    return  # nothing behind it happens

    def _block(self, steps: Iterable[tree.AnyStep]) -> tuple[_Statements, _Rows, frozenset[str]]:
        """Return the statements of a block, and the rows and lists that are known behind it."""
        before = self._out, self._rows, self._listed
        self._out = []
        self._steps(steps)
        block = (*self._out,), self._rows, self._listed
        self._out, self._rows, self._listed = before
        return block

    def _branch(self, step: tree.Branch) -> None:
        test = self._pure(step.test)
        body, rows, listed = self._block(step.body)
        otherwise, others, listed_too = self._block(step.otherwise)
        self._out.append(statements.If(test, body, otherwise))
        self._rows = {k: v for k, v in self._rows.items() if rows.get(k) == v == others.get(k)}
        self._listed &= listed & listed_too

    def _while(self, step: tree.WhileLoop) -> None:
        self._forget_all()
        number = next(self._whiles)
        self._out, out = [], self._out
        test = self._pure(step.test)
        head, self._out = (*self._out,), out
        body, *_ = self._block(step.body)
        self._forget_all()
        draws = count_draws(expressions_of(None, (step,))) > 0
        self._out.append(statements.While(number, step.at_most, draws, head, test, body))

    def _forget_all(self) -> None:
        """Forget what is known: the next pass of a loop may find it changed. At once the
        neighbours stay those of before the kernel."""
        self._rows = {}
        if self._program.takes_turns:
            self._listed = frozenset()

    def _step(self, step: tree.Step) -> None:
        target = step.target
        match target:
            case tree.ReferencedField():
                self._send(step, target)
                return
            case tree.Despawn() | tree.Spawn():
                self._command(target, step.value)
                return
        items = tuple(map(self._pure, step.items))
        value = self._pure(step.value)
        if isinstance(target, tree.Local):
            is_new = target.name not in self._locals
            self._out.append(statements.SetLocal(target, value, is_new, step.index, items))
            self._locals.add(target.name)
        elif self._is_cell_reference(target.owner or self._home, target.name):
            self._out.append(statements.MoveToCell(target, None, value))
            self._forget_rows()
        else:
            self._out.append(statements.WriteField(target, step.index, value, items))
            if self._is_position(target.text):
                self._out.append(statements.UpdatePosition(target))
            self._forget_field(target.text)
        self._forget_rows_of(target)

    def _forget_rows_of(self, changed: tree.Expression) -> None:
        """Forget the rows for handles of which a part has changed."""
        rows = self._rows.items()
        self._rows = {key: row for key, row in rows if changed not in tree.walk(key[1])}

    def _command(self, target: tree.Despawn | tree.Spawn, where: tree.Expression) -> None:
        test = self._pure(where)
        if isinstance(target, tree.Spawn):
            instances = tuple(instance.with_values(self._pure) for instance in target.instances)
            handle = target.handle and self._pure(target.handle)
            parts = instances, test, target.kind, handle, target.to, target.bundle
            self._out.append(statements.QueueSpawn(next(self._spawns), *parts))
            if target.to is not None:
                self._locals.add(target.to.name)
                self._forget_rows_of(target.to)
        elif target.handle is None:
            self._out.append(statements.QueueDespawnSelf(test))
        else:
            handle, row = self._pure(target.handle), self._row(target)
            self._out.append(statements.QueueDespawn(row, handle, test))
        self._forget_rows()

    def _is_cell_reference(self, component: str, field: str) -> bool:
        return self._occupancy_fields.get(component) == field

    def _forget_rows(self) -> None:
        """Forget rows and neighbours if rows take turns: they may have been replaced."""
        if self._program.takes_turns:
            self._forget_all()

    def _send(self, step: tree.Step, target: tree.ReferencedField) -> None:
        items = tuple(map(self._pure, step.items))
        to = statements.FieldOfRow(self._row(target), target.name, target.type, step.index, items)
        value = self._pure(step.value)
        self._check_sender()
        if self._is_cell_reference(target.component, target.name):
            owner = tree.OWN if self._home == target.component else target.component
            cell_field = tree.FieldValue(target.type, target.name, owner)
            self._out.append(statements.MoveToCell(cell_field, to.row, value))
            self._forget_rows()
            return
        field = self._text_of(target)
        self._out.append(
            statements.SendMessage(
                to=to,
                operator=step.message_operator,
                value=value,
                is_deferred=self._must_defer(target),
                number=next(self._n_sent[target.text]),
                count=self._sent.count(target.text),
                moves=self._is_position(field),
            )
        )
        self._forget_field(field)

    def _check_sender(self) -> None:
        """Check once that the row's entity is alive; commands skip rows of dead entities."""
        program = self._program
        if program.may_be_dead and not (program.has_commands or self._is_checked):
            assert program.identity is not None
            self._out.append(statements.CheckAlive(program.identity))
            self._is_checked = True

    def _forget_field(self, field: str) -> None:
        """Forget the rows and neighbours that depend on a field, if rows take turns."""
        if self._program.takes_turns:
            rows = self._rows.items()
            self._rows = {key: row for key, row in rows if _is_still(key[1], field)}
            if self._is_position(field):
                self._listed = frozenset()
            nears = self._program.neighbourhoods
            self._listed -= {near.name for near in nears if _reads(near, field)}

    def _text_of(self, node: tree.ReferencedField) -> str:
        return node.name if self._home == node.component else node.text

    def _is_position(self, field: str) -> bool:
        """Return True if a field has positions of neighbours in a space, and rows take turns."""
        program = self._program
        nears = [near for near in program.neighbourhoods if near.on is None and near.via is None]
        return program.takes_turns and any(field == near.position.text for near in nears)

    def _reads_from_copy(self, node: tree.ReferencedField) -> bool:
        """Return True if the kernel may have written a field of another row before it reads it."""
        writes = self._program.effects.writes
        return self._text_of(node) in writes and not self._program.takes_turns

    def _must_defer(self, node: tree.ReferencedField) -> bool:
        """Return True if the kernel itself reads or writes a field that it sends to, or its rows
        run in another order than their messages."""
        program, effects = self._program, self._program.effects
        if node.component == tree.SETTINGS and not program.takes_turns:
            return True
        if program.takes_turns or program.neighbourhoods:
            return not program.takes_turns
        field = self._text_of(node)
        return node.text in effects.reads_referenced or field in (*effects.reads, *effects.writes)


def _is_still(handle: tree.Expression, field: str) -> bool:
    """Return True if a write to a field certainly leaves a handle as it was."""
    return all(
        isinstance(node, tree.Local | tree.Argument | tree.Constant)
        or (isinstance(node, tree.FieldValue) and node.owner != tree.PARENT and node.text != field)
        for node in tree.walk(handle)
    )


def _reads(near: tree.Neighbourhood, field: str) -> bool:
    """Return True if a neighbourhood's position or radius is a field."""
    return field in (near.position.text, getattr(near.radius, "text", ""))
