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
from _timing import Case, Prepare, Run, always

NONE = np.uint64(0xFFFF_FFFF)
BY_HAND = "numpy by hand"


Packages: TypeAlias = Mapping[str, Any]
"""What was generated, by the contender's name."""


def cases(packages: Packages, in_c: Callable[..., None] | None, rows: int) -> Iterator[Case]:
    """Make the cases when they are asked for; `in_c` is `lookup_in_c`, None without a compiler."""
    yield create_many(packages, rows)
    yield create_many_of_two(packages, rows)
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


def create_many(packages: Packages, rows: int) -> Case:
    places = np.random.default_rng(1).random((rows, 2), np.float32)

    def generated(package: Any) -> Run:
        entities = package.EntityManager()
        m = package.ParticleManager(entities)
        m.reserve(rows)
        owners = entities.create_many(rows)
        return lambda: m.create_many(owners, position=places)

    def hand() -> Run:
        h = ByHand(rows)
        owners = handles(0, rows)
        return lambda: h.create_many(owners, places)

    return Case("create_many", rows, {**each_of(packages, generated), BY_HAND: hand})


def create_many_of_two(packages: Packages, rows: int) -> Case:
    """Two components of one vec2 for the same entities; by hand: filling the same arrays."""
    at, by = np.random.default_rng(1).random((2, rows, 2), np.float32)

    def generated(package: Any) -> Run:
        entities = package.EntityManager()
        places, drifts = package.PlaceManager(entities), package.DriftManager(entities)
        places.reserve(rows)
        drifts.reserve(rows)
        owners = entities.create_many(rows)

        def run() -> None:
            places.create_many(owners, at=at)
            drifts.create_many(owners, by=by)

        return run

    def hand() -> Run:
        places, drifts = SpotsByHand(rows), SpotsByHand(rows)
        owners = handles(0, rows)

        def run() -> None:
            places.create_many(owners, at)
            drifts.create_many(owners, by)

        return run

    found = {**each_of(packages, generated), BY_HAND: hand}
    return Case("create_many, two components", rows, found)


def lookup_many(packages: Packages, in_c: Callable[..., None] | None, rows: int) -> Case:
    h = by_hand(rows)
    wanted = np.random.default_rng(2).permutation(handles(0, rows))
    managers = {name: particles(package, rows)[0] for name, package in packages.items()}

    def c() -> None:
        assert in_c is not None
        found = np.empty(rows, np.intp)
        in_c(rows, wanted, h.rows, len(h.rows), h.owner, found)

    found: dict[str, Prepare] = {
        name: always(partial(manager.lookup_many, wanted)) for name, manager in managers.items()
    }
    found[BY_HAND] = always(partial(h.lookup_many, wanted))
    if in_c is not None:
        found["gcc -O3, the same check"] = always(c)
    return Case("lookup_many, random order", rows, found)


def destroy_many(packages: Packages, rows: int) -> Case:
    tenth = np.random.default_rng(3).permutation(rows)[: rows // 10]

    def generated(package: Any) -> Run:
        m, _ = particles(package, rows)
        return lambda: m.destroy_many(tenth)

    def hand() -> Run:
        h = by_hand(rows)
        return lambda: h.destroy_many(tenth)

    found = {**each_of(packages, generated), BY_HAND: hand}
    return Case("destroy_many, a random 10 %, per row gone", len(tenth), found)


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

    found = {**each_of(packages, generated), BY_HAND: hand}
    return Case("collect, 10 % dead, per row", rows, found)
