"""A kernel in the generated tests: its steps for one row, in plain Python.

Written from the checked program, with no part of what prints kernels, so that it can tell on them.
"""

from __future__ import annotations

from typing import Final

from ecsgen.kernels.operations import TABLE
from ecsgen.model import Kernel, Reduction
from ecsgen.model import typed_tree as tree
from ecsgen.model.columns import MANAGER_FIELDS
from ecsgen.model.types import SCALARS
from ecsgen.render.text.formatting import call
from ecsgen.render.text.quoting import comment_text, literal


def _code(scalar: str) -> str:
    return literal(SCALARS[scalar].code)


def _kind(argument: tree.Argument) -> str:
    """What `kernel_oracle.check` must know of an argument."""
    type_ = argument.type
    parts = [_code(type_.scalar), literal(type_.shape)]
    parts += [f"enums.{type_.enum}"] if type_.enum else []
    return f"{'kernel_oracle.Each' if argument.each else ''}({', '.join(parts)})"


class RowCode:
    """Writes what happens to one row, a statement per operation."""

    def __init__(self, name: str, program: tree.Program, otherwise: str, all_rows: bool) -> None:
        """`otherwise`: what is returned where the condition is false."""
        self.name = name
        self._program = program
        self._all_rows = ["all_rows=True"] if all_rows else []
        self._lines: list[str] = []
        self._locals: dict[str, str] = {}
        self._count = 0
        if program.where is not None:
            self._write(f"if not {self._value(program.where)}[0]:")
            self._write(f"    return {otherwise}")

    def _write(self, line: str) -> None:
        self._lines.append("    " + line)

    def _made(self, head: str, *arguments: str) -> str:
        """The name of what a call returns, after the statement that makes it."""
        self._count += 1
        name = f"_{self._count}"
        self._lines.append(call(f"{name} = {head}", [*arguments], 4))
        return name

    def _value(self, node: tree.Expression) -> str:
        """The name of an expression's value, after the statements that compute it."""
        match node:
            case tree.Argument():
                return f"_{node.name}"
            case tree.Local():
                return self._locals[node.name]
            case tree.FieldValue():
                return self._field(node)
            case tree.NeighbourAggregate():
                return self._question(node)
            case tree.NeighbourField():
                return f'other["{node.text}"]'
            case tree.Offset():
                return "other.offset"
            case tree.Distance():
                return "other.distance"
            case tree.Constant():
                return self._made(
                    "kernel_oracle.number", _code(node.type.scalar), literal(node.value)
                )
            case tree.Element():
                base, shape = self._value(node.base), literal(node.base.type.shape)
                return self._made("kernel_oracle.element", base, shape, *map(str, node.index))
            case tree.Cast():
                operand = self._value(node.operand)
                return self._made("kernel_oracle.cast", operand, _code(node.type.scalar))
            case tree.Operation():
                values = [*map(self._value, node.operands)]
                if node.name == "@":
                    values.append(str(node.operands[0].type.shape[-1]))
                    return self._made("kernel_oracle.matrix", *values)
                if node.name in ("dot", "norm", "normalize", "cross"):
                    return self._made(f"kernel_oracle.{node.name}", *values)
                return self._made("kernel_oracle.apply", literal(node.name), *values)
            case tree.Draw():
                places = str(node.number), str(node.type.elements)
                bounds = map(self._value, node.operands)
                return self._made("row.draw", literal(node.distribution), *places, *bounds)
            case tree.ReferencedField():
                place = literal(node.text), *self._led(node.handle)
                return self._made("row.others.refer", *place, literal(node.default))
            case tree.Exists():
                place = literal(node.component), *self._led(node.handle)
                return self._made("row.others.exists", *place)
        raise TypeError("no oracle knows of grids")

    def _led(self, handle: tree.Expression) -> list[str]:
        """How a handle finds its row, and the handle."""
        by = "lookup" if handle.type.kind == "entity" else "resolve"
        return [literal(by), self._value(handle)]

    def _question(self, node: tree.NeighbourAggregate) -> str:
        """Statements that ask each neighbour, and the one that makes something of the answers."""
        self._count += 1
        answers, outer = f"_{self._count}", self._lines
        self._lines = []
        found = "[True]" if node.value is None else self._value(node.value)
        inner = "\n".join([*self._lines, f"    {answers}.append({found})"]).splitlines()
        other = "other" if any("other" in line for line in inner) else "_"
        self._lines = [
            *outer,
            f"    {answers}: list[kernel_oracle.Value] = []",
            f"    for {other} in row.neighbours:",
            *(f"    {line}" for line in inner),
        ]
        given = literal(node.function), _code(node.type.scalar), literal(node.type.shape)
        return self._made("row.answer", *given, answers)

    def _field(self, node: tree.FieldValue) -> str:
        if node.owner == tree.PARENT:
            root = literal(dict(self._program.root_defaults)[node.name])
            return self._made("row.parent", literal(node.name), root)
        if node.text not in self._program.effects.writes:
            return f'row["{node.text}"]'
        self._count += 1  # a copy, which later steps do not change
        self._write(f'_{self._count} = row["{node.text}"]')
        return f"_{self._count}"


class KernelCheck(RowCode):
    """The function that runs a kernel's steps for one row, and the call that compares."""

    is_folded: Final = False

    def __init__(self, kernel: Kernel, component: str = "") -> None:
        super().__init__(kernel.name, kernel.program, "False", kernel.rows == "all")
        self._component = component
        self.turns = kernel.turns
        for step in self._program.steps:
            self._write(f"# {comment_text(step.text)}")
            self._step(step)
        if self._program.where is not None:
            self._write("return True")

    @property
    def has_border(self) -> bool:
        """Whether tests can look for rows for which the condition just holds.

        Where functions differ in the last bits it may hold in one of two ways to compute it.
        Neighbours come and go with places.
        """
        program = self._program
        told_otherwise = (program.stream_field, program.single_neighbourhood) != (
            None,
            None,
        ) or program.effects.referenced_components
        return program.where is not None and self.is_exact and not told_otherwise

    @property
    def is_exact(self) -> bool:
        """Whether the kernel has no function that may differ in the last bits."""
        return all(map(_is_exact, self._program.nodes))

    @property
    def arguments(self) -> list[str]:
        """What each argument is, as the items of a dict."""
        return [f'"{a.name}": {_kind(a)}' for a in self._program.arguments]

    @property
    def function(self) -> str:
        """The function of one row."""
        names = [f"_{a.name}: kernel_oracle.Value" for a in self._program.arguments]
        returned, said = "None", ""
        if self._program.where is not None:
            returned, said = "bool", "; whether it matches"
        given = ["row: kernel_oracle.Row", *names]
        head = call(f"def {self.name}_of_one", given, 0, f" -> {returned}:")
        says = f'    """The steps of `{self.name}` for one row{said}."""'
        return "\n".join([head, says, *self._lines])

    @property
    def comparison(self) -> str:
        """The call that compares the kernel with it."""
        program = self._program
        arguments = [
            "under_test",
            literal(self.name),
            f"{self.name}_of_one",
            f"{{{', '.join(self.arguments)}}}",
            "rows",
            "seed",
            f"is_exact={self.is_exact}",
            *(["has_border=True"] if self.has_border else []),
            *([f"drawing={self.drawing}"] if self.drawing else []),
            *([f"near={self.near}"] if self.near else []),
            *(
                [f"component={literal(self._component)}"]
                if program.effects.referenced_components
                else []
            ),
            *([f"turns={literal(self.turns)}"] if self.turns else []),
            *self._all_rows,
            *([] if program.runs_by_level else ["takes_rows=True"]),
        ]
        return call("kernel_oracle.check", arguments, 4)

    @property
    def drawing(self) -> str:
        """How the kernel draws random numbers; nothing if it does not."""
        who = self._program.stream_field
        if who is None:
            return ""
        name = f"{self._component}.{self.name}" if self._component else self.name
        key = [] if who.name in MANAGER_FIELDS else [literal(who.text)]
        return f"kernel_oracle.Drawing({', '.join([literal(name), *key])})"

    @property
    def near(self) -> str:
        """The radius in which rows have neighbours: an argument's name, or a number."""
        near = self._program.single_neighbourhood
        if near is None:
            return ""
        radius = near.radius
        assert not isinstance(radius, tree.FieldValue)  # as on grids
        return literal(radius.name if isinstance(radius, tree.Argument) else radius)

    def _step(self, step: tree.Step) -> None:
        value = self._value(step.value)
        target = step.target
        assert not isinstance(target, tree.Despawn | tree.Spawn)  # of which no oracle tells
        if isinstance(target, tree.Local):
            self._locals[target.name] = value
            return
        done, place = "row.put", [literal(target.text)]
        if isinstance(target, tree.ReferencedField):
            done, place = "row.send", [
                *place,
                *self._led(target.handle),
                literal(step.message_operator),
            ]
        self._lines.append(call(done, [*place, value, *map(str, step.index)], 4))


def _is_exact(node: tree.Expression) -> bool:
    """Whether every way to compute it gives the same bits; the tests have a logarithm of theirs."""
    if isinstance(node, tree.Draw):
        return node.distribution != "normal"
    return not isinstance(node, tree.Operation) or TABLE[node.name].exact


class ReductionCheck(RowCode):
    """The function of one row's value, and the call that compares."""

    is_folded: Final = True

    def __init__(self, reduction: Reduction) -> None:
        program = tree.Program(where=reduction.program.where)
        super().__init__(reduction.name, program, "[]", reduction.rows != "active")
        self._how = reduction.function
        made = self._value(reduction.program.value)
        if f"    {made} =" in "\n".join(self._lines[-1:]):  # gives the value its name
            self._lines[-1] = self._lines[-1].replace(f"{made} =", "return", 1)
        else:
            self._write(f"return {made}")

    @property
    def function(self) -> str:
        """The function of one row."""
        head = f"def {self.name}_of_one(row: kernel_oracle.Row) -> kernel_oracle.Value:"
        return "\n".join([head, f'    """What `{self.name}` takes of one row."""', *self._lines])

    @property
    def comparison(self) -> str:
        """The call that compares the reduction with it."""
        arguments = [literal(self.name), f"{self.name}_of_one", literal(self._how)]
        given = ["under_test", *arguments, "rows", "seed", *self._all_rows]
        return call("kernel_oracle.check_reduction", given, 4)
