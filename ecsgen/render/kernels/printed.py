"""What becomes of a kernel, a pass or a reduction: texts, which templates put in their places."""

from __future__ import annotations

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


def function_text(decorator: str, header: str, docstring: str, body: str) -> str:
    """A function of a module, which may have no decorator."""
    lines = [header, f'    """{docstring}"""', body]
    return "\n".join([decorator, *lines] if decorator else lines)
