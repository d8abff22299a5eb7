"""What becomes of a kernel, a pass or a reduction: texts, which templates put in their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Printed:
    """Texts of a module, none of them indented."""

    method: str
    """Of the manager, or of the world: with what it calls there."""
    function: str = ""
    """Of the module, if there is a loop: with what it calls."""
    data_method: str = ""
    """Of the component's columns, if these are cut into blocks that are kept."""
    constants: tuple[str, ...] = ()
    """Lines of the module."""


def functions_of(printed: Sequence[Printed]) -> list[str]:
    """The functions of a module."""
    return [one.function for one in printed if one.function]


def data_methods_of(printed: Sequence[Printed]) -> list[str]:
    """The methods of a component's columns."""
    return [one.data_method for one in printed if one.data_method]


def constants_of(printed: Sequence[Printed]) -> list[str]:
    """The constants of a module, each once."""
    return list(dict.fromkeys(line for one in printed for line in one.constants))


def function_text(decorator: str, header: str, docstring: str, body: str) -> str:
    """A function of a module, which may have no decorator."""
    lines = [header, f'    """{docstring}"""', body]
    return "\n".join([decorator, *lines] if decorator else lines)
