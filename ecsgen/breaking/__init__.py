"""What a change of the schemas breaks: data that older ones saved, and code that uses the package.

Two documents are compared, so that a snapshot, which has nothing else, is a source like any other.
"""

from typing import Literal, TypeAlias

BreakKind: TypeAlias = Literal["data", "code"]
"""The kinds of what breaks."""
