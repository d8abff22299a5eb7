"""Three small programs, one entity at a time, with ecsgen and as others would write them.

    python benchmarks/programs.py [--sizes N …] [--rounds N] [--only shooter scene meadow]
        [--backend {numpy,numba}]

A shooter beside the library esper, a scene of nodes in nodes beside plain objects, and an
agent-based model beside both. All get the same results, which is checked. With ecsgen they run as
generated, and with methods in C if these are compiled. Ratios of best times within one run,
theirs / ours: above 1, ecsgen is faster.
"""

from __future__ import annotations

import importlib
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

import _program_meadow
import _program_scene
import _program_shooter
from _arguments import parsed
from _missing_contenders import MissingError, library_or_none, need_methods_in_c
from _package import SCHEMAS, built
from _timing import Case, Prepare, Run, machine, measure, stepping

from ecsgen.config import Backend

FRAMES = 8
"""So many frames are played before one is timed, and so many are timed."""


@dataclass(frozen=True, slots=True)
class Part:
    """One operation of a program: ours in one or several ways, and theirs."""

    name: str
    ours: dict[str, Prepare]
    theirs: dict[str, Prepare]


Packages: TypeAlias = dict[str, Any]
"""A generated package by how its methods run, which is told behind `ecsgen`."""


def shooters(packages: Packages, esper: Any, count: int) -> Iterator[Part]:
    """A frame of the shooter."""
    makers: dict[str, Callable[[], _program_shooter.Shooter]]
    makers = {
        f"ecsgen{how}": partial(_program_shooter.OurShooter, package, count)
        for how, package in packages.items()
    }
    if esper:
        makers["esper"] = lambda: _program_shooter.EsperShooter(esper, count)
    alike(*(played(make, "frame", FRAMES * 2).state() for make in makers.values()))
    runs = {name: playing(make, "frame") for name, make in makers.items()}
    yield Part("shooter: a frame", *parted(runs))


def scenes(packages: Packages, _: Any, count: int) -> Iterator[Part]:
    """Building a scene, steps, and killing a root."""
    nodes = _program_scene.plan(count)
    kinds: dict[str, Callable[[], Any]] = {"objects": _program_scene.ObjectScene}
    for how, package in packages.items():
        kinds[f"ecsgen{how}"] = partial(_program_scene.OurScene, package)
        kinds[f"ecsgen{how}, in bulk"] = partial(_program_scene.OurSceneInBulk, package)
    alike(*(acted(built_scene(make, nodes), count) for make in kinds.values()))
    names = ("building", "a step", "killing a root")
    runs = (
        {name: of_each(make, lambda scene: scene.build(nodes)) for name, make in kinds.items()},
        {name: moving(make, nodes) for name, make in kinds.items()},
        {
            name: of_each(partial(built_scene, make, nodes), lambda scene: scene.kill(0))
            for name, make in kinds.items()
        },
    )
    for name, ways in zip(names, runs, strict=True):
        yield Part(f"scene: {name}", *parted(ways))


def meadows(packages: Packages, esper: Any, count: int) -> Iterator[Part]:
    """A turn of all agents."""
    makers: dict[str, Callable[[], Any]] = {"objects": partial(_program_meadow.ObjectMeadow, count)}
    for how, package in packages.items():
        makers[f"ecsgen{how}, row objects"] = partial(_program_meadow.OurMeadow, package, count)
        lists = partial(_program_meadow.OurMeadowInLists, package, count)
        makers[f"ecsgen{how}, a kernel and lists"] = lists
    if esper:
        makers["esper"] = lambda: _program_meadow.EsperMeadow(esper, count)
    alike(*(played(make, "turn", FRAMES * 2).state() for make in makers.values()))
    runs = {name: playing(make, "turn") for name, make in makers.items()}
    yield Part("agents: a turn", *parted(runs))


def parted(runs: dict[str, Prepare]) -> tuple[dict[str, Prepare], dict[str, Prepare]]:
    """Return ours, and theirs."""
    ours = {name: run for name, run in runs.items() if name.startswith("ecsgen")}
    return ours, {name: run for name, run in runs.items() if name not in ours}


def alike(first: Any, *others: Any) -> None:
    """Raise if somebody has other results."""
    for other in others:
        assert other == first, "the programs have different results"


def played(make: Callable[[], Any], method: str, times: int) -> Any:
    """Return a program after some frames."""
    program = make()
    for _ in range(times):
        getattr(program, method)()
    return program


def playing(make: Callable[[], Any], method: str) -> Prepare:
    """Prepare a program; some frames in the midst of it are timed."""
    return stepping(lambda: getattr(played(make, method, FRAMES), method), FRAMES)


def acted(scene: Any, count: int) -> Any:
    """Return what there is in a scene after each thing that one can do with it."""
    for step in range(3):
        scene.move(list(_program_scene.shifts(count, step)))
        scene.place()
    before = scene.places()
    scene.kill(0)
    scene.place()
    scene.kill(2 * _program_scene.ROOTS)
    return before, scene.places(), scene.alive()


def built_scene(make: Callable[[], Any], nodes: list[_program_scene.Made]) -> Any:
    """Return a scene with its nodes."""
    scene = make()
    scene.build(nodes)
    return scene


def of_each(make: Callable[[], Any], act: Callable[[Any], object]) -> Prepare:
    """Prepare scenes; an act upon each is timed."""

    def prepare() -> Run:
        scenes = [make() for _ in range(FRAMES)]

        def run() -> None:
            for scene in scenes:
                act(scene)

        return run

    return prepare


def moving(make: Callable[[], Any], nodes: list[_program_scene.Made]) -> Prepare:
    """Prepare a scene; steps are timed."""

    def prepare() -> Run:
        scene = built_scene(make, nodes)
        moved = [list(_program_scene.shifts(len(nodes), step)) for step in range(FRAMES)]
        scene.place()

        def run() -> None:
            for shifts in moved:
                scene.move(shifts)
                scene.place()

        return run

    return prepare


def show(part: Part, count: int, rounds: int) -> None:
    """Measure and print one line of the table for each of our ways."""
    case = Case(part.name, FRAMES, {**part.ours, **part.theirs})
    times = measure(case, rounds)
    for ours in part.ours:
        cells = [part.name, ours, f"{count:,}", _microseconds(times[ours])]
        for theirs in ("esper", "objects"):
            others = times.get(theirs)
            cells.append(_microseconds(others) if others else "")
            cells.append(f"**{min(others) / min(times[ours]):.2f}**" if others else "")
        print(f"| {' | '.join(cells)} |", flush=True)


def _microseconds(times: list[float]) -> str:
    return f"{min(times) / 1000:,.0f} ({statistics.median(times) / 1000:,.0f})"


def as_generated_and_in_c(folder: Path, backend: Backend, schema: Path) -> Packages:
    """Build a schema, and import it as generated, and with methods in C."""
    packages = {"": built(folder, backend, schema, runtime="vendored")}
    try:
        need_methods_in_c()
    except MissingError as reason:
        print(f"left out: {reason}")
    else:
        with patch.dict(os.environ, ECSGEN_PURE="0"):
            package = packages[" in C"] = built(
                folder / "in_c", backend, schema, runtime="vendored"
            )
            importlib.import_module(f"{package.__name__}._runtime.base.specialisation")
    return packages


def main() -> None:
    sizes, names = (100, 1_000, 10_000), ("shooter", "scene", "meadow")
    options = parsed(__doc__, sizes=sizes, rounds=15, only=names, backend="numpy")
    esper = library_or_none("esper")
    print(
        f"{machine()}\n\n| | written with | entities | µs: best (median) | esper, µs | / ours "
        "| objects, µs | / ours |\n| --- | --- | --- | --- | --- | --- | --- | --- |"
    )
    programs = {"shooter": shooters, "scene": scenes, "meadow": meadows}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in_c").mkdir()
        packages = {
            only: as_generated_and_in_c(folder, options.backend, SCHEMAS / f"{only}.yaml")
            for only in options.only
        }
        for count in options.sizes:
            for only in options.only:
                for part in programs[only](packages[only], esper, count):
                    show(part, count, options.rounds)


if __name__ == "__main__":
    main()
