"""A generated package with many random kernels, and their programs for the reference."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsgen.config import Backend
from ecsgen.diagnostics import Diagnostics
from ecsgen.model import Component, Field, Kernel
from ecsgen.schema import load
from tests.models.kernel_reference import NUMPY
from tests.models.kernel_texts import ENUM, FIELDS, kernel
from tests.support.generated_package import build

SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 3e38, 1e-45, 2.5, -0.5, 1e19, 255.0)


class Subject:
    """One component with kernels: its schema, and the package with its manager."""

    def __init__(self, component: Component, package: ModuleType) -> None:
        self.component = component
        self.package = package


def schema(folder: Path, keys: str, wanted: int, first: int, **choices: bool) -> None:
    """Write a schema with as many kernels as wanted: those of random texts that have no error."""
    head, seed = FIELDS.format(keys=keys), first
    found: list[str] = []
    while len(found) < wanted:
        text = kernel(seed, **choices)
        seed += 1
        (folder / "a.yaml").write_text(head + "kernels:\n" + text + ENUM, encoding="utf-8")
        if load(folder, Diagnostics()) is not None:
            found.append(text)
    (folder / "a.yaml").write_text(head + "kernels:\n" + "".join(found) + ENUM, encoding="utf-8")


def built(folder: Path, name: str, backend: Backend = "numpy") -> Subject:
    """Build the package of the schema in a folder."""
    project = build(folder, folder / name, folder / f"{name}_tests", backend)
    sys.path.insert(0, str(folder))
    try:
        package, component = import_module(name), project.components[0]
        import_module(f"{name}.{component.module}")  # loaded when first used, and patched before
        return Subject(component, package)
    finally:
        sys.path.remove(str(folder))


def filled(subject: Subject, rows: int, random: np.random.Generator) -> Any:
    """A manager with rows of random bits, among them every kind of special number."""
    package = subject.package
    entities = package.EntityManager()
    manager = package.BodyManager(entities)
    manager.create_many(entities.create_many(rows))
    for name, column in columns_of(manager, subject.component).items():
        field = next(f for f in subject.component.fields if f.name == name)
        values = random_values(field, column.shape, random)
        if field.split:
            for part, values_of_part in zip("xyz", values.T, strict=True):
                getattr(manager.data, f"{name}_{part}")[...] = values_of_part
        else:
            column[...] = values
    return manager


def random_values(field: Field, shape: tuple[int, ...], random: np.random.Generator) -> Any:
    scalar = field.type.scalar
    if scalar == "bool":
        return random.random(shape) < 0.5
    if field.type.target == "Mode":
        return random.integers(0, 3, shape)
    if scalar[0] in "iu":
        limits = np.iinfo(NUMPY[scalar])
        wild = random.integers(limits.min, limits.max, shape, NUMPY[scalar], endpoint=True)
        tame: NDArray[Any] = random.integers(0, 5, shape).astype(NUMPY[scalar])
        return np.where(random.random(shape) < 0.4, wild, tame)
    with np.errstate(all="ignore"):
        special: NDArray[Any] = random.choice(np.array(SPECIAL), shape).astype(NUMPY[scalar])
        tame = (random.standard_normal(shape) * 10).astype(NUMPY[scalar])
    return np.where(random.random(shape) < 0.3, special, tame)


def columns_of(manager: Any, component: Component) -> dict[str, NDArray[Any]]:
    """The fields' columns, split ones put together (those are copies)."""
    found = {}
    for field in component.fields:
        if field.split:
            parts = [getattr(manager.data, f"{field.name}_{axis}") for axis in "xyz"]
            found[field.name] = np.stack(parts, axis=1)
        else:
            found[field.name] = getattr(manager.data, field.name)
    return found


def arguments(kernel: Kernel) -> dict[str, Any]:
    """Some values for the arguments that random kernels have."""
    given = {"dt": 0.25, "shift": -3, "gain": (0.5, -2.0, 0.0)}
    return {argument.name: given[argument.name] for argument in kernel.program.arguments}


def differing(one: NDArray[Any], other: NDArray[Any], ulps: int = 0) -> Any:
    """Where two columns differ in a bit; a NaN is a NaN."""
    if one.dtype.kind != "f":
        return one != other
    bits = f"i{one.dtype.itemsize}"
    same = one.view(bits) == other.view(bits)
    same |= np.isnan(one) & np.isnan(other)
    if ulps:
        with np.errstate(all="ignore"):
            same |= np.abs(one - other) <= ulps * np.spacing(np.maximum(abs(one), abs(other)))
    return ~same


def forget(package: str) -> Iterator[None]:
    """Drop a package's modules."""
    yield
    for module in [name for name in sys.modules if name.split(".")[0] == package]:
        del sys.modules[module]
