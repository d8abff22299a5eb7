"""Checked programs to forms: where rows are looked up, who is asked when, which messages wait."""

from __future__ import annotations

from collections.abc import Mapping

from ecsgen.kernels import statements
from ecsgen.model import typed_tree as tree


def lower_kernel(
    program: tree.Program, home: str, standing: Mapping[str, str]
) -> statements.LoweredKernel:
    """The form of a program; `home`: the component whose kernel it is, or nothing; `standing`: the
    fields that say where rows stand, by component."""
    return _Lowering(program, home, standing).lower_program


class _Lowering:
    """The statements so far, and what of them is still true."""

    def __init__(self, program: tree.Program, home: str, standing: Mapping[str, str]) -> None:
        self._program = program
        self._home = home
        self._standing = standing
        self._out: list[statements.Statement] = []
        self._made = 0
        self._rows: dict[tuple[str, tree.Expression], statements.RowVariable] = {}
        """The rows that handles lead to, as these are written."""
        self._known: set[str] = set()
        self._listed: set[str] = set()
        """The neighbourhoods whose lists are good."""
        self._births = 0
        targets = [step.target for step in program.steps]
        self._sent = [one.text for one in targets if isinstance(one, tree.ReferencedField)]
        self._arrived: dict[str, int] = {}
        self._hears = False

    @property
    def lower_program(self) -> statements.LoweredKernel:
        """The form; made once."""
        program = self._program
        for near in () if program.takes_turns else program.neighbourhoods:
            if near == program.single_neighbourhood or any(
                _reads(near, one) for one in program.effects.writes
            ):
                self._list(near.name)
        where = None if program.where is None else self._pure(program.where)
        head, self._out = self._out, []
        for step in program.steps:
            self._step(step)
        return statements.LoweredKernel(program, (*head,), where, (*self._out,))

    def _pure(self, node: tree.Expression) -> tree.Expression:
        match node:
            case tree.ReferencedField():
                place, to = self._place(node), self._name(node)
                self._out.append(
                    statements.ReadField(to, place, node.default, self._is_before(node))
                )
                return to
            case tree.Exists():
                row, to = self._row(node), self._name(node)
                self._out.append(statements.RowExists(to, row))
                return to
            case tree.NeighbourAggregate():
                self._list(node.near)
                asked = tree.map_children(node, self._pure)
                assert isinstance(asked, tree.NeighbourAggregate)
                to = self._name(node)
                self._out.append(statements.AggregateNeighbours(to, asked))
                return to
            case tree.RandomChoice():
                to = self._name(node)
                self._out.append(statements.ChooseRandom(to, node))
                return to
        return tree.map_children(node, self._pure)

    def _name(self, like: tree.Expression) -> tree.Local:
        self._made += 1
        return tree.Local(like.type, f"_{self._made}")

    def _row(
        self, node: tree.ReferencedField | tree.Exists | tree.Despawn
    ) -> statements.RowVariable:
        """The row that a handle leads to; looked up once for handles that are written alike."""
        assert node.handle is not None  # not the row's own death
        key = node.component, node.handle
        if key not in self._rows:
            handle = self._pure(node.handle)
            self._made += 1
            self._rows[key] = row = statements.RowVariable(self._made, node.component)
            self._out.append(statements.FindRow(row, handle))
        return self._rows[key]

    def _place(
        self, node: tree.ReferencedField, index: tuple[int, ...] = ()
    ) -> statements.FieldOfRow:
        return statements.FieldOfRow(self._row(node), node.name, node.type, index)

    def _list(self, near: str) -> None:
        if near not in self._listed:
            self._out.append(statements.ListNeighbours(near))
            self._listed.add(near)

    def _step(self, step: tree.Step) -> None:
        target = step.target
        if step.text:
            self._out.append(statements.Comment(step.text))
        match target:
            case tree.ReferencedField():
                self._send(step, target)
                return
            case tree.Despawn() | tree.Spawn():
                self._fate(target, step.value)
                return
        value = self._pure(step.value)
        if isinstance(target, tree.Local):
            self._out.append(statements.SetLocal(target, value, target.name not in self._known))
            self._known.add(target.name)
        elif self._stands(target.owner or self._home, target.name):
            self._out.append(statements.MoveToCell(target, None, value))
            self._moved()
        else:
            self._out.append(statements.WriteField(target, step.index, value))
            if self._moves(target.text):
                self._out.append(statements.UpdatePosition(target))
            self._wrote(target.text)
        rows = self._rows.items()
        self._rows = {key: row for key, row in rows if target not in tree.walk(key[1])}

    def _fate(self, target: tree.Despawn | tree.Spawn, where: tree.Expression) -> None:
        test = self._pure(where)
        if isinstance(target, tree.Spawn):
            newborn = tuple(one.with_values(self._pure) for one in target.instances)
            self._out.append(statements.QueueSpawn(self._births, newborn, test))
            self._births += 1
        elif target.handle is None:
            self._out.append(statements.QueueDespawnSelf(test))
        else:
            handle, row = self._pure(target.handle), self._row(target)
            self._out.append(statements.QueueDespawn(row, handle, test))
        self._moved()

    def _stands(self, component: str, field: str) -> bool:
        return self._standing.get(component) == field

    def _moved(self) -> None:
        """In turns others may be there now, or none."""
        if self._program.takes_turns:
            self._rows, self._listed = {}, set()

    def _send(self, step: tree.Step, target: tree.ReferencedField) -> None:
        place, value = self._place(target, step.index), self._pure(step.value)
        program = self._program
        if program.may_be_dead and not (program.has_commands or self._hears):
            assert program.identity is not None
            self._out.append(statements.CheckAlive(program.identity))
            self._hears = True
        if self._stands(target.component, target.name):
            owner = tree.OWN if self._home == target.component else target.component
            to = tree.FieldValue(target.type, target.name, owner)
            self._out.append(statements.MoveToCell(to, place.row, value))
            self._moved()
            return
        number = self._arrived.get(target.text, 0)
        self._arrived[target.text] = number + 1
        of, own = self._sent.count(target.text), self._own(target)
        held = self._must_defer(target)
        self._out.append(
            statements.SendMessage(
                place, step.message_operator, value, held, number, of, self._moves(own)
            )
        )
        self._wrote(own)

    def _wrote(self, field: str) -> None:
        """In turns everything may be another after a write: where handles lead, and who is near."""
        if self._program.takes_turns:
            rows = self._rows.items()
            self._rows = {key: row for key, row in rows if _is_still(key[1], field)}
            if self._moves(field):
                self._listed = set()
            self._listed -= {one.name for one in self._program.neighbourhoods if _reads(one, field)}

    def _own(self, node: tree.ReferencedField) -> str:
        return node.name if self._home == node.component else node.text

    def _moves(self, field: str) -> bool:
        """Whether it is the place of neighbours of now."""
        nears = [near for near in self._program.neighbourhoods if near.on is None]
        return self._program.takes_turns and any(field == near.position.text for near in nears)

    def _is_before(self, node: tree.ReferencedField) -> bool:
        """Whether the kernel may have written a field when it reads that of another row."""
        writes = self._program.effects.writes
        return self._own(node) in writes and not self._program.takes_turns

    def _must_defer(self, node: tree.ReferencedField) -> bool:
        """Whether the kernel itself reads or writes a field that it sends to, or its rows come in
        another order than their messages."""
        program, effects = self._program, self._program.effects
        if program.takes_turns or program.neighbourhoods:
            return not program.takes_turns
        own = self._own(node)
        return node.text in effects.reads_referenced or own in (*effects.reads, *effects.writes)


def _is_still(handle: tree.Expression, field: str) -> bool:
    """Whether a handle is certainly what it was, after a write to a field."""
    return all(
        isinstance(node, tree.Local | tree.Argument | tree.Constant)
        or (isinstance(node, tree.FieldValue) and node.owner != tree.PARENT and node.text != field)
        for node in tree.walk(handle)
    )


def _reads(near: tree.Neighbourhood, field: str) -> bool:
    """Whether a field says where a neighbourhood is, or how far it reaches."""
    return field in (near.position.text, getattr(near.radius, "text", ""))
