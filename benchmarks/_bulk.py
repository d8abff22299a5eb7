"""Whole arrays at once, for benchmarks/managers.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ctypes import c_size_t
from pathlib import Path
from typing import Any

import numpy as np
from _native import compiled, pointer_to
from _one_row import particles
from _peers import ByHand, SpotsByHand, by_hand, handles
from _timing import Case, Prepare, Run, always

NONE = np.uint64(0xFFFF_FFFF)


def cases(package: Any, in_c: Callable[..., None] | None, rows: int) -> Iterator[Case]:
    """Make the cases as they are asked for; `in_c` is `lookup_in_c`, None without a compiler."""
    yield create_many(package, rows)
    yield create_many_of_two(package, rows)
    yield lookup_many(package, in_c, rows)
    yield destroy_many(package, rows)
    yield collect(package, rows)


def lookup_in_c(folder: Path) -> Callable[..., None]:
    """Compile lookup.c; raises `MissingError` without gcc."""
    handles_type, rows_type = pointer_to(np.uint64), pointer_to(np.uint32)
    arguments = c_size_t, handles_type, rows_type, c_size_t, handles_type, pointer_to(np.intp)
    function: Callable[..., None] = compiled(
        folder, Path(__file__).with_name("lookup.c"), *arguments
    )
    return function


def create_many(package: Any, rows: int) -> Case:
    places = np.random.default_rng(1).random((rows, 2), np.float32)

    def generated() -> Run:
        entities = package.EntityManager()
        m = package.ParticleManager(entities)
        m.reserve(rows)
        owners = entities.create_many(rows)
        return lambda: m.create_many(owners, position=places)

    def hand() -> Run:
        h = ByHand(rows)
        owners = handles(0, rows)
        return lambda: h.create_many(owners, places)

    return Case("create_many", rows, {"generated": generated, "numpy by hand": hand})


def create_many_of_two(package: Any, rows: int) -> Case:
    """Two components of one vec2 for the same entities; by hand: filling the same arrays."""
    at, by = np.random.default_rng(1).random((2, rows, 2), np.float32)

    def generated() -> Run:
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

    found = {"generated": generated, "numpy by hand": hand}
    return Case("create_many, two components", rows, found)


def lookup_many(package: Any, in_c: Callable[..., None] | None, rows: int) -> Case:
    m, owners = particles(package, rows)
    h = by_hand(rows)
    wanted = np.random.default_rng(2).permutation(owners)

    def c() -> None:
        assert in_c is not None
        found = np.empty(rows, np.intp)
        in_c(rows, wanted, h.rows, len(h.rows), h.owner, found)

    found: dict[str, Prepare] = {
        "generated": always(lambda: m.lookup_many(wanted)),
        "numpy by hand": always(lambda: h.lookup_many(wanted)),
    }
    if in_c is not None:
        found["gcc -O3, the same check"] = always(c)
    return Case("lookup_many, random order", rows, found)


def destroy_many(package: Any, rows: int) -> Case:
    tenth = np.random.default_rng(3).permutation(rows)[: rows // 10]

    def generated() -> Run:
        m, _ = particles(package, rows)
        return lambda: m.destroy_many(tenth)

    def hand() -> Run:
        h = by_hand(rows)
        return lambda: h.destroy_many(tenth)

    found = {"generated": generated, "numpy by hand": hand}
    return Case("destroy_many, a random 10 %, per row gone", len(tenth), found)


def collect(package: Any, rows: int) -> Case:
    tenth = np.random.default_rng(3).permutation(rows)[: rows // 10]
    dead = np.zeros(rows, np.bool_)
    dead[tenth] = True

    def generated() -> Run:
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

    found = {"generated": generated, "numpy by hand": hand}
    return Case("collect, 10 % dead, per row", rows, found)
