"""Checked programs to forms: where rows are looked up, who is asked when, which messages wait."""

from __future__ import annotations

from collections.abc import Mapping

from ecsgen.kernels import form
from ecsgen.model import programs as tree


def lowered(program: tree.Program, home: str, standing: Mapping[str, str]) -> form.Form:
    """The form of a program; `home`: the component whose kernel it is, or nothing; `standing`: the
    fields that say where rows stand, by component."""
    return _Lowering(program, home, standing).whole


class _Lowering:
    """The statements so far, and what of them is still true."""

    def __init__(self, program: tree.Program, home: str, standing: Mapping[str, str]) -> None:
        self._program = program
        self._home = home
        self._standing = standing
        self._out: list[form.Statement] = []
        self._made = 0
        self._rows: dict[tuple[str, tree.Expression], form.Row] = {}
        """The rows that handles lead to, as these are written."""
        self._known: set[str] = set()
        self._listed: set[str] = set()
        """The neighbourhoods whose lists are good."""
        self._births = 0
        targets = [step.target for step in program.steps]
        self._sent = [one.text for one in targets if isinstance(one, tree.Referred)]
        self._arrived: dict[str, int] = {}
        self._hears = False

    @property
    def whole(self) -> form.Form:
        """The form; made once."""
        program = self._program
        for near in () if program.takes_turns else program.nears:
            if near == program.near or any(_reads(near, one) for one in program.effects.writes):
                self._list(near.name)
        where = None if program.where is None else self._pure(program.where)
        head, self._out = self._out, []
        for step in program.steps:
            self._step(step)
        return form.Form(program, (*head,), where, (*self._out,))

    def _pure(self, node: tree.Expression) -> tree.Expression:
        match node:
            case tree.Referred():
                place, to = self._place(node), self._name(node)
                self._out.append(form.Fetch(to, place, node.default, self._is_before(node)))
                return to
            case tree.Exists():
                row, to = self._row(node), self._name(node)
                self._out.append(form.There(to, row))
                return to
            case tree.Question():
                self._list(node.near)
                asked = tree.with_parts(node, self._pure)
                assert isinstance(asked, tree.Question)
                to = self._name(node)
                self._out.append(form.Ask(to, asked))
                return to
            case tree.Chosen():
                to = self._name(node)
                self._out.append(form.Pick(to, node))
                return to
        return tree.with_parts(node, self._pure)

    def _name(self, like: tree.Expression) -> tree.Local:
        self._made += 1
        return tree.Local(like.type, f"_{self._made}")

    def _row(self, node: tree.Referred | tree.Exists | tree.Death) -> form.Row:
        """The row that a handle leads to; looked up once for handles that are written alike."""
        assert node.handle is not None  # not the row's own death
        key = node.component, node.handle
        if key not in self._rows:
            handle = self._pure(node.handle)
            self._made += 1
            self._rows[key] = row = form.Row(self._made, node.component)
            self._out.append(form.Find(row, handle))
        return self._rows[key]

    def _place(self, node: tree.Referred, index: tuple[int, ...] = ()) -> form.Place:
        return form.Place(self._row(node), node.name, node.type, index)

    def _list(self, near: str) -> None:
        if near not in self._listed:
            self._out.append(form.List(near))
            self._listed.add(near)

    def _step(self, step: tree.Step) -> None:
        target = step.target
        if step.text:
            self._out.append(form.Say(step.text))
        match target:
            case tree.Referred():
                self._send(step, target)
                return
            case tree.Death() | tree.Birth():
                self._fate(target, step.value)
                return
        value = self._pure(step.value)
        if isinstance(target, tree.Local):
            self._out.append(form.Set(target, value, target.name not in self._known))
            self._known.add(target.name)
        elif self._stands(target.owner or self._home, target.name):
            self._out.append(form.Go(target, None, value))
            self._moved()
        else:
            self._out.append(form.Store(target, step.index, value))
            if self._moves(target.text):
                self._out.append(form.Moved(target))
            self._wrote(target.text)
        rows = self._rows.items()
        self._rows = {key: row for key, row in rows if target not in tree.walk(key[1])}

    def _fate(self, target: tree.Death | tree.Birth, where: tree.Expression) -> None:
        test = self._pure(where)
        if isinstance(target, tree.Birth):
            newborn = tuple(one.with_values(self._pure) for one in target.newborn)
            self._out.append(form.Bear(self._births, newborn, test))
            self._births += 1
        elif target.handle is None:
            self._out.append(form.Die(test))
        else:
            handle, row = self._pure(target.handle), self._row(target)
            self._out.append(form.Kill(row, handle, test))
        self._moved()

    def _stands(self, component: str, field: str) -> bool:
        return self._standing.get(component) == field

    def _moved(self) -> None:
        """In turns others may be there now, or none."""
        if self._program.takes_turns:
            self._rows, self._listed = {}, set()

    def _send(self, step: tree.Step, target: tree.Referred) -> None:
        place, value = self._place(target, step.index), self._pure(step.value)
        program = self._program
        if program.may_be_dead and not (program.is_fateful or self._hears):
            assert program.bearer is not None
            self._out.append(form.Hear(program.bearer))
            self._hears = True
        if self._stands(target.component, target.name):
            owner = tree.OWN if self._home == target.component else target.component
            to = tree.FieldValue(target.type, target.name, owner)
            self._out.append(form.Go(to, place.row, value))
            self._moved()
            return
        number = self._arrived.get(target.text, 0)
        self._arrived[target.text] = number + 1
        of, own = self._sent.count(target.text), self._own(target)
        held = self._is_touched(target)
        self._out.append(form.Send(place, step.how, value, held, number, of, self._moves(own)))
        self._wrote(own)

    def _wrote(self, field: str) -> None:
        """In turns everything may be another after a write: where handles lead, and who is near."""
        if self._program.takes_turns:
            rows = self._rows.items()
            self._rows = {key: row for key, row in rows if _is_still(key[1], field)}
            if self._moves(field):
                self._listed = set()
            self._listed -= {one.name for one in self._program.nears if _reads(one, field)}

    def _own(self, node: tree.Referred) -> str:
        return node.name if self._home == node.component else node.text

    def _moves(self, field: str) -> bool:
        """Whether it is the place of neighbours of now."""
        nears = [near for near in self._program.nears if near.on is None]
        return self._program.takes_turns and any(field == near.place.text for near in nears)

    def _is_before(self, node: tree.Referred) -> bool:
        """Whether the kernel may have written a field when it reads that of another row."""
        writes = self._program.effects.writes
        return self._own(node) in writes and not self._program.takes_turns

    def _is_touched(self, node: tree.Referred) -> bool:
        """Whether the kernel itself reads or writes a field that it sends to, or its rows come in
        another order than their messages."""
        program, effects = self._program, self._program.effects
        if program.takes_turns or program.nears:
            return not program.takes_turns
        own = self._own(node)
        return node.text in effects.refers or own in (*effects.reads, *effects.writes)


def _is_still(handle: tree.Expression, field: str) -> bool:
    """Whether a handle is certainly what it was, after a write to a field."""
    return all(
        isinstance(node, tree.Local | tree.Argument | tree.Constant)
        or (isinstance(node, tree.FieldValue) and node.owner != tree.PARENT and node.text != field)
        for node in tree.walk(handle)
    )


def _reads(near: tree.Near, field: str) -> bool:
    """Whether a field says where a neighbourhood is, or how far it reaches."""
    return field in (near.place.text, getattr(near.radius, "text", ""))
