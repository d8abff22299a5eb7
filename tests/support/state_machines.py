"""Packages with their generated tests, and the state machines that these have."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.support.soak import examples
from tests.support.world_package import world_package


def package_with_tests(text: str, name: str) -> ModuleType:
    """Import the package generated from a schema text, which has its tests within."""
    return world_package(text, name, has_tests=True)


def machine_of(package: ModuleType, module: str) -> Any:
    """Return the machine of a component's tests, which compares its manager with a naive model."""
    return import_module(f"{package.__name__}.tests.test_{module}")._Machine


def run_machine(machine: Any, number: int = 0, count: int = 4) -> None:
    """Run a machine so many times; the number says which steps it takes."""
    several = settings(
        max_examples=examples(count),
        stateful_step_count=30,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(seed(number)(machine), settings=several)
