"""A function with a loop, and the method that calls it: what is the same of kernels and passes."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ecsgen.render.kernels.method import Method
from ecsgen.render.kernels.printed import Printed, function_text


class LoopMethod(Method, ABC):
    """Prints both, given their parts."""

    @property
    def printed(self) -> Printed:
        """The texts of the module."""
        statements = [
            *self.conversions,
            *([] if self.kernel.over else ["data = self.data"]),
            *self.before,
            *self.choosing,
            *self.each_lines,
            *self.key_lines,
            *self.tables,
        ]
        texts = self.decorator, self.header, self.function_docstring, self.body
        method, function = self.text(statements, self.run), function_text(*texts)
        return Printed(method, function, constants=(*self.constants,))

    @property
    @abstractmethod
    def decorator(self) -> str:
        """What compiles the function; nothing if Python itself runs it."""

    @property
    @abstractmethod
    def header(self) -> str:
        """The function's first line."""

    @property
    @abstractmethod
    def body(self) -> str:
        """The function's statements."""

    @property
    def before(self) -> list[str]:
        """The statements before a call is counted."""
        return []

    @property
    def each_lines(self) -> list[str]:
        """The statements that check values for each row, where `choosing` does not."""
        return []

    @property
    def tables(self) -> list[str]:
        """The statements that find the order of turns, and make tables to look rows up in."""
        return []

    @property
    @abstractmethod
    def run(self) -> str:
        """The statements that call the function."""

    @property
    def constants(self) -> list[str]:
        """Constants of the module."""
        return []
