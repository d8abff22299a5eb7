"""Library of generated tests: a naive model, its rules, and direct cases; hooks of pytest.

A policy has rules of a state machine, `RingRules`, and perhaps direct cases of what no sequence of
calls shows, `IndirectCases`; a component's tests derive from those of the policies that its schema
asks for, and say which package they are about: no piece knows one.
"""

from __future__ import annotations

from typing import Any

HOOKS = ("pytest_pycollect_makemodule", "pytest_terminal_summary")
"""Those that a package's `conftest.py` imports from here."""


def __getattr__(name: str) -> Any:
    """Return a hook. The reference interpreter is imported without pytest and hypothesis."""
    if name not in HOOKS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import hooks

    return getattr(hooks, name)
