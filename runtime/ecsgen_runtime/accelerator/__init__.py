"""One-row methods of generated managers, in C, for any schema.

The library calls `install` for each class as it is made. Before every method whose usual case is
known it puts a descriptor, which does that case on the same Python objects and calls the method
itself, `__wrapped__`, for everything else.
"""

from __future__ import annotations

from .install import install

__all__ = ["install"]
