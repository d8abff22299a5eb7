"""A generated package with many random kernels, and their programs for the reference."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from ecsgen_testing.reference.values import dtype_of
from numpy.typing import NDArray

from ecsgen.config import Backend
from ecsgen.model import Component, Field, Kernel
from ecsgen.model.columns import split_parts
from tests.models.random_kernels import ENUM, FIELDS, kernel
from tests.support.soak import COMPILED
from tests.support.world_package import checked, load, world_package

SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 3e38, 1e-45, 2.5, -0.5, 1e19, 255.0)


class Subject(NamedTuple):
    """One component with kernels: its schema, and the package with its manager."""

    component: Component
    package: ModuleType
    text: str = ""


def schema(keys: str, wanted: int, first: int, **choices: bool) -> str:
    """Return a schema with as many kernels as wanted: those of random texts that have no error."""
    head, seed = f"{FIELDS.format(keys=keys)}kernels:\n", first
    texts: list[str] = []
    while len(texts) < wanted:
        text = kernel(seed, **choices)
        seed += 1
        if checked(head + text + ENUM)[0] is not None:
            texts.append(text)
    return head + "".join(texts) + ENUM


def built(text: str, name: str, backend: Backend = "numpy", compiled: bool = COMPILED) -> Subject:
    """Build the package of a schema."""
    package = world_package(text, name, backend, compiled=compiled)
    component = load(text).components[0]
    import_module(f"{name}.{component.module}")  # loaded when first used, and patched before
    return Subject(component, package, text)


def manager_of(text: str, name: str, backend: Backend = "numpy", compiled: bool = COMPILED) -> Any:
    """Build the package of a schema, and return a manager of its first component."""
    component, package, _ = built(text, name, backend, compiled)
    return getattr(package, f"{component.name}Manager")(package.EntityManager())


def filled(subject: Subject, rows: int, random: np.random.Generator) -> Any:
    """A manager with rows of random bits, among them every kind of special number."""
    package = subject.package
    entities = package.EntityManager()
    manager = package.BodyManager(entities)
    manager.create_many(entities.create_many(rows))
    fill([manager.data], subject.component, random)
    return manager


def fill(alike: list[Any], component: Component, random: np.random.Generator) -> None:
    """Give all fields random bits, the same in the columns of several managers."""
    for field in component.fields:
        values = random_values(field, (alike[0].n, *field.type.shape), random)
        for data in alike:
            write(data, field, values)


def write(data: Any, field: Field, values: NDArray[Any]) -> None:
    """Write all cells of a field, which may be split."""
    for index, part in enumerate(split_parts(field) if field.split else ()):
        getattr(data, part.name)[...] = values[:, index]
    if not field.split:
        getattr(data, field.name)[...] = values


def random_values(field: Field, shape: tuple[int, ...], random: np.random.Generator) -> Any:
    scalar = field.type.scalar
    if scalar == "bool":
        return random.random(shape) < 0.5
    if field.type.target == "Mode":
        return random.integers(0, 3, shape)
    if scalar[0] in "iu":
        limits = np.iinfo(dtype_of(scalar))
        wild = random.integers(limits.min, limits.max, shape, dtype_of(scalar), endpoint=True)
        tame: NDArray[Any] = random.integers(0, 5, shape).astype(dtype_of(scalar))
        return np.where(random.random(shape) < 0.4, wild, tame)
    with np.errstate(all="ignore"):
        special: NDArray[Any] = random.choice(np.array(SPECIAL), shape).astype(dtype_of(scalar))
        tame = (random.standard_normal(shape) * 10).astype(dtype_of(scalar))
    return np.where(random.random(shape) < 0.3, special, tame)


def arguments(kernel: Kernel) -> dict[str, Any]:
    """Some values for the arguments that random kernels have."""
    values = {"dt": 0.25, "shift": -3, "gain": (0.5, -2.0, 0.0)}
    return {argument.name: values[argument.name] for argument in kernel.program.arguments}


def differing(array: NDArray[Any], other: NDArray[Any], ulps: int = 0) -> Any:
    """Where two columns differ in a bit; a NaN is a NaN."""
    if array.dtype.kind in "mM":  # NaT is not equal to itself
        return array.view(np.int64) != other.view(np.int64)
    if array.dtype.kind != "f":
        return array != other
    bits = f"i{array.dtype.itemsize}"
    same = array.view(bits) == other.view(bits)
    same |= np.isnan(array) & np.isnan(other)
    if ulps:
        with np.errstate(all="ignore"):
            same |= np.abs(array - other) <= ulps * np.spacing(np.maximum(abs(array), abs(other)))
    return ~same
