"""A kernel as a method of a manager, whatever it is compiled to: its arguments and docstring."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ecsgen.columns import Column
from ecsgen.kernels.tree import Argument
from ecsgen.model import Base, Component, Field, FieldType, Kernel
from ecsgen.render.calls import call
from ecsgen.render.column_spelling import NUMPY
from ecsgen.render.quoting import WIDTH, docstring_text, literal
from ecsgen.render.spelling import Spelling
from ecsgen.render.wording import sentence

_OWN_NAMES: Final = re.compile(r"(tmp|once)\d*|where|blocks|rows|parents|(all|parent)_.*")
"""Arguments whose converted values would have the names of something else in the method."""


class ArgumentSpelling:
    """An argument of a kernel: converted like a field, once per call."""

    def __init__(self, component: Component, kernel: Kernel, argument: Argument, unit: str) -> None:
        type_ = argument.type
        base = Base.ENUM if type_.kind else Base.FLOAT if type_.is_float else Base.INT
        base = Base.BOOL if type_.is_bool else base
        kind = FieldType(str(type_), base, type_.scalar, type_.shape, target=type_.kind)
        field = Field(argument.name, kind, None, unit=unit)
        column = Column(argument.name, type_.scalar, type_.shape, field=field)
        self.spelling = Spelling(column, f"{component.name}.{kernel.name}", 0)
        self.name = argument.name
        self.type = type_
        self.unit = unit
        self.text = f"_{self.name}"  # the converted value in the method
        self.constant = f"{kernel.name.upper()}_{argument.name.upper()}_ARGUMENT"

    @property
    def converter(self) -> str:
        """The constant that checks it."""
        head = f"{self.constant}: Final = {self.spelling.converter_class}"
        return call(head, self.spelling.converter_arguments, 0)

    @property
    def parameter(self) -> str:
        return f"{self.name}: {self.spelling.write_type}"

    @property
    def conversion(self) -> str:
        """The expression for its value in the kernel, with an axis for the rows."""
        dtype, checked = NUMPY[self.type.scalar], f"{self.constant}.one({self.name})"
        if not self.type.shape:
            return f"{dtype}({checked})"
        return f"np.array({checked}, {dtype}).reshape({literal((*self.type.shape, 1))[1:-1]})"


def _arguments(component: Component, kernel: Kernel) -> list[ArgumentSpelling]:
    """The arguments of a kernel, each with a name of its own for its converted value."""
    units = {name: unit for name, _, unit in kernel.args}
    found = [
        ArgumentSpelling(component, kernel, argument, units[argument.name])
        for argument in kernel.program.arguments
    ]
    taken = {argument.text for argument in found}
    for argument in found:
        if _OWN_NAMES.fullmatch(argument.name):
            while argument.text in taken:
                argument.text += "_"
            taken.add(argument.text)
    return found


class Method:
    """What is the same for every backend."""

    def __init__(self, component: Component, kernel: Kernel) -> None:
        self.kernel = kernel
        self.name = kernel.name
        self._component = component
        self._program = kernel.program
        self.arguments = _arguments(component, kernel)
        self.rows = "_n_active" if kernel.rows == "active" else "_n"

    @property
    def signature(self) -> str:
        parameters = ["self", *(argument.parameter for argument in self.arguments)]
        return call(f"def {self.name}", parameters, 4, " -> None:").lstrip()

    @property
    def docstring(self) -> str:
        """What it does, then fields, units and cost."""
        summary = sentence(self.kernel.doc or f"Run the kernel `{self.name}` over the rows")
        texts = (docstring_text(summary, WIDTH - 11), docstring_text(self._effects, WIDTH - 8))
        return "\n\n".join(texts).replace("\n", "\n    ").replace("\n    \n", "\n\n")

    @property
    def _effects(self) -> str:
        reads, writes = self._program.reads, self._program.writes
        read = f"Reads {self._with_units(reads)}; writes" if reads else "Writes"
        which = "active rows" if self.rows == "_n_active" else "rows"
        given = [f"`{a.name}` is in {a.unit}" for a in self.arguments if a.unit]
        said = [f"{read} {self._with_units(writes)}", *given]
        return f"{'; '.join(said)}. O(n), n {which}; no structural change."

    def _with_units(self, names: tuple[str, ...]) -> str:
        units = {field.name: field.unit for field in self._component.fields}
        shown = (f"{n} [{units[n]}]" if units.get(n) else n for n in names)
        return ", ".join(shown)

    @property
    def conversions(self) -> list[str]:
        """The statements that check the arguments."""
        return [f"{a.text} = {a.conversion}" for a in self.arguments]


def number_constants(methods: Iterable[Method]) -> None:
    """Give arguments of different kernels different constants."""
    seen: dict[str, int] = {}
    for argument in (one for method in methods for one in method.arguments):
        count = seen[argument.constant] = seen.get(argument.constant, 0) + 1
        argument.constant += f"_{count}" if count > 1 else ""
