"""Kernels and reductions: methods whose arguments are numbers or vectors, and nothing else."""

from __future__ import annotations

import inspect
from typing import Any

from _compare_operation import Operation, Operations
from _compare_subject import Subject
from _timing import Prepare, always

VECTORS = ([0.5, 0.25], [0.5, 0.25, 1.0], [0.5, 0.25, 1.0, 0.125])
ORDINARY = {"clear", "collect", "gc", "levels", "roots", "locked", "shrink_to_fit", "reserve"}


def kernels_of(kind: type, ordinary: set[str] = ORDINARY) -> list[str]:
    """Return the names of a class's kernels and reductions, judged by their arguments."""
    names = (name for name in dir(kind) if not name.startswith("_") and name not in ordinary)
    return [
        name
        for name in names
        if inspect.isfunction(method := getattr(kind, name))
        and all(
            parameter.annotation in ("float", "ArrayLike")
            and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
            for parameter in [*inspect.signature(method).parameters.values()][1:]
        )
    ]


def kernels(name: str, kind: type, count: int) -> Operations:
    """The kernels and reductions of a manager, over `count` rows."""
    for kernel in kernels_of(kind):

        def stage(package: Any, kernel: str = kernel) -> Prepare:
            subject = Subject(package, name, count)
            return called(subject.manager, kernel)

        yield Operation(f"kernel or reduction, {count:,}", f"{name}.{kernel}", stage)


def called(holder: Any, kernel: str) -> Prepare:
    """Make a run of a kernel with the first arguments that it takes."""
    method = getattr(holder, kernel)
    for vector in VECTORS:
        given = [
            0.5 if parameter.annotation == "float" else vector
            for parameter in inspect.signature(method).parameters.values()
        ]
        try:
            method(*given)
        except ValueError:
            continue
        return always(lambda given=given: [method(*given) for _ in range(5)])  # type: ignore[misc]
    raise ValueError(f"no arguments found for {kernel}")
