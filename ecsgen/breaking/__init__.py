"""Compatibility of two versions of the schemas: of saved data, and of code that uses the package.

Two documents are compared, so that a snapshot can be the older version: it has nothing else.
"""

from typing import Literal, TypeAlias

BreakKind: TypeAlias = Literal["data", "code"]
"""Kinds of breaking changes."""
