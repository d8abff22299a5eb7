"""The storage policies, one file each: a new file here is a new policy.

A policy says when it applies, which columns and base classes it brings along, and what it does at
each step of a structural change. What all managers with it do alike is its base class in
`runtime/ecsgen_runtime/`; what is unrolled by column stands in templates.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ecsgen.model import Component
from ecsgen.policies.policy import Policy
from ecsgen.policies.steps import check

__all__ = ["Policy", "active", "every"]

_NOT_POLICIES = ("policy", "steps")


@cache
def every() -> tuple[Policy, ...]:
    """Return all policies in their order."""
    names = (m.name for m in iter_modules(__path__) if m.name not in _NOT_POLICIES)
    found: list[Policy] = [import_module(f"{__name__}.{name}").POLICY for name in names]
    policies = tuple(sorted(found, key=lambda policy: (policy.order, policy.name)))
    check(policies)
    return policies


def active(component: Component) -> tuple[Policy, ...]:
    """Return the policies that a component's schema asks for, in their order."""
    asked = [p for p in every() if p.applies(component) and not p.is_default]
    taken = {policy.role for policy in asked}
    defaults = [p for p in every() if p.is_default and p.role not in taken and p.applies(component)]
    return tuple(sorted([*asked, *defaults], key=lambda policy: (policy.order, policy.name)))
