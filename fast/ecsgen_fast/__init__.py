"""One-row methods of generated managers, in C, for any schema.

A package made by ecsgen calls `install` for each of its managers as it is imported. Before every
method whose usual case the layer knows it puts a descriptor, which does that case on the same
Python objects and calls the generated method, `__wrapped__`, for everything else.
"""

from __future__ import annotations

import warnings
from typing import Final

from .install import install_methods

__all__ = ["INTERFACES", "install"]

INTERFACES: Final = (2,)
"""The generated code that is known, by the number that it says; what says none is older."""


def install(kind: type, interface: int = 0) -> None:
    """Put functions in C before the one-row methods of a generated class, as far as they are known.

    The class is a manager of a component, or of entities. What the layer does not know stays as it
    is: it goes by the names that the generated methods use.
    """
    if interface not in INTERFACES:
        warnings.warn(
            f"{_package(kind)} does without ecsgen_fast, which does not know what its "
            "version of ecsgen generated: run `ecsgen build`",
            RuntimeWarning,
            stacklevel=2,
        )
        return
    try:
        install_methods(kind)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        warnings.warn(
            f"{kind.__qualname__} does without ecsgen_fast, which does not know this version of "
            f"the generated code: {error}",
            RuntimeWarning,
            stacklevel=2,
        )


def _package(kind: type) -> str:
    """Return the name of the generated package that a class belongs to."""
    package, runtime, _ = kind.__module__.partition("._runtime.")
    return package if runtime else kind.__module__.rpartition(".")[0]
