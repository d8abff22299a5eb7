"""A kernel of the world in the generated tests: its steps for one row, in plain Python.

Written from the checked program, with no code of the printers, so that tests find their mistakes.
"""

from __future__ import annotations

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
    """Return the type of an argument, as `kernel_oracle.check` takes it."""
    type_ = argument.type
    parts = [_code(type_.scalar), literal(type_.shape)]
    parts += [f"enums.{type_.enum}"] if type_.enum else []
    return f"{'kernel_oracle.Each' if argument.each else ''}({', '.join(parts)})"


class RowCode:
    """Function of one row in plain Python, a statement per operation."""

    def __init__(self, name: str, program: tree.Program, otherwise: str) -> None:
        """Write the condition; `otherwise`: the result where it is false."""
        self.name = name
        self._program = program
        self._lines: list[str] = []
        self._locals: dict[str, str] = {}
        self._count = 0
        if program.where is not None:
            self._write(f"if not {self._value(program.where)}[0]:")
            self._write(f"    return {otherwise}")

    def _write(self, line: str) -> None:
        self._lines.append("    " + line)

    def _assign(self, head: str, *arguments: str) -> str:
        """Write a statement that assigns the result of a call, and return its name."""
        self._count += 1
        name = f"_{self._count}"
        self._lines.append(call(f"{name} = {head}", [*arguments], 4))
        return name

    def _value(self, node: tree.Expression) -> str:
        """Write the statements that compute an expression, and return the name of its value."""
        match node:
            case tree.Argument():
                return f"_{node.name}"
            case tree.Local():
                return self._locals[node.name]
            case tree.FieldValue():
                return self._field(node)
            case tree.NeighbourAggregate():
                return self._aggregate(node)
            case tree.NeighbourField():
                return f'other["{node.text}"]'
            case tree.Offset():
                return "other.offset"
            case tree.Distance():
                return "other.distance"
            case tree.Constant():
                return self._assign(
                    "kernel_oracle.number", _code(node.type.scalar), literal(node.value)
                )
            case tree.Element():
                base, shape = self._value(node.base), literal(node.base.type.shape)
                return self._assign("kernel_oracle.element", base, shape, *map(str, node.index))
            case tree.Cast():
                operand = self._value(node.operand)
                return self._assign("kernel_oracle.cast", operand, _code(node.type.scalar))
            case tree.Operation():
                values = [*map(self._value, node.operands)]
                if node.name == "@":
                    values.append(str(node.operands[0].type.shape[-1]))
                    return self._assign("kernel_oracle.matrix", *values)
                if node.name in ("dot", "norm", "normalize", "cross"):
                    return self._assign(f"kernel_oracle.{node.name}", *values)
                return self._assign("kernel_oracle.apply", literal(node.name), *values)
            case tree.Draw():
                position = str(node.number), str(node.type.elements)
                bounds = map(self._value, node.operands)
                return self._assign("row.draw", literal(node.distribution), *position, *bounds)
            case tree.ReferencedField():
                arguments = literal(node.text), *self._lookup_arguments(node.handle)
                return self._assign("row.others.refer", *arguments, literal(node.default))
            case tree.Exists():
                arguments = literal(node.component), *self._lookup_arguments(node.handle)
                return self._assign("row.others.exists", *arguments)
        raise TypeError(f"{type(node).__name__} has no oracle")

    def _lookup_arguments(self, handle: tree.Expression) -> list[str]:
        by = "lookup" if handle.type.kind == "entity" else "resolve"
        return [literal(by), self._value(handle)]

    def _aggregate(self, node: tree.NeighbourAggregate) -> str:
        self._count += 1
        answers, outer = f"_{self._count}", self._lines
        self._lines = []
        value = "[True]" if node.value is None else self._value(node.value)
        inner = "\n".join([*self._lines, f"    {answers}.append({value})"]).splitlines()
        other = "other" if any("other" in line for line in inner) else "_"
        self._lines = [
            *outer,
            f"    {answers}: list[kernel_oracle.Value] = []",
            f"    for {other} in row.neighbours:",
            *(f"    {line}" for line in inner),
        ]
        arguments = literal(node.function), _code(node.type.scalar), literal(node.type.shape)
        return self._assign("row.answer", *arguments, answers)

    def _field(self, node: tree.FieldValue) -> str:
        if node.owner == tree.PARENT:
            root = literal(dict(self._program.root_defaults)[node.name])
            return self._assign("row.parent", literal(node.name), root)
        if node.text not in self._program.effects.writes:
            return f'row["{node.text}"]'
        self._count += 1  # a copy, which later steps do not change
        self._write(f'_{self._count} = row["{node.text}"]')
        return f"_{self._count}"


class KernelCheck(RowCode):
    """Function that runs a kernel's steps for one row, and call that compares."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel.name, kernel.program, "False")
        self.turns = kernel.turns
        for step in self._program.steps:
            self._write(f"# {comment_text(step.text)}")
            self._step(step)
        if self._program.where is not None:
            self._write("return True")

    @property
    def has_border(self) -> bool:
        """True if tests can search rows for which the condition just holds.

        If functions differ in the last bits, it may hold in one of two computations.
        Neighbours change with positions.
        """
        program = self._program
        is_unstable = (program.stream_field, program.single_neighbourhood) != (
            None,
            None,
        ) or program.effects.referenced_components
        return program.where is not None and self.is_exact and not is_unstable

    @property
    def is_exact(self) -> bool:
        """True if the kernel has no function that may differ in the last bits."""
        return all(map(_is_exact, self._program.nodes))

    @property
    def arguments(self) -> list[str]:
        """Types of the arguments, as the items of a dict."""
        return [f'"{a.name}": {_kind(a)}' for a in self._program.arguments]

    @property
    def function(self) -> str:
        """The function of one row."""
        names = [f"_{a.name}: kernel_oracle.Value" for a in self._program.arguments]
        returned, suffix = "None", ""
        if self._program.where is not None:
            returned, suffix = "bool", "; return whether it matches"
        parameters = ["row: kernel_oracle.Row", *names]
        head = call(f"def {self.name}_of_one", parameters, 0, f" -> {returned}:")
        docstring = f'    """Run the steps of `{self.name}` for one row{suffix}."""'
        return "\n".join([head, docstring, *self._lines])

    @property
    def drawing(self) -> str:
        """Expression for how the kernel draws random numbers; "" if it does not."""
        stream_field = self._program.stream_field
        if stream_field is None:
            return ""
        key = [] if stream_field.name in MANAGER_FIELDS else [literal(stream_field.text)]
        return f"kernel_oracle.Drawing({', '.join([literal(self.name), *key])})"

    @property
    def near(self) -> str:
        """Radius of the neighbourhood: an argument's name, or a number."""
        near = self._program.single_neighbourhood
        if near is None:
            return ""
        radius = near.radius
        assert not isinstance(radius, tree.FieldValue)  # as on grids
        return literal(radius.name if isinstance(radius, tree.Argument) else radius)

    def _step(self, step: tree.Step) -> None:
        value = self._value(step.value)
        target = step.target
        assert not isinstance(target, tree.Despawn | tree.Spawn)  # which no oracle checks
        if isinstance(target, tree.Local):
            self._locals[target.name] = value
            return
        function, arguments = "row.put", [literal(target.text)]
        if isinstance(target, tree.ReferencedField):
            function, arguments = "row.send", [
                *arguments,
                *self._lookup_arguments(target.handle),
                literal(step.message_operator),
            ]
        self._lines.append(call(function, [*arguments, value, *map(str, step.index)], 4))


def _is_exact(node: tree.Expression) -> bool:
    """Check that every computation gives the same bits; the tests have their own logarithm."""
    if isinstance(node, tree.Draw):
        return node.distribution != "normal"
    return not isinstance(node, tree.Operation) or TABLE[node.name].exact


class ReductionCheck(RowCode):
    """Function of one row's value, and call that compares."""

    def __init__(self, reduction: Reduction) -> None:
        program = tree.Program(where=reduction.program.where)
        super().__init__(reduction.name, program, "[]")
        value = self._value(reduction.program.value)
        if f"    {value} =" in "\n".join(self._lines[-1:]):  # the last statement assigns the value
            self._lines[-1] = self._lines[-1].replace(f"{value} =", "return", 1)
        else:
            self._write(f"return {value}")

    @property
    def function(self) -> str:
        """The function of one row."""
        head = f"def {self.name}_of_one(row: kernel_oracle.Row) -> kernel_oracle.Value:"
        return "\n".join(
            [head, f'    """Return what `{self.name}` takes of one row."""', *self._lines]
        )
