"""One-row methods of generated managers, in C, for any schema.

A package made by ecsgen calls `install` for each of its managers as it is imported. Before every
method whose usual case the layer knows it puts a descriptor, which does that case on the same
Python objects and calls the generated method, `__wrapped__`, for everything else.
"""

from __future__ import annotations

import warnings

from .install import install_methods

__all__ = ["install"]


def install(kind: type) -> None:
    """Put functions in C before the one-row methods of a generated class, as far as they are known.

    The class is a manager of a component, or of entities. What the layer does not know stays as it
    is: it goes by the names that the generated methods use.
    """
    try:
        install_methods(kind)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        warnings.warn(
            f"{kind.__qualname__} does without ecsgen_fast, which does not know this version of "
            f"the generated code: {error}",
            RuntimeWarning,
            stacklevel=2,
        )
