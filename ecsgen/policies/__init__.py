"""The storage policies: columns of managers, and code for each step of a structural change.

A policy has a condition on components, keys in schemas and their conflicts, columns, base classes,
code for the steps of structural changes, and losses of saved rows and of code if it changes. Code
that all its managers share is its base class in `runtime/ecsgen_runtime/`, with the part that is
saved; code that is unrolled by column is in templates. Every module here with `POLICIES` has some.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Literal

from ecsgen.model import Component
from ecsgen.policies.policy import Key, Policy, set_keys

__all__ = ["Policy", "field_words", "list_keys", "list_policies", "max_rows", "select_policies"]


@cache
def list_policies() -> tuple[Policy, ...]:
    """Return all policies in their order."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    policies: list[Policy] = [p for module in modules for p in getattr(module, "POLICIES", ())]
    return tuple(sorted(policies, key=lambda policy: (policy.order, policy.name)))


@cache
def list_keys(of: Literal["component", "field"]) -> tuple[Key[Any], ...]:
    """Return the keys that policies add to the documents of components, or of fields."""
    return tuple(key for policy in list_policies() for key in policy.keys if key.of == of)


def field_words(spec: object, of_cells: bool = False) -> list[tuple[str, str]]:
    """Return the keys of policies in a field's document, each with a word for such fields;
    `of_cells`: those alone that fields of cells cannot have."""
    keys = [key for key in set_keys(list_keys("field"), spec) if not (of_cells and key.suits_cells)]
    return [(key.name, key.is_what) for key in keys]


def max_rows(component: Component) -> int:
    """Return the most rows that a component may have; 0: no bound."""
    bounds = (policy.max_rows(component) for policy in list_policies())
    return min(filter(None, bounds), default=0)


def select_policies(component: Component) -> tuple[Policy, ...]:
    """Return the policies that apply to a component, in their order."""
    chosen = [policy for policy in list_policies() if policy.applies(component)]
    return tuple(replace(p, **p.sharded_overrides) if component.is_sharded else p for p in chosen)
