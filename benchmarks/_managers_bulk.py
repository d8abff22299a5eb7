"""Whole arrays at once, for benchmarks/managers.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from ctypes import c_size_t
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from _compile_c import compiled, pointer_to
from _managers_one_row import particles
from _managers_peers import ByHand, SpotsByHand, by_hand, handles
from _timing import Case, Prepare, Run

NONE = np.uint64(0xFFFF_FFFF)
BY_HAND = "numpy by hand"


Packages: TypeAlias = Mapping[str, Any]
"""Generated packages, by the contender's name."""


def cases(packages: Packages, in_c: Callable[..., None] | None, rows: int) -> Iterator[Case]:
    """Make the cases when they are asked for; `in_c` is `lookup_in_c`, None without a compiler."""
    yield create_many("create_many", packages, rows, {"Particle": "position"}, ByHand)
    both = {"Place": "at", "Drift": "by"}
    yield create_many("create_many, two components", packages, rows, both, SpotsByHand)
    yield lookup_many(packages, in_c, rows)
    yield destroy_many(packages, rows)
    yield collect(packages, rows)


def lookup_in_c(folder: Path) -> Callable[..., None]:
    """Compile lookup.c; raises `MissingError` without gcc."""
    handles_type, rows_type = pointer_to(np.uint64), pointer_to(np.uint32)
    arguments = c_size_t, handles_type, rows_type, c_size_t, handles_type, pointer_to(np.intp)
    function: Callable[..., None] = compiled(
        folder, Path(__file__).with_name("lookup.c"), *arguments
    )
    return function


def each_of(packages: Packages, prepare: Callable[[Any], Run]) -> dict[str, Prepare]:
    return {name: partial(prepare, package) for name, package in packages.items()}


def create_many(
    name: str, packages: Packages, rows: int, fields: dict[str, str], arrays: type
) -> Case:
    """Rows of one vec2 for each of some components; by hand: filling the same arrays."""
    columns = np.random.default_rng(1).random((len(fields), rows, 2), np.float32)

    def generated(package: Any) -> Run:
        entities = package.EntityManager()
        managers = [getattr(package, f"{component}Manager")(entities) for component in fields]
        for manager in managers:
            manager.reserve(rows)
        owners = entities.create_many(rows)
        named = zip(managers, fields.values(), columns, strict=True)
        calls = [partial(m.create_many, owners, **{field: column}) for m, field, column in named]
        return lambda: [call() for call in calls]

    def hand() -> Run:
        owners = handles(0, rows)
        calls = [partial(arrays(rows).create_many, owners, column) for column in columns]
        return lambda: [call() for call in calls]

    return Case(name, rows, {**each_of(packages, generated), BY_HAND: hand})


def lookup_many(packages: Packages, in_c: Callable[..., None] | None, rows: int) -> Case:
    arrays = by_hand(rows)
    wanted = np.random.default_rng(2).permutation(handles(0, rows))
    runs: dict[str, Run] = {
        name: partial(particles(package, rows)[0].lookup_many, wanted)
        for name, package in packages.items()
    }
    runs[BY_HAND] = partial(arrays.lookup_many, wanted)
    if in_c is not None:
        columns = wanted, arrays.rows, len(arrays.rows), arrays.owner
        runs["gcc -O3, the same check"] = lambda: in_c(rows, *columns, np.empty(rows, np.intp))
    return Case.of("lookup_many, random order", rows, runs)


def destroy_many(packages: Packages, rows: int) -> Case:
    tenth = np.random.default_rng(3).permutation(rows)[: rows // 10]

    def generated(package: Any) -> Run:
        m, _ = particles(package, rows)
        return lambda: m.destroy_many(tenth)

    def hand() -> Run:
        h = by_hand(rows)
        return lambda: h.destroy_many(tenth)

    runs = {**each_of(packages, generated), BY_HAND: hand}
    return Case("destroy_many, a random 10 %, per row gone", len(tenth), runs)


def collect(packages: Packages, rows: int) -> Case:
    tenth = np.random.default_rng(3).permutation(rows)[: rows // 10]
    dead = np.zeros(rows, np.bool_)
    dead[tenth] = True

    def generated(package: Any) -> Run:
        entities = package.EntityManager()
        m = package.ParticleManager(entities)
        owners = entities.create_many(rows)
        m.create_many(owners)
        entities.destroy_many(owners[tenth])
        run: Run = m.collect
        return run

    def hand() -> Run:
        h = by_hand(rows)
        return lambda: h.destroy_many(np.flatnonzero(dead[h.owner & NONE]))

    runs = {**each_of(packages, generated), BY_HAND: hand}
    return Case("collect, 10 % dead, per row", rows, runs)
